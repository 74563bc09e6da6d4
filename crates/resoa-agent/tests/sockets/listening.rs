//! Listeners, and accepted connections.

use crate::rig::{HERE, Program, Rig, polled, read_exactly, until, until_polled};
use resoa_calls::{Request, Response};
use resoa_protocol::message::Operation;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fd::OwnedFd;
use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};

impl Rig {
    /// Returns a program's listener and its address.
    pub fn listener(&self, kind: i32, backlog: u32) -> (Program, SocketAddr) {
        let program = self.socket(kind);
        let bind = Request::operation(program.id, Operation::Bind((HERE, 0).into()));
        assert_eq!(self.call(&bind, None), Response::Done);
        let listen = Request::operation(program.id, Operation::Listen { backlog });
        assert_eq!(self.call(&listen, Some(&program.fd)), Response::Done);
        // `listen` does not wait for the server. This request does, and the server answers in
        // order.
        self.option(&program, libc::IPPROTO_TCP, libc::TCP_NODELAY);
        match self.call(&Request::LocalName(program.id), None) {
            Response::Address(address) => (program, address),
            other => panic!("{other:?}"),
        }
    }

    /// Calls `accept` as an interposer does.
    pub fn accept(&self, listener: &Program) -> Result<(Program, SocketAddr), i32> {
        match rustix::io::read(&listener.fd, &mut [0; 1][..]) {
            Ok(0) => return Err(libc::EINVAL),
            Ok(_) => {}
            Err(error) => return Err(error.raw_os_error()),
        }
        let request = Request::Accept { socket: listener.id, flags: 0 };
        match self.calls().call(&request, None).expect("it answers") {
            (Response::Accepted { socket: id, peer }, Some(fd)) => Ok((Program { fd, id }, peer)),
            (Response::Failed(error), None) => Err(error),
            other => panic!("{other:?}"),
        }
    }
}

/// C32, C33, C46, C66: connections are announced one by one, accepted in order, and usable at once.
/// The descriptor polls the same as a native listener.
#[test]
fn connections_are_accepted() {
    let rig = Rig::new();
    let (listener, address) = rig.listener(libc::SOCK_STREAM | libc::SOCK_NONBLOCK, 8);
    let native = TcpListener::bind((HERE, 0)).expect("loopback");
    assert_eq!(listener.polled(), polled(&native));
    assert_eq!(rig.accept(&listener).err(), Some(libc::EAGAIN));
    let mut fars: Vec<TcpStream> = (0..3_u8)
        .map(|number| {
            let mut far = TcpStream::connect(address).expect("is taken");
            far.write_all(&[number; 4]).expect("is connected");
            far
        })
        .collect();
    let waiting = TcpStream::connect(native.local_addr().expect("is bound")).expect("is taken");
    until_polled(&listener.fd, polled(&native));
    drop(waiting);
    until(|| (rustix::io::ioctl_fionread(&listener.fd) == Ok(3)).then_some(()));
    for (number, far) in fars.iter_mut().enumerate() {
        let (program, peer) = rig.accept(&listener).expect("waits");
        assert_eq!(peer, far.local_addr().expect("is connected"));
        assert_eq!(rig.call(&Request::LocalName(program.id), None), Response::Address(address));
        assert_eq!(program.read(4), [number as u8; 4]);
        program.write(b"welcome");
        assert_eq!(read_exactly(far, 7), b"welcome");
        drop(program);
        assert_eq!(far.read(&mut [0]).expect("the end"), 0);
    }
    assert_eq!(rig.accept(&listener).err(), Some(libc::EAGAIN));
    assert_eq!(rig.status().accepted, 3);
    drop((fars, listener));
    rig.nothing_is_left();
    let gone = TcpStream::connect(address).expect_err("nobody listens");
    assert_eq!(gone.kind(), ErrorKind::ConnectionRefused);
}

