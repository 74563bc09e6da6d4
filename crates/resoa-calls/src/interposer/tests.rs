//! Tests of the engine, on a program that is a vector of memory, and an agent that is a function.

use super::{
    Answer, Beside, Bypass, Call, Detour, Given, Message, Packet, Piece, Program, Room, Socket, Stop,
};
use super::{answer, create, messages::several, streams};
use crate::descriptor::{DescriptorType, set_mark};
use crate::{Answered, LISTENING, Request, Response, SocketId};
use resoa_protocol::message::Operation;
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::net::{AddressFamily, SocketFlags, SocketType, socket_with, socketpair};
use std::cell::{Cell, RefCell};
use std::net::SocketAddr;

/// First address of the memory.
const BASE: usize = 0x1000;
/// An address without memory.
const NOWHERE: usize = 8;
const ID: SocketId = SocketId(7);
const PEER: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(std::net::Ipv4Addr::new(192, 0, 2, 9)), 80);

struct Fake {
    memory: RefCell<Vec<u8>>,
    asked: RefCell<Vec<Request>>,
    agent: fn(&Request) -> Result<Response, i32>,
    has_number: bool,
    signals: Cell<u32>,
}

impl Fake {
    fn of(agent: fn(&Request) -> Result<Response, i32>) -> Self {
        let (memory, asked) = (RefCell::new(vec![0; 64]), RefCell::default());
        Self { memory, asked, agent, has_number: true, signals: Cell::new(0) }
    }

    fn asked(&self) -> Vec<Request> {
        self.asked.take()
    }

    /// Adds bytes at an address.
    fn holding(self, at: usize, octets: &[u8]) -> Self {
        self.memory.borrow_mut()[at - BASE..at - BASE + octets.len()].copy_from_slice(octets);
        self
    }

    fn at(&self, at: usize, count: usize) -> Vec<u8> {
        self.memory.borrow()[at - BASE..at - BASE + count].to_vec()
    }
}

impl Program for Fake {
    const SEES_DATA: bool = true;

    type Pieces = Vec<Piece>;

    fn read(&self, at: usize, place: &mut [u8]) -> Detour<()> {
        let memory = self.memory.borrow();
        let here = at.checked_sub(BASE).and_then(|at| memory.get(at..at + place.len()));
        place.copy_from_slice(here.ok_or(libc::EFAULT)?);
        Ok(())
    }

    fn write(&self, at: usize, octets: &[u8]) -> Detour<()> {
        let mut memory = self.memory.borrow_mut();
        let here = at.checked_sub(BASE).and_then(|at| memory.get_mut(at..at + octets.len()));
        here.ok_or(libc::EFAULT)?.copy_from_slice(octets);
        Ok(())
    }

    fn ask<'a>(&self, request: &Request, _: Option<BorrowedFd>, place: &'a mut [u8]) -> Detour<Answered<'a>> {
        self.asked.borrow_mut().push(request.clone());
        Ok(match (self.agent)(request)? {
            Response::Value(value) => {
                let place = &mut place[..value.len()];
                place.copy_from_slice(&value);
                (Response::Value(place), None)
            }
            Response::Address(address) => (Response::Address(address), None),
            Response::Sent => (Response::Sent, None),
            Response::Accepted { socket, peer } => (Response::Accepted { socket, peer }, Some(fresh())),
            _ => (Response::Done, None),
        })
    }

    fn connect(&self, _: &Socket, request: &Request) -> Detour<bool> {
        let (response, _) = self.ask(request, None, &mut [])?;
        Ok(matches!(response, Response::Sent))
    }

    fn may_bind_any_port(&self) -> bool {
        false
    }

    fn has_number_left(&self, _: &Socket) -> Detour<()> {
        if self.has_number { Ok(()) } else { Err(libc::EMFILE.into()) }
    }

    fn arrivals(&self, _: &Socket) -> impl FnMut() -> Detour<usize> {
        let mut left = 2;
        move || {
            left -= 1;
            if left < 0 { Err(libc::ECONNRESET.into()) } else { Ok(1) }
        }
    }

    fn sees(&self, _: &Socket) -> Detour<()> {
        Ok(())
    }

    fn send_packet(&self, _: &Socket, _: &mut [u8], _: &[Piece], _: i32) -> Detour<()> {
        Err(libc::EPIPE.into())
    }

    fn receive_packet(&self, _: &Socket, _: &mut [u8], _: &[Piece], _: i32) -> Detour<Packet> {
        Ok(Packet { octets: 5, is_cut: false, beside: Beside::Nothing })
    }

    fn message(&self, _: usize) -> Detour<Message<Vec<Piece>>> {
        Err(libc::EFAULT.into())
    }

    fn tell(&self, _: usize, _: usize, _: usize, _: i32) -> Detour<()> {
        Ok(())
    }

    fn tell_length(&self, _: usize, _: u32) -> Detour<()> {
        Ok(())
    }

    fn is_readable(&self, at: usize, length: usize) -> Detour<()> {
        self.read(at, &mut vec![0; length])
    }

    fn raise_pipe(&self) {
        self.signals.set(self.signals.get() + 1);
    }
}

