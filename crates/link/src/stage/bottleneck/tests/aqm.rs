//! Tests of CoDel against the RFC's pseudocode, and of RED against the paper's formulas.

use super::super::fifo::Amount;
use super::super::red::{Red, RedAction};
use super::*;
use crate::units::Probability;
use std::collections::VecDeque;

const MS: u64 = 1_000_000;

/// Section 5 of RFC 8289, line by line, with a queue of (number, arrival, length), in front of a
/// server that takes 1 us per byte.
#[derive(Default)]
struct Rfc8289 {
    queue: VecDeque<(u64, u64, u64)>,
    bytes: u64,
    maxpacket: u64,
    target: u64,
    interval: u64,
    first_above_time: u64,
    drop_next: u64,
    count: u32,
    lastcount: u32,
    dropping: bool,
    /// Number, time, and whether it was dropped then (true) or left the server (false).
    fates: Vec<(u64, u64, bool)>,
}

type Taken = Option<(u64, u64, u64)>;

impl Rfc8289 {
    fn control_law(&self, t: u64, count: u32) -> u64 {
        t + (self.interval as f64 / f64::from(count).sqrt()) as u64
    }

    fn drop(&mut self, p: Taken, now: u64) {
        self.fates.extend(p.map(|(number, ..)| (number, now, true)));
    }

    fn dodequeue(&mut self, now: u64) -> (Taken, bool) {
        let mut r = (self.queue.pop_front(), false);
        if let Some((_, tstamp, length)) = r.0 {
            self.bytes -= length;
            let sojourn_time = now - tstamp;
            if sojourn_time < self.target || self.bytes <= self.maxpacket {
                self.first_above_time = 0;
            } else if self.first_above_time == 0 {
                self.first_above_time = now + self.interval;
            } else if now >= self.first_above_time {
                r.1 = true;
            }
        } else {
            self.first_above_time = 0;
        }
        r
    }

    fn dequeue(&mut self, now: u64) -> Taken {
        let mut r = self.dodequeue(now);
        if self.dropping {
            if !r.1 {
                self.dropping = false;
            }
            while now >= self.drop_next && self.dropping {
                self.drop(r.0, now);
                self.count += 1;
                r = self.dodequeue(now);
                if r.1 {
                    self.drop_next = self.control_law(self.drop_next, self.count);
                } else {
                    self.dropping = false;
                }
            }
        } else if r.1 {
            self.drop(r.0, now);
            r = self.dodequeue(now);
            self.dropping = true;
            let delta = self.count - self.lastcount;
            self.count = 1;
            if delta > 1 && i128::from(now) - i128::from(self.drop_next) < 16 * i128::from(self.interval) {
                self.count = delta;
            }
            self.drop_next = self.control_law(now, self.count);
            self.lastcount = self.count;
        }
        r.0
    }

    fn run(mut self, arrivals: &[(u64, usize)]) -> Vec<(u64, u64, bool)> {
        let mut free = 0;
        for (number, &(at, length)) in (0..).zip(arrivals) {
            self.serve(&mut free, at);
            self.maxpacket = self.maxpacket.max(length as u64);
            self.bytes += length as u64;
            self.queue.push_back((number, at, length as u64));
            free = free.max(at);
            self.serve(&mut free, at);
        }
        self.serve(&mut free, u64::MAX);
        self.fates
    }

    fn serve(&mut self, free: &mut u64, until: u64) {
        while *free <= until && !self.queue.is_empty() {
            if let Some((number, _, length)) = self.dequeue(*free) {
                *free += length * 1000;
                self.fates.push((number, *free, false));
            }
        }
    }
}

fn codel(target: u64, interval: u64) -> Bottleneck {
    let (target, interval) = (Span::from_millis(target), Span::from_millis(interval));
    let queue = QueueSpec::CoDel(CoDelSpec { target, interval, limit: Limit::Unlimited, ecn: false });
    made(BottleneckSpec { rate: rate(8_000_000), queue, ..BottleneckSpec::default() })
}

