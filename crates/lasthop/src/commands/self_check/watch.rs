//! Observations from inside the emulator: the lateness of packets, their arrival times, and changes
//! to their bytes.

use emulator::{Observer, WayId};
use link::Packet;
use link::units::Time;
use packet::checksum::{self, ChecksumStatus};
use packet::{Frame, Headers, Layer, headers};
use std::collections::HashMap;

/// What to observe besides lateness.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Look {
    /// Nothing else.
    Lateness,
    /// Time at which each packet entered the uplink.
    Arrivals,
    /// Bytes, before and after the link.
    Bytes,
}

/// Changes to the bytes of UDP packets in one direction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Damage {
    /// Delivered packets, damaged or not.
    pub packets: u64,
    /// Packets with a changed bit.
    pub damaged: u64,
    /// Bits of UDP payload.
    pub payload_bits: u64,
    /// Changed bits of UDP payload.
    pub wrong_payload_bits: u64,
    /// Packets with a changed bit outside the payload.
    pub damaged_headers: u64,
    /// Packets whose UDP checksum is wrong after the link.
    pub wrong_checksums: u64,
}

/// The emulator's observer.
#[derive(Debug)]
pub struct Watch {
    look: Look,
    /// Lateness in seconds of packets that waited in the link. Other packets leave as they arrive
    /// and are never late.
    pub lateness: Vec<f64>,
    /// Time at which each packet entered the uplink.
    pub arrivals: Vec<Time>,
    /// Damage by direction.
    pub damage: [Damage; 2],
    /// Due times of packets that left in this step; the step's time is known only at its end.
    leaving: Vec<Time>,
    /// Bytes of the packets in the link, as they arrived.
    inside: HashMap<(WayId, u64), Vec<u8>>,
}

impl Watch {
    /// Creates an observer of lateness and of `look`.
    pub fn new(look: Look) -> Self {
        Self {
            look,
            lateness: Vec::new(),
            arrivals: Vec::new(),
            damage: [Damage::default(); 2],
            leaving: Vec::new(),
            inside: HashMap::new(),
        }
    }
}

impl Damage {
    /// Compares a packet before and after the link.
    fn note(&mut self, before: &[u8], after: &[u8]) {
        let Ok(headers) = Headers::parse(Layer::Ip, before) else { return };
        let Some(payload) = headers.payload() else { return };
        if headers.protocol() != headers::UDP {
            return;
        }
        let wrong_bits = |before: &[u8], after: &[u8]| -> u64 {
            before.iter().zip(after).map(|(one, other)| u64::from((one ^ other).count_ones())).sum()
        };
        let (in_headers, in_payload) = (
            wrong_bits(&before[..payload], &after[..payload]),
            wrong_bits(&before[payload..], &after[payload..]),
        );
        self.packets += 1;
        self.payload_bits += 8 * (before.len() - payload) as u64;
        self.wrong_payload_bits += in_payload;
        self.damaged += u64::from(in_headers + in_payload > 0);
        self.damaged_headers += u64::from(in_headers > 0);
        self.wrong_checksums += u64::from(checksum::verify(after, &headers) == ChecksumStatus::Wrong);
    }
}

impl Observer for Watch {
    fn entered(&mut self, way: WayId, number: u64, frame: &Frame, now: Time) {
        match self.look {
            Look::Arrivals if way == WayId(0) => self.arrivals.push(now),
            Look::Lateness | Look::Arrivals => {}
            Look::Bytes => {
                self.inside.insert((way, number), frame.to_bytes().into_owned());
            }
        }
    }

    fn ended(&mut self, way: WayId, packet: &Packet) {
        let before = self.inside.remove(&(way, packet.number));
        if packet.loss().is_some() {
            return;
        }
        if packet.at > packet.arrived {
            self.leaving.push(packet.at);
        }
        if let Some(before) = before {
            self.damage[way.0].note(&before, &packet.frame.to_bytes());
        }
    }

    fn settled(&mut self, now: Time) {
        for due in self.leaving.drain(..) {
            self.lateness.push(now.since(due).as_secs_f64());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns UDP over IPv4 with correct checksums and eight zero bytes.
    fn datagram() -> Vec<u8> {
        let mut bytes = vec![0x45, 0, 0, 36, 0, 0, 0x40, 0, 64, 17, 0, 0, 192, 0, 2, 1, 192, 0, 2, 2];
        bytes.extend([0x10, 0, 0x20, 0, 0, 16, 0, 0]);
        bytes.extend([0; 8]);
        checksum::recompute_ipv4(&mut bytes[..20]);
        // Pseudo-header and header: c000 + 0201 + c000 + 0202 + 0011 + 0010 + 1000 + 2000 + 0010,
        // complemented.
        let sum = [0xc000, 0x0201, 0xc000, 0x0202, 0x0011, 0x0010, 0x1000, 0x2000, 0x0010]
            .iter()
            .fold(0_u16, |sum, &word| checksum::add(sum, word));
        bytes[26..28].copy_from_slice(&(!sum).to_be_bytes());
        bytes
    }

    #[test]
    fn damage_is_told_by_where_it_is() {
        let before = datagram();
        let mut damage = Damage::default();
        damage.note(&before, &before);
        assert_eq!(damage, Damage { packets: 1, payload_bits: 64, ..Damage::default() });
        let mut after = before.clone();
        after[30] ^= 0x11;
        damage.note(&before, &after);
        assert_eq!((damage.damaged, damage.wrong_payload_bits, damage.wrong_checksums), (1, 2, 1));
        assert_eq!(damage.damaged_headers, 0);
        let mut after = before.clone();
        after[27] ^= 1;
        damage.note(&before, &after);
        assert_eq!((damage.damaged, damage.damaged_headers, damage.wrong_checksums), (2, 1, 2));
    }

    #[test]
    fn only_packets_that_waited_can_be_late() {
        let mut watch = Watch::new(Look::Lateness);
        let frame = || Frame::owned(Layer::Ip, datagram());
        let mut packet = Packet::new(0, frame(), Time::from_nanos(1000));
        watch.ended(WayId(0), &packet);
        watch.settled(Time::from_nanos(9000));
        assert!(watch.lateness.is_empty());
        packet.at = Time::from_nanos(2000);
        watch.ended(WayId(0), &packet);
        watch.settled(Time::from_nanos(2500));
        assert_eq!(watch.lateness, [500e-9]);
    }
}
