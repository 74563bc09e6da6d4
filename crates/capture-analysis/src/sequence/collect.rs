//! Collection of points while a capture is read.

use super::points::{AckPoint, Mark, MarkPoint, PointKind, SackPoint, SegmentPoint};
use super::thin::Thinned;
use super::{Series, TimeSequence, Totals};
use crate::analysis::{Analysis, Watch};
use crate::connection::{Connection, Data, Seen};
use crate::half::duplicate_sack;
use crate::sequence_number::Unwrap;
use crate::throughput::Meter;
use packet::{Ecn, Segment, Tcp};
use std::collections::BTreeMap;
use std::net::SocketAddr;

/// Connections to collect.
#[derive(Debug, Clone, Copy)]
pub enum Wanted {
    /// The one at this index.
    Number(usize),
    /// The first one between these ends.
    Between((SocketAddr, SocketAddr)),
    /// All connections.
    All,
}

/// Collects points.
pub struct Collector {
    wanted: Wanted,
    limit: usize,
    interface: Option<usize>,
    /// Points of both directions, by the connection's index.
    found: BTreeMap<usize, [Gathered; 2]>,
}

/// Points of one direction.
struct Gathered {
    segments: Thinned<SegmentPoint>,
    acks: Thinned<AckPoint>,
    sacks: Thinned<SackPoint>,
    marks: Thinned<MarkPoint>,
    throughput: Meter,
}

impl Collector {
    pub fn new(wanted: Wanted, limit: usize) -> Self {
        Self { wanted, limit, interface: None, found: BTreeMap::new() }
    }

    /// Returns the number of the interface whose points are collected.
    pub fn interface(&self) -> Option<usize> {
        self.interface
    }

    /// Returns the collected connections of `analysis`.
    pub fn finish(self, analysis: &Analysis) -> Vec<TimeSequence> {
        let limit = self.limit;
        let all = analysis.connections.all();
        let sequence = |(index, gathered): (usize, [Gathered; 2])| {
            let connection = &all[index];
            let mut half = 0;
            let series = gathered.map(|gathered| {
                half += 1;
                gathered.finish(connection, half - 1)
            });
            TimeSequence {
                connection: index + 1,
                interface: analysis.title(),
                start_unix_ns: connection.first_time,
                duration_ns: connection.last_time - connection.first_time,
                status: connection.status(),
                series,
                limit,
            }
        };
        self.found.into_iter().map(sequence).collect()
    }

    fn wants(&self, index: usize, connection: &Connection) -> bool {
        match self.wanted {
            Wanted::Number(wanted) => wanted == index,
            Wanted::All => true,
            Wanted::Between((one, other)) => {
                let ends = (connection.end(0), connection.end(1));
                let is_first = self.found.keys().all(|found| *found == index);
                is_first && (ends == (one, other) || ends == (other, one))
            }
        }
    }
}

impl Watch for Collector {
    fn segment(&mut self, interface: &Analysis, index: usize, segment: &Segment, time: u64, seen: &Seen) {
        if *self.interface.get_or_insert(interface.number) != interface.number {
            return;
        }
        let connection = &interface.connections.all()[index];
        if !self.wants(index, connection) {
            return;
        }
        let limit = self.limit;
        let gathered =
            self.found.entry(index).or_insert_with(|| [Gathered::new(limit), Gathered::new(limit)]);
        let time_ns = time.saturating_sub(connection.first_time);
        let [one, other] = gathered;
        let (mine, theirs) = if seen.half == 0 { (one, other) } else { (other, one) };
        mine.sent(segment, time_ns, seen);
        let peer = &connection.halves[1 - seen.half].sequence;
        theirs.answered(segment, time_ns, seen, peer);
    }
}

impl Gathered {
    fn new(limit: usize) -> Self {
        Self {
            segments: Thinned::new(limit),
            acks: Thinned::new(limit),
            sacks: Thinned::new(limit),
            marks: Thinned::new(limit),
            throughput: Meter::new(),
        }
    }

