//! Errors: packets that are lost or damaged on the air.
//!
//! Three things are said of errors, each by itself: which packets are hit ([`ProcessSpec`]), what
//! becomes of these ([`EffectSpec`]), and which packets are spared ([`Exempt`],
//! [`ErrorSpec::only`]). In a profile:
//!
//! ```toml
//! process = { good = "2s", bad = "30ms" }  # loss profile 1 of TCP Lite
//! effect = "spoil-checksum"
//! sampled = "instant"
//! exempt = { syn = true, packets = "udp port 53" }
//! ```
//!
//! Errors belong *behind* the limiter. In front of it, where packets come as fast as a sender can,
//! a burst of errors in time hits far more packets than the link could carry in that time (TCP Lite
//! 5.4.4, Fig. 5.5), and a packet that is lost takes no capacity (ReSoA evaluation D.1). The stage
//! cannot see where it stands; a profile puts it right.
//!
//! Processes evolve in time unless a profile asks for something else, and where they do their
//! schedule depends on seed and parameters alone, not on traffic.

mod channel;
mod damage;
mod extent;
mod list;
mod process;
mod spec;
mod table;
mod timeline;
mod trace;
mod two_state;

pub(crate) use extent::digits;
pub use extent::{Extent, Packets};
pub use list::PacketList;
pub use process::{ProcessSpec, StateErrors};
pub use spec::{EffectSpec, ErrorSpec, Exempt, Flip, Sampled};
pub use trace::ErrorTrace;
pub(crate) use trace::{fields, nanos};
pub use two_state::{Description, Form, Sojourn, Start, TwoState};

use crate::fate::Effect;
use crate::packet::Packet;
use crate::seed::{Seed, Stream};
use crate::spec::StageSpec;
use crate::stage::spec::SpecError;
use crate::stage::{Outbox, Stage};
use crate::units::Time;
use channel::{Channel, Hit};
use packet::checksum;
use vocabulary::Loss;

/// The stage; see the [module](self).
#[derive(Debug)]
pub struct Errors {
    spec: ErrorSpec,
    channel: Channel,
    /// Decides which bits are wrong.
    damage: Stream,
}

impl Errors {
    /// Errors as `spec` says from [`Time::ZERO`] on, with random numbers from streams below `seed`.
    pub fn new(spec: ErrorSpec, seed: &Seed) -> Result<Self, SpecError> {
        spec.check()?;
        Ok(Self { channel: Channel::new(&spec.process, seed)?, damage: seed.stage("damage").stream(), spec })
    }

    /// What the stage was last told.
    #[must_use]
    pub fn spec(&self) -> &ErrorSpec {
        &self.spec
    }

    /// Takes other parameters from `now` on, which must not lie before anything that has happened.
    /// If they are refused the old ones stay.
    ///
    /// A process that is the same goes on. Two states that evolve in the same thing as before keep
    /// the state they are in and have the new sojourns from `now` on; any other process begins at
    /// `now`, and so does a trace.
    pub fn set(&mut self, spec: ErrorSpec, now: Time) -> Result<(), SpecError> {
        spec.check()?;
        if spec.process != self.spec.process {
            self.channel.change(&spec.process, now)?;
        }
        self.spec = spec;
        Ok(())
    }

    /// Whether the process hits `packet`, whatever the effect would be; for blocks on the air,
    /// which are erased by any.
    pub(crate) fn hits(&mut self, packet: &Packet) -> bool {
        self.channel.judge(packet, self.spec.sampled).hit != Hit::No
    }

    /// Whether something may be done to `packet`.
    fn concerns(&self, packet: &Packet) -> bool {
        let Exempt { syn, first, packets } = &self.spec.exempt;
        packet.number >= *first
            && !(*syn && packet.frame.headers().is_ok_and(|headers| headers.is_tcp_syn()))
            && !packets.as_ref().is_some_and(|filter| filter.matches(&packet.frame))
            && self.spec.only.as_ref().is_none_or(|filter| filter.matches(&packet.frame))
    }

    /// Flips bits of `packet`, which is `hit`.
    fn flip(&mut self, packet: &mut Packet, flip: Flip, hit: Hit) {
        let region = packet.frame.headers().ok().and_then(|headers| headers.region(flip.region));
        let Some(region) = region.filter(|region| !region.is_empty()) else { return };
        let stream = &mut self.damage;
        let bytes = packet.frame.bytes_mut();
        let flipped = match (flip.ber, flip.bits, hit) {
            (_, Some(bits), _) => damage::flip_count(bytes, region, bits, stream),
            (Some(ratio), None, _) => damage::flip_some(bytes, region, ratio, stream),
            (None, None, Hit::Bits(first)) => {
                damage::flip_by_hazard(bytes, region, self.channel.pieces(), first, stream)
            }
            (None, None, Hit::Whole | Hit::No) => unreachable!("ErrorSpec::check asks for ber or bits then"),
        };
        if flipped > 0 {
            packet.mark(Effect::BitsFlipped(flipped));
        }
    }

    fn spoil(packet: &mut Packet) -> bool {
        let Ok(headers) = packet.frame.headers() else { return false };
        let spoiled = checksum::spoil(packet.frame.bytes_mut(), &headers);
        if spoiled {
            packet.mark(Effect::ChecksumSpoiled);
        }
        spoiled
    }
}

impl Stage for Errors {
    fn accept(&mut self, mut packet: Packet, out: &mut Outbox) {
        let verdict = self.channel.judge(&packet, self.spec.sampled);
        packet.channel = Some(verdict.state);
        if verdict.hit == Hit::No || !self.concerns(&packet) {
            out.pass(packet);
            return;
        }
        let passes = match self.spec.effect {
            EffectSpec::Lose => false,
            EffectSpec::SpoilChecksum => Self::spoil(&mut packet),
            EffectSpec::Flip(flip) => {
                self.flip(&mut packet, flip, verdict.hit);
                true
            }
        };
        if passes {
            out.pass(packet);
        } else {
            let listed = matches!(self.spec.process, ProcessSpec::Listed { .. });
            out.lose(packet, if listed { Loss::Listed } else { Loss::Error });
        }
    }

    fn changes_bytes(&self) -> bool {
        self.spec.effect != EffectSpec::Lose
    }

    fn change(&mut self, to: &StageSpec, now: Time) -> Result<(), String> {
        let StageSpec::Errors(spec) = to else {
            return Err(format!("`errors` cannot become `{}`", to.kind()));
        };
        self.set(spec.clone(), now).map_err(|error| error.to_string())
    }

    fn keeps_packets(&self) -> bool {
        false
    }
}

#[cfg(test)]
mod tests;
