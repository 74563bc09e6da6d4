//! The connections that are known, Lite or not.

use crate::{Counters, Pair, Ranges, Track, Tuple};
use std::collections::BTreeMap;

/// Everything kept of a connection.
#[derive(Debug, Clone)]
pub(crate) struct Connection {
    pub track: Track,
    pub ranges: Ranges,
    pub counters: Counters,
    /// `rcv_nxt` at the handshake, if that was seen.
    pub first: Option<u32>,
}

/// Sorted, so that the connections of a pair lie together.
#[derive(Debug, Clone, Default)]
pub(crate) struct Connections(BTreeMap<Tuple, Connection>);

impl Connections {
    pub fn insert(&mut self, tuple: Tuple, track: Track, first: Option<u32>) {
        let (ranges, counters) = (Ranges::default(), Counters::default());
        self.0.insert(tuple, Connection { track, ranges, counters, first });
    }

    pub fn remove(&mut self, tuple: &Tuple) {
        self.0.remove(tuple);
    }

    pub fn get(&self, tuple: &Tuple) -> Option<&Connection> {
        self.0.get(tuple)
    }

    pub fn get_mut(&mut self, tuple: &Tuple) -> Option<&mut Connection> {
        self.0.get_mut(tuple)
    }

    /// The Lite connections between two addresses.
    pub fn lite(&self, pair: Pair) -> impl Iterator<Item = (&Tuple, &Track)> + Clone {
        self.0
            .range(pair.tuple(0, 0)..=pair.tuple(u16::MAX, u16::MAX))
            .map(|(tuple, connection)| (tuple, &connection.track))
            .filter(|(_, track)| track.lite)
    }

    /// Whether there is one.
    pub fn has_lite(&self, pair: Pair) -> bool {
        self.lite(pair).next().is_some()
    }
}
