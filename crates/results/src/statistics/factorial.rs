//! Factorial designs with two levels of each factor: how much of the variation of a response each
//! factor and each interaction of factors explains.
//!
//! The design with one response per cell (2^k) and the one with several (2^k·r) are those of
//! chapters 17 and 18 of Jain, The Art of Computer Systems Performance Analysis, 1991.

use super::{Coefficient, Interval, finite, mean};
use statrs::distribution::{ContinuousCDF, StudentsT};

/// Effects of all factors and interactions on a response, by the model y = q₀ + Σ q·x + e.
///
/// x is the product of the signs of the combination's factors: −1 at the first level of a factor,
/// +1 at the second.
#[derive(Debug, Clone, PartialEq)]
pub struct Factorial {
    /// q₀: the mean of all responses.
    pub mean: Coefficient,
    /// All 2^k − 1 combinations of factors, in the order of [`FactorialEffect::combination`].
    pub effects: Vec<FactorialEffect>,
    /// Share of the variation within the cells, which no factor explains; `None` with one response
    /// per cell, where such variation cannot be told from interactions.
    pub error_share: Option<f64>,
}

/// Effect of a factor, or of the interaction of several.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FactorialEffect {
    /// The factors: bit i is set if factor i takes part.
    pub combination: usize,
    /// q: half of the change of the response where the product of the signs goes from −1 to +1. The
    /// interval is by Student's t with 2^k·(r − 1) degrees of freedom; `None` with one response per
    /// cell, and if the confidence is not between 0 and 1.
    pub effect: Coefficient,
    /// Share of the variation that it explains: 2^k·r·q²/SST.
    pub share: f64,
}

/// Analyses the responses of all cells of a design.
///
/// `cells[i]` has the responses of the cell in which factor j is at its second level if bit j of i
/// is set. `confidence` is that of the intervals, a share of 1.
///
/// `None` if the number of cells is not 2^k with k ≥ 1, if the cells have different numbers of
/// responses or none, and if no response differs from another.
#[must_use]
pub fn factorial(cells: &[Vec<f64>], confidence: f64) -> Option<Factorial> {
    let repetitions = cells.first()?.len();
    if cells.len() < 2 || !cells.len().is_power_of_two() {
        return None;
    }
    let means: Vec<f64> = cells
        .iter()
        .map(|responses| if responses.len() == repetitions { mean(finite(responses)?) } else { None })
        .collect::<Option<_>>()?;
    let first = cells[0][0];
    if cells.iter().flatten().all(|response| response.total_cmp(&first).is_eq()) {
        return None;
    }
    let coefficients = coefficients(&means);
    let all = (cells.len() * repetitions) as f64;
    let squares = |responses: &[f64], from: f64| responses.iter().map(|y| (y - from).powi(2)).sum::<f64>();
    let total: f64 = cells.iter().map(|responses| squares(responses, coefficients[0])).sum();
    let within: f64 = cells.iter().zip(&means).map(|(responses, mean)| squares(responses, *mean)).sum();
    let freedom = cells.len() * (repetitions - 1);
    let deviation = (freedom > 0).then(|| (within / freedom as f64 / all).sqrt());
    let reach = deviation.zip(quantile(freedom, confidence)).map(|(deviation, t)| t * deviation);
    let coefficient = |value: f64| Coefficient {
        value,
        interval: reach.map(|reach| Interval { low: value - reach, high: value + reach, confidence }),
    };
    let effect = |combination: usize| FactorialEffect {
        combination,
        effect: coefficient(coefficients[combination]),
        share: all * coefficients[combination].powi(2) / total,
    };
    Some(Factorial {
        mean: coefficient(coefficients[0]),
        effects: (1..cells.len()).map(effect).collect(),
        error_share: (freedom > 0).then_some(within / total),
    })
}

/// Returns all q of the cells' means, those of the sign table, in k·2^k additions: the algorithm of
/// Yates (The Design and Analysis of Factorial Experiments, 1937).
fn coefficients(means: &[f64]) -> Vec<f64> {
    let mut sums = means.to_vec();
    let mut half = 1;
    while half < sums.len() {
        for block in sums.chunks_exact_mut(2 * half) {
            let (first, second) = block.split_at_mut(half);
            for (low, high) in first.iter_mut().zip(second) {
                (*low, *high) = (*low + *high, *high - *low);
            }
        }
        half *= 2;
    }
    let cells = sums.len() as f64;
    sums.iter().map(|sum| sum / cells).collect()
}

