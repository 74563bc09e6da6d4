//! Capacity of a limiter between two instants, where its rate is a trace or was changed.

use capture::event::{After, Rate};

const NANOS_PER_SECOND: f64 = 1e9;

/// Bytes that a limiter could send over the time of a run, as the limiter counts them.
#[derive(Debug, Clone, PartialEq)]
pub struct Capacity {
    parts: Vec<Part>,
}

/// Capacity from an instant until the next part begins.
#[derive(Debug, Clone, PartialEq)]
struct Part {
    /// Start, in nanoseconds since 1970.
    since: u64,
    offer: Offer,
    overhead: i64,
    least: u64,
}

#[derive(Debug, Clone, PartialEq)]
enum Offer {
    Unlimited,
    NotLogged,
    /// Bytes per second.
    Constant(f64),
    /// Increasing instants since the start of the trace, each with the sum of the bytes up to it,
    /// its own included.
    Opportunities {
        instants: Vec<(u64, f64)>,
        repeats: bool,
    },
    /// Ends of the lines since the start of the trace, the sum of the bytes until then, and the
    /// rate of the line in bytes per second.
    Lines {
        lines: Vec<(u64, f64, f64)>,
        after: After,
    },
}

impl Capacity {
    /// Creates the capacity of one direction from the event log of a run that began at `started`,
    /// nanoseconds since 1970.
    ///
    /// `None` if the log has no capacity, or only one constant rate.
    #[must_use]
    pub fn of(logged: &[capture::Capacity], started: u64) -> Option<Self> {
        if let [] | [capture::Capacity { rate: Rate::Constant { .. }, .. }] = logged {
            return None;
        }
        let parts = logged.iter().map(|part| Part {
            since: started.saturating_add(part.since.as_nanos()),
            offer: Offer::of(&part.rate),
            overhead: part.overhead,
            least: part.least,
        });
        Some(Self { parts: parts.collect() })
    }

    /// Returns why utilization between two instants cannot be measured; `None` if it can.
    #[must_use]
    pub fn unmeasured(&self, from: u64, to: u64) -> Option<&'static str> {
        let is_unlimited = self.parts.first().is_none_or(|first| first.since > from)
            || self.during(from, to).any(|part| part.offer.is_unlimited());
        if self.during(from, to).any(|part| part.offer == Offer::NotLogged) {
            Some("the event log does not include the trace of its rate, which is too long")
        } else if is_unlimited {
            Some("its rate is unlimited part of the time")
        } else if self.between(from, to, true) <= 0.0 {
            Some("its rate was 0")
        } else {
            None
        }
    }

    /// Returns the bytes that could be sent after `from` and before `to`.
    ///
    /// With `inclusive`, opportunities exactly at `to` count, too.
    #[must_use]
    pub fn between(&self, from: u64, to: u64, inclusive: bool) -> f64 {
        let nexts = self.parts.iter().skip(1).map(|part| part.since).chain([u64::MAX]);
        let parts = self.parts.iter().zip(nexts).filter(|(part, next)| part.since < to && *next > from);
        parts
            .map(|(part, next)| {
                // A trace that replaces another one also replaces its opportunities at that
                // instant.
                let (end, inclusive) = if next <= to { (next, false) } else { (to, inclusive) };
                let upto = |time: u64, inclusive| part.offer.upto(time - part.since, inclusive);
                upto(end, inclusive) - upto(from.max(part.since), true)
            })
            .sum::<f64>()
            .max(0.0)
    }

    /// Returns the bytes that can be sent exactly at `time`, by opportunities of a trace.
    #[must_use]
    pub fn at(&self, time: u64) -> f64 {
        let Some(part) = self.part(time) else { return 0.0 };
        let elapsed = time - part.since;
        part.offer.upto(elapsed, true) - part.offer.upto(elapsed, false)
    }

    /// Returns the bytes that the limiter counts for a packet of `bytes` bytes sent at `time`.
    #[must_use]
    pub fn cost(&self, bytes: u32, time: u64) -> f64 {
        let (overhead, least) = self.part(time).map_or((0, 0), |part| (part.overhead, part.least));
        u64::from(bytes).saturating_add_signed(overhead).max(least) as f64
    }

    fn part(&self, time: u64) -> Option<&Part> {
        self.parts.iter().rev().find(|part| part.since <= time)
    }

    fn during(&self, from: u64, to: u64) -> impl Iterator<Item = &Part> {
        let nexts = self.parts.iter().skip(1).map(|part| part.since).chain([u64::MAX]);
        self.parts
            .iter()
            .zip(nexts)
            .filter(move |(part, next)| part.since < to && *next > from)
            .map(|pair| pair.0)
    }
}

