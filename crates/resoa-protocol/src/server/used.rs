//! Numbers that a client has used, so that a late message for a socket that is gone is told from
//! one for a socket that never was (A17).

use std::collections::BTreeMap;

/// Runs that are told apart: more are made by nobody who counts up.
const RUNS: usize = 1024;

/// Numbers that were used, as runs: clients count up, so that there is seldom more than one. Of
/// more than [`RUNS`], what is between the lowest two counts as used, too: a message for such a
/// number is taken for a late one and not answered.
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
        if self.runs.len() > RUNS
            && let Some((first, _)) = self.runs.pop_first()
            && let Some((_, last)) = self.runs.pop_first()
        {
            self.runs.insert(first, last);
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

    /// A client that leaves out every second number does not fill the server.
    #[test]
    fn runs_are_bounded() {
        let mut used = Used::default();
        let numbers = || (1..=5 * RUNS as u32).map(|number| 2 * number);
        numbers().for_each(|number| used.insert(number));
        assert_eq!(used.runs.len(), RUNS);
        assert!(numbers().all(|number| used.contains(number)));
        let last = 10 * RUNS as u32;
        assert!(!used.contains(last - 1) && !used.contains(last + 1) && !used.contains(1));
    }

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
