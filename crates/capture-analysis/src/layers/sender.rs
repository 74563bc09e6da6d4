//! The recorded states of the sender (Ludwig's tcpstats, 3.2.3; LL-22), as far as they are drawn:
//! windows in bytes, and times separately.

use super::graph::{Graph, Layer, Point, Shape};
use super::time::Axis;
use crate::spurious::states::State;
use serde::Serialize;

/// A time value that the sender used from an instant on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Timing {
    /// Nanoseconds since time zero.
    pub time_ns: i64,
    /// The value in microseconds.
    pub us: u64,
}

/// Round-trip times and what the sender derives from them. They are not part of a view, whose unit
/// is another one.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct Timings {
    /// Round-trip times of segments that were sent once, from the sender's capture (Karn).
    pub rtt: Vec<Timing>,
    /// Smoothed round-trip time, from the recorded states.
    pub srtt: Vec<Timing>,
    /// Variation of the round-trip time.
    pub rttvar: Vec<Timing>,
    /// Retransmission timeout.
    pub rto: Vec<Timing>,
}

/// Returns the graphs `TcpSnd_cwnd` and `TcpSnd_ssthresh` in bytes, without empty ones.
///
/// A segment counts as `segment` bytes. The graphs have no offset, because their height is a number
/// of bytes and not a position in the stream.
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

/// Returns the times in the sender's states. An SRTT of 0 means that there was no sample yet.
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

/// Keeps the entries at which the value changes, and the last one: a state holds until the next.
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
}
