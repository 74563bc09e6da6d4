//! Causes of retransmissions, round-trip times, silences and reused ports, on conversations written
//! packet by packet.

use capture_analysis::analysis::{self, AnalysisOptions, Unwatched};
use capture_analysis::{Analysis, Connection};
use etherparse::{PacketBuilder, TcpOptionElement};
use proptest::prelude::*;
use std::path::Path;

const MS: u64 = 1_000_000;
const SECOND: u64 = 1000 * MS;

/// Payloads longer than this are not captured at all.
const SNAPPED: usize = 5000;

/// One packet. The client's first number is 1000, the server's 5000; data goes from the client to
/// the server.
#[derive(Debug, Clone, Default)]
struct Packet {
    at: u64,
    back: bool,
    flags: &'static str,
    seq: u32,
    ack: u32,
    len: usize,
    stamps: Option<(u32, u32)>,
    /// 1000 if it is `None`.
    window: Option<u16>,
    sacks: Vec<(u32, u32)>,
}

fn data(at: u64, seq: u32, len: usize) -> Packet {
    Packet { at, flags: "A", seq, ack: 5001, len, ..Packet::default() }
}

fn ack(at: u64, ack: u32) -> Packet {
    Packet { at, back: true, flags: "A", seq: 5001, ack, ..Packet::default() }
}

fn sack(at: u64, number: u32, sacks: &[(u32, u32)]) -> Packet {
    Packet { sacks: sacks.to_vec(), ..ack(at, number) }
}

fn handshake() -> Vec<Packet> {
    vec![
        Packet { flags: "S", seq: 1000, ..Packet::default() },
        Packet { at: 40 * MS, back: true, flags: "SA", seq: 5000, ack: 1001, ..Packet::default() },
        data(40 * MS, 1001, 0),
    ]
}

fn write(packet: &Packet) -> Vec<u8> {
    let ends = ([10, 0, 0, 1], 1111, [10, 0, 0, 2], 80);
    let (source, sport, destination, dport) =
        if packet.back { (ends.2, ends.3, ends.0, ends.1) } else { ends };
    let mut builder = PacketBuilder::ipv4(source, destination, 64).tcp(
        sport,
        dport,
        packet.seq,
        packet.window.unwrap_or(1000),
    );
    for flag in packet.flags.chars() {
        builder = match flag {
            'S' => builder.syn(),
            'F' => builder.fin(),
            'R' => builder.rst(),
            'P' => builder.psh(),
            _ => builder.ack(packet.ack),
        };
    }
    let mut options = Vec::new();
    if let Some((value, echo)) = packet.stamps {
        options.push(TcpOptionElement::Timestamp(value, echo));
    }
    if let Some((first, rest)) = packet.sacks.split_first() {
        let mut more = [None; 3];
        rest.iter().zip(&mut more).for_each(|(block, place)| *place = Some(*block));
        options.push(TcpOptionElement::SelectiveAcknowledgement(*first, more));
    }
    let mut bytes = Vec::new();
    let builder = builder.options(&options).expect("options fit");
    let captured = if packet.len > SNAPPED { 0 } else { packet.len };
    builder.write(&mut bytes, &vec![7; captured]).expect("a packet");
    let length = (bytes.len() + packet.len - captured) as u16;
    bytes[2..4].copy_from_slice(&length.to_be_bytes());
    bytes
}

fn pcap(packets: &[Packet]) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut words =
        |words: [u64; 4]| words.iter().for_each(|word| bytes.extend((*word as u32).to_le_bytes()));
    words([0xa1b2_3c4d, 0x0004_0002, 0, 0]);
    bytes.extend([65535_u32, 101].iter().flat_map(|word| word.to_le_bytes()));
    for packet in packets {
        let written = write(packet);
        let length = written.len() as u64;
        for word in [1000 + packet.at / SECOND, packet.at % SECOND, length, length] {
            bytes.extend((word as u32).to_le_bytes());
        }
        bytes.extend(written);
    }
    bytes
}

fn analyse(packets: &[Packet]) -> Analysis {
    let bytes = pcap(packets);
    let reader = capture::packets::Reader::new(&bytes[..]).expect("a capture");
    let trace = analysis::analyse(reader, Path::new("test"), &AnalysisOptions::default(), &mut Unwatched);
    trace.expect("no I/O error").interfaces.remove(0)
}

/// Returns the only connection, which begins with a handshake.
fn connection(packets: &[Packet]) -> Connection {
    let analysis = analyse(&[handshake(), packets.to_vec()].concat());
    let [connection] = analysis.connections.all() else { panic!("one connection") };
    connection.clone()
}