/// Returns the number of standard deviations by which an interval extends to either side.
fn quantile(freedom: usize, confidence: f64) -> Option<f64> {
    if freedom == 0 || !(0.0..1.0).contains(&confidence) {
        return None;
    }
    Some(StudentsT::new(0.0, 1.0, freedom as f64).ok()?.inverse_cdf(f64::midpoint(1.0, confidence)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn close(ours: f64, expected: f64, tolerance: f64) {
        assert!((ours - expected).abs() <= tolerance, "{ours} is not {expected}");
    }

    /// Effects and shares by the combination of factors.
    fn found(cells: &[Vec<f64>]) -> Vec<(usize, f64, f64)> {
        let of = factorial(cells, 0.95).expect("an analysis");
        of.effects.iter().map(|effect| (effect.combination, effect.effect.value, effect.share)).collect()
    }

    /// Jain, section 17.2: memory (bit 0) and cache (bit 1), y = 40 + 20·A + 10·B + 5·AB; SST is
    /// 2100, of which the three explain 1600, 400 and 100.
    #[test]
    fn two_factors_without_repetitions_are_those_of_jain() {
        let cells = [[15.0], [45.0], [25.0], [75.0]].map(Vec::from);
        let expected = [(1, 20.0, 1600.0 / 2100.0), (2, 10.0, 400.0 / 2100.0), (3, 5.0, 100.0 / 2100.0)];
        for (ours, expected) in found(&cells).into_iter().zip(expected) {
            assert_eq!((ours.0, ours.1), (expected.0, expected.1));
            close(ours.2, expected.2, 1e-12);
        }
        let of = factorial(&cells, 0.95).expect("an analysis");
        assert_eq!((of.mean.value, of.mean.interval, of.error_share), (40.0, None, None));
        assert!(of.effects.iter().all(|effect| effect.effect.interval.is_none()));
    }

    /// Jain, section 17.4: memory, cache and number of processors; shares of 18, 4, 4, 71, 1, 2 and
    /// 0 %.
    #[test]
    fn three_factors_without_repetitions_are_those_of_jain() {
        let cells = [14.0, 22.0, 10.0, 34.0, 46.0, 58.0, 50.0, 86.0].map(|y| vec![y]);
        let ours = found(&cells);
        assert_eq!(ours.iter().map(|one| one.1).collect::<Vec<_>>(), [10.0, 5.0, 5.0, 20.0, 2.0, 3.0, 1.0]);
        let percent: Vec<_> = ours.iter().map(|one| (100.0 * one.2).round() as u32).collect();
        assert_eq!(percent, [18, 4, 4, 71, 1, 2, 0]);
        close(factorial(&cells, 0.95).expect("an analysis").mean.value, 40.0, 1e-12);
    }

    /// Jain, chapter 18: the memory and cache study with three repetitions. q are 41, 21.5, 9.5 and
    /// 5; SSA, SSB, SSAB and SSE are 5547, 1083, 300 and 102 of 7032; with 90 % confidence each q
    /// is certain to ±1.86·√(102/8)/√12 = 1.92.
    #[test]
    fn repetitions_give_the_errors_and_intervals_of_jain() {
        let cells = [[15.0, 18.0, 12.0], [45.0, 48.0, 51.0], [25.0, 28.0, 19.0], [75.0, 75.0, 81.0]];
        let of = factorial(&cells.map(Vec::from), 0.9).expect("an analysis");
        close(of.mean.value, 41.0, 1e-12);
        let expected = [(21.5, 5547.0), (9.5, 1083.0), (5.0, 300.0)];
        for (ours, (q, squares)) in of.effects.iter().zip(expected) {
            close(ours.effect.value, q, 1e-12);
            close(ours.share, squares / 7032.0, 1e-12);
            let interval = ours.effect.interval.expect("an interval");
            close(interval.low, q - 1.92, 5e-3);
            close(interval.high, q + 1.92, 5e-3);
        }
        close(of.error_share.expect("errors"), 102.0 / 7032.0, 1e-12);
    }

    #[test]
    fn what_is_not_such_a_design_has_no_effects() {
        let one = |y: &[f64]| y.iter().map(|&y| vec![y]).collect::<Vec<_>>();
        assert_eq!(factorial(&[], 0.95), None);
        assert_eq!(factorial(&one(&[1.0]), 0.95), None);
        assert_eq!(factorial(&one(&[1.0, 2.0, 3.0]), 0.95), None);
        assert_eq!(factorial(&one(&[1.0, 1.0]), 0.95), None, "nothing varies");
        assert_eq!(factorial(&one(&[0.1; 8]), 0.95), None, "nor by rounding");
        assert_eq!(factorial(&one(&[1.0, f64::NAN]), 0.95), None);
        assert_eq!(factorial(&[vec![1.0, 2.0], vec![1.0]], 0.95), None);
        assert_eq!(factorial(&[vec![], vec![]], 0.95), None);
    }

    #[test]
    fn a_confidence_outside_of_its_range_has_no_intervals() {
        let cells = [[1.0, 2.0], [3.0, 5.0]].map(Vec::from);
        for confidence in [-0.5, 1.0, f64::NAN] {
            assert_eq!(factorial(&cells, confidence).expect("an analysis").mean.interval, None);
        }
    }

    /// The number of a cell after factors i and j have changed places.
    fn exchanged(cell: usize, i: usize, j: usize) -> usize {
        let (one, other) = (cell >> i & 1, cell >> j & 1);
        cell & !(1 << i) & !(1 << j) | one << j | other << i
    }

    fn designs() -> impl Strategy<Value = Vec<Vec<f64>>> {
        (1_usize..6, 1_usize..4).prop_flat_map(|(factors, repetitions)| {
            let responses = prop::collection::vec(-1e6..1e6_f64, repetitions);
            prop::collection::vec(responses, 1 << factors)
        })
    }

    proptest! {
        #[test]
        fn shares_sum_to_one(cells in designs()) {
            let of = factorial(&cells, 0.95).expect("responses differ");
            let sum: f64 = of.effects.iter().map(|effect| effect.share).chain(of.error_share).sum();
            prop_assert!((sum - 1.0).abs() < 1e-9, "{sum}");
            prop_assert!(of.effects.iter().all(|effect| effect.share >= 0.0));
            prop_assert_eq!(of.error_share.is_some(), cells[0].len() > 1);
        }

        #[test]
        fn factors_can_change_places(cells in designs(), i in 0_usize..5, j in 0_usize..5) {
            let factors = cells.len().ilog2() as usize;
            let (i, j) = (i % factors, j % factors);
            let other: Vec<_> = (0..cells.len()).map(|cell| cells[exchanged(cell, i, j)].clone()).collect();
            let (of, other) = (factorial(&cells, 0.95), factorial(&other, 0.95));
            let (of, other) = (of.expect("responses differ"), other.expect("responses differ"));
            for effect in &of.effects {
                let there = &other.effects[exchanged(effect.combination, i, j) - 1];
                prop_assert!((effect.effect.value - there.effect.value).abs() < 1e-6);
                prop_assert!((effect.share - there.share).abs() < 1e-9);
            }
        }

        /// Levels that change places change the sign of the effects that have the factor, alone.
        #[test]
        fn levels_can_change_places(cells in designs(), factor in 0_usize..5) {
            let factor = factor % cells.len().ilog2() as usize;
            let other: Vec<_> = (0..cells.len()).map(|cell| cells[cell ^ 1 << factor].clone()).collect();
            let (of, other) = (factorial(&cells, 0.95), factorial(&other, 0.95));
            let (of, other) = (of.expect("responses differ"), other.expect("responses differ"));
            for (one, two) in of.effects.iter().zip(&other.effects) {
                let sign = if one.combination >> factor & 1 == 1 { -1.0 } else { 1.0 };
                prop_assert!((one.effect.value - sign * two.effect.value).abs() < 1e-6);
            }
        }

        /// The effects that a response is made of are found again, and nothing else.
        #[test]
        fn known_effects_are_found(
            effects in (1_usize..6).prop_flat_map(|factors| prop::collection::vec(-1e3..1e3_f64, 1 << factors)),
            spread in 0.0..10.0_f64,
        ) {
            let sign = |cell: usize, combination: usize| {
                // Each factor of the combination that is at its first level changes the sign.
                if (combination & !cell).count_ones().is_multiple_of(2) { 1.0 } else { -1.0 }
            };
            let response = |cell: usize| effects.iter().enumerate().map(|(c, q)| q * sign(cell, c)).sum::<f64>();
            let cells: Vec<_> =
                (0..effects.len()).map(|cell| vec![response(cell) - spread, response(cell) + spread]).collect();
            let of = factorial(&cells, 0.95).expect("responses differ");
            prop_assert!((of.mean.value - effects[0]).abs() < 1e-8);
            for effect in &of.effects {
                prop_assert!((effect.effect.value - effects[effect.combination]).abs() < 1e-8);
            }
            // Two responses at ±spread: SSE is 2·spread² in each of the cells.
            let squares: f64 = effects[1..].iter().map(|q| q * q).sum();
            let expected = spread * spread / (squares + spread * spread);
            prop_assert!((of.error_share.expect("errors") - expected).abs() < 1e-8);
        }
    }
}
