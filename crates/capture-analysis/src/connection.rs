//! One TCP connection: its two directions, and what each reveals about the other.

use crate::half::{Half, duplicate_sack, micros};
use crate::idle::Gaps;
use crate::retransmission::{Cause, Moment};
use crate::sequence_number::Unwrap;
use crate::window::Bearer;
use packet::{Segment, Tcp};
use std::net::SocketAddr;

/// One connection.
#[derive(Debug, Clone)]
pub struct Connection {
    /// The direction from the end that sent the first packet, then the opposite one.
    pub halves: [Half; 2],
    /// Time of the first packet, in nanoseconds since 1970.
    pub first_time: u64,
    /// Time of the last packet, in nanoseconds since 1970.
    pub last_time: u64,
    /// Long silences (TL-25).
    pub gaps: Gaps,
}

/// What the analysis found in one segment. Sequence numbers are relative: 0 is the SYN.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Seen {
    /// Index of the half that sent it.
    pub half: usize,
    /// Its first sequence number.
    pub first: u64,
    /// The number after its last one; equal to `first` if it uses none.
    pub end: u64,
    /// What its sequence numbers are.
    pub data: Data,
    /// What it acknowledges, if anything.
    pub ack: Option<Ack>,
}

/// Classification of a segment's sequence numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Data {
    /// It uses no sequence numbers.
    None,
    /// Sent for the first time.
    New,
    /// Fills a hole.
    OutOfOrder,
    /// Retransmitted, all or a part.
    Again(Cause),
    /// Sent into a window of zero.
    Probe,
}

/// What a segment acknowledges.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ack {
    /// Next number expected, of the other direction.
    pub number: u64,
    /// The number just after the window.
    pub edge: u64,
    /// Duplicate acknowledgments in a row including this one; 0 if it is not a duplicate.
    pub duplicates: u32,
    /// Its sample of the round-trip time ([`crate::round_trip`]), if it gives one.
    pub round_trip: Option<RoundTrip>,
}

/// Sample of the round-trip time from an acknowledgment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RoundTrip {
    /// The round-trip time in nanoseconds.
    pub nanos: u64,
    /// Segments that were outstanding before the acknowledgment, as captured.
    pub outstanding: usize,
}

/// How a connection ended, as far as the capture shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Status {
    /// SYN and FIN of both ends were seen.
    Complete,
    /// A reset was seen.
    Reset,
    /// Packets of only one end were seen.
    Unidirectional,
    /// None of these.
    Open,
}

impl Connection {
    pub(crate) fn new(segment: &Segment, time: u64) -> Self {
        let halves = [
            Half::new(segment.source, segment.source_port),
            Half::new(segment.destination, segment.destination_port),
        ];
        Self { halves, first_time: time, last_time: time, gaps: Gaps::default() }
    }

    /// Returns address and port of the sender of half `half`.
    #[must_use]
    pub fn end(&self, half: usize) -> SocketAddr {
        SocketAddr::new(self.halves[half].address, self.halves[half].port)
    }

    /// Returns how the connection ended.
    #[must_use]
    pub fn status(&self) -> Status {
        if self.is_reset() {
            Status::Reset
        } else if self.is_complete() {
            Status::Complete
        } else if self.is_unidirectional() {
            Status::Unidirectional
        } else {
            Status::Open
        }
    }

