//! What is remembered of a connection, and how it is learned from right segments.
//!
//! A right checksum is no proof: one damaged segment in tens of thousands has one, and anybody can
//! send one. So no single segment may change what would spoil all later repairs:
//!
//! * The header keeps the length that it had at the start.
//! * Options that do not fit this length count only if two segments in a row carry them.
//! * A time stamp far from the last one counts only if a second one agrees.
//! * An acknowledgment number is believed until the socket shows that it is impossible
//!   ([`Track::catch_up`]).

use crate::options::{self, PLAUSIBLE_STAMPS, Shape, TIME_STAMPS};
use crate::sequence::{distance, is_after, is_before, signed_distance};
use crate::{Bucket, Parameters, SocketView};
use packet::{Field, TcpHeader};

/// What is known of a connection when it is established.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Handshake {
    /// Next sequence number expected.
    pub rcv_nxt: u32,
    /// Acknowledgment number of the remote host's last segment.
    pub ack: u32,
    /// Window field of that segment, not scaled.
    pub window: u16,
    /// Options that data segments will carry, if any: time stamps and two bytes of padding.
    pub options: Option<[u8; TIME_STAMPS]>,
    /// Whether the handshake also used options that cannot be restored (MPTCP, MD5, AO).
    pub unsupported: bool,
}

/// From so many right data segments in a row with options that do not fit, nothing is repaired. One
/// alone may be damage that its checksum does not show.
const OTHERS: u8 = 2;
/// Value of `Track::others` if the handshake's options forbid repairs for ever.
const OTHERS_FOR_EVER: u8 = 3;

/// What is remembered of one connection. Plain data: the eBPF program keeps the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(
    clippy::struct_excessive_bools,
    reason = "independent facts, the same as in the map of the eBPF program"
)]
pub struct Track {
    /// `rcv_nxt` once the kernel has taken in everything that it was handed.
    pub contiguous: u32,
    /// Furthest end of any segment handed to the kernel.
    pub highest: u32,
    /// Acknowledgment number of the newest right segment.
    pub ack: u32,
    /// Window field of that segment, not scaled.
    pub window: u16,
    /// S: the largest payload of right segments in bytes. A merged segment counts with the size of
    /// its parts.
    pub payload: u16,
    /// Length of the header in bytes: 20 or 32; 0 until the handshake or a segment has shown it.
    pub header_len: u8,
    /// Options of right segments if the header has 32 bytes: those with the newest `TSval`.
    pub options: [u8; TIME_STAMPS],
    /// Whether all of the above comes from the handshake, or from a right segment since Lite was
    /// switched on.
    pub known: bool,
    /// Whether a right segment carried SACK blocks.
    pub sack_seen: bool,
    /// Number of right data segments in a row, counted up to 2, whose options do not fit the header
    /// length. Always 3 if the handshake used options that cannot be restored.
    pub others: u8,
    /// A `TSval` far from the last one, to be believed if the next one is near it.
    pub suspect: Option<u32>,
    /// Whether Lite is on.
    pub lite: bool,
    /// Credit for guesses.
    pub bucket: Bucket,
}

impl Track {
    /// Returns the track of a connection that was just established.
    #[must_use]
    pub fn established(handshake: &Handshake, lite: bool, parameters: &Parameters) -> Self {
        Self {
            contiguous: handshake.rcv_nxt,
            highest: handshake.rcv_nxt,
            ack: handshake.ack,
            window: handshake.window,
            payload: 0,
            header_len: (TcpHeader::LEN + handshake.options.map_or(0, |options| options.len())) as u8,
            options: handshake.options.unwrap_or_default(),
            known: true,
            sack_seen: false,
            others: if handshake.unsupported { OTHERS_FOR_EVER } else { 0 },
            suspect: None,
            lite,
            bucket: Bucket::full(parameters),
        }
    }

    /// Returns the track of a connection of which only the next expected sequence number is known.
    #[must_use]
    pub fn unknown(rcv_nxt: u32, lite: bool, parameters: &Parameters) -> Self {
        let handshake = Handshake { rcv_nxt, ack: 0, window: 0, options: None, unsupported: false };
        Self { known: false, header_len: 0, ..Self::established(&handshake, lite, parameters) }
    }

    /// Forgets what was learned before Lite was switched on, because right segments may have passed
    /// unseen.
    pub fn restart(&mut self, rcv_nxt: u32) {
        self.known = false;
        self.contiguous = rcv_nxt;
        self.highest = rcv_nxt;
    }

    /// Catches up with the socket, which may have received more than has passed here, and knows
    /// which acknowledgment numbers are impossible.
    pub fn catch_up(&mut self, view: &SocketView) {
        if is_after(view.rcv_nxt, self.contiguous) {
            self.contiguous = view.rcv_nxt;
        }
        if is_after(self.contiguous, self.highest) {
            self.highest = self.contiguous;
        }
        if !view.is_plausible_ack(self.ack) {
            self.ack = view.snd_una;
        }
    }

