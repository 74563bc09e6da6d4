//! Synthetic traces, in place of Ludwig's sets A to E, which are not public (LL-09).
//!
//! Good and bad runs of blocks alternate; bad runs are erased. Run lengths follow one of two laws:
//!
//! * [`Law::HeavyTailed`]: P(N >= k) = (1 + (k - 1) / s)^-1.5 for k = 1, 2, ..., cut off at
//!   [`TAIL`] times the mean. Most runs are short and a few very long. So erasures cluster and long
//!   quiet times occur, which a plain two-state Markov chain is known to miss in such traces.
//! * [`Law::Markov`]: geometric, the plain two-state Markov chain (Gilbert).
//!
//! Both laws have the same mean burst and share of erased blocks, so only the distribution differs.
//! s is chosen to give the mean.
//!
//! Durations, places and signal strengths of the sets are Ludwig's (section 5 of the
//! specification). Shares and bursts are **not**: he does not state them. The ones here are round
//! numbers of the order that such channels have, so no measurement may be based on these traces.

use link::Seed;
use link::blocks::{BlockTrace, Header, Origin, SignalStrength};
use link::units::{Probability, Span};
use rand::RngExt;

/// The longest run, as a multiple of the mean.
pub const TAIL: f64 = 500.0;
/// Exponent of the tail: below 2, only the cut-off bounds the variance.
pub const SHAPE: f64 = 1.5;

/// Distribution of the lengths of runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Law {
    /// Most runs are short and a few very long.
    HeavyTailed,
    /// Geometric lengths.
    Markov,
}

/// Parameters of a synthetic trace.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Recipe {
    /// Duration of the trace, in whole blocks of GSM-CSD.
    pub duration: Span,
    /// Mean share of erased blocks.
    pub erased: Probability,
    /// Mean length of a run of erased blocks, 1 or more.
    pub burst: f64,
    /// Distribution of the lengths of runs.
    pub law: Law,
}

/// One of Ludwig's sets.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Set {
    /// Its letter.
    pub name: &'static str,
    /// Where the trace was recorded.
    pub category: &'static str,
    /// Signal strength that the phone displayed.
    pub signal_strength: SignalStrength,
    /// Recipe of the trace that stands in for it.
    pub recipe: Recipe,
}

/// Why a recipe is invalid.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum RecipeError {
    /// The mean burst is out of range.
    #[error("mean burst of {0} blocks is out of range: expected 1 to 1000000")]
    Burst(f64),
    /// Good runs would be shorter than a block on average.
    #[error(
        "with {share} of blocks erased in bursts of {burst} blocks, the gaps between bursts would be shorter than a block: choose longer bursts"
    )]
    Share {
        /// Share of erased blocks.
        share: Probability,
        /// Mean burst in blocks.
        burst: f64,
    },
    /// The trace would have no blocks, or far too many.
    #[error("duration {0} is out of range: expected one block (20 ms) to one year")]
    Duration(Span),
}

const fn set(
    name: &'static str,
    category: &'static str,
    bars: (u8, u8),
    minutes: u64,
    erased: f64,
    burst: f64,
) -> SetParts {
    SetParts { name, category, bars, minutes, erased, burst }
}

/// A row of the table of sets.
struct SetParts {
    name: &'static str,
    category: &'static str,
    bars: (u8, u8),
    minutes: u64,
    erased: f64,
    burst: f64,
}

/// A: good, 258 min. B: poor, 215 min. C: in a car, 44 min. D and E are mostly stationary, partly
/// walking and in a car, good for 4 h and poor for 2 h. There transfers were measured, not the
/// channel alone, so their shares and bursts are those of A and B.
const SETS: [SetParts; 5] = [
    set("A", "stationary", (3, 4), 258, 0.003, 2.0),
    set("B", "stationary", (1, 2), 215, 0.025, 2.5),
    set("C", "mobile", (2, 4), 44, 0.01, 5.0),
    set("D", "mixed", (3, 4), 240, 0.003, 2.0),
    set("E", "mixed", (1, 2), 120, 0.025, 2.5),
];

/// Returns the sets that stand in for A to E.
#[must_use]
pub fn sets() -> [Set; 5] {
    SETS.map(|SetParts { name, category, bars, minutes, erased, burst }| Set {
        name,
        category,
        signal_strength: SignalStrength { least: bars.0, most: bars.1 },
        recipe: Recipe {
            duration: Span::from_secs(60 * minutes),
            erased: Probability::new(erased).unwrap_or_default(),
            burst,
            law: Law::HeavyTailed,
        },
    })
}

impl Law {
    /// Returns its name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::HeavyTailed => "heavy-tailed",
            Self::Markov => "markov",
        }
    }
}

