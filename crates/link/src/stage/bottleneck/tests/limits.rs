//! Tests of the packets that are lost at a full queue, and of the counted bytes.

use super::*;
use packet::Frame;
use proptest::prelude::*;
use std::collections::VecDeque;

/// 100 bytes at 8 Mbit/s take 100 us.
const RATE: u64 = 8_000_000;
const SERVICE: u64 = 100_000;

fn burst(count: u64) -> impl Iterator<Item = (u64, usize)> {
    (0..count).map(|_| (0, 100))
}

#[test]
fn m16_with_60_packets_the_61st_waiting_packet_is_lost() {
    // ReSoA evaluation 10.2.5. The first packet is being sent and does not wait.
    assert_eq!(lost(&drive(&mut bottleneck(rate(RATE), "60p"), burst(61))), [0; 0]);
    assert_eq!(lost(&drive(&mut bottleneck(rate(RATE), "60p"), burst(62))), [61]);
    // When the first packet has been sent, there is room for one.
    let arrivals = || burst(61).chain([(SERVICE, 100), (SERVICE, 100)]);
    assert_eq!(lost(&drive(&mut bottleneck(rate(RATE), "60p"), arrivals())), [62]);
}

#[test]
fn a_limit_in_bytes_counts_what_waits() {
    let arrivals = [(0, 100), (0, 600), (0, 500), (0, 400), (0, 1)];
    // 600 bytes wait. 500 more would make 1100, 400 more fill the queue, and 1 more does not fit.
    assert_eq!(lost(&drive(&mut bottleneck(rate(RATE), "1kB"), arrivals)), [2, 4]);
}

#[test]
fn a_limit_of_nothing_leaves_the_limiter_itself() {
    for queue in ["0p", "0B", "0ms"] {
        let arrivals = [(0, 100), (1, 100), (SERVICE, 100)];
        assert_eq!(lost(&drive(&mut bottleneck(rate(RATE), queue), arrivals)), [1], "{queue}");
    }
}

#[test]
fn a_limit_in_time_is_the_wait_that_a_packet_would_have() {
    // 200 us of waiting: exactly the packet being sent and one more.
    let fates = drive(&mut bottleneck(rate(RATE), "200us"), burst(5));
    assert_eq!(lost(&fates), [3, 4]);
}

#[test]
fn drop_head_loses_the_oldest_and_keeps_the_newest() {
    let queue = QueueSpec::drop_head(Limit::Packets(3));
    let mut stage = made(BottleneckSpec { rate: rate(RATE), queue, ..BottleneckSpec::default() });
    let fates = drive(&mut stage, burst(10));
    assert_eq!(lost(&fates), [1, 2, 3, 4, 5, 6]);
    assert!(fates.iter().all(|fate| fate.loss.is_none_or(|loss| loss == Loss::QueueHead)));
    assert_eq!(passed(&fates).iter().map(|fate| fate.number).collect::<Vec<_>>(), [0, 7, 8, 9]);
}

proptest! {
    #[test]
    fn drop_head_and_drop_tail_agree_with_a_queue_on_paper(
        pattern in prop::collection::vec((0..2 * SERVICE, 1usize..4), 1..500),
        room in 0u64..400,
        head: bool,
        in_bytes: bool,
    ) {
        let limit = if in_bytes { Limit::Bytes(crate::units::ByteCount::new(room)) } else { Limit::Packets(room / 40) };
        let queue = if head { QueueSpec::drop_head(limit) } else { QueueSpec::drop_tail(limit) };
        let mut at = 0;
        let arrivals: Vec<_> = pattern.iter().map(|&(gap, hundreds)| { at += gap; (at, 100 * hundreds) }).collect();
        let mut stage = made(BottleneckSpec { rate: rate(RATE), queue, ..BottleneckSpec::default() });
        let fates = drive(&mut stage, arrivals.clone());

        let mut waiting: VecDeque<(u64, usize)> = VecDeque::new();
        let (mut free, mut gone, mut sent) = (0, Vec::new(), Vec::new());
        let time = |length: usize| length as u64 / 100 * SERVICE;
        let over = |waiting: &VecDeque<(u64, usize)>| {
            let bytes: usize = waiting.iter().map(|one| one.1).sum();
            if in_bytes { bytes as u64 > room } else { waiting.len() as u64 > room / 40 }
        };
        for (number, &(at, length)) in (0u64..).zip(&arrivals) {
            while free <= at && let Some((next, length)) = waiting.pop_front() {
                free += time(length);
                sent.push((next, free));
            }
            if free <= at {
                free = at + time(length);
                sent.push((number, free));
                continue;
            }
            waiting.push_back((number, length));
            while over(&waiting) {
                let out = if head { waiting.pop_front() } else { waiting.pop_back() };
                gone.extend(out.map(|one| one.0));
            }
        }
        for (next, length) in waiting {
            free += time(length);
            sent.push((next, free));
        }
        prop_assert_eq!(lost(&fates), gone);
        let passed: Vec<_> = passed(&fates).iter().map(|fate| (fate.number, fate.at.as_nanos())).collect();
        prop_assert_eq!(passed, sent);
    }
}

#[test]
fn what_counts_of_a_packet() {
    let of = |counted: Counted, layer, length| counted.bytes(&Frame::owned(layer, vec![0; length]));
    // The same packet on either layer.
    for (layer, length) in [(Layer::Ip, 1500), (Layer::Ethernet, 1514)] {
        assert_eq!(of(Counted::Ip, layer, length), 1500);
        assert_eq!(of(Counted::Ethernet, layer, length), 1514);
        assert_eq!(of(Counted::Wire, layer, length), 1538);
        assert_eq!(of(Counted::Overhead(8), layer, length), 1508);
    }
    // IEEE 802.3: a small packet fills 64 bytes of frame and 20 of preamble and gap.
    assert_eq!(of(Counted::Wire, Layer::Ip, 40), 84);
    assert_eq!(of(Counted::Wire, Layer::Ip, 46), 84);
    assert_eq!(of(Counted::Wire, Layer::Ip, 47), 85);
    assert_eq!(Counted::Ip.to_string(), "counted at IP");
}

#[test]
fn the_limiter_sends_what_counts() {
    let spec = |counted| BottleneckSpec { rate: rate(1_000_000_000), counted, ..BottleneckSpec::default() };
    let end = |counted| drive(&mut made(spec(counted)), [(0, 1500)])[0].at;
    assert_eq!(end(Counted::Ip), nanos(12_000));
    assert_eq!(end(Counted::Wire), nanos(12_304));
}

/// The size in `rate=1mbit,queue=64k` is as ambiguous as any other.
#[test]
fn a_limit_with_two_meanings_says_both() {
    for (text, both) in [("64k", "64KiB"), ("64kb", "64KiB"), ("2M", "2MiB")] {
        let error = text.parse::<Limit>().expect_err(text).to_string();
        assert!(error.contains("two meanings") && error.contains(both), "{error}");
    }
    for text in ["64x", "64", "p"] {
        let error = text.parse::<Limit>().expect_err(text).to_string();
        assert!(error.contains("a limit of a queue"), "{error}");
    }
}
