//! Tests of the shipped loop on the simulated driver, where every time is exact.

use super::*;
use crate::control::control;
use crate::simulated::Simulated;
use link::arq::hop::Watch;
use link::link_layer::Event;
use link::profile::LinkProfile;
use link::stage::{Outbox, Stage};
use link::units::Span;
use link::{Effect, Loss};
use link::{Pipeline, Seed};
use packet::Layer;
use proptest::prelude::*;
use std::collections::VecDeque;

/// The simplest stage that waits.
struct Wait {
    span: Span,
    /// Whether the stage announces its delay ([`Stage::least_delay`]).
    promised: bool,
    inside: VecDeque<Packet>,
}

impl Stage for Wait {
    fn accept(&mut self, packet: Packet, _: &mut Outbox) {
        self.inside.push_back(packet);
    }
    fn due(&self) -> Time {
        self.inside.front().map_or(Time::NEVER, |packet| packet.at + self.span)
    }
    fn advance(&mut self, now: Time, out: &mut Outbox) {
        if let Some(mut packet) = self.inside.pop_front() {
            packet.at = now;
            out.pass(packet);
        }
    }
    fn least_delay(&self) -> Span {
        if self.promised { self.span } else { Span::ZERO }
    }
    fn clear(&mut self, out: &mut Vec<Packet>) {
        out.extend(self.inside.drain(..));
    }
}

/// Loses every packet with an even first byte.
struct LoseEven;

impl Stage for LoseEven {
    fn accept(&mut self, packet: Packet, out: &mut Outbox) {
        if packet.frame.head()[0].is_multiple_of(2) {
            out.lose(packet, Loss::Listed);
        } else {
            out.pass(packet);
        }
    }
}

fn waits(millis: &[u64]) -> Pipeline {
    stages(millis, false)
}

fn stages(millis: &[u64], promised: bool) -> Pipeline {
    let stage = |&millis| {
        let wait = Wait { span: Span::from_millis(millis), promised, inside: VecDeque::new() };
        (format!("wait {millis}"), Box::new(wait) as Box<dyn Stage>)
    };
    Pipeline::new(millis.iter().map(stage).collect())
}

fn frame(content: u8) -> Frame {
    Frame::owned(Layer::Ip, vec![content; 40])
}

fn at(micros: u64) -> Time {
    Time::from_nanos(micros * 1000)
}

/// Records everything that the loop shows.
#[derive(Default)]
struct Seen {
    entered: Vec<(WayId, u64, Time)>,
    ended: Vec<(WayId, Packet)>,
    noted: Vec<(WayId, Record)>,
}

impl Observer for Seen {
    fn entered(&mut self, way: WayId, number: u64, _: &Frame, now: Time) {
        self.entered.push((way, number, now));
    }
    fn ended(&mut self, way: WayId, packet: &Packet) {
        self.ended.push((way, packet.clone()));
    }
    fn noted(&mut self, way: WayId, record: &Record) {
        self.noted.push((way, *record));
    }
}

/// Runs one link. Port 0 is the host, port 1 the network.
fn run(world: Simulated, up: Pipeline, down: Pipeline) -> Ending<Simulated, Seen> {
    let (_control, controls) = control().expect("an eventfd");
    let mut emulator = Emulator::new(world, Seen::default());
    emulator.add_link(Link::new(up, down), [PortId(0), PortId(1)]);
    emulator.run(&controls).expect("the simulated world has no errors")
}

#[test]
fn packets_leave_exactly_when_they_are_due() {
    let script = vec![(at(100), PortId(0), frame(1)), (at(250), PortId(1), frame(2))];
    let ending = run(Simulated::new(script), waits(&[10]), waits(&[20, 5]));
    let sent: Vec<_> =
        ending.driver.sent.iter().map(|(time, port, f)| (*time, port.0, f.head()[0])).collect();
    assert_eq!(sent, [(at(10_100), 1, 1), (at(25_250), 0, 2)]);
    assert_eq!(ending.punctuality.worst(), Span::ZERO);
}

/// Three waits: one for the packet's arrival, one for its departure, and one that finds the end of
/// the script.
#[test]
fn the_loop_does_not_wake_up_for_what_happens_between_two_stages() {
    let script = || Simulated::new(vec![(at(100), PortId(0), frame(1))]);
    let unknown = run(script(), stages(&[10, 20, 30], false), waits(&[]));
    let promised = run(script(), stages(&[10, 20, 30], true), waits(&[]));
    assert_eq!((unknown.driver.waits, promised.driver.waits), (5, 3));
    let sent =
        |ending: &Ending<Simulated, Seen>| ending.driver.sent.iter().map(|sent| sent.0).collect::<Vec<_>>();
    assert_eq!((sent(&unknown), sent(&promised)), (vec![at(60_100)], vec![at(60_100)]));
    assert_eq!(promised.punctuality.worst(), Span::ZERO);
}

