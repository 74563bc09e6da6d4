//! Counters of the flows on links, for a viewer of a run that goes on.
//!
//! A flow is a pair of ends that exchange packets of one protocol. Its packets are counted in both
//! directions of the link.

use crate::event::{EndedPacket, Flow, Outcome};
use crate::units::Time;
use std::collections::HashMap;
use std::net::IpAddr;
use vocabulary::{ChannelState, Direction, LinkId};

/// Greatest number of flows that are kept. One more replaces that which was seen least recently.
pub const FLOWS: usize = 1024;

/// An end of a flow: address, and the port of TCP or UDP.
pub type End = (IpAddr, Option<u16>);

/// A flow, as seen from the wireless side of its link.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct FlowId {
    /// The link.
    pub link: LinkId,
    /// IP protocol number (6 TCP, 17 UDP).
    pub protocol: u8,
    /// The end on the wireless side.
    pub inside: End,
    /// The end beyond the link.
    pub outside: End,
}

/// Counters of one direction of a flow.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct FlowCounters {
    /// Packets that entered the link.
    pub packets: u64,
    /// Their bytes, at the link's layer.
    pub bytes: u64,
    /// Packets and copies that were lost.
    pub lost: u64,
}

/// Flows, and states of channels, of a run that goes on.
#[derive(Debug, Default)]
pub struct Watched {
    flows: HashMap<FlowId, Kept>,
    /// Flows of the packets inside the links.
    inside: HashMap<(LinkId, Direction, u64), FlowId>,
    channels: HashMap<(LinkId, Direction), ChannelState>,
}

#[derive(Debug, Clone, Copy, Default)]
struct Kept {
    counters: [FlowCounters; 2],
    seen: Time,
}

impl Watched {
    /// Counts a packet that enters a link. A packet without an IP header has no flow.
    pub(crate) fn entered(
        &mut self,
        link: LinkId,
        direction: Direction,
        number: u64,
        at: Time,
        length: u32,
        flow: Option<Flow>,
    ) {
        let Some(flow) = flow else { return };
        let id = FlowId::of(link, direction, &flow);
        if self.flows.len() >= FLOWS && !self.flows.contains_key(&id) {
            let oldest = self.flows.iter().min_by_key(|(_, kept)| kept.seen).map(|(&id, _)| id);
            oldest.and_then(|oldest| self.flows.remove(&oldest));
        }
        let kept = self.flows.entry(id).or_default();
        kept.seen = at;
        let counters = &mut kept.counters[direction as usize];
        counters.packets += 1;
        counters.bytes += u64::from(length);
        self.inside.insert((link, direction, number), id);
    }

    /// Counts the end of a packet or a copy.
    pub(crate) fn ended(&mut self, ended: &EndedPacket) {
        let key = (ended.link, ended.direction, ended.number);
        if let Some(channel) = ended.channel {
            self.channels.insert((ended.link, ended.direction), channel);
        }
        let id = if ended.copy { self.inside.get(&key).copied() } else { self.inside.remove(&key) };
        if let Outcome::Lost(_) = ended.outcome
            && let Some(kept) = id.and_then(|id| self.flows.get_mut(&id))
        {
            kept.counters[ended.direction as usize].lost += 1;
        }
    }

    /// Iterates over the flows, each with its counters up and down, in no particular order.
    pub fn flows(&self) -> impl Iterator<Item = (FlowId, [FlowCounters; 2])> + '_ {
        self.flows.iter().map(|(&id, kept)| (id, kept.counters))
    }

    /// Returns the state of a link's channel for the last packet that an error process judged.
    #[must_use]
    pub fn channel(&self, link: LinkId, direction: Direction) -> Option<ChannelState> {
        self.channels.get(&(link, direction)).copied()
    }
}

impl FlowId {
    fn of(link: LinkId, direction: Direction, flow: &Flow) -> Self {
        let source = (flow.source, flow.ports.map(|ports| ports.0));
        let destination = (flow.destination, flow.ports.map(|ports| ports.1));
        let (inside, outside) = match direction {
            Direction::Up => (source, destination),
            Direction::Down => (destination, source),
        };
        Self { link, protocol: flow.protocol, inside, outside }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use vocabulary::Loss;

    const LINK: LinkId = LinkId(0);

    fn flow(last: (u8, u8), ports: (u16, u16)) -> Option<Flow> {
        let [source, destination] = [last.0, last.1].map(|last| [10, 0, 0, last].into());
        // Port 0: a packet whose headers cannot be read.
        let flow = Flow { source, destination, protocol: 6, ports: Some(ports), ..Flow::UNKNOWN };
        (ports.0 > 0).then_some(flow)
    }

    #[test]
    fn both_directions_of_a_connection_are_one_flow() {
        let mut watched = Watched::default();
        let time = Time::from_nanos;
        watched.entered(LINK, Direction::Up, 0, time(1), 40, flow((1, 2), (1111, 80)));
        watched.entered(LINK, Direction::Down, 0, time(2), 1500, flow((2, 1), (80, 1111)));
        watched.entered(LINK, Direction::Down, 1, time(3), 1500, flow((2, 1), (80, 1111)));
        watched.entered(LINK, Direction::Up, 1, time(3), 40, flow((1, 2), (0, 0)));
        let lost = EndedPacket {
            outcome: Outcome::Lost(Loss::Error),
            channel: Some(ChannelState::Bad),
            ..EndedPacket::untouched(LINK, Direction::Down, 1, 1500, time(3), time(4))
        };
        watched.ended(&lost);
        // Its end was counted already: a second one belongs to no flow.
        watched.ended(&lost);
        let all: Vec<_> = watched.flows().collect();
        let end = |last, port| (IpAddr::from([10, 0, 0, last]), Some(port));
        let id = FlowId { link: LINK, protocol: 6, inside: end(1, 1111), outside: end(2, 80) };
        let up = FlowCounters { packets: 1, bytes: 40, lost: 0 };
        let down = FlowCounters { packets: 2, bytes: 3000, lost: 1 };
        assert_eq!(all, [(id, [up, down])]);
        assert_eq!(watched.channel(LINK, Direction::Down), Some(ChannelState::Bad));
        assert_eq!(watched.channel(LINK, Direction::Up), None);
    }

    /// A scan of ports must not fill the memory, and must not displace a flow that is in use.
    #[test]
    fn the_flow_that_was_seen_least_recently_makes_room() {
        let mut watched = Watched::default();
        let mut at = 0;
        let mut enter = |watched: &mut Watched, port| {
            at += 1;
            watched.entered(LINK, Direction::Up, at, Time::from_nanos(at), 40, flow((1, 2), (port, 80)));
        };
        for port in 1..=3000 {
            enter(&mut watched, port);
            enter(&mut watched, 1);
        }
        assert_eq!(watched.flows().count(), FLOWS);
        let first = watched.flows().find(|(id, _)| id.inside.1 == Some(1)).expect("the flow in use");
        assert_eq!(first.1[0].packets, 3001);
    }
}
