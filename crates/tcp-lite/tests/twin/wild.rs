//! Bytes that are not a packet, or a packet that no host would send.

use crate::packets::{Given, in_ip, ip_header};
use crate::world::World;
use packet::checksum;
use rand::{Rng, RngExt};

impl World {
    /// Returns bytes that are not a packet, or a packet that no host would send. The kernel does
    /// not accept frames that are shorter than an IP header, so there are none.
    pub fn wild(&self, random: &mut impl Rng) -> Given {
        loop {
            let (connection, packet) = self.bytes(random);
            let least = if packet.first().is_some_and(|byte| byte >> 4 == 6) { 40 } else { 20 };
            if packet.len() >= least {
                return Given { connection, packet, hit: Vec::new() };
            }
        }
    }

    fn bytes(&self, random: &mut impl Rng) -> (usize, Vec<u8>) {
        let (number, mut packet) = self.packet(random);
        let at = if self.variant.is_ipv6 { 40 } else { 20 };
        match random.random_range(0..6) {
            // Only noise.
            0 => {
                packet = vec![0; random.random_range(0..1600)];
                random.fill_bytes(&mut packet);
            }
            // Noise behind a right IP header, after 0 to 24 bytes of a right TCP header.
            1 | 2 => {
                let mut segment = vec![0; random.random_range(0..1600 - at)];
                random.fill_bytes(&mut segment);
                let known = random.random_range(0..25).min(segment.len()).min(packet.len() - at);
                segment[..known].copy_from_slice(&packet[at..at + known]);
                packet = if segment.len() >= 20 && random.random_ratio(1, 20) {
                    in_ip(self.variant.is_ipv6, segment)
                } else {
                    [ip_header(self.variant.is_ipv6, segment.len()), segment].concat()
                };
            }
            // Cut anywhere, with an IP header that has the old length.
            3 => packet.truncate(random.random_range(0..=packet.len())),
            // Bytes removed or inserted, with an IP header that has the new length.
            4 => {
                let mut segment = packet.split_off(at);
                let place = random.random_range(0..segment.len());
                if random.random() {
                    segment.drain(place..random.random_range(place..=segment.len()));
                } else {
                    segment.splice(place..place, (0..random.random_range(1..9)).map(|_| random.random()));
                }
                packet = [ip_header(self.variant.is_ipv6, segment.len()), segment].concat();
            }
            // Bytes overwritten anywhere, including the IP header.
            _ => {
                for _ in 0..random.random_range(1..6) {
                    let end = if random.random() { packet.len() } else { at + 20 };
                    packet[random.random_range(0..end)] = random.random();
                }
            }
        }
        // Other values in free fields of the IP header, with a right or wrong checksum.
        if packet.len() >= at && random.random_ratio(1, 4) {
            if self.variant.is_ipv6 {
                packet[1..4].fill_with(|| random.random());
                packet[7] = random.random();
            } else {
                packet[1] = random.random();
                packet[4..6].fill_with(|| random.random());
                packet[8] = random.random();
                if random.random_ratio(3, 4) {
                    checksum::recompute_ipv4(&mut packet[..20]);
                }
            }
        }
        (number, packet)
    }
}
