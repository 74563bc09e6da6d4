//! Every way in which a link can treat the first packets of a short connection, up to so many
//! faults: the shipped functions, in each of them to the end (C87, C88). The machine reckons with
//! times and rates, so that its states are without number; what a link does to packets is not, and
//! that is what is gone through: each set of at most three faults among the first [`PACKETS`]
//! packets of both sides, in all kinds; and of at most two, with an outage that begins at any of
//! the packets. `cargo test -p resoa-carrier exhaustive -- --nocapture` prints how many that are.
//!
//! The connection: a client says that it is there and is taken; it sends five messages of two
//! sockets, one of which takes two packets, and three datagrams, one of which does; the server
//! answers the last by a datagram and a message; the client closes.

use super::link::{Fate, Link, PACKET, World, data, datagram, number_of, read};
use crate::llp::{Event, Machine};
use resoa_protocol::lhp::{Ended, Lost};
use std::time::Duration;

/// A connection without faults takes fewer.
const PACKETS: usize = 16;
/// So long that what may be lost is given up.
const OUTAGE: Duration = Duration::from_secs(2);
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
/// The datagrams: which message each is sent behind, and its octets. The last is the answer.
const DATAGRAMS: [(usize, usize); 4] = [(0, 10), (1, PACKET + 100), (4, 10), (usize::MAX, 30)];

/// What is done otherwise than it should be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Wrong {
    Nothing,
    /// Each message is sent as of a socket of its own.
    Sockets,
    /// Nobody is told of what is lost.
    Notices,
}

/// How far a run has come.
#[derive(Debug, Default)]
struct Course {
    messages: Vec<(u32, u32)>,
    /// How often each datagram was told of, as itself and as lost.
    datagrams: [[u32; 2]; 4],
    answered: bool,
    has_answer: bool,
    closed: bool,
}

impl Course {
    /// A datagram, or what is known of it.
    fn datagram(&mut self, first: &[u8], octets: usize, is_lost: bool) -> Result<(), String> {
        let number = number_of(first) as usize;
        let sent = datagram(3, number as u32, DATAGRAMS[number].1);
        let Lost { head, .. } = Lost::of(&sent);
        if octets != sent.len() || first != if is_lost { &head } else { &sent } {
            return Err(format!("datagram {number} is another"));
        }
        self.datagrams[number][usize::from(is_lost)] += 1;
        Ok(())
    }

    fn has_datagrams(&self, numbers: std::ops::Range<usize>) -> bool {
        self.datagrams[numbers].iter().all(|told| *told != [0, 0])
    }

    /// What comes of it.
    fn go_on(&mut self, world: &mut World) {
        let now = world.now;
        if !self.answered && self.messages.len() == MESSAGES.len() && self.has_datagrams(0..3) {
            self.answered = true;
            world.ends[1].send_or_lose(&datagram(3, 3, DATAGRAMS[3].1), now);
            world.ends[1].send(&data(1, 0, 10));
        }
        if !self.closed && self.has_answer && self.has_datagrams(3..4) {
            world.ends[0].close(world.now);
            self.closed = true;
        }
    }
}

/// What a run came to, packets and datagrams that were lost, if it is not what it should be.
fn run(fates: &[(usize, Fate)], cut: Option<usize>, wrong: Wrong) -> Result<(usize, u32), String> {
    let socket_of = |socket, number| if wrong == Wrong::Sockets { socket + 10 * number } else { socket };
    let mut world = World::new(Link { longest: PACKET, ..Link::default() }, 1);
    world.fates = fates.iter().copied().collect();
    world.cut = cut.map(|packet| (packet, OUTAGE));
    let mut at = [0; 2];
    let mut course = Course::default();
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
                            for (number, (behind, octets)) in (0..).zip(DATAGRAMS) {
                                if behind == place {
                                    world.ends[0].send_or_lose(&datagram(3, number, octets), world.now);
                                }
                            }
                        }
                    }
                    (_, Event::Data(message)) if message[1] == 4 => {
                        course.datagram(&message, message.len(), false)?;
                    }
                    (_, Event::Lost(_)) if wrong == Wrong::Notices => {}
                    (_, Event::Lost(lost)) => course.datagram(&lost.head, lost.octets, true)?,
                    (1, Event::Data(message)) => course.messages.push(read(&message)),
                    (0, Event::Data(message)) if read(&message) == (1, 0) && !course.has_answer => {
                        course.has_answer = true;
                    }
                    (1, Event::Ended(Ended::Closed)) if course.closed => {}
                    (end, event) => return Err(format!("{end} is told {event:?}")),
                }
                course.go_on(&mut world);
            }
        }
        if world.ends.iter().all(Machine::is_over) {
            break;
        }
    }
    if !world.ends.iter().all(Machine::is_over) {
        return Err(format!("it does not end: {course:?}"));
    }
    let Course { messages, datagrams, .. } = course;
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
    let once = datagrams.iter().all(|[whole, lost]| whole + lost == 1);
    if !ended || !in_order || !once || messages.len() != MESSAGES.len() {
        return Err(format!("end told: {ended}, {messages:?}, {datagrams:?}"));
    }
    Ok((world.packets, datagrams.iter().map(|[_, lost]| lost).sum()))
}

