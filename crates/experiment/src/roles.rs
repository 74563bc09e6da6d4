//! Roles of nodes: programs that a run starts on nodes before the workloads, and ends after them.
//!
//! A role changes how the TCP of other nodes crosses the network. Each has a file, with its
//! parameters (a part of [`Node`](crate::scenario::Node)) and a function that starts its programs:
//!
//! | role | file |
//! |---|---|
//! | remote sockets of a node, at another one | [`remote_sockets`] |
//! | split connections through a node | [`split_proxy`] |
//! | addresses and names for devices of the host at a node | [`devices`] |

pub mod devices;
pub mod remote_sockets;
mod service;
pub mod split_proxy;

use crate::run::Job;
use crate::scenario::Scenario;
use netlab::isolation;
use netlab::mesh::Mesh;
use remote_sockets::Agent;
use service::Service;
use std::collections::BTreeMap;
use std::path::Path;

/// The programs of all roles of a run. They end when it is dropped.
#[derive(Debug, Default)]
pub struct Roles {
    /// In the order of their start.
    services: Vec<Service>,
    /// Agents of remote sockets, by node.
    agents: BTreeMap<usize, Agent>,
}

/// Network and directories of a run, for the programs of roles.
#[derive(Debug, Clone, Copy)]
struct Place<'a> {
    scenario: &'a Scenario,
    mesh: &'a Mesh,
    /// For files that are removed after the run.
    scratch: &'a Path,
    /// For UNIX sockets: its path is short, and every user can search it.
    sockets: &'a Path,
    /// For the programs' output.
    logs: &'a Path,
    /// Prefix of the names of logs.
    stem: &'a str,
    /// The attached nodes, and the library by which programs use remote sockets, if it is known.
    job: &'a Job,
}

impl Roles {
    /// Starts the programs of all roles, and waits until they are ready.
    ///
    /// # Errors
    /// If a program cannot be started, or ends.
    pub fn start(
        scenario: &Scenario,
        mesh: &Mesh,
        scratch: &Path,
        logs: &Path,
        stem: &str,
        job: &Job,
    ) -> Result<Self, String> {
        let mut roles = Self::default();
        let sockets = if scenario.nodes.iter().any(|node| node.sockets.is_some()) {
            isolation::short_folder().map_err(|error| error.to_string())?
        } else {
            scratch
        };
        let place = Place { scenario, mesh, scratch, sockets, logs, stem, job };
        devices::start(&place, &mut roles.services)?;
        split_proxy::start(&place, &mut roles.services)?;
        remote_sockets::start(&place, &mut roles.services, &mut roles.agents)?;
        Ok(roles)
    }

    /// Returns a message for each program that ended too early: its status and its last line.
    #[must_use]
    pub fn ended(&mut self) -> Vec<String> {
        self.services.iter_mut().filter_map(Service::ended).collect()
    }

    /// Returns the agent that holds the sockets of a node's programs; `None` if they are the
    /// kernel's.
    #[must_use]
    pub fn sockets(&self, node: usize) -> Option<&Agent> {
        self.agents.get(&node)
    }
}

impl Drop for Roles {
    fn drop(&mut self) {
        // Agents before their servers.
        while self.services.pop().is_some() {}
    }
}