    /// Returns whether SYN and FIN of both ends were seen.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.syns() == 2 && self.fins() == 2
    }

    /// Returns whether a reset was seen.
    #[must_use]
    pub fn is_reset(&self) -> bool {
        self.halves.iter().any(|half| half.counts.resets > 0)
    }

    /// Returns whether packets of only one end were seen.
    #[must_use]
    pub fn is_unidirectional(&self) -> bool {
        self.halves.iter().any(|half| half.counts.packets == 0)
    }

    /// Returns the number of ends that sent a SYN.
    #[must_use]
    pub fn syns(&self) -> usize {
        self.halves.iter().filter(|half| half.counts.syns > 0).count()
    }

    /// Returns the number of ends that sent a FIN.
    #[must_use]
    pub fn fins(&self) -> usize {
        self.halves.iter().filter(|half| half.counts.fins > 0).count()
    }

    /// Returns the time from the first packet to the last, in microseconds.
    #[must_use]
    pub fn elapsed_us(&self) -> u64 {
        micros(self.first_time, self.last_time)
    }

    /// Returns *throughput* of a direction: unique bytes per elapsed time, in byte/s.
    ///
    /// `None` if no time elapsed.
    #[must_use]
    pub fn throughput(&self, half: usize) -> Option<f64> {
        let elapsed = self.elapsed_us();
        (elapsed > 0).then(|| self.halves[half].unique_bytes() as f64 / (elapsed as f64 / 1e6))
    }

    /// Returns *avg win adv* of a direction in bytes.
    #[must_use]
    pub fn mean_window(&self, half: usize) -> u64 {
        self.halves[half].windows.mean(&self.halves[1 - half].windows)
    }

    /// Returns *adv wind scale* of a direction; 0 if its windows are not scaled because the other
    /// end did not offer scaling.
    #[must_use]
    pub fn window_scale(&self, half: usize) -> u8 {
        let (me, peer) = (&self.halves[half], &self.halves[1 - half]);
        let only_syns = self.halves.iter().all(|half| half.counts.packets == half.counts.syns);
        let in_use = peer.offer.window_scale.is_some() || only_syns;
        me.offer.window_scale.filter(|_| in_use).unwrap_or(0)
    }

    /// Returns *idletime max* of a direction in microseconds, in a capture that ended at `end`.
    ///
    /// Unless the connection ended before, the time from the direction's last packet to `end`
    /// counts too. `None` if the direction has no packets.
    #[must_use]
    pub fn idle_max_us(&self, half: usize, end: u64) -> Option<u64> {
        let last = self.halves[half].last_time?;
        let ended = self.fins() == 2 || self.is_reset();
        let silence = if ended { 0 } else { micros(last, end) };
        Some(self.halves[half].idle_max.max(silence))
    }

    /// Adds a segment that half `half` sent at `time`.
    #[inline]
    pub(crate) fn add(&mut self, half: usize, segment: &Segment, time: u64, threshold: u64) -> Seen {
        let silence = time.saturating_sub(self.last_time);
        let before = self.last_time;
        self.last_time = self.last_time.max(time);
        // Read before the segment is added, since the segment may acknowledge the outstanding data.
        let outstanding = (silence > threshold).then(|| [0, 1].map(|half| !self.halves[half].sent.is_idle()));
        let [one, other] = &mut self.halves;
        let (me, peer) = if half == 0 { (one, other) } else { (other, one) };
        me.count(segment, time);

        let tcp = segment.tcp;
        let first_number = if tcp.has(Tcp::SYN) { tcp.sequence } else { tcp.sequence.wrapping_sub(1) };
        me.sequence.begin(first_number);
        let first = me.sequence.place(tcp.sequence);
        let end = first + u64::from(segment.sequence_length());
        // tshark's test for a keep-alive: at most one byte, just before the next number to send.
        let keeps_alive = segment.payload <= 1
            && !tcp.has(Tcp::SYN)
            && !tcp.has(Tcp::FIN)
            && me.sent.end() == Some(first + 1);
        let data = if end > first { send(me, peer, segment, first, end, time) } else { Data::None };

        let scaled = me.offer.window_scale.filter(|_| peer.offer.window_scale.is_some());
        let shift = scaled.filter(|_| !tcp.has(Tcp::SYN));
        let bearer = match (tcp.has(Tcp::RST), tcp.has(Tcp::ACK), tcp.has(Tcp::SYN)) {
            (false, true, _) => Bearer::Ack,
            (false, false, true) => Bearer::Syn,
            _ => Bearer::None,
        };
        me.windows.add(segment.window, shift, bearer);
        let is_next = me.sent.end().is_none_or(|next| next == first);
        let ack =
            (tcp.has(Tcp::ACK) && !tcp.has(Tcp::RST)).then(|| acknowledge(me, peer, segment, is_next, time));
        me.keeps_alive = keeps_alive;

        let seen = Seen { half, first: Unwrap::relative(first), end: Unwrap::relative(end), data, ack };
        if let Some(outstanding) = outstanding {
            self.gaps.add(before, silence, &seen, outstanding);
        }
        seen
    }

    /// Releases memory that an ended connection does not need.
    pub(crate) fn shrink(&mut self) {
        self.halves.iter_mut().for_each(|half| half.sent.shrink());
    }
}

impl Status {
    /// Returns the name used in tables.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Complete => "complete",
            Self::Reset => "reset",
            Self::Unidirectional => "unidirectional",
            Self::Open => "open",
        }
    }
}

