//! Tests of disciplines that treat flows separately, against sequences worked by hand, and of what
//! all of them promise.

use super::super::flows::FlowHash;
use super::*;
use proptest::prelude::*;
use std::collections::BTreeMap;

const MS: u64 = 1_000_000;

/// Builds a datagram of `length` bytes of IPv4 in flow `flow`, with this ECN field.
pub(super) fn datagram(flow: u16, length: usize, ecn: u8) -> Frame {
    let mut bytes = vec![0; length.max(28)];
    let total = (bytes.len() as u16).to_be_bytes();
    bytes[..12].copy_from_slice(&[0x45, ecn, total[0], total[1], 0, 0, 0, 0, 64, 17, 0, 0]);
    bytes[12..20].copy_from_slice(&[10, 0, 0, 1, 10, 0, 0, 2]);
    bytes[20..22].copy_from_slice(&(1000 + flow).to_be_bytes());
    Frame::owned(Layer::Ip, bytes)
}

/// Builds a bottleneck of 8 Mbit/s, at which 1000 bytes take 1 ms.
pub(super) fn with_queue(queue: &str) -> Bottleneck {
    let spec = format!("rate = \"8Mbit\"\nqueue = {queue}");
    made(toml::from_str(&spec).unwrap_or_else(|error| panic!("{spec}: {error}")))
}

/// Sends (time in ms, flow, bytes, ECN field), and returns the fates in their order of time.
pub(super) fn sent(stage: &mut Bottleneck, arrivals: &[(f64, u16, usize, u8)]) -> Vec<Fate> {
    let (mut out, mut fates) = (Outbox::default(), Vec::new());
    for (number, &(at, flow, length, ecn)) in (0..).zip(arrivals) {
        let now = nanos((at * MS as f64) as u64);
        advance(stage, now, &mut fates);
        stage.accept(Packet::new(number, datagram(flow, length, ecn), now), &mut out);
        collect(&mut out, now, &mut fates);
    }
    advance(stage, nanos(u64::MAX - 1), &mut fates);
    assert_eq!((fates.len(), stage.waiting()), (arrivals.len(), 0), "in = passed + lost");
    fates
}

/// Returns the numbers of the packets that passed and when they left, in us.
fn left(fates: &[Fate]) -> Vec<(u64, u64)> {
    passed(fates).iter().map(|fate| (fate.number, fate.at.as_nanos() / 1000)).collect()
}

#[test]
fn fq_codel_sends_a_sparse_flow_between_two_packets_of_a_bulk_flow() {
    // Packets 0 and 1 use the first quantum of flow 1 (1514 bytes). At 2 ms the flow becomes an
    // old one. Flow 2 comes at 2.5 ms, is new, and goes before it at 3 ms.
    let mut arrivals = vec![(0.0, 1, 1000, 0); 5];
    arrivals.push((2.5, 2, 100, 0));
    let fates = sent(&mut with_queue("\"fq-codel\""), &arrivals);
    let expected = [(0, 1000), (1, 2000), (2, 3000), (5, 3100), (3, 4100), (4, 5100)];
    assert_eq!(left(&fates), expected);
}

#[test]
fn fq_codel_shares_by_bytes_whatever_the_size_of_packets() {
    // Flow 1 sends packets of 1500 bytes, flow 2 of 300 bytes.
    let mut arrivals: Vec<_> = (0..400).map(|_| (0.0, 1, 1500, 0)).collect();
    arrivals.extend((0..2000).map(|_| (0.0, 2, 300, 0)));
    let fates = sent(&mut with_queue("{ kind = \"fq-codel\", target = \"1h\" }"), &arrivals);
    let half = &passed(&fates)[..1200];
    let bytes =
        |first, size: u64| half.iter().filter(|fate| (fate.number < 400) == first).count() as u64 * size;
    let (large, small) = (bytes(true, 1500), bytes(false, 300));
    assert!(large.abs_diff(small) <= 2 * 1514, "{large} {small}");
}

