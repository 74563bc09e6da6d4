//! The far host's window follows the program's reads, through the pair.

use crate::rig::{HERE, PATIENCE, Program, Rig, at};
use resoa_calls::Response;
use std::io::{ErrorKind, Write};
use std::net::{TcpListener, TcpStream};
use std::time::{Duration, Instant};

/// Bytes that remain at a sender whose window is closed: its send buffer of 4096, which one packet
/// of the loopback interface exceeds.
const SENDERS: usize = 80 << 10;

/// Bytes of a program's pair that are counted as read together.
const PACKET: usize = 16 << 10;

/// Returns the number of bytes that a sender can write before it is stopped. It writes `at_least`
/// bytes, however long that takes, and then until nothing is accepted for some time. A slow machine
/// may stop it early, which never gives too many bytes.
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

/// Measures a native socket with this SO_RCVBUF, if any, whose program first reads nothing and then
/// `reads` bytes.
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

/// Measures a remote socket likewise. `native` is the result of a native one: a remote one accepts
/// at least half as much.
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

/// C29: all data that has arrived can be seen without being read.
fn peeks(program: &Program, all: usize) {
    let seen = crate::rig::until(|| {
        let seen = rustix::io::ioctl_fionread(&program.fd).expect("is a socket") as usize;
        (seen + SENDERS >= all).then_some(seen)
    });
    // Data that is still at the sender is not here.
    assert!(seen <= all, "{seen} of {all}");
}

/// C24, C28, C29 (I5, I6): a program that reads nothing stops the sender where a native one does,
/// and unread data does not count as read. Data that it then reads is counted, except for at most
/// one packet of the pair. Senders differ by the data that remains with them.
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

/// C29: a program that was slow once and has read everything can again see as much without reading.
#[test]
fn one_that_was_slow_sees_all_again() {
    let rig = Rig::new();
    let listener = TcpListener::bind((HERE, 0)).expect("loopback");
    let program = rig.stream();
    rig.set_option(&program, libc::SOL_SOCKET, libc::SO_RCVBUF, &[8 << 20]);
    assert_eq!(rig.connect(&program, at(&listener)), Response::Done);
    let mut far = listener.accept().expect("has connected").0;
    let shown = || rustix::io::ioctl_fionread(&program.fd).expect("is a socket") as usize;
    // As much as possible, and long enough for the pair to grow to its maximum.
    let placed = places(&mut far, 0);
    let before = shown();
    read(&program.fd, placed);
    let again = places(&mut far, 0);
    // The distribution of data among packets may differ.
    let wanted = (before / 2).min(again / 2);
    let seen = crate::rig::until(|| Some(shown()).filter(|seen| *seen >= wanted));
    println!("{before} octets were shown of {placed}, {seen} of {again}");
    drop((program, far));
    rig.nothing_is_left();
}