impl Offer {
    fn of(rate: &Rate) -> Self {
        let a_second = |bits: u64| bits as f64 / 8.0;
        match rate {
            Rate::Unlimited => Self::Unlimited,
            Rate::NotLogged => Self::NotLogged,
            Rate::Constant { bits_per_second } => Self::Constant(a_second(*bits_per_second)),
            Rate::Opportunities { bytes, unit_ns, steps, repeats } => {
                let (mut at, mut sum) = (0u64, 0.0);
                let mut instants = Vec::new();
                for &(delta, count, times) in steps {
                    for _ in 0..times {
                        at = at.saturating_add(delta.saturating_mul(*unit_ns));
                        sum += (bytes * count) as f64;
                        instants.push((at, sum));
                    }
                }
                Self::Opportunities { instants, repeats: *repeats }
            }
            Rate::Lines { lines, after } => {
                let (mut end, mut sum) = (0u64, 0.0);
                let line = |&(keep, rate): &(u64, Option<u64>)| {
                    let rate = rate.map_or(f64::INFINITY, a_second);
                    end = end.saturating_add(keep);
                    sum += rate * keep as f64 / NANOS_PER_SECOND;
                    (end, sum, rate)
                };
                Self::Lines { lines: lines.iter().map(line).collect(), after: *after }
            }
        }
    }

    fn is_unlimited(&self) -> bool {
        match self {
            Self::Unlimited => true,
            Self::Lines { lines, after } => {
                *after == After::Unlimited || lines.iter().any(|line| line.2.is_infinite())
            }
            Self::NotLogged | Self::Constant(_) | Self::Opportunities { .. } => false,
        }
    }

    /// Returns the bytes that could be sent after the start of the trace and before `elapsed`
    /// nanoseconds; with `inclusive`, also exactly then.
    fn upto(&self, elapsed: u64, inclusive: bool) -> f64 {
        match self {
            Self::Unlimited | Self::NotLogged => 0.0,
            Self::Constant(rate) => rate * elapsed as f64 / NANOS_PER_SECOND,
            Self::Opportunities { instants, repeats } => {
                opportunities(instants, *repeats, elapsed, inclusive)
            }
            Self::Lines { lines, after } => rates(lines, *after, elapsed),
        }
    }
}

fn opportunities(instants: &[(u64, f64)], repeats: bool, elapsed: u64, inclusive: bool) -> f64 {
    let Some(&(length, all)) = instants.last().filter(|last| last.0 > 0) else { return 0.0 };
    let first = instants.iter().take(1).filter(|first| first.0 == 0).map(|first| first.1).sum::<f64>();
    let within = |time: u64, inclusive: bool| {
        let behind = instants.partition_point(|step| step.0 < time || (inclusive && step.0 == time));
        behind.checked_sub(1).map_or(0.0, |place| instants[place].1)
    };
    if elapsed == 0 {
        return 0.0;
    }
    let (rounds, rest) = if repeats { (elapsed / length, elapsed % length) } else { (0, elapsed) };
    // The last instant of a round is the first one of the next.
    let (rounds, rest) =
        if rounds > 0 && rest == 0 && !inclusive { (rounds - 1, length) } else { (rounds, rest) };
    // An opportunity at the very start of the trace does not exist in the first round.
    rounds as f64 * all + within(rest, inclusive) - first
}

fn rates(lines: &[(u64, f64, f64)], after: After, elapsed: u64) -> f64 {
    let Some(&(length, all, last)) = lines.last().filter(|last| last.0 > 0) else { return 0.0 };
    let (rounds, rest) = match after {
        After::First => (elapsed / length, elapsed % length),
        After::Last | After::Unlimited => (0, elapsed),
    };
    let place = lines.partition_point(|line| line.0 <= rest);
    let (begin, before) = place.checked_sub(1).map_or((0, 0.0), |place| (lines[place].0, lines[place].1));
    let rate = lines.get(place).map_or(last, |line| line.2);
    rounds as f64 * all + before + rate * (rest - begin) as f64 / NANOS_PER_SECOND
}

