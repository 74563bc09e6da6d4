//! Damage: flipped bits, and packets that are cut, padded or left incomplete by an offload.

use crate::counts::field_name;
use crate::packets::Given;
use crate::world::World;
use packet::{Field, checksum};
use rand::{Rng, RngExt};

impl World {
    /// Returns a packet, mostly as the other host of one of the connections would send it, after
    /// damage on its way.
    pub fn damaged(&self, random: &mut impl Rng) -> Given {
        let (connection, mut packet) = self.packet(random);
        let hit = damage(&mut packet, self.variant.is_ipv6, random);
        Given { connection, packet, hit }
    }
}

/// Flips bits and returns the fields that they are in.
fn damage(packet: &mut Vec<u8>, is_ipv6: bool, random: &mut impl Rng) -> Vec<&'static str> {
    let at = if is_ipv6 { 40 } else { 20 };
    let len = packet.len() - at;
    let header_bits = usize::from(packet[at + 12] >> 4) * 32;
    let mut bits: Vec<usize> = Vec::new();
    match random.random_range(0..24u8) {
        // One bit of the header, uniformly.
        0..7 => bits.push(random.random_range(0..header_bits)),
        7 => bits.push(random.random_range(0..160)),
        // A nearby port, which may or may not be that of another connection.
        8 => bits.push([0, 16][random.random_range(0..2)] + random.random_range(10..16)),
        9..12 => bits.push(random.random_range(0..len * 8)),
        12..14 if random.random_ratio(1, 6) => {
            // The data offset, changed to one of its usual values.
            let wanted = [5, 8][random.random_range(0..2)];
            bits.extend(
                (0..4).filter(|bit| (packet[at + 12] >> 4 ^ wanted) << bit & 8 != 0).map(|bit| 96 + bit),
            );
        }
        12..14 => bits.extend((0..random.random_range(2..5)).map(|_| random.random_range(0..header_bits))),
        14 => bits.extend([random.random_range(0..header_bits), random.random_range(0..len * 8)]),
        // The sequence number, and something else that prevents confirmation.
        15 => {
            bits.extend((0..random.random_range(1..4)).map(|_| random.random_range(32..64)));
            bits.push(random.random_range(0..len * 8));
        }
        // The checksum field, as in thesis mode.
        16 => packet[at + 16..at + 18].fill(0),
        // No damage: a right segment.
        17 | 20.. => {}
        18 if random.random_ratio(1, 2) => {
            // The IP header, and something else.
            let bit = random.random_range(0..at * 8);
            packet[bit / 8] ^= 0x80 >> (bit % 8);
            bits.push(random.random_range(0..len * 8));
        }
        18 => {
            // Cut, with an IP header that has the new length.
            let len = random.random_range(0..30).min(len) as u16;
            packet.truncate(at + usize::from(len));
            if is_ipv6 {
                packet[4..6].copy_from_slice(&len.to_be_bytes());
            } else {
                packet[2..4].copy_from_slice(&(len + 20).to_be_bytes());
                checksum::recompute_ipv4(&mut packet[..20]);
            }
        }
        // The partial checksum of an offload.
        19 => {
            let mut pseudo = packet[if is_ipv6 { 8 } else { 12 }..at].to_vec();
            pseudo.extend([0, 6]);
            pseudo.extend((len as u16).to_be_bytes());
            let sum = checksum::sum(&pseudo);
            packet[at + 16..at + 18].copy_from_slice(&sum.to_be_bytes());
        }
    }
    for bit in &bits {
        packet[at + bit / 8] ^= 0x80 >> (bit % 8);
    }
    // Padding as devices add to short packets, and sometimes behind others.
    if packet.len() < 46 && random.random_ratio(3, 4) {
        packet.resize(random.random_range(45..49), 0);
    } else if random.random_ratio(1, 200) {
        packet.resize(packet.len() + random.random_range(1..9), 0);
    }
    let name = |bit: &usize| match bit {
        bit if *bit < 160 => Field::at(*bit).map_or("-", field_name),
        bit if *bit < header_bits => "options",
        _ => "payload",
    };
    bits.iter().map(name).collect()
}
