//! Numbers that a client has used, so that a late message for a socket that is gone is told from one for a socket that never was (A17).

use std::collections::BTreeMap;

/// Numbers that were used, as runs: clients count up, so that there is seldom more than one.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub(crate) struct Used {
    /// First to last of each run.
    runs: BTreeMap<u32, u32>,
}

impl Used {
    pub(crate) fn insert(&mut self, number: u32) {
        if self.contains(number) {
            return;
        }
        let last = self.runs.remove(&number.wrapping_add(1)).unwrap_or(number);
        match self.runs.range_mut(..number).next_back() {
            Some((_, end)) if *end + 1 == number => *end = last,
            _ => drop(self.runs.insert(number, last)),
        }
    }

    pub(crate) fn contains(&self, number: u32) -> bool {
        self.runs.range(..=number).next_back().is_some_and(|(_, &last)| number <= last)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    proptest::proptest! {
        /// The same as a set.
        #[test]
        fn runs_are_a_set(numbers in proptest::collection::vec(0..40_u32, 0..60)) {
            let mut used = Used::default();
            for &number in &numbers {
                used.insert(number);
            }
            let set: BTreeSet<_> = numbers.into_iter().collect();
            for number in 0..41 {
                proptest::prop_assert_eq!(used.contains(number), set.contains(&number));
            }
            proptest::prop_assert!(used.runs.len() <= 21);
        }
    }
}
