//! Packets as characters: the format in which L2R carries packets here.
//!
//! A packet of n octets takes n + 7, as with PPP (Ludwig 3.2; specification section 12). It
//! consists of a status octet that marks the start of a packet (see [`packet::rlp::l2r`]), the
//! length, the number and a checksum, two octets each in network byte order, and the packet. The
//! checksum is PPP's FCS-16 over length, number and packet.
//!
//! A receiver that misses a part discards what it has of that packet and waits for the next start.
//! So a frame that was given up costs only the packets that had a part in it (Ludwig 3.2.5: PPP
//! discards the broken packet, TCP sees one loss).

use crc::{CRC_16_IBM_SDLC, Crc, Table};
use packet::rlp::l2r::Item;
use std::collections::VecDeque;

/// Octets that a packet takes beyond its own.
pub const OVERHEAD: usize = 7;
/// Length of the fields length, number and checksum, in octets.
const HEADER_LEN: usize = 6;

static CHECK: Crc<u16, Table<1>> = Crc::<u16, Table<1>>::new(&CRC_16_IBM_SDLC);

/// Numbers of the packets that have a part in a frame: first and last.
pub(super) type Numbers = (u16, u16);

/// Packets that wait to be put into frames.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub(super) struct Packer {
    queue: VecDeque<Waiting>,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Waiting {
    number: u16,
    octets: Vec<u8>,
    taken: usize,
}

impl Packer {
    pub fn push(&mut self, number: u16, bytes: &[u8]) {
        let length = bytes.len() as u16;
        let mut octets = Vec::with_capacity(HEADER_LEN + bytes.len());
        octets.extend(length.to_be_bytes());
        octets.extend(number.to_be_bytes());
        octets.extend(check(length, number, bytes).to_be_bytes());
        octets.extend_from_slice(bytes);
        self.queue.push_back(Waiting { number, octets, taken: 0 });
    }

    pub fn is_empty(&self) -> bool {
        self.queue.is_empty()
    }

    /// Returns the number of packets of which no octet was taken yet.
    pub fn untouched(&self) -> usize {
        self.queue.iter().filter(|packet| packet.taken == 0).count()
    }

    /// Takes up to `most` octets. Returns them with the numbers of the packets that they belong to.
    pub fn take(&mut self, most: usize) -> Option<(Vec<Item>, Numbers)> {
        let first = self.queue.front()?.number;
        let (mut items, mut last, mut left) = (Vec::new(), first, most);
        while left > 0
            && let Some(packet) = self.queue.front_mut()
        {
            if packet.taken == 0 {
                items.push(Item::Start);
                left -= 1;
            }
            let count = left.min(packet.octets.len() - packet.taken);
            if count > 0 {
                items.push(Item::Characters(packet.octets[packet.taken..packet.taken + count].to_vec()));
                last = packet.number;
            }
            packet.taken += count;
            left -= count;
            if packet.taken == packet.octets.len() {
                self.queue.pop_front();
            } else if packet.taken == 0 {
                // Its start would be the last octet here. It goes to the next field.
                items.pop();
                break;
            }
        }
        Some((items, (first, last)))
    }

    /// Returns the number of the packet that was partly taken.
    pub fn begun(&self) -> Option<u16> {
        self.queue.front().filter(|packet| packet.taken > 0).map(|packet| packet.number)
    }

    /// Drops the packet that was partly taken, if its number is in `numbers` or `numbers` is
    /// `None`. Returns its number.
    pub fn drop_begun(&mut self, numbers: Option<Numbers>) -> Option<u16> {
        let packet = self.queue.front()?;
        let among = |(first, last): Numbers| packet.number.wrapping_sub(first) <= last.wrapping_sub(first);
        (packet.taken > 0 && numbers.is_none_or(among))
            .then(|| self.queue.pop_front())?
            .map(|packet| packet.number)
    }

    /// Drops all packets and returns their numbers.
    pub fn drain(&mut self) -> impl Iterator<Item = u16> + '_ {
        self.queue.drain(..).map(|packet| packet.number)
    }
}

/// Reassembly of packets from characters.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub(super) struct Unpacker {
    /// Characters of the current packet so far; `None` while waiting for a start.
    partial: Option<Vec<u8>>,
}

impl Unpacker {
    /// Notes that data are missing here.
    pub fn gap(&mut self) {
        self.partial = None;
    }

