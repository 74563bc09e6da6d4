//! Sending of packets, as soon as it is permitted.

use super::{End, Machine, Role, Stage};
use crate::datagram::TICKET;
use crate::llp::flight::{Sent, Word};
use crate::llp::wire::{Frame, PADDING};
use std::time::Duration;

/// Number of packets after which OLDEST may be sent again.
const OLDEST_EVERY: u64 = 16;

impl Machine {
    /// Writes the next packet that is to be sent now, and returns its number.
    pub(crate) fn transmit(&mut self, now: Duration, out: &mut Vec<u8>) -> Option<u64> {
        let room = self.length.octets();
        let begin = out.len();
        if let Stage::Over(End::Reset { is_said: is_said @ false }) = &mut self.stage {
            *is_said = true;
            Frame::Reset.write(out);
            return Some(self.number());
        }
        self.give_up(now);
        let may_send = !self.has_ended() && self.may_send(now);
        if may_send && self.stage == Stage::Up && self.length.due().is_some_and(|due| due <= now) {
            return Some(self.try_length(now, out));
        }
        let has_more = self.has_more();
        if !(may_send && has_more || self.received.due().is_some_and(|due| due <= now)) {
            return None;
        }
        if self.received.has_news() {
            self.said_limit = self.incoming.limit();
            if let Some(ack) = self.received.say(self.said_limit, room, now) {
                Frame::Ack(ack).write(out);
            }
        }
        let number = self.number();
        let (mut parts, mut words) = (Vec::new(), Vec::new());
        let mut says = false;
        if may_send && has_more {
            self.settle(number, out);
            let closes = self.outgoing.is_done();
            let said: Vec<_> = self.words.extract_if(.., |word| *word != Word::Close || closes).collect();
            for word in said {
                let frame = match word {
                    Word::Hello => Frame::Hello,
                    Word::Welcome => Frame::Welcome(self.given_ticket()),
                    Word::Close => Frame::Close { messages: self.outgoing.count() },
                };
                frame.write(out);
                words.push(word);
            }
            while let Some(part) = self.outgoing.write(room - (out.len() - begin), out) {
                parts.push(part);
            }
            says = !parts.is_empty() || !words.is_empty();
            if std::mem::take(&mut self.ping) && !says {
                Frame::Ping.write(out);
                says = true;
            }
        }
        if says {
            self.probes = self.probes.saturating_sub(1);
            let octets = out.len() - begin;
            let sample = self.rate.sent(octets, self.flight.octets(), now);
            self.flight.sent(number, Sent { at: now, octets, parts, words, tries_length: false, sample });
            self.outage.sent(now);
            if !self.has_more() {
                self.rate.idle(self.flight.octets());
            }
        }
        (out.len() > begin).then_some(number)
    }

    /// Writes a probe for a greater packet length, which contains only padding.
    fn try_length(&mut self, now: Duration, out: &mut Vec<u8>) -> u64 {
        let octets = self.length.tried();
        let begin = out.len();
        Frame::Ping.write(out);
        out.resize(begin + octets, PADDING);
        let number = self.number();
        let sample = self.rate.sent(octets, self.flight.octets(), now);
        let (parts, words) = (Vec::new(), Vec::new());
        self.flight.sent(number, Sent { at: now, octets, parts, words, tries_length: true, sample });
        self.rate.idle(self.flight.octets());
        number
    }

    fn given_ticket(&self) -> &[u8; TICKET] {
        match &self.role {
            Role::Server { ticket, .. } => ticket,
            // Clients send no welcome, because only a server's user accepts.
            Role::Client { .. } => &[0; TICKET],
        }
    }

    fn number(&mut self) -> u64 {
        self.next += 1;
        self.next - 1
    }

    /// Reports from time to time up to which packet everything is settled.
    fn settle(&mut self, number: u64, out: &mut Vec<u8>) {
        let oldest = self.flight.oldest().map_or(number, |(oldest, _)| oldest);
        let (said, again) = self.oldest;
        if oldest > said && number >= again {
            Frame::Oldest(oldest).write(out);
            self.oldest = (oldest, number + OLDEST_EVERY);
        }
    }

    /// Returns whether there is anything to send besides acknowledgements.
    pub(super) fn has_more(&self) -> bool {
        let closes = self.outgoing.is_done();
        self.ping || self.outgoing.has_part() || self.words.iter().any(|word| *word != Word::Close || closes)
    }

    fn may_send(&self, now: Duration) -> bool {
        self.probes > 0 || (self.flight.octets() < self.rate.window() && self.rate.next() <= now)
    }
}
