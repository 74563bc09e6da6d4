//! Ends of intervals that hold at all looks of a test together ([`Looks`]): with probability
//! `alpha`, at most, there is any look at which an end is beyond the true value.
//!
//! Such ends are those of repeated confidence intervals (Jennison and Turnbull, Interim analyses:
//! the repeated confidence interval approach, Journal of the Royal Statistical Society B 51(3),
//! 1989).

use super::{Looks, mean};
use statrs::distribution::{Binomial, ContinuousCDF, Discrete, StudentsT};

/// A lower and an upper end, each with an error of its own. An end that is not known yet is
/// infinite.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Ends {
    /// The true value is not below this.
    pub low: f64,
    /// The true value is not above this.
    pub high: f64,
}

impl Ends {
    /// Nothing is known.
    pub const OPEN: Self = Self { low: f64::NEG_INFINITY, high: f64::INFINITY };
}

/// Ends for a quantile, from the order statistics of the values.
///
/// They hold for every distribution, continuous or not: a value is at most the quantile with a
/// probability of at least `share`, so the number of such values is at least binomial. The rank at
/// each look is the largest one with which, by that distribution, the error so far is within what
/// the looks may have spent. (For a single look these are the classical intervals of Thompson, On
/// confidence ranges for the median, Annals of Mathematical Statistics 7(3), 1936.)
#[derive(Debug, Clone, PartialEq)]
pub struct QuantileEnds {
    /// For each look, the rank of the lower end from below; 0 if there is none.
    low: Vec<usize>,
    /// For each look, the rank of the upper end from above; 0 if there is none.
    high: Vec<usize>,
}

impl QuantileEnds {
    /// Prepares the ends for the quantile below which `share` of the values lie. Each end is wrong
    /// with probability `alpha`, at most.
    ///
    /// # Panics
    /// If `share` is not between 0 and 1.
    #[must_use]
    pub fn new(share: f64, alpha: f64, looks: &Looks) -> Self {
        assert!(0.0 < share && share < 1.0, "the share of a quantile is between 0 and 1");
        Self { low: ranks(share, alpha, looks), high: ranks(1.0 - share, alpha, looks) }
    }

    /// Returns the ends at the look with this number, from 0. `sorted` has the values of this look
    /// in ascending order.
    #[must_use]
    pub fn at(&self, look: usize, sorted: &[f64]) -> Ends {
        let Ends { mut low, mut high } = Ends::OPEN;
        if let Some(place) = self.low[look].checked_sub(1) {
            low = sorted.get(place).copied().unwrap_or(low);
        }
        if let Some(place) = sorted.len().checked_sub(self.high[look].max(1)).filter(|_| self.high[look] > 0)
        {
            high = sorted[place];
        }
        Ends { low, high }
    }

    /// Returns whether there is a lower end, and an upper end, at any look.
    #[must_use]
    pub fn exist(&self) -> (bool, bool) {
        let any = |ranks: &[usize]| ranks.iter().any(|rank| *rank > 0);
        (any(&self.low), any(&self.high))
    }
}

/// Returns the rank of the end at each look.
///
/// The end of rank r is above the quantile if fewer than r values are at most the quantile. The
/// distribution of their number is followed from look to look, without the paths that have gone
/// beyond an end: their error is spent.
fn ranks(share: f64, alpha: f64, looks: &Looks) -> Vec<usize> {
    let mut alive = vec![1.0];
    let (mut spent, mut before) = (0.0, 0);
    let mut ranks = Vec::new();
    for (look, budget) in looks.repetitions().iter().zip(looks.spent(alpha)) {
        alive = with_more(&alive, share, *look - before);
        before = *look;
        let mut rank = 0;
        while let Some(probability) = alive.get(rank).filter(|probability| spent + **probability <= budget) {
            spent += probability;
            alive[rank] = 0.0;
            rank += 1;
        }
        ranks.push(rank);
    }
    ranks
}

/// Returns the distribution of a count after `more` values, each of which counts with probability
/// `share`.
fn with_more(alive: &[f64], share: f64, more: u32) -> Vec<f64> {
    let Ok(binomial) = Binomial::new(share, u64::from(more)) else { return alive.to_vec() };
    let steps: Vec<f64> = (0..=u64::from(more)).map(|count| binomial.pmf(count)).collect();
    let mut after = vec![0.0; alive.len() + more as usize];
    for (count, probability) in alive.iter().enumerate().filter(|(_, probability)| **probability > 0.0) {
        for (step, chance) in steps.iter().enumerate() {
            after[count + step] += probability * chance;
        }
    }
    after
}

