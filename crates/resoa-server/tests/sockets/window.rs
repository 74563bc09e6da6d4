//! The window advertised to the far host follows the program's reads, not the server's.

use crate::guest::PATIENCE;
use crate::rig::{LOOPBACKS, Rig, Turns, listener};
use resoa_protocol::Value;
use resoa_protocol::message::Operation;
use rustix::fd::{AsFd, AsRawFd};
use rustix::net::{AddressFamily, SocketType, sockopt};
use std::io::{Read, Write};
use std::net::{IpAddr, SocketAddr, TcpStream};
use std::time::{Duration, Instant};

const RCVBUF: u32 = 50_000;
/// Bytes per segment. With segments this large, the kernel admits only as many as it has memory
/// for. With smaller ones it admits more and then drops some.
const SEGMENT: usize = 8000;

/// Number of bytes that a sender places before its window has no room for another segment. `wait`
/// lets the other side act meanwhile.
///
/// The amount that a window admits depends on the size of the segments and on the times of their
/// acknowledgements. So each segment is sent after the acknowledgement of the one before, and only
/// if the window has room for it. No segment is merged, split or retransmitted, and two receivers
/// of the same kernel whose programs do not read admit the same amount.
fn places(far: &mut TcpStream, mut wait: impl FnMut()) -> usize {
    let begin = Instant::now();
    let mut placed = 0;
    loop {
        if unacknowledged(&far) > 0 {
            assert!(begin.elapsed() < PATIENCE, "{placed} octets are not acknowledged");
            wait();
        } else if window(&far) >= SEGMENT {
            far.write_all(&[1; SEGMENT]).expect("is connected");
            placed += SEGMENT;
        } else {
            return placed;
        }
    }
}

/// Configures a sender to send each write as one segment, as soon as the window permits.
fn sender(far: TcpStream) -> TcpStream {
    sockopt::set_tcp_nodelay(&far, true).expect("is a socket");
    // A congestion control that does not pace.
    sockopt::set_tcp_congestion(&far, "reno").expect("every kernel has it");
    far
}

/// Bytes that were written and are not acknowledged (SIOCOUTQ).
fn unacknowledged(socket: impl AsFd) -> usize {
    let mut count: libc::c_int = 0;
    // SAFETY: the kernel writes one `int` to `count`.
    let result = unsafe { libc::ioctl(socket.as_fd().as_raw_fd(), libc::TIOCOUTQ, &raw mut count) };
    assert_eq!(result, 0, "is a socket");
    count as usize
}

/// The window that the other side has advertised last, relative to its acknowledgement number
/// (Linux 5.4).
fn window(socket: impl AsFd) -> usize {
    // SAFETY: it consists of numbers.
    let mut info: libc::tcp_info = unsafe { std::mem::zeroed() };
    let mut length = size_of::<libc::tcp_info>() as libc::socklen_t;
    let socket = socket.as_fd().as_raw_fd();
    // SAFETY: the kernel writes at most `length` bytes to `info`, which has as many, and their
    // number to `length`.
    let result = unsafe {
        libc::getsockopt(socket, libc::IPPROTO_TCP, libc::TCP_INFO, (&raw mut info).cast(), &raw mut length)
    };
    assert_eq!(result, 0, "is a socket");
    info.tcpi_snd_wnd as usize
}

/// Bytes that a native socket admits while its program does not read, and again after the program
/// has read everything and sent a byte.
fn native(own: IpAddr) -> (usize, usize) {
    let wait = || std::thread::sleep(Duration::from_millis(2));
    let listener = listener(own);
    let family = if own.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
    let near = rustix::net::socket(family, SocketType::STREAM, None).expect("descriptors");
    sockopt::set_socket_recv_buffer_size(&near, RCVBUF as usize).expect("is a socket");
    rustix::net::connect(&near, &listener.local_addr().expect("is bound")).expect("listens");
    let (mut near, mut far) = (TcpStream::from(near), sender(listener.accept().expect("has connected").0));
    let first = places(&mut far, wait);
    near.read_exact(&mut vec![0; first]).expect("is connected");
    near.write_all(b"r").expect("is connected");
    assert_eq!(word(&mut far), *b"r");
    (first, places(&mut far, wait))
}

/// Reads a byte from the program. It also carries the window after the program has read everything.
fn word(far: &mut TcpStream) -> [u8; 1] {
    let mut octet = [0];
    far.read_exact(&mut octet).expect("is connected");
    octet
}

/// C24, C28 (I5, I6): the program does not read. A far sender places exactly as many bytes as with
/// a native socket of the same SO_RCVBUF, although the client has everything that arrived. After
/// the program has read, as many bytes can be placed again as there.
#[test]
fn a_program_that_does_not_read_stops_the_sender() {
    for own in LOOPBACKS {
        // Create the rig first, because it may enter a namespace of its own, in which the native
        // socket belongs, too.
        let mut rig = Rig::new(own);
        let admitted = native(own);
        let socket = rig.socket();
        let value = RCVBUF.to_ne_bytes().to_vec();
        let option = Operation::SetOption { level: libc::SOL_SOCKET, name: libc::SO_RCVBUF, value };
        assert_eq!(rig.call(socket, option), Ok(Value::Done));
        let listener = listener(own);
        let address: SocketAddr = listener.local_addr().expect("is bound");
        assert_eq!(rig.call(socket, Operation::Connect(address)), Ok(Value::Done));
        let mut far = sender(listener.accept().expect("has connected").0);

        let first = places(&mut far, || rig.turn());
        rig.until(|rig| (rig.host.counts().received == first as u64).then_some(()));
        let mut read = 0;
        while read < first {
            match rig.read(socket, first - read) {
                Ok(Value::Bytes(bytes)) if !bytes.is_empty() => read += bytes.len(),
                other => panic!("{other:?}"),
            }
        }
        assert_eq!(rig.send(socket, b"r"), Ok(Value::Count(1)));
        assert_eq!(rig.far(|| word(&mut far)), *b"r");
        let again = places(&mut far, || rig.turn());
        println!("SO_RCVBUF {RCVBUF}, {own}: native {admitted:?}, remote {:?} octets", (first, again));
        assert_eq!((first, again), admitted, "octets placed, and at a native socket");
    }
}