#[test]
fn codel_does_what_the_pseudocode_of_rfc_8289_does() {
    for (target, interval) in [(5, 100), (1, 20), (20, 50)] {
        let mut stream = Seed::campaign(target).stage("arrivals").stream();
        let (mut at, mut arrivals) = (0, Vec::new());
        while arrivals.len() < 350_000 {
            // Periods of about 0.3 s, from idle to twice the rate, with packets of 40 to 1500 bytes
            // (0.04 to 1.5 ms).
            let load = stream.random_range(0.1..2.0);
            for _ in 0..stream.random_range(1..800) {
                let length = if stream.random() { 1500 } else { stream.random_range(40..1500usize) };
                at += (length as f64 * 1000.0 / load * stream.random_range(0.0..2.0)) as u64;
                arrivals.push((at, length));
            }
        }
        let oracle = Rfc8289 { target: target * MS, interval: interval * MS, ..Rfc8289::default() };
        let mut expected = oracle.run(&arrivals);
        expected.sort_unstable();
        let fates = drive(&mut codel(target, interval), arrivals);
        let mut seen: Vec<_> =
            fates.iter().map(|fate| (fate.number, fate.at.as_nanos(), fate.loss.is_some())).collect();
        seen.sort_unstable();
        assert!(
            seen == expected,
            "the first that differs: {:?}",
            seen.iter().zip(&expected).find(|(a, b)| a != b)
        );
        assert!(fates.iter().all(|fate| fate.loss.is_none_or(|loss| loss == Loss::CoDel)));
        let losses = lost(&fates).len();
        assert!(
            losses > 5_000 && losses < 200_000,
            "{losses}: the spells must drive CoDel in and out of dropping"
        );
    }
}

#[test]
fn codel_holds_waiting_times_around_the_target_under_a_persistent_overload() {
    // Greedy sources, like many flows together. The window grows by 4 packets per round trip and
    // falls to 7/8 on a loss, at most once per round trip. The round trip is 50 ms plus the queue,
    // a packet takes 1 ms, and the test lasts for 500 s.
    let mut stage = codel(5, 100);
    let (mut out, mut fates) = (Outbox::default(), Vec::new());
    let (mut window, mut inside, mut number, mut calm) = (10.0, 0, 0, Time::ZERO);
    let mut answers: VecDeque<(Time, bool)> = VecDeque::new();
    let mut seen = 0;
    let mut now = Time::ZERO;
    while now < nanos(500_000 * MS) {
        while f64::from(inside) < window {
            stage.accept(packet(number, 1000, now), &mut out);
            collect(&mut out, now, &mut fates);
            number += 1;
            inside += 1;
        }
        let answer = answers.front().map_or(Time::NEVER, |(at, _)| *at);
        now = answer.min(stage.due());
        if stage.due() <= answer {
            advance(&mut stage, now, &mut fates);
        } else if let Some((_, lost)) = answers.pop_front() {
            inside -= 1;
            if !lost {
                window += 4.0 / window;
            } else if now > calm {
                window *= 0.875;
                calm = now + Span::from_millis(60);
            }
        }
        answers
            .extend(fates[seen..].iter().map(|fate| (fate.at + Span::from_millis(50), fate.loss.is_some())));
        seen = fates.len();
    }
    let settled: Vec<_> =
        passed(&fates).into_iter().filter(|fate| fate.arrived > nanos(10_000 * MS)).collect();
    let mut waits: Vec<f64> =
        settled.iter().map(|fate| (fate.sending.start - fate.arrived).as_secs_f64() * 1e3).collect();
    waits.sort_by(f64::total_cmp);
    let (mean, most) = (waits.iter().sum::<f64>() / waits.len() as f64, waits[waits.len() * 99 / 100]);
    assert!((2.5..10.0).contains(&mean) && most < 20.0, "mean {mean} ms, 99 % within {most} ms");
    // Without CoDel, the same source fills any queue. With it, the link is still busy.
    assert!(settled.len() > 440_000, "{} of 490000", settled.len());
}