fn fresh() -> OwnedFd {
    socket_with(AddressFamily::UNIX, SocketType::STREAM, SocketFlags::CLOEXEC, None).expect("descriptors")
}

fn pair(kind: SocketType) -> (OwnedFd, OwnedFd) {
    socketpair(AddressFamily::UNIX, kind, SocketFlags::CLOEXEC, None).expect("descriptors")
}

fn of(descriptor: &OwnedFd, kind: DescriptorType) -> Socket<'_> {
    Socket { descriptor: descriptor.as_fd(), id: ID, kind }
}

/// Returns the value or the failure of a call.
fn outcome(program: &Fake, socket: &Socket, call: Call) -> Result<usize, Stop> {
    match answer(program, socket, &call)? {
        Answer::Value(value) => Ok(value),
        Answer::Descriptor { .. } => Ok(usize::MAX),
    }
}

/// Calls that the kernel executes have a reason for it, and the agent is not asked.
#[test]
fn bypasses() {
    let program = Fake::of(|_| Ok(Response::Done));
    let stream = fresh();
    let socket = of(&stream, DescriptorType::Stream);
    let (level, name) = (libc::SOL_SOCKET, libc::SO_PEEK_OFF);
    let (room, value) = (Room { value: 0, length: 0 }, Given { at: 0, length: 4 });
    let (data, flags) = (Piece { address: 0, length: 0 }, 0);
    for (call, bypass) in [
        (Call::GetOption { level, name, value: room }, Bypass::Option),
        (Call::SetOption { level, name, value }, Bypass::Option),
        (Call::Ioctl { command: crate::ioctl::FIONREAD, argument: 0 }, Bypass::Ioctl),
        (Call::Send { data, flags, to: value }, Bypass::Stream),
        (Call::ReceiveMessage { message: 0, flags }, Bypass::Stream),
    ] {
        assert_eq!(outcome(&program, &socket, call), Err(bypass.into()), "{call:?}");
    }
    let made = |family, kind| create(&program, family, kind, 0).map(|_| ());
    assert_eq!(made(libc::AF_UNIX, libc::SOCK_STREAM), Err(Bypass::Family.into()));
    assert_eq!(made(libc::AF_INET, libc::SOCK_RAW), Err(libc::EPERM.into()));
    assert_eq!(program.asked(), []);
}

