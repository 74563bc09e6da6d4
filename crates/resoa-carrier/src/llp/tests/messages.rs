//! C86, C87: each message arrives once, whole, and in the order of its socket, whatever the link
//! does.

use super::link::{LONG, Link, PACKET, World, data, read};
use crate::llp::incoming::ROOM;
use proptest::collection::vec;
use proptest::prelude::*;
use resoa_protocol::lhp::DisconnectReason;
use resoa_protocol::message::MESSAGE_OCTETS;
use std::collections::BTreeMap;
use std::time::Duration;

fn any_link() -> impl Strategy<Value = Link> {
    let rate = prop_oneof![Just(0.0), Just(125_000.0), Just(12_500_000.0)];
    let times = (0_u64..50, 0_u64..100);
    (rate, times, 0.0..0.4, 0.0..0.3, 0.0..0.5, 2_000_u64..200_000).prop_map(
        |(rate, (delay, late), loss, repeated, share, queue)| Link {
            rate,
            delay: Duration::from_millis(delay),
            queue,
            loss,
            repeated,
            late: (share, Duration::from_millis(late)),
            ..Link::default()
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    /// Both directions at once, messages of any length, a reader that pauses, and then a close: no
    /// message is missing, repeated, or behind the end.
    #[test]
    fn exactly_once_and_in_order(
        link in any_link(),
        seed: u64,
        lengths in vec((0_u32..4, prop_oneof![0_usize..50, 0_usize..9000, Just(MESSAGE_OCTETS - 11)]), 1..60),
        pauses: bool,
    ) {
        let mut world = World::up(link, seed);
        world.wanted[1] = !pauses;
        let mut sent: BTreeMap<u32, u32> = BTreeMap::new();
        for (socket, octets) in lengths {
            let number = sent.entry(socket + 1).or_default();
            let message = data(socket + 1, *number, octets);
            *number += 1;
            world.ends[0].send(&message);
            world.ends[1].send(&message);
            if seed % 3 == 0 {
                world.step();
            }
        }
        world.until(|world| world.told[0].len() as u32 == sent.values().sum::<u32>());
        world.wanted[1] = true;
        world.ends[0].close(world.now);
        world.until(|world| world.messages(1).1.is_some() && world.ends.iter().all(super::super::Machine::is_over));
        for end in 0..2 {
            let (messages, ended) = world.messages(end);
            prop_assert_eq!(ended, (end == 1).then_some(DisconnectReason::Closed));
            let mut found: BTreeMap<u32, u32> = BTreeMap::new();
            for message in messages {
                let (socket, number) = read(&message);
                let next = found.entry(socket).or_default();
                prop_assert_eq!(number, *next, "socket {}", socket);
                *next += 1;
            }
            prop_assert_eq!(&found, &sent);
        }
    }
}

/// A lost message of one socket does not delay another socket, but it delays later messages of its
/// own.
#[test]
fn sockets_do_not_wait_for_each_other() {
    let mut world = World::up(Link::default(), 1);
    world.run(Duration::from_millis(100));
    world.link.loss = 1.0;
    world.ends[0].send(&data(1, 0, 10));
    world.run(Duration::from_millis(1));
    world.link.loss = 0.0;
    for (socket, number) in [(1, 1), (2, 0), (2, 1)] {
        world.ends[0].send(&data(socket, number, 10));
        world.run(Duration::from_millis(1));
    }
    world.until(|world| world.told[1].len() == 4);
    let order: Vec<_> = world.messages(1).0.iter().map(|message| read(message)).collect();
    assert_eq!(order, [(2, 0), (2, 1), (1, 0), (1, 1)]);
}

/// C26: a user that takes no messages stops the other side once the room is used up. What was
/// handed over beyond that arrives when there is room again, even if every announcement of room was
/// lost.
#[test]
fn room_is_asked_for() {
    let mut world = World::up(Link::default(), 2);
    world.wanted[1] = false;
    let mut count = 0;
    // Until it stays full: while the other side has room, there is also room here.
    while !world.ends[0].is_full() {
        while !world.ends[0].is_full() {
            world.ends[0].send(&data(1, count, 50_000));
            count += 1;
        }
        assert!(u64::from(count) * 50_011 < 4 * ROOM, "{count} messages to a user who takes nothing");
        world.run(Duration::from_mins(1));
    }
    let unsent = world.carried;
    world.run(Duration::from_mins(1));
    assert!(
        world.carried - unsent < 200_000,
        "{} octets to a user who takes nothing",
        world.carried - unsent
    );
    world.link.loss = 1.0;
    world.wanted[1] = true;
    world.run(Duration::from_secs(1));
    world.link.loss = 0.0;
    world.until(|world| world.told[1].len() == count as usize);
}

/// However fast the link is, no more is kept here than twice the room of a side, beside what is in
/// flight.
#[test]
fn what_waits_is_bounded() {
    let mut world = World::up(Link::default(), 5);
    let (mut number, mut most) = (0, 0);
    let end = world.now + Duration::from_millis(500);
    world.until(|world| {
        while !world.ends[0].is_full() {
            world.ends[0].send(&data(1, number, 50_000));
            number += 1;
        }
        most = most.max(u64::from(number) - world.told[1].len() as u64);
        world.now >= end
    });
    assert!(world.told[1].len() as u64 * 50_011 > 4 * ROOM, "it was not fast");
    assert!(most * 50_011 <= 3 * ROOM + 50_011, "{most} messages");
}

/// It is detected that long packets no longer arrive, even while short ones still do.
#[test]
fn long_packets_are_lost_beside_a_trickle() {
    let mut world = World::up(Link { longest: LONG, ..Link::default() }, 4);
    world.ends[0].send(&data(1, 0, 50_000));
    world.run(Duration::from_secs(5));
    assert!(world.longest > PACKET);
    world.link.longest = PACKET;
    world.ends[0].send(&data(1, 1, 50_000));
    let begin = world.now;
    for number in 0.. {
        world.ends[0].send(&data(2, number, 10));
        world.run(Duration::from_millis(10));
        if world.messages(1).0.iter().any(|message| read(message) == (1, 1)) {
            break;
        }
        assert!(world.now < begin + Duration::from_secs(10), "does not come");
    }
    assert!(world.ends[0].statistics().healthy);
}

/// Long packets are used where they arrive, and short ones again when long ones no longer arrive.
#[test]
fn length_of_packets() {
    let mut world = World::up(Link { longest: LONG, loss: 0.2, ..Link::default() }, 3);
    let mut number = 0;
    let mut send = |world: &mut World| {
        for _ in 0..20 {
            world.ends[0].send(&data(1, number, 10_000));
            number += 1;
        }
        world.until(|world| world.told[1].len() as u32 == number);
        std::mem::take(&mut world.longest)
    };
    send(&mut world);
    world.run(Duration::from_secs(5));
    assert!(send(&mut world) > PACKET);
    world.link.longest = PACKET;
    send(&mut world);
    assert!(send(&mut world) <= PACKET);
}
