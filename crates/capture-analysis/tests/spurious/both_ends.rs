//! Verdicts with a second capture at the receiver.

use super::conversation::{MS, Packet, ack, data, examined, handshake, interfaces, said, stamped};
use capture_analysis::spurious::Evidence::Arrivals;
use capture_analysis::spurious::SpuriousVerdict::{Necessary, Spurious, Unknown};
use capture_analysis::spurious::pair;

/// The receiver's capture: its clock is three hours ahead, and data arrives 20 ms after it was
/// sent.
pub fn other_end(packets: &[Packet]) -> Vec<Packet> {
    let shift = |packet: &Packet| {
        let at = if packet.back { packet.at - 20 * MS } else { packet.at + 20 * MS };
        Packet { at: at + 10_800_000 * MS, ..packet.clone() }
    };
    packets.iter().map(shift).collect()
}

fn numbered(packets: &[Packet]) -> Vec<Packet> {
    packets
        .iter()
        .zip(1..)
        .map(|(packet, identification)| Packet { identification, ..packet.clone() })
        .collect()
}

/// The sender's capture, and the receiver's without the packets at `lost`.
fn ends(packets: &[Packet], lost: &[usize]) -> [Vec<Packet>; 2] {
    let sender = [handshake(true), packets.to_vec()].concat();
    let there =
        packets.iter().enumerate().filter(|(at, _)| !lost.contains(at)).map(|(_, packet)| packet.clone());
    let receiver = other_end(&[handshake(true), there.collect()].concat());
    [sender, receiver]
}

/// LL-27, section 14 item 21: decided by the numbers that had arrived, whatever the clocks say.
#[test]
fn ll_27_what_was_at_the_receiver_need_not_have_been_sent_again() {
    let packets = numbered(&[
        data(100, 1001, 100),
        data(500, 1001, 100),
        ack(540, 1101),
        data(600, 1101, 100),
        ack(640, 1201),
    ]);
    let verdict = |lost: &[usize]| said(&examined(&ends(&packets, lost)).retransmissions, Arrivals);
    assert_eq!(verdict(&[]), [Spurious]);
    assert_eq!(verdict(&[0]), [Necessary]);
    // The retransmission itself was lost; nevertheless it was not necessary.
    assert_eq!(verdict(&[1]), [Spurious]);
}

/// Only the packets around them distinguish the copies.
#[test]
fn copies_are_told_apart_by_their_neighbours() {
    let packets = [
        data(100, 1001, 100),
        data(101, 1101, 100),
        data(500, 1001, 100),
        ack(540, 1201),
        data(600, 1201, 100),
        ack(640, 1301),
    ];
    let verdict = |lost: &[usize]| said(&examined(&ends(&packets, lost)).retransmissions, Arrivals);
    assert_eq!(verdict(&[]), [Spurious]);
    assert_eq!(verdict(&[0]), [Necessary]);
    assert_eq!(verdict(&[2]), [Spurious]);
    // Without a packet between them, it is unknown which one arrived.
    let two =
        [data(100, 1001, 100), data(500, 1001, 100), ack(540, 1101), data(600, 1101, 100), ack(640, 1201)];
    assert_eq!(said(&examined(&ends(&two, &[0])).retransmissions, Arrivals), [Unknown]);
}

/// RFC 7323 section 5.3: TCP discards an original that arrives after a younger segment, so it has
/// to be retransmitted.
#[test]
fn what_paws_discards_was_not_received() {
    let sender = [
        stamped(data(100, 1001, 100), 100, 1),
        stamped(data(101, 1101, 100), 101, 1),
        stamped(data(500, 1001, 100), 500, 1),
        stamped(ack(545, 1101), 2, 500),
        stamped(data(600, 1101, 100), 600, 2),
        stamped(ack(645, 1201), 3, 600),
        stamped(data(700, 1201, 100), 700, 3),
        stamped(ack(745, 1301), 4, 700),
    ];
    let mut receiver = other_end(&[handshake(true), sender.to_vec()].concat());
    // The first segment is lost, and the second one arrives after the acknowledgment that
    // echoes 500.
    receiver.remove(3);
    receiver[3].at += 430 * MS;
    let captures = [[handshake(true), sender.to_vec()].concat(), receiver];
    assert_eq!(said(&examined(&captures).retransmissions, Arrivals), [Necessary, Necessary]);
}

