//! Processing of packets from the other side.

use super::{End, Event, Machine, Role, Stage};
use crate::llp::flight::{Sent, Word};
use crate::llp::incoming::Moment;
use crate::llp::wire::{Ack, Frame, Malformed, Reader};
use crate::outage;
use resoa_protocol::lhp::DisconnectReason;
use std::time::Duration;

impl Machine {
    /// Returns whether a packet with this number can still be accepted.
    pub(crate) fn is_new(&self, number: u64) -> bool {
        self.received.is_new(number)
    }

    /// Returns the number after the highest one received.
    pub(crate) fn expected(&self) -> u64 {
        self.received.next()
    }

    /// Processes a packet that is authentic and [new](Self::is_new).
    pub(crate) fn packet(&mut self, number: u64, frames: &[u8], now: Duration) -> Result<(), Malformed> {
        self.heard = now;
        let mut reader = Reader(frames);
        let mut is_to_be_acknowledged = false;
        let mut outcome = Ok(());
        while let Some(frame) = reader.next().transpose() {
            outcome = frame.and_then(|frame| {
                is_to_be_acknowledged |= !matches!(frame, Frame::Ack(_) | Frame::Oldest(_) | Frame::Reset);
                self.frame(frame, now)
            });
            if outcome.is_err() {
                break;
            }
        }
        self.received.add(number, is_to_be_acknowledged, now);
        // The RESET that was sent got lost.
        if let Stage::Over(End::Reset { is_said }) = &mut self.stage {
            *is_said &= !is_to_be_acknowledged;
        }
        outcome
    }

    fn frame(&mut self, frame: Frame, now: Duration) -> Result<(), Malformed> {
        match frame {
            Frame::Ping => {}
            Frame::Ack(ack) => self.acknowledged(&ack, now)?,
            Frame::Oldest(packet) => self.received.settled(packet),
            Frame::Reset => self.ended(DisconnectReason::Reset),
            _ if self.has_ended() => {}
            // A client may send nothing before it was welcomed. So a stranger cannot make us keep
            // data before our user has accepted the client.
            Frame::Data(_) | Frame::Notice(_)
                if matches!(self.role, Role::Server { .. }) && self.stage == Stage::Opening =>
            {
                return Err(Malformed);
            }
            Frame::Data(data) => self.incoming.part(data, self.moment(now))?,
            Frame::Notice(notice) => self.incoming.notice(notice, self.moment(now))?,
            Frame::Hello => {
                let Role::Server { has_client, .. } = &mut self.role else { return Err(Malformed) };
                if !std::mem::replace(has_client, true) {
                    self.events.push_back(Event::Connect);
                }
            }
            Frame::Welcome(welcome) => {
                let Role::Client { ticket } = &mut self.role else { return Err(Malformed) };
                if self.stage == Stage::Opening {
                    self.stage = Stage::Up;
                    *ticket = Some(*welcome);
                    self.events.push_back(Event::Connected);
                }
            }
            Frame::Close { messages } => self.end = Some(messages),
        }
        Ok(())
    }

    fn moment(&self, now: Duration) -> Moment {
        Moment { now, patience: self.patience() }
    }

    pub(super) fn patience(&self) -> Duration {
        outage::patience(self.rtt.expected())
    }

    fn acknowledged(&mut self, ack: &Ack, now: Duration) -> Result<(), Malformed> {
        if ack.ranges.first().is_some_and(|range| range.end > self.next) {
            return Err(Malformed);
        }
        self.outgoing.limit(ack.limit);
        if !self.outgoing.is_blocked() {
            self.blocked = None;
        }
        let outcome = self.flight.acknowledged(&ack.ranges, &self.rtt, now);
        if outcome.arrived.is_empty() && outcome.lost.is_empty() {
            return Ok(());
        }
        self.unanswered = 0;
        self.probes = 0;
        self.outage.answered(!self.flight.is_empty(), self.patience(), now);
        if let Some(trip) = outcome.trip {
            self.rtt.sample(trip, Duration::from_micros(ack.delay_us), self.rate.shortest());
        }
        let trip = outcome.trip.map(|trip| trip.saturating_sub(Duration::from_micros(ack.delay_us)));
        self.rate.arrived(&outcome.arrived, trip, now);
        for sent in outcome.arrived {
            if let Stage::Closing { moved } = &mut self.stage
                && !sent.parts.is_empty()
            {
                *moved = now;
            }
            sent.parts.into_iter().for_each(|part| self.outgoing.arrived(part));
            self.length.has_carried(sent.octets);
            if sent.tries_length {
                self.length.arrived();
            }
            if sent.words.contains(&Word::Close) && self.is_closing() {
                self.over(End::Known);
            }
        }
        self.lost(outcome.lost, now);
        Ok(())
    }

    pub(super) fn lost(&mut self, packets: Vec<Sent>, now: Duration) {
        if let Some(longest) = packets.iter().map(|sent| sent.octets).max() {
            self.length.has_missed(longest, now);
        }
        for sent in packets {
            if sent.tries_length {
                self.length.lost(now);
            }
            sent.parts.into_iter().for_each(|part| self.outgoing.lost(part));
            for word in sent.words {
                if !self.words.contains(&word) {
                    self.words.push(word);
                }
            }
        }
    }
}
