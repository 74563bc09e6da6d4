//! RLP blocks as a capture, with all their octets, as a receiver beside each end would show them.
//!
//! Each end is an interface, `NAME wireless end` and `NAME network end`. A block is outbound at its
//! sender, at the time when its first bit is sent. It is inbound at the other end, at the time when
//! it is decoded.
//!
//! An erased block has a comment at both ends. At the receiver, the flags also report a checksum
//! error, and the frame check sequence is inverted, since the model does not define which bits were
//! wrong.
//!
//! Blocks are in GSMTAP (type 0x14, GSM RLP, as in libosmocore's `gsmtap.h`) in UDP to port 4729,
//! which Wireshark dissects since 4.2. The IP addresses are for documentation (RFC 5737): 192.0.2.1
//! is the wireless host and 192.0.2.2 the network. No such packet was ever sent.

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
/// Length of the headers of IPv4, UDP and GSMTAP, in octets.
const HEADERS: usize = 20 + 8 + 16;
/// Length of the frame check sequence at a block's end, in octets.
const FCS: usize = 3;
/// TDMA frames in a period, the period in nanoseconds, and frames of a hyperframe. 26 frames take
/// 120 ms (GSM 05.02), and their numbers start again after a hyperframe.
const TDMA: (u128, u128, u128) = (26, 120_000_000, 2_715_648);

/// A block at one end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Block<'a> {
    /// The link.
    pub link: LinkId,
    /// The end, named by the direction in which it sends.
    pub end: Direction,
    /// Whether this end sent or received it.
    pub way: Way,
    /// When its first bit was sent, or when it was decoded.
    pub at: Time,
    /// Its octets as sent, including the frame check sequence.
    pub octets: &'a [u8],
    /// Whether it was erased on the air.
    pub erased: bool,
}

/// Writes blocks to `W`, which should be buffered.
pub struct Writer<W> {
    output: pcapng::Writer<W>,
    header: Header,
    /// Interfaces of a link: at the wireless end and at the network end.
    interfaces: BTreeMap<LinkId, [u32; 2]>,
    packet: Vec<u8>,
}

impl<W: Write> Writer<W> {
    /// Begins a capture of the run with this header. A link's interfaces come before its first
    /// block.
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

    /// Flushes the output.
    pub fn flush(&mut self) -> io::Result<()> {
        self.output.flush()
    }

    /// Returns the output.
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
    // IPv4: no options, don't fragment, 64 hops, UDP.
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
