//! Addresses, and when they are free again.

use crate::rig::{Program, Rig};
use resoa_calls::{Request, Response};
use resoa_protocol::Settings;
use resoa_protocol::message::Operation;
use rustix::fd::OwnedFd;
use rustix::net::{AddressFamily, SocketAddrUnix, SocketType, bind, socket};
use std::net::{IpAddr, SocketAddr};
use std::thread;

/// Sockets of others that are there at a time, and how often others come.
const STRANGERS: u32 = 400;
const ROUNDS: u32 = 200;
/// Sockets that stay.
const KEPT: u8 = 200;
/// Programs that do the same at the same time, and how often each does it.
const PROGRAMS: u8 = 8;
const TIMES: usize = 40;

/// An address of this process's alone.
fn own() -> IpAddr {
    let [high, middle, low] = std::process::id().to_be_bytes()[1..] else { unreachable!("of four octets") };
    [127, high | 0x80, middle, low].into()
}

/// One program's place there, of a port that no kernel gives by itself. Each test has its own first
/// one.
fn place(first: u16, number: u8) -> SocketAddr {
    (own(), first + u16::from(number)).into()
}

fn bound(rig: &Rig, address: SocketAddr) -> Program {
    let program = rig.stream();
    assert_eq!(rig.call(&Request::operation(program.id, Operation::Bind(address)), None), Response::Done);
    program
}

fn at_the_same_time(first: u16, play: impl Fn(&Rig, SocketAddr) + Sync) {
    let rig = Rig::of(Settings::default(), own());
    thread::scope(|scope| {
        for number in 1..=PROGRAMS {
            let (rig, play) = (&rig, &play);
            scope.spawn(move || (0..TIMES).for_each(|_| play(rig, place(first, number))));
        }
    });
    rig.nothing_is_left();
}

/// C31: `close` has freed an address when it returns, also while others close and bind: who finds
/// out that a socket was closed is not always who wants its address.
#[test]
fn closed_by_many() {
    at_the_same_time(20_000, |rig, address| drop(bound(rig, address)));
}

/// C31, C34: the same of listeners, whose end the agent is told of, and may not have heard yet when
/// it hears of the call that follows.
#[test]
fn listeners_closed_by_many() {
    at_the_same_time(20_100, |rig, address| {
        let listener = bound(rig, address);
        let listen = Request::operation(listener.id, Operation::Listen { backlog: 1 });
        assert_eq!(rig.call(&listen, Some(&listener.fd)), Response::Done);
    });
}

/// C46: a socket stays as long as somebody has it, however many names come and go beside its own in
/// the kernel's list.
#[test]
fn strangers_come_and_go() {
    let rig = Rig::of(Settings::default(), own());
    let kept: Vec<_> = (0..KEPT).map(|number| bound(&rig, place(20_200, number))).collect();
    thread::scope(|scope| {
        let strangers = scope.spawn(|| {
            for round in 0..ROUNDS {
                drop((0..STRANGERS).map(|number| stranger(round * STRANGERS + number)).collect::<Vec<_>>());
            }
        });
        while !strangers.is_finished() {
            let program = rig.stream();
            let bind = Request::operation(program.id, Operation::Bind(place(20_200, 7)));
            // The agent looks who is gone.
            assert_eq!(rig.call(&bind, None), Response::Failed(libc::EADDRINUSE));
        }
    });
    for (program, number) in kept.iter().zip(0..KEPT) {
        let name = Request::LocalName(program.id);
        assert_eq!(rig.call(&name, None), Response::Address(place(20_200, number)));
    }
    drop(kept);
    rig.nothing_is_left();
}

/// A socket of AF_UNIX with a name that is none of an agent's.
fn stranger(number: u32) -> OwnedFd {
    let name = format!("stranger.{}.{number}", std::process::id());
    let name = SocketAddrUnix::new_abstract_name(name.as_bytes()).expect("it is short");
    let stranger = socket(AddressFamily::UNIX, SocketType::STREAM, None).expect("descriptors");
    bind(&stranger, &name).expect("it is free");
    stranger
}