    /// Adds what the sender of this direction sent.
    fn sent(&mut self, segment: &Segment, time_ns: u64, seen: &Seen) {
        let kind = match seen.data {
            Data::None => None,
            Data::New => Some((PointKind::New, None)),
            Data::OutOfOrder => Some((PointKind::OutOfOrder, None)),
            Data::Again(cause) => Some((PointKind::Retransmission, Some(cause))),
            Data::Probe => Some((PointKind::Probe, None)),
        };
        let (tcp, first, last) = (segment.tcp, seen.first, seen.end);
        // A SYN uses the number before the first byte, with or without data.
        self.throughput.sent(time_ns, first + u64::from(tcp.has(Tcp::SYN)), segment.payload.into());
        if let Some((kind, cause)) = kind {
            self.segments.add(SegmentPoint { time_ns, first, last, kind, cause, push: tcp.has(Tcp::PSH) });
        }
        let mut mark = |is: bool, sequence, mark| {
            if is {
                self.marks.add(MarkPoint { time_ns, sequence, mark });
            }
        };
        mark(tcp.has(Tcp::SYN), first, Mark::Syn);
        mark(tcp.has(Tcp::FIN), last, Mark::Fin);
        mark(tcp.has(Tcp::RST), first, Mark::ResetOut);
        mark(tcp.has(Tcp::URG), first, Mark::Urgent);
        mark(segment.ecn == Ecn::Ce, first, Mark::Ce);
        mark(tcp.has(Tcp::CWR) && !tcp.has(Tcp::SYN), first, Mark::Cwr);
    }

    /// Adds the other end's acknowledgment of this direction; `numbers` are those of this
    /// direction.
    fn answered(&mut self, segment: &Segment, time_ns: u64, seen: &Seen, numbers: &Unwrap) {
        let tcp = segment.tcp;
        if let Some(ack) = seen.ack {
            let crate::connection::Ack { number, edge, duplicates, .. } = ack;
            self.acks.add(AckPoint { time_ns, ack: number, edge, duplicates });
            self.throughput.arrived(time_ns, 1, number);
            let mut mark = |is: bool, mark| {
                if is {
                    self.marks.add(MarkPoint { time_ns, sequence: number, mark });
                }
            };
            mark(number == edge && !tcp.has(Tcp::SYN), Mark::ZeroWindow);
            mark(tcp.has(Tcp::ECE) && !tcp.has(Tcp::SYN), Mark::Ece);
            let twice = duplicate_sack(segment).is_some();
            for (index, &(left, right)) in segment.options.sacks().iter().enumerate() {
                let [first, last] = [left, right].map(|edge| Unwrap::relative(numbers.place(edge)));
                self.sacks.add(SackPoint { time_ns, first, last, duplicate: twice && index == 0 });
                self.throughput.arrived(time_ns, first, last);
            }
        }
        if tcp.has(Tcp::RST) {
            // A reset shows the other end's position only if it has an acknowledgment; without one
            // the mark is at 0.
            let has_number = tcp.has(Tcp::ACK) && numbers.is_set();
            let number = has_number.then(|| Unwrap::relative(numbers.place(tcp.acknowledgment)));
            self.marks.add(MarkPoint { time_ns, sequence: number.unwrap_or(0), mark: Mark::ResetIn });
        }
    }

    fn finish(self, connection: &Connection, half: usize) -> Series {
        let segments = self.segments.finish();
        let acks = self.acks.finish();
        let blocks = self.sacks.finish();
        let marks = self.marks.finish();
        let totals =
            Totals { segments: segments.1, acks: acks.1, sacks: blocks.1, marks: marks.1, losses: 0 };
        Series {
            from: connection.end(half),
            to: connection.end(1 - half),
            segments: segments.0,
            acks: acks.0,
            sacks: blocks.0,
            marks: marks.0,
            losses: Vec::new(),
            throughput: self.throughput.finish(connection.last_time - connection.first_time),
            totals,
            base: connection.halves[half].sequence.base(),
        }
    }
}
