//! What is remembered of a connection, and how it is learnt from right segments.

use crate::options::{self, Shape, TIME_STAMPS};
use crate::sequence::{is_after, is_before, signed_distance};
use crate::{Bucket, Parameters, Policy};
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
    /// Options that data segments will carry, if there are any: time stamps and two bytes of padding.
    pub options: Option<[u8; TIME_STAMPS]>,
}

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
    /// Length of the header in bytes: 20 or 32.
    pub header_len: u8,
    /// Options of right segments if the header has 32 bytes: those with the newest `TSval`.
    pub options: [u8; TIME_STAMPS],
    /// Whether all these come from the handshake, or from a right segment since Lite was switched on.
    pub known: bool,
    /// Whether a right segment carried SACK blocks.
    pub sack_seen: bool,
    /// Whether a right data segment carried options that cannot be restored (MPTCP, MD5, AO).
    pub unsupported: bool,
    /// Whether Lite is on.
    pub lite: bool,
    /// What the application set with it.
    pub policy: Policy,
    /// Credit for guesses.
    pub bucket: Bucket,
}

impl Track {
    /// That of a connection just established.
    #[must_use]
    pub fn established(handshake: &Handshake, lite: bool, policy: Policy, parameters: &Parameters) -> Self {
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
            unsupported: false,
            lite,
            policy,
            bucket: Bucket::full(parameters),
        }
    }

    /// That of a connection of which only the next expected sequence number is known.
    #[must_use]
    pub fn unknown(rcv_nxt: u32, lite: bool, policy: Policy, parameters: &Parameters) -> Self {
        let handshake = Handshake { rcv_nxt, ack: 0, window: 0, options: None };
        Self { known: false, ..Self::established(&handshake, lite, policy, parameters) }
    }

    /// Forgets what was learnt before Lite was switched on: right segments may have passed unseen.
    pub fn restart(&mut self, rcv_nxt: u32) {
        self.known = false;
        self.contiguous = rcv_nxt;
        self.highest = rcv_nxt;
    }

    /// Catches up with a socket that has received more than passed here.
    pub fn catch_up(&mut self, rcv_nxt: u32) {
        if is_after(rcv_nxt, self.contiguous) {
            self.contiguous = rcv_nxt;
        }
        if is_after(self.contiguous, self.highest) {
            self.highest = self.contiguous;
        }
    }

    /// Learns from a right segment; `merged` is the size of the parts if the kernel merged several into it.
    ///
    /// SYN and RST teach nothing: one is before the connection, the other has other options or none.
    pub fn learn(&mut self, segment: &[u8], merged: Option<u16>, parameters: &Parameters) {
        let Some(header) = TcpHeader::read(segment) else { return };
        let Some(options) = segment.get(TcpHeader::LEN..header.header_len()) else { return };
        let has = |field| header.get(field) == 1;
        if has(Field::Syn) || has(Field::Rst) {
            return;
        }
        let payload = segment.len() - header.header_len();
        let was_known = self.known;
        self.learn_options(options, payload > 0);
        let acknowledgment = header.get(Field::Acknowledgment);
        if has(Field::Ack) && (!was_known || !is_before(acknowledgment, self.ack)) {
            self.ack = acknowledgment;
            self.window = header.get(Field::Window) as u16;
        }
        if payload > 0 {
            self.payload = self.payload.max(merged.unwrap_or(payload as u16));
        }
        let room = payload as u32 + header.get(Field::Fin);
        self.advance(header.get(Field::Sequence), room, parameters.window);
    }

    fn learn_options(&mut self, options: &[u8], has_payload: bool) {
        match options::shape(options) {
            Shape::Plain => {
                self.header_len = TcpHeader::LEN as u8;
                self.known = true;
            }
            Shape::TimeStamps => {
                let Some(stamps) = options.first_chunk() else { return };
                if !self.known || !self.has_options() || !options::is_older(stamps, &self.options) {
                    self.options = *stamps;
                }
                self.header_len = (TcpHeader::LEN + TIME_STAMPS) as u8;
                self.known = true;
            }
            Shape::TimeStampsAndSack => {
                self.sack_seen = true;
                let Some(stamps) = options.first_chunk() else { return };
                if self.known
                    && self.has_options()
                    && options::starts_with_padded_time_stamps(&self.options)
                    && !options::is_older(stamps, &self.options)
                {
                    self.options = *stamps;
                }
            }
            Shape::Sack => self.sack_seen = true,
            Shape::Other => self.unsupported |= has_payload,
        }
    }

    /// Takes note that the kernel gets `room` sequence numbers from `seq` on. What is further than `window` from the
    /// contiguous part is not believed.
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
