//! From fates on links to arrivals at the receiver.
//!
//! A packet has a fate on every link that it reaches. Only the numbers in its header show that
//! these fates belong together, and its retransmissions have the same numbers. Packets with the
//! same numbers keep their order between two links. So the one that leaves a link first reaches the
//! next link first.

use super::super::Ends;
use capture::{Direction, Fate, LinkId, Time};
use rustc_hash::FxHashMap;
use std::collections::{BTreeMap, VecDeque};

/// A link and a direction through it.
type Way = (LinkId, Direction);

/// A packet with data that reached the receiver undamaged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Arrived {
    /// When it left the last link.
    pub at: Time,
    /// When it reached the first link; `None` if that was not seen.
    pub entered: Option<Time>,
    /// Sequence number of its first byte.
    pub sequence: u32,
    /// Bytes of data, at least 1.
    pub payload: u32,
}

/// Fates of data packets on each link, by flow.
#[derive(Debug, Clone, Default)]
pub struct Passages {
    flows: BTreeMap<Ends, BTreeMap<Way, Vec<Passage>>>,
}

#[derive(Debug, Clone, Copy)]
struct Passage {
    arrived: Time,
    left: Time,
    sequence: u32,
    payload: u32,
    delivered: bool,
    damaged: bool,
}

/// State of a packet between two links.
#[derive(Debug, Clone, Copy)]
struct UnderWay {
    left: Time,
    entered: Option<Time>,
    damaged: bool,
}

impl Passages {
    /// Adds the fate of a packet; packets without data are ignored.
    pub fn add(&mut self, fate: &Fate) {
        let Some(flow) = &fate.flow else { return };
        let (Some(ends), Some(sequence)) = (Ends::of(flow), flow.tcp_sequence) else { return };
        let Some(payload) = flow.payload.filter(|bytes| *bytes > 0) else { return };
        let passage = Passage {
            arrived: fate.arrived,
            left: fate.left,
            sequence,
            payload,
            delivered: fate.lost.is_none(),
            damaged: fate.is_damaged(),
        };
        self.flows.entry(ends).or_default().entry((fate.link, fate.direction)).or_default().push(passage);
    }

    /// Returns the flows that carried data.
    #[must_use]
    pub fn flows(&self) -> Vec<Ends> {
        self.flows.keys().copied().collect()
    }

    /// Returns the packets of a flow that arrived, in the order in which they left the last link.
    ///
    /// The links are ordered by the times at which the flow's packets first reached them.
    #[must_use]
    pub fn arrivals(&self, ends: Ends) -> Vec<Arrived> {
        let Some(ways) = self.flows.get(&ends) else { return Vec::new() };
        let mut ways: Vec<&Vec<Passage>> = ways.values().collect();
        ways.sort_by_key(|passages| passages.iter().map(|passage| (passage.arrived, passage.left)).min());

        let mut before: Option<FxHashMap<u32, VecDeque<UnderWay>>> = None;
        let mut out: Vec<(UnderWay, Passage)> = Vec::new();
        for passages in ways {
            let mut passages = passages.clone();
            passages.sort_by_key(|passage| passage.arrived);
            out = passages.into_iter().map(|passage| (through(&passage, before.as_mut()), passage)).collect();
            out.retain(|(_, passage)| passage.delivered);
            out.sort_by_key(|(packet, _)| packet.left);
            let mut next: FxHashMap<u32, VecDeque<UnderWay>> = FxHashMap::default();
            for (packet, passage) in &out {
                next.entry(passage.sequence).or_default().push_back(*packet);
            }
            before = Some(next);
        }
        let arrived = |(packet, passage): (UnderWay, Passage)| Arrived {
            at: packet.left,
            entered: packet.entered,
            sequence: passage.sequence,
            payload: passage.payload,
        };
        out.into_iter().filter(|(packet, _)| !packet.damaged).map(arrived).collect()
    }
}

/// Returns a packet's state after a link; `before` are the packets after the previous link, if any.
fn through(passage: &Passage, before: Option<&mut FxHashMap<u32, VecDeque<UnderWay>>>) -> UnderWay {
    let came = match before {
        None => Some(UnderWay { left: passage.arrived, entered: Some(passage.arrived), damaged: false }),
        Some(before) => before.get_mut(&passage.sequence).and_then(|waiting| {
            waiting
                .front()
                .is_some_and(|packet| packet.left <= passage.arrived)
                .then(|| waiting.pop_front())?
        }),
    };
    UnderWay {
        left: passage.left,
        entered: came.and_then(|packet| packet.entered),
        damaged: passage.damaged || came.is_some_and(|packet| packet.damaged),
    }
}
