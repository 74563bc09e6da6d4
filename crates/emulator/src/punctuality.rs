//! Lateness of packets, and whether it spoils the run.
//!
//! A packet has a logical time at which it leaves; the machine sends it a little later. While this
//! lateness is small, the emulated link is the requested one. When the emulator cannot keep up, the
//! run is marked *overloaded*, with the reason and with how much longer packets took.
//!
//! Lateness is judged relative to the link's own time for the packet: from the first bit on the
//! limiter to the far end, without the time in the queue. A packet of 1500 B on a link of 384
//! kbit/s and 270 ms takes 301 ms; 2 ms are 0.7 % of that.

use borsh::{BorshDeserialize, BorshSerialize};
use link::units::{Span, Time};
use std::fmt;

/// Lateness up to which no packet counts as late, however short the link. A virtual machine now and
/// then loses its processor and is a few hundred microseconds late.
pub const LATE: Span = Span::from_millis(2);

/// A packet does not count as late if its lateness is at most 1 / `LATE_PART` of the link's own
/// time: 5 %. Channel models have to meet their parameters with the same tolerance (TL-09), and it
/// is within the spread of round-trip times that retransmission timers allow for.
pub const LATE_PART: u64 = 20;

/// Share of late packets above which a run is overloaded.
pub const LATE_SHARE: f64 = 0.01;

/// Number of late packets that never makes a run overloaded. Of the 300 packets of a short run,
/// four are more than 1 %, but no pattern.
pub const FORGIVEN: u64 = 10;

/// Lateness above which a single packet makes a run overloaded: the smallest retransmission timeout
/// of Linux.
pub const FAR_TOO_LATE: Span = Span::from_millis(200);

/// Lateness of all packets of a run, as a histogram in powers of two.
#[derive(Debug, Clone, BorshSerialize, BorshDeserialize)]
pub struct Punctuality {
    /// `counts[k]` is the number of packets that left at least 2^(k-1) ns and less than 2^k ns
    /// late; `counts[0]` is the number that left exactly on time.
    counts: [u64; 65],
    late: u64,
    worst: Span,
    total: u64,
    /// Sum of the lateness of all packets, in nanoseconds.
    sum: u128,
    /// Sum of the link's own times, in nanoseconds.
    own: u128,
}

/// Why a run is overloaded.
#[derive(Debug, Clone, PartialEq)]
pub enum Overload {
    /// Too many packets were late by more than [`LATE`] and by more than 1 / [`LATE_PART`] of the
    /// link's own time.
    Late {
        /// Number of late packets.
        late: u64,
        /// Number of all packets.
        total: u64,
        /// How much longer packets took.
        off: Off,
    },
    /// One packet was late by more than [`FAR_TOO_LATE`].
    FarTooLate {
        /// Its lateness.
        worst: Span,
        /// How much longer packets took.
        off: Off,
    },
    /// The kernel dropped packets before the emulator could read them.
    DroppedByKernel {
        /// Number of these packets.
        packets: u64,
    },
    /// The emulator did not run while packets waited to be read ([`crate::pauses`]).
    Paused {
        /// Sum of the lengths of all pauses.
        total: Span,
        /// Length of the longest pause in which a packet waited.
        longest: Span,
        /// Number of packets that waited.
        packets: u64,
    },
    /// The recorder could not write fast enough and held up the emulator.
    RecorderBlocked {
        /// How often.
        times: u64,
    },
}

/// How much longer packets took than on the requested link, on average.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Off {
    /// Mean lateness.
    pub by: Span,
    /// Mean of the link's own times, without waiting in queues. Zero for a link without rate and
    /// delay.
    pub of: Span,
}

impl Off {
    /// Returns the lateness as a share of the link's own time. `None` for a link that takes no
    /// time.
    #[must_use]
    pub fn share(self) -> Option<f64> {
        (self.of > Span::ZERO).then(|| self.by.as_nanos() as f64 / self.of.as_nanos() as f64)
    }
}

impl fmt::Display for Off {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let micros = |span: Span| Span::from_micros(span.as_nanos().div_ceil(1000));
        write!(f, "packets took {} longer on average", micros(self.by))?;
        if let Some(share) = self.share() {
            write!(f, ", {:.1} % of the {} that the link itself takes", share * 100.0, micros(self.of))?;
        }
        f.write_str(": delays and rates may be off by as much")
    }
}

impl Default for Punctuality {
    fn default() -> Self {
        Self { counts: [0; 65], late: 0, worst: Span::ZERO, total: 0, sum: 0, own: 0 }
    }
}

impl Punctuality {
    /// Notes that a packet left at `now` and should have left at `due`. `own` is the link's own
    /// time for it.
    pub fn note(&mut self, due: Time, now: Time, own: Span) {
        let late = now.since(due);
        self.sum += u128::from(late.as_nanos());
        self.own += u128::from(own.as_nanos());
        self.counts[(u64::BITS - late.as_nanos().leading_zeros()) as usize] += 1;
        self.total += 1;
        self.late += u64::from(late > LATE && late * LATE_PART > own);
        self.worst = self.worst.max(late);
    }

