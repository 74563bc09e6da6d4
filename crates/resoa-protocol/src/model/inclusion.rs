//! Trace inclusion: everything that the programs at both ends of a remote socket can see, together
//! and in order, they could also see with a local socket (5.6 (a) of the specification). It
//! replaces the comparison of charts in the thesis's 7.4.1, which distinguishes orders that no
//! program can see.
//!
//! A trace contains the calls and returns at the two interfaces; everything else is hidden. All
//! traces of both systems are computed, so a remote trace that is not a local one is found and
//! printed.

use super::far::FarClose;
use super::program::{Doing, Program};
use super::reference::{Local, Stack};
use super::stream::{LATE, SMALL, Step, Stream};
use super::world::{Buffers, World};
use crate::settings::{LingerPolicy, Mutation};
use stateright::Model;
use std::collections::{BTreeSet, HashSet, VecDeque};
use std::hash::Hash;

/// An event at one of the two interfaces.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
enum Event {
    Call(&'static str),
    Wrote,
    Read(Vec<u8>),
    End,
    Failed(i32),
    Shut,
    Closed,
    FarWrote,
    FarRead(Vec<u8>),
    FarEnd,
    FarShut,
    FarCalls,
    FarClosed,
    FarReset,
}

type Trace = Vec<Event>;

/// The visible state of both systems.
struct Seen {
    program: Program,
    far: super::far::Program,
}

/// Appends the events of a step to a trace.
fn passed(step: Step, before: &Seen, after: &Seen, trace: &mut Trace) {
    match step {
        Step::Write => trace.push(Event::Call("write")),
        Step::Read => trace.push(Event::Call("read")),
        Step::Shut => trace.push(Event::Call("shutdown")),
        Step::Close => trace.push(Event::Call("close")),
        Step::FarWrite => trace.push(Event::FarWrote),
        Step::FarShut => trace.push(Event::FarShut),
        Step::FarClose => trace.push(Event::FarCalls),
        Step::FarRead if after.far.eof => trace.push(Event::FarEnd),
        Step::FarRead => trace.push(Event::FarRead(after.far.read[before.far.read.len()..].to_vec())),
        _ => {}
    }
    let (old, new) = (&before.program, &after.program);
    if new.written > old.written {
        trace.push(Event::Wrote);
    }
    if new.read.len() > old.read.len() {
        trace.push(Event::Read(new.read[old.read.len()..].to_vec()));
    }
    if new.eof && !old.eof {
        trace.push(Event::End);
    }
    if new.shut && !old.shut {
        trace.push(Event::Shut);
    }
    if let (Some(error), None) = (new.error, old.error) {
        trace.push(Event::Failed(error.linux()));
    }
    if new.close.is_some() && old.close.is_none() {
        trace.push(Event::Closed);
    }
    if after.far.close != before.far.close {
        match after.far.close {
            FarClose::Done => trace.push(Event::FarClosed),
            FarClose::Reset => trace.push(Event::FarReset),
            FarClose::No | FarClose::Waits => {}
        }
    }
}

/// Returns all traces of a system, including prefixes of longer ones.
fn traces<W: Clone + Eq + Hash>(
    initial: W,
    steps: impl Fn(&W) -> Vec<Step>,
    take: impl Fn(&W, Step) -> W,
    seen: impl Fn(&W) -> Seen,
) -> BTreeSet<Trace> {
    let mut known = HashSet::from([(initial.clone(), Trace::new())]);
    let mut queue = VecDeque::from([(initial, Trace::new())]);
    let mut all = BTreeSet::new();
    while let Some((world, trace)) = queue.pop_front() {
        for step in steps(&world) {
            let next = take(&world, step);
            let mut longer = trace.clone();
            passed(step, &seen(&world), &seen(&next), &mut longer);
            let state = (next, longer);
            if !known.contains(&state) {
                known.insert(state.clone());
                queue.push_back(state);
            }
        }
        all.insert(trace);
    }
    all
}

fn remote(model: &Stream) -> BTreeSet<Trace> {
    let initial = model.init_states().remove(0);
    traces(
        initial,
        |world| model.steps(world),
        |world, step| model.next_state(world, step).unwrap_or_else(|| world.clone()),
        |world: &World| Seen { program: world.program.clone(), far: world.connection().program.clone() },
    )
}

fn local(model: &Stream, stack: Stack) -> BTreeSet<Trace> {
    let steps = |world: &Local| {
        let mut steps = Vec::new();
        let mut on = |is_possible: bool, step| {
            if is_possible {
                steps.push(step);
            }
        };
        let (program, connection) = (&world.program, &world.connection);
        let [near, far] = connection.under_way();
        on(near, Step::ArriveNear);
        on(far, Step::ArriveFar);
        on(world.can_return(), Step::Wake);
        let is_open = program.is_free() && program.close.is_none();
        let is_well = is_open && program.error.is_none();
        on(is_well && !program.shut && program.written < model.writes[0], Step::Write);
        on(is_well && !program.eof, Step::Read);
        on(is_well && !program.shut && model.shuts[0], Step::Shut);
        on(is_open, Step::Close);
        let far_writes = connection.is_open() && !connection.is_shut() && !connection.far.reset;
        on(far_writes && connection.program.written < model.writes[1], Step::FarWrite);
        on(connection.can_read(), Step::FarRead);
        on(far_writes && model.shuts[1], Step::FarShut);
        on(connection.is_open(), Step::FarClose);
        steps
    };
    let take = |world: &Local, step| {
        let mut world = world.clone();
        match step {
            Step::ArriveNear => world.arrive(),
            Step::ArriveFar => world.connection.arrive_far(),
            Step::Wake => world.attempt(),
            Step::Write => world.call(Doing::Write),
            Step::Read => world.call(Doing::Read),
            Step::Shut => world.call(Doing::Shut),
            Step::Close => world.call(Doing::Close),
            Step::FarWrite => world.connection.write(),
            Step::FarRead => world.connection.read(),
            Step::FarShut => world.connection.shut(),
            Step::FarClose => world.connection.close(),
            Step::Up | Step::Down | Step::Expire | Step::Remind | Step::LoseClient | Step::LoseServer => {}
        }
        world
    };
    let seen = |world: &Local| Seen { program: world.program.clone(), far: world.connection.program.clone() };
    traces(Local::new(model.buffers, stack, model.linger), steps, take, seen)
}

/// Returns the shortest trace of a remote socket that is not one of a local socket.
fn foreign(name: &str, model: &Stream) -> Option<Trace> {
    let (remote, local) = (remote(model), local(model, Stack::Plain));
    println!("{name}: {} traces, local {}", remote.len(), local.len());
    remote.difference(&local).min_by_key(|trace| trace.len()).cloned()
}

fn is_included(name: &str, model: &Stream) {
    assert_eq!(foreign(name, model), None, "{name}");
}

/// Scenes that are small enough to compute all their traces.
fn scenes() -> [(&'static str, Stream); 9] {
    let wide = Buffers { send: 2, ..SMALL };
    let scarce = Buffers { send: 1, ..LATE };
    let linger = Stream { linger: true, policy: LingerPolicy::Bsd, ..Stream::default() };
    [
        ("one octet up", Stream { writes: [1, 0], ..Stream::default() }),
        ("one octet down", Stream { writes: [0, 1], ..Stream::default() }),
        ("one octet each way", Stream::default()),
        ("two octets up", Stream { buffers: wide, writes: [2, 0], ..Stream::default() }),
        ("two octets up, room told late", Stream { buffers: LATE, writes: [2, 0], ..Stream::default() }),
        ("two octets up, room scarce", Stream { buffers: scarce, writes: [2, 0], ..Stream::default() }),
        ("two octets down", Stream { writes: [0, 2], ..Stream::default() }),
        ("half closes", Stream { writes: [1, 0], shuts: [true, true], ..Stream::default() }),
        ("linger", Stream { writes: [1, 0], ..linger }),
    ]
}

/// 5.6 (a), C101: programs see nothing that they could not see with a local socket.
#[test]
fn what_programs_see_could_be_local() {
    for (name, scene) in scenes() {
        is_included(name, &scene);
    }
}

/// C98, V4: a local socket on TCP* has the same traces as one on plain TCP.
#[test]
fn the_other_tcp_makes_no_difference() {
    for (name, scene) in scenes() {
        assert!(local(&scene, Stack::Star) == local(&scene, Stack::Plain), "{name}");
    }
}

/// The traces alone detect mistakes that programs can see.
#[test]
fn mistakes_show() {
    let doubled = Stream { mutation: Some(Mutation::BufferDoubling), writes: [2, 0], ..Stream::default() };
    assert!(foreign("buffer doubling", &doubled).is_some());
    let unread = Stream { mutation: Some(Mutation::UnreadForgotten), writes: [0, 1], ..Stream::default() };
    assert!(foreign("unread forgotten", &unread).is_some());
    let buffers = Buffers { send: 1, ..LATE };
    let unasked = Stream { mutation: Some(Mutation::RoomNotAskedFor), buffers, ..Stream::default() };
    let unasked = Stream { writes: [2, 0], ..unasked };
    assert!(foreign("room not asked for", &unasked).is_some(), "a program waits for room that it has");
}