/// Addresses and values are checked in the kernel's order.
#[test]
fn arguments() {
    let program = Fake::of(|request| match request {
        Request::LocalName(_) => Ok(Response::Address(PEER)),
        Request::Operation { operation: Operation::GetOption { .. }, .. } => {
            Ok(Response::Value(vec![1, 2, 3, 4]))
        }
        _ => Ok(Response::Done),
    })
    .holding(BASE, &crate::address::written(PEER))
    .holding(BASE + 32, &2_i32.to_ne_bytes())
    .holding(BASE + 36, &(-1_i32).to_ne_bytes());
    let stream = fresh();
    let socket = of(&stream, DescriptorType::Stream);
    let bind = |at, length| outcome(&program, &socket, Call::Bind(Given { at, length }));
    assert_eq!(bind(NOWHERE, 16), Err(libc::EFAULT.into()));
    assert_eq!(bind(NOWHERE, -1), Err(libc::EINVAL.into()));
    assert_eq!(bind(NOWHERE, 129), Err(libc::EINVAL.into()));
    // Port 80 needs a privilege.
    assert_eq!(bind(BASE, 16), Err(libc::EACCES.into()));
    assert_eq!(program.asked(), []);
    let name = |value, length| outcome(&program, &socket, Call::LocalName(Room { value, length }));
    assert_eq!(name(0, BASE + 32), Err(libc::EFAULT.into()));
    assert_eq!(name(BASE + 40, BASE + 36), Err(libc::EINVAL.into()));
    assert_eq!((name(BASE + 40, BASE + 32), program.at(BASE + 40, 3)), (Ok(0), vec![2, 0, 0]));
    assert_eq!(program.at(BASE + 32, 4), 16_i32.to_ne_bytes());
    let get = |value, length| {
        let value = Room { value, length };
        outcome(&program, &socket, Call::GetOption { level: libc::SOL_SOCKET, name: libc::SO_SNDBUF, value })
    };
    program.asked();
    assert_eq!(get(BASE + 40, BASE + 36), Err(libc::EINVAL.into()));
    assert_eq!(get(BASE + 40, NOWHERE), Err(libc::EFAULT.into()));
    assert_eq!(program.asked(), []);
    assert_eq!((get(BASE + 40, BASE + 32), program.at(BASE + 40, 5)), (Ok(0), vec![1, 2, 3, 4, 0]));
    assert_eq!(program.at(BASE + 32, 4), 4_i32.to_ne_bytes());
}

/// Without an agent, SO_ERROR is the kernel's error.
#[test]
fn errors_without_an_agent() {
    let program = Fake::of(|_| Err(libc::ENETDOWN)).holding(BASE, &4_i32.to_ne_bytes());
    let (stream, other) = pair(SocketType::STREAM);
    rustix::io::write(&stream, b"unread").expect("room");
    drop(other);
    let value = Room { value: BASE + 4, length: BASE };
    for error in [libc::ECONNRESET, 0] {
        let call = Call::GetOption { level: libc::SOL_SOCKET, name: libc::SO_ERROR, value };
        assert_eq!(outcome(&program, &of(&stream, DescriptorType::Stream), call), Ok(0));
        assert_eq!(program.at(BASE + 4, 4), error.to_ne_bytes());
    }
}

/// A connected stream shuts down its sending direction itself. The agent is asked for the other
/// direction, and for everything on an unconnected stream.
#[test]
fn halves() {
    let program = Fake::of(|_| Ok(Response::Done));
    let asked = |how| Request::Shutdown { socket: ID, how };
    let shut = |descriptor: &OwnedFd, kind, how| {
        (outcome(&program, &of(descriptor, kind), Call::Shutdown { how }), program.asked())
    };
    let (rd, wr, both) = (libc::SHUT_RD, libc::SHUT_WR, libc::SHUT_RDWR);
    for how in [rd, wr, both] {
        assert_eq!(shut(&fresh(), DescriptorType::Stream, how), (Ok(0), vec![asked(how)]));
        assert_eq!(shut(&fresh(), DescriptorType::Listener, how), (Ok(0), vec![asked(how)]));
    }
    for (how, expected) in [(rd, vec![asked(rd)]), (wr, vec![]), (both, vec![asked(rd)])] {
        let (stream, other) = pair(SocketType::STREAM);
        assert_eq!(shut(&stream, DescriptorType::Stream, how), (Ok(0), expected));
        let at_end = crate::descriptor::is_at_end(&other);
        assert_eq!(at_end, how != rd, "{how}");
    }
    assert_eq!(shut(&fresh(), DescriptorType::Stream, 3), (Err(libc::EINVAL.into()), vec![]));
}