#[test]
fn codel_leaves_alone_what_waits_less_than_the_target_and_bursts_shorter_than_the_interval() {
    let fates = drive(&mut codel(5, 100), (0..100_000).map(|n| (n / 5 * 5 * MS, 1000)));
    assert_eq!(lost(&fates), [0; 0]);
    let fates = drive(&mut codel(5, 100), (0..90).map(|_| (1, 1000)));
    assert_eq!(lost(&fates), [0; 0]);
}

fn packets(packets: u64) -> Amount {
    Amount { packets, bytes: packets * 1000 }
}

#[test]
fn red_spreads_losses_evenly_over_1_to_one_less_than_1_over_p() {
    // Floyd and Jacobson 1993, section VII, method 2: with the pseudocode's count, the distance
    // between losses is uniform on 1 … 1/p_b − 1. Halfway between min and max, p_b is half of 10 %.
    let spec = RedSpec {
        probability: Probability::new(0.1).expect("a probability"),
        ..RedSpec::between(Limit::Packets(5), Limit::Packets(15))
    };
    let mut red = Red::new(spec, Time::ZERO).expect("a spec that can be");
    let mut stream = Seed::campaign(5).stage("red").stream();
    let mut arrive = |red: &mut Red| red.arrival(packets(10), Time::ZERO, Span::ZERO, || stream.random());
    // The average settles to 10 within 1e-12.
    for _ in 0..20_000 {
        arrive(&mut red);
    }
    let (mut distances, mut last) = ([0u32; 21], None);
    for place in 0..1_000_000 {
        match arrive(&mut red) {
            RedAction::Keep => {}
            RedAction::Signal => {
                if let Some(last) = last.replace(place) {
                    distances[place - last] += 1;
                }
            }
            RedAction::Drop => panic!("the average is below max"),
        }
    }
    let total: u32 = distances.iter().sum();
    let expected = f64::from(total) / 19.0;
    // Chi-square with 18 degrees of freedom: mean 18, standard deviation 6.
    let chi: f64 = distances[1..20].iter().map(|&seen| (f64::from(seen) - expected).powi(2) / expected).sum();
    assert!(chi < 18.0 + 5.0 * 6.0, "{chi}: {distances:?}");
    assert_eq!((distances[0], distances[20]), (0, 0));
    // One loss in 10 packets: a distance has a standard deviation of sqrt(30).
    assert!((1e6 / f64::from(total) - 10.0).abs() < 5.0 * 30f64.sqrt() / f64::from(total).sqrt());
}

#[test]
fn red_loses_nothing_below_min_and_everything_above_max_or_twice_max_if_gentle() {
    let verdicts = |queue, gentle| {
        let spec = RedSpec { gentle, weight: 1.0, ..RedSpec::between(Limit::Packets(5), Limit::Packets(15)) };
        let mut red = Red::new(spec, Time::ZERO).expect("a spec that can be");
        // No idle time from the second packet on. A weight of 1 makes the average equal to the
        // queue.
        red.arrival(packets(0), Time::ZERO, Span::ZERO, || 0.0);
        let mut stream = Seed::campaign(5).stage("red").stream();
        let mut counts = [0; 3];
        for _ in 0..100_000 {
            counts[red.arrival(packets(queue), Time::ZERO, Span::ZERO, || stream.random()) as usize] += 1;
        }
        counts
    };
    assert_eq!(verdicts(4, false), [100_000, 0, 0]);
    assert_eq!(verdicts(15, false), [0, 0, 100_000]);
    assert_eq!(verdicts(30, true), [0, 0, 100_000]);
    // gentle: p_b = 0.02 + 0.98 (20 - 15) / 15 = 0.3467 at 20. Distance 1 has the probability
    // p/(1-p) = 0.5306, and distance 2 the rest.
    let [_, signals, drops] = verdicts(20, true);
    assert_eq!(drops, 0);
    let distance = 0.530_612 + 2.0 * (1.0 - 0.530_612);
    assert!((1e5 / f64::from(signals) - distance).abs() < 5.0 * 0.5 / f64::from(signals).sqrt(), "{signals}");
}