/// A packet with a wrong checksum arrives, but is dropped.
#[test]
fn what_is_damaged_was_not_received() {
    let packets = numbered(&[
        data(100, 1001, 100),
        data(500, 1001, 100),
        ack(540, 1101),
        data(600, 1101, 100),
        ack(640, 1201),
    ]);
    let mut captures = ends(&packets, &[]);
    captures[1][3].damaged = true;
    assert_eq!(said(&examined(&captures).retransmissions, Arrivals), [Necessary]);
}

/// Packets in flight when the capture ended, and packets that are missing from a capture although
/// they were acknowledged.
#[test]
fn captures_that_are_not_whole_decide_nothing() {
    let packets = numbered(&[data(50, 1001, 100), ack(90, 1101), data(100, 1101, 100), data(500, 1101, 100)]);
    let verdict = |lost: &[usize]| said(&examined(&ends(&packets, lost)).retransmissions, Arrivals);
    assert_eq!(verdict(&[2, 3]), [Unknown]);
    assert_eq!(verdict(&[2]), [Necessary]);
    let packets = numbered(&[
        data(100, 1001, 100),
        data(500, 1001, 100),
        ack(540, 1101),
        data(600, 1101, 100),
        ack(640, 1201),
    ]);
    assert_eq!(said(&examined(&ends(&packets, &[0, 1])).retransmissions, Arrivals), [Unknown]);
}

/// Segments that the sender's kernel handed over in one piece, and that its network card split.
#[test]
fn large_segments_are_compared_byte_by_byte() {
    let whole = |at| data(at, 1001, 300);
    let sender = [
        handshake(true),
        vec![
            whole(100),
            data(300, 1301, 100),
            whole(500),
            ack(540, 1401),
            data(600, 1401, 100),
            ack(640, 1501),
        ],
    ]
    .concat();
    let parts = |at: u64| (0..3).map(move |n| data(at, 1001 + n * 100, 100));
    let late = |first: Vec<Packet>| {
        let rest = vec![data(300, 1301, 100)].into_iter().chain(parts(500)).chain([
            ack(540, 1401),
            data(600, 1401, 100),
            ack(640, 1501),
        ]);
        [sender.clone(), other_end(&[handshake(true), first, rest.collect()].concat())]
    };
    assert_eq!(said(&examined(&late(parts(100).collect())).retransmissions, Arrivals), [Spurious]);
    assert_eq!(said(&examined(&late(parts(100).take(2).collect())).retransmissions, Arrivals), [Necessary]);
}

/// The files may be in any order, and one of them behind address translation.
#[test]
fn the_senders_side_is_found_by_round_trips() {
    let packets = numbered(&[
        data(100, 1001, 100),
        data(500, 1001, 100),
        ack(540, 1101),
        data(600, 1101, 100),
        ack(640, 1201),
    ]);
    let [sender, receiver] = ends(&packets, &[0]);
    let there = examined(&[sender.clone(), receiver.clone()]);
    let back = examined(&[receiver.clone(), sender.clone()]);
    assert_eq!((there.sender.as_str(), there.receiver.as_deref()), ("sender", Some("receiver")));
    assert_eq!((back.sender.as_str(), back.receiver.as_deref()), ("receiver", Some("sender")));
    assert_eq!(there.retransmissions, back.retransmissions);
    let translated: Vec<Packet> =
        receiver.iter().map(|packet| Packet { translated: true, ..packet.clone() }).collect();
    assert_eq!(examined(&[sender.clone(), translated]).retransmissions, there.retransmissions);
    // One first number is not enough to recognise a flow: if that of the other direction differs,
    // it is another connection.
    let stranger = |packet: &Packet| {
        let (seq, ack) =
            if packet.back { (packet.seq + 9, packet.ack) } else { (packet.seq, packet.ack + 9) };
        Packet { translated: true, seq, ack, ..packet.clone() }
    };
    let strange: Vec<Packet> = receiver.iter().map(stranger).collect();
    assert_eq!(pair(&interfaces(&[sender.clone(), strange])).len(), 2);
    // Other first numbers: another connection with the same ports.
    let other: Vec<Packet> =
        receiver.iter().map(|packet| Packet { seq: packet.seq + 7, ..packet.clone() }).collect();
    assert_eq!(pair(&interfaces(&[sender, other])).len(), 2);
}
