//! Segments on the wire when the program does not read or does not accept: the same ones as with a
//! native socket of the same kernel.

use crate::rig::{Rig, Turns};
use crate::written::{Connection, FIRST_OCTET, Far, PORT, in_all_ways};
use packet::{Segment, Tcp};
use resoa_protocol::message::Operation;
use resoa_protocol::{RsockId, SocketCall, Value};
use rustix::net::{AddressFamily, SocketFlags, SocketType, sockopt};
use std::io::Read;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::time::Duration;

/// SO_RCVBUF, and bytes per segment.
const RCVBUF: i32 = 50_000;
const SEGMENT: usize = 1400;
/// More bytes than any window of that buffer admits.
const ENOUGH: usize = 4 * RCVBUF as usize;
/// Number of turns after which the server has accepted all that it accepts from a listener.
const SETTLED: usize = 60;

/// Connects a native socket with this receive buffer to the far host.
fn native(far: &mut Far, rig: &mut Rig) -> TcpStream {
    let family = if far.way().is_ipv6 { AddressFamily::INET6 } else { AddressFamily::INET };
    let socket = rustix::net::socket_with(family, SocketType::STREAM, SocketFlags::NONBLOCK, None);
    let socket = socket.expect("descriptors");
    sockopt::set_socket_recv_buffer_size(&socket, RCVBUF as usize).expect("is a socket");
    assert_eq!(rustix::net::connect(&socket, &far.address()), Err(rustix::io::Errno::INPROGRESS));
    far.answers(rig);
    rustix::io::ioctl_fionbio(&socket, false).expect("a descriptor");
    socket.into()
}

/// Connects a remote socket with this receive buffer to the far host.
fn remote(far: &mut Far, rig: &mut Rig) -> RsockId {
    let socket = rig.socket();
    let (level, name) = (libc::SOL_SOCKET, libc::SO_RCVBUF);
    let option = Operation::SetOption { level, name, value: RCVBUF.to_ne_bytes().to_vec() };
    assert_eq!(rig.call(socket, option), Ok(Value::Done));
    far.takes(rig, socket);
    socket
}

/// The far host fills the window with segments, each after the acknowledgement of the one before,
/// and then sends one byte more. Returns for each answer the bytes acknowledged and the window.
fn fills(far: &mut Far, rig: &mut Rig) -> Vec<(usize, u16)> {
    let mut answers = vec![(0, SEGMENT as u16)];
    while let &(octets, window) = answers.last().expect("the first is there")
        && window > 0
        && octets < ENOUGH
    {
        let more = SEGMENT.min(window.into());
        far.tells(Tcp::PSH, &vec![1; more]);
        let next = far.next;
        answers.push((octets + more, far.hears_ack(rig, next).window));
    }
    let next = far.next;
    far.sends(Tcp::ACK, next, b"x", &[]);
    let refused = far.hears_ack(rig, next);
    let total = answers.last().expect("the first is there").0;
    answers.push((total, refused.window));
    answers
}

/// Returns the current window: the kernel answers a byte that it already has at once.
fn window(far: &mut Far, rig: &mut Rig) -> u16 {
    let next = far.next;
    far.sends(Tcp::ACK, next.wrapping_sub(1), b"1", &[]);
    far.hears_ack(rig, next).window
}

/// C24 (5.3.3, 6.3): a program that does not read. The server passes every byte to the client on
/// arrival. Still each acknowledgement has the window of a native socket with the same SO_RCVBUF,
/// until the window closes at the same byte and the next byte is refused. When the program has read
/// everything, the window opens as far as natively.
#[test]
fn the_window_closes_where_it_does_natively() {
    in_all_ways(false, |mut far, mut rig| {
        let mut socket = native(&mut far, &mut rig);
        let natively = fills(&mut far, &mut rig);
        let &(total, last) = natively.last().expect("some");
        assert_eq!(last, 0, "{natively:?}");
        socket.read_exact(&mut vec![0; total]).expect("is connected");
        while far.found().is_some() {}
        let open = window(&mut far, &mut rig);
        // Close by RST, after which no segment follows.
        sockopt::set_socket_linger(&socket, Some(Duration::ZERO)).expect("is a socket");
        drop(socket);
        while far.found().is_some() {}

        let socket = remote(&mut far, &mut rig);
        assert_eq!(fills(&mut far, &mut rig), natively);
        assert_eq!(rig.host.counts().received, total as u64);
        println!("SO_RCVBUF {RCVBUF}: the window closes at {total} octets, and opens to {open}");
        let mut read = 0;
        while read < total {
            match rig.read(socket, total - read) {
                Ok(Value::Bytes(bytes)) if !bytes.is_empty() => read += bytes.len(),
                other => panic!("{other:?}"),
            }
        }
        // The client reports the bytes that the program has read in parts.
        rig.until(|rig| {
            while far.found().is_some() {}
            (window(&mut far, rig) == open).then_some(())
        });
    });
}

/// Answer to a far host from a listener.
#[derive(Debug, PartialEq, Eq)]
enum Answer {
    Nothing,
    /// SYN-ACK: whether it has a time stamp, and its window scale.
    Synchronised {
        stamped: bool,
        scale: Option<u8>,
    },
    /// Number of bytes acknowledged.
    Acknowledged(u32),
}

