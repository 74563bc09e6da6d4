//! The link sender's frames in a view, placed by the user octets that had been handed over.
//!
//! A frame is at the number of octets handed over since time zero, its own included. A
//! retransmitted frame is at the same height as at first. So the graph rises with the rate that the
//! link layer provides, retransmissions are to the right of it, and it is steeper than TCP's by the
//! headers of TCP, IP and framing (Ludwig 3.2.4).

use super::graph::{Graph, Layer, Point, Shape};
use super::monitor::{End, Event, Record};
use super::time::Axis;
use rustc_hash::FxHashMap;

/// Returns the graphs of the sender's end from time zero on, without empty ones.
///
/// They are `RlpSnd_Data`, `RlpSnd_Xmit`, `RlpRcv_XON`, `RlpRcv_XOFF`, `RlpSnd_Rst` and
/// `RlpRcv_Rst`. Marks are at the octets that had been handed over by then.
#[must_use]
pub fn graphs(end: &End, axis: &Axis, offset: f64) -> Vec<Graph> {
    let named = |label: &str, shape| Graph {
        label: label.to_owned(),
        layer: Layer::LinkSender,
        shape,
        offset,
        points: Vec::new(),
    };
    let mut all = [
        named("RlpSnd_Data", Shape::Dots),
        named("RlpSnd_Xmit", Shape::Crosses),
        named("RlpRcv_XON", Shape::Marks),
        named("RlpRcv_XOFF", Shape::Marks),
        named("RlpSnd_Rst", Shape::Marks),
        named("RlpRcv_Rst", Shape::Marks),
    ];
    let mut handed = Handed::default();
    for record in &end.records {
        let time_ns = axis.at(record.time);
        if time_ns < 0 {
            continue;
        }
        let bytes = handed.take(record);
        let place = match (record.event, record.sent) {
            (Event::Data, true) if record.octets > 0 => 0,
            (Event::Again, true) => 1,
            (Event::XOn, false) => 2,
            (Event::XOff, false) => 3,
            (Event::Reset, true) => 4,
            (Event::Reset, false) => 5,
            _ => continue,
        };
        all[place].points.push(Point { time_ns, bytes: bytes as f64 });
    }
    all.into_iter().filter(|graph| !graph.points.is_empty()).collect()
}

/// Counter of octets that remembers the latest position of each frame number.
#[derive(Debug, Default)]
struct Handed {
    octets: u64,
    places: FxHashMap<u16, u64>,
}

impl Handed {
    /// Processes a record and returns its position in octets.
    fn take(&mut self, record: &Record) -> u64 {
        match (record.event, record.sent) {
            (Event::Data, true) => {
                self.octets += u64::from(record.octets);
                self.places.insert(record.number, self.octets);
                self.octets
            }
            (Event::Again, true) => self.places.get(&record.number).copied().unwrap_or(self.octets),
            _ => self.octets,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(time: u64, sent: bool, event: Event, number: u16, octets: u32) -> Record {
        Record { time, sent, event, number, octets }
    }

    /// LL-18: labels; a retransmitted frame has its first height, marks are at the octets handed
    /// over, and records before time zero do not count.
    #[test]
    fn ll_18_frames_lie_at_the_octets_that_were_handed_over() {
        let records = vec![
            record(90, true, Event::Data, 60, 24),
            record(100, true, Event::Data, 61, 24),
            record(120, true, Event::Data, 0, 10),
            record(130, false, Event::Reject, 61, 0),
            record(140, true, Event::Again, 61, 0),
            record(150, false, Event::XOff, 0, 0),
            record(160, true, Event::Data, 1, 0),
            record(170, false, Event::XOn, 0, 0),
            record(180, true, Event::Data, 61, 24),
            record(190, true, Event::Again, 61, 0),
            record(200, false, Event::Erased, 0, 0),
            record(210, true, Event::Reset, 0, 0),
            record(220, true, Event::XOff, 0, 0),
        ];
        let end = End { title: String::new(), period_ns: 20, records };
        let graphs = graphs(&end, &Axis::from_zero(100), 5.0);
        let points = |graph: &Graph| -> Vec<(i64, f64)> {
            graph.points.iter().map(|point| (point.time_ns, point.bytes)).collect()
        };
        let found: Vec<_> = graphs.iter().map(|graph| (graph.label.as_str(), points(graph))).collect();
        let expected = [
            ("RlpSnd_Data", vec![(0, 24.0), (20, 34.0), (80, 58.0)]),
            ("RlpSnd_Xmit", vec![(40, 24.0), (90, 58.0)]),
            ("RlpRcv_XON", vec![(70, 34.0)]),
            ("RlpRcv_XOFF", vec![(50, 34.0)]),
            ("RlpSnd_Rst", vec![(110, 58.0)]),
        ];
        assert_eq!(found, expected);
        assert!(
            graphs
                .iter()
                .all(|graph| graph.offset.to_bits() == 5.0_f64.to_bits() && graph.layer == Layer::LinkSender)
        );
    }
}
