//! The air of one direction of a hop: it decides which blocks or frames are erased.
//!
//! Error processes and outages act on blocks or frames as they act on packets elsewhere. A block or
//! frame hit by an error process is erased, whatever the effect in the profile. The process sees a
//! packet with the length of the block or frame. An outage erases a block or frame if it overlaps
//! any part of the transmission.

use super::{HopError, HopSpec};
use crate::packet::Packet;
use crate::seed::Seed;
use crate::stage::errors::Errors;
use crate::stage::outage::{Outage, OutageCommand, OutageSpec};
use crate::units::{Span, Time};
use arq::hop::OnAir;
use packet::{Frame, Layer};
use vocabulary::{Direction, Sending};

/// The air of one direction.
pub(super) struct Air {
    errors: Option<Errors>,
    outages: Vec<Outage>,
    /// Outages by command.
    commanded: Outage,
    /// Number of blocks or frames sent.
    sent: u64,
}

impl Air {
    /// Builds the air of both directions, up first.
    pub fn pair(spec: &HopSpec, seed: &Seed) -> Result<[Self; 2], HopError> {
        let HopSpec { errors_up, errors_down, outages_up, outages_down, .. } = spec;
        let air = |direction: Direction, errors: &Option<_>, outages: &[(String, OutageSpec)]| {
            let seed = seed.direction(direction);
            let errors =
                errors.clone().map(|errors| Errors::new(errors, &seed.stage("errors"))).transpose()?;
            let outages = outages.iter().map(|(name, spec)| Outage::new(spec.clone(), &seed.stage(name)));
            Ok::<_, HopError>(Self {
                errors,
                outages: outages.collect::<Result<_, _>>()?,
                commanded: Outage::new(OutageSpec::default(), &seed.stage("outage"))?,
                sent: 0,
            })
        };
        Ok([air(Direction::Up, errors_up, outages_up)?, air(Direction::Down, errors_down, outages_down)?])
    }

    /// Returns whether the next block or frame arrives intact.
    pub fn carries(&mut self, sent: &OnAir) -> bool {
        let number = self.sent;
        self.sent += 1;
        let sending = Sending { start: sent.start, end: sent.end };
        let hit = self.errors.as_mut().is_some_and(|errors| {
            let frame = Frame::owned(Layer::Ip, vec![0; sent.octets.get() as usize]);
            errors.hits(&Packet { sending, ..Packet::new(number, frame, sent.judged) })
        });
        // Both must be asked, whatever the other answers, because each advances its own time. Hence
        // `|`, not `||`.
        !(hit | self.is_out(sending))
    }

    /// Returns whether there is an outage at any time of a transmission. The end of the
    /// transmission is exclusive, because the next one begins at that instant.
    fn is_out(&mut self, Sending { start, end }: Sending) -> bool {
        let last = Time::ZERO + (end - Time::ZERO - Span::from_nanos(1));
        let mut all = self.outages.iter_mut().chain([&mut self.commanded]);
        all.any(|outage| outage.is_out(start, last))
    }

    /// Counts a block or frame that was sent; returns the duration of the outage that begins at its
    /// end, if one does.
    pub fn count(&mut self, sent: &OnAir) -> Option<Span> {
        self.outages.iter_mut().filter_map(|outage| outage.count(sent.octets)).max()
    }

    /// Executes a command for an outage. The current block or frame may have been judged already.
    pub fn obey(&mut self, command: OutageCommand, now: Time) {
        self.commanded.command(now, command);
    }
}
