//! Limiter and errors together, against what the sources found: TCP Lite (Table 5.1, section 5.4.4,
//! Fig. 5.5; TL-10, TL-11) and the ReSoA evaluation (M14).

use crate::drive::{Seen, built, builtin, builtin_link, direction, flow, run, seed};
use link::profile::Content;
use link::spec::{DirectionSpec, StageSpec};
use link::units::{Span, Time};
use link::{ChannelState, Loss};

const MTU: usize = 576;
/// Time that UMTS takes to send a packet of 576 bytes: 12 ms.
const SENDING: Span = Span::from_millis(12);

/// UMTS towards the wireless host with a loss profile behind the limiter, where profiles put it, or
/// in front of it.
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

/// TL-10: Table 5.1, bad packet rate under constant flow, to 10 % of its value.
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
        // Packets a little farther apart than they are sent: a constant flow that loses nothing at
        // the queue.
        let seen = run(&mut pipeline, flow(count, SENDING + Span::from_micros(1_234), MTU));
        let share = hits(&seen).count() as f64 / count as f64;
        assert_eq!(hits(&seen).count(), seen.lost.len());
        assert!((share - wanted).abs() <= 0.1 * wanted, "{name}: {share}, Table 5.1 has {wanted}");
    }
}

/// How many packets in a row a burst of errors hits, on average, if packets come in trains as a
/// sender's window does: 50 at 100 Mbit/s, as many as the link sends in 600 ms, every 700 ms.
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
    // Trains are 100 ms apart: what hits the end of one and the beginning of the next is two
    // bursts.
    let ends = |pair: &&[u64]| pair[1] != pair[0] + 1 || pair[1].is_multiple_of(50);
    let rows = 1 + hits.windows(2).filter(ends).count();
    hits.len() as f64 / rows as f64
}

/// TL-11, Fig. 5.5: 30 ms of errors behind the limiter hit what the link carries in that time, in
/// front of it the whole train.
#[test]
fn errors_in_front_of_the_limiter_hit_too_many() {
    let behind = hit_in_a_row(true);
    // A burst that hits at all lasts for 3 ticks of 10 ms on average, or more since longer ones hit
    // more often: with a packet every 12 ms that is between 2 and 4.
    assert!((2.0..4.0).contains(&behind), "{behind} packets a burst behind the limiter");
    let in_front = hit_in_a_row(false);
    // A train passes in 2.3 ms: hardly a burst begins or ends within one.
    assert!((35.0..=50.0).contains(&in_front), "{in_front} packets a burst in front of the limiter");
}

/// Bits a second that come out of a link of 1 Mbit/s which is offered three times that.
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

/// M14: a packet that errors hit has used the link, so 50 % loss halves what is delivered. In front
/// of the limiter it would not: what is lost there makes room for something else.
#[test]
fn loss_takes_capacity() {
    let behind = goodput(false);
    // 100 000 packets are sent: binomial, standard deviation 0.16 % of the rate; five of them.
    assert!((behind - 500_000.0).abs() < 0.008 * 500_000.0, "{behind} bit/s behind the limiter");
    let in_front = goodput(true);
    assert!((in_front - 1_000_000.0).abs() < 0.001 * 1_000_000.0, "{in_front} bit/s in front of the limiter");
}
