//! The states of TCP senders in a run: the per-ACK recorder of crate `congestion`, if the plan
//! requests it.

use super::Files;
use crate::plan::Experiment;
use capture::WallTime;
use congestion::recorder::{Node, Options, Recorder, RecorderError};
use netlab::mesh::Mesh;
use std::net::IpAddr;
use std::time::Instant;

/// The recorder, or why there is none.
pub struct Senders {
    recorder: Option<Recorder>,
    missing: Option<String>,
}

impl Senders {
    /// Starts the recorder if its file is wanted.
    ///
    /// `started` is the start of the run in nanoseconds since 1970, and `origin` the same instant
    /// on the run's clock. If the kernel does not show the states, or not to this user, this is no
    /// error.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn start(
        files: &Files,
        experiment: &Experiment,
        mesh: &Mesh,
        seed: u64,
        started: u64,
        origin: Instant,
    ) -> Result<Self, String> {
        let Some(table) = files.senders() else { return Ok(Self { recorder: None, missing: None }) };
        let nodes = experiment.scenario.nodes.iter().enumerate().map(|(place, node)| {
            Ok(Node {
                name: node.name.clone(),
                addresses: vec![IpAddr::V4(node.address()), IpAddr::V6(node.address6())],
                cookie: mesh.node(place).cookie().map_err(|error| error.to_string())?,
            })
        });
        let options = Options {
            table,
            lasthop: env!("CARGO_PKG_VERSION").to_owned(),
            seed,
            started: WallTime::from_nanos(started),
            nodes: nodes.collect::<Result<_, String>>()?,
            origin,
        };
        match Recorder::start(options) {
            Ok(recorder) => Ok(Self { recorder: Some(recorder), missing: None }),
            Err(error @ RecorderError::Unavailable(_)) => {
                Ok(Self { recorder: None, missing: Some(error.to_string()) })
            }
            Err(error) => Err(error.to_string()),
        }
    }

    /// Ends the recording; returns what is missing in it, as sentences.
    ///
    /// # Errors
    /// If the recording could not be written.
    pub fn stop(self) -> Result<Vec<String>, String> {
        let mut missing: Vec<_> = self.missing.into_iter().collect();
        if let Some(recorder) = self.recorder {
            let recorded = recorder.stop().map_err(|error| error.to_string())?;
            if recorded.lost > 0 {
                let (lost, all) = (recorded.lost, recorded.lost + recorded.rows);
                missing.push(format!(
                    "{lost} of {all} states of TCP senders may be missing: the recorder was too slow, or the kernel skipped it for a segment (perhaps one of another run)"
                ));
            }
        }
        Ok(missing)
    }
}