#[test]
fn fq_codel_loses_half_of_the_fattest_flow_if_the_queue_is_full() {
    // Packet 0 is sent, 1 to 9 wait: 9000 bytes. With packet 10, one too many waits. The oldest
    // packets are lost until at least 4500 bytes are.
    let mut arrivals = vec![(0.0, 1, 1000, 0); 10];
    arrivals.push((0.5, 2, 100, 0));
    let fates = sent(&mut with_queue("{ kind = \"fq-codel\", limit = \"9p\" }"), &arrivals);
    assert_eq!(lost(&fates), [1, 2, 3, 4, 5]);
    assert!(fates.iter().all(|fate| fate.loss.is_none() || fate.loss == Some(Loss::QueueHead)));
    assert!(fates.iter().all(|fate| fate.loss.is_none() || fate.at == nanos(MS / 2)));
    // Flow 1 still has credits of its quantum, and then it is the turn of flow 2.
    assert_eq!(left(&fates)[..3], [(0, 1000), (6, 2000), (10, 2100)]);
    // At most 64 packets at once.
    let arrivals = vec![(0.0, 1, 1000, 0); 202];
    let queue = "{ kind = \"fq-codel\", limit = \"200p\", target = \"1h\" }";
    let fates = sent(&mut with_queue(queue), &arrivals);
    assert_eq!(lost(&fates), (1..=64).collect::<Vec<_>>());
}

#[test]
fn fq_codel_with_one_flow_is_codel() {
    let mut stream = Seed::campaign(3).stage("arrivals").stream();
    let mut at = 0.0;
    let mut arrivals = Vec::new();
    while arrivals.len() < 100_000 {
        let load = stream.random_range(0.1..2.0);
        for _ in 0..stream.random_range(1..800) {
            let length = if stream.random() { 1500 } else { stream.random_range(40..1500usize) };
            at += length as f64 / 1000.0 / load * stream.random_range(0.0..2.0);
            arrivals.push((at, 1, length, stream.random_range(0..2)));
        }
    }
    for ecn in [false, true] {
        let run = |kind| {
            let queue = format!("{{ kind = \"{kind}\", limit = \"inf\", ecn = {ecn} }}");
            sent(&mut with_queue(&queue), &arrivals)
        };
        let codel = run("codel");
        assert!(lost(&codel).len() > 1_000, "{}", lost(&codel).len());
        assert!(codel == run("fq-codel"), "ecn = {ecn}");
    }
}

#[test]
fn sfq_takes_turns_by_bytes() {
    // A quantum of 1000 bytes is one packet of flow 1, or two of flow 2. Packet 0 is sent at once,
    // and flow 1 begins anew with packet 1.
    let mut arrivals = vec![(0.0, 1, 1000, 0); 4];
    arrivals.extend([(0.0, 2, 500, 0); 4]);
    let fates = sent(&mut with_queue("{ kind = \"sfq\", quantum = \"1000B\" }"), &arrivals);
    let expected = [(0, 1000), (1, 2000), (4, 2500), (5, 3000), (2, 4000), (6, 4500), (7, 5000), (3, 6000)];
    assert_eq!(left(&fates), expected);
}

#[test]
fn sfq_loses_the_newest_packet_of_the_longest_flow() {
    // Packet 0 is sent; flow 1 has four waiting packets, and flow 2 one, when packet 6 comes.
    let mut arrivals = vec![(0.0, 1, 1000, 0); 5];
    arrivals.extend([(0.0, 2, 1000, 0), (0.5, 2, 1000, 0)]);
    let fates = sent(&mut with_queue("{ kind = \"sfq\", limit = \"5p\" }"), &arrivals);
    assert_eq!(lost(&fates), [4]);
    assert!(fates.iter().all(|fate| fate.loss.is_none_or(|loss| loss == Loss::QueueFull)));
    // A flow that is full loses what arrives, and so does a flow too many.
    let arrivals = [(0.0, 1, 1000, 0), (0.0, 1, 1000, 0), (0.0, 1, 1000, 0), (0.0, 2, 1000, 0)];
    let fates = sent(&mut with_queue("{ kind = \"sfq\", depth = 1, flows = 1 }"), &arrivals);
    assert_eq!(lost(&fates), [2, 3]);
}

#[test]
fn sfq_keeps_packets_and_the_order_of_flows_when_its_hash_changes() {
    let arrivals: Vec<_> = (0..3000).map(|n| (f64::from(n) * 0.9, (n % 7) as u16, 1000, 0)).collect();
    let queue = "{ kind = \"sfq\", perturb = \"10ms\", limit = \"inf\", depth = 9999 }";
    let fates = sent(&mut with_queue(queue), &arrivals);
    assert_eq!(lost(&fates), [0; 0]);
    for flow in 0..7 {
        let numbers: Vec<_> =
            fates.iter().map(|fate| fate.number).filter(|number| number % 7 == flow).collect();
        assert!(numbers.is_sorted(), "flow {flow}");
    }
}

