//! One direction of a connection: what its sender sent, and the acknowledgments that came back.

use crate::retransmission::{Follower, Retransmissions};
use crate::round_trip::{RoundTripSummary, RoundTrips};
use crate::sent::Sent;
use crate::sequence_number::Unwrap;
use crate::window::Windows;
use packet::{Ecn, Segment, Tcp};
use serde::Serialize;
use std::net::IpAddr;

/// Counters of one direction. A name in italics is tcptrace's, and tcptrace's definition applies.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct Counts {
    /// *total packets*.
    pub packets: u64,
    /// *resets sent*.
    pub resets: u64,
    /// *ack pkts sent*: packets with the ACK flag.
    pub acks: u64,
    /// *pure acks sent*: packets with the ACK flag, no data, and none of SYN, FIN and RST.
    pub pure_acks: u64,
    /// *sack pkts sent*: acknowledgments with a SACK block, resets excluded.
    pub sack_packets: u64,
    /// *sacks sent*: packets of any kind with a SACK block.
    pub sacks: u64,
    /// *dsack pkts sent*: packets with a duplicate SACK (RFC 2883).
    pub dsack_packets: u64,
    /// *max sack blks/ack*.
    pub max_sack_blocks: u64,
    /// SACK blocks sent in total.
    pub sack_blocks: u64,
    /// *actual data pkts*: packets with data, new or not.
    pub data_packets: u64,
    /// *actual data bytes*.
    pub data_bytes: u64,
    /// *rexmt data pkts*: packets with sequence numbers that had been sent before, including those
    /// of SYN and FIN.
    pub retransmitted_packets: u64,
    /// *rexmt data bytes*: number of these sequence numbers.
    pub retransmitted_bytes: u64,
    /// *zwnd probe pkts*: packets with data or FIN sent although the other end's last window was
    /// zero, or although none of its packets had a window.
    pub probe_packets: u64,
    /// *zwnd probe bytes*.
    pub probe_bytes: u64,
    /// *outoforder pkts*: packets that fill a hole; see [`crate::sent::Sent::add`].
    pub out_of_order_packets: u64,
    /// *pushed data pkts*: packets with data and the PSH flag.
    pub pushed_packets: u64,
    /// *SYN pkts sent*.
    pub syns: u64,
    /// *FIN pkts sent*.
    pub fins: u64,
    /// *urgent data pkts*: packets with data and the URG flag.
    pub urgent_packets: u64,
    /// *urgent data bytes*: sum of the urgent pointers.
    pub urgent_bytes: u64,
    /// *max segm size* in bytes.
    pub max_segment: u64,
    /// *min segm size* in bytes.
    pub min_segment: u64,
    /// *initial window* in bytes: new data before the first acknowledgment of data.
    pub initial_window_bytes: u64,
    /// *initial window* in packets.
    pub initial_window_packets: u64,
    /// *truncated data*: bytes of data packets that were not captured.
    pub truncated_bytes: u64,
    /// *truncated packets*: data packets that were not captured completely.
    pub truncated_packets: u64,
    /// *duplicate acks*: duplicate acknowledgments for this direction, so the other end sent them
    /// (tcptrace shows them in this direction's column, too).
    ///
    /// A duplicate repeats the highest acknowledgment, without data, SYN or FIN, with the same
    /// window, which is not zero, and with the next sequence number. It does not answer a
    /// keep-alive. This is tshark's `tcp.analysis.duplicate_ack`. RFC 5681 requires in addition
    /// that data is outstanding; tshark and tcptrace do not check this.
    ///
    /// Loss detection uses a different definition, in [`crate::retransmission`]: with SACK, an
    /// acknowledgment with a new block counts even if its window has changed (RFC 6675).
    pub duplicate_acks: u64,
    /// Number of times that there were three of them in a row.
    pub triple_duplicate_acks: u64,
    /// Packets marked Congestion Experienced on their way to the point of capture (RFC 3168).
    pub ce_packets: u64,
    /// Packets with ECN-echo, SYNs excluded.
    pub ece_packets: u64,
    /// Packets with Congestion Window Reduced, SYNs excluded.
    pub cwr_packets: u64,
}

/// Options that one end offered, mostly with its SYN.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct Offer {
    /// *adv wind scale*; `None` if it did not offer scaling.
    pub window_scale: Option<u8>,
    /// Whether it sent time stamps, with its SYN or later.
    pub timestamps: bool,
    /// *req sack*: whether its SYN permits SACK.
    pub sack: bool,
    /// *mss requested* in bytes; 0 without the option.
    pub maximum_segment: u16,
}

