//! Capacity of a direction's limiter over time.

use crate::units::Time;
use serde::{Deserialize, Serialize};

/// Capacity of a limiter from one time on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Capacity {
    /// Start time. It holds until the next one of its direction, or the end of the run.
    pub since: Time,
    /// The rate.
    pub rate: Rate,
    /// Bytes that each packet costs beyond its length at the link's layer.
    pub overhead: i64,
    /// Minimum cost of a packet, in bytes.
    pub least: u64,
}

/// Rate of a limiter.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Rate {
    /// No limit: packets pass at once.
    Unlimited,
    /// Constant rate.
    Constant {
        /// The rate, in bit/s.
        bits_per_second: u64,
    },
    /// A trace of delivery opportunities (mahimahi): times, and the bytes that can be sent at each.
    /// Unused bytes are lost.
    Opportunities {
        /// Bytes of one opportunity.
        bytes: u64,
        /// Nanoseconds of a unit of time.
        unit_ns: u64,
        /// Runs of similar times: units since the time before, opportunities at each time, and the
        /// number of such times in a row.
        steps: Vec<(u64, u64, u64)>,
        /// Whether the trace starts again at its last time. If not, nothing is sent after it.
        repeats: bool,
    },
    /// A trace of rates, each of which holds for some time (`TheaterQ`).
    Lines {
        /// Duration in nanoseconds, and the rate in bit/s; `None` means no limit.
        lines: Vec<(u64, Option<u64>)>,
        /// Behaviour after the last line.
        after: After,
    },
    /// A trace that is too long for the log.
    NotLogged,
}

/// Behaviour after the last line of a trace.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum After {
    /// The trace starts again at its first line.
    First,
    /// The last line holds for ever.
    Last,
    /// There is no limit.
    Unlimited,
}

impl Rate {
    /// Creates a trace with opportunities of `bytes` bytes at `instants`. These are in units of
    /// `unit_ns` nanoseconds since the start of the trace, and must not decrease.
    #[must_use]
    pub fn opportunities(
        bytes: u64,
        unit_ns: u64,
        instants: impl Iterator<Item = u64>,
        repeats: bool,
    ) -> Self {
        let mut steps: Vec<(u64, u64, u64)> = Vec::new();
        // The time that is being counted: its distance to the one before, the time itself, and the
        // number of opportunities.
        let mut open: Option<(u64, u64, u64)> = None;
        let mut close = |delta: u64, count: u64| match steps.last_mut() {
            Some((last, many, times)) if (*last, *many) == (delta, count) => *times += 1,
            _ => steps.push((delta, count, 1)),
        };
        for instant in instants {
            open = Some(match open {
                Some((delta, at, count)) if at == instant => (delta, at, count + 1),
                Some((delta, at, count)) => {
                    close(delta, count);
                    (instant.saturating_sub(at), instant, 1)
                }
                None => (instant, instant, 1),
            });
        }
        if let Some((delta, _, count)) = open {
            close(delta, count);
        }
        Self::Opportunities { bytes, unit_ns, steps, repeats }
    }

    /// Returns the length of the trace as text in a log, in bytes.
    #[must_use]
    pub fn size(&self) -> usize {
        // The digits of two or three numbers, and the punctuation between them.
        match self {
            Self::Opportunities { steps, .. } => {
                steps.iter().map(|step| digits(step.0) + digits(step.1) + digits(step.2) + 5).sum()
            }
            Self::Lines { lines, .. } => {
                lines.iter().map(|line| digits(line.0) + line.1.map_or(4, digits) + 4).sum()
            }
            Self::Unlimited | Self::Constant { .. } | Self::NotLogged => 0,
        }
    }
}

fn digits(number: u64) -> usize {
    number.checked_ilog10().map_or(1, |digits| digits as usize + 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn opportunities_at_one_instant_and_instants_alike_are_one_step() {
        let steps = |instants: &[u64]| match Rate::opportunities(1504, 1, instants.iter().copied(), true) {
            Rate::Opportunities { steps, .. } => steps,
            other => panic!("{other:?}"),
        };
        assert_eq!(steps(&[1, 2, 3, 4]), [(1, 1, 4)]);
        assert_eq!(steps(&[0, 0, 5, 5, 10, 10, 11]), [(0, 2, 1), (5, 2, 2), (1, 1, 1)]);
        assert_eq!(steps(&[7]), [(7, 1, 1)]);
    }

    #[test]
    fn sizes_are_those_of_the_text() {
        let steps = Rate::opportunities(1504, 1, [0, 3, 3, 10, 110, 1110].into_iter(), true);
        let Rate::Opportunities { steps: list, .. } = &steps else { panic!("{steps:?}") };
        assert_eq!(steps.size() + 1, serde_json::to_string(list).expect("text").len());
        let list = vec![(1_000_000, Some(5_000_000)), (9, None)];
        let text = serde_json::to_string(&list).expect("text");
        assert_eq!(Rate::Lines { lines: list, after: After::Last }.size() + 1, text.len());
    }

    /// The instants that steps stand for, as the documentation of [`Rate`] says.
    fn instants(steps: &[(u64, u64, u64)]) -> Vec<u64> {
        let (mut all, mut now) = (Vec::new(), 0);
        for &(delta, count, times) in steps {
            for _ in 0..times {
                now += delta;
                all.extend((0..count).map(|_| now));
            }
        }
        all
    }

    proptest! {
        #[test]
        fn steps_are_the_instants_of_the_trace(deltas in prop::collection::vec(0..4_u64, 0..50)) {
            let trace: Vec<u64> = deltas.iter().scan(0, |now, delta| { *now += delta; Some(*now) }).collect();
            let rate = Rate::opportunities(1504, 1, trace.iter().copied(), true);
            let Rate::Opportunities { steps, .. } = rate else { panic!("{rate:?}") };
            prop_assert_eq!(instants(&steps), trace);
            prop_assert!(steps.windows(2).all(|two| (two[0].0, two[0].1) != (two[1].0, two[1].1)), "packed");
        }
    }

    #[test]
    fn other_fields_of_opportunities_are_kept() {
        let rate = Rate::opportunities(1504, 1_000_000, [5].into_iter(), false);
        let expected =
            Rate::Opportunities { bytes: 1504, unit_ns: 1_000_000, steps: vec![(5, 1, 1)], repeats: false };
        assert_eq!(rate, expected);
    }
}
