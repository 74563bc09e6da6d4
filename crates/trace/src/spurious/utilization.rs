//! Utilization of a link (Ludwig 1.1, 3.1.2, 3.2.2; LL-15, LL-16): the share of a period in which
//! useful data was on it.
//!
//! It is lost in two ways only: the link is idle, or carries what had already arrived. What the
//! link itself sends again of erased frames is no loss, since these are first successes; it is no
//! input here.

use serde::Serialize;

/// At this share or below it L takes a look at what is inefficient (3.2.2).
pub const THRESHOLD: f64 = 0.95;

/// A period of a link; times in nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Period {
    /// How long it is.
    pub length_ns: u64,
    /// How long the link had nothing to send.
    pub idle_ns: u64,
    /// How long it carried what had already arrived ([`link_time`]).
    pub spurious_ns: u64,
}

/// What most of a low utilization is due to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Waste {
    /// The link was idle.
    Idle,
    /// It carried spurious retransmissions.
    Spurious,
}

impl Period {
    /// (T - T_idle - T_spurious) / T; `None` of a period without length. 0 if the parts are longer
    /// than the whole.
    #[must_use]
    pub fn utilization(&self) -> Option<f64> {
        let useful = self.length_ns.saturating_sub(self.idle_ns).saturating_sub(self.spurious_ns);
        (self.length_ns > 0).then(|| useful as f64 / self.length_ns as f64)
    }

    /// The greater waste, if utilization is 95 % or less; of equal ones the idle time.
    #[must_use]
    pub fn flagged(&self) -> Option<Waste> {
        self.utilization().filter(|share| *share <= THRESHOLD)?;
        Some(if self.spurious_ns > self.idle_ns { Waste::Spurious } else { Waste::Idle })
    }
}

/// How long a link of this rate, in bit/s, takes for so many bytes, in nanoseconds; `None` of a
/// rate of 0.
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

    /// LL-15: idle for 10 % of the time makes 90 %; one spurious window makes its share; with
    /// nothing wasted it is all.
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

    /// LL-16: 95 % and less is flagged, with what most of it is due to.
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