#[test]
fn three_duplicates_make_a_fast_retransmission() {
    let mut packets: Vec<_> =
        (0..6).map(|number| data((100 + u64::from(number)) * MS, 1001 + number * 100, 100)).collect();
    packets.push(ack(140 * MS, 1101));
    packets.extend((1..4).map(|number| ack((140 + number) * MS, 1101)));
    packets.push(data(144 * MS, 1101, 100));
    packets.push(ack(190 * MS, 1601));
    let connection = connection(&packets);
    let causes = connection.halves[0].retransmissions();
    assert_eq!((causes.fast, causes.timeout, causes.unknown), (1, 0, 0));
    let sender = connection.halves[0].counts;
    assert_eq!((sender.duplicate_acks, sender.triple_duplicate_acks), (3, 1));
    assert_eq!(connection.halves[1].counts.duplicate_acks, 0);
}

/// An acknowledgment with another window is not one of tshark's duplicates, but its SACK reports
/// the loss.
#[test]
fn duplicates_are_those_of_tshark_and_losses_are_told_by_sack() {
    let mut packets: Vec<_> =
        (0..6).map(|number| data((100 + u64::from(number)) * MS, 1001 + number * 100, 100)).collect();
    packets.push(ack(140 * MS, 1101));
    for (place, window) in [(1, 1000), (2, 900), (3, 900), (4, 800)] {
        let edge = 1201 + 100 * place;
        packets.push(Packet {
            window: Some(window),
            ..sack((140 + u64::from(place)) * MS, 1101, &[(1201, edge)])
        });
    }
    packets.push(data(145 * MS, 1101, 100));
    let told = connection(&packets);
    assert_eq!(told.halves[0].retransmissions().fast, 1);
    // The first and the third have the same window as the one before.
    assert_eq!((told.halves[0].counts.duplicate_acks, told.halves[0].counts.triple_duplicate_acks), (2, 0));
}

/// A segment doubled by the network causes a duplicate although nothing is in flight; a keep-alive
/// causes none.
#[test]
fn duplicates_without_data_on_its_way() {
    let packets = [
        data(100 * MS, 1001, 100),
        ack(140 * MS, 1101),
        data(150 * MS, 1001, 100),
        ack(190 * MS, 1101),
        data(60 * SECOND, 1100, 0),
        ack(60 * SECOND + 40 * MS, 1101),
    ];
    assert_eq!(connection(&packets).halves[0].counts.duplicate_acks, 1);
}

#[test]
fn sack_makes_retransmissions_fast_until_recovery_ends() {
    let mut packets: Vec<_> =
        (0..6).map(|number| data((100 + u64::from(number)) * MS, 1001 + number * 100, 100)).collect();
    packets.push(sack(140 * MS, 1101, &[(1301, 1601)]));
    packets.push(data(141 * MS, 1101, 100));
    packets.push(data(142 * MS, 1201, 100));
    packets.push(ack(190 * MS, 1601));
    let causes = connection(&packets).halves[0].retransmissions();
    assert_eq!((causes.fast, causes.timeouts), (2, 0));
}

#[test]
fn silence_makes_timeouts_and_what_follows_belongs_to_them() {
    let mut packets: Vec<_> =
        (0..3).map(|number| data((100 + u64::from(number)) * MS, 1001 + number * 100, 100)).collect();
    // The timer backs off once, then everything is retransmitted.
    packets.push(data(400 * MS, 1001, 100));
    packets.push(data(1100 * MS, 1001, 100));
    packets.push(ack(1140 * MS, 1101));
    packets.push(data(1141 * MS, 1101, 100));
    packets.push(data(1142 * MS, 1201, 100));
    packets.push(ack(1190 * MS, 1301));
    let causes = connection(&packets).halves[0].retransmissions();
    assert_eq!((causes.timeout, causes.timeouts, causes.fast), (4, 2, 0));
}

#[test]
fn a_retransmission_is_spurious_if_the_acknowledgment_echoes_an_earlier_stamp() {
    // RFC 3522. The first segment's acknowledgment was delayed; the second segment was really lost.
    let stamped = |packet: Packet, value, echo| Packet { stamps: Some((value, echo)), ..packet };
    let packets = [
        stamped(data(100 * MS, 1001, 100), 100, 1),
        stamped(data(500 * MS, 1001, 100), 500, 1),
        stamped(ack(510 * MS, 1101), 2, 100),
        stamped(data(600 * MS, 1101, 100), 600, 2),
        stamped(data(1100 * MS, 1101, 100), 1100, 2),
        stamped(ack(1140 * MS, 1201), 3, 1100),
    ];
    let causes = connection(&packets).halves[0].retransmissions();
    assert_eq!((causes.timeout, causes.spurious_by_timestamps), (2, 1));
}