impl Recipe {
    /// Makes the trace; the same recipe and seed always make the same trace.
    pub fn make(&self, seed: u64) -> Result<BlockTrace, RecipeError> {
        let count = self.duration.as_nanos() / BlockTrace::GSM_PERIOD.as_nanos();
        if count == 0 || self.duration > Span::from_secs(366 * 86_400) {
            return Err(RecipeError::Duration(self.duration));
        }
        if !(1.0..=1e6).contains(&self.burst) {
            return Err(RecipeError::Burst(self.burst));
        }
        let share = self.erased.get();
        let quiet = self.burst * (1.0 - share) / share;
        if share > 0.0 && quiet < 1.0 {
            return Err(RecipeError::Share { share: self.erased, burst: self.burst });
        }
        let mut erased = vec![false; count as usize];
        if share > 0.0 {
            self.fill(&mut erased, quiet, seed);
        }
        let Self { law, burst, .. } = self;
        let notes = [
            (
                "generator",
                format!(
                    "alternating runs, {}, mean burst {burst} blocks, {} erased",
                    law.name(),
                    self.erased
                ),
            ),
            ("seed", seed.to_string()),
        ];
        let header = Header {
            origin: Some(Origin::Synthetic),
            notes: notes.map(|(key, value)| (key.to_owned(), value)).to_vec(),
            ..Header::default()
        };
        Ok(BlockTrace { header, period: BlockTrace::GSM_PERIOD, payload: BlockTrace::GSM_PAYLOAD, erased })
    }

    fn fill(&self, erased: &mut [bool], quiet: f64, seed: u64) {
        let laws = [Lengths::new(self.law, quiet), Lengths::new(self.law, self.burst)];
        let mut stream = Seed::campaign(seed).stage("block erasures").stream();
        let mut bad = self.erased.happens(stream.random());
        let mut place = 0;
        while place < erased.len() {
            let length = laws[usize::from(bad)].draw(stream.random());
            let end = place.saturating_add(length).min(erased.len());
            erased[place..end].fill(bad);
            (place, bad) = (end, !bad);
        }
    }
}

impl Set {
    /// Makes the trace that stands in for this set, with this recipe.
    pub fn make(&self, recipe: &Recipe, seed: u64) -> Result<BlockTrace, RecipeError> {
        let mut trace = recipe.make(seed)?;
        trace.header.category = Some(self.category.to_owned());
        trace.header.signal_strength = Some(self.signal_strength);
        trace
            .header
            .notes
            .insert(0, ("stands-for".to_owned(), format!("set {} of Ludwig, not measured", self.name)));
        Ok(trace)
    }
}

/// A distribution of run lengths.
enum Lengths {
    HeavyTailed { scale: f64, most: f64 },
    Geometric { leave: f64 },
}

impl Lengths {
    /// Creates the distribution of lengths of 1 or more with this mean.
    fn new(law: Law, mean: f64) -> Self {
        match law {
            Law::Markov => Self::Geometric { leave: 1.0 / mean },
            Law::HeavyTailed => {
                let most = (mean * TAIL).ceil();
                // The mean grows with the scale, starting from 1, so bisection finds the scale.
                let (mut low, mut high) = (0.0, mean * TAIL);
                for _ in 0..100 {
                    let scale = f64::midpoint(low, high);
                    if heavy_mean(scale, most) < mean { low = scale } else { high = scale }
                }
                Self::HeavyTailed { scale: low, most }
            }
        }
    }

    /// Returns a length, for a number drawn uniformly from 0 to 1.
    fn draw(&self, uniform: f64) -> usize {
        // 1 - u is above 0, so that neither the power nor the logarithm is infinite.
        let rest = 1.0 - uniform;
        let length = match self {
            Self::HeavyTailed { scale, most } => {
                (1.0 + (scale * (rest.powf(-1.0 / SHAPE) - 1.0)).floor()).min(*most)
            }
            // At `leave` = 1 the logarithm below is infinite and the quotient is 0.
            Self::Geometric { leave } => 1.0 + (rest.ln() / (-leave).ln_1p()).floor(),
        };
        length as usize
    }
}

