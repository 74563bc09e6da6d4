//! The far host's window follows the program, and not the server.

use crate::rig::{LOOPBACKS, Rig, listener};
use resoa_protocol::{SocketCall, Value};
use std::io::{ErrorKind, Write};
use std::net::{IpAddr, SocketAddr, TcpStream};

const RCVBUF: u32 = 50_000;

/// Octets that a sender places before it is stopped, `turn` being whatever the other side does meanwhile.
fn places(far: &mut TcpStream, mut turn: impl FnMut()) -> usize {
    rustix::net::sockopt::set_socket_send_buffer_size(&*far, 4096).expect("is a socket");
    far.set_nonblocking(true).expect("is a socket");
    let (mut placed, mut refused) = (0, 0);
    // The segments under way are acknowledged within a few turns; a window that is closed stays so.
    while refused < 100 {
        match far.write(&[1; 1000]) {
            Ok(count) => (placed, refused) = (placed + count, 0),
            Err(error) if error.kind() == ErrorKind::WouldBlock => {
                refused += 1;
                turn();
            }
            Err(error) => panic!("{error}"),
        }
    }
    placed
}

/// What a native socket admits whose program does not read.
fn native(own: IpAddr) -> usize {
    let listener = listener(own);
    let family =
        if own.is_ipv4() { rustix::net::AddressFamily::INET } else { rustix::net::AddressFamily::INET6 };
    let near = rustix::net::socket(family, rustix::net::SocketType::STREAM, None).expect("descriptors");
    rustix::net::sockopt::set_socket_recv_buffer_size(&near, RCVBUF as usize).expect("is a socket");
    rustix::net::connect(&near, &listener.local_addr().expect("is bound")).expect("listens");
    let mut far = listener.accept().expect("has connected").0;
    places(&mut far, || std::thread::sleep(std::time::Duration::from_millis(2)))
}

/// C24, C28 (I5, I6): the program does not read. A far sender places what a native socket with the same SO_RCVBUF admits, although the
/// client has everything that arrived; when the program has read, as much can be placed again. What a native one admits is 99 500 or 115 000 octets, by
/// how the kernel lays segments together: so within a quarter.
#[test]
fn a_program_that_does_not_read_stops_the_sender() {
    for own in LOOPBACKS {
        // In whatever namespace that is.
        let mut rig = Rig::new(own);
        let admitted = native(own);
        let socket = rig.socket();
        let value = RCVBUF.to_ne_bytes().to_vec();
        let option = SocketCall::SetOption { level: libc::SOL_SOCKET, name: libc::SO_RCVBUF, value };
        assert_eq!(rig.call(socket, option), Ok(Value::Done));
        let listener = listener(own);
        let address: SocketAddr = listener.local_addr().expect("is bound");
        assert_eq!(rig.call(socket, SocketCall::Connect(address)), Ok(Value::Done));
        let mut far = listener.accept().expect("has connected").0;

        let placed = places(&mut far, || rig.turn());
        println!("SO_RCVBUF {RCVBUF}, {own}: native {admitted}, remote {placed} octets");
        assert!(placed <= admitted + admitted / 4, "{placed} octets placed, {admitted} at a native socket");
        assert!(2 * placed > admitted, "{placed} octets placed, {admitted} at a native socket");

        let mut read = 0;
        while read < placed {
            match rig.read(socket, placed - read) {
                Ok(Value::Bytes(bytes)) if !bytes.is_empty() => read += bytes.len(),
                other => panic!("{other:?}"),
            }
        }
        let again = places(&mut far, || rig.turn());
        assert!(
            again <= admitted + admitted / 4 && 2 * again > admitted,
            "{again} octets placed then, {admitted} at first"
        );
    }
}
