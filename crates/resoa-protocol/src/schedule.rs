//! Timers of a loop with many objects, at a cost that hardly depends on their number.

use std::collections::{BTreeMap, BTreeSet};

/// Due times by key, of any clock; see the [module](self).
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Schedule<Key, Time> {
    order: BTreeSet<(Time, Key)>,
    times: BTreeMap<Key, Time>,
}

impl<Key, Time> Default for Schedule<Key, Time> {
    fn default() -> Self {
        Self { order: BTreeSet::new(), times: BTreeMap::new() }
    }
}

impl<Key: Copy + Ord, Time: Copy + Ord> Schedule<Key, Time> {
    /// Sets the time at which `key` is due, in place of its previous time; `None` removes it.
    pub fn set(&mut self, key: Key, time: Option<Time>) {
        let before = self.times.get(&key).copied();
        if before == time {
            return;
        }
        if let Some(before) = before {
            self.times.remove(&key);
            self.order.remove(&(before, key));
        }
        if let Some(time) = time {
            self.times.insert(key, time);
            self.order.insert((time, key));
        }
    }

    /// Returns when the next key is due.
    #[must_use]
    pub fn next(&self) -> Option<Time> {
        self.order.first().map(|&(time, _)| time)
    }

    /// Returns the key that has been due for the longest time. It stays due until it is
    /// [set](Self::set) again.
    #[must_use]
    pub fn due(&self, now: Time) -> Option<Key> {
        self.all_due(now).next()
    }

    /// Returns all keys that are due, the earliest first. They stay due until they are set again.
    pub fn all_due(&self, now: Time) -> impl Iterator<Item = Key> {
        self.order.iter().take_while(move |(time, _)| *time <= now).map(|&(_, key)| key)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    proptest::proptest! {
        /// It behaves like a table that is searched linearly.
        #[test]
        fn a_schedule_is_a_table(steps in proptest::collection::vec((0..6_u8, proptest::option::of(0..9_u8)), 0..60)) {
            let (mut schedule, mut table) = (Schedule::default(), BTreeMap::new());
            for (key, time) in steps {
                schedule.set(key, time);
                match time {
                    Some(time) => drop(table.insert(key, time)),
                    None => drop(table.remove(&key)),
                }
                proptest::prop_assert_eq!(schedule.next(), table.values().copied().min());
                for now in 0..9 {
                    let mut expected: Vec<_> =
                        table.iter().filter(|(_, time)| **time <= now).map(|(&key, &time)| (time, key)).collect();
                    expected.sort_unstable();
                    proptest::prop_assert_eq!(schedule.due(now), expected.first().map(|&(_, key)| key));
                    let found: Vec<_> = schedule.all_due(now).collect();
                    proptest::prop_assert_eq!(found, expected.iter().map(|&(_, key)| key).collect::<Vec<_>>());
                }
            }
            proptest::prop_assert_eq!(schedule.order.len(), schedule.times.len());
        }
    }
}