#[cfg(test)]
#[expect(clippy::float_cmp, reason = "whole numbers of bytes")]
mod tests {
    use super::*;
    use capture::Time;

    fn capacity(parts: &[(u64, Rate)]) -> Capacity {
        let part = |(since, rate): &(u64, Rate)| capture::Capacity {
            since: Time::from_nanos(*since),
            rate: rate.clone(),
            overhead: 0,
            least: 0,
        };
        Capacity::of(&parts.iter().map(part).collect::<Vec<_>>(), 1000).expect("it varies")
    }

    fn trace(instants: &[u64], repeats: bool) -> Rate {
        Rate::opportunities(10, 1, instants.iter().copied(), repeats)
    }

    /// LL-15: two opportunities at 3, one at 5, and again from 5 on: at 8, 10, 13, …
    #[test]
    fn ll_15_opportunities_of_a_trace_and_of_its_rounds() {
        let again = capacity(&[(0, trace(&[3, 3, 5], true))]);
        let between = |from: u64, to: u64, inclusive| again.between(1000 + from, 1000 + to, inclusive);
        assert_eq!([between(0, 3, false), between(0, 3, true), between(3, 5, true)], [0.0, 20.0, 10.0]);
        assert_eq!([between(0, 5, false), between(0, 8, false), between(0, 8, true)], [20.0, 30.0, 50.0]);
        assert_eq!([between(0, 500, true), between(4, 499, true)], [3000.0, 2970.0]);
        assert_eq!([again.at(1003), again.at(1004), again.at(1010)], [20.0, 0.0, 10.0]);
        // An opportunity at 0 does not exist in the first round; in all others it comes with the
        // last one.
        let zero = capacity(&[(0, trace(&[0, 4], true))]);
        assert_eq!([zero.at(1000), zero.at(1004), zero.at(1008)], [0.0, 20.0, 20.0]);
        assert_eq!([zero.between(1000, 1008, false), zero.between(1000, 1008, true)], [20.0, 40.0]);
        // Without repetition the trace is used once.
        let once = capacity(&[(0, trace(&[0, 3, 5], false))]);
        assert_eq!([once.between(1000, 1005, false), once.between(1000, 1900, true)], [10.0, 20.0]);
    }

    #[test]
    fn rates_of_a_trace_hold_for_their_lines() {
        let second = 1_000_000_000;
        // 800 bit/s for a second, nothing for another, 1600 bit/s for two.
        let lines = vec![(second, Some(800)), (second, Some(0)), (2 * second, Some(1600))];
        let capacity = |after| capacity(&[(0, Rate::Lines { lines: lines.clone(), after })]);
        let between = |capacity: &Capacity, from: u64, to: u64| {
            capacity.between(1000 + from * second / 2, 1000 + to * second / 2, true)
        };
        let again = capacity(After::First);
        assert_eq!([between(&again, 0, 1), between(&again, 1, 4), between(&again, 2, 4)], [50.0, 50.0, 0.0]);
        assert_eq!([between(&again, 0, 8), between(&again, 7, 10)], [500.0, 200.0]);
        assert_eq!(between(&capacity(After::Last), 0, 12), 900.0);
        assert!(capacity(After::Unlimited).unmeasured(1000, 2000).is_some());
        assert_eq!(again.unmeasured(1000, 2000), None);
        let (stopped, on) = (1000 + second + 10, 1000 + 2 * second);
        assert!(again.unmeasured(stopped, on - 10).is_some(), "nothing could be sent");
    }

    /// At 7 the first trace is replaced by another one.
    #[test]
    fn parts_follow_each_other() {
        let both = capacity(&[(0, trace(&[5], true)), (7, trace(&[2], true))]);
        assert_eq!(both.between(1000, 1010, true), 20.0);
        assert_eq!([both.at(1005), both.at(1009), both.at(1010)], [10.0, 10.0, 0.0]);
        let late = capacity(&[(7, trace(&[2], true))]);
        assert!(late.unmeasured(1000, 1020).is_some() && late.unmeasured(1007, 1020).is_none());
        let steady = capture::Capacity {
            since: Time::ZERO,
            rate: Rate::Constant { bits_per_second: 8 },
            overhead: 0,
            least: 0,
        };
        assert_eq!(Capacity::of(&[steady], 0), None);
    }
}