/// A link with RLP and no packets exchanges frames every 20 ms, and the loop does not wake up for
/// them. The link does this work when a packet comes, with the times at which it was due. The
/// directions depend on each other: with a window of one frame, a direction would stop after its
/// first frame without the acknowledgements of the other one.
#[test]
fn both_directions_of_a_link_with_a_link_layer() {
    let hour = 3_600_000_000;
    let script = vec![(at(100), PortId(1), frame(1)), (at(hour + 100), PortId(1), frame(2))];
    let run = |late: Span| {
        let (_control, controls) = control().expect("an eventfd");
        let world = Simulated::new(script.clone()).late_by(late);
        let mut emulator = Emulator::new(world, Seen::default());
        let arq = Some("rlp:window=1".parse().expect("a link layer"));
        let link = LinkProfile { arq, ..LinkProfile::default() };
        let mut link = link.build(&Seed::campaign(1)).expect("a link");
        link.watch(Watch { records: true, blocks: false });
        assert_eq!(emulator.add_link(link, [PortId(0), PortId(1)]), [WayId(0), WayId(1)]);
        emulator.run(&controls).expect("the simulated world has no errors")
    };
    let ending = run(Span::ZERO);
    let sent: Vec<_> =
        ending.driver.sent.iter().map(|(time, port, f)| (*time, port.0, f.head()[0])).collect();
    assert_eq!(sent.iter().map(|(_, port, content)| (*port, *content)).collect::<Vec<_>>(), [(0, 1), (0, 2)]);
    // The hour is a whole number of blocks. So the second packet takes as long as one that comes to
    // a connection that is up.
    let taken = sent[1].0.since(at(hour + 100));
    assert!((Span::from_millis(140)..Span::from_secs(2)).contains(&taken), "{taken}");
    assert!(ending.driver.waits < 400, "{} waits: it wakes up while idle", ending.driver.waits);
    assert_eq!(ending.punctuality.worst(), Span::ZERO);
    let counted: Vec<_> = ending.counted.iter().map(|(way, counted)| (way.0, counted.first)).collect();
    assert_eq!((counted[0], counted[1].0), ((0, 0), 1));
    assert!(counted[1].1 >= 4, "two packets of 40 octets: {counted:?}");
    // The records of the idle link come late, and none is missing: 50 blocks a second in each
    // direction, at their own times, except for blocks still in transit.
    let noted = &ending.observer.noted;
    for way in [WayId(0), WayId(1)] {
        let times: Vec<_> = noted
            .iter()
            .filter(|(noted, record)| *noted == way && record.event == Event::Right)
            .map(|(_, r)| r.at)
            .collect();
        assert!(times.len() > 50 * 3600, "{} blocks", times.len());
        assert!(times.windows(2).all(|pair| pair[1].since(pair[0]) == Span::from_millis(20)));
    }
    let first = noted.iter().filter(|(way, record)| (*way, record.event) == (WayId(1), Event::First)).count();
    assert_eq!(first as u64, counted[1].1);
    // A late machine makes packets late, but changes no logical time.
    let late = run(Span::from_micros(300));
    let logical = |ending: &Ending<Simulated, Seen>| {
        ending.observer.ended.iter().map(|(way, packet)| (*way, packet.number, packet.at)).collect::<Vec<_>>()
    };
    assert_eq!(logical(&late), logical(&ending));
}

#[test]
fn a_late_wake_up_makes_a_packet_late_once_and_not_once_a_stage() {
    let late = Span::from_micros(300);
    let script = vec![(at(0), PortId(0), frame(1))];
    let ending = run(Simulated::new(script).late_by(late), waits(&[10, 10, 10]), waits(&[]));
    // The loop is 300 us late at each of the three stages; the packet is late only at the last.
    assert_eq!(ending.driver.sent[0].0, at(30_300));
    assert_eq!(ending.observer.ended[0].1.at, at(30_000), "the logical time is exact");
    assert_eq!(ending.punctuality.worst(), late);
}

/// D3 of issue 20: one ping a second over an empty link, and the process is stopped for 5 s. No
/// packet is late by its logical time, since none was read before. Even so, the echo took 5 s.
#[test]
fn a_process_that_is_stopped_says_so_though_no_packet_is_late() {
    let ping = |second: u64| (at(second * 1_000_000), PortId(0), frame(second as u8));
    let script = || (0..10).map(ping).collect();
    let beat = Span::from_millis(50);
    let world = |stop: Option<(Time, Span)>| {
        let world = Simulated::new(script()).waiting_at_most(beat);
        let world = stop.into_iter().fold(world, |world, (at, length)| world.stopped(at, length));
        run(world, waits(&[10]), waits(&[]))
    };
    let never = world(None);
    assert_eq!((never.pauses, never.driver.sent.len()), (Pauses::default(), 10));
    // The pings of seconds 3 to 7 arrive while it is stopped, in the middle of a wait of 50 ms.
    let stopped = world(Some((at(2_520_000), Span::from_secs(5))));
    assert_eq!(stopped.punctuality.worst(), Span::ZERO, "by its logical time nothing is late");
    assert_eq!(stopped.driver.sent[3].0, at(7_530_000));
    let pauses = stopped.pauses;
    assert_eq!((pauses.count, pauses.waited), (1, 5));
    assert!(pauses.total <= Span::from_secs(5) && pauses.total >= Span::from_secs(5) - beat, "{pauses:?}");
    assert_eq!(pauses.longest_waited, pauses.total);
    assert!(pauses.verdict(stopped.punctuality.total()).is_some());
    // No packet waited from 2.02 s to 2.92 s.
    let idle = world(Some((at(2_020_000), Span::from_millis(900))));
    assert_eq!((idle.pauses.count, idle.pauses.waited), (1, 0));
    assert_eq!(idle.pauses.verdict(idle.punctuality.total()), None);
}

