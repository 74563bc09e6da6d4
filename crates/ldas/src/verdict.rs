//! What a detector says of a loss, and what decided.

use serde::{Deserialize, Serialize};
use std::fmt;

/// Whether a loss came of the wireless link or of a full queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// Random loss: the network is not overloaded.
    Wireless,
    /// A queue was full.
    Congestion,
}

/// What decided.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Reason {
    /// The detector's rule.
    Detector,
    /// Nothing was measured yet: congestion, to be safe.
    NoSample,
    /// The retransmission timer ran out: congestion without asking (AMB-N5).
    Timeout,
    /// The sender's own transmit queue was full, or a router marked a packet (ECN): congestion
    /// without asking (AMB-N5).
    Local,
}

/// A loss event that is to be judged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Loss {
    /// How many packets were lost, as far as it is known when recovery begins; 0 counts as 1
    /// (AMB-N6).
    pub n: u32,
    /// The congestion window at that time, in segments. Veno's rule needs it, the others do not.
    pub cwnd: u32,
}

/// A verdict with its grounds. Microseconds where delays or spacings are compared, segments where a
/// backlog is.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Judgement {
    /// The verdict.
    pub verdict: Verdict,
    /// What decided.
    pub reason: Reason,
    /// What was measured.
    pub measured: Option<f64>,
    /// The measured must not lie below this for the loss to be wireless; only Biaz's rule has such
    /// a bound.
    pub floor: Option<f64>,
    /// The measured must lie below this for the loss to be wireless: strictly, except in Spike's
    /// state machine.
    pub limit: Option<f64>,
}

impl Loss {
    /// How many packets were lost, at least 1.
    #[must_use]
    pub const fn packets(&self) -> u32 {
        if self.n == 0 { 1 } else { self.n }
    }
}

impl Judgement {
    /// The rule was asked, and says `wireless` or not.
    pub(crate) const fn ruled(wireless: bool, measured: f64, limit: f64) -> Self {
        let verdict = if wireless { Verdict::Wireless } else { Verdict::Congestion };
        Self { verdict, reason: Reason::Detector, measured: Some(measured), floor: None, limit: Some(limit) }
    }

    /// Congestion for a reason that asks no rule.
    #[must_use]
    pub const fn congestion(reason: Reason) -> Self {
        Self { verdict: Verdict::Congestion, reason, measured: None, floor: None, limit: None }
    }
}

impl Verdict {
    /// Both.
    pub const ALL: [Self; 2] = [Self::Wireless, Self::Congestion];

    /// `wireless` or `congestion`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Wireless => "wireless",
            Self::Congestion => "congestion",
        }
    }

    /// The verdict of this name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|verdict| verdict.name() == name)
    }
}

impl Reason {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Detector, Self::NoSample, Self::Timeout, Self::Local];

    /// `detector`, `no-sample`, `timeout` or `local`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Detector => "detector",
            Self::NoSample => "no-sample",
            Self::Timeout => "timeout",
            Self::Local => "local",
        }
    }

    /// The reason of this name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|reason| reason.name() == name)
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_lead_back() {
        assert!(Verdict::ALL.into_iter().all(|verdict| Verdict::from_name(verdict.name()) == Some(verdict)));
        assert!(Reason::ALL.into_iter().all(|reason| Reason::from_name(reason.name()) == Some(reason)));
        assert_eq!((Verdict::from_name("random"), Reason::from_name("")), (None, None));
    }
}
