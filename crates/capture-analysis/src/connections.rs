//! Assignment of segments to connections.
//!
//! Segments belong together if they have the same addresses and ports, in either direction. As in
//! tcptrace, a new connection begins in two cases:
//!
//! * with a segment more than four minutes after the last one
//! * with a SYN after a FIN or a reset of either end, or after two SYNs of its own end, unless it
//!   has the sequence number of the previous SYN
//!
//! tcptrace also assigns a SYN to the old connection if its number is less than a window above the
//! old connection's. This crate does not, because ports reused within milliseconds would then be
//! one connection.

use crate::connection::{Connection, Seen};
use crate::half::Half;
use packet::{Segment, Tcp};
use rustc_hash::FxHashMap;
use std::net::IpAddr;

/// Silence after which the same addresses and ports are another connection: twice the maximum
/// segment lifetime.
const FORGOTTEN: u64 = 240_000_000_000;

type Endpoint = (IpAddr, u16);

/// All connections of one interface, in the order of their first packets.
#[derive(Debug, Default)]
pub struct Connections {
    all: Vec<Connection>,
    /// The latest connection of each pair of endpoints, the lower endpoint first.
    latest: FxHashMap<(Endpoint, Endpoint), u32>,
    /// The connection of the previous segment, which is most often that of the next one, too.
    recent: Option<u32>,
    /// Threshold in nanoseconds: longer silences are recorded.
    threshold: u64,
}

impl Connections {
    pub(crate) fn new(threshold: u64) -> Self {
        Self { threshold, ..Self::default() }
    }

    /// Returns the connections, in the order of their first packets.
    #[must_use]
    pub fn all(&self) -> &[Connection] {
        &self.all
    }

    /// Adds a segment captured at `time`. Returns the index of its connection, and its role there.
    #[inline]
    pub(crate) fn add(&mut self, segment: &Segment, time: u64) -> (usize, Seen) {
        let found = self.recent.and_then(|index| self.with_half(index, segment)).or_else(|| {
            let index = *self.latest.get(&endpoints(segment))?;
            self.with_half(index, segment)
        });
        let (index, half) = match found {
            Some((index, half)) if !self.all[index as usize].is_over(half, segment, time) => (index, half),
            _ => (self.begin(segment, time), 0),
        };
        self.recent = Some(index);
        let index = index as usize;
        (index, self.all[index].add(half, segment, time, self.threshold))
    }

    /// Returns the half of the connection `index` that `segment` belongs to, if it belongs to it at
    /// all.
    #[inline]
    fn with_half(&self, index: u32, segment: &Segment) -> Option<(u32, usize)> {
        let [one, other] = &self.all[index as usize].halves;
        let is = |half: &Half, address, port| half.port == port && half.address == address;
        if is(one, segment.source, segment.source_port)
            && is(other, segment.destination, segment.destination_port)
        {
            return Some((index, 0));
        }
        let back = is(other, segment.source, segment.source_port)
            && is(one, segment.destination, segment.destination_port);
        back.then_some((index, 1))
    }

    fn begin(&mut self, segment: &Segment, time: u64) -> u32 {
        let index = u32::try_from(self.all.len()).expect("fewer connections than memory has bytes");
        if let Some(before) = self.latest.insert(endpoints(segment), index) {
            self.all[before as usize].shrink();
        }
        self.all.push(Connection::new(segment, time));
        index
    }
}

impl Connection {
    /// Returns whether a segment of half `half` begins another connection between the same
    /// endpoints.
    #[inline]
    fn is_over(&self, half: usize, segment: &Segment, time: u64) -> bool {
        if time.saturating_sub(self.last_time) > FORGOTTEN {
            return true;
        }
        segment.tcp.has(Tcp::SYN)
            && (self.fins() > 0 || self.is_reset() || self.halves[half].counts.syns > 1)
            && self.halves[half].syn != Some(segment.tcp.sequence)
    }
}

/// Returns both endpoints, the lower one first.
fn endpoints(segment: &Segment) -> (Endpoint, Endpoint) {
    let source = (segment.source, segment.source_port);
    let destination = (segment.destination, segment.destination_port);
    if source <= destination { (source, destination) } else { (destination, source) }
}
