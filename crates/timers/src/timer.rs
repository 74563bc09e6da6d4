//! Input and output of every timer.

use crate::bsd::Lite;
use crate::eifel::Eifel;
use crate::linux::Linux;
use crate::rfc6298::Rfc6298;
use serde::Serialize;

/// A round-trip time, measured when an acknowledgment arrived.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Sample {
    /// Time at which it arrived, in seconds.
    pub at_s: f64,
    /// The round-trip time, in seconds.
    pub rtt_s: f64,
    /// Number of segments outstanding at that time, including the one that it acknowledges.
    pub flight: f64,
}

/// State of a timer after a sample. Times are in seconds.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Estimate {
    /// RTT - SRTT before the sample changed SRTT; 0 at the first sample.
    pub delta_s: f64,
    /// Smoothed round-trip time.
    pub srtt_s: f64,
    /// Variation of the round-trip time, as the timer defines it.
    pub rttvar_s: f64,
    /// The timeout by the formula alone.
    pub unrounded_s: f64,
    /// That timeout, not below the timer's minimum.
    pub floored_s: f64,
    /// That timeout in whole ticks, rounded up, for timers with ticks.
    pub ticks: Option<f64>,
    /// The timeout that applies: the last of the above.
    pub rto_s: f64,
    /// Time until the timer expires, restarted by this acknowledgment.
    pub rexmt_s: f64,
}

/// Kinds of timers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum TimerAlgorithm {
    /// The timer of 4.4BSD-Lite, without ticks or minimum.
    Lite,
    /// The timer of 4.4BSD-Lite with ticks (by default 500 ms) and a minimum of two ticks.
    LiteTicks,
    /// The standard: RFC 6298 with its minimum of one second.
    Rfc6298,
    /// The timer of Linux: a minimum of 200 ms for the variation, which falls once per round trip.
    Linux,
    /// The Eifel retransmission timer.
    Eifel,
}

/// Settings of a timer.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Settings {
    /// Granularity of the clock in seconds: the tick of [`TimerAlgorithm::LiteTicks`] and
    /// [`TimerAlgorithm::Eifel`], and G of RFC 6298. `None` means 500 ms for the first, and 0 for
    /// the others.
    pub tick_s: Option<f64>,
}

/// A retransmission timer.
pub trait Timer {
    /// Takes a sample, and returns the timer's state after it.
    fn sample(&mut self, sample: &Sample) -> Estimate;
}

impl TimerAlgorithm {
    /// All kinds.
    pub const ALL: [Self; 5] = [Self::Lite, Self::LiteTicks, Self::Rfc6298, Self::Linux, Self::Eifel];

    /// Returns its name on the command line and in tables.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Lite => "lite",
            Self::LiteTicks => "lite-ticks",
            Self::Rfc6298 => "rfc6298",
            Self::Linux => "linux",
            Self::Eifel => "eifel",
        }
    }

    /// Creates a timer without samples.
    #[must_use]
    pub fn timer(self, settings: Settings) -> Box<dyn Timer> {
        let tick_s = settings.tick_s.unwrap_or(0.0);
        match self {
            Self::Lite => Box::new(Lite::new(None)),
            Self::LiteTicks => Box::new(Lite::new(Some(settings.tick_s.unwrap_or(Lite::TICK_S)))),
            Self::Rfc6298 => Box::new(Rfc6298::new(tick_s)),
            Self::Linux => Box::new(Linux::default()),
            Self::Eifel => Box::new(Eifel::new(tick_s)),
        }
    }
}