/// Ends for a mean, from few values that may be skewed.
///
/// No interval for a mean holds for every distribution: a rare large value changes the mean and is
/// mostly absent from the sample (Bahadur and Savage, The nonexistence of certain statistical
/// procedures in nonparametric problems, Annals of Mathematical Statistics 27(4), 1956). These ends
/// are careful instead:
///
/// * Each is the outer one of two: Student's, and that of Hall's cubic transformation, which
///   removes the skewness (On the removal of skewness by transformation, Journal of the Royal
///   Statistical Society B 54(1), 1992), with Student's quantiles and a skewness that is enlarged
///   by 6/n, since small samples show too little of it.
/// * They spend a quarter of the allowed error. The looks share it without assuming how they depend
///   on each other.
/// * There are none for fewer than [`MeanEnds::LEAST`] values, and none if all values are equal.
///
/// The simulations of `requirement` show for which values this suffices.
#[derive(Debug, Clone, PartialEq)]
pub struct MeanEnds {
    /// For each look, the error of each end; 0 if there is none.
    levels: Vec<f64>,
}

impl MeanEnds {
    /// Smallest number of values.
    pub const LEAST: u32 = 10;

    /// Part of the allowed error that is spent.
    const PART: f64 = 0.25;

    /// Prepares the ends. Each is meant to be wrong with probability `alpha`, at most.
    #[must_use]
    pub fn new(alpha: f64, looks: &Looks) -> Self {
        let mut spent = 0.0;
        let level = |(look, budget): (&u32, f64)| {
            if *look < Self::LEAST {
                return 0.0;
            }
            let level = budget - spent;
            spent = budget;
            level
        };
        let budgets = looks.spent(alpha * Self::PART);
        Self { levels: looks.repetitions().iter().zip(budgets).map(level).collect() }
    }

    /// Returns the ends at the look with this number, from 0. `values` has the values of this look.
    ///
    /// If a value is infinite, both ends are open.
    #[must_use]
    pub fn at(&self, look: usize, values: &[f64]) -> Ends {
        let level = self.levels[look];
        if level > 0.0 { ends_of_mean(values, level).unwrap_or(Ends::OPEN) } else { Ends::OPEN }
    }
}

/// Returns the ends of a single look, each with the error `level`; `None` if the values have no
/// spread, or not all are finite.
fn ends_of_mean(values: &[f64], level: f64) -> Option<Ends> {
    let count = values.len() as f64;
    let middle = mean(super::finite(values)?)?;
    let moment = |power: i32| values.iter().map(|value| (value - middle).powi(power)).sum::<f64>() / count;
    let variance = moment(2);
    // Equal values whose mean is rounded have a spread of about one unit in the last place.
    if variance.sqrt() <= middle.abs() * f64::EPSILON * 4.0 || variance <= 0.0 {
        return None;
    }
    let skewness = moment(3) / variance.powf(1.5);
    let skewness = skewness * (count * (count - 1.0)).sqrt() / (count - 2.0) * (1.0 + 6.0 / count);
    let error = (variance / (count - 1.0)).sqrt();
    let student = StudentsT::new(0.0, 1.0, count - 1.0).ok()?.inverse_cdf(1.0 - level);
    let removed = |quantile: f64| without_skewness(quantile, skewness / count.sqrt());
    Some(Ends {
        low: middle - error * student.max(removed(student)),
        high: middle + error * student.max(-removed(-student)),
    })
}

/// Returns the inverse of Hall's transformation of the studentized mean. `skewness` is that of the
/// values divided by the root of their number.
fn without_skewness(quantile: f64, skewness: f64) -> f64 {
    const A: f64 = 1.0 / 3.0;
    const B: f64 = 1.0 / 6.0;
    if skewness.abs() < 1e-9 {
        return quantile;
    }
    let (bent, shifted) = (A * skewness, quantile - B * skewness);
    ((1.0 + 3.0 * bent * shifted).cbrt() - 1.0) / bent
}

#[cfg(test)]
mod tests;
