use super::message::{End, Order};
use super::{KernelLoop, Replay};
use crate::control::LinkChange;
use crate::event_loop::{Observer, Unobserved, WayId};
use crate::framing::Segments;
use crate::host::Planned;
use link::arq::hop::Watch;
use link::spec::DirectionSpec;
use link::units::Time;
use link::{LinkSpec, Packet, Seed};
use packet::Frame;
use std::sync::mpsc::channel;

/// The kernel's clock when the run begins.
const ORIGIN: u64 = 1_000;

fn told(kernel: &mut KernelLoop, now: u64, order: &Order) {
    kernel.order(now, &borsh::to_vec(order).expect("memory"));
}

/// Returns a loop with a perfect link between the devices 0 and 1, and the end of its events.
fn perfect<O: Observer>(observer: O) -> (KernelLoop, Replay<O>) {
    let (mut kernel, mut replay) = (KernelLoop::new().expect("an eventfd"), Replay::new(observer));
    let spec = LinkSpec::new(DirectionSpec::default(), DirectionSpec::default());
    let planned = Planned::build(spec, Seed::campaign(7).link("link"), Watch::default());
    let Planned { link, spec, seed, watch } = planned.expect("a link");
    let ends = [0, 1].map(|port| End { port, ethernet: false, segments: Segments::Split });
    told(&mut kernel, 0, &Order::Add { spec: Box::new(spec), seed, watch, ends });
    replay.add(link);
    (kernel, replay)
}

/// Keeps the lengths and first bytes of packets that entered.
#[derive(Default)]
struct Entered(Vec<(usize, u8)>);

impl Observer for Entered {
    fn entered(&mut self, _: WayId, _: u64, frame: &Frame, _: Time) {
        self.0.push((frame.len(), frame.head()[0]));
    }
    fn ended(&mut self, _: WayId, _: &Packet) {}
}

#[test]
fn bytes_that_are_no_order_are_reported() {
    let (mut kernel, mut replay) = perfect(Unobserved);
    kernel.order(0, &[200, 1, 2]);
    assert!(kernel.is_readable());
    let error = replay.take(kernel.events()).expect_err("no order").to_string();
    assert!(error.starts_with("an order that is none: "), "{error}");
}

#[test]
fn a_way_that_does_not_exist_is_reported() {
    let (mut kernel, mut replay) = perfect(Unobserved);
    told(&mut kernel, ORIGIN, &Order::Begin { origin: ORIGIN, wants_bytes: true });
    let spec = LinkSpec::new(DirectionSpec::default(), DirectionSpec::default());
    let change =
        LinkChange { former: spec.clone(), next: spec, seed: Seed::campaign(7), commands: Vec::new() };
    replay.expect(Box::new(change.clone()), channel().0);
    told(&mut kernel, ORIGIN, &Order::Change { way: 8, change: Box::new(change) });
    let error = replay.take(kernel.events()).expect_err("no way").to_string();
    assert_eq!(error, "there is no such way");
}

/// Devices send before the run begins, and after it has ended.
#[test]
fn packets_outside_the_run_are_dropped() {
    let (mut kernel, mut replay) = perfect(Entered::default());
    let packet = [0x45; 40];
    kernel.packet(0, 10, &packet);
    told(&mut kernel, ORIGIN, &Order::Begin { origin: ORIGIN, wants_bytes: true });
    kernel.packet(9, ORIGIN, &packet);
    kernel.packet(0, ORIGIN + 5, &packet);
    let out: Vec<_> = kernel.outgoing().iter().map(|its| (its.port, its.bytes.clone())).collect();
    assert_eq!(out, [(1, packet.to_vec())]);
    kernel.sent();
    told(&mut kernel, ORIGIN + 9, &Order::Finish);
    kernel.packet(0, ORIGIN + 10, &packet);
    assert!(kernel.outgoing().is_empty() && kernel.due() == u64::MAX);
    replay.take(kernel.events()).expect("events");
    let ending = replay.ending().expect("the run has ended");
    assert_eq!((ending.at, ending.observer.0), (Time::from_nanos(9), vec![(40, 0x45)]));
    assert_eq!(ending.punctuality.total(), 1);
}

/// Without an observer of bytes, only lengths cross to the process.
#[test]
fn bytes_cross_only_if_they_are_wanted() {
    let (mut kernel, mut replay) = perfect(Entered::default());
    told(&mut kernel, ORIGIN, &Order::Begin { origin: ORIGIN, wants_bytes: false });
    kernel.packet(0, ORIGIN, &[0x45; 1400]);
    let events = kernel.events();
    assert!(events.len() < 300, "{}", events.len());
    replay.take(events).expect("events");
    assert_eq!(replay.observer().0, [(1400, 0)]);
}
