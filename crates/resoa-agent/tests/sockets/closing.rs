//! SO_LINGER, the loss of the server, and many sockets.

use crate::rig::{HERE, Program, Rig, at, read_exactly, until, until_polled};
use resoa_calls::{Request, Response};
use resoa_protocol::message::Operation;
use rustix::event::PollFlags;
use std::io::{ErrorKind, Read, Write};
use std::net::{TcpListener, TcpStream};

/// Closes the descriptor, and sends the request of an interposer after it.
fn close(rig: &Rig, program: Program) -> Response {
    let id = program.id;
    drop(program);
    rig.call(&Request::Closed(id), None)
}

/// C55, C56: with SO_LINGER `close` returns when the far host has all data. With time 0 it is a
/// reset. With another descriptor left it returns at once.
#[test]
fn lingering() {
    let rig = Rig::new();
    let (program, mut far) = rig.connected();
    rig.set_option(&program, libc::SOL_SOCKET, libc::SO_LINGER, &[1, 20]);
    program.write(&vec![7; 200_000]);
    let other = program.fd.try_clone().expect("descriptors");
    assert_eq!(close(&rig, program), Response::Done);
    assert_eq!(rustix::io::write(&other, b"still open"), Ok(10));
    let reader = std::thread::spawn(move || {
        let mut heard = Vec::new();
        far.read_to_end(&mut heard).map(|_| heard.len())
    });
    drop(other);
    rig.nothing_is_left();
    assert_eq!(reader.join().expect("reads").expect("to the end"), 200_010);

    let (program, mut far) = rig.connected();
    rig.set_option(&program, libc::SOL_SOCKET, libc::SO_LINGER, &[1, 20]);
    program.write(&[7; 2000]);
    assert_eq!(close(&rig, program), Response::Done);
    // `close` has returned, so all data is there, including the end.
    far.set_nonblocking(true).expect("is a socket");
    let mut heard = Vec::new();
    assert_eq!(far.read_to_end(&mut heard).expect("to the end"), 2000);

    let (program, mut far) = rig.connected();
    rig.set_option(&program, libc::SOL_SOCKET, libc::SO_LINGER, &[1, 0]);
    assert_eq!(close(&rig, program), Response::Done);
    assert_eq!(far.read(&mut [0]).expect_err("a reset").kind(), ErrorKind::ConnectionReset);
    rig.nothing_is_left();
}

/// C51, C52: data written just before a `close` that is a reset arrives before the reset, because a
/// TCP would have sent it. Repeated often, because the result depends on whether the agent sees the
/// data or the end first.
#[test]
fn octets_before_a_reset() {
    let rig = Rig::new();
    for round in 0..40 {
        let (program, mut far) = rig.connected();
        if round % 2 == 0 {
            rig.set_option(&program, libc::SOL_SOCKET, libc::SO_LINGER, &[1, 0]);
        } else {
            far.write_all(b"unread").expect("is connected");
            until_polled(&program.fd, PollFlags::IN | PollFlags::OUT);
        }
        program.write(b"last words");
        drop(program);
        assert_eq!(read_exactly(&mut far, 10), b"last words");
        assert_eq!(
            far.read(&mut [0]).expect_err("a reset").kind(),
            ErrorKind::ConnectionReset,
            "round {round}"
        );
    }
    rig.nothing_is_left();
}

/// C55: `close` waits while the far host does not take the remaining data, but no longer than the
/// linger time.
#[test]
fn lingering_in_vain() {
    let rig = Rig::new();
    let (program, far) = rig.connected();
    rig.set_option(&program, libc::SOL_SOCKET, libc::SO_LINGER, &[1, 1]);
    rustix::io::ioctl_fionbio(&program.fd, true).expect("is a socket");
    // Until the socket takes no more data.
    let (mut refused, octets) = (0, vec![1; 65_536]);
    while refused < 50 {
        refused += 1;
        if rustix::io::write(&program.fd, &octets).is_ok() {
            refused = 0;
        }
        std::thread::sleep(std::time::Duration::from_millis(2));
    }
    let begin = std::time::Instant::now();
    assert_eq!(close(&rig, program), Response::Done);
    println!("a lingering close returned after {:?}", begin.elapsed());
    drop(far);
    rig.nothing_is_left();
}

/// C76, C77, C80: when the server is lost, every socket fails, but received data is read before
/// that. Listeners end, and waiting calls return. Then the agent registers again.
#[test]
fn the_server_is_lost() {
    let rig = Rig::new();
    let (program, mut far) = rig.connected();
    let (listener, _) = rig.listener(libc::SOCK_STREAM, 8);
    far.write_all(b"last").expect("is connected");
    until_polled(&program.fd, PollFlags::IN | PollFlags::OUT);
    let full = TcpListener::bind((HERE, 0)).expect("loopback");
    rustix::net::listen(&full, 0).expect("listens");
    let first = TcpStream::connect(at(&full)).expect("there is room for one");
    let waits = rig.stream();
    let request = Request::operation(waits.id, Operation::Connect(at(&full)));
    let call = rig.calls().start(&request, Some(rustix::fd::AsFd::as_fd(&waits.fd))).expect("is taken");
    // When the agent answers this, it has received the call.
    rig.status();
    rig.cut();
    assert_eq!(call.answer().expect("it answers").0, Response::Failed(libc::ECONNRESET));
    let masks = PollFlags::IN | PollFlags::OUT | PollFlags::ERR | PollFlags::HUP | PollFlags::RDHUP;
    until_polled(&program.fd, masks);
    assert_eq!(program.read(4), b"last");
    assert_eq!(program.read_to_end(), Err(rustix::io::Errno::CONNRESET));
    assert_eq!(rig.accept(&listener).err(), Some(libc::EINVAL));
    assert!(far.read(&mut [0]).is_err(), "the server resets what a lost client had");
    rig.registered();
    let (again, mut far) = rig.connected();
    again.write(b"again");
    assert_eq!(read_exactly(&mut far, 5), b"again");
    drop((program, listener, waits, again, full, first, far));
    rig.nothing_is_left();
}

/// C103: many sockets come and go, some of them by reset, and nothing is left.
#[test]
fn many_come_and_go() {
    let rig = Rig::new();
    let listener = TcpListener::bind((HERE, 0)).expect("loopback");
    for round in 0..10 {
        let open: Vec<(Program, TcpStream)> = (0..50)
            .map(|_| {
                let program = rig.stream();
                assert_eq!(rig.connect(&program, at(&listener)), Response::Done);
                (program, listener.accept().expect("has connected").0)
            })
            .collect();
        for (number, (program, mut far)) in open.into_iter().enumerate() {
            program.write(b"up");
            assert_eq!(read_exactly(&mut far, 2), b"up");
            match (number + round) % 3 {
                0 => drop((program, far)),
                1 => {
                    far.write_all(b"down").expect("is connected");
                    drop((far, program));
                }
                _ => {
                    rustix::net::shutdown(&program.fd, rustix::net::Shutdown::Write).expect("is connected");
                    assert_eq!(far.read(&mut [0]).expect("the end"), 0);
                    drop((program, far));
                }
            }
        }
    }
    rig.nothing_is_left();
    assert_eq!(rig.status().made, 500);
    until(|| (rig.status().carried == 500).then_some(()));
}