/// C32: a program that accepts nothing gets as many connections as natively. Later ones wait.
#[test]
fn backlog_is_a_native_one() {
    let placed = |address: SocketAddr| {
        let mut fars: Vec<OwnedFd> = Vec::new();
        loop {
            let far = started(address);
            let wait = Timespec { tv_sec: 0, tv_nsec: 500_000_000 };
            if poll(&mut [PollFd::new(&far, PollFlags::OUT)], Some(&wait)) == Ok(0) {
                return fars.len();
            }
            // The server must process it before the next one.
            std::thread::sleep(std::time::Duration::from_millis(50));
            fars.push(far);
        }
    };
    let native = TcpListener::bind((HERE, 0)).expect("loopback");
    rustix::net::listen(&native, 2).expect("listens");
    let rig = Rig::new();
    let (listener, address) = rig.listener(libc::SOCK_STREAM, 2);
    assert_eq!(placed(address), placed(native.local_addr().expect("is bound")));
    drop(listener);
    rig.nothing_is_left();
}

/// Starts a native non-blocking connect.
fn started(address: SocketAddr) -> OwnedFd {
    use rustix::net::{AddressFamily, SocketFlags, SocketType, connect, socket_with};
    let far = socket_with(AddressFamily::INET, SocketType::STREAM, SocketFlags::NONBLOCK, None)
        .expect("descriptors");
    assert_eq!(connect(&far, &address), Err(rustix::io::Errno::INPROGRESS));
    far
}

/// C34: connections that were not accepted are reset with their listener. An accepted one stays.
#[test]
fn listener_that_goes_away() {
    let rig = Rig::new();
    let (listener, address) = rig.listener(libc::SOCK_STREAM, 8);
    let mut first = TcpStream::connect(address).expect("is taken");
    let mut second = TcpStream::connect(address).expect("is taken");
    let (program, _) = rig.accept(&listener).expect("waits");
    until(|| (rustix::io::ioctl_fionread(&listener.fd) == Ok(1)).then_some(()));
    drop(listener);
    assert_eq!(second.read(&mut [0]).expect_err("a reset").kind(), ErrorKind::ConnectionReset);
    program.write(b"stays");
    assert_eq!(read_exactly(&mut first, 5), b"stays");
    drop((program, first));
    rig.nothing_is_left();
}

/// C63: after a `shutdown` of the receiving direction of a listener, every `accept` fails with
/// EINVAL, and it can listen again.
#[test]
fn listener_that_is_shut() {
    let rig = Rig::new();
    let (listener, address) = rig.listener(libc::SOCK_STREAM, 8);
    let shut = Request::Shutdown { socket: listener.id, how: libc::SHUT_RD };
    assert_eq!(rig.call(&shut, None), Response::Done);
    for _ in 0..3 {
        assert_eq!(rig.accept(&listener).err(), Some(libc::EINVAL));
    }
    // The server learns of it later than the program.
    until(|| TcpStream::connect(address).err());
    let listen = Request::operation(listener.id, Operation::Listen { backlog: 8 });
    assert_eq!(rig.call(&listen, Some(&listener.fd)), Response::Done);
    // The stack had chosen the port, and chooses it again.
    let Response::Address(address) = rig.call(&Request::LocalName(listener.id), None) else {
        panic!("a name")
    };
    let far = TcpStream::connect(address).expect("is taken");
    let (program, peer) = until(|| match rig.accept(&listener) {
        Err(error) => {
            assert_eq!(error, libc::EAGAIN, "what woke who accepted before");
            None
        }
        Ok(accepted) => Some(accepted),
    });
    assert_eq!(Some(peer), far.local_addr().ok());
    drop((listener, program, far));
    rig.nothing_is_left();
}

/// If a reader takes the byte and does not accept, another `accept` gets the connection.
#[test]
fn accept_that_was_given_up() {
    let rig = Rig::new();
    let (listener, address) = rig.listener(libc::SOCK_STREAM, 8);
    let mut far = TcpStream::connect(address).expect("is taken");
    assert_eq!(listener.read(1).len(), 1);
    let (program, _) = rig.accept(&listener).expect("waits again");
    program.write(b"x");
    assert_eq!(read_exactly(&mut far, 1), b"x");
    drop((program, listener));
    rig.nothing_is_left();
}
