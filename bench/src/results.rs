//! Results of the contenders' turns.
//!
//! Ratios are taken within a round, between measurements that are close in time; then the median is
//! taken. A disturbance of some seconds affects both.

use crate::contender::{Contender, Task};
use crate::experiment::Figure;
use crate::measure::Measured;
use std::collections::HashMap;

/// Result of one turn.
#[derive(Debug, Clone)]
pub struct Outcome {
    /// The measurement.
    pub measured: Measured,
    /// The link that the contender emulated.
    pub task: Task,
}

/// All turns of an experiment.
#[derive(Debug)]
pub struct Results {
    order: Vec<Contender>,
    turns: HashMap<Contender, Vec<Outcome>>,
    failures: HashMap<Contender, String>,
}

/// Median and range over the rounds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Spread {
    /// Median: for an even number of values, the mean of the two in the middle.
    pub median: f64,
    /// Smallest value.
    pub lowest: f64,
    /// Largest value.
    pub highest: f64,
}

impl Spread {
    /// Returns the spread of these values; `None` without values.
    fn of(mut values: Vec<f64>) -> Option<Self> {
        values.sort_by(f64::total_cmp);
        let (&lowest, &highest) = (values.first()?, values.last()?);
        let middle = values.len() / 2;
        let median = if values.len() % 2 == 1 {
            values[middle]
        } else {
            f64::midpoint(values[middle - 1], values[middle])
        };
        Some(Self { median, lowest, highest })
    }
}

impl Results {
    /// Creates results without turns.
    #[must_use]
    pub fn new(contenders: &[Contender]) -> Self {
        Self { order: contenders.to_vec(), turns: HashMap::new(), failures: HashMap::new() }
    }

    /// Adds a turn. A contender that fails once is out, and loses all its turns.
    pub fn add(&mut self, contender: Contender, outcome: Result<Outcome, String>) {
        match outcome {
            Ok(outcome) => self.turns.entry(contender).or_default().push(outcome),
            Err(reason) => {
                self.turns.remove(&contender);
                self.failures.insert(contender, reason);
            }
        }
    }

    /// Returns whether the contender is out.
    #[must_use]
    pub fn failed(&self, contender: Contender) -> bool {
        self.failures.contains_key(&contender)
    }

    /// Returns the contenders that are out, with the reasons.
    pub fn failures(&self) -> impl Iterator<Item = (Contender, &str)> {
        self.order.iter().filter_map(|contender| Some((*contender, self.failures.get(contender)?.as_str())))
    }

    /// Returns whether only other projects' emulators are out, if any.
    #[must_use]
    pub fn sound(&self) -> bool {
        self.failures().all(|(contender, _)| matches!(contender, Contender::Rattan | Contender::Mahimahi))
    }

    /// Returns the spread of a contender's figure; `None` if it has no turns.
    #[must_use]
    pub fn spread(&self, figure: &Figure, contender: Contender) -> Option<Spread> {
        Spread::of(self.values(figure, contender)?)
    }

    /// Returns the median over the rounds of a contender's figure divided by another's; `None` if a
    /// value is not positive.
    #[must_use]
    pub fn ratio(&self, figure: &Figure, contender: Contender, other: Contender) -> Option<f64> {
        let (own, others) = (self.values(figure, contender)?, self.values(figure, other)?);
        if own.iter().chain(&others).any(|value| *value <= 0.0) {
            return None;
        }
        let ratios = own.into_iter().zip(others).map(|(own, other)| own / other).collect();
        Some(Spread::of(ratios)?.median)
    }

    /// Returns the figure of each round, minus the lower bound that it refers to.
    fn values(&self, figure: &Figure, contender: Contender) -> Option<Vec<f64>> {
        let raw = |contender| -> Option<Vec<f64>> {
            let turns = self.turns.get(&contender)?;
            Some(turns.iter().map(|turn| (figure.of)(&turn.measured, turn.task)).collect())
        };
        let values = raw(contender)?;
        let Some(floor) = figure.above else { return Some(values) };
        let floor = raw(floor)?;
        Some(values.into_iter().zip(floor).map(|(value, floor)| value - floor).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measure::Arrived;
    use std::time::Duration;

    const FIGURE: Figure = Figure {
        title: "Gbit/s",
        digits: 1,
        ratios: true,
        above: None,
        of: |measured, _| match measured.traffic {
            Arrived::Bulk(bits) => bits,
            _ => f64::NAN,
        },
        targets: &[],
    };

    fn results(turns: &[(Contender, &[f64])]) -> Results {
        let mut results = Results::new(&[Contender::Split, Contender::Bare, Contender::Rattan]);
        for (contender, values) in turns {
            for &value in *values {
                let measured = Measured { traffic: Arrived::Bulk(value), processor: Duration::ZERO };
                results.add(*contender, Ok(Outcome { measured, task: Task::default() }));
            }
        }
        results
    }

    #[test]
    fn a_ratio_is_taken_within_a_round() {
        // The machine was twice as fast in the second round. The ratio of the medians would be 2 /
        // 2.
        let results = results(&[(Contender::Split, &[1.0, 2.0, 4.0]), (Contender::Bare, &[2.0, 4.0, 1.0])]);
        assert_eq!(results.ratio(&FIGURE, Contender::Split, Contender::Bare), Some(0.5));
        assert_eq!(results.ratio(&FIGURE, Contender::Split, Contender::Rattan), None);
    }

    #[test]
    fn there_is_no_ratio_to_somebody_who_is_early() {
        let results = results(&[(Contender::Split, &[30.0]), (Contender::Bare, &[-300.0])]);
        assert_eq!(results.ratio(&FIGURE, Contender::Split, Contender::Bare), None);
    }

    #[test]
    fn a_figure_above_a_floor_is_less_the_floor_of_its_round() {
        let figure = Figure { above: Some(Contender::Bare), ..FIGURE };
        let results =
            results(&[(Contender::Split, &[11.0, 22.0, 33.0]), (Contender::Bare, &[1.0, 2.0, 3.0])]);
        let spread = results.spread(&figure, Contender::Split).unwrap();
        assert_eq!(spread, Spread { median: 20.0, lowest: 10.0, highest: 30.0 });
    }

    #[test]
    fn who_fails_once_has_no_figure_and_only_guests_may() {
        let mut results = results(&[(Contender::Split, &[1.0]), (Contender::Rattan, &[1.0, 2.0])]);
        results.add(Contender::Rattan, Err("not installed".into()));
        assert_eq!(results.spread(&FIGURE, Contender::Rattan), None);
        assert!(results.sound());
        results.add(Contender::Split, Err("broken".into()));
        assert!(!results.sound());
        assert_eq!(results.failures().count(), 2);
    }
}
