//! The verdict on a loss, and what decided it.

use serde::{Deserialize, Serialize};
use std::fmt;

/// Whether a loss was caused by the wireless link or by a full queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LossVerdict {
    /// Random loss; the network is not overloaded.
    Wireless,
    /// A queue was full.
    Congestion,
}

/// What decided a verdict.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Reason {
    /// The detector's rule.
    Detector,
    /// Nothing was measured yet: congestion, to be safe.
    NoSample,
    /// Retransmission timeout: congestion without asking the detector (AMB-N5).
    Timeout,
    /// The sender's own transmit queue was full, or a router marked a packet (ECN): congestion
    /// without asking the detector (AMB-N5).
    Local,
}

/// A loss event to judge.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Loss {
    /// Number of lost packets, as known when recovery begins; 0 counts as 1 (AMB-N6).
    pub n: u32,
    /// The congestion window at that time, in segments. Only Veno's rule needs it.
    pub cwnd: u32,
}

/// A verdict with its reason and numbers. Delays and spacings are in microseconds, backlogs in
/// segments.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Judgement {
    /// The verdict.
    pub verdict: LossVerdict,
    /// What decided.
    pub reason: Reason,
    /// What was measured.
    pub measured: Option<f64>,
    /// Lower bound of `measured` for a wireless loss, inclusive. Only Biaz's rule has one.
    pub floor: Option<f64>,
    /// Upper bound of `measured` for a wireless loss, exclusive. In Spike's state machine, the
    /// border at which the state changes.
    pub limit: Option<f64>,
}

impl Loss {
    /// Returns the number of lost packets, at least 1.
    #[must_use]
    pub const fn packets(&self) -> u32 {
        if self.n == 0 { 1 } else { self.n }
    }
}

impl Judgement {
    /// Returns the judgement of a rule.
    pub(crate) const fn ruled(wireless: bool, measured: f64, limit: f64) -> Self {
        let verdict = if wireless { LossVerdict::Wireless } else { LossVerdict::Congestion };
        Self { verdict, reason: Reason::Detector, measured: Some(measured), floor: None, limit: Some(limit) }
    }

    /// Returns congestion for a reason other than a rule.
    #[must_use]
    pub const fn congestion(reason: Reason) -> Self {
        Self { verdict: LossVerdict::Congestion, reason, measured: None, floor: None, limit: None }
    }
}

impl LossVerdict {
    /// Both verdicts.
    pub const ALL: [Self; 2] = [Self::Wireless, Self::Congestion];

    /// Returns `wireless` or `congestion`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Wireless => "wireless",
            Self::Congestion => "congestion",
        }
    }

    /// Returns the verdict of this name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|verdict| verdict.name() == name)
    }
}

impl Reason {
    /// All reasons.
    pub const ALL: [Self; 4] = [Self::Detector, Self::NoSample, Self::Timeout, Self::Local];

    /// Returns `detector`, `no-sample`, `timeout` or `local`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Detector => "detector",
            Self::NoSample => "no-sample",
            Self::Timeout => "timeout",
            Self::Local => "local",
        }
    }

    /// Returns the reason of this name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|reason| reason.name() == name)
    }
}

impl fmt::Display for LossVerdict {
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
        assert!(
            LossVerdict::ALL
                .into_iter()
                .all(|verdict| LossVerdict::from_name(verdict.name()) == Some(verdict))
        );
        assert!(Reason::ALL.into_iter().all(|reason| Reason::from_name(reason.name()) == Some(reason)));
        assert_eq!((LossVerdict::from_name("random"), Reason::from_name("")), (None, None));
    }
}
