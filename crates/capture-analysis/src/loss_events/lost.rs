//! The packets of a connection that links lost or damaged.

use super::Cause;
use capture::{Direction, Fate, Flow, LinkId, Time};
use rustc_hash::FxHashMap;
use std::net::SocketAddr;

/// One direction of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Ends {
    /// The sender.
    pub from: SocketAddr,
    /// The receiver.
    pub to: SocketAddr,
}

/// A packet with data that did not arrive as it was sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LostPacket {
    /// When the link lost it, or delivered it damaged.
    pub left: Time,
    /// Sequence number of its first byte.
    pub sequence: u32,
    /// Bytes of data, at least 1.
    pub payload: u32,
    /// The cause.
    pub cause: Cause,
}

/// Lost packets of all connections of a run.
#[derive(Debug, Clone, Default)]
pub struct LostPackets {
    lost: FxHashMap<Ends, Vec<LostPacket>>,
    /// Packets that one link damaged and the following links still carry, with the link that
    /// damaged them. They are lost already, whatever happens to them later.
    damaged: FxHashMap<(Ends, u32), (LinkId, Direction)>,
}

impl Ends {
    /// Returns the ends of a TCP packet; `None` for other packets.
    #[must_use]
    pub fn of(flow: &Flow) -> Option<Self> {
        let (source, destination) = flow.ports.filter(|_| flow.protocol == packet::headers::TCP)?;
        let (from, to) =
            (SocketAddr::new(flow.source, source), SocketAddr::new(flow.destination, destination));
        Some(Self { from, to })
    }
}

impl LostPackets {
    /// Adds the fate of a packet. The fates of one packet must come in the order of the links.
    ///
    /// Packets without data, and copies that a link made, are ignored.
    pub fn add(&mut self, fate: &Fate) {
        let Some(flow) = fate.flow.as_ref().filter(|_| !fate.copy) else { return };
        let (Some(ends), Some(sequence)) = (Ends::of(flow), flow.tcp_sequence) else { return };
        let Some(payload) = flow.payload.filter(|bytes| *bytes > 0) else { return };
        let way = (fate.link, fate.direction);
        if let Some(damaged_by) = self.damaged.get(&(ends, sequence)) {
            if *damaged_by != way {
                return;
            }
            // It reaches that link once more, so it is a retransmission.
            self.damaged.remove(&(ends, sequence));
        }
        let Some(cause) = fate.cause() else { return };
        if fate.lost.is_none() {
            self.damaged.insert((ends, sequence), way);
        }
        let packet = LostPacket { left: fate.left, sequence, payload, cause };
        self.lost.entry(ends).or_default().push(packet);
    }

    /// Removes and returns the lost packets of one direction of a connection, in the order of their
    /// losses.
    #[must_use]
    pub fn take(&mut self, ends: Ends) -> Vec<LostPacket> {
        let mut lost = self.lost.remove(&ends).unwrap_or_default();
        lost.sort_by_key(|packet| packet.left);
        lost
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::loss_events::tests::{ENDS, fate, lost};
    use capture::Loss;

    fn taken(fates: &[Fate]) -> Vec<(u64, u32, Cause)> {
        let mut packets = LostPackets::default();
        for fate in fates {
            packets.add(fate);
        }
        let taken = packets.take(ENDS);
        assert_eq!(packets.take(ENDS), []);
        taken.iter().map(|packet| (packet.left.as_nanos(), packet.sequence, packet.cause)).collect()
    }

    #[test]
    fn data_that_was_lost_or_damaged_in_the_order_of_time() {
        let fates = [
            fate(10, 100),
            lost(30, 300, Loss::QueueFull),
            Fate { bits_flipped: 3, ..fate(20, 200) },
            lost(40, 400, Loss::RunEnded),
        ];
        assert_eq!(taken(&fates), [(20, 200, Cause::Wireless), (30, 300, Cause::Congestion)]);
    }

    #[test]
    fn neither_acknowledgements_nor_copies_nor_other_connections() {
        let flow = |change: fn(&mut Flow)| {
            let mut fate = lost(1, 1, Loss::Error);
            change(fate.flow.as_mut().expect("a flow"));
            fate
        };
        let fates = [
            flow(|flow| flow.payload = Some(0)),
            flow(|flow| flow.payload = None),
            flow(|flow| flow.protocol = 17),
            flow(|flow| flow.ports = None),
            flow(|flow| flow.ports = Some((1, 2))),
            Fate { copy: true, ..lost(1, 1, Loss::Error) },
            Fate { flow: None, ..lost(1, 1, Loss::Error) },
        ];
        assert_eq!(taken(&fates), []);
    }

    /// A damaged packet that the next link loses was lost once; its retransmission, lost there, is
    /// a second loss.
    #[test]
    fn what_is_damaged_is_not_lost_a_second_time() {
        let next = |fate| Fate { link: LinkId(7), ..fate };
        let fates = [
            Fate { checksum_spoiled: true, ..fate(10, 100) },
            next(lost(20, 100, Loss::QueueFull)),
            fate(30, 100),
            next(lost(40, 100, Loss::QueueFull)),
        ];
        assert_eq!(taken(&fates), [(10, 100, Cause::Wireless), (40, 100, Cause::Congestion)]);
        assert_eq!(taken(&fates[..2]), [(10, 100, Cause::Wireless)]);
    }
}
