//! Comparison of two samples by ranks: whether they differ, and by how much.

use super::finite;
use serde::Serialize;
use statrs::distribution::{ContinuousCDF, Normal};

/// Result of the rank-sum test of Mann and Whitney (Annals of Mathematical Statistics 18, 1947),
/// two-sided.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct MannWhitney {
    /// U of the first sample: number of pairs in which its value is larger; equal pairs count half.
    /// R calls it W.
    pub u: f64,
    /// Probability of a U at least as far from its middle if both samples come from the same
    /// distribution.
    pub p: f64,
    /// How `p` was computed.
    pub method: Method,
}

/// Method of computing a p-value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Method {
    /// By counting all orders.
    Exact,
    /// By the normal distribution, corrected for ties and for continuity.
    Normal,
}

/// Sample size from which the normal distribution is used, as in R's `wilcox.test`.
const LARGE: usize = 50;

/// Tests whether two samples come from the same distribution.
///
/// The test is exact if both have fewer than 50 values and no values are equal. Otherwise it uses
/// the normal distribution with the variance for ties and the continuity correction of Lehmann
/// (Nonparametrics, 1975, sections 1.3 and 1.4). These are the rules of R's `wilcox.test`, so the
/// results are the same. `None` if a sample is empty. If all values are equal, p is 1.
//
// statrs 0.19.1 has this test, but its exact p-value is wrong if the first sample is the smaller
// one: for 1, 2, 3, 10 against 4, 5, 6, 11, 12 it is 1, and 1/9 with the samples swapped. Its run
// time is also exponential in the size.
#[must_use]
pub fn mann_whitney(first: &[f64], second: &[f64]) -> Option<MannWhitney> {
    let u = pairs_won(first, second)?;
    let (n, m) = (first.len(), second.len());
    let ties = ties(first, second);
    let far = u.max((n * m) as f64 - u);
    if ties.is_empty() && n < LARGE && m < LARGE {
        return Some(MannWhitney { u, p: exact(far as usize, n, m), method: Method::Exact });
    }
    let (pairs, all) = ((n * m) as f64, (n + m) as f64);
    let correction: f64 = ties.iter().map(|&equal| (equal as f64).powi(3) - equal as f64).sum();
    let deviation = (pairs / 12.0 * (all + 1.0 - correction / (all * (all - 1.0)))).sqrt();
    let beyond = (far - pairs / 2.0 - 0.5).max(0.0);
    let p =
        if beyond > 0.0 && deviation > 0.0 { 2.0 * Normal::standard().sf(beyond / deviation) } else { 1.0 };
    Some(MannWhitney { u, p, method: Method::Normal })
}

/// Returns whether the samples are too small for the test of Mann and Whitney to find any
/// difference.
///
/// For samples of `n` and `m` values, the smallest possible p is 2 of the (n + m choose n) orders.
/// It has to be below 0.05, which it is not for 3 and 3 values or fewer.
#[must_use]
pub fn too_few_to_differ(n: usize, m: usize) -> bool {
    // From 41 orders on, 2 of them are less than 5 %, so the product stops there.
    let mut orders = 1.0;
    for place in 1..=n.min(m) {
        orders *= (n.max(m) + place) as f64 / place as f64;
        if orders > 40.0 {
            return false;
        }
    }
    true
}

/// Size of a difference, independent of the number of values.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Effect {
    /// A12 of Vargha and Delaney (Journal of Educational and Behavioral Statistics 25(2), 2000):
    /// probability that a value of the first sample is larger than one of the second; equal values
    /// count half. 0.5 is no difference.
    pub a12: f64,
    /// Delta of Cliff (Psychological Bulletin 114(3), 1993): 2·A12 − 1, from −1 to 1.
    pub cliffs_delta: f64,
    /// The size in a word.
    pub magnitude: Magnitude,
}

/// Words for the absolute value of Cliff's delta, by Romano, Kromrey, Coraggio and Skowronek
/// (Appropriate statistics for ordinal level data, Florida Association of Institutional Research,
/// 2006).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Magnitude {
    /// Below 0.147.
    Negligible,
    /// Below 0.33.
    Small,
    /// Below 0.474.
    Medium,
    /// 0.474 and above.
    Large,
}

impl Magnitude {
    fn of(delta: f64) -> Self {
        match delta.abs() {
            size if size < 0.147 => Self::Negligible,
            size if size < 0.33 => Self::Small,
            size if size < 0.474 => Self::Medium,
            _ => Self::Large,
        }
    }
}

/// Returns by how much the first sample is above the second; `None` if one is empty.
#[must_use]
pub fn effect(first: &[f64], second: &[f64]) -> Option<Effect> {
    let a12 = pairs_won(first, second)? / (first.len() * second.len()) as f64;
    let cliffs_delta = 2.0 * a12 - 1.0;
    Some(Effect { a12, cliffs_delta, magnitude: Magnitude::of(cliffs_delta) })
}

/// Corrects the p-values of a family of tests with the step-down method of Holm (Scandinavian
/// Journal of Statistics 6(2), 1979).
///
/// The probability of even one false alarm among them is then that of a single test. The result is
/// in the order of `p`.
#[must_use]
pub fn holm(p: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..p.len()).collect();
    order.sort_by(|&one, &other| p[one].total_cmp(&p[other]));
    let mut corrected = vec![0.0; p.len()];
    let mut least = 0.0_f64;
    for (step, &place) in order.iter().enumerate() {
        least = least.max((p[place] * (p.len() - step) as f64).min(1.0));
        corrected[place] = least;
    }
    corrected
}

/// Counts the pairs in which the value of `first` is larger; equal values count half.
fn pairs_won(first: &[f64], second: &[f64]) -> Option<f64> {
    let (first, second) = (finite(first)?, finite(second)?);
    let mut sorted = second.to_vec();
    sorted.sort_unstable_by(|one, other| one.partial_cmp(other).expect("finite numbers compare"));
    let won = |value: &f64| {
        let below = sorted.partition_point(|other| other < value);
        let through = sorted.partition_point(|other| other <= value);
        (below + through) as f64 / 2.0
    };
    (!first.is_empty() && !second.is_empty()).then(|| first.iter().map(won).sum())
}

/// Returns the sizes of the groups of equal values in both samples together, from 2 on.
fn ties(first: &[f64], second: &[f64]) -> Vec<usize> {
    let mut all = [first, second].concat();
    all.sort_unstable_by(f64::total_cmp);
    // In ascending order, a value that is not less than the next one is equal to it.
    all.chunk_by(|one, next| one >= next).map(<[f64]>::len).filter(|&size| size > 1).collect()
}

/// Returns the probability of a U that is `far` or further from the middle, on either side; `far`
/// is at or above the middle.
fn exact(far: usize, n: usize, m: usize) -> f64 {
    // ways[j][s]: number of ways in which j of the ranks seen so far (from 0) have the sum s. n
    // ranks of n + m have a sum of U + (0 + 1 + … + n − 1).
    let offset = n * (n - 1) / 2;
    let greatest = offset + n * m;
    let mut ways = vec![vec![0.0_f64; greatest + 1]; n + 1];
    ways[0][0] = 1.0;
    for rank in 0..n + m {
        for taken in (1..=n.min(rank + 1)).rev() {
            let (fewer, more) = ways.split_at_mut(taken);
            for sum in rank..=greatest {
                more[0][sum] += fewer[taken - 1][sum - rank];
            }
        }
    }
    let all: f64 = ways[n].iter().sum();
    let beyond: f64 = ways[n][offset + far..].iter().sum();
    (2.0 * beyond / all).min(1.0)
}

#[cfg(test)]
mod tests;
