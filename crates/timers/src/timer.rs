//! What every timer is told, and what it says.

use crate::eifel::Eifel;
use crate::linux::Linux;
use crate::lite::Lite;
use crate::rfc6298::Rfc6298;
use serde::Serialize;

/// A round-trip time, measured when an acknowledgment came.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Sample {
    /// When it came, in seconds.
    pub at_s: f64,
    /// The round-trip time, in seconds.
    pub rtt_s: f64,
    /// Segments that were outstanding when it came, that which it acknowledges included.
    pub flight: f64,
}

/// What a timer holds after a sample. Times are in seconds.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Estimate {
    /// RTT - SRTT before the sample changed SRTT; 0 at the first sample.
    pub delta_s: f64,
    /// Smoothed round-trip time.
    pub srtt_s: f64,
    /// Its variation, as the timer defines it.
    pub rttvar_s: f64,
    /// The timeout by the formula alone.
    pub unrounded_s: f64,
    /// The same, not below the timer's minimum.
    pub floored_s: f64,
    /// The same in whole ticks, rounded up, for timers that have ticks.
    pub ticks: Option<f64>,
    /// The timeout that holds: the last of these.
    pub rto_s: f64,
    /// Time from now to the expiry of the timer, which this acknowledgment started again.
    pub rexmt_s: f64,
}

/// Which timer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// The timer of 4.4BSD-Lite, without ticks and minimum.
    Lite,
    /// The same with ticks, 500 ms unless set otherwise, and a minimum of two of them.
    LiteTicks,
    /// The standard: RFC 6298 with its minimum of one second.
    Rfc6298,
    /// What Linux does: a floor of 200 ms below the variation, which falls once a round trip.
    Linux,
    /// The Eifel retransmission timer.
    Eifel,
}

/// What is set of a timer.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Settings {
    /// Granularity of the clock in seconds: the tick of [`Kind::LiteTicks`], G of RFC 6298 and the
    /// tick of [`Kind::Eifel`]. `None`: 500 ms for the first, none for the others.
    pub tick_s: Option<f64>,
}

/// A timer.
pub trait Timer {
    /// Takes in a sample and says what follows from it.
    fn sample(&mut self, sample: &Sample) -> Estimate;
}

impl Kind {
    /// All of them.
    pub const ALL: [Self; 5] = [Self::Lite, Self::LiteTicks, Self::Rfc6298, Self::Linux, Self::Eifel];

    /// Its name on a command line and in tables.
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

    /// A timer that has no sample yet.
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
