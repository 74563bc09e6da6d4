//! Counters of each flow at each point of capture: packets, bytes, retransmissions, and unnecessary
//! retransmissions.
//!
//! A capture of a run has both ends of every link, so a connection over two links is seen at four
//! points. A flow is one direction of a TCP connection, of a pair of UDP ports, or of another
//! protocol between two addresses. Each point counts what passed there:
//!
//! * A packet counts at both ends of a link if the link delivered it, and otherwise only where it
//!   entered.
//! * A retransmission counts at a point if the point had seen its bytes before. Where an earlier
//!   transmission was lost before the point, the later one is not a retransmission there.
//! * A retransmission is *spurious* if the receiver's point had seen all of its bytes by then, by
//!   earlier transmissions ([`crate::spurious`]).

use crate::TraceError;
use crate::analysis::{self, Analysis, AnalysisOptions, Unwatched, Watch};
use crate::connection::Seen;
use crate::spurious::collect::{Collector, Interface};
use crate::spurious::flow::Flow;
use crate::spurious::pair::{self, Sides};
use crate::spurious::{SpuriousVerdict, examine};
use packet::{Headers, Layer, Segment, headers};
use rustc_hash::FxHashMap;
use serde::Serialize;
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::Path;

/// A flow at a point.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Point {
    /// Number of the interface.
    pub interface: usize,
    /// Name of the interface.
    pub name: String,
    /// The protocol above IP.
    pub protocol: Protocol,
    /// Number of the TCP connection on the interface, from 1.
    pub connection: Option<usize>,
    /// The sender; port 0 for protocols without ports.
    pub from: SocketAddr,
    /// The receiver.
    pub to: SocketAddr,
    /// Its counters.
    #[serde(flatten)]
    pub counts: PointCounts,
}

/// Protocol of a flow.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Protocol {
    /// TCP.
    Tcp,
    /// UDP.
    Udp,
    /// Another one.
    Other,
}

/// Counters of a flow at a point. Those below `bytes` are of TCP only.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct PointCounts {
    /// Packets.
    pub packets: u64,
    /// Their bytes with IP headers.
    pub bytes: u64,
    /// Packets with data.
    pub data_packets: u64,
    /// Bytes of data, as often as they passed.
    pub data_bytes: u64,
    /// Packets with data that had passed before.
    pub retransmissions: u64,
    /// Bytes of data that had passed before.
    pub retransmitted_bytes: u64,
    /// Retransmissions of what the receiver had.
    pub spurious: u64,
    /// Retransmissions of which it is not known whether the receiver had it.
    pub undecided: u64,
}

impl Protocol {
    /// Returns `tcp`, `udp` or `other`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Tcp => "tcp",
            Self::Udp => "udp",
            Self::Other => "other",
        }
    }

    fn of(number: u8) -> Self {
        match number {
            headers::TCP => Self::Tcp,
            headers::UDP => Self::Udp,
            _ => Self::Other,
        }
    }
}

/// Reads the capture at `path`, and returns the flows at each interface, in the order of interfaces
/// and of connections.
///
/// # Errors
/// If the capture cannot be read.
pub fn read(path: &Path) -> Result<Vec<Point>, TraceError> {
    let mut passing = Passing {
        collector: Collector::new(Unwatched),
        next: 0,
        tcp: FxHashMap::default(),
        others: BTreeMap::new(),
    };
    let trace = analysis::read(path, &AnalysisOptions::default(), &mut passing)?;
    let Passing { collector, tcp, others, .. } = passing;
    let interfaces = collector.finish("", &trace);
    let spurious = Spurious::of(&interfaces);
    let mut points = Vec::new();
    for (place, (analysis, interface)) in trace.interfaces.iter().zip(&interfaces).enumerate() {
        let spurious = |flow: &Flow| spurious.at(place, flow);
        points.extend(of_tcp(analysis, interface, &tcp, spurious));
        let its = others.iter().filter(|((number, ..), _)| *number == analysis.number);
        points.extend(its.map(|(&(_, protocol, from, to), &counts)| Point {
            interface: analysis.number,
            name: analysis.name.clone(),
            protocol,
            connection: None,
            from,
            to,
            counts,
        }));
    }
    Ok(points)
}

