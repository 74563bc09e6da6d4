//! Interfaces and namespaces of the caller that are attached to nodes of a run for a while.
//!
//! A run's own process lives in namespaces that vanish with it ([`isolation`](crate::isolation)).
//! An interface of the caller must not vanish with them. So the process that starts the run makes
//! the namespaces of these nodes, moves the interfaces there, and starts a keeper that has the
//! namespaces open:
//!
//! ```text
//! caller ── keeper (moves the interfaces back)
//!    └───── __isolated ── the run, which opens the nodes' namespaces at the caller's descriptors
//! ```
//!
//! The keeper moves the interfaces back when [`Borrowed`] is dropped, and when the caller is
//! killed.

use crate::attachment::{self, Attached, Attachment};
use crate::error::Result;
use crate::keeper::KeptRun;
use crate::plan::Network;
use crate::route::Metrics;
use crate::state::{NamespaceId, Registry};
use crate::{Namespace, interface, rights, sysctl};
use std::os::fd::AsRawFd;
use std::path::PathBuf;

/// A node that something of the caller is attached to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NodeAttachments {
    /// Interfaces and namespaces, each with the addresses of its network.
    pub attachments: Vec<(Attachment, Network)>,
    /// TCP metrics of the routes to it.
    pub metrics: Metrics,
    /// Whether IPv6 crosses the node.
    pub ipv6: bool,
}

/// Interfaces and namespaces of the caller at nodes; dropping it gives them back.
#[derive(Debug)]
#[must_use = "dropping it moves the interfaces back"]
pub struct Borrowed {
    // Dropped first: the keeper undoes the run.
    _kept: KeptRun,
    nodes: Vec<(Namespace, Vec<Attached>)>,
}

impl Borrowed {
    /// Checks whether these interfaces and namespaces can be attached, without attaching them.
    ///
    /// # Errors
    /// If this user is not root, if dnsmasq is needed and not installed, or if one of them does not
    /// exist or is in use: its name, and what to do.
    pub fn check(nodes: &[NodeAttachments]) -> Result<()> {
        let each = nodes.iter().flat_map(|node| &node.attachments);
        let all: Vec<_> = each.map(|(attachment, _)| attachment.clone()).collect();
        if !rights::suffice()? {
            return Err(attachment::needs_root());
        }
        attachment::check(&Namespace::current()?, &all)
    }

    /// Makes a namespace for each node, and attaches to it what it borrows.
    ///
    /// # Errors
    /// As [`check`](Self::check), or if something cannot be attached: then nothing is changed.
    pub fn borrow(registry: &Registry, nodes: &[NodeAttachments]) -> Result<Self> {
        Self::check(nodes)?;
        let outside = Namespace::current()?;
        let mut made = Vec::new();
        for node in nodes {
            let namespace = Namespace::new()?;
            interface::loopback_up(&namespace)?;
            sysctl::calm(&namespace)?;
            let ipv6 = node.ipv6 && sysctl::has_ipv6(&namespace);
            let (attachments, networks): (Vec<_>, Vec<_>) = node.attachments.iter().cloned().unzip();
            made.push((namespace, Attached::all(&attachments, &networks, ipv6)));
        }
        let mut run = registry.begin()?;
        let id = NamespaceId::of(&outside)?;
        run.update(|state| state.outside = Some(id))?;
        for (namespace, _) in &made {
            run.hold(namespace)?;
        }
        let namespaces: Vec<_> = made.iter().map(|(namespace, _)| namespace).collect();
        // If anything below fails, dropping it undoes the run.
        let mut kept = KeptRun::start(run, &namespaces)?;
        for ((namespace, attached), node) in made.iter().zip(nodes) {
            for one in attached {
                attachment::attach(&mut kept.run, namespace, &outside, &node.metrics, one)?;
            }
        }
        Ok(Self { _kept: kept, nodes: made })
    }

    /// Returns, for each node, the path at which processes of this user open its namespace, and
    /// what is attached to it.
    pub fn nodes(&self) -> impl Iterator<Item = (PathBuf, &[Attached])> {
        let path = |namespace: &Namespace| {
            format!("/proc/{}/fd/{}", std::process::id(), namespace.fd().as_raw_fd()).into()
        };
        self.nodes.iter().map(move |(namespace, attached)| (path(namespace), &attached[..]))
    }
}
