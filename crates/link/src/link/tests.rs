//! Tests of both directions of a link with a link layer: invariants of any link, and its own
//! behaviour.

mod air;

use super::*;
use crate::profile::{LinkProfile, Parameters, Resolve};
use crate::spec::StageSpec;
use crate::stage::errors::ErrorSpec;
use crate::stage::outage::{OutagePlace, OutageSpec};
use crate::units::Span;
use crate::{Loss, Seed};
use ::packet::Layer;
use proptest::prelude::*;
use std::io;
use vocabulary::link_layer::{Event, Way};

struct Nothing;

impl Resolve for Nothing {
    fn losses(&mut self, name: &str) -> Result<ErrorSpec, String> {
        Err(format!("no {name}"))
    }
    fn file(&mut self, _: &str) -> io::Result<String> {
        Err(io::Error::other("no file"))
    }
}

/// The fate of a packet.
#[derive(Debug, Clone, PartialEq)]
struct End {
    direction: Direction,
    number: u64,
    at: Time,
    loss: Option<Loss>,
    stage: Option<String>,
}

#[derive(Default)]
struct Seen {
    ends: Vec<(Direction, Packet)>,
    records: Vec<EndRecord>,
    blocks: Vec<Block>,
}

impl LinkSink for Seen {
    fn delivered(&mut self, direction: Direction, packet: Packet) {
        assert_eq!(packet.loss(), None);
        self.ends.push((direction, packet));
    }
    fn lost(&mut self, direction: Direction, packet: Packet) {
        assert!(packet.loss().is_some());
        self.ends.push((direction, packet));
    }
    fn noted(&mut self, record: &EndRecord) {
        self.records.push(*record);
    }
    fn block(&mut self, block: &Block) {
        self.blocks.push(block.clone());
    }
}

impl Seen {
    fn ends(&self, link: &Link) -> Vec<End> {
        let end = |(direction, packet): &(Direction, Packet)| End {
            direction: *direction,
            number: packet.number,
            at: packet.at,
            loss: packet.loss(),
            stage: packet
                .loss()
                .and_then(|_| packet.marks.last())
                .map(|mark| link.stage_name(*direction, mark.stage).to_owned()),
        };
        self.ends.iter().map(end).collect()
    }
}

fn profile(arq: &str, up: &str, down: &str) -> LinkProfile {
    let mut link = LinkProfile { arq: Some(arq.parse().expect("a link layer")), ..LinkProfile::default() };
    for (direction, text) in [(Direction::Up, up), (Direction::Down, down)] {
        let parameters: Parameters = text.parse().expect("parameters");
        parameters.apply(link.direction_mut(direction), &mut Nothing).expect("good ones");
    }
    link
}

fn link(arq: &str, up: &str, down: &str) -> Link {
    built(&profile(arq, up, down))
}

fn built(profile: &LinkProfile) -> Link {
    let link = profile.build(&Seed::campaign(5)).expect("it can be built");
    assert!(link.has_medium());
    link
}

fn counters(link: &Link, direction: Direction) -> Counters {
    link.counters(direction).expect("a link layer")
}

fn frame(length: usize, content: u8) -> Frame {
    Frame::owned(Layer::Ip, vec![content; length])
}

fn at_ms(ms: u64) -> Time {
    Time::ZERO + Span::from_millis(ms)
}

/// M15, M16: the queue's limit counts the packets that wait in the queue. It counts neither the
/// packet being sent nor the one that the link layer has ahead. A packet that arrives at a full
/// queue is lost there, at once.
#[test]
fn the_queue_stands_above_and_gives_one_packet_ahead() {
    let mut link = link("rlp", "", "queue=2p");
    let mut seen = Seen::default();
    // The connection is up after a second.
    link.accept(Direction::Down, frame(240, 0), at_ms(1000), &mut seen);
    // The first packet is begun at the tick of 1020 ms. From then on one packet waits in the hop
    // and two in the queue.
    for content in 1..6 {
        link.accept(Direction::Down, frame(240, content), at_ms(1021), &mut seen);
    }
    let ends = seen.ends(&link);
    let lost: Vec<_> = ends.iter().map(|end| (end.number, end.loss, end.stage.as_deref())).collect();
    assert_eq!(lost, [4, 5].map(|number| (number, Some(Loss::QueueFull), Some("bottleneck"))));
    assert_eq!(link.waiting(Direction::Down), 2);
    link.advance(at_ms(60_000), &mut seen);
    let passed: Vec<_> = seen.ends(&link).into_iter().filter(|end| end.loss.is_none()).collect();
    assert_eq!(passed.iter().map(|end| end.number).collect::<Vec<_>>(), [0, 1, 2, 3]);
    // A packet of 240 octets takes 10 blocks plus some octets of framing: 200 ms, and at most one
    // block more.
    for pair in passed.windows(2) {
        let gap = pair[1].at.since(pair[0].at);
        assert!((Span::from_millis(200)..=Span::from_millis(220)).contains(&gap), "{gap}");
    }
    assert_eq!((link.due() < Time::NEVER, link.wake()), (true, Time::NEVER), "idle: nobody need wake up");
}