#[test]
fn a_retransmission_is_spurious_if_a_duplicate_sack_tells_of_it() {
    let packets = [
        data(100 * MS, 1001, 100),
        data(500 * MS, 1001, 100),
        ack(510 * MS, 1101),
        sack(560 * MS, 1101, &[(1001, 1101)]),
    ];
    let connection = connection(&packets);
    let causes = connection.halves[0].retransmissions();
    assert_eq!((causes.spurious_by_dsack, causes.spurious_by_timestamps), (1, 0));
    assert_eq!(connection.halves[1].counts.dsack_packets, 1);
}

#[test]
fn the_newest_data_sent_again_without_a_signal_is_a_tail_probe() {
    let packets = [
        data(100 * MS, 1001, 100),
        ack(140 * MS, 1101),
        data(150 * MS, 1101, 100),
        data(151 * MS, 1201, 100),
        data(245 * MS, 1201, 100),
        ack(290 * MS, 1301),
    ];
    let causes = connection(&packets).halves[0].retransmissions();
    assert_eq!((causes.tail_probe, causes.timeout), (1, 0));
}

#[test]
fn a_byte_below_the_acknowledgment_keeps_alive() {
    let packets = [data(100 * MS, 1001, 100), ack(140 * MS, 1101), data(60 * SECOND, 1100, 1)];
    assert_eq!(connection(&packets).halves[0].retransmissions().keep_alive, 1);
}

#[test]
fn round_trips_leave_out_what_was_sent_twice() {
    // Karn's rule: 40 ms and 60 ms count (and the SYN's 40 ms), the retransmitted segment does not.
    let packets = [
        data(100 * MS, 1001, 100),
        ack(140 * MS, 1101),
        data(200 * MS, 1101, 100),
        data(500 * MS, 1101, 100),
        ack(510 * MS, 1201),
        data(600 * MS, 1201, 100),
        data(601 * MS, 1301, 100),
        ack(661 * MS, 1401),
    ];
    let trips = connection(&packets).halves[0].round_trips();
    assert_eq!((trips.count, trips.min_ns, trips.max_ns), (3, 40 * MS, 60 * MS));
}

#[test]
fn a_sack_in_a_reset_is_one_of_those_sent_and_none_of_the_acknowledgments() {
    // As tcptrace counts them: "sacks sent" 2, "sack pkts sent" 1.
    let reset = Packet { flags: "AR", ..sack(141 * MS, 1001, &[(1101, 1201)]) };
    let packets = [data(100 * MS, 1101, 100), sack(140 * MS, 1001, &[(1101, 1201)]), reset];
    let counts = connection(&packets).halves[1].counts;
    assert_eq!((counts.sacks, counts.sack_packets, counts.sack_blocks), (2, 1, 2));
}

#[test]
fn tl_25_a_silence_is_flagged_with_its_place_and_cause() {
    // Appendix B of the TCP Lite thesis: about 32 s without a packet until the next timeout.
    let packets = [
        data(SECOND, 1001, 100),
        data(SECOND + MS, 1101, 100),
        ack(SECOND + 40 * MS, 1101),
        data(33 * SECOND, 1101, 100),
        ack(33 * SECOND + 40 * MS, 1201),
        data(60 * SECOND, 1201, 100),
    ];
    let gaps = connection(&packets).gaps;
    assert_eq!((gaps.count, gaps.longest_ns), (2, 31_960 * MS));
    let first = &gaps.gaps[0];
    assert_eq!((first.ended_by, first.ended_with, first.sequence), (0, "retransmission by timeout", 101));
    assert_eq!((first.outstanding, gaps.gaps[1].outstanding), ([true, false], [false, false]));
    assert_eq!(gaps.gaps[1].ended_with, "new data");
}

