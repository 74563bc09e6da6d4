//! Duplication: the link delivers some packets twice.
//!
//! With the given probability, a copy follows a packet at once. Packets are copied independently of
//! each other, as by netem's `duplicate` without correlation. Link layers whose acknowledgement is
//! lost cause duplicates: IEEE 802.11 receivers that miss the retry bit, satellite modems after a
//! handover.

use crate::fate::Effect;
use crate::packet::Packet;
use crate::seed::Stream;
use crate::spec::StageSpec;
use crate::stage::{Outbox, Stage};
use crate::units::{Probability, Time};
use borsh::{BorshDeserialize, BorshSerialize};
use rand::RngExt;
use serde::{Deserialize, Serialize};

/// Parameters of [`Duplicate`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, BorshSerialize, BorshDeserialize)]
#[serde(deny_unknown_fields)]
pub struct DuplicateSpec {
    /// Share of packets that are delivered twice.
    pub probability: Probability,
}

/// The stage; see the [module](self).
#[derive(Debug)]
pub struct Duplicate {
    spec: DuplicateSpec,
    stream: Stream,
}

impl Duplicate {
    /// Creates a stage that copies packets as `spec` says. It draws one number per packet from
    /// `stream`.
    #[must_use]
    pub fn new(spec: DuplicateSpec, stream: Stream) -> Self {
        Self { spec, stream }
    }
}

impl Stage for Duplicate {
    fn accept(&mut self, packet: Packet, out: &mut Outbox) {
        let copy = self.spec.probability.happens(self.stream.random()).then(|| {
            let mut copy = packet.clone();
            copy.mark(Effect::Copied);
            copy
        });
        out.pass(packet);
        if let Some(copy) = copy {
            out.pass(copy);
        }
    }

    fn change(&mut self, to: &StageSpec, _: Time) -> Result<(), String> {
        let StageSpec::Duplicate(spec) = to else {
            return Err(format!("`duplicate` cannot become `{}`", to.kind()));
        };
        self.spec = spec.clone();
        Ok(())
    }

    fn keeps_packets(&self) -> bool {
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::seed::Seed;
    use packet::{Frame, Layer};

    #[test]
    fn as_many_copies_as_asked_for() {
        let spec = DuplicateSpec { probability: "2%".parse().expect("a probability") };
        let mut stage = Duplicate::new(spec, Seed::campaign(1).stage("duplicate").stream());
        let mut out = Outbox::default();
        let count = 1_000_000;
        for number in 0..count {
            let frame = Frame::owned(Layer::Ip, Vec::new());
            stage.accept(Packet::new(number, frame, Time::from_nanos(number)), &mut out);
        }
        let (passed, lost) = out.take();
        assert!(lost.is_empty());
        let copies = passed.iter().filter(|p| p.marks.iter().any(|m| m.effect == Effect::Copied)).count();
        assert_eq!(passed.len(), count as usize + copies);
        // Binomial distribution: mean 20 000, standard deviation sqrt(n p q) = 140; the limit is
        // five of them.
        assert!((copies as f64 - 20_000.0).abs() < 700.0, "{copies}");
    }
}
