//! Loss events of TCP senders, what each was really caused by, and what the sender's loss
//! differentiation made of it.
//!
//! Two records of one run are laid side by side: the states of the senders at every acknowledgement
//! ([`capture::senders`]), which show when a sender reduced its window and why it says so, and the
//! fates of packets on links, which show what was lost and where. Both have the run's clock.
//!
//! | file | what is there |
//! |---|---|
//! | [`seen`] | a sender's state, as far as it matters here |
//! | [`changes`](mod@changes) | when a sender went into recovery, ran into a timeout, or reduced its window for another reason |
//! | [`cause`] | what a packet was lost by, and several of them |
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
pub use changes::{Change, Kind, changes};
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
    /// Packets that links lost or damaged and no loss event is about: what recovery repaired that
    /// was going on already, and what was lost last.
    pub without_event: u64,
}

/// Reads the loss events of all connections, in the order in which their senders appear, from the
/// table of `senders` and the event log (both Parquet) of the same run.
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