/// A limit in time is a packet's wait for those in the queue, at the rate of the link layer: 200 ms
/// for each of 240 octets.
#[test]
fn a_limit_in_time_goes_by_the_rate_of_the_link_layer() {
    let mut link = link("rlp", "", "queue=250ms");
    let mut seen = Seen::default();
    // One packet is in the hop. The next would wait for no other packet, the third for one, the
    // fourth for two.
    for content in 0..4 {
        link.accept(Direction::Down, frame(240, content), at_ms(1001), &mut seen);
    }
    let lost: Vec<_> = seen.ends(&link).into_iter().map(|end| (end.number, end.loss)).collect();
    assert_eq!(lost, [(3, Some(Loss::QueueFull))]);
}

/// LL-07: watched records and blocks are reported as they occur and agree with the counters:
/// frames, retransmitted frames, erased blocks, and the octets of all packets, each with 6 octets
/// for its framing and its number.
#[test]
fn what_is_watched_of_a_link_layer() {
    let mut link = link("rlp:n2=inf", "loss=5%", "loss=20%");
    link.watch(Watch { records: true, blocks: true });
    let mut seen = Seen::default();
    for number in 0..20 {
        link.accept(Direction::Down, frame(200, number), at_ms(u64::from(number) * 500), &mut seen);
    }
    link.advance(at_ms(60_000), &mut seen);
    let inside = link.medium.as_mut().expect("a hop").take_records().len();
    assert_eq!((seen.ends.len(), inside), (20, 0), "nothing stays inside");
    let (end, counted) = (Direction::Down, counters(&link, Direction::Down));
    let of = |end, way, kind| {
        let records = seen.records.iter().filter(move |record| record.end == end);
        records.map(|record| record.record).filter(move |record| (record.way, record.event) == (way, kind))
    };
    let count = |end, way, kind| of(end, way, kind).count() as u64;
    assert_eq!(count(end, Way::Sent, Event::First), counted.first);
    assert_eq!(count(end, Way::Sent, Event::Again), counted.again);
    assert_eq!(
        count(Direction::Up, Way::Sent, Event::SelectiveReject),
        counters(&link, Direction::Up).rejects
    );
    assert!(of(end, Way::Sent, Event::Again).all(|record| record.aux >= 1), "how often before");
    assert_eq!(of(end, Way::Sent, Event::First).map(|record| record.aux).sum::<u32>(), 20 * 206);
    assert!(of(end, Way::Sent, Event::First).all(|record| record.aux <= 24));

    // Each block is reported at its sender, and 120 ms later at its receiver with the same content.
    // The last six are still on the way.
    let blocks = |end, way| seen.blocks.iter().filter(move |block| (block.end, block.way) == (end, way));
    for (way, back) in [(Direction::Up, Direction::Down), (Direction::Down, Direction::Up)] {
        let arrived: Vec<_> = blocks(back, Way::Received).collect();
        assert_eq!(blocks(way, Way::Sent).count(), arrived.len() + 6);
        for (sent, arrived) in blocks(way, Way::Sent).zip(&arrived) {
            assert_eq!((&sent.octets, sent.erased), (&arrived.octets, arrived.erased));
            assert_eq!(arrived.at.since(sent.at), Span::from_millis(120));
        }
        let erased = arrived.iter().filter(|block| block.erased).count() as u64;
        assert_eq!(erased, count(back, Way::Received, Event::Erased));
        // An erasure is decided and counted when the block is sent.
        let on_the_way =
            blocks(way, Way::Sent).skip(arrived.len()).filter(|block| block.erased).count() as u64;
        assert_eq!(erased + on_the_way, counters(&link, way).erased);
        assert_eq!(arrived.len() as u64 - erased, count(back, Way::Received, Event::Right));
    }
}

