//! Tests of limiter and errors together against the findings of the sources: TCP Lite (Table 5.1,
//! section 5.4.4, Fig. 5.5; TL-10, TL-11) and the ReSoA evaluation (M14).

use crate::drive::{Seen, built, builtin, builtin_link, direction, flow, run, seed};
use link::profile::Content;
use link::spec::{DirectionSpec, StageSpec};
use link::units::{Span, Time};
use link::{ChannelState, Loss};

const MTU: usize = 576;
/// Transmission time of a packet of 576 bytes on UMTS: 12 ms.
const SENDING: Span = Span::from_millis(12);

/// Returns UMTS towards the wireless host with a loss profile behind the limiter, its usual place,
/// or in front of it.
fn umts(losses: &str, behind: bool) -> DirectionSpec {
    let mut link = builtin_link("umts");
    let Content::Loss(losses) = builtin(losses) else { panic!("{losses} is a link") };
    link.add_losses(&losses);
    let stages = &mut link.down.stages;
    let kinds: Vec<_> = stages.iter().map(|(_, spec)| spec.kind()).collect();
    assert_eq!(kinds, ["bottleneck", "errors", "delay"]);
    if !behind {
        stages.swap(0, 1);
    }
    link.down
}

fn hits(seen: &Seen) -> impl Iterator<Item = u64> {
    seen.lost
        .iter()
        .filter(|packet| packet.loss() == Some(Loss::Error) && packet.channel == Some(ChannelState::Bad))
        .map(|packet| packet.number)
}

/// TL-10: Table 5.1, bad packet rate under constant flow, within 10 % of its value.
#[test]
fn bad_packet_rates_of_table_5_1() {
    let table = [
        ("lite-0", 0.0),
        ("lite-1", 0.015),
        ("lite-2", 0.003),
        ("lite-3", 0.029),
        ("lite-4", 0.048),
        ("lite-5", 0.020),
        ("lite-6", 0.038),
    ];
    let count = 2_000_000;
    for (name, wanted) in table {
        let mut pipeline = built(&umts(name, true), &seed(10));
        // The gap is slightly longer than a transmission: a constant flow without losses at the
        // queue.
        let seen = run(&mut pipeline, flow(count, SENDING + Span::from_micros(1_234), MTU));
        let share = hits(&seen).count() as f64 / count as f64;
        assert_eq!(hits(&seen).count(), seen.lost.len());
        assert!((share - wanted).abs() <= 0.1 * wanted, "{name}: {share}, Table 5.1 has {wanted}");
    }
}

/// Returns the mean number of successive packets hit by a burst of errors. Packets arrive in
/// trains, like a sender's window: every 700 ms, 50 packets at 100 Mbit/s, which the link sends in
/// 600 ms.
fn hit_in_a_row(behind: bool) -> f64 {
    let gap = Span::from_nanos(MTU as u64 * 80);
    let trains = (1..=50_000_u64).flat_map(|train| {
        (0..50).map(move |place| (Time::ZERO + Span::from_millis(700) * train + gap * place, MTU))
    });
    let mut pipeline = built(&umts("lite-1", behind), &seed(11));
    let seen = run(&mut pipeline, trains);
    let mut hits: Vec<u64> = hits(&seen).collect();
    assert_eq!(hits.len(), seen.lost.len(), "the queue is long enough for a train");
    hits.sort_unstable();
    // Trains are 100 ms apart, so hits at the end of one and at the start of the next are two
    // bursts.
    let ends = |pair: &&[u64]| pair[1] != pair[0] + 1 || pair[1].is_multiple_of(50);
    let rows = 1 + hits.windows(2).filter(ends).count();
    hits.len() as f64 / rows as f64
}

/// TL-11, Fig. 5.5: behind the limiter, 30 ms of errors hit the packets that the link carries in
/// that time. In front of it they hit the whole train.
#[test]
fn errors_in_front_of_the_limiter_hit_too_many() {
    let behind = hit_in_a_row(true);
    // A burst that hits any packet lasts for at least 3 ticks of 10 ms on average, because longer
    // bursts are more likely to hit. With a packet every 12 ms, it hits between 2 and 4.
    assert!((2.0..4.0).contains(&behind), "{behind} packets a burst behind the limiter");
    let in_front = hit_in_a_row(false);
    // A train passes in 2.3 ms, so bursts rarely begin or end within one.
    assert!((35.0..=50.0).contains(&in_front), "{in_front} packets a burst in front of the limiter");
}

/// Returns the delivered bits per second of a link of 1 Mbit/s that is offered three times as much.
fn goodput(in_front: bool) -> f64 {
    let mut spec = direction("rate = \"1Mbit\"\nqueue = \"20p\"\nerrors = { process = { loss = \"50%\" } }");
    if in_front {
        spec.stages.swap(0, 1);
    }
    assert_eq!(matches!(spec.stages[0].1, StageSpec::Errors(_)), in_front);
    let seen = run(&mut built(&spec, &seed(12)), flow(300_000, Span::from_millis(4), 1500));
    let end = Time::ZERO + Span::from_secs(1200);
    let bits: usize =
        seen.delivered.iter().filter(|packet| packet.at <= end).map(|packet| 8 * packet.frame.len()).sum();
    bits as f64 / 1200.0
}

/// M14: a packet hit by errors has used the link, so 50 % loss halves the delivered rate. In front
/// of the limiter it does not, because a packet lost there leaves its capacity to another.
#[test]
fn loss_takes_capacity() {
    let behind = goodput(false);
    // 100 000 packets are sent: binomial, standard deviation 0.16 % of the rate; the limit is five
    // of them.
    assert!((behind - 500_000.0).abs() < 0.008 * 500_000.0, "{behind} bit/s behind the limiter");
    let in_front = goodput(true);
    assert!((in_front - 1_000_000.0).abs() < 0.001 * 1_000_000.0, "{in_front} bit/s in front of the limiter");
}