    /// Adds characters. Returns the packet that they complete, with its number.
    pub fn put(&mut self, item: Item) -> Option<(u16, Vec<u8>)> {
        match item {
            Item::Start => self.partial = Some(Vec::new()),
            Item::Characters(characters) => self.partial.as_mut()?.extend(characters),
        }
        let octets = self.partial.as_ref()?;
        let word = |at: usize| Some(u16::from_be_bytes([*octets.get(at)?, *octets.get(at + 1)?]));
        let (length, number, found) = (word(0)?, word(2)?, word(4)?);
        let body = &octets[HEADER_LEN..];
        if body.len() < usize::from(length) {
            return None;
        }
        let right = body.len() == usize::from(length) && check(length, number, body) == found;
        let bytes = right.then(|| body.to_vec());
        self.partial = None;
        bytes.map(|bytes| (number, bytes))
    }
}

fn check(length: u16, number: u16, bytes: &[u8]) -> u16 {
    let mut digest = CHECK.digest();
    digest.update(&length.to_be_bytes());
    digest.update(&number.to_be_bytes());
    digest.update(bytes);
    digest.finalize()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn fields(packets: &[Vec<u8>]) -> Vec<Vec<Item>> {
        let mut packer = Packer::default();
        for (number, bytes) in packets.iter().enumerate() {
            packer.push(number as u16, bytes);
        }
        std::iter::from_fn(|| packer.take(24)).map(|(items, _)| items).collect()
    }

    fn octets(items: &[Item]) -> usize {
        items.iter().map(|item| if let Item::Characters(c) = item { c.len() } else { 1 }).sum()
    }

    fn packets() -> impl Strategy<Value = Vec<Vec<u8>>> {
        proptest::collection::vec(proptest::collection::vec(any::<u8>(), 0..70), 1..8)
    }

    proptest! {
        /// Packets come out as they went in. Each takes 7 octets more, and a start is never alone
        /// at the end of a field.
        #[test]
        fn packets_come_out_as_they_went_in(packets in packets()) {
            let fields = fields(&packets);
            let mut unpacker = Unpacker::default();
            let out: Vec<_> =
                fields.iter().flatten().cloned().filter_map(|item| unpacker.put(item)).collect();
            prop_assert_eq!(out.iter().map(|(number, _)| *number).collect::<Vec<_>>(), (0..packets.len() as u16).collect::<Vec<_>>());
            prop_assert_eq!(out.into_iter().map(|(_, bytes)| bytes).collect::<Vec<_>>(), packets.clone());
            let user: usize = fields.iter().map(|items| octets(items)).sum();
            prop_assert_eq!(user, packets.iter().map(|bytes| bytes.len() + OVERHEAD).sum::<usize>());
        }

        /// A packet with wrong characters is discarded and costs no other.
        #[test]
        fn what_is_damaged_is_thrown_away(packets in packets(), which: usize, bits in 1u8..) {
            let mut packer = Packer::default();
            for (number, bytes) in packets.iter().enumerate() {
                packer.push(number as u16, bytes);
            }
            let which = which % packer.queue.len();
            let damaged = &mut packer.queue[which].octets;
            let place = damaged.len() - 1;
            damaged[place] ^= bits;
            let mut unpacker = Unpacker::default();
            let fields = std::iter::from_fn(|| packer.take(24)).flat_map(|(items, _)| items);
            let out: Vec<_> = fields.filter_map(|item| unpacker.put(item)).map(|(number, _)| number).collect();
            let wanted: Vec<_> = (0..packets.len() as u16).filter(|number| usize::from(*number) != which).collect();
            prop_assert_eq!(out, wanted);
        }

        /// If one frame is missing, only the packets with a part in it are missing.
        #[test]
        fn a_missing_frame_costs_its_packets_alone(packets in packets(), which: usize) {
            let mut packer = Packer::default();
            for (number, bytes) in packets.iter().enumerate() {
                packer.push(number as u16, bytes);
            }
            let fields: Vec<_> = std::iter::from_fn(|| packer.take(24)).collect();
            let missing = which % fields.len();
            let mut unpacker = Unpacker::default();
            let mut out = Vec::new();
            for (place, (items, _)) in fields.iter().enumerate() {
                if place == missing {
                    unpacker.gap();
                } else {
                    out.extend(items.iter().cloned().filter_map(|item| unpacker.put(item)));
                }
            }
            let (first, last) = fields[missing].1;
            let wanted: Vec<_> = (0..packets.len() as u16)
                .filter(|number| !(first..=last).contains(number))
                .map(|number| (number, packets[usize::from(number)].clone()))
                .collect();
            prop_assert_eq!(out, wanted);
        }
    }
}
