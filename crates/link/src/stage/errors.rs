//! Errors: packets that are lost or damaged on the air.
//!
//! A specification has three independent parts: the process that selects packets ([`ProcessSpec`]),
//! the effect on the selected packets ([`EffectSpec`]), and the exempt packets ([`Exempt`],
//! [`ErrorSpec::only`]). In a profile:
//!
//! ```toml
//! process = { good = "2s", bad = "30ms" }  # loss profile 1 of TCP Lite
//! effect = "spoil-checksum"
//! sampled = "instant"
//! exempt = { syn = true, packets = "udp port 53" }
//! ```
//!
//! Errors belong *behind* the limiter. In front of it, packets arrive as fast as a sender can send
//! them, so a burst of errors in time hits far more packets than the link could carry in that time
//! (TCP Lite 5.4.4, Fig. 5.5). A packet lost there also takes no capacity (ReSoA evaluation D.1).
//! The stage cannot see its own place; the profile determines it.
//!
//! By default, processes evolve in time. The schedule of such a process depends only on seed and
//! parameters, not on traffic.

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
    /// Selects the wrong bits.
    damage: Stream,
}

impl Errors {
    /// Creates errors as `spec` says from [`Time::ZERO`] on, with random numbers from streams below
    /// `seed`.
    pub fn new(spec: ErrorSpec, seed: &Seed) -> Result<Self, SpecError> {
        spec.check()?;
        Ok(Self { channel: Channel::new(&spec.process, seed)?, damage: seed.stage("damage").stream(), spec })
    }

    /// Returns the current parameters.
    #[must_use]
    pub fn spec(&self) -> &ErrorSpec {
        &self.spec
    }

    /// Takes over other parameters at `now`, which must not be earlier than any event so far.
    ///
    /// An unchanged process continues. A two-state process that evolves in the same quantity as
    /// before keeps its state and has the new sojourns from `now` on. Any other process begins at
    /// `now`, as does a trace.
    ///
    /// # Errors
    /// If the parameters are invalid. The old ones then stay.
    pub fn set(&mut self, spec: ErrorSpec, now: Time) -> Result<(), SpecError> {
        spec.check()?;
        if spec.process != self.spec.process {
            self.channel.change(&spec.process, now)?;
        }
        self.spec = spec;
        Ok(())
    }

    /// Returns whether the process hits `packet`, whatever the effect. This is for blocks on the
    /// air, which any error erases.
    pub(crate) fn hits(&mut self, packet: &Packet) -> bool {
        self.channel.judge(packet, self.spec.sampled).hit != Hit::No
    }

    /// Returns whether the effect may apply to `packet`.
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
