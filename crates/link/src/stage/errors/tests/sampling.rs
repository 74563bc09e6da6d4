//! TL-11: tests of the place of errors relative to the limiter, and of the time of judgement.

use super::*;

/// A limiter with an unlimited queue.
struct Limiter {
    per_packet: u64,
    free: u64,
}

impl Limiter {
    fn sends(&mut self, arrived: u64) -> Sending {
        let start = self.free.max(arrived);
        self.free = start + self.per_packet;
        Sending { start: Time::from_nanos(start), end: Time::from_nanos(self.free) }
    }
}

const MS: u64 = 1_000_000;

#[test]
fn tl_11_a_burst_hits_too_many_packets_in_front_of_the_limiter() {
    // Fig. 5.5: windows of 62 packets of 576 bytes arrive at 100 Mbit/s and leave at 384 kbit/s, 12
    // ms each; loss profile 1.
    let table = "{ good = \"2s\", bad = \"30ms\" }";
    let (mut before, mut behind) = (losing(table, 8), losing(table, 8));
    let mut limiter = Limiter { per_packet: 12 * MS, free: 0 };
    let mut hits: [Vec<bool>; 2] = [Vec::new(), Vec::new()];
    for window in 0..160_000u64 {
        // 13 ms per packet on average: the limiter has short idle times, so windows do not
        // synchronise with ticks.
        let first = window * 806 * MS + window * 617_283 % (50 * MS);
        for packet in 0..62 {
            let arrived = first + packet * 46_080;
            hits[0].push(before.hits(Time::from_nanos(arrived)));
            hits[1].push(behind.hits_sent(limiter.sends(arrived)));
        }
    }
    let count = hits[0].len() as f64;
    let share = |hits: &[bool]| hits.iter().filter(|hit| **hit).count() as f64 / count;
    // Mean number of successive packets that are hit.
    let burst = |hits: &[bool]| mean(&run_lengths(hits)[0]);
    let expected = 30.0 / 2030.0;
    // Behind the limiter: the rate of Table 5.1, and bursts as long as the bad state in packets of
    // 12 ms.
    assert!((share(&hits[1]) / expected - 1.0).abs() < 0.1, "{}", share(&hits[1]));
    // Share of instants at which a bad state of so many ticks meets at least one departure. There
    // are 62 departures every 806 ms, 12 ms apart.
    let met = |ticks: f64| if ticks < 1.5 { 620.0 } else { (61.0 * 12.0 + ticks * 10.0).min(806.0) } / 806.0;
    let some: f64 =
        (0..200).map(|more| 1.0 / 3.0 * (2.0f64 / 3.0).powi(more) * met(f64::from(more) + 1.0)).sum();
    let per_burst = 30.0 * 62.0 / 806.0 / some;
    assert!((burst(&hits[1]) / per_burst - 1.0).abs() < 0.02, "{} instead of {per_burst}", burst(&hits[1]));
    // In front of the limiter, the same bad state covers most of a window, which takes 2.9 ms
    // there.
    assert!(burst(&hits[0]) > 15.0 * burst(&hits[1]), "{} and {}", burst(&hits[0]), burst(&hits[1]));
    assert!(burst(&hits[0]) > 50.0);
    // The rate over all packets is correct there too: traffic that does not react to errors meets
    // the bad state as often as any instant does. The deviation becomes small only over very many
    // windows.
    assert!((share(&hits[0]) / expected - 1.0).abs() < 0.25, "{}", share(&hits[0]));
}

