//! Looks: the numbers of repetitions at which a test that goes on until it is decided may decide.
//!
//! Whoever tests at 5 % after each repetition, and stops at the first success, is wrong far more
//! often than in 5 % of all cases. A group-sequential test avoids this: it looks at the values a
//! finite number of times that is fixed in advance, and the looks share the allowed error.
//! [`Looks::spent`] divides it by the spending function of Lan and DeMets that resembles Pocock's
//! boundaries (Discrete sequential boundaries for clinical trials, Biometrika 70(3), 1983):
//! *α*·ln(1 + (e − 1)·*t*), where *t* is the share of the values that are there. It leaves much of
//! the error to the first look, at which most requirements are clear.

/// Growth of the number of repetitions from a look to the next, at most.
const GROWTH: f64 = 1.5;

/// Numbers of repetitions at which a test looks at the values, in ascending order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Looks(Vec<u32>);

impl Looks {
    /// Returns looks from `first` to `last`, each at most half as large again as the one before.
    ///
    /// There is a single look if `last` is not above `first`, which must be at least 1.
    #[must_use]
    pub fn new(first: u32, last: u32) -> Self {
        let first = first.max(1);
        if last <= first {
            return Self(vec![first]);
        }
        let ratio = f64::from(last) / f64::from(first);
        // The tolerance keeps an exact power of the growth from needing another look.
        let steps = (ratio.ln() / GROWTH.ln() - 1e-9).ceil().max(1.0);
        let at = |step: u32| (f64::from(first) * ratio.powf(f64::from(step) / steps)).round() as u32;
        let mut looks: Vec<u32> = (0..=steps as u32).map(at).collect();
        looks.dedup();
        Self(looks)
    }

    /// Returns a look at each number from `first`, which counts as at least 1, to `last`.
    #[must_use]
    pub fn each(first: u32, last: u32) -> Self {
        let first = first.max(1);
        Self((first..=last.max(first)).collect())
    }

    /// Returns looks as they were written down; `None` unless they ascend from at least 1.
    #[must_use]
    pub fn at(repetitions: &[u32]) -> Option<Self> {
        let ascending = repetitions.windows(2).all(|pair| pair[0] < pair[1]);
        let starts = repetitions.first().is_some_and(|first| *first > 0);
        (ascending && starts).then(|| Self(repetitions.to_vec()))
    }

    /// Returns the number of repetitions at each look.
    #[must_use]
    pub fn repetitions(&self) -> &[u32] {
        &self.0
    }

    /// Returns the number of repetitions at the last look.
    #[must_use]
    pub fn last(&self) -> u32 {
        self.0.last().copied().unwrap_or(1)
    }

    /// Returns, for each look, the part of the error `alpha` that it and all looks before it may
    /// spend.
    #[must_use]
    pub fn spent(&self, alpha: f64) -> Vec<f64> {
        let share = |look: &u32| f64::from(*look) / f64::from(self.last());
        self.0.iter().map(|look| alpha * ((std::f64::consts::E - 1.0) * share(look)).ln_1p()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn from_the_first_number_to_the_last() {
        assert_eq!(Looks::new(10, 40).repetitions(), [10, 14, 20, 28, 40]);
        assert_eq!(Looks::new(10, 10).repetitions(), [10]);
        assert_eq!(Looks::new(10, 5).repetitions(), [10], "the plan's repetitions are always made");
        assert_eq!(Looks::new(1, 4).repetitions(), [1, 2, 3, 4]);
        assert_eq!(Looks::new(30, 63).repetitions(), [30, 43, 63]);
        assert_eq!(Looks::each(30, 33).repetitions(), [30, 31, 32, 33]);
        assert_eq!(Looks::each(3, 1).repetitions(), [3]);
        assert_eq!(Looks::at(&[3, 5]), Some(Looks(vec![3, 5])));
        assert_eq!([&[][..], &[0, 1], &[3, 3], &[4, 2]].map(Looks::at), [const { None }; 4]);
    }

    proptest! {
        #[test]
        fn the_looks_spend_the_whole_error_and_no_more(first in 1_u32..1000, last in 1_u32..1000, alpha in 0.001..0.5_f64) {
            let looks = Looks::new(first, last);
            prop_assert_eq!((looks.repetitions()[0], looks.last()), (first, last.max(first)));
            prop_assert!(Looks::at(looks.repetitions()).is_some(), "{looks:?}");
            let spent = looks.spent(alpha);
            prop_assert!(spent[0] > 0.0 && spent.windows(2).all(|pair| pair[0] < pair[1]));
            prop_assert!((spent[spent.len() - 1] - alpha).abs() < 1e-12);
        }
    }
}