#[test]
fn reds_average_falls_while_the_limiter_is_idle_as_if_packets_were_sent() {
    // The average is private, so the test finds where verdicts change. With weight 1/2 and a queue
    // of 16 once, the average is 8. It is 4 after 1 packet time of idling, which is above max, and
    // 1 after 3, which is below min = 2.
    let after = |idle: u64| {
        let spec = RedSpec { weight: 0.5, ..RedSpec::between(Limit::Packets(2), Limit::Packets(3)) };
        let mut red = Red::new(spec, Time::ZERO).expect("a spec that can be");
        red.arrival(packets(0), Time::ZERO, Span::from_nanos(100), || 1.0);
        red.arrival(packets(16), Time::ZERO, Span::from_nanos(100), || 1.0);
        red.idle(nanos(1000));
        red.arrival(packets(0), nanos(1000 + idle), Span::from_nanos(100), || 1.0)
    };
    // 8 · 2^(-idle/100): 3 at 141.5, 2 at 200.
    assert_eq!(after(0), RedAction::Drop);
    assert_eq!(after(141), RedAction::Drop);
    assert_eq!(after(142), RedAction::Keep, "between min and max, and the draw of 1.0 says keep");
    let spec = RedSpec { weight: 0.5, ..RedSpec::between(Limit::Packets(2), Limit::Packets(3)) };
    let mut red = Red::new(spec, Time::ZERO).expect("a spec that can be");
    red.arrival(packets(0), Time::ZERO, Span::from_nanos(100), || 1.0);
    red.arrival(packets(16), Time::ZERO, Span::from_nanos(100), || 1.0);
    red.idle(nanos(1000));
    // At 201 the average is below min, where even a draw of 0 causes no loss.
    assert_eq!(red.arrival(packets(0), nanos(1201), Span::from_nanos(100), || 0.0), RedAction::Keep);
}

#[test]
fn red_settles_where_it_loses_as_many_as_come_too_many() {
    // Packets of 1 ms arrive 5 % too fast, at random, so 1 in 21 must be lost. By p_b / (1 − count
    // p_b) this needs p_b = 1 / 42 or slightly less, and the average is min + (max − min) p_b / p.
    let spec = RedSpec {
        probability: Probability::new(0.1).expect("a probability"),
        ..RedSpec::between(Limit::Packets(50), Limit::Packets(150))
    };
    let mut stage = made(BottleneckSpec {
        rate: rate(8_000_000),
        queue: QueueSpec::Red(spec),
        ..BottleneckSpec::default()
    });
    let mut stream = Seed::campaign(6).stage("arrivals").stream();
    let mut at = 0.0;
    let arrivals: Vec<_> = (0..1_000_000)
        .map(|_| {
            at += 1e6 / 1.05 * stream.random_range(0.0..2.0);
            (at as u64, 1000)
        })
        .collect();
    let fates = drive(&mut stage, arrivals);
    let settled: Vec<_> = passed(&fates).into_iter().filter(|fate| fate.number > 50_000).collect();
    let loss = 1.0 - settled.len() as f64 / 949_999.0;
    assert!((loss - 0.05 / 1.05).abs() < 0.002, "{loss}");
    // A packet waits 1 ms for each packet that waits before it, and half a ms for the one being
    // sent.
    let wait =
        settled.iter().map(|fate| (fate.sending.start - fate.arrived).as_secs_f64() * 1e3).sum::<f64>();
    let length = wait / settled.len() as f64 - 0.5;
    let expected = 50.0 + 100.0 / 42.0 / 0.1;
    assert!((length - expected).abs() < 0.03 * expected, "{length}, expected {expected}");
}