    /// Learns from a right segment. `merged` is the size of the parts if the kernel merged several
    /// segments into this one.
    ///
    /// SYN and RST teach nothing: a SYN precedes the connection, and an RST has other options or
    /// none. A segment whose options do not fit the connection teaches nothing either, but counts
    /// in `Track::others` if it has payload.
    pub fn learn(&mut self, segment: &[u8], merged: Option<u16>, parameters: &Parameters) {
        let Some(header) = TcpHeader::read(segment) else { return };
        let Some(options) = segment.get(TcpHeader::LEN..header.header_len()) else { return };
        let has = |field| header.get(field) == 1;
        if has(Field::Syn) || has(Field::Rst) {
            return;
        }
        let payload = segment.len() - header.header_len();
        let shape = options::shape(options);
        let fits = self.fits(shape);
        if payload > 0 {
            self.count_others(fits);
        }
        if !fits {
            return;
        }
        let was_known = self.known;
        let are_stamps_believed = self.learn_options(shape, options);
        if self.header_len == 0 {
            return;
        }
        let acknowledgment = header.get(Field::Acknowledgment);
        let is_newer = !was_known || !is_before(acknowledgment, self.ack);
        if has(Field::Ack) && are_stamps_believed && is_newer {
            self.ack = acknowledgment;
            self.window = header.get(Field::Window) as u16;
        }
        if payload > 0 {
            self.payload = self.payload.max(merged.unwrap_or(payload as u16));
        }
        let room = payload as u32 + header.get(Field::Fin);
        self.advance(header.get(Field::Sequence), room, parameters.window);
    }

    /// Returns whether segments of this connection may have options of this shape.
    const fn fits(&self, shape: Shape) -> bool {
        match shape {
            Shape::Plain | Shape::Sack => !self.has_options(),
            Shape::TimeStamps | Shape::TimeStampsAndSack => self.has_options() || self.header_len == 0,
            Shape::Other => false,
        }
    }

    fn count_others(&mut self, fits: bool) {
        self.others = match self.others {
            OTHERS_FOR_EVER => OTHERS_FOR_EVER,
            _ if fits => 0,
            others => OTHERS.min(others + 1),
        };
    }

    /// Returns whether the options that this connection uses make repair impossible.
    #[must_use]
    pub const fn has_others(&self) -> bool {
        self.others >= OTHERS
    }

    /// Learns from options that fit. Returns false if they carry time stamps that are not believed.
    ///
    /// SACK blocks alone never determine what the header of a segment without them looks like.
    fn learn_options(&mut self, shape: Shape, options: &[u8]) -> bool {
        match shape {
            Shape::Plain => {
                self.header_len = TcpHeader::LEN as u8;
                self.known = true;
            }
            Shape::TimeStamps => {
                self.header_len = (TcpHeader::LEN + TIME_STAMPS) as u8;
                return self.learn_stamps(options);
            }
            Shape::TimeStampsAndSack => {
                self.sack_seen = true;
                if self.known && options::starts_with_padded_time_stamps(&self.options) {
                    return self.learn_stamps(options);
                }
            }
            Shape::Sack => self.sack_seen = true,
            Shape::Other => {}
        }
        true
    }

    /// Takes over the time stamps at the start of `options` unless they are older than the last
    /// ones. Returns false if they are too far from those, and no similar ones have come before.
    fn learn_stamps(&mut self, options: &[u8]) -> bool {
        let Some((stamps, value)) =
            options.first_chunk().and_then(|stamps| Some((stamps, options::value(stamps)?)))
        else {
            return true;
        };
        if let Some(held) = options::value(&self.options).filter(|_| self.known) {
            let ahead = signed_distance(held, value);
            let is_near = ahead.unsigned_abs() <= PLAUSIBLE_STAMPS;
            if is_near && ahead < 0 {
                return true;
            }
            let is_second = self.suspect.is_some_and(|suspect| distance(suspect, value) <= PLAUSIBLE_STAMPS);
            if !is_near && !is_second {
                self.suspect = Some(value);
                return false;
            }
        }
        self.options = *stamps;
        self.suspect = None;
        self.known = true;
        true
    }

    /// Learns the time stamps of a segment whose repair is confirmed. The kernel will remember them
    /// and refuse older ones (RFC 7323 section 5.3), so later repairs must not carry older ones.
    pub fn learn_confirmed(&mut self, options: &[u8]) {
        if self.has_options() {
            self.learn_stamps(options);
        }
    }

    /// Records that the kernel gets `room` sequence numbers from `seq` on. An end further than
    /// `window` from the contiguous part is not believed.
    pub fn advance(&mut self, seq: u32, room: u32, window: u32) {
        let end = seq.wrapping_add(room);
        if room == 0 || signed_distance(self.contiguous, end).unsigned_abs() > window {
            return;
        }
        if !is_after(seq, self.contiguous) && is_after(end, self.contiguous) {
            self.contiguous = end;
        }
        if is_after(end, self.highest) {
            self.highest = end;
        }
    }

    /// Returns whether data segments carry time stamps.
    #[must_use]
    pub const fn has_options(&self) -> bool {
        self.header_len as usize > TcpHeader::LEN
    }

    /// Returns the options that data segments carry.
    #[must_use]
    pub fn template(&self) -> &[u8] {
        if self.has_options() { &self.options } else { &[] }
    }
}

#[cfg(test)]
mod tests;
