//! C88 to C90: how a connection ends, and what does not end it.

use super::link::{LONG, Link, PACKET, SILENCE, World, data, read};
use crate::llp::wire::{Data, Frame, Malformed};
use crate::llp::{Event, Machine, Side};
use resoa_protocol::lhp::DisconnectReason;
use std::time::Duration;

/// A reset takes effect at once, before messages that were sent, and is repeated if it was lost.
#[test]
fn reset() {
    for loses in [false, true] {
        let mut world = World::up(Link::default(), 3);
        world.run(Duration::from_secs(1));
        world.wanted[1] = false;
        world.ends[0].send(&data(1, 0, 10));
        world.run(Duration::from_millis(100));
        world.link.loss = if loses { 1.0 } else { 0.0 };
        world.ends[0].reset();
        world.run(Duration::from_millis(1));
        world.link.loss = 0.0;
        world.ends[1].send(&data(1, 0, 10));
        world.until(|world| !world.told[1].is_empty());
        assert_eq!(world.told, [vec![], vec![Event::Ended(DisconnectReason::Reset)]]);
    }
}

/// C90: both ends are told after half a minute of silence, and not earlier.
#[test]
fn an_outage_for_good() {
    let mut world = World::up(Link::default(), 4);
    world.run(Duration::from_mins(2));
    assert_eq!(world.told, [vec![], vec![]]);
    world.link.loss = 1.0;
    let begin = world.now;
    world.until(|world| world.told.iter().all(|told| !told.is_empty()));
    assert_eq!(
        world.told,
        [
            vec![Event::Ended(DisconnectReason::Unreachable)],
            vec![Event::Ended(DisconnectReason::Unreachable)]
        ]
    );
    let after = world.now.saturating_sub(begin);
    assert!(
        after + SILENCE.ask * 2 > SILENCE.end && after < SILENCE.end + Duration::from_secs(1),
        "{after:?}"
    );
}

/// A shorter outage costs its own time plus little more than a second, and nothing else.
#[test]
fn an_outage_that_ends() {
    let mut world = World::up(Link { rate: 1.25e6, ..Link::default() }, 5);
    let begin = world.now + Duration::from_secs(1);
    let end = begin + Duration::from_secs(20);
    world.link.outage = (begin, end);
    for number in 0..50 {
        world.ends[0].send(&data(1, number, 50_000));
    }
    world.until(|world| world.told[1].len() == 50);
    assert!(world.now < end + Duration::from_millis(2500), "{:?} after it", world.now.saturating_sub(end));
    let (messages, ended) = world.messages(1);
    assert!(ended.is_none());
    assert!(messages.iter().enumerate().all(|(number, message)| read(message) == (1, number as u32)));
    assert!(world.messages(0).1.is_none());
}

/// A close takes effect after all messages, even if the link loses some of them for a while.
#[test]
fn close_is_behind_everything() {
    let mut world = World::up(Link { loss: 0.3, ..Link::default() }, 6);
    for number in 0..20 {
        world.ends[1].send(&data(number + 1, 0, 5_000));
    }
    world.ends[1].close(world.now);
    world.ends[1].send(&data(1, 1, 10));
    world.until(|world| world.messages(0).1.is_some() && world.ends.iter().all(Machine::is_over));
    let (messages, ended) = world.messages(0);
    assert_eq!((messages.len(), ended), (20, Some(DisconnectReason::Closed)));
    assert_eq!(world.told[1], []);
}

/// C88: both sides close while more is in flight than there is room for, and neither wants
/// messages. Both finish, because messages that arrive are dropped.
#[test]
fn both_close_and_want_nothing() {
    let mut world = World::up(Link { rate: 12.5e6, ..Link::default() }, 8);
    world.wanted = [false; 2];
    for number in 0..200 {
        for end in &mut world.ends {
            end.send(&data(1, number, 50_000));
        }
    }
    world.run(Duration::from_secs(10));
    assert!(world.ends.iter().all(Machine::is_full), "more is sent than there is room for");
    let begin = world.now;
    world.ends.iter_mut().for_each(|end| end.close(begin));
    world.until(|world| world.ends.iter().all(Machine::is_over));
    assert!(world.now < begin + Duration::from_secs(10), "{:?}", world.now.saturating_sub(begin));
    assert_eq!(world.told, [vec![], vec![]]);
}

