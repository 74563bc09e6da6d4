//! Addresses, and when they are free again.

use crate::rig::{Program, Rig};
use resoa_calls::{Request, Response};
use resoa_protocol::Settings;
use resoa_protocol::message::Operation;
use rustix::fd::OwnedFd;
use rustix::net::{AddressFamily, SocketAddrUnix, SocketType, bind, socket};
use std::net::{IpAddr, SocketAddr};
use std::thread;

/// Number of foreign AF_UNIX sockets that exist at a time, and number of rounds.
const STRANGERS: u32 = 400;
const ROUNDS: u32 = 200;
/// Number of sockets that stay open.
const KEPT: u8 = 200;
/// Number of concurrent programs, and of repetitions in each.
const PROGRAMS: u8 = 8;
const TIMES: usize = 40;

/// Returns an address that only this process uses.
fn own() -> IpAddr {
    let [high, middle, low] = std::process::id().to_be_bytes()[1..] else { unreachable!("of four octets") };
    [127, high | 0x80, middle, low].into()
}

/// Returns a program's address, with a port that no kernel assigns by itself. Each test has its own
/// first port.
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

/// C31: an address is free when `close` returns, also while other sockets are closed and bound. The
/// call that detects a closed socket need not be the one that wants its address.
#[test]
fn closed_by_many() {
    at_the_same_time(20_000, |rig, address| drop(bound(rig, address)));
}

/// C31, C34: the same for listeners. The agent gets an event of their end, but may not have
/// processed it when the next call arrives.
#[test]
fn listeners_closed_by_many() {
    at_the_same_time(20_100, |rig, address| {
        let listener = bound(rig, address);
        let listen = Request::operation(listener.id, Operation::Listen { backlog: 1 });
        assert_eq!(rig.call(&listen, Some(&listener.fd)), Response::Done);
    });
}

/// C46: an open socket stays, however many other names come and go in the kernel's list.
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
            // Makes the agent look for closed sockets.
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

/// Returns an AF_UNIX socket whose name does not belong to an agent.
fn stranger(number: u32) -> OwnedFd {
    let name = format!("stranger.{}.{number}", std::process::id());
    let name = SocketAddrUnix::new_abstract_name(name.as_bytes()).expect("it is short");
    let stranger = socket(AddressFamily::UNIX, SocketType::STREAM, None).expect("descriptors");
    bind(&stranger, &name).expect("it is free");
    stranger
}
