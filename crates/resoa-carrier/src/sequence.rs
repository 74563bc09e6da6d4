//! Restores the order of messages: each is passed on as soon as all messages that it follows have
//! been ([`order`](crate::order) determines those).

use crate::ranges::Ranges;
use std::collections::{BTreeMap, BTreeSet};

#[derive(Debug)]
struct Held<T> {
    behind: Vec<u64>,
    message: T,
}

/// Messages that have arrived in any order; `T` is a message, or what stands for it.
#[derive(Debug)]
pub(crate) struct Sequence<T> {
    passed: Ranges,
    held: BTreeMap<u64, Held<T>>,
    /// For a missing message, the messages that wait for it.
    awaited: BTreeMap<u64, Vec<u64>>,
    /// Messages that wait for all earlier messages.
    behind_all: BTreeSet<u64>,
}

impl<T> Default for Sequence<T> {
    fn default() -> Self {
        let (passed, held) = (Ranges::default(), BTreeMap::new());
        Self { passed, held, awaited: BTreeMap::new(), behind_all: BTreeSet::new() }
    }
}

impl<T> Sequence<T> {
    /// Returns the number up to which all messages have been passed on.
    pub(crate) fn done(&self) -> u64 {
        self.passed.first_missing()
    }

    /// Returns the number of runs of consecutive messages that have been passed on.
    ///
    /// Between two runs at least one message is missing, and the other side may have begun only so
    /// many messages, so this is bounded.
    pub(crate) fn runs(&self) -> usize {
        self.passed.count()
    }

    /// Returns whether this message has arrived, passed on or not.
    pub(crate) fn has(&self, number: u64) -> bool {
        self.passed.contains(number) || self.held.contains_key(&number)
    }

    /// Takes a message that has arrived for the first time, and passes on every message that is now
    /// free.
    ///
    /// `behind` lists the messages that this one follows, as distances back, none beyond message 0;
    /// a distance of 0 means all earlier messages.
    pub(crate) fn arrived(&mut self, number: u64, behind: Vec<u64>, message: T, mut pass: impl FnMut(T)) {
        debug_assert!(!self.has(number));
        self.held.insert(number, Held { behind, message });
        let mut candidates = vec![number];
        while let Some(number) = candidates.pop() {
            let Some(candidate) = self.held.get(&number) else { continue };
            let missing = candidate.behind.iter().find(|&&distance| match distance {
                0 => self.done() < number,
                distance => !self.passed.contains(number - distance),
            });
            match missing {
                Some(0) => drop(self.behind_all.insert(number)),
                Some(distance) => self.awaited.entry(number - distance).or_default().push(number),
                None => {
                    if let Some(held) = self.held.remove(&number) {
                        pass(held.message);
                    }
                    self.behind_all.remove(&number);
                    self.passed.add(number..number + 1);
                    let done = self.done();
                    candidates.extend(self.behind_all.first().filter(|first| **first <= done));
                    // Look at the oldest first.
                    candidates.extend(self.awaited.remove(&number).into_iter().flatten().rev());
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// For each message the distances to those that it follows, and the order of arrival.
    fn arrivals() -> impl Strategy<Value = (Vec<Vec<u64>>, Vec<usize>)> {
        let behind = proptest::collection::vec(proptest::collection::vec(0..8_u64, 0..4), 1..40);
        behind.prop_flat_map(|mut behind| {
            for (number, distances) in behind.iter_mut().enumerate() {
                for distance in distances {
                    *distance = (*distance).min(number as u64);
                }
            }
            let order: Vec<_> = (0..behind.len()).collect();
            (Just(behind), Just(order).prop_shuffle())
        })
    }

    proptest! {
        /// C87: each message is passed on once, after the messages that it follows, and as soon as
        /// they have been.
        #[test]
        fn each_once_and_in_its_place((behind, order) in arrivals()) {
            let mut sequence = Sequence::default();
            let mut passed: Vec<usize> = Vec::new();
            let mut arrived = vec![false; behind.len()];
            for number in order {
                arrived[number] = true;
                prop_assert!(!sequence.has(number as u64));
                let behind_this = behind[number].clone();
                sequence.arrived(number as u64, behind_this, vec![number as u8], |octets| passed.push(octets[0].into()));
                prop_assert!(sequence.has(number as u64));
                let first_missing = arrived.iter().position(|there| !there).unwrap_or(arrived.len());
                prop_assert!(sequence.done() >= first_missing as u64);
                for (number, behind) in behind.iter().enumerate() {
                    let keeps = |&distance: &u64| match distance as usize {
                        0 => (0..number).any(|before| !passed.contains(&before)),
                        distance => !passed.contains(&(number - distance)),
                    };
                    let is_free = arrived[number] && !behind.iter().any(keeps);
                    prop_assert!(!is_free || passed.contains(&number), "{number} is kept for nothing");
                }
            }
            for (place, &number) in passed.iter().enumerate() {
                for &distance in &behind[number] {
                    let before = if distance == 0 { 0..number } else { number - distance as usize..number - distance as usize + 1 };
                    prop_assert!(before.into_iter().all(|before| passed[..place].contains(&before)), "{number} was too early");
                }
            }
            passed.sort_unstable();
            prop_assert_eq!(passed, (0..behind.len()).collect::<Vec<_>>());
        }
    }
}
