//! C91: messages that may be lost are lost only after an outage, and each is reported once, as
//! itself or as lost.

use super::link::{Link, PACKET, World, data, datagram, number_of};
use crate::llp::{Event, Machine};
use proptest::prelude::*;
use resoa_protocol::lhp::{DisconnectReason, Lost};
use std::collections::BTreeMap;
use std::time::Duration;

const MS: Duration = Duration::from_millis(1);
const COUNT: u32 = 1000;

/// Datagrams that an end was told of: by number, the time and whether it is lost.
#[derive(Default)]
struct Told(BTreeMap<u32, (Duration, bool)>);

impl Told {
    /// Processes the indications since `at`. Each datagram was sent with this many bytes.
    fn look(&mut self, world: &World, end: usize, at: &mut usize, octets: usize) {
        for event in &world.told[end][*at..] {
            let (number, is_lost) = match event {
                Event::Data(message) if message[1] == 4 => {
                    let number = number_of(message);
                    assert!(*message == datagram(3, number, octets), "is changed");
                    (number, false)
                }
                Event::Lost(lost) => {
                    let number = number_of(&lost.head);
                    assert_eq!(*lost, Lost::of(&datagram(3, number, octets)));
                    (number, true)
                }
                _ => continue,
            };
            assert!(self.0.insert(number, (world.now, is_lost)).is_none(), "{number} is told twice");
        }
        *at = world.told[end].len();
    }
}

/// A datagram each 20 ms over an outage of ten seconds, beside other traffic. Datagrams that arrive
/// are younger than half a second plus four round trips plus the way there. Those that are sent
/// after the outage arrive.
#[test]
fn nothing_that_is_old_arrives() {
    for (link, bulk) in [
        (Link::default(), 0),
        (Link { delay: 150 * MS, ..Link::default() }, 0),
        (Link { rate: 125e3, ..Link::default() }, 0),
        (Link { rate: 1.25e6, loss: 0.2, ..Link::default() }, 0),
        (Link { rate: 1.25e6, ..Link::default() }, 1_000),
    ] {
        let mut world = World::up(link, 11);
        world.run(Duration::from_secs(1));
        let begin = world.now;
        let outage = (begin + Duration::from_secs(2), begin + Duration::from_secs(12));
        world.link.outage = outage;
        let (mut told, mut at, mut trip) = (Told::default(), 0, Duration::ZERO);
        for number in 0..COUNT {
            world.ends[0].send_or_lose(&datagram(3, number, 160), world.now);
            if bulk > 0 && !world.ends[0].is_full() {
                world.ends[0].send(&data(1, number, bulk));
            }
            for _ in 0..20 {
                world.run(MS);
                told.look(&world, 1, &mut at, 160);
                trip = trip.max(world.ends[0].statistics().round_trip.unwrap_or_default());
            }
        }
        world.until(|world| {
            told.look(world, 1, &mut at, 160);
            told.0.len() as u32 == COUNT
        });
        let sent_at = |number: u32| begin + 20 * MS * number;
        let whole = told.0.iter().filter(|(_, (_, is_lost))| !is_lost);
        let oldest = whole.map(|(&number, (time, _))| time.saturating_sub(sent_at(number))).max();
        let lost: Vec<_> =
            told.0.iter().filter(|(_, (_, lost))| *lost).map(|(number, _)| sent_at(*number)).collect();
        let Link { rate, delay, loss, .. } = link;
        println!(
            "{rate} octets/s, {delay:?}, {loss}, beside {bulk}: {} lost, the oldest {oldest:?}",
            lost.len()
        );
        // The measured round trips include the queue on the link. The fifth one stands for the way
        // there.
        assert!(oldest <= Some(500 * MS + trip * 5), "{oldest:?}, round trips of up to {trip:?}");
        assert!(lost.len() > 400, "{} are lost", lost.len());
        // The end of the outage is detected within a second, unless that probe is lost.
        let found_out = Duration::from_secs(if link.loss > 0.0 { 4 } else { 1 }) + trip;
        let [first, final_one] = [lost.first(), lost.last()].map(Option::<&Duration>::copied);
        assert!(first >= Some(outage.0.saturating_sub(trip * 4)), "{first:?}, {outage:?}");
        assert!(final_one < Some(outage.1 + found_out), "{final_one:?}, {outage:?}");
    }
}

/// A full link delays datagrams and loses none. They wait for earlier messages, which is not an
/// outage.
#[test]
fn a_queue_loses_nothing() {
    let mut world = World::up(Link { rate: 25e3, ..Link::default() }, 12);
    let (mut told, mut at) = (Told::default(), 0);
    let mut bulk = 0;
    for number in 0..300 {
        while !world.ends[0].is_full() {
            world.ends[0].send(&data(1, bulk, 5_000));
            bulk += 1;
        }
        world.ends[0].send_or_lose(&datagram(3, number, 160), world.now);
        world.run(100 * MS);
        told.look(&world, 1, &mut at, 160);
    }
    world.until(|world| {
        told.look(world, 1, &mut at, 160);
        told.0.len() == 300
    });
    assert!(told.0.values().all(|(_, is_lost)| !is_lost));
    let slowest = told.0.iter().map(|(number, (time, _))| time.saturating_sub(100 * MS * *number)).max();
    assert!(slowest > Some(Duration::from_secs(2)), "there was no queue: {slowest:?}");
}

