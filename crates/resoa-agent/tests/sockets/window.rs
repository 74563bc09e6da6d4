//! The far host's window follows the program, through the pair.

use crate::rig::{HERE, PATIENCE, Program, Rig, at};
use resoa_calls::Response;
use std::io::{ErrorKind, Write};
use std::net::{TcpListener, TcpStream};
use std::time::{Duration, Instant};

/// Octets that stay at a sender whose window is closed: its send buffer of 4096, which one packet
/// of the loopback interface exceeds.
const SENDERS: usize = 80 << 10;

/// Octets of a program's pair that are counted as read together.
const PACKET: usize = 16 << 10;

/// Octets that a sender places before it is stopped: however long it takes it places so many, and
/// then as many as it does while nothing is refused for long. A machine that is slow may end that
/// early, which is never more octets than there would have been.
fn places(far: &mut TcpStream, at_least: usize) -> usize {
    rustix::net::sockopt::set_socket_send_buffer_size(&*far, 4096).expect("is a socket");
    far.set_nonblocking(true).expect("is a socket");
    let begin = Instant::now();
    let (mut placed, mut refused) = (0, 0);
    while refused < 150 || placed < at_least {
        assert!(begin.elapsed() < PATIENCE, "{placed} octets are placed, of {at_least} at least");
        match far.write(&[1; 1000]) {
            Ok(count) => (placed, refused) = (placed + count, 0),
            Err(error) if error.kind() == ErrorKind::WouldBlock => {
                refused += 1;
                std::thread::sleep(Duration::from_millis(2));
            }
            Err(error) => panic!("{error}"),
        }
    }
    placed
}

/// A native socket with this SO_RCVBUF, if any, whose program reads nothing and then so much.
fn native(buffer: Option<i32>, reads: usize) -> (usize, usize) {
    let listener = TcpListener::bind((HERE, 0)).expect("loopback");
    let near = rustix::net::socket(rustix::net::AddressFamily::INET, rustix::net::SocketType::STREAM, None)
        .expect("descriptors");
    if let Some(buffer) = buffer {
        rustix::net::sockopt::set_socket_recv_buffer_size(&near, buffer as usize).expect("is a socket");
    }
    rustix::net::connect(&near, &at(&listener)).expect("listens");
    let mut far = listener.accept().expect("has connected").0;
    let placed = places(&mut far, 0);
    read(&near, reads);
    (placed, places(&mut far, 0))
}

fn read(near: impl rustix::fd::AsFd, count: usize) {
    let (mut room, mut read) = (vec![0; 1000], 0);
    while read < count {
        let most = room.len().min(count - read);
        match rustix::io::read(&near, &mut room[..most]).expect("is connected") {
            0 => panic!("the end"),
            more => read += more,
        }
    }
}

/// The same of a remote one, of which is known what a native one did: at least half as much.
fn remote(rig: &Rig, buffer: Option<i32>, reads: usize, native: (usize, usize)) -> (usize, usize) {
    let listener = TcpListener::bind((HERE, 0)).expect("loopback");
    let program = rig.stream();
    if let Some(buffer) = buffer {
        rig.set_option(&program, libc::SOL_SOCKET, libc::SO_RCVBUF, &[buffer]);
    }
    assert_eq!(rig.connect(&program, at(&listener)), Response::Done);
    let mut far = listener.accept().expect("has connected").0;
    let (admitted, all) = (native.0, native.0 + native.1);
    let placed = places(&mut far, admitted / 2 + 1);
    assert_eq!(rig.status().octets.1, 0, "nothing was read");
    read(&program.fd, reads);
    let told = crate::rig::until(|| {
        let told = rig.status().octets.1 as usize;
        (told + PACKET >= reads).then_some(told)
    });
    assert!(told <= reads, "{told} octets were counted as read, and {reads} were");
    let more = places(&mut far, (all / 2 + 1).saturating_sub(placed));
    peeks(&program, placed + more - reads);
    (placed, more)
}

/// C29: all that has come can be seen without reading it.
fn peeks(program: &Program, all: usize) {
    let seen = crate::rig::until(|| {
        let seen = rustix::io::ioctl_fionread(&program.fd).expect("is a socket") as usize;
        (seen + SENDERS >= all).then_some(seen)
    });
    // What is still at the sender is not here.
    assert!(seen <= all, "{seen} of {all}");
}

/// C24, C28, C29 (I5, I6): a program that reads nothing stops the sender where a native one does,
/// and nothing of what waits for it counts as read; what it reads then is counted, but for one
/// packet of the pair at most. Senders differ by what stays with them.
#[test]
fn a_program_that_does_not_read_stops_the_sender() {
    for (buffer, reads) in [(Some(50_000), 40_000), (Some(200_000), 150_000)] {
        let (admitted, again) = native(buffer, reads);
        let rig = Rig::new();
        let (placed, more) = remote(&rig, buffer, reads, (admitted, again));
        println!("SO_RCVBUF {buffer:?}: native {admitted} and {again}, remote {placed} and {more} octets");
        assert!(
            placed <= admitted + SENDERS && 2 * placed > admitted,
            "{placed} octets placed, natively {admitted}"
        );
        let total = [admitted + again, placed + more];
        assert!(total[1] <= total[0] + SENDERS && 2 * total[1] > total[0], "{total:?} octets at the end");
        rig.nothing_is_left();
    }
}

/// C29: a program that was slow once and has read everything can see as much without reading as
/// before.
#[test]
fn one_that_was_slow_sees_all_again() {
    let rig = Rig::new();
    let listener = TcpListener::bind((HERE, 0)).expect("loopback");
    let program = rig.stream();
    rig.set_option(&program, libc::SOL_SOCKET, libc::SO_RCVBUF, &[8 << 20]);
    assert_eq!(rig.connect(&program, at(&listener)), Response::Done);
    let mut far = listener.accept().expect("has connected").0;
    let shown = || rustix::io::ioctl_fionread(&program.fd).expect("is a socket") as usize;
    // As much as there may be, and long enough for the pair to have grown to what it takes at most.
    let placed = places(&mut far, 0);
    let before = shown();
    read(&program.fd, placed);
    let again = places(&mut far, 0);
    // How octets lie in packets may differ.
    let wanted = (before / 2).min(again / 2);
    let seen = crate::rig::until(|| Some(shown()).filter(|seen| *seen >= wanted));
    println!("{before} octets were shown of {placed}, {seen} of {again}");
    drop((program, far));
    rig.nothing_is_left();
}
