//! Numbers that a client has used, so that a late message for a socket that is gone is told from one for a socket that never was (A17).

use std::collections::BTreeMap;

/// Runs that are kept. Sockets that a program makes and never uses are gaps between them, and a client may have any number of those in the course of time.
const MOST: usize = 1024;

/// Numbers that were used, as runs: clients count up, so that there is seldom more than one. Where there are more than [`MOST`], the oldest gaps count as used.
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
        let after = number.checked_add(1).and_then(|next| self.runs.remove(&next));
        let last = after.unwrap_or(number);
        match self.runs.range_mut(..number).next_back() {
            Some((_, end)) if *end + 1 == number => *end = last,
            _ => drop(self.runs.insert(number, last)),
        }
        if self.runs.len() > MOST
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

    /// A client that uses every second socket for ever takes no more and more memory; what was used stays so, and the latest gaps are gaps.
    #[test]
    fn gaps_are_kept_for_a_while() {
        let mut used = Used::default();
        for number in (0..100_000).step_by(2) {
            used.insert(number);
        }
        assert_eq!(used.runs.len(), MOST);
        assert!((0..100_000).step_by(2).all(|number| used.contains(number)));
        assert!(used.contains(1) && !used.contains(99_997) && !used.contains(99_999));
        used.insert(u32::MAX);
        used.insert(0);
        assert!(used.contains(u32::MAX) && !used.contains(u32::MAX - 1));
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