/// Events that are not watched are not stored.
#[test]
fn what_is_not_watched_is_not_kept() {
    let mut link = link("rlp", "", "");
    let mut seen = Seen::default();
    link.accept(Direction::Down, frame(200, 1), at_ms(0), &mut seen);
    link.advance(at_ms(10_000), &mut seen);
    assert_eq!((seen.ends.len(), seen.records.len(), seen.blocks.len()), (1, 0, 0));
}

/// A stage behind the hop adds its delay, exact to the nanosecond.
#[test]
fn a_delay_behind_the_hop() {
    let leaves = |down: &str| {
        let mut link = link("rlp", "", down);
        let mut seen = Seen::default();
        link.accept(Direction::Down, frame(576, 1), at_ms(1003), &mut seen);
        link.advance(at_ms(20_000), &mut seen);
        let ends = seen.ends(&link);
        assert_eq!((ends.len(), ends[0].loss), (1, None));
        ends[0].at
    };
    assert_eq!(leaves("delay=33ms").since(leaves("")), Span::from_millis(33));
}

/// Errors act on the air: about a third of the frames or blocks is lost, and no packet.
#[test]
fn what_is_lost_on_the_air_is_sent_again() {
    for (arq, least) in [("rlp:n2=inf", 100), ("llp", 20)] {
        let mut link = link(arq, "rate=9600bit,loss=30%", "rate=9600bit,delay=100ms,loss=30%");
        let mut seen = Seen::default();
        for number in 0..20 {
            for direction in Direction::BOTH {
                link.accept(direction, frame(200, number), at_ms(u64::from(number) * 500), &mut seen);
            }
        }
        link.advance(at_ms(600_000), &mut seen);
        for direction in Direction::BOTH {
            let of = |end: &&(Direction, Packet)| end.0 == direction;
            let numbers: Vec<_> =
                seen.ends.iter().filter(of).map(|(_, packet)| (packet.number, packet.loss())).collect();
            let all: Vec<_> = (0..20).map(|number| (number, None)).collect();
            assert_eq!(numbers, all, "{arq} {direction}");
            let counted = counters(&link, direction);
            assert!(counted.first >= least && counted.again > 0 && counted.erased > 0, "{counted:?}");
        }
        for (_, packet) in &seen.ends {
            assert_eq!(*packet.frame.to_bytes(), vec![packet.number as u8; 200], "as it was sent");
        }
    }
}

/// LL-05: a packet that the link layer stops sending is lost with the matching cause, in the stage
/// `arq`.
#[test]
fn fates_of_a_link_layer() {
    for (arq, why) in
        [("give-up", Loss::Persistency), ("reset", Loss::LinkReset), ("disconnect", Loss::Disconnected)]
    {
        let mut link = link(&format!("llp:retries=1,{arq}"), "rate=9600bit", "rate=9600bit,loss=70%");
        let mut seen = Seen::default();
        for content in 0..20 {
            link.accept(Direction::Down, frame(100, content), at_ms(u64::from(content) * 1000), &mut seen);
        }
        link.advance(at_ms(300_000), &mut seen);
        let ends = seen.ends(&link);
        let lost: Vec<_> = ends.iter().filter(|end| end.loss.is_some()).collect();
        assert!(!lost.is_empty(), "{arq}");
        for end in lost {
            assert_eq!((end.loss, end.stage.as_deref()), (Some(why), Some("arq")));
        }
        assert_eq!(ends.len(), 20, "{arq}");
    }
}

#[test]
fn what_is_inside_ends_with_the_run() {
    let mut link = link("rlp", "", "delay=10s");
    let mut seen = Seen::default();
    for content in 0..5 {
        link.accept(Direction::Down, frame(240, content), at_ms(1000), &mut seen);
    }
    // One packet is in the delay stage, the others are in the hop and in the queue.
    link.finish(at_ms(1600), &mut seen);
    let ends = seen.ends(&link);
    let mut numbers: Vec<_> = ends.iter().map(|end| end.number).collect();
    numbers.sort_unstable();
    assert_eq!(numbers, [0, 1, 2, 3, 4]);
    assert!(ends.iter().all(|end| (end.loss, end.at) == (Some(Loss::RunEnded), at_ms(1600))));
    for stage in ["bottleneck", "arq", "delay"] {
        assert!(ends.iter().any(|end| end.stage.as_deref() == Some(stage)), "none in {stage}: {ends:?}");
    }
}

