//! Utilization of a link (Ludwig 1.1, 3.1.2, 3.2.2; LL-15, LL-16): the share of a period in which
//! it carried useful data.
//!
//! It is reduced in two ways only: the link is idle, or it carries data that had already arrived.
//! Retransmissions by the link itself of erased frames do not reduce it, since these are first
//! successes; they are no input here.

use serde::Serialize;

/// Utilization at or below which L looks for the cause of the inefficiency (3.2.2).
pub const THRESHOLD: f64 = 0.95;

/// A period of a link; times in nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Period {
    /// Its length.
    pub length_ns: u64,
    /// Time in which the link had nothing to send.
    pub idle_ns: u64,
    /// Time in which it carried data that had already arrived ([`link_time`]).
    pub spurious_ns: u64,
}

/// Main cause of a low utilization.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Waste {
    /// The link was idle.
    Idle,
    /// It carried spurious retransmissions.
    Spurious,
}

impl Period {
    /// Returns (T - T_idle - T_spurious) / T; `None` for a period without length.
    ///
    /// The result is 0 if the parts are longer than the whole.
    #[must_use]
    pub fn utilization(&self) -> Option<f64> {
        let useful = self.length_ns.saturating_sub(self.idle_ns).saturating_sub(self.spurious_ns);
        (self.length_ns > 0).then(|| useful as f64 / self.length_ns as f64)
    }

    /// Returns the larger waste if utilization is 95 % or less; if both are equal, the idle time.
    #[must_use]
    pub fn flagged(&self) -> Option<Waste> {
        self.utilization().filter(|share| *share <= THRESHOLD)?;
        Some(if self.spurious_ns > self.idle_ns { Waste::Spurious } else { Waste::Idle })
    }
}

/// Returns the time that a link of this rate, in bit/s, needs for `bytes` bytes, in nanoseconds.
///
/// `None` if the rate is 0, or the time does not fit.
#[must_use]
pub fn link_time(bytes: u64, bits_per_second: u64) -> Option<u64> {
    let nanos = u128::from(bytes) * 8_000_000_000;
    u64::try_from(nanos.checked_div(u128::from(bits_per_second))?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: u64 = 1_000_000_000;

    fn period(length: u64, idle: u64, spurious: u64) -> Period {
        Period { length_ns: length, idle_ns: idle, spurious_ns: spurious }
    }

    /// LL-15: 10 % idle time gives 90 %; one spurious window costs its share; without waste it is
    /// 100 %.
    #[test]
    fn ll_15_utilization_is_what_neither_idle_time_nor_spurious_bytes_take() {
        assert_eq!(period(100 * SECOND, 10 * SECOND, 0).utilization(), Some(0.9));
        // 18 segments of 512 bytes at 9.6 kbit/s: 7.68 s of 100 s.
        let spurious = link_time(18 * 512, 9600).expect("a rate");
        assert_eq!(spurious, 7_680_000_000);
        assert_eq!(period(100 * SECOND, 0, spurious).utilization(), Some(0.9232));
        assert_eq!(period(100 * SECOND, 10 * SECOND, spurious).utilization(), Some(0.8232));
        assert_eq!(period(SECOND, 0, 0).utilization(), Some(1.0));
        assert_eq!(period(SECOND, SECOND, SECOND).utilization(), Some(0.0));
        assert_eq!(period(0, 0, 0).utilization(), None);
        assert_eq!(link_time(1, 0), None);
        assert_eq!(link_time(u64::MAX, 1), None, "longer than can be said");
    }

    /// LL-16: 95 % or less is flagged, with its main cause.
    #[test]
    fn ll_16_runs_at_95_percent_or_less_are_flagged_with_their_cause() {
        assert_eq!(period(1000, 49, 0).flagged(), None);
        assert_eq!(period(1000, 50, 0).flagged(), Some(Waste::Idle));
        assert_eq!(period(1000, 0, 50).flagged(), Some(Waste::Spurious));
        assert_eq!(period(1000, 30, 30).flagged(), Some(Waste::Idle));
        assert_eq!(period(1000, 30, 31).flagged(), Some(Waste::Spurious));
        assert_eq!(period(0, 0, 0).flagged(), None);
    }
}