/// Returns the last answer on the far host's current connection, after both sides had time to act.
/// Segments of other connections and repetitions are skipped.
fn answer(far: &mut Far, rig: &mut Rig) -> Answer {
    let Connection { own, port, .. } = far.talks_by();
    let mut said = Answer::Nothing;
    for _ in 0..SETTLED {
        rig.turn();
        while let Some(segment) = far.found() {
            let ports = (segment.source_port, segment.destination_port);
            if ports == (port, own) && !is_again(far, &segment) {
                said = read(far, &segment);
            }
        }
    }
    said
}

/// Whether this is a repetition of a SYN-ACK, sent because the handshake took the far host a while.
fn is_again(far: &Far, segment: &Segment) -> bool {
    segment.tcp.has(Tcp::SYN) && far.expected == segment.tcp.sequence.wrapping_add(1)
}

fn read(far: &mut Far, segment: &Segment) -> Answer {
    if segment.tcp.has(Tcp::SYN) {
        far.expected = segment.tcp.sequence.wrapping_add(1);
        let stamped = segment.options.timestamps.is_some();
        return Answer::Synchronised { stamped, scale: segment.options.window_scale };
    }
    assert_eq!(segment.tcp.flags, Tcp::ACK, "{segment:?}");
    Answer::Acknowledged(segment.tcp.acknowledgment.wrapping_sub(FIRST_OCTET))
}

/// More far hosts connect than a listener with a backlog of 2 accepts. Two complete their
/// handshakes. Two more get a SYN-ACK, then both complete their handshakes and send a byte, before
/// a fifth sends a SYN. Returns the answers to each, and last the answer to the fourth after the
/// program has accepted a connection. Before that, the fourth gets another SYN-ACK, because a far
/// host might wait for the program to send first.
fn overflows(far: &mut Far, rig: &mut Rig, port: u16, accept: impl FnOnce(&mut Rig)) -> Vec<Answer> {
    let mut answers = Vec::new();
    for own in [PORT, PORT + 1] {
        far.asks(own, port);
        answers.push(answer(far, rig));
        far.tells(0, b"");
        answers.push(answer(far, rig));
    }
    let half_way = [PORT + 2, PORT + 3].map(|own| {
        far.asks(own, port);
        answers.push(answer(far, rig));
        far.talks_by()
    });
    for connection in half_way {
        far.resumes(connection);
        far.tells(0, b"");
        answers.push(answer(far, rig));
        far.sends(Tcp::ACK | Tcp::PSH, connection.next, b"x", &[]);
        answers.push(answer(far, rig));
    }
    far.asks(PORT + 4, port);
    answers.push(answer(far, rig));
    far.resumes(half_way[1]);
    rig.until(|rig| {
        rig.turn();
        far.found().filter(|segment| segment.destination_port == PORT + 3 && is_again(far, segment))
    });
    accept(rig);
    let repeated = rig.until(|rig| {
        far.sends(Tcp::ACK | Tcp::PSH, half_way[1].next, b"x", &[]);
        Some(answer(far, rig)).filter(|answer| *answer != Answer::Nothing)
    });
    answers.push(repeated);
    answers
}

/// C32: backlog overflow on the wire. Without room, the last acknowledgement of a handshake is
/// ignored, and so are the data after it and a further SYN. After the program has accepted a
/// connection there is room. Until then the kernel repeats its SYN-ACK, as natively: the server has
/// taken one connection, which leaves the kernel room to remember both handshakes.
#[test]
fn a_backlog_overflows_as_it_does_natively() {
    in_all_ways(false, |mut far, mut rig| {
        let here = SocketAddr::new(far.way().addresses()[0], 0);
        let listener = TcpListener::bind(here).expect("its own address");
        rustix::net::listen(&listener, 2).expect("is bound");
        let port = listener.local_addr().expect("is bound").port();
        let natively =
            overflows(&mut far, &mut rig, port, |_| drop(listener.accept().expect("has connected")));
        println!("{natively:?}");

        let socket = rig.socket();
        assert_eq!(rig.call(socket, Operation::Bind(here)), Ok(Value::Done));
        assert_eq!(rig.call(socket, Operation::Listen { backlog: 2 }), Ok(Value::Done));
        let Ok(Value::Address(name)) = rig.call(socket, SocketCall::LocalName) else { panic!("is bound") };
        // LISTEN has no answer, but this call has.
        rig.option(socket, libc::IPPROTO_TCP, libc::TCP_INFO);
        let remotely = overflows(&mut far, &mut rig, name.port(), |rig| {
            assert!(matches!(rig.call(socket, SocketCall::Accept), Ok(Value::Accepted { .. })));
        });
        assert_eq!(remotely, natively);
    });
}

/// C83 (6.2.3), accepted difference: `listen` of a bound socket has returned, and the server has
/// not received it yet. A SYN at that moment is refused by RST, and a later one is answered.
#[test]
fn a_listen_that_is_on_its_way() {
    in_all_ways(false, |mut far, mut rig| {
        let here = SocketAddr::new(far.way().addresses()[0], 0);
        let socket = rig.socket();
        assert_eq!(rig.call(socket, Operation::Bind(here)), Ok(Value::Done));
        let Ok(Value::Address(name)) = rig.call(socket, SocketCall::LocalName) else { panic!("is bound") };
        // The call returns without a turn of the server.
        assert_eq!(rig.call(socket, Operation::Listen { backlog: 2 }), Ok(Value::Done));
        far.asks(PORT, name.port());
        let refused = far.found().expect("the kernel answers at once");
        assert!(refused.tcp.has(Tcp::RST), "{refused:?}");
        rig.option(socket, libc::IPPROTO_TCP, libc::TCP_INFO);
        far.connects(&mut rig, name.port());
    });
}
