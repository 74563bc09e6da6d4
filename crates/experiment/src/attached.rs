//! What of the host is attached to nodes while a run on the host lasts: interfaces with real
//! devices, and namespaces.
//!
//! The campaign's process borrows them ([`netlab::borrowed`]) and the run's process builds the
//! nodes in the namespaces that it finds in its [`Job`](crate::run::Job).

use crate::scenario::{Attach, Scenario};
use netlab::borrowed::NodeAttachments;
use netlab::{Attached, Attachment, Borrowed, Namespace, Registry};
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// A node with something of the host behind it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AttachedNode {
    /// Index of the node.
    pub node: usize,
    /// Its name.
    pub name: String,
    /// Path at which the run's process opens the namespace that was made for the node.
    pub namespace: PathBuf,
    /// What is behind it.
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

/// Attaches what the scenario names; `None` if that is nothing.
///
/// # Errors
/// If something cannot be attached: which, and what to do.
pub fn borrow(scenario: &Scenario) -> netlab::Result<Option<(Borrowed, Vec<AttachedNode>)>> {
    if !scenario.attaches() {
        return Ok(None);
    }
    let with = scenario.nodes.iter().enumerate().filter(|(_, node)| !node.attach.is_empty());
    let wanted = with.clone().map(|(place, node)| {
        let read = |attach: &Attach| Ok((Attachment::read(&attach.name)?, attach.network));
        Ok(NodeAttachments {
            attachments: node.attach.iter().map(read).collect::<netlab::Result<_>>()?,
            metrics: node.stack.metrics(),
            ipv6: scenario.has_ipv6_at(place),
        })
    });
    let wanted = wanted.collect::<netlab::Result<Vec<_>>>()?;
    let registry = Registry::open()?;
    registry.sweep()?;
    let borrowed = Borrowed::borrow(&registry, &wanted)?;
    let nodes = with.zip(borrowed.nodes()).map(|((place, node), (namespace, attached))| AttachedNode {
        node: place,
        name: node.name.clone(),
        namespace,
        attached: attached.to_vec(),
    });
    let nodes = nodes.collect();
    Ok(Some((borrowed, nodes)))
}
