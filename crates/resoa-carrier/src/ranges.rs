//! A set of mostly consecutive numbers: the parts of a message that have arrived, or packets that
//! have arrived.

use std::collections::BTreeMap;
use std::ops::Range;

/// A set of numbers, stored as ranges of which no two touch.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Ranges(BTreeMap<u64, u64>);

impl Ranges {
    /// Adds a range, and returns how many of its numbers are new.
    pub(crate) fn add(&mut self, range: Range<u64>) -> u64 {
        let Range { mut start, mut end } = range;
        if start >= end {
            return 0;
        }
        let mut there = 0;
        // From the last range that begins at or before our end, back to the first that reaches our
        // start.
        while let Some((&begin, &stop)) = self.0.range(..=end).next_back() {
            if stop < start {
                break;
            }
            there += stop.min(range.end).saturating_sub(begin.max(range.start));
            self.0.remove(&begin);
            start = start.min(begin);
            end = end.max(stop);
        }
        self.0.insert(start, end);
        range.end - range.start - there
    }

    pub(crate) fn contains(&self, number: u64) -> bool {
        self.0.range(..=number).next_back().is_some_and(|(_, &end)| number < end)
    }

    /// Returns the smallest number that is not in the set, from 0 on.
    pub(crate) fn first_missing(&self) -> u64 {
        self.0.first_key_value().filter(|(start, _)| **start == 0).map_or(0, |(_, &end)| end)
    }

    /// Returns the ranges, the last one first.
    pub(crate) fn last_first(&self) -> impl Iterator<Item = Range<u64>> {
        self.0.iter().rev().map(|(&start, &end)| start..end)
    }

    pub(crate) fn count(&self) -> usize {
        self.0.len()
    }

    /// Removes the first range, and returns its end.
    pub(crate) fn forget_first(&mut self) -> Option<u64> {
        self.0.pop_first().map(|(_, end)| end)
    }

    /// Removes the ranges that end at or before `number`, but keeps the last range.
    pub(crate) fn forget_before(&mut self, number: u64) {
        while self.0.len() > 1 && self.0.first_key_value().is_some_and(|(_, end)| *end <= number) {
            self.0.pop_first();
        }
    }

    /// Returns the numbers of `range` that are not in the set.
    pub(crate) fn missing_in(&self, range: Range<u64>) -> Vec<Range<u64>> {
        let mut missing = Vec::new();
        let mut from = range.start;
        let before = self.0.range(..from).next_back();
        for (&start, &end) in before.into_iter().chain(self.0.range(from..range.end)) {
            if start > from {
                missing.push(from..start);
            }
            from = from.max(end);
        }
        if from < range.end {
            missing.push(from..range.end);
        }
        missing
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::collection::vec;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    proptest! {
        /// It behaves like a set of single numbers.
        #[test]
        fn as_a_set(added in vec((0_u64..60, 0_u64..12), 0..30), asked in (0_u64..60, 0_u64..30)) {
            let (mut ranges, mut set) = (Ranges::default(), BTreeSet::new());
            for (start, length) in added {
                let fresh = (start..start + length).filter(|number| set.insert(*number)).count();
                prop_assert_eq!(ranges.add(start..start + length), fresh as u64);
            }
            for number in 0..80 {
                prop_assert_eq!(ranges.contains(number), set.contains(&number));
            }
            prop_assert_eq!(ranges.first_missing(), (0..80).find(|number| !set.contains(number)).expect("one"));
            let all: BTreeSet<u64> = ranges.last_first().flatten().collect();
            prop_assert_eq!(&all, &set);
            let pieces: Vec<_> = ranges.last_first().collect();
            prop_assert!(pieces.windows(2).all(|two| two[1].end < two[0].start), "{:?}", pieces);
            let (start, length) = asked;
            let missing: Vec<u64> = ranges.missing_in(start..start + length).into_iter().flatten().collect();
            let expected: Vec<u64> = (start..start + length).filter(|number| !set.contains(number)).collect();
            prop_assert_eq!(missing, expected);
        }
    }
}
