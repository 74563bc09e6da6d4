//! Properties of any row of stages under any traffic: no packet disappears or is early, time does
//! not run backwards, order is kept unless a stage reorders, and the same seed gives the same
//! result.

use crate::drive::{Seen, built, direction, frame, is_copy, seed};
use link::spec::{DirectionSpec, StageSpec};
use link::stage::bottleneck::{Counted, RateSpec};
use link::stage::delay::Law;
use link::units::{ByteCount, Span, Time};
use link::{Mark, Packet, Sending};
use proptest::prelude::*;
use std::collections::BTreeMap;

/// Generates a stage in the notation of a profile.
fn stage() -> impl Strategy<Value = String> {
    let millis = || 0..60_u32;
    let queue = prop_oneof![
        Just("\"inf\"".to_owned()),
        (0..30_u32).prop_map(|count| format!("\"{count}p\"")),
        (0..20_000_u32).prop_map(|bytes| format!("\"{bytes}B\"")),
        millis().prop_map(|limit| format!("\"{limit}ms\"")),
        (0..10_u32).prop_map(|count| format!("{{ kind = \"drop-head\", limit = \"{count}p\" }}")),
        millis().prop_map(|limit| format!("{{ kind = \"drop-head\", limit = \"{limit}ms\" }}")),
        Just("\"codel\"".to_owned()),
        Just("\"red\"".to_owned()),
        (0..30_u32).prop_map(|count| format!("{{ kind = \"fq-codel\", limit = \"{count}p\" }}")),
        (0..30_u32).prop_map(|count| format!("{{ kind = \"sfq\", limit = \"{count}p\" }}")),
        (1..20_u32)
            .prop_map(|tupdate| format!("{{ kind = \"pie\", tupdate = \"{tupdate}ms\", burst = \"0ms\" }}")),
        Just("\"dualpi2\"".to_owned()),
    ];
    let process = prop_oneof![
        (0..100_u32).prop_map(|loss| format!("{{ loss = \"{loss}%\" }}")),
        (1..9_u32).prop_map(|digit| format!("{{ ber = \"{digit}e-5\" }}")),
        (1..200_u32, 1..50_u32).prop_map(|(good, bad)| format!(
            "{{ good = \"{good}ms\", bad = \"{bad}ms\", sojourn = \"exponential\" }}"
        )),
        (2..20_u32, 1..20_u32).prop_map(|(good, bad)| format!(
            "{{ good = \"{good}kB\", bad = \"{bad}kB\", evolves-in = \"bytes\" }}"
        )),
        Just("{ p = \"5%\", q = \"40%\", evolves-in = \"packets\" }".to_owned()),
        Just("{ packets = \"0,3,5-9\" }".to_owned()),
    ];
    let trigger = prop_oneof![
        (1..100_u32).prop_map(|every| format!("{{ every = \"{every}ms\" }}")),
        (1..100_u32).prop_map(|mean| format!("{{ random = \"{mean}ms\" }}")),
        (1..20_u32).prop_map(|count| format!("{{ every-packets = {count} }}")),
    ];
    let release = prop_oneof![Just("\"in-order\""), Just("\"reversed\""), Just("{ shuffled = 2 }")];
    prop_oneof![
        (1..20_000_u32, queue).prop_map(|(rate, queue)| {
            format!("bottleneck = {{ rate = \"{rate}kbit\", queue = {queue} }}")
        }),
        (process, any::<bool>()).prop_map(|(process, interval)| {
            let sampled = if interval { "interval" } else { "instant" };
            format!("errors = {{ process = {process}, sampled = \"{sampled}\" }}")
        }),
        (1..100_u32, 1..30_u32, any::<bool>()).prop_map(|(up, down, whole)| {
            let judged = if whole { "transmission" } else { "instant" };
            format!("outage = {{ process = {{ up = \"{up}ms\", down = \"{down}ms\" }}, judged = \"{judged}\" }}")
        }),
        (0..100_u32).prop_map(|share| format!("duplicate = {{ probability = \"{share}%\" }}")),
        millis().prop_map(|delay| format!("delay = \"{delay}ms\"")),
        (millis(), millis(), any::<bool>()).prop_map(|(jitter, more, reorder)| {
            let mean = jitter + more;
            format!("delay = {{ kind = \"uniform\", mean = \"{mean}ms\", jitter = \"{jitter}ms\", reorder = {reorder} }}")
        }),
        (1..60_u32, any::<bool>()).prop_map(|(mean, reorder)| {
            format!("delay = {{ kind = \"lognormal\", mean = \"{mean}ms\", sd = \"{mean}ms\", reorder = {reorder} }}")
        }),
        (trigger.clone(), 0..50_u32, release).prop_map(|(trigger, span, release)| {
            format!("hiccup = {{ hold = {{ span = \"{span}ms\", trigger = {trigger} }}, release = {release} }}")
        }),
        (trigger, 1..5_u32, 1..80_u32, 0..9_u32).prop_map(|(trigger, length, expiration, limit)| {
            format!(
                "hiccup = {{ reorder = {{ length = {length}, trigger = {trigger} }}, expiration = \"{expiration}ms\", limit = {limit} }}"
            )
        }),
    ]
}