/// `accept` checks for a free number before it checks the socket, skips a connection that has
/// ended, and returns EINVAL at the end of a listener.
#[test]
fn accepting() {
    let accept = |program: &Fake, descriptor: &OwnedFd, kind, flags| {
        let peer = Room { value: BASE, length: BASE + 32 };
        outcome(program, &of(descriptor, kind), Call::Accept { peer, flags })
    };
    let (listener, _agent) = pair(SocketType::STREAM);
    let mut program = Fake::of(|_| Err(libc::EAGAIN)).holding(BASE + 32, &16_i32.to_ne_bytes());
    assert_eq!(accept(&program, &listener, DescriptorType::Stream, 0), Err(libc::EINVAL.into()));
    assert_eq!(accept(&program, &listener, DescriptorType::Datagram, 0), Err(libc::EOPNOTSUPP.into()));
    assert_eq!(accept(&program, &listener, DescriptorType::Listener, 1), Err(libc::EINVAL.into()));
    assert_eq!(program.asked(), []);
    set_mark(&listener, LISTENING);
    assert_eq!(accept(&program, &listener, DescriptorType::Stream, 0), Err(libc::EINVAL.into()));
    assert_eq!(program.asked().len(), 2);
    program.has_number = false;
    assert_eq!(accept(&program, &listener, DescriptorType::Datagram, 0), Err(libc::EMFILE.into()));
    program.has_number = true;
    program.agent = |_| Ok(Response::Accepted { socket: ID, peer: PEER });
    assert_eq!(accept(&program, &listener, DescriptorType::Listener, libc::SOCK_NONBLOCK), Ok(usize::MAX));
    assert_eq!(program.at(BASE, 16), &crate::address::written(PEER)[..]);
}

/// A stream's error is reported once and without a signal; after that EPIPE with a signal.
#[test]
fn failures_of_streams() {
    let (stream, _other) = pair(SocketType::STREAM);
    let socket = of(&stream, DescriptorType::Stream);
    let reset = Fake::of(|_| Ok(Response::Value(libc::ETIMEDOUT.to_ne_bytes().to_vec())));
    let told = Fake::of(|_| Ok(Response::Value(0_i32.to_ne_bytes().to_vec())));
    let nobody = Fake::of(|_| Err(libc::ENETDOWN));
    let sent = |program: &Fake, flags, error| {
        (streams::send_failure(program, &socket, flags, error), program.signals.take())
    };
    for error in [libc::EPIPE, libc::ECONNRESET] {
        assert_eq!(sent(&reset, 0, error), (libc::ETIMEDOUT.into(), 0));
        assert_eq!(sent(&told, 0, error), (libc::EPIPE.into(), 1));
        assert_eq!(sent(&told, libc::MSG_NOSIGNAL, error), (libc::EPIPE.into(), 0));
    }
    assert_eq!(sent(&nobody, 0, libc::ECONNRESET), (libc::ECONNRESET.into(), 0));
    reset.asked();
    assert_eq!(sent(&reset, 0, libc::ENOTCONN), (libc::EPIPE.into(), 1));
    assert_eq!(sent(&reset, 0, libc::EAGAIN), (libc::EAGAIN.into(), 0));
    assert_eq!(reset.asked(), []);
    let received = |program: &Fake, flags, error| streams::receive_failure(program, &socket, flags, error);
    assert_eq!(received(&reset, 0, libc::ECONNRESET), Err(libc::ETIMEDOUT.into()));
    assert_eq!(received(&told, 0, libc::ECONNRESET), Ok(0));
    assert_eq!(received(&reset, 0, libc::EINVAL), Err(libc::ENOTCONN.into()));
    assert_eq!(received(&reset, libc::MSG_OOB, libc::EINVAL), Err(libc::EINVAL.into()));
    assert_eq!(streams::end(&reset, &socket), Err(libc::ETIMEDOUT.into()));
    assert_eq!(streams::end(&nobody, &socket), Ok(0));
}