/// One direction of a connection.
#[derive(Debug, Clone)]
#[expect(clippy::struct_excessive_bools, reason = "each is a fact of its own that a packet has shown")]
pub struct Half {
    /// Address of the sender.
    pub address: IpAddr,
    /// Its port.
    pub port: u16,
    /// Counters.
    pub counts: Counts,
    /// Options that it offered.
    pub offer: Offer,
    /// Windows that it advertised.
    pub windows: Windows,
    pub(crate) round_trips: RoundTrips,
    pub(crate) follower: Follower,
    pub(crate) sequence: Unwrap,
    pub(crate) sent: Sent,
    /// Sequence numbers used, including those of SYN and FIN but not those of probes. The number of
    /// unique bytes is computed from it.
    pub(crate) numbers: u64,
    /// Whether `numbers` contains that of a SYN, or of a FIN.
    pub(crate) counted_syn: bool,
    pub(crate) counted_fin: bool,
    /// Sequence numbers of its SYN and of its FIN.
    pub(crate) syn: Option<u32>,
    pub(crate) fin: Option<u32>,
    pub(crate) last_time: Option<u64>,
    pub(crate) data_times: Option<(u64, u64)>,
    /// *idletime max* between its packets, in microseconds.
    pub(crate) idle_max: u64,
    /// Whether any of its data was acknowledged.
    pub(crate) data_acknowledged: bool,
    /// Highest acknowledgment of its data, and when that came.
    pub(crate) acknowledged: Option<u64>,
    pub(crate) acknowledged_at: u64,
    /// Duplicate acknowledgments in a row for its data.
    pub(crate) duplicates: u32,
    /// The same, counted as [`Counts::duplicate_acks`] defines it.
    pub(crate) counted_duplicates: u32,
    /// Place after the highest byte of its data that SACK reported.
    pub(crate) selectively: u64,
    /// Bytes in the blocks of the last SACK for its data.
    pub(crate) sacked: u64,
    /// When a SACK last reported data that none had reported before.
    pub(crate) told_at: u64,
    /// Last window that the other end advertised to it, in bytes.
    pub(crate) window_seen: u64,
    /// Whether its last segment was a keep-alive.
    pub(crate) keeps_alive: bool,
}

impl Half {
    pub(crate) fn new(address: IpAddr, port: u16) -> Self {
        Self {
            address,
            port,
            counts: Counts::default(),
            offer: Offer::default(),
            windows: Windows::default(),
            round_trips: RoundTrips::default(),
            follower: Follower::default(),
            sequence: Unwrap::default(),
            sent: Sent::default(),
            numbers: 0,
            counted_syn: false,
            counted_fin: false,
            syn: None,
            fin: None,
            last_time: None,
            data_times: None,
            idle_max: 0,
            data_acknowledged: false,
            acknowledged: None,
            acknowledged_at: 0,
            duplicates: 0,
            counted_duplicates: 0,
            selectively: 0,
            sacked: 0,
            told_at: 0,
            window_seen: 0,
            keeps_alive: false,
        }
    }

    /// Returns *unique bytes sent*.
    #[must_use]
    pub fn unique_bytes(&self) -> u64 {
        let once = u64::from(self.counted_syn) + u64::from(self.counted_fin);
        self.numbers.saturating_sub(self.counts.retransmitted_bytes + once)
    }

    /// Returns *avg segm size* in bytes.
    #[must_use]
    pub fn mean_segment(&self) -> u64 {
        // tcptrace avoids a division by zero this way; so 450 becomes 449.
        (self.counts.data_bytes as f64 / (self.counts.data_packets as f64 + 0.001)) as u64
    }

    /// Returns *ttl stream length* in bytes, from SYN to FIN; `None` if one of them was not seen.
    #[must_use]
    pub fn stream_length(&self) -> Option<u64> {
        let (syn, fin) = (self.syn?, self.fin?);
        // The numbers in the packets give the length modulo 2^32. What was sent shows how often
        // they wrapped.
        let length = u64::from(fin.wrapping_sub(syn).wrapping_sub(1));
        let about = self.sent.end().map_or(0, Unwrap::relative);
        let rounds = (about.saturating_sub(length) + (1 << 31)) >> 32;
        Some(length + (rounds << 32))
    }

    /// Returns *missed data* in bytes: the part of the stream that was not captured.
    ///
    /// `None` if the stream's length is not known.
    #[must_use]
    pub fn missed_bytes(&self) -> Option<u64> {
        Some(self.stream_length()?.saturating_sub(self.unique_bytes()))
    }

    /// Returns *data xmit time* in microseconds, from the first packet with data to the last.
    #[must_use]
    pub fn data_time_us(&self) -> u64 {
        self.data_times.map_or(0, |(first, last)| micros(first, last))
    }