fn row() -> impl Strategy<Value = DirectionSpec> {
    prop::collection::vec(stage(), 0..5).prop_map(|stages| {
        let table =
            |(place, stage): (usize, String)| format!("[[down.stages]]\nname = \"{place}\"\n{stage}\n");
        direction(&stages.into_iter().enumerate().map(table).collect::<String>())
    })
}

/// Generates arrivals from gaps in microseconds, often zero, and lengths.
fn arrivals() -> impl Strategy<Value = Vec<(Time, usize)>> {
    let gap = prop_oneof![2 => Just(0), 3 => 0..3_000_u64, 1 => 0..100_000_u64];
    prop::collection::vec((gap, 20..1500_usize), 1..150).prop_map(|packets| {
        let mut now = Time::ZERO;
        let mut arrive = |(gap, bytes): (u64, usize)| {
            now += Span::from_micros(gap);
            (now, bytes)
        };
        packets.into_iter().map(&mut arrive).collect()
    })
}

/// Returns the shortest time of `bytes` bytes through a stage, as far as it is certain.
fn least(stage: &StageSpec, bytes: usize) -> Span {
    match stage {
        StageSpec::Bottleneck(spec) => match (&spec.rate, spec.counted) {
            (RateSpec::Constant(rate), Counted::Ip) => {
                // A packet that follows another may leave a nanosecond earlier, because the
                // remainder is carried over.
                rate.time_for(ByteCount::new(bytes as u64)) - Span::from_nanos(1)
            }
            _ => Span::ZERO,
        },
        StageSpec::Delay(spec) => match spec.law {
            Law::Constant { delay } => delay,
            Law::Uniform { mean, jitter } => mean - jitter,
            _ => Span::ZERO,
        },
        _ => Span::ZERO,
    }
}

fn reorders(spec: &DirectionSpec) -> bool {
    spec.stages.iter().any(|(_, stage)| match stage {
        StageSpec::Delay(spec) => spec.reorder,
        StageSpec::Hiccup(_) => true,
        _ => false,
    })
}

fn end(arrivals: &[(Time, usize)]) -> Time {
    arrivals.last().map_or(Time::ZERO, |(at, _)| *at) + Span::from_millis(40)
}

/// Sends everything and ends the run soon after. With `often`, events are also handled at times
/// other than those of arrivals.
fn run(spec: &DirectionSpec, number: u64, arrivals: &[(Time, usize)], often: bool) -> Seen {
    let mut pipeline = built(spec, &seed(number));
    let mut seen = Seen::default();
    let mut last = Time::ZERO;
    for &(at, bytes) in arrivals {
        if often {
            pipeline.advance(last + Span::from_nanos(at.since(last).as_nanos() / 3), &mut seen);
            pipeline.advance(at, &mut seen);
        }
        pipeline.accept(frame(bytes), at, &mut seen);
        last = at;
    }
    assert_eq!(pipeline.arrivals(), arrivals.len() as u64);
    let end = end(arrivals);
    pipeline.finish(end, &mut seen);
    assert_eq!(pipeline.waiting(), 0);
    let out = seen.delivered.len() + seen.lost.len();
    pipeline.finish(end + Span::from_secs(10), &mut seen);
    assert_eq!(seen.delivered.len() + seen.lost.len(), out, "something was left inside");
    seen
}