/// Returns both directions of each TCP connection of an interface.
fn of_tcp(
    analysis: &Analysis,
    interface: &Interface,
    bytes: &FxHashMap<(usize, usize), [u64; 2]>,
    spurious: impl Fn(&Flow) -> (u64, u64),
) -> Vec<Point> {
    let both = |(index, connection): (usize, &crate::Connection)| {
        let passed = bytes.get(&(analysis.number, index)).copied().unwrap_or_default();
        [0, 1].map(|half| {
            let counted = &connection.halves[half].counts;
            let (from, to) = (connection.end(half), connection.end(1 - half));
            let flow = interface
                .flows
                .iter()
                .find(|flow| flow.connection == index + 1 && (flow.ends.from, flow.ends.to) == (from, to));
            let (unnecessary, undecided) = flow.map(&spurious).unwrap_or_default();
            Point {
                interface: analysis.number,
                name: analysis.name.clone(),
                protocol: Protocol::Tcp,
                connection: Some(index + 1),
                from,
                to,
                counts: PointCounts {
                    packets: counted.packets,
                    bytes: passed[half],
                    data_packets: counted.data_packets,
                    data_bytes: counted.data_bytes,
                    retransmissions: counted.retransmitted_packets,
                    retransmitted_bytes: counted.retransmitted_bytes,
                    spurious: unnecessary,
                    undecided,
                },
            }
        })
    };
    analysis.connections.all().iter().enumerate().flat_map(both).collect()
}

/// Unnecessary and undecided retransmissions of each flow, by interface, connection and sender.
struct Spurious(FxHashMap<(usize, usize, SocketAddr), (u64, u64)>);

impl Spurious {
    fn of(interfaces: &[Interface]) -> Self {
        let mut counted = FxHashMap::default();
        for group in pair::groups(interfaces) {
            let receiver = pair::sides(&group).receiver.unwrap_or(group[0]);
            for &sender in &group {
                // At the receiver's own point, all that was seen before has been received.
                let is_alone = group.len() == 1;
                let sides = Sides { sender, receiver: (!is_alone).then_some(receiver) };
                let examined = examine(&sides, None);
                let count = |verdict| examined.count(|again| again.verdict == verdict).0;
                let both = (count(SpuriousVerdict::Spurious), count(SpuriousVerdict::Unknown));
                let place = interfaces.iter().position(|interface| std::ptr::eq(interface, sender.0));
                counted.extend(place.map(|place| (Self::key(place, sender.1), both)));
            }
        }
        Self(counted)
    }

    fn at(&self, interface: usize, flow: &Flow) -> (u64, u64) {
        self.0.get(&Self::key(interface, flow)).copied().unwrap_or_default()
    }

    fn key(interface: usize, flow: &Flow) -> (usize, usize, SocketAddr) {
        (interface, flow.connection, flow.ends.from)
    }
}

/// Counts bytes while the capture is read.
struct Passing {
    collector: Collector<Unwatched>,
    /// Length of the next segment's packet.
    next: u32,
    /// Bytes of both directions of each TCP connection, by interface and index.
    tcp: FxHashMap<(usize, usize), [u64; 2]>,
    others: BTreeMap<(usize, Protocol, SocketAddr, SocketAddr), PointCounts>,
}

impl Watch for Passing {
    fn packet(&mut self, ip: &[u8], length: u32) {
        self.next = length;
        self.collector.packet(ip, length);
    }

    fn segment(&mut self, interface: &Analysis, index: usize, segment: &Segment, time: u64, seen: &Seen) {
        self.tcp.entry((interface.number, index)).or_default()[seen.half] += u64::from(self.next);
        self.collector.segment(interface, index, segment, time, seen);
    }

    fn other(&mut self, interface: &Analysis, ip: &[u8], length: u32) {
        let Ok(headers) = Headers::parse(Layer::Ip, ip) else { return };
        let (from, to) = headers.addresses();
        let (sends, receives) = headers.ports().unwrap_or_default();
        let key = (
            interface.number,
            Protocol::of(headers.protocol()),
            SocketAddr::new(from, sends),
            SocketAddr::new(to, receives),
        );
        let counts = self.others.entry(key).or_default();
        counts.packets += 1;
        counts.bytes += u64::from(length);
    }
}

#[cfg(test)]
mod tests;