/// The first data of a stream goes with the request to connect if the call waits and has little of
/// it. Other calls connect first. Data counts as sent if a signal ends the wait.
#[test]
fn calls_that_connect_and_send() {
    use streams::Opened;
    let (unconnected, (connected, _other)) = (fresh(), pair(SocketType::STREAM));
    let [unconnected, connected] = [&unconnected, &connected].map(|fd| of(fd, DescriptorType::Stream));
    let address = crate::address::written(PEER);
    let at = BASE + 8;
    let fake = |agent| Fake::of(agent).holding(BASE, b"hello").holding(at, &address);
    let to = Given { at, length: i32::try_from(address.len()).expect("short") };
    let data = |length| [Piece { address: BASE, length }];
    let flags = libc::MSG_FASTOPEN | libc::MSG_NOSIGNAL;
    let open =
        |program: &Fake, socket, length, flags| streams::fast_open(program, socket, to, &data(length), flags);
    let request = Request::Open { socket: ID, address: PEER, octets: b"hello".to_vec() };
    let sends = fake(|_| Ok(Response::Sent));
    assert_eq!(open(&sends, &unconnected, 5, flags), Ok(Opened::Sent(5)));
    assert_eq!(sends.asked(), [request]);
    let interrupted = fake(|_| Err(libc::EINTR));
    assert_eq!(open(&interrupted, &unconnected, 5, flags), Ok(Opened::Sent(5)));
    let refused = fake(|_| Err(libc::ECONNREFUSED));
    assert_eq!(open(&refused, &unconnected, 5, flags), Err(libc::ECONNREFUSED.into()));
    // Another call has begun to connect.
    let connects = fake(|_| Ok(Response::Done));
    let then_sends = Ok(Opened::Connected(libc::MSG_NOSIGNAL));
    assert_eq!(open(&connects, &unconnected, 5, flags), then_sends);
    connects.asked();
    // Much data, none, a call that does not wait, urgent data, and a descriptor that was used.
    for (socket, length, flags) in [
        (&unconnected, resoa_protocol::FIRST + 1, flags),
        (&unconnected, 0, flags),
        (&unconnected, 5, flags | libc::MSG_DONTWAIT),
        (&unconnected, 5, flags | libc::MSG_OOB),
        (&connected, 5, flags),
    ] {
        let left = Opened::Connected(flags & !libc::MSG_FASTOPEN);
        assert_eq!(open(&connects, socket, length, flags), Ok(left), "{length} {flags}");
        let asked = connects.asked();
        assert!(matches!(asked[..], [Request::Operation { .. }]), "{asked:?}");
    }
    assert_eq!(open(&connects, &unconnected, 5, libc::MSG_NOSIGNAL), then_sends);
    assert_eq!(connects.asked(), []);
}

/// If the agent's end of a datagram socket is closed, the error is the socket's, EPIPE after a
/// shutdown, and ENETDOWN without an agent.
#[test]
fn failures_of_datagrams() {
    let (datagram, _other) = pair(SocketType::SEQPACKET);
    set_mark(&datagram, crate::datagram::CONNECTED);
    let socket = of(&datagram, DescriptorType::Datagram);
    let (data, to) = (Piece { address: BASE, length: 4 }, Given { at: 0, length: 0 });
    let send = |agent| outcome(&Fake::of(agent), &socket, Call::Send { data, flags: 0, to });
    assert_eq!(send(|_| Ok(Response::Value(0_i32.to_ne_bytes().to_vec()))), Err(libc::EPIPE.into()));
    let refused = |_: &Request| Ok(Response::Value(libc::ECONNREFUSED.to_ne_bytes().to_vec()));
    assert_eq!(send(refused), Err(libc::ECONNREFUSED.into()));
    assert_eq!(send(|_| Err(libc::ENETDOWN)), Err(libc::ENETDOWN.into()));
}

/// With several messages, the first error is returned only if no message was done before. With
/// MSG_WAITFORONE only the first message waits.
#[test]
fn several_messages() {
    let program = Fake::of(|_| Ok(Response::Done));
    let flags = RefCell::new(Vec::new());
    let run = |count, errors_at: usize, given| {
        several(&program, BASE, count, given, None, |at, now| {
            flags.borrow_mut().push(now);
            if (at - BASE) / 64 == errors_at { Err(libc::EAGAIN.into()) } else { Ok(1) }
        })
    };
    assert_eq!(run(3, 9, 0), Ok(3));
    assert_eq!(run(3, 2, 0), Ok(2));
    assert_eq!(run(3, 0, 0), Err(libc::EAGAIN.into()));
    assert_eq!(run(u32::MAX, usize::MAX, 0), Ok(1024));
    flags.take();
    assert_eq!(run(3, 9, libc::MSG_WAITFORONE), Ok(3));
    assert_eq!(flags.take(), [0, libc::MSG_DONTWAIT, libc::MSG_DONTWAIT]);
}
