//! What is remembered of a connection, and how it is learnt from right segments.
//!
//! A right checksum is no proof: one damaged segment in tens of thousands has one, and anybody can
//! send one. So no single segment teaches what would spoil all repairs from then on. The header has
//! the length that it began with; options that do not fit it count only when two segments in a row
//! carry them, and a time stamp far from those held only when a second one agrees. An
//! acknowledgment number is believed until the socket says that it cannot be ([`Track::catch_up`]).

use crate::options::{self, PLAUSIBLE_STAMPS, Shape, TIME_STAMPS};
use crate::sequence::{distance, is_after, is_before, signed_distance};
use crate::{Bucket, Parameters, SocketView};
use packet::{Field, TcpHeader};

/// What a connection is known to be when it is established.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Handshake {
    /// Next sequence number expected.
    pub rcv_nxt: u32,
    /// Acknowledgment number of the sender's last segment.
    pub ack: u32,
    /// Window of that segment, not scaled.
    pub window: u16,
    /// Options that data segments will carry, if there are any: time stamps and two bytes of
    /// padding.
    pub options: Option<[u8; TIME_STAMPS]>,
    /// Whether it also used options that cannot be restored (MPTCP, MD5, AO).
    pub unsupported: bool,
}

/// Right data segments in a row whose options do not fit, from which on nothing is repaired: one
/// may be damage that its checksum does not show.
const OTHERS: u8 = 2;
/// The same from the handshake, for ever.
const OTHERS_FOR_EVER: u8 = 3;

/// What is remembered of one connection. Plain data: the eBPF program keeps the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(
    clippy::struct_excessive_bools,
    reason = "independent facts, the same as in the map of the eBPF program"
)]
pub struct Track {
    /// What `rcv_nxt` will be when the kernel has taken in all that it was handed.
    pub contiguous: u32,
    /// Furthest end of any segment handed to the kernel.
    pub highest: u32,
    /// Acknowledgment number of the newest right segment.
    pub ack: u32,
    /// Window of that segment, not scaled.
    pub window: u16,
    /// S: the largest payload of right segments in bytes; of merged ones, that of their parts.
    pub payload: u16,
    /// Length of the header in bytes: 20 or 32, and 0 as long as neither handshake nor segment has
    /// shown it.
    pub header_len: u8,
    /// Options of right segments if the header has 32 bytes: those with the newest `TSval`.
    pub options: [u8; TIME_STAMPS],
    /// Whether all these come from the handshake, or from a right segment since Lite was switched
    /// on.
    pub known: bool,
    /// Whether a right segment carried SACK blocks.
    pub sack_seen: bool,
    /// Right data segments in a row whose options do not fit the header length, at most 2; or 3 for
    /// ever if the handshake used options that cannot be restored.
    pub others: u8,
    /// A `TSval` far from the one held, which is taken if another one follows it.
    pub suspect: Option<u32>,
    /// Whether Lite is on.
    pub lite: bool,
    /// Credit for guesses.
    pub bucket: Bucket,
}

impl Track {
    /// That of a connection just established.
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

    /// That of a connection of which only the next expected sequence number is known.
    #[must_use]
    pub fn unknown(rcv_nxt: u32, lite: bool, parameters: &Parameters) -> Self {
        let handshake = Handshake { rcv_nxt, ack: 0, window: 0, options: None, unsupported: false };
        Self { known: false, header_len: 0, ..Self::established(&handshake, lite, parameters) }
    }

    /// Forgets what was learnt before Lite was switched on: right segments may have passed unseen.
    pub fn restart(&mut self, rcv_nxt: u32) {
        self.known = false;
        self.contiguous = rcv_nxt;
        self.highest = rcv_nxt;
    }

    /// Catches up with the socket: it may have received more than passed here, and knows which
    /// acknowledgments cannot be.
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

    /// Learns from a right segment; `merged` is the size of the parts if the kernel merged several
    /// into it.
    ///
    /// SYN and RST teach nothing: one is before the connection, the other has other options or
    /// none. Nor does a segment whose options do not fit the connection; with payload it is
    /// counted.
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

    /// Whether segments of this connection may have options of this shape.
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

    /// Whether repair is impossible because of the options that this connection uses.
    #[must_use]
    pub const fn has_others(&self) -> bool {
        self.others >= OTHERS
    }

    /// Learns from options that fit; false if they carry time stamps that are not believed.
    ///
    /// SACK blocks alone never settle what the header of a segment without them is like.
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

    /// Takes the time stamps at the start of `options` unless they are older than those held; false
    /// if they are too far from those, and no others have been there before.
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

    /// Takes the time stamps of a segment whose repair is confirmed: the kernel will remember them
    /// and refuse older ones (RFC 7323 section 5.3), so that what is repaired later must not carry
    /// those.
    pub fn learn_confirmed(&mut self, options: &[u8]) {
        if self.has_options() {
            self.learn_stamps(options);
        }
    }

    /// Takes note that the kernel gets `room` sequence numbers from `seq` on. What is further than
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

    /// Whether data segments carry time stamps.
    #[must_use]
    pub const fn has_options(&self) -> bool {
        self.header_len as usize > TcpHeader::LEN
    }

    /// The options that data segments carry.
    #[must_use]
    pub fn template(&self) -> &[u8] {
        if self.has_options() { &self.options } else { &[] }
    }
}

#[cfg(test)]
mod tests;
