//! Packets of a synthetic download: a sender with a constant rate, bursts of losses, SACK, fast
//! retransmits.

use capture::{
    CaptureTo, ChannelState, Direction, EndedPacket, Header, Layer, LinkId, LinkInfo, Loss, Outcome,
    Recorder, RecorderOptions, Time, WallTime, WayInfo,
};
use etherparse::{PacketBuilder, TcpOptionElement};
use std::collections::BTreeSet;
use std::path::Path;

/// Segments of the download.
pub const SEGMENTS: u32 = 300;

const SERVER: [u8; 4] = [100, 64, 0, 1];
const HOST: [u8; 4] = [100, 64, 0, 2];
const DATA: u32 = 524;
/// First sequence number of the server, chosen so that it wraps during the download.
const START: u32 = u32::MAX - 20_000;
/// Time from one segment to the next: 576 bytes at 384 kbit/s.
const INTERVAL: u64 = 12_000_000;
/// One-way delay.
const DELAY: u64 = 70_000_000;

/// A packet: when it reaches the link, its direction, its bytes, and whether the link loses it.
struct Packet {
    at: u64,
    direction: Direction,
    bytes: Vec<u8>,
    lost: bool,
}

/// Writes the capture and the event log of a download in which these segments are lost once.
pub fn write(capture: &Path, events: &Path, started_unix_ns: u64, seed: u64, lost: &[u32]) {
    let mut packets = packets(lost);
    packets.sort_by_key(|packet| packet.at);
    record(capture, events, started_unix_ns, seed, &packets);
}

fn packets(lost: &[u32]) -> Vec<Packet> {
    let mut all = handshake();
    let begin = 2 * DELAY + 1_000_000;
    let sent = |segment: u32| begin + u64::from(segment) * INTERVAL;
    // When each segment reaches the host. A lost one does so with its retransmission, after three
    // later segments have revealed the hole.
    let mut arrivals = Vec::new();
    let mut again = begin;
    for segment in 0..SEGMENTS {
        let is_lost = lost.contains(&segment);
        all.push(data(sent(segment), segment, is_lost));
        if is_lost {
            let told =
                (segment + 1..SEGMENTS).filter(|later| !lost.contains(later)).nth(2).expect("later segments");
            again = again.max(sent(told) + 2 * DELAY) + INTERVAL;
            all.push(data(again, segment, false));
            arrivals.push((again + DELAY, segment));
        } else {
            arrivals.push((sent(segment) + DELAY, segment));
        }
    }
    arrivals.sort_unstable();
    let mut there = BTreeSet::new();
    for (at, segment) in arrivals {
        there.insert(segment);
        let missing = |segment: &u32| !there.contains(segment);
        let next = (0..SEGMENTS).find(missing).unwrap_or(SEGMENTS);
        let block = (segment > next).then(|| {
            let before = (next..segment).rev().find(missing).expect("the first missing one");
            let behind = (segment..SEGMENTS).find(missing).unwrap_or(SEGMENTS);
            (number(before + 1), number(behind))
        });
        all.push(acknowledgement(at + 1_000, number(next), block));
    }
    all
}

/// Returns the sequence number of a segment's first byte.
fn number(segment: u32) -> u32 {
    START.wrapping_add(1 + segment * DATA)
}

fn packet(
    at: u64,
    direction: Direction,
    builder: etherparse::PacketBuilderStep<etherparse::TcpHeader>,
    length: u32,
) -> Packet {
    let mut bytes = Vec::new();
    builder.write(&mut bytes, &vec![0; length as usize]).expect("a packet");
    Packet { at, direction, bytes, lost: false }
}

