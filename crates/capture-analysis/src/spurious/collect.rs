//! From captures to flows, in one pass over the packets.

use super::flow::{Acknowledgment, Flow, Transmission};
use crate::analysis::{Analysis, Trace, Watch};
use crate::connection::{Data, Seen};
use crate::half::duplicate_sack;
use crate::loss_events::Ends;
use crate::sequence_number::Unwrap;
use packet::checksum::{self, ChecksumStatus};
use packet::{Headers, Layer, Segment, Tcp};
use rustc_hash::FxHashMap;

/// Collects the flows of a capture while [`crate::analysis::read`] reads it, and reports progress
/// to `watch`.
#[derive(Debug)]
pub struct Collector<W> {
    watch: W,
    /// Both directions of each connection, by number of the interface and index of the connection.
    found: FxHashMap<(usize, usize), [Gathered; 2]>,
    /// Number of TCP packets so far.
    order: u64,
    /// Length of the next packet at IP, and whether its checksum is wrong.
    next: (u32, bool),
}

/// What was captured at one interface.
#[derive(Debug, Clone)]
pub struct Interface {
    /// The capture's file, and number and name of the interface if the file has several.
    pub title: String,
    /// Its flows with data, in the order of connections.
    pub flows: Vec<Flow>,
}

#[derive(Debug, Default)]
struct Gathered {
    transmissions: Vec<Transmission>,
    acknowledgments: Vec<Acknowledgment>,
}

impl<W: Watch> Collector<W> {
    /// Creates a collector that reports progress to `watch`.
    pub fn new(watch: W) -> Self {
        Self { watch, found: FxHashMap::default(), order: 0, next: (0, false) }
    }

    /// Returns the flows of each interface of the capture called `file`.
    #[must_use]
    pub fn finish(mut self, file: &str, trace: &Trace) -> Vec<Interface> {
        let several = trace.interfaces.len() > 1;
        let interface = |analysis: &Analysis| Interface {
            title: if several { format!("{file}, interface {}", analysis.title()) } else { file.to_owned() },
            flows: self.flows(analysis),
        };
        trace.interfaces.iter().map(interface).collect()
    }

    fn flows(&mut self, analysis: &Analysis) -> Vec<Flow> {
        let mut flows = Vec::new();
        for (index, connection) in analysis.connections.all().iter().enumerate() {
            let Some(gathered) = self.found.remove(&(analysis.number, index)) else { continue };
            for (half, gathered) in gathered.into_iter().enumerate() {
                let [me, peer] = [half, 1 - half].map(|half| &connection.halves[half]);
                let base = |half: &crate::half::Half| (half.sequence.base().unwrap_or(0), half.syn.is_some());
                if gathered.transmissions.is_empty() {
                    continue;
                }
                let trips = me.round_trips();
                let mut flow = Flow {
                    ends: Ends { from: connection.end(half), to: connection.end(1 - half) },
                    connection: index + 1,
                    began: connection.first_time,
                    base: base(me),
                    peer_base: base(peer),
                    sack: (me.offer.sack && peer.offer.sack) || peer.counts.sacks > 0,
                    sampled: (trips.count > 0).then_some(trips.min_ns),
                    transmissions: gathered.transmissions,
                    acknowledgments: gathered.acknowledgments,
                };
                flow.settle();
                flows.push(flow);
            }
        }
        flows
    }
}

impl<W: Watch> Watch for Collector<W> {
    fn packet(&mut self, ip: &[u8], length: u32) {
        let is_wrong = |headers: &Headers| checksum::verify(ip, headers) == ChecksumStatus::Wrong;
        self.next = (length, Headers::parse(Layer::Ip, ip).is_ok_and(|headers| is_wrong(&headers)));
    }

    fn segment(&mut self, interface: &Analysis, index: usize, segment: &Segment, time: u64, seen: &Seen) {
        let order = self.order;
        self.order += 1;
        let (length, damaged) = self.next;
        let halves = self.found.entry((interface.number, index)).or_default();
        let [one, other] = halves;
        let (mine, theirs) = if seen.half == 0 { (one, other) } else { (other, one) };
        let (tcp, stamps) = (segment.tcp, segment.options.timestamps);
        if segment.payload > 0 {
            let first = seen.first + u64::from(tcp.has(Tcp::SYN));
            mine.transmissions.push(Transmission {
                order,
                time,
                first,
                end: first + u64::from(segment.payload),
                length,
                identification: segment.identification,
                stamp: stamps.map(|stamps| stamps.0),
                damaged,
                again: if let Data::Again(cause) = seen.data { Some(cause) } else { None },
            });
        }
        if let Some(ack) = seen.ack {
            let numbers = &interface.connections.all()[index].halves[1 - seen.half].sequence;
            let place = |number| Unwrap::relative(numbers.place(number));
            let twice = duplicate_sack(segment).map(|(left, right)| (place(left), place(right)));
            let blocks = &segment.options.sacks()[usize::from(twice.is_some())..];
            theirs.acknowledgments.push(Acknowledgment {
                order,
                time,
                number: ack.number,
                echo: stamps.map(|stamps| stamps.1),
                damaged,
                duplicate: ack.duplicates > 0,
                twice,
                sacks: blocks.iter().map(|&(left, right)| (place(left), place(right))).collect(),
            });
        }
    }

    fn progress(&mut self, at: u64, packets: u64) -> bool {
        self.watch.progress(at, packets)
    }
}
