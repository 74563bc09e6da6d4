//! Whether a link is random at all.

use super::{DirectionSpec, StageSpec};
use crate::stage::bottleneck::RateSpec;
use crate::stage::errors::{EffectSpec, ErrorSpec, ProcessSpec};
use crate::stage::hiccup::Trigger;

impl DirectionSpec {
    /// Returns whether anything about this direction may depend on the seed.
    ///
    /// `false` is certain: the same packets at the same times meet the same fates with every seed.
    #[must_use]
    pub fn is_random(&self) -> bool {
        self.stages.iter().any(|(_, stage)| stage.is_random())
    }
}

impl StageSpec {
    fn is_random(&self) -> bool {
        match self {
            // A TheaterQ trace has probabilities of losses and copies.
            Self::Bottleneck(spec) => spec.queue.is_random() || matches!(spec.rate, RateSpec::Theaterq(..)),
            Self::CellReplay(spec) => spec.queue.is_random(),
            Self::Errors(spec) => errors_are_random(spec),
            Self::Outage(spec) => spec.process.is_some(),
            Self::Duplicate(spec) => spec.probability.get() > 0.0,
            Self::Delay(spec) => spec.law.draws(),
            Self::Hiccup(spec) => {
                let triggers = [spec.hold.map(|hold| hold.trigger), spec.reorder.map(|order| order.trigger)];
                triggers.into_iter().flatten().any(|trigger| matches!(trigger, Trigger::Random(_)))
            }
        }
    }
}

fn errors_are_random(spec: &ErrorSpec) -> bool {
    let flips = matches!(spec.effect, EffectSpec::Flip(_));
    match &spec.process {
        // It hits no packet, or each one.
        ProcessSpec::Packets { loss } => loss.get() > 0.0 && (loss.get() < 1.0 || flips),
        ProcessSpec::InTime { channel, errors: None } => channel.loss().get() > 0.0,
        ProcessSpec::Listed { .. } | ProcessSpec::Trace { .. } | ProcessSpec::Blocks { .. } => flips,
        _ => true,
    }
}