/// What a search has found.
#[derive(Debug, Default)]
struct Found {
    runs: u64,
    /// Packets of the longest.
    most: usize,
    /// Datagrams that were lost, in all.
    lost: u64,
    /// The first that is not as it should be.
    wrong: Option<String>,
}

/// Goes through all ways with so many faults.
fn search(faults: usize, cut: Option<usize>, wrong: Wrong, found: &mut Found) {
    let mut waiting = vec![Vec::new()];
    while let Some(fates) = waiting.pop() {
        found.runs += 1;
        match run(&fates, cut, wrong) {
            Ok((packets, lost)) => {
                found.most = found.most.max(packets);
                found.lost += u64::from(lost);
            }
            Err(error) => {
                found.wrong.get_or_insert(format!("{fates:?}, {cut:?}: {error}"));
            }
        }
        if fates.len() < faults {
            let next = fates.last().map_or(0, |(last, _)| last + 1);
            for packet in next..PACKETS {
                for kind in KINDS {
                    let more = [(packet, kind)];
                    waiting.push(fates.iter().copied().chain(more).collect());
                }
            }
        }
    }
}

/// C87, C88: each message once, in the order of its socket, none lost, and then the end, at both
/// sides, whatever three faults there are.
#[test]
fn three_faults_of_any_kind() {
    let (plain, lost) = run(&[], None, Wrong::Nothing).expect("nothing happens");
    assert!(plain < PACKETS && lost == 0, "{plain} packets without faults, {lost} datagrams lost");
    let mut found = Found::default();
    search(3, None, Wrong::Nothing, &mut found);
    println!("{} ways, of at most {} packets, {} datagrams lost", found.runs, found.most, found.lost);
    assert_eq!(found.wrong, None);
}

/// C91: the same with an outage, and each datagram is told of once, as itself or as lost, whichever
/// packets of that are lost.
#[test]
fn two_faults_and_an_outage() {
    let mut found = Found::default();
    for packet in 0..PACKETS {
        search(2, Some(packet), Wrong::Nothing, &mut found);
    }
    println!("{} ways, of at most {} packets, {} datagrams lost", found.runs, found.most, found.lost);
    assert_eq!(found.wrong, None);
    assert!(found.lost > found.runs / 2, "hardly any was given up");
}

/// The search finds it if the receiver drops what is lost and tells nobody.
#[test]
fn notices_that_are_not_told_are_missed() {
    let mut found = Found::default();
    for packet in 0..PACKETS {
        search(0, Some(packet), Wrong::Notices, &mut found);
    }
    assert!(found.wrong.is_some_and(|wrong| wrong.contains("does not end")));
}

/// The search finds it if messages are not kept in order: here those of one socket are sent as of
/// several.
#[test]
fn order_that_is_not_kept_is_found() {
    let mut found = Found::default();
    search(3, None, Wrong::Sockets, &mut found);
    assert!(found.wrong.is_some_and(|wrong| wrong.contains("end told: true")));
}

/// And if more is lost than is sent again: from the middle on nothing comes through.
#[test]
fn what_does_not_come_is_missed() {
    let all: Vec<_> = (5..100_000).map(|packet| (packet, Fate::Lost)).collect();
    assert!(run(&all, None, Wrong::Nothing).is_err());
}