/// Adds the sequence numbers `first..end` that `me` sent.
fn send(me: &mut Half, peer: &Half, segment: &Segment, first: u64, end: u64, time: u64) -> Data {
    let length = end - first;
    let is_closed = peer.windows.last.unwrap_or(0) == 0 && peer.counts.packets > 0;
    if is_closed && !segment.tcp.has(Tcp::SYN) {
        me.counts.probe_packets += 1;
        me.counts.probe_bytes += u64::from(segment.payload);
        me.count_initial_window(segment);
        return Data::Probe;
    }
    let highest = me.sent.end().unwrap_or(first);
    let oldest = me.sent.oldest();
    let novelty = me.sent.add(first, end, time);
    me.sequence.advance(end);
    me.numbers += length;
    me.counted_syn |= segment.tcp.has(Tcp::SYN);
    me.counted_fin |= segment.tcp.has(Tcp::FIN);
    me.counts.out_of_order_packets += u64::from(novelty.out_of_order);
    if novelty.old > 0 {
        me.counts.retransmitted_packets += 1;
        me.counts.retransmitted_bytes += novelty.old;
        let moment = Moment {
            time,
            first,
            end,
            before: novelty.before,
            oldest,
            highest,
            acknowledged: me.acknowledged,
            acknowledged_at: me.acknowledged_at,
            duplicates: me.duplicates,
            selectively: me.selectively,
            sacked: me.sacked,
            told_at: me.told_at,
            permits_sack: me.offer.sack && peer.offer.sack,
            segment: me.counts.max_segment,
            timeout: me.round_trips.timeout(),
            round_trip: me.round_trips.smoothed(),
            timestamp: segment.options.timestamps.map(|stamps| stamps.0),
        };
        return Data::Again(me.follower.sent_again(&moment));
    }
    me.count_initial_window(segment);
    if novelty.out_of_order { Data::OutOfOrder } else { Data::New }
}

/// Applies the acknowledgment of `me` to what `peer` sent. `is_next`: the segment has the sequence
/// number that is due.
#[inline]
fn acknowledge(me: &Half, peer: &mut Half, segment: &Segment, is_next: bool, time: u64) -> Ack {
    let number = segment.tcp.acknowledgment;
    peer.sequence.begin(number.wrapping_sub(1));
    let place = peer.sequence.place(number);
    peer.sequence.advance(place);
    // tcptrace's test: every acknowledgment of anything except the SYN acknowledges data.
    peer.data_acknowledged |= number != peer.syn.unwrap_or(0).wrapping_add(1);
    let window = me.windows.last.unwrap_or(0);
    let sacks = segment.options.sacks();
    let is_new = peer.acknowledged.is_none_or(|highest| place > highest);
    let mut round_trip = None;
    if is_new {
        let told = peer.selectively;
        let outstanding = peer.sent.segments();
        if let Some(covered) = peer.sent.acknowledge(place)
            && !covered.retransmitted
            && covered.last.end > told
        {
            let nanos = time.saturating_sub(covered.last.time);
            peer.round_trips.add(nanos);
            round_trip = Some(RoundTrip { nanos, outstanding });
        }
        if !peer.follower.is_quiet() {
            let echo = segment.options.timestamps.map(|stamps| stamps.1);
            peer.follower.acknowledged(peer.acknowledged, place, echo);
        }
        peer.acknowledged = Some(place);
        peer.acknowledged_at = time;
        peer.duplicates = 0;
        peer.counted_duplicates = 0;
        peer.sacked = 0;
    } else if peer.acknowledged == Some(place)
        && segment.sequence_length() == 0
        && !peer.sent.is_idle()
        && (window == peer.window_seen || !sacks.is_empty())
    {
        peer.duplicates += 1;
    }
    if !is_new
        && peer.acknowledged == Some(place)
        && segment.sequence_length() == 0
        && is_next
        && window > 0
        && window == peer.window_seen
        && !peer.keeps_alive
    {
        peer.counted_duplicates += 1;
        peer.counts.duplicate_acks += 1;
        peer.counts.triple_duplicate_acks += u64::from(peer.counted_duplicates == 3);
    }
    let duplicates = if is_new || segment.sequence_length() > 0 { 0 } else { peer.duplicates };
    peer.window_seen = window;
    if !sacks.is_empty() {
        let twice = duplicate_sack(segment);
        if let Some((left, right)) = twice {
            let [left, right] = [left, right].map(|number| peer.sequence.place(number));
            peer.follower.came_twice(left, right, time, peer.round_trips.least());
        }
        let blocks = &sacks[usize::from(twice.is_some())..];
        let before = (peer.sacked, peer.selectively);
        peer.sacked = blocks.iter().map(|&(left, right)| u64::from(right.wrapping_sub(left))).sum();
        for &(_, right) in blocks {
            peer.selectively = peer.selectively.max(peer.sequence.place(right));
        }
        if peer.sacked > before.0 || peer.selectively > before.1 {
            peer.told_at = time;
        }
    }
    Ack { number: Unwrap::relative(place), edge: Unwrap::relative(place + window), duplicates, round_trip }
}
