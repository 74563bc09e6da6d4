use super::message::{Form, Order};
use super::{KernelLoop, Replay};
use crate::control::LinkChange;
use crate::event_loop::{Observer, Unobserved, WayId};
use crate::framing::Segments;
use crate::host::Planned;
use link::arq::hop::Watch;
use link::spec::{DirectionSpec, StageSpec};
use link::units::Time;
use link::{LinkSpec, Packet, Seed};
use packet::{Frame, Layer};
use std::sync::mpsc::channel;

/// The kernel's clock when the run begins.
const ORIGIN: u64 = 1_000;

fn told(kernel: &mut KernelLoop, now: u64, order: &Order) {
    kernel.order(now, &borsh::to_vec(order).expect("memory"));
}

/// Returns a loop with a perfect link between the devices 0 and 1, and the end of its events.
fn perfect<O: Observer>(observer: O) -> (KernelLoop, Replay<O>) {
    let (mut kernel, mut replay) = (KernelLoop::default(), Replay::new(observer));
    let spec = LinkSpec::new(DirectionSpec::default(), DirectionSpec::default());
    let planned = Planned::build(spec, Seed::campaign(7).link("link"), Watch::default());
    let Planned { link, spec, seed, watch } = planned.expect("a link");
    let form = Form { layer: Layer::Ip, segments: Segments::Split };
    told(&mut kernel, 0, &Order::Add { spec: Box::new(spec), seed, watch, form });
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
    assert!(error.starts_with("this is no order: "), "{error}");
}

#[test]
fn a_way_that_does_not_exist_is_reported() {
    let (mut kernel, mut replay) = perfect(Unobserved);
    told(&mut kernel, ORIGIN, &Order::Begin { origin: ORIGIN, wants_bytes: true });
    let spec = LinkSpec::new(DirectionSpec::default(), DirectionSpec::default());
    let change =
        LinkChange { former: spec.clone(), next: spec, seed: Seed::campaign(7), commands: Vec::new() };
    replay.expect(Box::new(change.clone()), channel().0);
    told(&mut kernel, ORIGIN, &Order::Change { way: WayId(8), change: Box::new(change) });
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
    kernel.sent(0, 0);
    told(&mut kernel, ORIGIN + 9, &Order::Finish);
    kernel.packet(0, ORIGIN + 10, &packet);
    assert!(kernel.outgoing().is_empty() && kernel.due() == u64::MAX);
    replay.take(kernel.events()).expect("events");
    let ending = replay.ending().expect("the run has ended");
    assert_eq!((ending.at, ending.observer.0), (Time::from_nanos(9), vec![(40, 0x45)]));
    assert_eq!(ending.punctuality.total(), 1);
}

/// A device refuses packets if it is down or the kernel has no memory.
#[test]
fn refused_packets_are_counted_with_the_last_reason() {
    let (mut kernel, mut replay) = perfect(Unobserved);
    told(&mut kernel, ORIGIN, &Order::Begin { origin: ORIGIN, wants_bytes: false });
    for errno in [libc::ENOMEM, libc::ENETDOWN] {
        kernel.packet(0, ORIGIN, &[0x45; 40]);
        kernel.sent(1, errno);
    }
    kernel.packet(1, ORIGIN, &[0x45; 40]);
    kernel.sent(0, 0);
    told(&mut kernel, ORIGIN, &Order::Finish);
    replay.take(kernel.events()).expect("events");
    let (count, error) = replay.ending().expect("the run has ended").refused.expect("two are refused");
    assert_eq!((count, error.raw_os_error()), (2, Some(libc::ENETDOWN)));
}

/// What is due at the instant of the end still leaves.
#[test]
fn packets_of_the_last_instant_leave() {
    let (mut kernel, mut replay) = (KernelLoop::default(), Replay::new(Unobserved));
    let delay = StageSpec::Delay("10ms".parse().expect("a delay"));
    let way = DirectionSpec { stages: vec![("delay".to_owned(), delay)] };
    let form = Form { layer: Layer::Ip, segments: Segments::Split };
    let (spec, seed) = (Box::new(LinkSpec::new(way.clone(), way)), Seed::campaign(7).link("link"));
    told(&mut kernel, 0, &Order::Add { spec, seed, watch: Watch::default(), form });
    told(&mut kernel, ORIGIN, &Order::Begin { origin: ORIGIN, wants_bytes: false });
    kernel.packet(0, ORIGIN, &[0x45; 40]);
    assert!(kernel.outgoing().is_empty());
    assert_eq!(kernel.due(), ORIGIN + 10_000_000);
    told(&mut kernel, ORIGIN + 10_000_000, &Order::Finish);
    assert_eq!(kernel.outgoing().len(), 1, "it was delivered");
    replay.take(kernel.events()).expect("events");
    assert_eq!(replay.ending().expect("the run has ended").punctuality.total(), 1);
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
