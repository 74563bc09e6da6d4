//! Loss events of TCP senders, their true causes, and the verdicts of the senders' loss
//! differentiation.
//!
//! This module compares two records of one run: the states of the senders at every acknowledgement
//! ([`capture::senders`]), which show when and why a sender reduced its window, and the fates of
//! packets on links, which show what was lost and where. Both use the run's clock.
//!
//! | file | contents |
//! |---|---|
//! | [`seen`] | a sender's state, as far as it matters here |
//! | [`changes`](mod@changes) | entries into recovery, timeouts and other window reductions |
//! | [`cause`] | the joint cause of several lost packets |
//! | [`lost`] | the packets of a connection that links lost or damaged |
//! | [`attribute`](mod@attribute) | which of them a loss event is about |
//! | [`receiver`] | detectors at the receiver, replayed over the fates |
//! | [`print`](mod@print) | events as a text table |

pub mod attribute;
pub mod cause;
pub mod changes;
pub mod lost;
pub mod print;
pub mod receiver;
pub mod seen;
mod stream;

pub use attribute::{LossEvent, attribute};
pub use capture::Cause;
pub use cause::Truth;
pub use changes::{Change, LossDetection, changes};
pub use lost::{Ends, LostPacket, LostPackets};
pub use seen::{Judged, Seen};

use crate::TraceError;
use rustc_hash::FxHashMap;
use std::path::Path;

/// The loss events of one direction of a connection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Connection {
    /// Its ends, the sender first.
    pub ends: Ends,
    /// Its loss events, in the order of time.
    pub events: Vec<LossEvent>,
    /// Lost or damaged packets that belong to no loss event: those that an ongoing recovery
    /// repaired, and those lost after the last event.
    pub without_event: u64,
}

/// Reads the loss events of all connections, in the order in which their senders first appear.
///
/// `senders` is the table of senders' states and `events` the event log (both Parquet) of the same
/// run.
///
/// # Errors
/// If a table cannot be read.
pub fn read(senders: &Path, events: &Path) -> Result<Vec<Connection>, TraceError> {
    let failed = |source| TraceError::Senders { path: senders.to_owned(), source };
    let mut connections: Vec<(Ends, Vec<Seen>)> = Vec::new();
    let mut numbers: FxHashMap<Ends, usize> = FxHashMap::default();
    for state in capture::senders::Reader::open(senders).map_err(failed)? {
        let state = state.map_err(failed)?;
        let ends = Ends { from: state.local, to: state.remote };
        let number = *numbers.entry(ends).or_insert_with(|| {
            connections.push((ends, Vec::new()));
            connections.len() - 1
        });
        connections[number].1.push(Seen::from(&state));
    }

    let failed = |source| TraceError::Events { path: events.to_owned(), source };
    let mut lost = LostPackets::default();
    for fate in capture::fates::Reader::open(events).map_err(failed)? {
        lost.add(&fate.map_err(failed)?);
    }

    let connection = |(ends, mut rows): (Ends, Vec<Seen>)| {
        rows.sort_by_key(|row| row.at);
        let (events, without_event) = attribute(&rows, lost.take(ends));
        Connection { ends, events, without_event }
    };
    Ok(connections.into_iter().map(connection).collect())
}

#[cfg(test)]
mod tests;
