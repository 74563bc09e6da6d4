//! Tests of marks instead of losses (RFC 3168) for ECN-capable transports.

use super::*;

/// Builds a packet of 40 bytes, IPv4 or IPv6, with this ECN field.
fn with_ecn(version: u64, ecn: u8) -> Frame {
    let mut bytes = vec![0; 40];
    if version == 6 {
        (bytes[0], bytes[1], bytes[6]) = (0x60, ecn << 4, 59);
    } else {
        (bytes[0], bytes[1], bytes[3], bytes[8], bytes[9]) = (0x45, ecn, 40, 64, 253);
    }
    Frame::owned(Layer::Ip, bytes)
}

/// Returns the fates of twice as many packets as the limiter can send; every second packet is
/// ECN-capable.
fn overloaded(queue: QueueSpec) -> Vec<Fate> {
    // 40 bytes at 3.2 Mbit/s take 100 us.
    let mut stage = made(BottleneckSpec { rate: rate(3_200_000), queue, ..BottleneckSpec::default() });
    assert!(!stage.changes_bytes(), "a mark needs no copy: segments may stay whole");
    let (mut out, mut fates) = (Outbox::default(), Vec::new());
    for number in 0..200_000 {
        let now = nanos(number * 50_000);
        advance(&mut stage, now, &mut fates);
        let frame = with_ecn(4 + number / 2 % 2 * 2, (number % 2) as u8);
        stage.accept(Packet::new(number, frame, now), &mut out);
        collect(&mut out, now, &mut fates);
    }
    fates
}

#[test]
fn codel_and_red_mark_those_that_take_part_and_lose_the_others() {
    let (codel, red) = (
        CoDelSpec { ecn: true, limit: Limit::Unlimited, ..CoDelSpec::default() },
        RedSpec { ecn: true, gentle: true, ..RedSpec::between(Limit::Packets(2), Limit::Packets(100_000)) },
    );
    for (queue, why) in [(QueueSpec::CoDel(codel), Loss::CoDel), (QueueSpec::Red(red), Loss::Red)] {
        let fates = overloaded(queue);
        let marked = fates.iter().filter(|fate| fate.marked).count();
        let lost: Vec<_> = fates.iter().filter(|fate| fate.loss.is_some()).collect();
        assert!(marked > 20 && lost.len() > 20, "{marked} marked, {} lost", lost.len());
        assert!(fates.iter().all(|fate| !fate.marked || fate.number % 2 == 1));
        assert!(lost.iter().all(|fate| fate.loss == Some(why) && fate.number % 2 == 0));
    }
}
