//! The recorded states of the sender (Ludwig's tcpstats, 3.2.3; LL-22), as far as they are drawn: windows in bytes, times apart.

use super::graph::{Graph, Layer, Point, Shape};
use super::time::Axis;
use crate::TraceError;
use crate::loss_events::Ends;
use crate::spurious::states;
use capture::senders::{CongestionState, INFINITE_SSTHRESH, Reader, SenderState};
use rustc_hash::FxHashMap;
use serde::Serialize;
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
    /// Smoothed round-trip time, in microseconds.
    pub srtt_us: Option<u32>,
    /// Variation of the round-trip time (RFC 6298: RTTVAR), in microseconds.
    pub rttvar_us: Option<u32>,
    /// Retransmission timeout, in microseconds.
    pub rto_us: Option<u64>,
}

/// A time that the sender reckoned with, from then on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Timing {
    /// Nanoseconds since time zero.
    pub time_ns: i64,
    /// How long, in microseconds.
    pub us: u64,
}

/// Round-trip times and what the sender makes of them; another unit than a view's, so beside it.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct Timings {
    /// Round-trip times of segments that were sent once, by the sender's capture (Karn).
    pub rtt: Vec<Timing>,
    /// Smoothed round-trip time, by the recorded states.
    pub srtt: Vec<Timing>,
    /// Its variation.
    pub rttvar: Vec<Timing>,
    /// Retransmission timeout.
    pub rto: Vec<Timing>,
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
        all.entry(Ends { from: state.local, to: state.remote }).or_default().push(State {
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

impl From<&State> for states::State {
    fn from(state: &State) -> Self {
        let State { time, cwnd, ssthresh, in_flight, state, .. } = *state;
        Self { time, cwnd, ssthresh, in_flight, state }
    }
}

/// `TcpSnd_cwnd` and `TcpSnd_ssthresh` in bytes of `segment` each, without those that are empty. They have no offset: their height is a
/// number of bytes and not a place in the stream.
#[must_use]
pub fn windows(states: &[State], axis: &Axis, segment: u64) -> Vec<Graph> {
    let graph = |label: &str, value: &dyn Fn(&State) -> Option<u32>| {
        let point = |state: &State| {
            Some(Point { time_ns: axis.at(state.time), bytes: (u64::from(value(state)?) * segment) as f64 })
        };
        let points = changes(states.iter().filter_map(point), |point| point.bytes);
        Graph { label: label.to_owned(), layer: Layer::SenderState, shape: Shape::Steps, offset: 0.0, points }
    };
    let both =
        [graph("TcpSnd_cwnd", &|state| Some(state.cwnd)), graph("TcpSnd_ssthresh", &|state| state.ssthresh)];
    both.into_iter().filter(|graph| !graph.points.is_empty()).collect()
}

/// What the sender's states say of times. SRTT 0 is a connection that had no sample yet.
#[must_use]
pub fn timings(states: &[State], axis: &Axis) -> Timings {
    let of = |value: &dyn Fn(&State) -> Option<u64>| {
        let timing = |state: &State| Some(Timing { time_ns: axis.at(state.time), us: value(state)? });
        changes(states.iter().filter_map(timing), |timing| timing.us)
    };
    Timings {
        rtt: Vec::new(),
        srtt: of(&|state| state.srtt_us.map(u64::from).filter(|&us| us > 0)),
        rttvar: of(&|state| state.rttvar_us.map(u64::from)),
        rto: of(&|state| state.rto_us),
    }
}

/// Those at which the value is another one, and the last: a state holds until the next.
fn changes<T: Copy, V: PartialEq>(all: impl Iterator<Item = T>, value: impl Fn(&T) -> V) -> Vec<T> {
    let mut kept: Vec<T> = Vec::new();
    let mut last = None;
    for one in all {
        if kept.last().is_none_or(|before| value(before) != value(&one)) {
            kept.push(one);
            last = None;
        } else {
            last = Some(one);
        }
    }
    kept.extend(last);
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    fn state(time: u64, cwnd: u32, ssthresh: Option<u32>, rto_us: u64) -> State {
        let (in_flight, state) = (None, None);
        State {
            time,
            cwnd,
            ssthresh,
            in_flight,
            state,
            srtt_us: Some(0),
            rttvar_us: None,
            rto_us: Some(rto_us),
        }
    }

    /// LL-22: windows in bytes, where they change and at the end.
    #[test]
    fn ll_22_windows_are_steps_in_bytes() {
        let states = [
            state(10, 2, None, 3),
            state(20, 2, None, 3),
            state(30, 3, Some(2), 4),
            state(40, 3, Some(2), 4),
        ];
        let axis = Axis::from_zero(10);
        let graphs = windows(&states, &axis, 460);
        let points = |graph: &Graph| -> Vec<(i64, f64)> {
            graph.points.iter().map(|point| (point.time_ns, point.bytes)).collect()
        };
        let found: Vec<_> = graphs.iter().map(|graph| (graph.label.as_str(), points(graph))).collect();
        let cwnd = vec![(0, 920.0), (20, 1380.0), (30, 1380.0)];
        assert_eq!(found, [("TcpSnd_cwnd", cwnd), ("TcpSnd_ssthresh", vec![(20, 920.0), (30, 920.0)])]);
        assert!(graphs.iter().all(|graph| graph.shape == Shape::Steps && graph.layer == Layer::SenderState));
        let timings = timings(&states, &axis);
        let rto: Vec<_> = timings.rto.iter().map(|timing| (timing.time_ns, timing.us)).collect();
        assert_eq!(rto, [(0, 3), (20, 4), (30, 4)]);
        assert!(timings.srtt.is_empty() && timings.rttvar.is_empty());
        assert!(windows(&[], &axis, 460).is_empty());
    }

    /// A threshold that the kernel has not set yet is none.
    #[test]
    fn states_are_read_by_their_sender() {
        use capture::senders::{Header, SCHEMA, Writer, log::Record};
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
            writer.add(Record::State(state)).expect("a row");
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