fn handshake() -> Vec<Packet> {
    let options =
        [TcpOptionElement::MaximumSegmentSize(536), TcpOptionElement::SelectiveAcknowledgementPermitted];
    let syn = PacketBuilder::ipv4(HOST, SERVER, 64)
        .tcp(40_000, 80, 7, 32_696)
        .syn()
        .options(&options)
        .expect("options");
    let both =
        PacketBuilder::ipv4(SERVER, HOST, 64).tcp(80, 40_000, START, 2_144).syn().ack(8).options(&options);
    vec![
        packet(0, Direction::Up, syn, 0),
        packet(DELAY, Direction::Down, both.expect("options"), 0),
        acknowledgement(2 * DELAY, START.wrapping_add(1), None),
    ]
}

fn data(at: u64, segment: u32, lost: bool) -> Packet {
    let mut builder = PacketBuilder::ipv4(SERVER, HOST, 64).tcp(80, 40_000, number(segment), 2_144).ack(8);
    if segment == SEGMENTS - 1 {
        builder = builder.psh();
    }
    Packet { lost, ..packet(at, Direction::Down, builder, DATA) }
}

fn acknowledgement(at: u64, next: u32, block: Option<(u32, u32)>) -> Packet {
    let builder = PacketBuilder::ipv4(HOST, SERVER, 64).tcp(40_000, 80, 8, 32_696).ack(next);
    let builder = match block {
        None => builder,
        Some(block) => {
            let option = TcpOptionElement::SelectiveAcknowledgement(block, [None; 3]);
            builder.options(&[option]).expect("an option")
        }
    };
    packet(at, Direction::Up, builder, 0)
}

/// Shows the recorder what an emulator would show it.
fn record(capture: &Path, events: &Path, started_unix_ns: u64, seed: u64, packets: &[Packet]) {
    let way = || WayInfo {
        profile: "umts".into(),
        bits_per_second: Some(384_000),
        stages: vec!["errors".into()],
        ..WayInfo::default()
    };
    let link =
        LinkInfo { id: LinkId(0), name: "wlan".into(), layer: Layer::Ip, mtu: 576, up: way(), down: way() };
    let header = Header::new("0.1.0", WallTime::from_nanos(started_unix_ns), seed, vec![link]);
    let options = RecorderOptions {
        capture: Some(CaptureTo::Path(capture.to_owned())),
        events: Some(events.to_owned()),
        ..RecorderOptions::default()
    };
    let mut recorder = Recorder::start(header, options).expect("a recorder");
    let mut numbers = [0, 0];
    // Arrivals and departures in the order of their times: (time, index, whether it is a
    // departure).
    let mut steps: Vec<(u64, usize, bool)> = Vec::new();
    for (index, packet) in packets.iter().enumerate() {
        steps.push((packet.at, index, false));
        steps.push((packet.at + if packet.direction == Direction::Down { DELAY } else { 0 }, index, true));
    }
    steps.sort_unstable();
    let mut number_of = vec![0; packets.len()];
    for (at, index, ends) in steps {
        let packet = &packets[index];
        let (arrived, length) = (Time::from_nanos(packet.at), packet.bytes.len() as u32);
        if !ends {
            let number = &mut numbers[usize::from(packet.direction == Direction::Down)];
            number_of[index] = *number;
            *number += 1;
            recorder.entered(LinkId(0), packet.direction, number_of[index], arrived, length, &packet.bytes);
            continue;
        }
        let ended = EndedPacket {
            outcome: if packet.lost { Outcome::Lost(Loss::Error) } else { Outcome::Delivered },
            stage: packet.lost.then_some(0),
            channel: Some(if packet.lost { ChannelState::Bad } else { ChannelState::Good }),
            ..EndedPacket::untouched(
                LinkId(0),
                packet.direction,
                number_of[index],
                length,
                arrived,
                Time::from_nanos(at),
            )
        };
        recorder.ended(&ended, &packet.bytes);
        recorder.settled(Time::from_nanos(at));
    }
    let end = packets.last().map_or(0, |packet| packet.at) + DELAY;
    recorder.close(Time::from_nanos(end)).expect("a capture and an event log");
}
