//! How late packets left, and whether that spoils the run.
//!
//! A packet has a logical time at which it leaves; the machine lets it go a little later. As long as that is little, the
//! emulated link is the one that was asked for. When the emulator cannot keep up, it is not, and the run is marked
//! *overloaded*, with the reason.

use link::units::{Span, Time};
use std::fmt;

/// From when on a packet counts as late. A virtual machine that loses its processor for a moment is a few hundred
/// microseconds late now and then; a delay of 2 ms more is what a transport protocol on a slow link would notice.
pub const LATE: Span = Span::from_millis(2);

/// Share of late packets above which a run is overloaded.
pub const LATE_SHARE: f64 = 0.01;

/// Late packets that are forgiven in any case: of the 300 packets of a short run, four are more than 1 % and no pattern.
pub const FORGIVEN: u64 = 10;

/// A single packet this late spoils a run by itself: it is as long as the smallest retransmission timeout of Linux.
pub const FAR_TOO_LATE: Span = Span::from_millis(200);

/// Lateness of all packets of a run, as a histogram in powers of two.
#[derive(Debug, Clone)]
pub struct Punctuality {
    /// `counts[k]`: packets that left at least 2^(k-1) ns and less than 2^k ns late; `counts[0]`: exactly on time.
    counts: [u64; 65],
    late: u64,
    worst: Span,
    total: u64,
}

/// Why a run is overloaded.
#[derive(Debug, Clone, PartialEq)]
pub enum Overload {
    /// Too many packets left more than [`LATE`] too late.
    Late {
        /// How many.
        late: u64,
        /// Of how many.
        total: u64,
    },
    /// One packet left more than [`FAR_TOO_LATE`] too late.
    FarTooLate {
        /// How late.
        worst: Span,
    },
    /// The kernel dropped packets before the emulator could read them.
    DroppedByKernel {
        /// How many.
        packets: u64,
    },
    /// The recorder could not write fast enough and held the emulator up.
    RecorderBlocked {
        /// How often.
        times: u64,
    },
}

impl Default for Punctuality {
    fn default() -> Self {
        Self { counts: [0; 65], late: 0, worst: Span::ZERO, total: 0 }
    }
}

impl Punctuality {
    /// A packet that should have left at `due` leaves at `now`.
    pub fn note(&mut self, due: Time, now: Time) {
        let late = now.since(due);
        self.counts[(u64::BITS - late.as_nanos().leading_zeros()) as usize] += 1;
        self.total += 1;
        self.late += u64::from(late > LATE);
        self.worst = self.worst.max(late);
    }

    /// Packets that left.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.total
    }

    /// Lateness of the latest packet.
    #[must_use]
    pub fn worst(&self) -> Span {
        self.worst
    }

    /// A lateness that the given share (0 to 1) of packets did not exceed, rounded up to a power of two.
    #[must_use]
    pub fn quantile(&self, share: f64) -> Span {
        let wanted = (self.total as f64 * share).ceil() as u64;
        let mut seen = 0;
        for (power, count) in self.counts.iter().enumerate() {
            seen += count;
            if seen >= wanted && seen > 0 {
                let upper = 1u64.checked_shl(power as u32).map_or(u64::MAX, |above| above - 1);
                return Span::from_nanos(upper).min(self.worst);
            }
        }
        self.worst
    }

    /// Judges the run by lateness alone.
    #[must_use]
    pub fn verdict(&self) -> Option<Overload> {
        if self.worst > FAR_TOO_LATE {
            Some(Overload::FarTooLate { worst: self.worst })
        } else if self.late > FORGIVEN && self.late as f64 > self.total as f64 * LATE_SHARE {
            Some(Overload::Late { late: self.late, total: self.total })
        } else {
            None
        }
    }
}

impl fmt::Display for Overload {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Late { late, total } => {
                write!(f, "{late} of {total} packets left more than {LATE} too late")
            }
            Self::FarTooLate { worst } => write!(f, "a packet left {worst} too late"),
            Self::DroppedByKernel { packets } => {
                write!(f, "the kernel dropped {packets} packets before the emulator could read them")
            }
            Self::RecorderBlocked { times } => {
                write!(f, "the recorder held the emulator up {times} times: the disk is too slow")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(lateness: impl IntoIterator<Item = Span>) -> Punctuality {
        let mut run = Punctuality::default();
        for late in lateness {
            run.note(Time::from_nanos(5), Time::from_nanos(5) + late);
        }
        run
    }

    #[test]
    fn a_few_late_packets_are_forgiven_and_one_in_fifty_is_not() {
        let with_late = |late: usize| {
            let times = (0..1000).map(|n| Span::from_micros(if n < late { 2500 } else { 40 }));
            run(times).verdict()
        };
        assert_eq!(with_late(10), None);
        assert_eq!(with_late(20), Some(Overload::Late { late: 20, total: 1000 }));
    }

    #[test]
    fn a_short_run_is_not_judged_by_a_handful_of_packets() {
        let late = Span::from_millis(3);
        assert_eq!(run(std::iter::repeat_n(late, 10)).verdict(), None);
        assert_eq!(
            run(std::iter::repeat_n(late, 11)).verdict(),
            Some(Overload::Late { late: 11, total: 11 })
        );
    }

    #[test]
    fn one_packet_as_late_as_a_retransmission_timeout_spoils_the_run() {
        let times = (0..100_000).map(|n| if n == 7 { Span::from_millis(201) } else { Span::ZERO });
        assert_eq!(run(times).verdict(), Some(Overload::FarTooLate { worst: Span::from_millis(201) }));
    }

    #[test]
    fn quantiles_bound_from_above() {
        let spread = run((1..=1000).map(Span::from_micros));
        for share in [0.5, 0.9, 0.99] {
            let exact = Span::from_nanos((share * 1e6) as u64);
            let bound = spread.quantile(share);
            assert!(bound >= exact && bound <= exact * 2, "{share}: {bound}");
        }
        assert_eq!(spread.quantile(1.0), Span::from_millis(1));
        assert_eq!(run([Span::ZERO]).quantile(0.5), Span::ZERO);
    }
}