#[test]
fn a_flow_is_what_the_5_tuple_and_the_seed_say() {
    let hash = |seed| FlowHash::new(&Seed::campaign(seed));
    let place = |seed, flow| hash(seed).place(&datagram(flow, 100, 0), 1024);
    // Neither the length nor ECN is part of it.
    assert_eq!(hash(1).place(&datagram(5, 1500, 3), 1024), place(1, 5));
    assert!((0..20).any(|flow| place(1, flow) != place(2, flow)));
    // Chi-square of 16000 flows in 16 places, with 15 degrees of freedom.
    let mut counts = [0.0; 16];
    (0..16_000).for_each(|flow| counts[hash(1).place(&datagram(flow, 100, 0), 16) as usize] += 1.0);
    let chi: f64 = counts.iter().map(|count: &f64| (count - 1000.0).powi(2) / 1000.0).sum();
    assert!(chi < 15.0 + 5.0 * 30f64.sqrt(), "{chi}");
    // Fragments have no ports, and what is not IP is one flow.
    let mut fragment = datagram(5, 100, 0);
    fragment.bytes_mut()[6] = 0x20;
    let mut other = datagram(6, 100, 0);
    other.bytes_mut()[6] = 0x20;
    assert_eq!(hash(1).place(&fragment, 1024), hash(1).place(&other, 1024));
    let foreign = |first| Frame::owned(Layer::Ip, vec![first; 40]);
    assert_eq!(hash(1).place(&foreign(0), 1024), hash(1).place(&foreign(0xf0), 1024));
}

/// Queues with flows or controllers, and the greatest number of packets that may wait.
const QUEUES: [(&str, usize); 8] = [
    ("{ kind = \"fq-codel\", target = \"1ms\", interval = \"10ms\" }", 10_240),
    ("{ kind = \"fq-codel\", flows = 3, limit = \"9p\", ecn = false }", 9),
    ("{ kind = \"fq-codel\", quantum = \"300B\", limit = \"20kB\" }", 20_000),
    ("{ kind = \"sfq\", limit = \"9p\" }", 9),
    ("{ kind = \"sfq\", perturb = \"5ms\", flows = 3, depth = 7, buckets = 5 }", 127),
    ("{ kind = \"pie\", limit = \"50p\", tupdate = \"1ms\", burst = \"1ms\", target = \"2ms\" }", 50),
    ("{ kind = \"pie\", ecn = true, tupdate = \"2ms\", alpha = 20, beta = 100, burst = \"0ms\" }", 1000),
    ("{ kind = \"dualpi2\", limit = \"50p\", tupdate = \"2ms\", alpha = 20, beta = 100 }", 50),
];

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn packets_are_conserved_flows_keep_their_order_and_queues_their_limit(
        pattern in prop::collection::vec((0..1500u64, 0..5u16, 28..1500usize), 1..400),
        which in 0..QUEUES.len(),
    ) {
        let (queue, most) = QUEUES[which];
        let run = || {
            let mut stage = with_queue(queue);
            let (mut out, mut fates) = (Outbox::default(), Vec::new());
            let mut now = Time::ZERO;
            for (number, &(gap, flow, length)) in (0..).zip(&pattern) {
                now += Span::from_micros(gap);
                advance(&mut stage, now, &mut fates);
                // Each flow has another ECN field: not capable, ECT(1), or ECT(0).
                stage.accept(Packet::new(number, datagram(flow, length, (flow % 3) as u8), now), &mut out);
                collect(&mut out, now, &mut fates);
                assert!(stage.waiting() <= most, "{queue}: {} wait", stage.waiting());
            }
            advance(&mut stage, nanos(u64::MAX - 1), &mut fates);
            (fates, stage.waiting())
        };
        let (fates, waiting) = run();
        prop_assert_eq!(waiting, 0);
        let mut numbers: Vec<_> = fates.iter().map(|fate| fate.number).collect();
        numbers.sort_unstable();
        prop_assert!(numbers.into_iter().eq(0..pattern.len() as u64), "each packet leaves once");
        let mut last: BTreeMap<u16, u64> = BTreeMap::new();
        let mut free = Time::ZERO;
        for fate in passed(&fates) {
            let (_, flow, length) = pattern[fate.number as usize];
            let before = last.insert(flow, fate.number);
            prop_assert!(before.is_none_or(|before| before < fate.number), "{}: flow {}", queue, flow);
            // The limiter sends one packet after the other, each as long as its bytes take.
            prop_assert!(fate.sending.start >= free && fate.at == fate.sending.end);
            prop_assert_eq!(fate.sending.end.since(fate.sending.start), Span::from_micros(length as u64));
            free = fate.at;
            prop_assert!(!fate.marked || flow % 3 != 0, "marked without ECN");
        }
        prop_assert!(fates == run().0, "the same seed gives the same");
    }
}
