//! Numbers that a client has used, to distinguish a late message for a closed socket from one for a
//! socket that never existed (A17).

use std::collections::BTreeMap;

/// Most runs that are stored. A client that counts up never makes more.
const RUNS: usize = 1024;

/// Used numbers, stored as runs. Clients count up, so there is seldom more than one run. If there
/// are more than [`RUNS`], the numbers between the lowest two count as used, too. A message for
/// such a number is considered late and not answered.
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

    /// A client that skips every second number does not fill the server's memory.
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
        /// It behaves like a set.
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