#[test]
fn it_blocks_while_nothing_is_due() {
    let script = vec![(at(0), PortId(0), frame(1)), (at(3_600_000_000), PortId(0), frame(1))];
    let ending = run(Simulated::new(script), waits(&[10]), waits(&[]));
    assert_eq!(ending.driver.sent.len(), 2);
    // Each packet costs one wait for its arrival and one for its departure; the last wait finds the
    // end of the script.
    assert!(ending.driver.waits <= 6, "{} waits: it spins", ending.driver.waits);
}

#[test]
fn the_observer_sees_every_packet_come_and_end() {
    let script: Vec<_> = (0..10).map(|n| (at(u64::from(n)), PortId(0), frame(n))).collect();
    let lossy = Pipeline::new(vec![("even".to_owned(), Box::new(LoseEven) as Box<dyn Stage>)]);
    let ending = run(Simulated::new(script), lossy, waits(&[]));
    assert_eq!(ending.observer.entered.len(), 10);
    assert_eq!(ending.observer.ended.len(), 10);
    let lost = ending.observer.ended.iter().filter(|(_, packet)| packet.loss() == Some(Loss::Listed));
    assert_eq!(lost.count(), 5);
    assert_eq!(ending.driver.sent.len(), 5);
}

/// A stage that stops the run when a packet comes.
struct StopTheRun(crate::Control);

impl Stage for StopTheRun {
    fn accept(&mut self, packet: Packet, out: &mut Outbox) {
        self.0.tell(Command::Stop);
        out.pass(packet);
    }
}

#[test]
fn what_is_inside_when_the_run_stops_is_lost_with_that_reason() {
    let (control, controls) = control().expect("an eventfd");
    let world = Simulated::new(vec![(at(0), PortId(0), frame(1)), (at(5_000), PortId(0), frame(2))]);
    let mut emulator = Emulator::new(world, Seen::default());
    let wait = Wait { span: Span::from_millis(10), promised: false, inside: VecDeque::new() };
    let pipeline = Pipeline::new(vec![
        ("stop".to_owned(), Box::new(StopTheRun(control)) as Box<dyn Stage>),
        ("wait".to_owned(), Box::new(wait)),
    ]);
    emulator.add_link(Link::new(pipeline, waits(&[])), [PortId(0), PortId(1)]);
    let ending = emulator.run(&controls).expect("no errors");
    let effects: Vec<_> =
        ending.observer.ended.iter().map(|(_, p)| p.marks.last().map(|m| m.effect)).collect();
    assert_eq!(effects, [Some(Effect::Lost(Loss::RunEnded))]);
    assert!(ending.driver.sent.is_empty());
}

proptest! {
    /// For any arrivals and any lateness of the machine: no packet leaves early, order is kept, no
    /// packet disappears.
    #[test]
    fn never_early_in_order_and_complete(
        gaps in proptest::collection::vec((0u64..20_000, 0usize..2), 1..200),
        late in 0u64..3_000,
    ) {
        let mut time = 0;
        let script: Vec<_> = gaps.iter().enumerate().map(|(n, &(gap, port))| {
            time += gap;
            (at(time), PortId(port), frame(n as u8))
        }).collect();
        let ending = run(Simulated::new(script).late_by(Span::from_micros(late)), waits(&[7, 2]), waits(&[3]));
        prop_assert_eq!(ending.driver.sent.len(), gaps.len());
        for (way, packet) in &ending.observer.ended {
            let delay = Span::from_millis(if way.0 == 0 { 9 } else { 3 });
            prop_assert_eq!(packet.at, packet.arrived + delay);
        }
        for port in 0..2 {
            let out: Vec<_> = ending.driver.sent.iter().filter(|s| s.1 == PortId(port)).collect();
            let entered = ending.observer.ended.iter().filter(|e| e.0.0 == 1 - port);
            for ((_, packet), (sent, _, bytes)) in entered.zip(&out) {
                prop_assert!(*sent >= packet.at);
                prop_assert_eq!(bytes.head(), packet.frame.head());
            }
            prop_assert!(out.is_sorted_by_key(|s| s.0));
        }
    }
}