/// All properties of a packet except its bytes.
type Known = (u64, Time, Sending, usize, Vec<Mark>);

fn known(packet: &Packet) -> Known {
    (packet.number, packet.at, packet.sending, packet.frame.len(), packet.marks.to_vec())
}

fn all(seen: &Seen) -> (Vec<Known>, Vec<Known>) {
    (seen.delivered.iter().map(known).collect(), seen.lost.iter().map(known).collect())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_packet_disappears(spec in row(), arrivals in arrivals()) {
        let seen = run(&spec, 1, &arrivals, false);
        let mut originals: BTreeMap<u64, u32> = (0..arrivals.len() as u64).map(|number| (number, 0)).collect();
        let mut copies = 0;
        for packet in seen.all() {
            prop_assert_eq!(packet.frame.len(), arrivals[packet.number as usize].1);
            prop_assert_eq!(packet.arrived, arrivals[packet.number as usize].0);
            if is_copy(packet) {
                copies += 1;
            } else {
                *originals.entry(packet.number).or_default() += 1;
            }
        }
        // A packet that many stages have marked may have lost the mark that identifies it as a
        // copy.
        if seen.all().all(|packet| packet.marks.len() < 4) {
            prop_assert!(originals.values().all(|count| *count == 1), "{:?}", originals);
        } else {
            prop_assert_eq!(originals.len(), arrivals.len());
        }
        if spec.find("duplicate").is_none() {
            prop_assert_eq!(copies, 0);
            prop_assert_eq!(seen.all().count(), arrivals.len());
        }
        if spec.stages.is_empty() {
            prop_assert!(seen.lost.is_empty());
        }
    }

    #[test]
    fn no_packet_is_early_and_time_runs_forwards(spec in row(), arrivals in arrivals()) {
        let seen = run(&spec, 2, &arrivals, false);
        for packet in &seen.delivered {
            let bytes = packet.frame.len();
            let shortest = spec.stages.iter().map(|(_, stage)| least(stage, bytes)).fold(Span::ZERO, |sum, span| sum + span);
            prop_assert!(packet.at >= packet.arrived + shortest, "{} of {}: early", packet.number, spec);
        }
        for packet in seen.all() {
            prop_assert!(packet.arrived <= packet.sending.start && packet.sending.start <= packet.sending.end);
            prop_assert!(packet.at <= end(&arrivals));
            prop_assert!(packet.marks.windows(2).all(|pair| pair[0].at <= pair[1].at));
            prop_assert!(packet.marks.iter().all(|mark| usize::from(mark.stage) < spec.stages.len()));
        }
        prop_assert!(seen.delivered.windows(2).all(|pair| pair[0].at <= pair[1].at), "{}", spec);
        if !reorders(&spec) {
            prop_assert!(seen.delivered.windows(2).all(|pair| pair[0].number <= pair[1].number), "{}", spec);
        }
    }

    #[test]
    fn the_same_seed_gives_the_same_however_late_the_caller_is(spec in row(), arrivals in arrivals()) {
        let once = run(&spec, 3, &arrivals, false);
        prop_assert!(all(&once) == all(&run(&spec, 3, &arrivals, false)), "{}", spec);
        prop_assert!(all(&once) == all(&run(&spec, 3, &arrivals, true)), "{}: depends on who calls when", spec);
    }

    /// A caller that acts only at these times and at arrivals sends each packet exactly when it
    /// leaves.
    #[test]
    fn no_packet_leaves_before_the_time_to_wake_up(spec in row(), arrivals in arrivals()) {
        let mut pipeline = built(&spec, &seed(4));
        let (mut seen, mut now) = (Seen::default(), Time::ZERO);
        for (at, bytes) in arrivals {
            loop {
                prop_assert!(pipeline.wake() >= pipeline.due());
                let next = pipeline.wake().max(now);
                if next > at {
                    break;
                }
                now = next;
                pipeline.advance(now, &mut seen);
                prop_assert!(seen.delivered.drain(..).all(|packet| packet.at == now), "{}", spec);
            }
            now = at;
            pipeline.accept(frame(bytes), at, &mut seen);
            prop_assert!(seen.delivered.drain(..).all(|packet| packet.at == now), "{}", spec);
        }
    }
}