/// Returns the mean of the heavy-tailed law: the sum of P(N >= k) over k up to `most`. The first
/// terms are added one by one, the others by the midpoint rule, whose error is far below a
/// thousandth there.
fn heavy_mean(scale: f64, most: f64) -> f64 {
    if scale == 0.0 {
        return 1.0;
    }
    let single = most.min(1000.0);
    let sum: f64 = (0..single as u32).map(|k| (1.0 + f64::from(k) / scale).powf(-SHAPE)).sum();
    // The integral of (1 + x / s)^-1.5 is -2 s (1 + x / s)^-0.5.
    let integral = |x: f64| -scale / (SHAPE - 1.0) * (1.0 + x / scale).powf(1.0 - SHAPE);
    sum + integral(most - 0.5) - integral(single - 0.5)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn lengths(trace: &BlockTrace, erased: bool) -> Vec<f64> {
        let runs = trace.erased.chunk_by(|one, next| one == next).filter(|run| run[0] == erased);
        runs.map(|run| run.len() as f64).collect()
    }

    fn mean(values: &[f64]) -> f64 {
        values.iter().sum::<f64>() / values.len() as f64
    }

    /// LL-09: durations, blocks and labels of the sets; the origin is stated as synthetic; the same
    /// seed gives the same trace.
    #[test]
    fn ll_09_sets() {
        for (set, blocks) in sets().iter().zip([774_000, 645_000, 132_000, 720_000, 360_000]) {
            let trace = set.make(&set.recipe, 1).expect("a trace");
            assert_eq!(trace.erased.len(), blocks, "{}", set.name);
            assert_eq!(trace.header.origin, Some(Origin::Synthetic));
            assert_eq!(trace.header.category.as_deref(), Some(set.category));
            assert_eq!(trace, set.make(&set.recipe, 1).expect("a trace"));
            assert_ne!(trace.erased, set.make(&set.recipe, 2).expect("a trace").erased);
            let found = trace.block_erasure_rate().get();
            let wanted = set.recipe.erased.get();
            // Heavy tails vary much, so only the order of magnitude of the share can be tested.
            assert!((0.4..2.5).contains(&(found / wanted)), "{}: {found}, {wanted} wanted", set.name);
        }
    }

    /// Mean run lengths of Markov traces are as requested.
    #[test]
    fn markov_runs_have_their_means() {
        let erased = Probability::new(0.1).expect("a share");
        let recipe = Recipe { duration: Span::from_secs(40_000), erased, burst: 4.0, law: Law::Markov };
        let trace = recipe.make(5).expect("a trace");
        let (bad, good) = (lengths(&trace, true), lengths(&trace, false));
        // 50 000 runs: five standard deviations of a geometric mean.
        assert!((mean(&bad) - 4.0).abs() < 5.0 * 3.5 / (bad.len() as f64).sqrt(), "{}", mean(&bad));
        assert!((mean(&good) - 36.0).abs() < 5.0 * 35.5 / (good.len() as f64).sqrt(), "{}", mean(&good));
    }

    /// Heavy-tailed runs follow the law that the head of this file states, and have the requested
    /// mean.
    #[test]
    fn heavy_tailed_runs_have_their_law() {
        for wanted in [1.0, 1.3, 2.5, 40.0, 664.0, 20_000.0] {
            let Lengths::HeavyTailed { scale, most } = Lengths::new(Law::HeavyTailed, wanted) else {
                panic!("another law")
            };
            // The exact sum, term by term.
            let sum: f64 = if scale == 0.0 {
                1.0
            } else {
                (0..most as u64).map(|k| (1.0 + k as f64 / scale).powf(-SHAPE)).sum()
            };
            assert!((sum / wanted - 1.0).abs() < 1e-3, "mean {wanted}: {sum}");
            let law = Lengths::HeavyTailed { scale, most };
            // No run is longer than 500 means.
            assert_eq!(
                law.draw(1.0 - f64::EPSILON / 2.0),
                if scale == 0.0 { 1 } else { (500.0 * wanted).ceil() as usize }
            );
            // With even quantiles, the share of lengths of at least k is P(N >= k), up to the step
            // between quantiles.
            let steps = 100_000_u32;
            let drawn: Vec<usize> =
                (0..steps).map(|step| law.draw((f64::from(step) + 0.5) / f64::from(steps))).collect();
            for k in [1_usize, 2, 3, 10, 100] {
                let expected = if k == 1 {
                    1.0
                } else if scale == 0.0 {
                    0.0
                } else {
                    (1.0 + (k - 1) as f64 / scale).powf(-SHAPE)
                };
                let expected = if k as f64 > most { 0.0 } else { expected };
                let found = drawn.iter().filter(|&&length| length >= k).count() as f64 / f64::from(steps);
                assert!(
                    (found - expected).abs() < 2.0 / f64::from(steps),
                    "mean {wanted}, k = {k}: {found}, {expected}"
                );
            }
        }
    }

    /// The longest burst of a heavy-tailed trace is far longer than that of a Markov chain with the
    /// same means.
    #[test]
    fn heavy_tails_cluster() {
        let longest = |law| {
            let erased = Probability::new(0.02).expect("a share");
            let recipe = Recipe { duration: Span::from_secs(10_000), erased, burst: 2.5, law };
            recipe.make(1).expect("a trace").bursts().longest
        };
        assert!(longest(Law::HeavyTailed) > 4 * longest(Law::Markov));
    }

    proptest! {
        /// Every recipe gives a trace of its length, or an error for a stated reason.
        #[test]
        fn every_recipe_ends(erased in 0.0_f64..=1.0, burst in 0.0_f64..100.0, millis in 0_u64..100_000, heavy: bool, seed: u64) {
            let law = if heavy { Law::HeavyTailed } else { Law::Markov };
            let recipe = Recipe { duration: Span::from_millis(millis), erased: Probability::new(erased).expect("a share"), burst, law };
            match recipe.make(seed) {
                Ok(trace) => {
                    prop_assert_eq!(trace.erased.len() as u64, millis / 20);
                    prop_assert!(erased > 0.0 || trace.erasures() == 0);
                }
                Err(error) => prop_assert!(millis < 20 || burst < 1.0 || burst * (1.0 - erased) / erased < 1.0, "{}", error),
            }
        }
    }
}
