//! Blocks of RLP as a capture: what a receiver beside each end would show, all octets of every
//! block.
//!
//! Each end is an interface, `NAME wireless end` and `NAME network end`. A block is outbound where
//! it is sent, at the instant at which its first bit is, and inbound at the other end, at the
//! instant at which it is decoded. One that the air erases says so in its comment at both; where it
//! arrives, the flags say that its checksum was wrong, and the frame check sequence is inverted,
//! since which bits were wrong is not part of the model.
//!
//! Blocks are in GSMTAP (type 0x14, GSM RLP, by libosmocore's `gsmtap.h`) in UDP to port 4729,
//! which is what Wireshark dissects since 4.2. The addresses around them are of documentation (RFC
//! 5737): 192.0.2.1 is the wireless host and 192.0.2.2 the network. No such packet was ever sent.

use super::Way;
use crate::event::Header;
use crate::pcapng;
use crate::units::Time;
use packet::Layer;
use std::collections::BTreeMap;
use std::io::{self, Write};
use vocabulary::{Direction, LinkId};

/// UDP port of GSMTAP (IANA).
const PORT: u16 = 4729;
/// `GSMTAP_TYPE_GSM_RLP`.
const TYPE_RLP: u8 = 0x14;
/// `GSMTAP_CHANNEL_TCH_F`, a full-rate traffic channel.
const CHANNEL_FULL_RATE: u8 = 0x09;
/// `GSMTAP_ARFCN_F_UPLINK`.
const UPLINK: u16 = 0x4000;
/// Octets of the headers of IPv4, UDP and GSMTAP.
const HEADERS: usize = 20 + 8 + 16;
/// Octets of the frame check sequence at a block's end.
const FCS: usize = 3;
/// 26 TDMA frames take 120 ms (GSM 05.02), and their numbers begin again at the hyperframe's end.
const TDMA: (u128, u128, u128) = (26, 120_000_000, 2_715_648);

/// A block at one end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Block<'a> {
    /// On which link.
    pub link: LinkId,
    /// Which end, by the direction in which it sends.
    pub end: Direction,
    /// Whether this end sent or received it.
    pub way: Way,
    /// When its first bit was sent, or when it was decoded.
    pub at: Time,
    /// Its octets as they were sent, with their frame check sequence.
    pub octets: &'a [u8],
    /// Whether the air erased it.
    pub erased: bool,
}

/// Writes blocks to `W`, which should be buffered.
pub struct Writer<W> {
    output: pcapng::Writer<W>,
    header: Header,
    /// The interfaces of a link, that of the wireless end and that of the network's.
    interfaces: BTreeMap<LinkId, [u32; 2]>,
    packet: Vec<u8>,
}

impl<W: Write> Writer<W> {
    /// Begins a capture of the run with this header. A link's interfaces come with its first block.
    pub fn new(output: W, header: Header) -> io::Result<Self> {
        let application = format!("lasthop {}", header.lasthop);
        let output = pcapng::Writer::new(output, &application, u32::from(u16::MAX))?;
        Ok(Self { output, header, interfaces: BTreeMap::new(), packet: Vec::new() })
    }

    /// Adds a block.
    pub fn add(&mut self, block: &Block<'_>) -> io::Result<()> {
        let interface = self.interfaces(block.link)?[block.end as usize];
        let inbound = block.way == Way::Received;
        let direction = match (block.end, block.way) {
            (Direction::Up, Way::Sent) | (Direction::Down, Way::Received) => Direction::Up,
            _ => Direction::Down,
        };
        let wrong = inbound && block.erased;
        wrap(&mut self.packet, direction, block.at, block.octets);
        if wrong {
            let fcs = self.packet.len().saturating_sub(FCS).max(HEADERS);
            self.packet[fcs..].iter_mut().for_each(|octet| *octet = !*octet);
        }
        self.output.packet(&pcapng::Packet {
            interface,
            time: self.header.started.at(block.at),
            length: self.packet.len() as u32,
            bytes: &self.packet,
            comment: if block.erased { "lasthop: erased on the air" } else { "" },
            inbound,
            wrong_checksum: wrong,
        })
    }

    /// Hands everything to the system.
    pub fn flush(&mut self) -> io::Result<()> {
        self.output.flush()
    }

    /// What is written to.
    pub fn get_ref(&self) -> &W {
        self.output.get_ref()
    }

    fn interfaces(&mut self, link: LinkId) -> io::Result<[u32; 2]> {
        if let Some(&known) = self.interfaces.get(&link) {
            return Ok(known);
        }
        let name = self.header.link(link).map_or("link", |link| link.name.as_str());
        let mut both = [0; 2];
        for (number, end) in both.iter_mut().zip(["wireless", "network"]) {
            *number = self.output.interface(&pcapng::Interface {
                name: &format!("{name} {end} end"),
                description: "blocks of RLP in GSMTAP; the addresses around them stand for the ends",
                layer: Layer::Ip,
                bits_per_second: None,
            })?;
        }
        self.interfaces.insert(link, both);
        Ok(both)
    }
}

/// Puts headers before the octets of a block that goes in `direction`.
fn wrap(packet: &mut Vec<u8>, direction: Direction, at: Time, octets: &[u8]) {
    let total = (HEADERS + octets.len()) as u16;
    let (from, to, arfcn) = match direction {
        Direction::Up => (1, 2, UPLINK),
        Direction::Down => (2, 1, 0),
    };
    let (frames, nanos, hyperframe) = TDMA;
    let frame = (u128::from(at.as_nanos()) * frames / nanos % hyperframe) as u32;
    packet.clear();
    // IPv4: no options, may not be fragmented, 64 hops, UDP.
    packet.extend([0x45, 0]);
    packet.extend(total.to_be_bytes());
    packet.extend([0, 0, 0x40, 0, 64, 17, 0, 0, 192, 0, 2, from, 192, 0, 2, to]);
    packet::checksum::recompute_ipv4(packet);
    // UDP, without a checksum.
    packet.extend(PORT.to_be_bytes());
    packet.extend(PORT.to_be_bytes());
    packet.extend((total - 20).to_be_bytes());
    packet.extend([0, 0]);
    // GSMTAP, version 2, four words: type, time slot, ARFCN, signal, noise, TDMA frame, channel,
    // antenna, sub-slot.
    packet.extend([2, 4, TYPE_RLP, 0]);
    packet.extend(arfcn.to_be_bytes());
    packet.extend([0, 0]);
    packet.extend(frame.to_be_bytes());
    packet.extend([CHANNEL_FULL_RATE, 0, 0, 0]);
    packet.extend(octets);
}
