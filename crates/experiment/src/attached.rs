//! Interfaces of the host with real devices, and namespaces, attached to nodes for the length of a
//! run.
//!
//! The campaign's process borrows them ([`netlab::borrowed`]) and the run's process builds the
//! nodes in the namespaces that it finds in its [`Job`](crate::run::Job).

use crate::scenario::{Attach, Scenario};
use netlab::borrowed::NodeAttachments;
use netlab::{Attached, Attachment, Borrowed, Namespace, Registry};
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// A node with interfaces or namespaces of the host attached to it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AttachedNode {
    /// Index of the node.
    pub node: usize,
    /// Its name.
    pub name: String,
    /// Path at which the run's process opens the namespace that was made for the node.
    pub namespace: PathBuf,
    /// The interfaces and namespaces, with their addresses.
    pub attached: Vec<Attached>,
}

impl AttachedNode {
    /// Opens the namespace.
    ///
    /// # Errors
    /// If the campaign's process has ended.
    pub fn open(&self) -> Result<Namespace, String> {
        Namespace::at(&self.namespace.to_string_lossy()).map_err(|error| error.to_string())
    }
}

/// Returns the nodes with something of the host behind them, and what that is.
fn wanted(scenario: &Scenario) -> netlab::Result<Vec<(usize, NodeAttachments)>> {
    let with = scenario.nodes.iter().enumerate().filter(|(_, node)| !node.attach.is_empty());
    let wanted = with.map(|(place, node)| {
        let read = |attach: &Attach| Ok((Attachment::read(&attach.name)?, attach.network));
        let attachments = node.attach.iter().map(read).collect::<netlab::Result<_>>()?;
        let (metrics, ipv6) = (node.stack.metrics(), scenario.has_ipv6_at(place));
        Ok((place, NodeAttachments { attachments, metrics, ipv6 }))
    });
    wanted.collect()
}

/// Checks that everything that the scenario names can be attached now.
///
/// # Errors
/// If something cannot: which, and what to do.
pub fn check(scenario: &Scenario) -> netlab::Result<()> {
    if !scenario.attaches() {
        return Ok(());
    }
    let nodes: Vec<_> = wanted(scenario)?.into_iter().map(|(_, node)| node).collect();
    Borrowed::check(&nodes)
}

/// Attaches what the scenario names; `None` if that is nothing.
///
/// # Errors
/// As [`check`].
pub fn borrow(scenario: &Scenario) -> netlab::Result<Option<(Borrowed, Vec<AttachedNode>)>> {
    if !scenario.attaches() {
        return Ok(None);
    }
    let (places, wanted): (Vec<_>, Vec<_>) = wanted(scenario)?.into_iter().unzip();
    let registry = Registry::open()?;
    registry.sweep()?;
    let borrowed = Borrowed::borrow(&registry, &wanted)?;
    let nodes = places.into_iter().zip(borrowed.nodes()).map(|(node, (namespace, attached))| AttachedNode {
        node,
        name: scenario.nodes[node].name.clone(),
        namespace,
        attached: attached.to_vec(),
    });
    let nodes = nodes.collect();
    Ok(Some((borrowed, nodes)))
}