    /// Returns a summary of the round-trip times of its data.
    #[must_use]
    pub fn round_trips(&self) -> RoundTripSummary {
        self.round_trips.summary()
    }

    /// Returns its retransmissions by cause.
    #[must_use]
    pub fn retransmissions(&self) -> Retransmissions {
        self.follower.counts
    }

    /// Counts new data before the first acknowledgment of data.
    #[inline]
    pub(crate) fn count_initial_window(&mut self, segment: &Segment) {
        if segment.payload > 0 && !self.data_acknowledged {
            self.counts.initial_window_bytes += u64::from(segment.payload);
            self.counts.initial_window_packets += 1;
        }
    }

    /// Counts everything that does not depend on what was sent before.
    #[inline]
    pub(crate) fn count(&mut self, segment: &Segment, time: u64) {
        let (tcp, payload, counts) = (segment.tcp, u64::from(segment.payload), &mut self.counts);
        counts.packets += 1;
        if let Some(last) = self.last_time {
            self.idle_max = self.idle_max.max(micros(last, time));
        }
        self.last_time = Some(time);
        if tcp.has(Tcp::ACK) {
            counts.acks += 1;
            let pure = payload == 0 && !tcp.has(Tcp::SYN | Tcp::FIN | Tcp::RST);
            counts.pure_acks += u64::from(pure);
        }
        counts.resets += u64::from(tcp.has(Tcp::RST));
        counts.fins += u64::from(tcp.has(Tcp::FIN));
        counts.ce_packets += u64::from(segment.ecn == Ecn::Ce);
        if tcp.has(Tcp::SYN) {
            counts.syns += 1;
            self.syn = Some(tcp.sequence);
            self.offer = Offer {
                window_scale: segment.options.window_scale,
                timestamps: self.offer.timestamps,
                sack: segment.options.sack_permitted,
                maximum_segment: segment.options.maximum_segment.unwrap_or(0),
            };
        } else {
            counts.ece_packets += u64::from(tcp.has(Tcp::ECE));
            counts.cwr_packets += u64::from(tcp.has(Tcp::CWR));
        }
        if tcp.has(Tcp::FIN) {
            let before = segment.payload + u32::from(tcp.has(Tcp::SYN));
            self.fin = Some(tcp.sequence.wrapping_add(before));
        }
        if payload > 0 {
            counts.data_packets += 1;
            counts.data_bytes += payload;
            counts.pushed_packets += u64::from(tcp.has(Tcp::PSH));
            if tcp.has(Tcp::URG) {
                counts.urgent_packets += 1;
                counts.urgent_bytes += u64::from(segment.urgent);
            }
            counts.max_segment = counts.max_segment.max(payload);
            if counts.min_segment == 0 || payload < counts.min_segment {
                counts.min_segment = payload;
            }
            if segment.missing > 0 {
                counts.truncated_packets += 1;
                counts.truncated_bytes += u64::from(segment.missing);
            }
            self.data_times = Some((self.data_times.map_or(time, |times| times.0), time));
        }
        self.offer.timestamps |= segment.options.timestamps.is_some();
        let sacks = segment.options.sacks();
        counts.sacks += u64::from(!sacks.is_empty());
        counts.sack_blocks += sacks.len() as u64;
        if !sacks.is_empty() && tcp.has(Tcp::ACK) && !tcp.has(Tcp::RST) {
            counts.sack_packets += 1;
            counts.max_sack_blocks = counts.max_sack_blocks.max(sacks.len() as u64);
            counts.dsack_packets += u64::from(duplicate_sack(segment).is_some());
        }
    }
}

/// Returns the first SACK block if it reports data that arrived twice (RFC 2883 section 4).
///
/// It does if it lies below the acknowledgment, or if it overlaps the second block. The RFC
/// requires that the second block contains it; tcptrace accepts any overlap, and so does this
/// function.
pub(crate) fn duplicate_sack(segment: &Segment) -> Option<(u32, u32)> {
    let (&(left, right), rest) = segment.options.sacks().split_first()?;
    let before = |one: u32, other: u32| one.wrapping_sub(other).cast_signed() <= 0;
    let overlaps = rest.first().is_some_and(|second| !before(right, second.0) && !before(second.1, left));
    (before(right, segment.tcp.acknowledgment) || overlaps).then_some((left, right))
}

/// Returns the microseconds between two instants in nanoseconds, each rounded down to microseconds
/// first, as in a program with microsecond time stamps.
#[inline]
pub(crate) fn micros(from: u64, to: u64) -> u64 {
    (to / 1000).saturating_sub(from / 1000)
}
