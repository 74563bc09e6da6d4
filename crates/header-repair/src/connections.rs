//! The connections that are known, Lite or not.

use crate::localize::SLOTS;
use crate::{Counters, Pair, Ranges, Track, Tuple};
use std::collections::{BTreeMap, BTreeSet};

/// What is kept of a connection.
#[derive(Debug, Clone)]
pub(crate) struct Connection {
    pub track: Track,
    pub ranges: Ranges,
    pub counters: Counters,
    /// `rcv_nxt` at the handshake, if the handshake was seen.
    pub first: Option<u32>,
}

#[derive(Debug, Clone, Default)]
pub(crate) struct Connections {
    /// Sorted, so that the connections of a pair are adjacent.
    known: BTreeMap<Tuple, Connection>,
    crowded: BTreeSet<Pair>,
}

impl Connections {
    pub fn insert(&mut self, tuple: Tuple, track: Track, first: Option<u32>) {
        let (ranges, counters) = (Ranges::default(), Counters::default());
        self.known.insert(tuple, Connection { track, ranges, counters, first });
        self.recount(tuple.pair);
    }

    pub fn remove(&mut self, tuple: &Tuple) {
        self.known.remove(tuple);
        self.recount(tuple.pair);
    }

    pub fn get(&self, tuple: &Tuple) -> Option<&Connection> {
        self.known.get(tuple)
    }

    pub fn get_mut(&mut self, tuple: &Tuple) -> Option<&mut Connection> {
        self.known.get_mut(tuple)
    }

    /// Returns the Lite connections between two addresses.
    pub fn lite(&self, pair: Pair) -> impl Iterator<Item = (&Tuple, &Track)> + Clone {
        self.known
            .range(pair.tuple(0, 0)..=pair.tuple(u16::MAX, u16::MAX))
            .map(|(tuple, connection)| (tuple, &connection.track))
            .filter(|(_, track)| track.lite)
    }

    /// Updates the crowded mark after Lite was switched on or off for a connection of the pair.
    pub fn recount(&mut self, pair: Pair) {
        match self.lite(pair).count() {
            0 => self.crowded.remove(&pair),
            count => count > SLOTS && self.crowded.insert(pair),
        };
    }

    /// Returns whether the pair has had more than [`SLOTS`] Lite connections at once since it last
    /// had none. The kernel's list has this many slots; a connection that found no free slot stays
    /// out of the list even when others leave.
    pub fn is_crowded(&self, pair: Pair) -> bool {
        self.crowded.contains(&pair)
    }

    /// Returns whether the pair has a Lite connection.
    pub fn has_lite(&self, pair: Pair) -> bool {
        self.lite(pair).next().is_some()
    }
}