/// A queue can be changed while the link runs. Parameters beneath the link layer cannot, and a
/// refused change has no effect.
#[test]
fn changes_while_it_runs() {
    let former = profile("llp", "rate=9600bit", "rate=9600bit,queue=50p");
    let mut link = link("llp", "rate=9600bit", "rate=9600bit,queue=50p");
    let mut seen = Seen::default();
    let mut change = |down: &str, now| {
        let next = profile("llp", "rate=9600bit", down);
        let own = Seed::campaign(5).direction(Direction::Down);
        link.visit(Direction::Down, now, &mut seen, |link, now| {
            former.change_into(&next, Direction::Down, link, &own, now)
        })
    };
    let why = change("rate=1mbit,queue=50p", at_ms(1)).expect_err("the rate is LLP's");
    assert!(why.contains("cannot change while the link runs"), "{why}");
    change("rate=9600bit,queue=1p", at_ms(2)).expect("the queue is not");
    for content in 0..5 {
        link.accept(Direction::Down, frame(100, content), at_ms(3), &mut seen);
    }
    let full = seen.ends.iter().filter(|(_, packet)| packet.loss() == Some(Loss::QueueFull)).count();
    assert_eq!(full, 2, "one is sent, one is ahead, one waits");
}

/// An outage by command acts on the air, without a stage of that name: erased blocks are sent
/// again. If the profile has an outage stage behind the link layer, the command goes to it, and
/// packets are lost.
#[test]
fn outages_while_it_runs() {
    let lost = |arq, behind: bool| {
        let mut former = profile(arq, "rate=9600bit", "rate=9600bit");
        if behind {
            let place = OutagePlace::Behind;
            former.down.put(StageSpec::Outage(OutageSpec { place, ..OutageSpec::default() }));
        }
        let mut link = built(&former);
        let mut next = former.clone();
        let parameters: Parameters = "outage=now+500ms".parse().expect("parameters");
        parameters.apply(next.direction_mut(Direction::Down), &mut Nothing).expect("good ones");
        let (mut seen, own) = (Seen::default(), Seed::campaign(5).direction(Direction::Down));
        let told = link.visit(Direction::Down, at_ms(2000), &mut seen, |link, now| {
            former.change_into(&next, Direction::Down, link, &own, now)?;
            parameters
                .commands()
                .into_iter()
                .try_for_each(|(stage, command)| link.obey(Direction::Down, stage, command, now))
        });
        assert_eq!(told, Ok(()));
        link.accept(Direction::Down, frame(100, 1), at_ms(2000), &mut seen);
        link.advance(at_ms(10_000), &mut seen);
        let ends = seen.ends(&link);
        assert_eq!(ends.len(), 1);
        (ends[0].loss, counters(&link, Direction::Down).erased)
    };
    // The erased blocks are those of 2.02 to 2.48 s. The block of 2.00 s is judged when it begins:
    // at the instant of the command, but before it.
    assert_eq!(lost("rlp", false), (None, 24));
    assert_eq!(lost("rlp", true), (Some(Loss::Outage), 0));
    // 120 octets take 100 ms: one frame is erased, and then those that the timer sends again during
    // the outage.
    let (fate, erased) = lost("llp", false);
    assert!(fate.is_none() && erased > 0, "{erased}");
}

