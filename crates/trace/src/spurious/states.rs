//! What the recorded states of a sender ([`capture::senders`]) say: why it sent something again, and what became of its window.

use crate::TraceError;
use crate::loss_events::Ends;
use crate::retransmission::Cause;
use capture::senders::{CongestionState, Reader, SenderState};
use rustc_hash::FxHashMap;
use std::path::Path;

/// The state of a sender when a segment reached it, before it took that in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct State {
    /// When, in nanoseconds since 1970.
    pub time: u64,
    /// Congestion window in segments.
    pub cwnd: u32,
    /// Slow start threshold in segments; `None` before the first loss, or if it is not known.
    pub ssthresh: Option<u32>,
    /// Segments in the network as the sender estimates them.
    pub in_flight: Option<u32>,
    /// Congestion state.
    pub state: Option<CongestionState>,
}

/// Reads the states of all senders of a run, each in the order of time.
///
/// # Errors
/// If the table cannot be read.
pub fn read(path: &Path) -> Result<FxHashMap<Ends, Vec<State>>, TraceError> {
    let failed = |source| TraceError::Senders { path: path.to_owned(), source };
    let reader = Reader::open(path).map_err(failed)?;
    let started = reader.header().started;
    let mut all: FxHashMap<Ends, Vec<State>> = FxHashMap::default();
    for state in reader {
        let state: SenderState = state.map_err(failed)?;
        let ends = Ends { from: state.local, to: state.remote };
        all.entry(ends).or_default().push(State {
            time: started.at(state.at).as_nanos(),
            cwnd: state.cwnd,
            ssthresh: state.ssthresh.filter(|&segments| segments < capture::senders::INFINITE_SSTHRESH),
            in_flight: state.in_flight(),
            state: state.state,
        });
    }
    for rows in all.values_mut() {
        rows.sort_by_key(|row| row.time);
    }
    Ok(all)
}

/// Why a segment was sent again at `time`, if packets say `seen`: the first row behind it shows the state in which that was done.
#[must_use]
pub fn cause(states: &[State], time: u64, seen: Cause) -> Cause {
    let behind = states.partition_point(|state| state.time <= time);
    match (states.get(behind).and_then(|state| state.state), seen) {
        (Some(CongestionState::Loss), Cause::Fast | Cause::Timeout | Cause::Unknown | Cause::TailProbe) => {
            Cause::Timeout
        }
        (Some(CongestionState::Recovery), Cause::Timeout | Cause::Unknown) => Cause::Fast,
        // Nothing is lost for the sender, and yet it sends again: a probe.
        (Some(CongestionState::Open | CongestionState::Disorder), Cause::Timeout | Cause::Unknown) => {
            Cause::TailProbe
        }
        _ => seen,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_state_behind_a_retransmission_tells_its_cause() {
        let row = |time, state| State { time, cwnd: 1, ssthresh: None, in_flight: None, state: Some(state) };
        let rows = [
            row(10, CongestionState::Open),
            row(20, CongestionState::Loss),
            row(30, CongestionState::Recovery),
            row(40, CongestionState::Open),
        ];
        let told = |time, seen| cause(&rows, time, seen);
        assert_eq!(told(15, Cause::Unknown), Cause::Timeout);
        assert_eq!(told(15, Cause::Rack), Cause::Rack);
        assert_eq!(told(25, Cause::Timeout), Cause::Fast);
        assert_eq!(told(35, Cause::Timeout), Cause::TailProbe);
        assert_eq!(told(45, Cause::Timeout), Cause::Timeout, "no row behind it: packets alone say");
    }
}
