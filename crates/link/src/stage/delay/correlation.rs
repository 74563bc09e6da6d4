//! How long a drawn delay lasts: the correlation time of [`super::DelaySpec`].

use super::spec::Law;
use crate::stage::spec::SpecError;
use crate::units::Span;
use std::fmt;
use std::str::FromStr;

/// Standard deviations in the correlation time of a delay that gives none.
///
/// The delay's slope then has a standard deviation of 0.12, so packets in order wait for each other
/// only beyond eight of those: mean and deviation stay as they are written, however dense the
/// packets.
const DEVIATIONS: u64 = 10;

/// How the delays of two packets depend on each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Correlation {
    /// The delay is a process in time. Delays this far apart have a correlation of about one half,
    /// and none at all beyond four times as much.
    Time(Span),
    /// Each packet draws its own delay, as with netem.
    None,
}

impl Correlation {
    /// What holds for `law` where a profile gives nothing: packets that may overtake each other
    /// (`reorder`) draw their own delays, as netem's do; others get a process of ten standard
    /// deviations.
    pub(super) fn usual(law: &Law, reorder: bool) -> Self {
        match law.deviation() {
            Some(deviation) if !reorder && deviation > Span::ZERO => Self::Time(deviation * DEVIATIONS),
            _ => Self::None,
        }
    }

    /// Refuses a correlation that cannot be, or a law that draws nothing.
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
