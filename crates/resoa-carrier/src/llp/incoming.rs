//! Messages on their way in: put together, held until what they stay behind was handed over, handed over once.

use super::ranges::Ranges;
use super::wire::{COST, Data, Malformed};
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// Octets of messages, each with [`COST`], that are kept for a user who does not take them, or because something before them is missing.
pub(super) const ROOM: u64 = 4 << 20;

/// Whose first part has not come has no order yet.
#[derive(Debug)]
struct Partial {
    octets: Vec<u8>,
    there: Ranges,
    behind: Option<Vec<u64>>,
}

#[derive(Debug)]
struct Whole {
    octets: Vec<u8>,
    behind: Vec<u64>,
}

/// See the [module](self).
#[derive(Debug, Default)]
pub(super) struct Incoming {
    partial: BTreeMap<u64, Partial>,
    held: BTreeMap<u64, Whole>,
    /// For a message that is missing, those that wait for it.
    awaited: BTreeMap<u64, Vec<u64>>,
    /// Those that wait for all before them.
    behind_all: BTreeSet<u64>,
    /// Handed over, or ready to be.
    passed: Ranges,
    ready: VecDeque<Vec<u8>>,
    /// What those that have begun take of our limit; and those that the user has.
    begun: u64,
    taken: u64,
}

impl Incoming {
    /// What the other side may send since the beginning.
    pub(super) fn limit(&self) -> u64 {
        self.taken + ROOM
    }

    /// The next message for the user.
    pub(super) fn take(&mut self) -> Option<Vec<u8>> {
        let message = self.ready.pop_front()?;
        self.taken += message.len() as u64 + COST;
        Some(message)
    }

    /// Whether the user has so many messages, which are all.
    pub(super) fn is_through(&self, messages: u64) -> bool {
        self.ready.is_empty() && self.passed.first_missing() >= messages
    }

    /// A part has come. Fails if the other side does not keep to what it said, or to our limit.
    pub(super) fn part(&mut self, data: Data) -> Result<(), Malformed> {
        let number = data.message;
        if self.passed.contains(number) || self.held.contains_key(&number) {
            return Ok(());
        }
        if !self.partial.contains_key(&number) {
            self.begun += data.length + COST;
            if self.begun > self.limit() {
                return Err(Malformed);
            }
            let partial =
                Partial { octets: vec![0; data.length as usize], there: Ranges::default(), behind: None };
            self.partial.insert(number, partial);
        }
        let Some(partial) = self.partial.get_mut(&number) else { return Ok(()) };
        if partial.octets.len() as u64 != data.length {
            return Err(Malformed);
        }
        let (begin, end) = (data.offset as usize, data.offset as usize + data.octets.len());
        partial.octets[begin..end].copy_from_slice(data.octets);
        partial.there.add(begin as u64..end as u64);
        if data.offset == 0 {
            partial.behind = Some(data.behind);
        }
        let is_whole = partial.there.first_missing() == data.length;
        if is_whole && let Some(Partial { octets, behind: Some(behind), .. }) = self.partial.remove(&number) {
            self.held.insert(number, Whole { octets, behind });
            self.pass(number);
        }
        Ok(())
    }

    /// Passes on a whole message if nothing keeps it, and those that it kept.
    fn pass(&mut self, number: u64) {
        let mut candidates = vec![number];
        while let Some(number) = candidates.pop() {
            let Some(whole) = self.held.get(&number) else { continue };
            let done = self.passed.first_missing();
            let keeps = whole.behind.iter().find_map(|&distance| match distance {
                0 if done < number => Some(None),
                0 => None,
                distance if self.passed.contains(number - distance) => None,
                distance => Some(Some(number - distance)),
            });
            match keeps {
                Some(None) => drop(self.behind_all.insert(number)),
                Some(Some(missing)) => self.awaited.entry(missing).or_default().push(number),
                None => {
                    if let Some(Whole { octets, .. }) = self.held.remove(&number) {
                        self.ready.push_back(octets);
                    }
                    self.passed.add(number..number + 1);
                    self.behind_all.remove(&number);
                    let done = self.passed.first_missing();
                    candidates.extend(self.behind_all.first().filter(|first| **first <= done));
                    // The oldest is looked at first.
                    candidates.extend(self.awaited.remove(&number).into_iter().flatten().rev());
                }
            }
        }
    }
}
