//! The air of one direction of a hop: which blocks or frames are hit.
//!
//! Errors hit blocks or frames on the air, as loss profiles say them of packets: what an error
//! process hits is erased, whatever the profile says of its effect. The process sees a packet of a
//! block's or a frame's length. So does an outage, over the whole of what it takes to send.

use super::{HopError, HopSpec};
use crate::packet::Packet;
use crate::seed::Seed;
use crate::stage::errors::Errors;
use crate::stage::outage::{Outage, OutageCommand, OutageSpec};
use crate::units::{Span, Time};
use arq::hop::OnAir;
use packet::{Frame, Layer};
use vocabulary::{Direction, Sending};

/// One direction.
pub(super) struct Air {
    errors: Option<Errors>,
    outages: Vec<Outage>,
    /// Outages by command.
    commanded: Outage,
    /// Blocks or frames that were sent.
    sent: u64,
}

impl Air {
    /// Both directions, up first.
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

    /// Whether the next block or frame arrives as it was sent.
    pub fn carries(&mut self, sent: &OnAir) -> bool {
        let number = self.sent;
        self.sent += 1;
        let sending = Sending { start: sent.start, end: sent.end };
        let hit = self.errors.as_mut().is_some_and(|errors| {
            let frame = Frame::owned(Layer::Ip, vec![0; sent.octets.get() as usize]);
            errors.hits(&Packet { sending, ..Packet::new(number, frame, sent.judged) })
        });
        // Both are asked, whatever the other says: each keeps its own time.
        !(hit | self.is_out(sending))
    }

    /// Whether there is an outage at any time of a transmission. It ends where the next one begins:
    /// that instant is the next one's.
    fn is_out(&mut self, Sending { start, end }: Sending) -> bool {
        let last = Time::ZERO + (end - Time::ZERO - Span::from_nanos(1));
        let mut all = self.outages.iter_mut().chain([&mut self.commanded]);
        all.any(|outage| outage.is_out(start, last))
    }

    /// An outage by command. What is being sent may be judged already.
    pub fn obey(&mut self, command: OutageCommand, now: Time) {
        self.commanded.command(now, command);
    }
}