#[test]
fn ports_used_again_are_another_connection() {
    let later = |packets: Vec<Packet>, by: u64, seq: u32| -> Vec<Packet> {
        let shift = |packet: Packet| Packet { at: packet.at + by, seq: packet.seq + seq, ..packet };
        packets.into_iter().map(shift).collect()
    };
    let ended = vec![Packet { flags: "R", ..data(200 * MS, 1001, 0) }];
    let reused = [handshake(), ended, later(handshake(), SECOND, 70_000)].concat();
    assert_eq!(analyse(&reused).connections.all().len(), 2);
    // A repeated SYN begins no other connection, nor does a SYN on a connection that has not ended.
    let again = [handshake(), later(handshake(), SECOND, 0)].concat();
    assert_eq!(analyse(&again).connections.all().len(), 1);
    // Four minutes of silence do.
    let forgotten = [handshake(), later(handshake(), 241 * SECOND, 0)].concat();
    assert_eq!(analyse(&forgotten).connections.all().len(), 2);
}

#[test]
fn more_than_four_gigabytes_are_counted() {
    let step = 60_000_u32;
    let count = 80_000_u32;
    let mut packets: Vec<_> = (0..count)
        .flat_map(|number| {
            let at = 100 * MS + u64::from(number) * MS;
            let seq = 1001_u32.wrapping_add(number.wrapping_mul(step));
            [data(at, seq, step as usize), ack(at, seq.wrapping_add(step))]
        })
        .collect();
    let seq = 1001_u32.wrapping_add(count.wrapping_mul(step));
    packets.push(Packet { flags: "FA", ..data(200 * SECOND, seq, 0) });
    let connection = connection(&packets);
    let bytes = u64::from(step) * u64::from(count);
    let half = &connection.halves[0];
    assert_eq!(
        (half.unique_bytes(), half.stream_length(), half.missed_bytes()),
        (bytes, Some(bytes), Some(0))
    );
    assert_eq!((half.counts.retransmitted_packets, half.counts.truncated_bytes), (0, bytes));
}

fn arbitrary() -> impl Strategy<Value = Packet> {
    let numbers = || prop_oneof![Just(1000_u32), 1001_u32..3000, 5000_u32..6000, any::<u32>()];
    (
        (
            0_u64..2 * SECOND,
            any::<bool>(),
            prop::sample::select(&["A", "A", "A", "PA", "S", "SA", "FA", "R", ""][..]),
        ),
        (numbers(), numbers(), prop::sample::select(&[0_usize, 0, 1, 100, 1400][..])),
        prop::option::of(any::<(u32, u32)>()),
        prop::collection::vec((numbers(), numbers()), 0..3),
    )
        .prop_map(|((at, back, flags), (seq, ack, len), stamps, sacks)| Packet {
            at,
            back,
            flags,
            seq,
            ack,
            len,
            stamps,
            sacks,
            window: None,
        })
}

proptest! {
    /// Figures agree with each other for all packets.
    #[test]
    fn figures_agree(packets in prop::collection::vec(arbitrary(), 0..80), cut in 0_usize..400) {
        let mut at = 0;
        let packets: Vec<_> = packets.into_iter().map(|packet| { at += packet.at; Packet { at, ..packet } }).collect();
        let bytes = pcap(&packets);
        capture_analysis::fuzz::trace(&bytes);
        capture_analysis::fuzz::directions(&bytes);
        capture_analysis::fuzz::trace(&bytes[..bytes.len().saturating_sub(cut)]);
    }

    /// Clocks are set back, and interfaces with several queues deliver packets in another order
    /// than that of their time stamps.
    #[test]
    fn times_that_go_back_do_no_harm(packets in prop::collection::vec(arbitrary(), 0..80)) {
        let bytes = pcap(&packets);
        capture_analysis::fuzz::trace(&bytes);
        capture_analysis::fuzz::directions(&bytes);
    }

    #[test]
    fn bytes_from_anywhere_do_no_harm(bytes in prop::collection::vec(any::<u8>(), 0..400), start in 0_usize..3) {
        let header = pcap(&[]);
        let magic: &[u8] = [&header[..], &[0x0A, 0x0D, 0x0D, 0x0A], &[]][start];
        capture_analysis::fuzz::trace(&[magic, &bytes].concat());
        capture_analysis::fuzz::directions(&[magic, &bytes].concat());
    }

    #[test]
    fn wrong_bytes_in_a_real_capture_do_no_harm(
        wrong in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..40),
        name in prop::sample::select(&["outage.pcapng", "again.pcap", "cooked.pcap", "ipv6.pcap", "short.pcap"][..]),
    ) {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/captures").join(name);
        let mut bytes = std::fs::read(path).expect("a capture");
        for (at, byte) in wrong {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        capture_analysis::fuzz::trace(&bytes);
        capture_analysis::fuzz::directions(&bytes);
    }
}
