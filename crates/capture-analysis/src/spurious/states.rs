//! Causes of retransmissions and changes of windows, from the recorded states of a sender
//! ([`capture::senders`]).

use crate::TraceError;
use crate::loss_events::Ends;
use crate::retransmission::Cause;
use capture::senders::{CongestionState, INFINITE_SSTHRESH, Reader, SenderState};
use rustc_hash::FxHashMap;
use std::path::Path;

/// State of a sender when a segment reached it, before the segment was processed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct State {
    /// Time in nanoseconds since 1970.
    pub time: u64,
    /// Congestion window in segments.
    pub cwnd: u32,
    /// Slow start threshold in segments; `None` before the first loss, or if not known.
    pub ssthresh: Option<u32>,
    /// Segments in flight, by the sender's estimate.
    pub in_flight: Option<u32>,
    /// Congestion state.
    pub state: Option<CongestionState>,
    /// Smoothed round-trip time, in microseconds.
    pub srtt_us: Option<u32>,
    /// Variation of the round-trip time (RFC 6298: RTTVAR), in microseconds.
    pub rttvar_us: Option<u32>,
    /// Retransmission timeout, in microseconds.
    pub rto_us: Option<u64>,
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
            ssthresh: state.ssthresh.filter(|&segments| segments < INFINITE_SSTHRESH),
            in_flight: state.in_flight(),
            state: state.state,
            srtt_us: state.srtt_us,
            rttvar_us: state.rttvar_us,
            rto_us: state.rto_us,
        });
    }
    for rows in all.values_mut() {
        rows.sort_by_key(|row| row.time);
    }
    Ok(all)
}

/// Returns why a segment was retransmitted at `time`; `seen` is the cause that the packets suggest.
///
/// The first row after `time` shows the state in which the sender retransmitted.
#[must_use]
pub fn cause(states: &[State], time: u64, seen: Cause) -> Cause {
    let behind = states.partition_point(|state| state.time <= time);
    match (states.get(behind).and_then(|state| state.state), seen) {
        (Some(CongestionState::Loss), Cause::Fast | Cause::Timeout | Cause::Unknown | Cause::TailProbe) => {
            Cause::Timeout
        }
        (Some(CongestionState::Recovery), Cause::Timeout | Cause::Unknown) => Cause::Fast,
        // The sender retransmits although it considers nothing lost: a probe.
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
        let row = |time, state| State {
            time,
            cwnd: 1,
            ssthresh: None,
            in_flight: None,
            state: Some(state),
            srtt_us: None,
            rttvar_us: None,
            rto_us: None,
        };
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

    /// A threshold that the kernel has not set yet is read as `None`.
    #[test]
    fn states_are_read_by_their_sender() {
        use capture::senders::{Header, Record, SCHEMA, Writer};
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("x-senders.parquet");
        let header = Header {
            schema: SCHEMA,
            lasthop: "test".to_owned(),
            started: capture::WallTime::from_nanos(1000),
            seed: 0,
            source: "test".to_owned(),
            nodes: vec!["server".to_owned()],
        };
        let [local, remote] = ["10.0.0.1:1", "10.0.0.2:2"].map(|end| end.parse().expect("an address"));
        let file = std::fs::File::create(&path).expect("a file");
        let mut writer = Writer::new(file, header).expect("a table");
        for (at, ssthresh) in [(5, INFINITE_SSTHRESH), (9, 7)] {
            let nothing = SenderState::nothing_known(local, remote);
            let at = capture::Time::from_nanos(at);
            let state = SenderState { at, cwnd: 3, ssthresh: Some(ssthresh), srtt_us: Some(8), ..nothing };
            writer.add(Record::Row(state)).expect("a row");
        }
        writer.finish(capture::Tail::Complete).expect("an end");
        let all = read(&path).expect("a table");
        let found: Vec<_> = all[&Ends { from: local, to: remote }]
            .iter()
            .map(|state| (state.time, state.cwnd, state.ssthresh, state.srtt_us))
            .collect();
        assert_eq!(found, [(1005, 3, None, Some(8)), (1009, 3, Some(7), Some(8))]);
    }
}