#[test]
fn tl_11_the_instant_gives_table_5_1_where_the_interval_hits_a_quarter() {
    // 10.5: on GSM, 576 bytes at 9.6 kbit/s take 480 ms; loss profile 1.
    let process = process("{ good = \"2s\", bad = \"30ms\" }");
    let mut instant = Driven::new(ErrorSpec::new(process.clone()), 1);
    let mut interval = Driven::new(ErrorSpec { sampled: Sampled::Interval, ..ErrorSpec::new(process) }, 1);
    let mut limiter = Limiter { per_packet: 480 * MS, free: 3 * MS };
    let count = 1_000_000;
    let (mut at_instant, mut over_interval) = (0.0, 0.0);
    for _ in 0..count {
        let sending = limiter.sends(0);
        let hit = instant.hits_sent(sending);
        at_instant += f64::from(u8::from(hit));
        over_interval += f64::from(u8::from(interval.hits_sent(sending)));
    }
    let count = f64::from(count);
    let (p, q) = (0.005f64, 1.0 / 3.0);
    let share = 30.0 / 2030.0;
    let rho = (1.0 - p - q).powi(48);
    close("instant", at_instant / count, share, share_deviation(share, rho, count));
    // A packet is intact if the channel is good at its start and at each of the 48 ticks within.
    // The specification's (480 + 30) / 2030 = 25 % counts a packet that meets two bursts twice.
    let expected = 1.0 - (1.0 - share) * (1.0 - p).powi(48);
    assert!((expected - 0.2255).abs() < 1e-4);
    // Intervals of neighbours have hardly more than an instant in common.
    close("interval", over_interval / count, expected, share_deviation(expected, 0.1, count));
}

#[test]
fn an_interval_is_hit_by_any_part_that_is_bad() {
    // Alternating good and bad times of 10 ms each, so the result is exact.
    let toml = "process = { p = \"1\", q = \"1\", start = \"good\" }\nsampled = \"interval\"";
    let sent = |start: u64, end: u64| Sending { start: Time::from_nanos(start), end: Time::from_nanos(end) };
    for (start, end, hit) in [
        (0, 10 * MS, false),
        (0, 10 * MS + 1, true),
        (10 * MS - 1, 10 * MS, false),
        (10 * MS, 20 * MS, true),
        (20 * MS - 1, 25 * MS, true),
        (20 * MS, 30 * MS, false),
        (0, 1000 * MS, true),
        // Without a limiter, the packet is judged at its instant.
        (15 * MS, 15 * MS, true),
        (25 * MS, 25 * MS, false),
    ] {
        assert_eq!(Driven::new(spec(toml), 1).hits_sent(sent(start, end)), hit, "{start} to {end}");
    }
}

#[test]
fn transmissions_that_come_in_another_order_are_judged_the_same() {
    let toml = "process = { good = \"30ms\", bad = \"20ms\" }\nsampled = \"interval\"";
    let (mut ordered, mut swapped) = (Driven::new(spec(toml), 1), Driven::new(spec(toml), 1));
    for pair in 0..20_000u64 {
        let first = Sending {
            start: Time::from_nanos(pair * 30 * MS),
            end: Time::from_nanos(pair * 30 * MS + 12 * MS),
        };
        let second = Sending { start: first.end, end: first.end + Span::from_millis(12) };
        let in_order = (ordered.hits_sent(first), ordered.hits_sent(second));
        let later = swapped.hits_sent(second);
        assert_eq!((swapped.hits_sent(first), later), in_order, "pair {pair}");
    }
}

#[test]
fn bit_errors_along_a_transmission_multiply() {
    // Alternating good and bad times of 10 ms each. A packet is sent from 0 to 15 ms of 20, so a
    // third of its bits meet the bad state.
    let toml = "process = { p = \"1\", q = \"1\", start = \"good\", ber-good = \"1e-5\", ber-bad = \"2e-4\" }\nsampled = \"interval\"";
    let mut stage = Driven::new(spec(toml), 1).of_length(750);
    let count = 1_000_000u64;
    let mut hits = 0.0;
    for n in 0..count {
        let start = Time::from_nanos(n * 20 * MS);
        hits += f64::from(u8::from(stage.hits_sent(Sending { start, end: start + Span::from_millis(15) })));
    }
    let expected = 1.0 - (1.0f64 - 1e-5).powi(4000) * (1.0f64 - 2e-4).powi(2000);
    close("hit", hits / count as f64, expected, (expected * (1.0 - expected) / count as f64).sqrt());
}
