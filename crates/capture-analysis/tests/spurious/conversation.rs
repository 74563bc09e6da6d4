//! Conversations as captures. The client's first number is 1000, the server's 5000; data goes from
//! the client to the server.

use capture_analysis::analysis::{self, AnalysisOptions, Unwatched};
use capture_analysis::spurious::collect::{Collector, Interface};
use capture_analysis::spurious::{Evidence, Examined, Retransmission, SpuriousVerdict, examine, pair};
use etherparse::{PacketBuilder, TcpOptionElement};
use std::path::Path;

/// A millisecond in nanoseconds.
pub const MS: u64 = 1_000_000;

/// One packet.
#[derive(Debug, Clone, Default)]
#[expect(clippy::struct_excessive_bools, reason = "each is a property of the packet of its own")]
pub struct Packet {
    pub at: u64,
    pub back: bool,
    pub syn: bool,
    pub seq: u32,
    pub ack: u32,
    pub len: usize,
    pub stamps: Option<(u32, u32)>,
    pub sacks: Vec<(u32, u32)>,
    pub sack_permitted: bool,
    pub identification: u16,
    pub damaged: bool,
    /// The client has another address: it is behind address translation.
    pub translated: bool,
}

/// Data of the client at `at` milliseconds.
pub fn data(at: u64, seq: u32, len: usize) -> Packet {
    Packet { at: at * MS, seq, ack: 5001, len, ..Packet::default() }
}

/// An acknowledgment of the server at `at` milliseconds.
pub fn ack(at: u64, ack: u32) -> Packet {
    Packet { at: at * MS, back: true, seq: 5001, ack, ..Packet::default() }
}

/// Like `ack`, with SACK blocks.
pub fn sack(at: u64, number: u32, sacks: &[(u32, u32)]) -> Packet {
    Packet { sacks: sacks.to_vec(), ..ack(at, number) }
}

/// The packet with a time stamp and the one that it echoes.
pub fn stamped(packet: Packet, value: u32, echo: u32) -> Packet {
    Packet { stamps: Some((value, echo)), ..packet }
}

/// The handshake, which takes 40 ms.
pub fn handshake(sack_permitted: bool) -> Vec<Packet> {
    vec![
        Packet { syn: true, seq: 1000, sack_permitted, ..Packet::default() },
        Packet {
            at: 40 * MS,
            back: true,
            syn: true,
            seq: 5000,
            ack: 1001,
            sack_permitted,
            ..Packet::default()
        },
        data(40, 1001, 0),
    ]
}

fn write(packet: &Packet) -> Vec<u8> {
    let client = [10, 0, if packet.translated { 9 } else { 0 }, 1];
    let ends = (client, 1111, [10, 0, 0, 2], 80);
    let (source, sport, destination, dport) =
        if packet.back { (ends.2, ends.3, ends.0, ends.1) } else { ends };
    let mut builder = PacketBuilder::ipv4(source, destination, 64).tcp(sport, dport, packet.seq, 1000);
    if packet.syn {
        builder = builder.syn();
    }
    if !packet.syn || packet.back {
        builder = builder.ack(packet.ack);
    }
    let mut options = Vec::new();
    if packet.sack_permitted {
        options.push(TcpOptionElement::SelectiveAcknowledgementPermitted);
    }
    if let Some((value, echo)) = packet.stamps {
        options.push(TcpOptionElement::Timestamp(value, echo));
    }
    if let Some((first, rest)) = packet.sacks.split_first() {
        let mut more = [None; 3];
        rest.iter().zip(&mut more).for_each(|(block, place)| *place = Some(*block));
        options.push(TcpOptionElement::SelectiveAcknowledgement(*first, more));
    }
    let mut bytes = Vec::new();
    builder
        .options(&options)
        .expect("options fit")
        .write(&mut bytes, &vec![7; packet.len])
        .expect("a packet");
    bytes[4..6].copy_from_slice(&packet.identification.to_be_bytes());
    if packet.damaged {
        let last = bytes.len() - 1;
        bytes[last] ^= 1;
    }
    bytes
}

/// Returns a capture of these packets in the order of time; packets with equal times keep their
/// order.
pub fn capture(packets: &[Packet]) -> Vec<u8> {
    let mut packets = packets.to_vec();
    packets.sort_by_key(|packet| packet.at);
    // Nanoseconds, link type RAW.
    let mut bytes: Vec<u8> =
        [0xa1b2_3c4d_u32, 0x0004_0002, 0, 0, 65535, 101].iter().flat_map(|word| word.to_le_bytes()).collect();
    for packet in &packets {
        let written = write(packet);
        let (seconds, nanos) = (1000 + packet.at / (1000 * MS), packet.at % (1000 * MS));
        let length = written.len() as u32;
        bytes.extend(
            [seconds as u32, nanos as u32, length, length].iter().flat_map(|word| word.to_le_bytes()),
        );
        bytes.extend(written);
    }
    bytes
}

/// Returns the interfaces of these captures, one each.
pub fn interfaces(captures: &[Vec<Packet>]) -> Vec<Interface> {
    let read = |(packets, name): (&Vec<Packet>, &str)| {
        let bytes = capture(packets);
        let reader = capture::packets::Reader::new(&bytes[..]).expect("a capture");
        let mut collector = Collector::new(Unwatched);
        let trace = analysis::analyse(reader, Path::new(name), &AnalysisOptions::default(), &mut collector)
            .expect("no I/O error");
        collector.finish(name, &trace).remove(0)
    };
    captures.iter().zip(["sender", "receiver"]).map(read).collect()
}

/// Examines the only direction with data in these captures.
pub fn examined(captures: &[Vec<Packet>]) -> Examined {
    let interfaces = interfaces(captures);
    let sides = pair(&interfaces);
    assert_eq!(sides.len(), 1, "one flow carries data");
    examine(&sides[0], None)
}

/// Returns the retransmissions in a sender's capture of a handshake and these packets.
pub fn seen(sack: bool, packets: &[Packet]) -> Vec<Retransmission> {
    examined(&[[handshake(sack), packets.to_vec()].concat()]).retransmissions
}

/// Returns one evidence's verdict on each retransmission.
pub fn said(retransmissions: &[Retransmission], evidence: Evidence) -> Vec<SpuriousVerdict> {
    retransmissions.iter().map(|again| again.signs.of(evidence)).collect()
}
