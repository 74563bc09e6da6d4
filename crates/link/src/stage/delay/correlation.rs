//! Correlation of drawn delays: the correlation time of [`super::DelaySpec`].

use super::spec::Law;
use crate::stage::spec::SpecError;
use crate::units::Span;
use borsh::{BorshDeserialize, BorshSerialize};
use std::fmt;
use std::str::FromStr;

/// Default correlation time in standard deviations of the delay.
///
/// The delay's slope then has a standard deviation of 0.12. Packets in order wait for each other
/// only beyond eight of these deviations, where the delay falls faster than time passes. Mean and
/// deviation therefore match the parameters, however dense the packets.
const DEVIATIONS: u64 = 10;

/// Dependence between the delays of two packets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, BorshSerialize, BorshDeserialize)]
pub enum Correlation {
    /// The delay is a process in time. Delays this far apart have a correlation of about one half;
    /// beyond four times this distance they are uncorrelated.
    Time(Span),
    /// Each packet draws its own delay, as in netem.
    None,
}

impl Correlation {
    /// Returns the default for `law`: packets that may overtake each other (`reorder`) draw their
    /// own delays, as in netem; others get a process of ten standard deviations.
    pub(super) fn usual(law: &Law, reorder: bool) -> Self {
        match law.deviation() {
            Some(deviation) if !reorder && deviation > Span::ZERO => Self::Time(deviation * DEVIATIONS),
            _ => Self::None,
        }
    }

    /// Checks that the correlation is valid and that the law draws delays.
    pub(super) fn check(self, law: &Law) -> Result<(), SpecError> {
        let wrong = |wanted| Err(SpecError::value("correlation", self, wanted));
        if !law.draws() {
            return wrong("needs a random delay: of kind uniform, normal, lognormal or empirical");
        }
        match self {
            Self::Time(Span::ZERO) => wrong("must be above 0, or `none` to draw a delay for each packet"),
            Self::Time(time) if time.is_forever() => {
                wrong("must be finite: for a delay that never changes, use a constant one")
            }
            Self::Time(_) | Self::None => Ok(()),
        }
    }
}

impl fmt::Display for Correlation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Time(time) => time.fmt(f),
            Self::None => f.write_str("none"),
        }
    }
}

impl FromStr for Correlation {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text.trim() == "none" {
            return Ok(Self::None);
        }
        text.parse()
            .map(Self::Time)
            .map_err(|error| format!("{error}; or `none` to draw a delay for each packet"))
    }
}

vocabulary::serde_as_text!(Correlation);
