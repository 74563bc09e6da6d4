//! Goes through everything that a link can do to the first packets of a short connection, up to a
//! number of faults. Each run uses the shipped functions and goes on until the connection ends
//! (C87, C88).
//!
//! The state machine uses times and rates, so its states cannot be enumerated. What a link does to
//! packets can be: every set of at most three faults of all kinds among the first [`PACKETS`]
//! packets of both sides, and every set of at most two with an outage that begins at any of these
//! packets. `cargo test -p resoa-carrier exhaustive -- --nocapture` prints the number of runs.
//!
//! The connection: a client confirms its presence and is accepted. It sends five messages of two
//! sockets, one of which takes two packets, and three datagrams, one of which takes two. When the
//! server has everything, it answers with a datagram and a message. Then the client closes.

use super::link::{Fate, Link, PACKET, World, data, datagram, number_of, read};
use crate::llp::{Event, Machine};
use resoa_protocol::lhp::{DisconnectReason, Lost};
use std::time::Duration;

/// A connection without faults takes fewer packets.
const PACKETS: usize = 16;
/// Long enough that messages that may be lost are given up.
const OUTAGE: Duration = Duration::from_secs(2);
/// Time limit for a connection with faults: far less than the silence that would end it.
const LONG: Duration = Duration::from_secs(10);
/// A short delay makes a packet arrive after some later ones; a long one, after its contents were
/// sent again.
const KINDS: [Fate; 4] = [
    Fate::Lost,
    Fate::Twice(Duration::from_millis(30)),
    Fate::Late(Duration::from_millis(1)),
    Fate::Late(Duration::from_millis(700)),
];
/// The messages, by socket and number. The second is the long one.
const MESSAGES: [(u32, u32); 5] = [(1, 0), (1, 1), (2, 0), (1, 2), (2, 1)];
/// The datagrams: the message after which each is sent, and its length in bytes. The last is the
/// answer.
const DATAGRAMS: [(usize, usize); 4] = [(0, 10), (1, PACKET + 100), (4, 10), (usize::MAX, 30)];

/// A mistake that a run makes on purpose.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Wrong {
    Nothing,
    /// Each message is sent under a socket of its own.
    Sockets,
    /// Lost datagrams are not reported.
    Notices,
}

/// Progress of a run.
#[derive(Debug, Default)]
struct Course {
    messages: Vec<(u32, u32)>,
    /// How often each datagram was reported, as itself and as lost.
    datagrams: [[u32; 2]; 4],
    answered: bool,
    has_answer: bool,
    closed: bool,
}

impl Course {
    /// Counts a datagram that was reported: its contents, or its first bytes if it is lost.
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

    /// Does what the users do next: the server answers, and the client closes.
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

/// Runs a connection, and returns the number of packets and of lost datagrams; or what went wrong.
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
                    (1, Event::Ended(DisconnectReason::Closed)) if course.closed => {}
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
    let ended = world.told[1].last() == Some(&Event::Ended(DisconnectReason::Closed));
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

/// Result of a search.
#[derive(Debug, Default)]
struct Found {
    runs: u64,
    /// Packets of the longest run.
    most: usize,
    /// Lost datagrams of all runs.
    lost: u64,
    /// The first run that went wrong.
    wrong: Option<String>,
}

/// Goes through all runs with up to this many faults.
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

/// C87, C88: with any three faults, each message arrives once and in the order of its socket, and
/// then the end on both sides.
#[test]
fn three_faults_of_any_kind() {
    let (plain, lost) = run(&[], None, Wrong::Nothing).expect("nothing happens");
    assert!(plain < PACKETS && lost == 0, "{plain} packets without faults, {lost} datagrams lost");
    let mut found = Found::default();
    search(3, None, Wrong::Nothing, &mut found);
    println!("{} ways, of at most {} packets, {} datagrams lost", found.runs, found.most, found.lost);
    assert_eq!(found.wrong, None);
}

/// C91: with an outage in addition, each datagram is reported once, as itself or as lost, whichever
/// packets are lost.
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

/// The search detects a receiver that drops lost datagrams without reporting them.
#[test]
fn notices_that_are_not_told_are_missed() {
    let mut found = Found::default();
    for packet in 0..PACKETS {
        search(0, Some(packet), Wrong::Notices, &mut found);
    }
    assert!(found.wrong.is_some_and(|wrong| wrong.contains("does not end")));
}

/// The search detects messages that are not kept in order: here, those of one socket are sent under
/// several.
#[test]
fn order_that_is_not_kept_is_found() {
    let mut found = Found::default();
    search(3, None, Wrong::Sockets, &mut found);
    assert!(found.wrong.is_some_and(|wrong| wrong.contains("end told: true")));
}

/// A connection whose packets are all lost from some point on is detected.
#[test]
fn what_does_not_come_is_missed() {
    let all: Vec<_> = (5..100_000).map(|packet| (packet, Fate::Lost)).collect();
    assert!(run(&all, None, Wrong::Nothing).is_err());
}