/// Planned outages on the air are fixed while the link runs, like the other parameters of the air.
#[test]
fn a_planned_outage_is_not_changed_while_it_runs() {
    let (former, next) = (profile("rlp", "", "outage=5s+1s"), profile("rlp", "", "outage=6s+1s"));
    let mut link = built(&former);
    let own = Seed::campaign(5).direction(Direction::Down);
    let changed = link.visit(Direction::Down, at_ms(1), &mut Seen::default(), |link, now| {
        former.change_into(&next, Direction::Down, link, &own, now)
    });
    assert!(
        changed
            .expect_err("it is on the air")
            .contains("errors and outages below a link layer cannot change")
    );
    assert!(former.described(Direction::Down).ends_with("; on the air: out from 5s for 1s"));
    assert!(!former.described(Direction::Up).contains("air"));
    let mut behind = former.clone();
    let Some(StageSpec::Outage(spec)) = former.down.find("outage") else { panic!("no outage") };
    let place = OutagePlace::Behind;
    behind.down.put(StageSpec::Outage(OutageSpec { place, ..spec.clone() }));
    assert!(behind.described(Direction::Down).ends_with("outage: out from 5s for 1s"));
}

/// Arriving packets: direction, milliseconds since the last one, length.
fn traffic() -> impl Strategy<Value = Vec<(bool, u64, usize)>> {
    proptest::collection::vec((any::<bool>(), 0u64..400, 20usize..600), 1..60)
}

fn any_link() -> impl Strategy<Value = (&'static str, &'static str, &'static str)> {
    prop_oneof![
        Just(("rlp", "queue=4p,loss=10%", "queue=200ms,delay=40ms,loss=10%")),
        Just(("rlp:n2=1,give-up", "loss=20%", "queue=2000B,loss=20%")),
        Just(("rlp:n2=1,disconnect", "loss=5%", "queue=codel,loss=5%")),
        Just(("rlp:throttle=960", "queue=4p", "queue=4p,delay=10ms")),
        Just(("llp", "rate=9600bit,queue=3p", "rate=19200bit,delay=70ms,queue=3p,loss=10%")),
        Just(("llp:window=4,retries=2,give-up", "rate=9600bit,loss=20%", "rate=9600bit,queue=5p,loss=20%")),
        Just(("llp:retries=1,reset", "rate=50kbit,loss=20%", "rate=9600bit,delay=1ms,loss=20%")),
    ]
}

fn drive(mut link: Link, packets: &[(bool, u64, usize)], eager: bool) -> Vec<End> {
    let mut seen = Seen::default();
    let mut now = Time::ZERO;
    let mut before = Time::ZERO;
    let end = at_ms(400_000);
    let run = |link: &mut Link, seen: &mut Seen, until: Time| {
        while eager && link.due() <= until && link.due() < Time::NEVER {
            let (due, wake, ended) = (link.due(), link.wake(), seen.ends.len());
            link.advance(due, seen);
            let left = seen.ends[ended..].iter().any(|(_, packet)| packet.loss().is_none());
            assert!(!left || wake <= due, "a packet leaves at {due}, and it was said not before {wake}");
        }
        link.advance(until, seen);
    };
    for &(up, after, length) in packets {
        now += Span::from_millis(after);
        run(&mut link, &mut seen, now);
        let direction = if up { Direction::Up } else { Direction::Down };
        link.accept(direction, frame(length, length as u8), now, &mut seen);
    }
    run(&mut link, &mut seen, end);
    link.finish(end, &mut seen);
    for (_, packet) in &seen.ends {
        assert!(packet.at >= before, "in the order of times over both directions");
        assert!(packet.at >= packet.arrived);
        before = packet.at;
    }
    seen.ends(&link)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// No packet disappears or leaves twice. Packets of a direction are delivered in order. The
    /// same seed gives the same result. How often the link is advanced makes no difference.
    #[test]
    fn packets_are_conserved_and_times_are_logical(setting in any_link(), packets in traffic()) {
        let (arq, up, down) = setting;
        let often = drive(link(arq, up, down), &packets, true);
        let seldom = drive(link(arq, up, down), &packets, false);
        prop_assert_eq!(&often, &seldom);
        for direction in Direction::BOTH {
            let came = packets.iter().filter(|(up, ..)| *up == (direction == Direction::Up)).count() as u64;
            let of = |end: &&End| end.direction == direction;
            let mut numbers: Vec<_> = often.iter().filter(of).map(|end| end.number).collect();
            let passed: Vec<_> = often.iter().filter(of).filter(|end| end.loss.is_none()).map(|end| end.number).collect();
            prop_assert!(passed.is_sorted_by(|a, b| a < b), "{:?}", passed);
            numbers.sort_unstable();
            prop_assert_eq!(numbers, (0..came).collect::<Vec<_>>());
        }
    }
}
