//! Order in which held packets leave.

use crate::packet::Packet;
use crate::seed::Stream;
use borsh::{BorshDeserialize, BorshSerialize};
use rand::RngExt;
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;

/// Order in which the packets of a hold leave at its end.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, BorshSerialize, BorshDeserialize,
)]
#[serde(rename_all = "kebab-case")]
pub enum Release {
    /// In order of arrival.
    #[default]
    InOrder,
    /// Last arrival first.
    Reversed,
    /// In random order: each packet at most this many places before or behind its own (reading 13
    /// of the hiccup's specification: a permutation with a maximum displacement).
    Shuffled(u32),
}

impl Release {
    /// Empties `queue` in the order of release. Each packet comes with the number of later arrivals
    /// that leave before it.
    pub(super) fn order(self, queue: &mut VecDeque<Packet>, stream: &mut Stream) -> Vec<(Packet, u32)> {
        let count = queue.len();
        match self {
            Self::InOrder => queue.drain(..).map(|packet| (packet, 0)).collect(),
            Self::Reversed => {
                queue.drain(..).enumerate().map(|(place, p)| (p, (count - 1 - place) as u32)).rev().collect()
            }
            Self::Shuffled(displacement) => {
                // The sort key is the packet's place plus 0 to `displacement`, and the sort is
                // stable. A packet more than `displacement` places ahead has a smaller key, and one
                // more than that behind does not. No packet therefore moves farther than
                // `displacement`.
                let mut keyed: Vec<_> = queue
                    .drain(..)
                    .enumerate()
                    .map(|(place, packet)| {
                        (place as u64 + u64::from(stream.random_range(0..=displacement)), place, packet)
                    })
                    .collect();
                keyed.sort_by_key(|&(key, ..)| key);
                let mut left = Ranks::new(count);
                let overtaken: Vec<u32> = keyed.iter().map(|&(_, place, _)| left.leave(place)).collect();
                keyed.into_iter().zip(overtaken).map(|((.., packet), count)| (packet, count)).collect()
            }
        }
    }
}

/// Counter of overtaking packets: as places leave one after the other, it counts how many later
/// places have left before. A Fenwick tree (Fenwick 1994), because its cost is logarithmic and a
/// long hold may release many packets.
struct Ranks {
    tree: Vec<u32>,
    gone: u32,
}

impl Ranks {
    fn new(places: usize) -> Self {
        Self { tree: vec![0; places + 1], gone: 0 }
    }

    /// Removes `place`; returns the number of later places that left before.
    fn leave(&mut self, place: usize) -> u32 {
        let mut up_to_here = 0;
        let mut node = place + 1;
        while node > 0 {
            up_to_here += self.tree[node];
            node &= node - 1;
        }
        let behind = self.gone - up_to_here;
        self.gone += 1;
        let mut node = place + 1;
        while node < self.tree.len() {
            self.tree[node] += 1;
            node += node & node.wrapping_neg();
        }
        behind
    }
}