    /// Returns the number of packets that left.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.total
    }

    /// Returns the lateness of the latest packet.
    #[must_use]
    pub fn worst(&self) -> Span {
        self.worst
    }

    /// Returns how much longer packets took on average.
    #[must_use]
    pub fn off(&self) -> Off {
        let mean = |sum: u128| {
            let mean = sum.checked_div(u128::from(self.total)).unwrap_or(0);
            Span::from_nanos(u64::try_from(mean).unwrap_or(u64::MAX))
        };
        Off { by: mean(self.sum), of: mean(self.own) }
    }

    /// Returns a lateness that this share (0 to 1) of packets did not exceed, rounded up to a power
    /// of two.
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
            Some(Overload::FarTooLate { worst: self.worst, off: self.off() })
        } else if self.late > FORGIVEN && self.late as f64 > self.total as f64 * LATE_SHARE {
            Some(Overload::Late { late: self.late, total: self.total, off: self.off() })
        } else {
            None
        }
    }
}

impl fmt::Display for Overload {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Late { late, total, off } => {
                let percent = 100 / LATE_PART;
                write!(
                    f,
                    "{late} of {total} packets left too late, by more than {LATE} and {percent} % of the link's own time; {off}"
                )
            }
            Self::FarTooLate { worst, off } => {
                write!(f, "a packet left {worst} too late, which can cause a retransmission timeout; {off}")
            }
            Self::DroppedByKernel { packets } => {
                write!(
                    f,
                    "the kernel dropped {packets} packets before the emulator could read them: these losses come on top \
                     of those of the requested link"
                )
            }
            Self::Paused { total, longest, packets } => {
                write!(
                    f,
                    "the emulator did not run for {total}, and {packets} packets waited to be read for up to {longest}"
                )
            }
            Self::RecorderBlocked { times } => {
                write!(f, "the recorder delayed the emulator {times} times: the disk is too slow")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A run on a link that takes no time.
    fn run(lateness: impl IntoIterator<Item = Span>) -> Punctuality {
        on(Span::ZERO, lateness)
    }

    /// A run on a link that takes `own` for each packet.
    fn on(own: Span, lateness: impl IntoIterator<Item = Span>) -> Punctuality {
        let mut run = Punctuality::default();
        for late in lateness {
            run.note(Time::from_nanos(5), Time::from_nanos(5) + late, own);
        }
        run
    }

    /// 384 kbit/s and 270 ms take 301 ms for 1500 B. 2.5 ms are 0.8 % of that, and 8 % of 30 ms.
    #[test]
    fn lateness_is_judged_by_the_times_of_the_link() {
        let late = || std::iter::repeat_n(Span::from_micros(2500), 1000);
        assert_eq!(on(Span::from_micros(301_250), late()).verdict(), None);
        let off = Off { by: Span::from_micros(2500), of: Span::from_micros(30_000) };
        assert_eq!(
            on(Span::from_millis(30), late()).verdict(),
            Some(Overload::Late { late: 1000, total: 1000, off })
        );
        let at_the_limit =
            |late| on(Span::from_millis(100), std::iter::repeat_n(late, 20)).verdict().is_some();
        assert_eq!([Span::from_millis(5), Span::from_micros(5001)].map(at_the_limit), [false, true]);
        // The sender's timer does not depend on the length of the link.
        let far = on(Span::from_secs(10), [Span::from_millis(201)]).verdict();
        assert!(matches!(far, Some(Overload::FarTooLate { .. })), "{far:?}");
    }

    #[test]
    fn a_verdict_says_by_how_much_results_may_be_off() {
        let half = |n: u32| if n.is_multiple_of(2) { Span::from_millis(3) } else { Span::ZERO };
        let verdict = on(Span::from_millis(30), (0..100).map(half)).verdict().expect("a verdict");
        assert_eq!(
            verdict.to_string(),
            "50 of 100 packets left too late, by more than 2ms and 5 % of the link's own time; packets took 1.5ms longer on \
             average, 5.0 % of the 30ms that the link itself takes: delays and rates may be off by as much"
        );
        let nothing = run((0..100).map(half)).verdict().expect("a verdict").to_string();
        assert!(
            nothing.ends_with("packets took 1.5ms longer on average: delays and rates may be off by as much"),
            "{nothing}"
        );
        assert_eq!(Punctuality::default().off(), Off { by: Span::ZERO, of: Span::ZERO });
    }

    #[test]
    fn a_few_late_packets_are_forgiven_and_one_in_fifty_is_not() {
        let with_late = |late: usize| {
            let times = (0..1000).map(|n| Span::from_micros(if n < late { 2500 } else { 40 }));
            run(times).verdict()
        };
        assert_eq!(with_late(10), None);
        assert!(matches!(with_late(20), Some(Overload::Late { late: 20, total: 1000, .. })));
    }

    #[test]
    fn a_short_run_is_not_judged_by_a_handful_of_packets() {
        let late = Span::from_millis(3);
        assert_eq!(run(std::iter::repeat_n(late, 10)).verdict(), None);
        let verdict = run(std::iter::repeat_n(late, 11)).verdict();
        assert!(matches!(verdict, Some(Overload::Late { late: 11, total: 11, .. })), "{verdict:?}");
    }

    #[test]
    fn one_packet_as_late_as_a_retransmission_timeout_spoils_the_run() {
        let times = (0..100_000).map(|n| if n == 7 { Span::from_millis(201) } else { Span::ZERO });
        let verdict = run(times).verdict();
        let worst = Span::from_millis(201);
        assert!(
            matches!(verdict, Some(Overload::FarTooLate { worst: found, .. }) if found == worst),
            "{verdict:?}"
        );
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