/// C88: a connection that our user has closed is kept as long as the other side takes something. It
/// is not kept for ever for a side that takes nothing.
#[test]
fn a_side_that_never_ends() {
    for takes in [false, true] {
        let mut world = World::up(Link { rate: 1.25e6, ..Link::default() }, 10);
        world.wanted[1] = false;
        for number in 0..200 {
            world.ends[0].send(&data(1, number, 50_000));
        }
        world.run(Duration::from_secs(10));
        world.ends[0].close(world.now);
        let rest = SILENCE.end.saturating_sub(Duration::from_secs(5));
        // Now and then it takes some messages, which makes room for more.
        for (time, wanted) in [(rest, false), (Duration::from_secs(1), takes)].repeat(4) {
            world.wanted[1] = wanted;
            let end = world.now + time;
            world.until(|world| world.now >= end || world.ends.iter().all(Machine::is_over));
        }
        world.wanted[1] = true;
        world.until(|world| world.messages(1).1.is_some());
        let (messages, ended) = world.messages(1);
        assert_eq!(ended, Some(if takes { DisconnectReason::Closed } else { DisconnectReason::Reset }));
        assert_eq!(messages.len() == 200, takes, "{}", messages.len());
    }
}

/// A user that was told to stop is not told to go on after the connection has ended.
#[test]
fn no_room_behind_the_end() {
    let mut world = World::up(Link { rate: 12.5e6, ..Link::default() }, 9);
    world.wanted[1] = false;
    for number in 0..200 {
        world.ends[0].send(&data(1, number, 50_000));
    }
    world.run(Duration::from_secs(1));
    assert!(world.ends[0].is_full() && !world.ends[0].has_room());
    world.ends[1].reset();
    world.until(|world| !world.told[0].is_empty());
    assert_eq!(world.told[0], [Event::Ended(DisconnectReason::Reset)]);
    assert!(!world.ends[0].has_room());
}

/// Frames that only the other side may send, or only later, are refused: HELLO and WELCOME belong
/// to one side each, and a client sends no messages before it is welcomed.
#[test]
fn what_an_end_does_not_say() {
    let says = |end: &mut Machine, number: u64, frame: &Frame| {
        let mut frames = Vec::new();
        frame.write(&mut frames);
        end.packet(number, &frames, Duration::ZERO)
    };
    let octets = [7; 10];
    let data = Frame::Data(Data { message: 0, offset: 0, length: 10, behind: Vec::new(), octets: &octets });
    let end = |side| Machine::new(side, (PACKET, LONG), SILENCE, Duration::ZERO);
    assert_eq!(says(&mut end(Side::Client), 0, &Frame::Hello), Err(Malformed));
    assert_eq!(says(&mut end(Side::Server), 0, &Frame::Welcome(&[7; 32])), Err(Malformed));
    assert_eq!(says(&mut end(Side::Server), 0, &data), Err(Malformed));
    let mut server = end(Side::Server);
    assert_eq!(says(&mut server, 0, &Frame::Hello), Ok(()));
    assert_eq!(says(&mut server, 1, &data), Err(Malformed));
    server.accept();
    assert_eq!(says(&mut server, 2, &data), Ok(()));
    // A server's first messages may arrive before its welcome, which was lost.
    let mut client = end(Side::Client);
    assert_eq!(says(&mut client, 0, &data), Ok(()));
    assert_eq!(says(&mut client, 1, &Frame::Welcome(&[7; 32])), Ok(()));
    let told: Vec<_> = std::iter::from_fn(|| client.take(true, Duration::ZERO)).collect();
    assert_eq!(told, [Event::Connected, Event::Data(octets.to_vec())]);
}

/// C89: the measured round-trip time is within a fifth of the link's, idle and busy, and an outage
/// shows in the statistics.
#[test]
fn round_trip_time() {
    for delay in [1, 10, 150].map(Duration::from_millis) {
        let mut world = World::up(Link { delay, ..Link::default() }, 7);
        let check = |world: &World| {
            let found = world.ends[0].statistics().round_trip.expect("is measured");
            let real = delay * 2;
            assert!(found.abs_diff(real) < real / 5, "{found:?} for {real:?}");
        };
        for number in 0..20 {
            world.ends[0].send(&data(1, number, 100));
            world.run(Duration::from_millis(500));
        }
        check(&world);
        for number in 20..40 {
            world.ends[0].send(&data(1, number, 50_000));
        }
        world.until(|world| world.told[1].len() == 40);
        check(&world);
        assert!(world.ends[0].statistics().healthy);
        world.link.loss = 1.0;
        world.ends[0].send(&data(1, 40, 100));
        world.run(Duration::from_secs(5));
        assert!(!world.ends[0].statistics().healthy);
    }
}
