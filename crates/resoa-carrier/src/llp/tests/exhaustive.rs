//! Every way in which a link can treat the first packets of a short connection, up to so many faults: the shipped functions, in each of them to the end (C87, C88). The machine reckons with
//! times and rates, so that its states are without number; what a link does to packets is not, and that is what is gone through: each set of at most [`FAULTS`] among the first
//! [`PACKETS`] packets of both sides, in all kinds. `cargo test -p resoa-carrier exhaustive -- --nocapture` prints how many that are.
//!
//! The connection: a client says that it is there and is taken; it sends five messages of two sockets, one of which takes two packets; the server answers the last; the client closes.

use super::link::{Fate, Link, PACKET, World, data, read};
use crate::llp::{Event, Machine};
use resoa_protocol::lhp::Ended;
use std::time::Duration;

/// A connection without faults takes fewer.
const PACKETS: usize = 16;
const FAULTS: usize = 3;
/// So long a connection may take with the last of the faults: far less than silence that ends it.
const LONG: Duration = Duration::from_secs(10);
/// One that comes behind some later ones, and one that comes when it was sent again.
const KINDS: [Fate; 4] = [
    Fate::Lost,
    Fate::Twice(Duration::from_millis(30)),
    Fate::Late(Duration::from_millis(1)),
    Fate::Late(Duration::from_millis(700)),
];
/// The messages, by socket and number; the second is the long one.
const MESSAGES: [(u32, u32); 5] = [(1, 0), (1, 1), (2, 0), (1, 2), (2, 1)];

/// What a run came to, if it is not what it should be.
fn run(fates: &[(usize, Fate)], socket_of: impl Fn(u32, u32) -> u32) -> Result<usize, String> {
    let mut world = World::new(Link { longest: PACKET, ..Link::default() }, 1);
    world.fates = fates.iter().copied().collect();
    let mut at = [0; 2];
    let mut closed = false;
    let mut messages = Vec::new();
    while world.now < LONG {
        world.step();
        for (end, at) in at.iter_mut().enumerate() {
            while let Some(event) = world.told[end].get(*at).cloned() {
                *at += 1;
                match (end, event) {
                    (1, Event::Connect) => world.ends[1].accept(),
                    (0, Event::Connected) => {
                        for (place, (socket, number)) in MESSAGES.into_iter().enumerate() {
                            let octets = if place == 1 { PACKET + 100 } else { 10 };
                            world.ends[0].send(&data(socket_of(socket, number), number, octets));
                        }
                    }
                    (1, Event::Data(message)) => {
                        messages.push(read(&message));
                        if messages.len() == MESSAGES.len() {
                            world.ends[1].send(&data(1, 0, 10));
                        }
                    }
                    (0, Event::Data(message)) if read(&message) == (1, 0) && !closed => {
                        world.ends[0].close(world.now);
                        closed = true;
                    }
                    (1, Event::Ended(Ended::Closed)) if closed => {}
                    (end, event) => return Err(format!("{end} is told {event:?}")),
                }
            }
        }
        if world.ends.iter().all(Machine::is_over) {
            break;
        }
    }
    if !world.ends.iter().all(Machine::is_over) {
        return Err(format!("it does not end: {messages:?}"));
    }
    let ended = world.told[1].last() == Some(&Event::Ended(Ended::Closed));
    let in_order = MESSAGES.map(|(socket, _)| socket).iter().all(|&socket| {
        let of = |(from, _): &&(u32, u32)| *from == socket;
        let sent: Vec<_> = MESSAGES.iter().filter(of).map(|(_, number)| *number).collect();
        let came = messages.iter().filter(|(from, number)| {
            MESSAGES.iter().any(|&(socket_, number_)| {
                socket_ == socket && number_ == *number && socket_of(socket_, number_) == *from
            })
        });
        came.map(|(_, number)| *number).eq(sent)
    });
    if !ended || !in_order || messages.len() != MESSAGES.len() {
        return Err(format!("end told: {ended}, {messages:?}"));
    }
    Ok(world.packets)
}

/// Goes through all; how many there are, how many packets the longest takes, and the first that is not as it should be.
fn search(socket_of: impl Fn(u32, u32) -> u32 + Copy) -> (u64, usize, Option<String>) {
    let (mut runs, mut most, mut wrong) = (0, 0, None);
    let mut waiting = vec![Vec::new()];
    while let Some(fates) = waiting.pop() {
        runs += 1;
        match run(&fates, socket_of) {
            Ok(packets) => most = most.max(packets),
            Err(error) => {
                wrong.get_or_insert(format!("{fates:?}: {error}"));
            }
        }
        if fates.len() < FAULTS {
            let next = fates.last().map_or(0, |(last, _)| last + 1);
            for packet in next..PACKETS {
                for kind in KINDS {
                    let more = [(packet, kind)];
                    waiting.push(fates.iter().copied().chain(more).collect());
                }
            }
        }
    }
    (runs, most, wrong)
}

/// C87, C88: each message once, in the order of its socket, none lost, and then the end, at both sides, whatever three faults there are.
#[test]
fn three_faults_of_any_kind() {
    let plain = run(&[], |socket, _| socket).expect("nothing happens");
    assert!(plain < PACKETS, "{plain} packets without faults");
    let (runs, most, wrong) = search(|socket, _| socket);
    println!("{runs} ways, of at most {most} packets");
    assert_eq!(wrong, None);
}

/// The search finds it if messages are not kept in order: here those of one socket are sent as of several.
#[test]
fn order_that_is_not_kept_is_found() {
    let (_, _, wrong) = search(|socket, number| socket + 10 * number);
    assert!(wrong.is_some_and(|wrong| wrong.contains("end told: true")));
}

/// And if more is lost than is sent again: from the middle on nothing comes through.
#[test]
fn what_does_not_come_is_missed() {
    let all: Vec<_> = (5..100_000).map(|packet| (packet, Fate::Lost)).collect();
    assert!(run(&all, |socket, _| socket).is_err());
}
