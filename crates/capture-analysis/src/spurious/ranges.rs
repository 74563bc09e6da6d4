//! Sets of bytes of a stream, as ranges that do not touch.

/// A set of bytes; ranges are half open, in ascending order.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Ranges(Vec<(u64, u64)>);

impl Ranges {
    /// Adds `first..end`.
    pub fn add(&mut self, first: u64, end: u64) {
        if first >= end {
            return;
        }
        let from = self.0.partition_point(|range| range.1 < first);
        let to = from + self.0[from..].partition_point(|range| range.0 <= end);
        let joined = self.0[from..to]
            .iter()
            .fold((first, end), |(low, high), range| (low.min(range.0), high.max(range.1)));
        self.0.splice(from..to, [joined]);
    }

    /// Removes `first..end`.
    pub fn remove(&mut self, first: u64, end: u64) {
        if first >= end {
            return;
        }
        let cut = |&(low, high): &(u64, u64)| [(low, high.min(first)), (low.max(end), high)];
        self.0 = self.0.iter().flat_map(cut).filter(|(low, high)| low < high).collect();
    }

    /// Returns whether all of `first..end` is in the set.
    #[must_use]
    pub fn covers(&self, first: u64, end: u64) -> bool {
        let place = self.0.partition_point(|range| range.1 <= first);
        first >= end || self.0.get(place).is_some_and(|range| range.0 <= first && end <= range.1)
    }

    /// Returns whether any of `first..end` is in the set.
    #[must_use]
    pub fn touches(&self, first: u64, end: u64) -> bool {
        let place = self.0.partition_point(|range| range.1 <= first);
        first < end && self.0.get(place).is_some_and(|range| range.0 < end)
    }

    /// Returns whether the set is empty.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the number of bytes in the set.
    #[must_use]
    pub fn len(&self) -> u64 {
        self.0.iter().map(|range| range.1 - range.0).sum()
    }

    /// Returns the ranges.
    #[must_use]
    pub fn as_slice(&self) -> &[(u64, u64)] {
        &self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Compares with a set of numbers.
        #[test]
        fn ranges_are_sets(steps in prop::collection::vec((any::<bool>(), 0_u64..40, 0_u64..12), 0..30), asked in (0_u64..40, 0_u64..12)) {
            let (mut ranges, mut set) = (Ranges::default(), std::collections::BTreeSet::new());
            for (add, first, length) in steps {
                if add {
                    ranges.add(first, first + length);
                    set.extend(first..first + length);
                } else {
                    ranges.remove(first, first + length);
                    set.retain(|number| !(first..first + length).contains(number));
                }
            }
            prop_assert_eq!(ranges.len(), set.len() as u64);
            prop_assert_eq!(ranges.is_empty(), set.is_empty());
            let (first, end) = (asked.0, asked.0 + asked.1);
            prop_assert_eq!(ranges.covers(first, end), (first..end).all(|number| set.contains(&number)));
            prop_assert_eq!(ranges.touches(first, end), (first..end).any(|number| set.contains(&number)));
            prop_assert!(ranges.as_slice().windows(2).all(|pair| pair[0].1 < pair[1].0));
        }
    }
}