/// In an outage, late datagrams make room, so that the user need not stop. A datagram that has
/// already waited elsewhere is given up at once when the outage is over.
#[test]
fn those_that_are_late_make_room() {
    let mut world = World::up(Link::default(), 13);
    world.run(Duration::from_secs(1));
    world.link.loss = 1.0;
    let mut number = 0;
    while !world.ends[0].is_full() {
        world.ends[0].send_or_lose(&datagram(3, number, 5_000), world.now);
        number += 1;
    }
    world.run(Duration::from_secs(1));
    assert!(world.ends[0].has_room());
    let handed_over = world.now.saturating_sub(800 * MS);
    world.ends[0].send_or_lose(&datagram(3, number, 5_000), handed_over);
    world.ends[0].send_or_lose(&datagram(3, number + 1, 5_000), world.now);
    world.link.loss = 0.0;
    let (mut told, mut at) = (Told::default(), 0);
    world.until(|world| {
        told.look(world, 1, &mut at, 5_000);
        told.0.len() as u32 == number + 2
    });
    assert!(told.0[&number].1 && !told.0[&(number + 1)].1);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    /// Datagrams and data in both directions, over any link with outages, with a reader that
    /// pauses, and then a close. Each datagram is reported once, and everything else once and in
    /// order, before the end.
    #[test]
    fn each_is_told_of_once(
        rate in prop_oneof![Just(0.0), Just(125e3), Just(1.25e6)],
        (delay, late, share) in (0_u64..50, 0_u64..100, 0.0..0.5),
        (loss, repeated) in (0.0..0.3, 0.0..0.3),
        outages in prop::collection::vec((0_u64..3000, 0_u64..3000), 1..4),
        lengths in prop::collection::vec(0_usize..4000, 10..60),
        (seed, pauses) in any::<(u64, bool)>(),
    ) {
        let link = Link { rate, delay: Duration::from_millis(delay), loss, repeated, late: (share, Duration::from_millis(late)), ..Link::default() };
        let mut world = World::up(link, seed);
        world.wanted[1] = !pauses;
        let gap = outages.iter().map(|(before, during)| before + during).sum::<u64>() / lengths.len() as u64;
        let mut outages = outages.into_iter();
        for (number, octets) in (0..).zip(lengths.iter().copied()) {
            let is_over = world.link.outage.1 <= world.now || world.link.outage.0 == Duration::MAX;
            if is_over && let Some((before, during)) = outages.next() {
                let begin = world.now + Duration::from_millis(before);
                world.link.outage = (begin, begin + Duration::from_millis(during));
            }
            for end in &mut world.ends {
                end.send_or_lose(&datagram(3, number, octets), world.now);
                end.send(&data(1, number, octets));
            }
            world.run(Duration::from_millis(gap));
        }
        let count = lengths.len();
        world.until(|world| world.told[0].len() == 2 * count);
        world.wanted[1] = true;
        world.ends[0].close(world.now);
        world.until(|world| world.ends.iter().all(Machine::is_over));
        prop_assert_eq!(world.told[1].pop(), Some(Event::Ended(DisconnectReason::Closed)));
        for told in &world.told {
            let mut datagrams = BTreeMap::new();
            let mut next = 0;
            for event in told {
                match event {
                    Event::Data(message) if message[1] == 4 => {
                        let number = number_of(message);
                        prop_assert_eq!(message, &datagram(3, number, lengths[number as usize]));
                        prop_assert_eq!(datagrams.insert(number, false), None);
                    }
                    Event::Lost(lost) => {
                        let number = number_of(&lost.head);
                        prop_assert_eq!(lost, &Lost::of(&datagram(3, number, lengths[number as usize])));
                        prop_assert_eq!(datagrams.insert(number, true), None);
                    }
                    Event::Data(message) => {
                        prop_assert_eq!(message, &data(1, next, lengths[next as usize]));
                        next += 1;
                    }
                    told => prop_assert!(false, "{:?}", told),
                }
            }
            prop_assert_eq!((datagrams.len(), next as usize), (count, count));
        }
    }
}

/// A datagram that is longer than a packet is given up as a whole, even if a part of it has
/// arrived.
#[test]
fn a_part_of_one_is_none() {
    let mut world = World::up(Link { longest: PACKET, ..Link::default() }, 14);
    world.run(Duration::from_secs(1));
    // Its first packet arrives. The second one is lost, and so is everything until the outage ends.
    world.cut = Some((world.packets + 1, Duration::from_secs(3)));
    world.ends[0].send_or_lose(&datagram(3, 0, PACKET + 200), world.now);
    let (mut told, mut at) = (Told::default(), 0);
    world.until(|world| {
        told.look(world, 1, &mut at, PACKET + 200);
        !told.0.is_empty()
    });
    assert!(told.0[&0].1);
}
