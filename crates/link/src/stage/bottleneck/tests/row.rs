//! Tests of the bottleneck in a row with other stages, as the sources describe their links.

use super::*;
use crate::stage::delay::{Delay, DelaySpec};
use crate::{Pipeline, Sink};

#[derive(Default)]
struct Seen {
    delivered: Vec<Packet>,
    lost: Vec<Packet>,
}

impl Sink for Seen {
    fn delivered(&mut self, packet: Packet) {
        self.delivered.push(packet);
    }
    fn lost(&mut self, packet: Packet) {
        self.lost.push(packet);
    }
}

/// Builds a limiter with its queue, a delay, and the stages `behind`.
fn link(rate: RateSpec, queue: &str, delay: Span, behind: Vec<(String, Box<dyn Stage>)>) -> Pipeline {
    let delay = Delay::new(DelaySpec::constant(delay), &Seed::campaign(1).stage("delay")).expect("a delay");
    let mut stages: Vec<(String, Box<dyn Stage>)> =
        vec![("bottleneck".into(), Box::new(bottleneck(rate, queue))), ("delay".into(), Box::new(delay))];
    stages.extend(behind);
    Pipeline::new(stages)
}

fn frame(length: usize) -> Frame {
    Frame::owned(Layer::Ip, vec![0; length])
}

#[test]
fn m11_service_time_and_delay_of_the_wireless_link_model() {
    // ReSoA evaluation 10.2.4 and 4.8: 384 kbit/s, 100 ms, 1500 bytes. Packet n arrives at n *
    // 31.25 ms + 100 ms.
    let mut pipeline = link(rate(384_000), "inf", Span::from_millis(100), Vec::new());
    let mut seen = Seen::default();
    for _ in 0..10_000 {
        pipeline.accept(frame(1500), Time::ZERO, &mut seen);
    }
    assert_eq!(pipeline.waiting(), 9_999);
    pipeline.advance(nanos(u64::MAX - 1), &mut seen);
    assert_eq!((seen.delivered.len(), seen.lost.len()), (10_000, 0));
    for (place, packet) in (1..).zip(&seen.delivered) {
        assert_eq!(packet.at, nanos(place * 31_250_000 + 100_000_000));
    }
}

/// A stage that loses every second packet.
struct EverySecond(u64);

impl Stage for EverySecond {
    fn accept(&mut self, packet: Packet, out: &mut Outbox) {
        self.0 += 1;
        if self.0.is_multiple_of(2) { out.lose(packet, Loss::Listed) } else { out.pass(packet) }
    }
}

#[test]
fn m14_packets_lost_behind_the_limiter_have_used_it() {
    // ReSoA evaluation D.1: 50 % loss halves the delivered rate.
    let behind: Vec<(String, Box<dyn Stage>)> = vec![("errors".into(), Box::new(EverySecond(0)))];
    let mut pipeline = link(rate(1_000_000), "inf", Span::ZERO, behind);
    let mut seen = Seen::default();
    for number in 0..10_000 {
        // 1000 bytes take 8 ms, and a packet arrives every 4 ms.
        pipeline.accept(frame(1000), nanos(number * 4_000_000), &mut seen);
    }
    pipeline.advance(nanos(40_000_000_000), &mut seen);
    assert_eq!((seen.delivered.len(), seen.lost.len()), (2_500, 2_500));
}

#[test]
fn m16_packets_in_flight_do_not_count_against_the_queue() {
    // 100 bytes take 1 ms to send and 1 s to propagate, so hundreds are in flight.
    let mut pipeline = link(rate(800_000), "60p", Span::from_secs(1), Vec::new());
    let mut seen = Seen::default();
    for number in 0..500 {
        pipeline.accept(frame(100), nanos(number * 1_000_000), &mut seen);
    }
    assert_eq!((seen.delivered.len(), seen.lost.len(), pipeline.waiting()), (0, 0, 0));
    for _ in 0..62 {
        pipeline.accept(frame(100), nanos(500_000_000), &mut seen);
    }
    assert_eq!((seen.lost.len(), pipeline.waiting()), (1, 60));
    assert_eq!(seen.lost[0].number, 561);
    assert_eq!(pipeline.stage_name(seen.lost[0].marks[0].stage), "bottleneck");
    pipeline.finish(nanos(600_000_000), &mut seen);
    assert_eq!(seen.delivered.len() + seen.lost.len(), 562, "in = passed + lost");
}

#[test]
fn tl_12_the_three_links_send_as_fast_and_delay_as_long_as_configured() {
    // TCP Lite 10.2 and 10.3: GSM, UMTS, 802.11b; MTU 576, a queue of 50. The windows in the
    // profiles are 62 packets.
    for (bits, delay, service) in
        [(9_600, 150, 480_000_000), (384_000, 70, 12_000_000), (11_000_000, 10, 418_910)]
    {
        let mut pipeline = link(rate(bits), "50p", Span::from_millis(delay), Vec::new());
        let mut seen = Seen::default();
        for _ in 0..52 {
            pipeline.accept(frame(576), Time::ZERO, &mut seen);
        }
        pipeline.advance(nanos(u64::MAX - 1), &mut seen);
        assert_eq!((seen.delivered.len(), seen.lost.len()), (51, 1), "one is sent, 50 wait, one is lost");
        let flight = |packet: &Packet| packet.at.as_nanos() - delay * 1_000_000;
        assert_eq!(flight(&seen.delivered[0]), service);
        let last = (51 * 576 * 8 * 1_000_000_000u64).div_ceil(bits);
        assert_eq!(flight(&seen.delivered[50]), last);
    }
}
