//! Datagrams, and look-ups.

use crate::rig::{HERE, Program, Rig, until_polled};
use resoa_calls::datagram::{BESIDE, CONNECTED, FRONT, TELLS, header, read_slip, received, said, split};
use resoa_calls::{Request, Response, descriptor};
use resoa_protocol::message::{Ancillary, Family, Operation, Query};
use rustix::event::PollFlags;
use std::net::{SocketAddr, UdpSocket};

impl Rig {
    fn connect_datagrams(&self, program: &Program, address: Option<SocketAddr>) {
        let operation = address.map_or(Operation::Disconnect, Operation::Connect);
        let request = Request::operation(program.id, operation);
        assert_eq!(self.call(&request, Some(&program.fd)), Response::Done);
    }
}

fn far() -> (UdpSocket, SocketAddr) {
    let far = UdpSocket::bind((HERE, 0)).expect("loopback");
    far.set_read_timeout(Some(crate::rig::PATIENCE)).expect("is a socket");
    let address = far.local_addr().expect("is bound");
    (far, address)
}

fn receive(program: &Program) -> Vec<u8> {
    let mut octets = vec![0; 70_000];
    let (count, _) =
        rustix::net::recv(&program.fd, &mut octets[..], rustix::net::RecvFlags::empty()).expect("is open");
    octets.truncate(count);
    octets
}

fn heard(far: &UdpSocket) -> (Vec<u8>, SocketAddr) {
    let mut octets = vec![0; 70_000];
    let (count, from) = far.recv_from(&mut octets).expect("one comes");
    octets.truncate(count);
    (octets, from)
}

/// C91: datagrams arrive whole and with their addresses, also empty ones and those of maximum
/// length. Each names its destination, or `connect` does.
#[test]
fn datagrams_with_addresses_and_without() {
    let rig = Rig::new();
    let program = rig.socket(libc::SOCK_DGRAM);
    assert_eq!(program.polled(), PollFlags::OUT);
    let (first, at_first) = far();
    let (second, at_second) = far();
    let mut from = None;
    for (far, address, octets) in
        [(&first, at_first, vec![1; 5]), (&second, at_second, vec![2; 65_507]), (&first, at_first, vec![])]
    {
        let packet = [&header(Some(address))[..], &octets].concat();
        assert_eq!(rustix::io::write(&program.fd, &packet), Ok(packet.len()));
        let (found, source) = heard(far);
        assert!(found == octets, "{} octets came", found.len());
        assert_eq!(*from.get_or_insert(source), source, "one socket has one address");
        far.send_to(&octets, source).expect("it is there");
        let back = receive(&program);
        assert_eq!(split(&back), Some((Some(address), Ancillary::none(), &octets[..])));
    }
    // A datagram that waits during the `connect` loses its address in front.
    first.send_to(b"early", from.expect("known")).expect("it is there");
    until_polled(&program.fd, PollFlags::IN | PollFlags::OUT);
    rig.connect_datagrams(&program, Some(at_second));
    assert_eq!(rig.call(&Request::PeerName(program.id), None), Response::Address(at_second));
    assert_eq!(receive(&program), b"early");
    program.write(b"to the second");
    let (octets, source) = heard(&second);
    assert_eq!(octets, b"to the second");
    second.send_to(b"back", source).expect("it is there");
    assert_eq!(receive(&program), b"back");
    rustix::net::send(&program.fd, b"", rustix::net::SendFlags::empty()).expect("is connected");
    assert_eq!(heard(&second).0, b"");
    second.send_to(b"late", source).expect("it is there");
    until_polled(&program.fd, PollFlags::IN | PollFlags::OUT);
    rig.connect_datagrams(&program, None);
    assert_eq!(split(&receive(&program)), Some((Some(at_second), Ancillary::none(), &b"late"[..])));
    drop(program);
    rig.nothing_is_left();
}

/// Receives a datagram. Returns its source, as the slip beside it says, and its payload.
fn received_beside(program: &Program) -> (Option<SocketAddr>, Vec<u8>) {
    use rustix::net::{RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, recvmsg};
    let (mut octets, mut space) = ([0; 100], [std::mem::MaybeUninit::uninit(); 64]);
    let mut beside = RecvAncillaryBuffer::new(&mut space);
    let pieces = &mut [std::io::IoSliceMut::new(&mut octets)];
    let count = recvmsg(&program.fd, pieces, &mut beside, RecvFlags::empty()).expect("is open").bytes;
    let file = beside.drain().find_map(|message| match message {
        RecvAncillaryMessage::ScmRights(mut descriptors) => descriptors.next(),
        _ => None,
    });
    (file.and_then(read_slip).map(|(from, _)| from), octets[..count].to_vec())
}

/// C91: if calls that read are not intercepted, a plain `read` returns only the payload. Address
/// and control messages are beside it.
#[test]
fn told_beside() {
    let rig = Rig::new();
    let program = rig.unseen(libc::SOCK_DGRAM);
    assert_eq!(descriptor::mark(&program.fd), BESIDE);
    let ((first, at_first), (second, at_second)) = (far(), far());
    program.write(&[&header(Some(at_first))[..], b"hello"].concat());
    let (_, source) = heard(&first);
    for (far, octets) in [(&first, &b"read"[..]), (&second, b"two"), (&second, b"three")] {
        far.send_to(octets, source).expect("it is there");
    }
    assert_eq!(receive(&program), b"read");
    assert_eq!(received_beside(&program), (Some(at_second), b"two".to_vec()));
    until_polled(&program.fd, PollFlags::IN | PollFlags::OUT);
    rig.connect_datagrams(&program, Some(at_first));
    assert_eq!(descriptor::mark(&program.fd), BESIDE | CONNECTED);
    // The waiting datagram did not come from the peer.
    assert_eq!(received_beside(&program), (Some(at_second), b"three".to_vec()));
    first.send_to(b"of the peer", source).expect("it is there");
    assert_eq!(received_beside(&program), (None, b"of the peer".to_vec()));
    set(&rig, &program, libc::IPPROTO_IP, libc::IP_RECVTOS);
    first.send_to(b"told", source).expect("it is there");
    assert_eq!(received_beside(&program), (Some(at_first), b"told".to_vec()));
    first.send_to(b"read", source).expect("it is there");
    assert_eq!(receive(&program), b"read");
    drop(program);
    rig.nothing_is_left();
}

/// Sets an option as an interposer does, with the descriptor passed along.
fn set(rig: &Rig, program: &Program, level: i32, name: i32) {
    let value = 1_i32.to_ne_bytes().to_vec();
    let request = Request::operation(program.id, Operation::SetOption { level, name, value });
    let answer = rig.call(&request, Some(&program.fd));
    assert!(matches!(answer, Response::Done | Response::Value(_)), "{answer:?}");
}

/// Level, type and value of each control message.
type Records = Vec<(u8, u8, Vec<u8>)>;

/// Receives a datagram of a program that wants control messages. Returns its source, the control
/// messages, and the payload.
fn told(program: &Program) -> (SocketAddr, Records, Vec<u8>) {
    let octets = receive(program);
    let (from, ancillary) = received(TELLS, &octets[..FRONT]).expect("it is there");
    let records = ancillary.records().map(|record| (record.level, record.kind, record.value.to_vec()));
    (from.expect("somebody"), records.collect(), octets[FRONT..].to_vec())
}

/// C91, RFC 3542: control messages that one program sends arrive at another through the far host's
/// network, connected or not. Datagrams that wait while the options are set are converted.
#[test]
fn control_messages() {
    let rig = Rig::new();
    let [one, other] = [(); 2].map(|()| rig.socket(libc::SOCK_DGRAM));
    let names = [&one, &other].map(|program| {
        let bind = Request::operation(program.id, Operation::Bind((HERE, 0).into()));
        assert!(matches!(rig.call(&bind, None), Response::Done | Response::Address(_)));
        match rig.call(&Request::LocalName(program.id), None) {
            Response::Address(name) => name,
            other => panic!("{other:?}"),
        }
    });
    let [at_one, at_other] = names;
    one.write(&[&header(Some(at_other))[..], b"before"].concat());
    until_polled(&other.fd, PollFlags::IN | PollFlags::OUT);
    set(&rig, &other, libc::IPPROTO_IP, libc::IP_RECVTOS);
    set(&rig, &other, libc::SOL_SOCKET, libc::SO_TIMESTAMPNS);
    assert_eq!(told(&other), (at_one, Vec::new(), b"before".to_vec()));

    let tos = Ancillary::read(&[0, libc::IP_TOS as u8, 1, 0x2e]).expect("a record");
    one.write(&[&said(at_other, &tos)[..], b"beside"].concat());
    let (from, records, octets) = told(&other);
    assert_eq!((from, octets), (at_one, b"beside".to_vec()));
    assert_eq!(records[1..], [(0, libc::IP_TOS as u8, vec![0x2e])]);
    let (level, kind, time) = &records[0];
    assert_eq!((*level, *kind), (libc::SOL_SOCKET as u8, libc::SO_TIMESTAMPNS as u8));
    let word = |at: usize| time[at..].first_chunk().map_or(0, |octets| u64::from_ne_bytes(*octets));
    // Later than this was written, and a valid fraction of a second.
    assert!(word(0) > 1_700_000_000 && word(8) < 1_000_000_000, "{time:?}");

    // On a connected socket, a datagram with control messages cannot go over the descriptor; one
    // without can.
    rig.connect_datagrams(&other, Some(at_one));
    rig.connect_datagrams(&one, Some(at_other));
    let ancillary = tos.octets().to_vec();
    let request =
        Request::SendTo { socket: one.id, address: None, ancillary, octets: b"apart".to_vec(), more: false };
    one.write(b"first");
    assert_eq!(rig.call(&request, None), Response::Done);
    for (expected, tos) in [(&b"first"[..], 0), (b"apart", 0x2e)] {
        let (from, records, octets) = told(&other);
        assert_eq!((from, &octets[..], &records[1].2[..]), (at_one, expected, &[tos][..]));
    }
    other.write(b"back");
    assert_eq!(receive(&one), b"back");
    // The server reports errors of valid control messages later. Invalid ones are refused at once.
    let wrong = Request::SendTo {
        socket: one.id,
        address: None,
        ancillary: vec![0, 1],
        octets: Vec::new(),
        more: false,
    };
    assert_eq!(rig.call(&wrong, None), Response::Failed(libc::EINVAL));
    drop((one, other));
    rig.nothing_is_left();
}

/// C91: parts of a datagram leave as one, to the destination of the first, whether the last one is
/// on the descriptor or not. So does data written while UDP_CORK is set.
#[test]
fn datagrams_of_several_parts() {
    let rig = Rig::new();
    let program = rig.socket(libc::SOCK_DGRAM);
    let ((one, to_one), (_two, to_two)) = (far(), far());
    let part = |to, octets: &[u8], more| {
        let octets = octets.to_vec();
        let request =
            Request::SendTo { socket: program.id, address: to, ancillary: Vec::new(), octets, more };
        rig.call(&request, None)
    };
    assert_eq!(part(None, b"x", true), Response::Failed(libc::EDESTADDRREQ));
    program.write(&[&header(Some(to_one))[..], b"before"].concat());
    assert_eq!(part(Some(to_one), b"one ", true), Response::Done);
    assert_eq!(part(Some(to_two), b"two ", true), Response::Done);
    program.write(&[&header(Some(to_two))[..], b"three"].concat());
    assert_eq!(part(Some(to_one), b"one ", true), Response::Done);
    assert_eq!(part(None, b"two", false), Response::Done);
    for expected in [&b"before"[..], b"one two three", b"one two"] {
        assert_eq!(heard(&one).0, expected);
    }
    assert_eq!(part(Some(to_one), &vec![0; 65_000], true), Response::Done);
    assert_eq!(part(None, &[0; 508], true), Response::Failed(libc::EMSGSIZE));

    rig.connect_datagrams(&program, Some(to_one));
    program.write(b"first");
    rig.set_option(&program, libc::SOL_UDP, libc::UDP_CORK, &[1]);
    program.write(b"a");
    program.write(b"b");
    rig.set_option(&program, libc::SOL_UDP, libc::UDP_CORK, &[0]);
    program.write(b"last");
    for expected in [&b"first"[..], b"ab", b"last"] {
        assert_eq!(heard(&one).0, expected);
    }
    // A datagram that is incomplete at the close is not sent.
    assert_eq!(part(None, b"never", true), Response::Done);
    drop(program);
    rig.nothing_is_left();
}

/// C91: a program that waits for a datagram learns that nobody listens at a port: it gets a packet
/// with a descriptor, once for each error. SO_ERROR returns the error.
#[test]
fn errors_come_among_datagrams() {
    use rustix::net::{RecvAncillaryBuffer, RecvFlags, recvmsg};
    let rig = Rig::new();
    let program = rig.socket(libc::SOCK_DGRAM);
    let (nobody, address) = far();
    drop(nobody);
    rig.connect_datagrams(&program, Some(address));
    let error = Request::operation(
        program.id,
        Operation::GetOption { level: libc::SOL_SOCKET, name: libc::SO_ERROR, length: 4 },
    );
    for _ in 0..2 {
        program.write(b"x");
        until_polled(&program.fd, PollFlags::IN | PollFlags::OUT);
        let mut space = [std::mem::MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
        let mut beside = RecvAncillaryBuffer::new(&mut space);
        let found = recvmsg(&program.fd, &mut [], &mut beside, RecvFlags::DONTWAIT).expect("it is there");
        assert_eq!((found.bytes, beside.drain().count()), (0, 1));
        assert_eq!(program.polled(), PollFlags::OUT);
        assert_eq!(rig.call(&error, None), Response::Value(libc::ECONNREFUSED.to_ne_bytes().to_vec()));
        assert_eq!(rig.call(&error, None), Response::Value(0_i32.to_ne_bytes().to_vec()));
    }
    drop(program);
    rig.nothing_is_left();
}

/// C91: datagrams that a program sends before it closes are sent.
#[test]
fn datagrams_before_the_end() {
    let rig = Rig::new();
    let (far, address) = far();
    for _ in 0..20 {
        let program = rig.socket(libc::SOCK_DGRAM | libc::SOCK_NONBLOCK);
        for number in 0..3_u8 {
            program.write(&[&header(Some(address))[..], &[number]].concat());
        }
        drop(program);
        for number in 0..3 {
            assert_eq!(heard(&far).0, [number]);
        }
    }
    // Also more of them than there is room for (SO_SNDBUF).
    let program = rig.socket(libc::SOCK_DGRAM);
    rig.set_option(&program, libc::SOL_SOCKET, libc::SO_SNDBUF, &[1]);
    let datagram = |number| [number; 1000];
    for number in 0..40 {
        program.write(&[&header(Some(address))[..], &datagram(number)].concat());
    }
    drop(program);
    for number in 0..40 {
        assert_eq!(heard(&far).0, datagram(number));
    }
    rig.nothing_is_left();
}

/// C91: directions of a connected socket can be shut down, and the socket stays until it is closed.
#[test]
fn datagrams_that_are_shut() {
    let rig = Rig::new();
    let (far, address) = far();
    let flags = rustix::net::SendFlags::NOSIGNAL;
    // Without a peer it fails, but takes effect nevertheless (`inet_shutdown`).
    let other = rig.socket(libc::SOCK_DGRAM);
    let shut = Request::Shutdown { socket: other.id, how: libc::SHUT_RDWR };
    assert_eq!(rig.call(&shut, None), Response::Failed(libc::ENOTCONN));
    assert_eq!(rustix::net::send(&other.fd, b"x", flags), Err(rustix::io::Errno::PIPE));
    let program = rig.socket(libc::SOCK_DGRAM);
    let shut = Request::Shutdown { socket: program.id, how: libc::SHUT_RDWR };
    rig.connect_datagrams(&program, Some(address));
    program.write(b"one");
    assert_eq!(heard(&far).0, b"one");
    assert_eq!(rig.call(&shut, None), Response::Done);
    assert_eq!(receive(&program), b"");
    assert_eq!(rustix::net::send(&program.fd, b"x", flags), Err(rustix::io::Errno::PIPE));
    assert_eq!(rig.status().open, 2);
    drop((program, other));
    rig.nothing_is_left();
}

/// C31, C38: the first datagram gives the socket an address, which can be read, and which `bind`
/// cannot change.
#[test]
fn datagrams_give_an_address() {
    let rig = Rig::new();
    let (far, address) = far();
    let program = rig.socket(libc::SOCK_DGRAM);
    assert_eq!(rig.call(&Request::LocalName(program.id), None), Response::Address(([0, 0, 0, 0], 0).into()));
    program.write(&[&header(Some(address))[..], b"x"].concat());
    let Response::Address(name) = rig.call(&Request::LocalName(program.id), None) else { panic!("a name") };
    assert_eq!(heard(&far).1.port(), name.port());
    let bind = Request::operation(program.id, Operation::Bind((HERE, 0).into()));
    assert_eq!(rig.call(&bind, None), Response::Failed(libc::EINVAL));
    drop(program);
    rig.nothing_is_left();
}

/// C38, C91: so does the first datagram after the socket was connected and disconnected.
#[test]
fn datagrams_give_an_address_again() {
    let rig = Rig::new();
    let (far, address) = far();
    let program = rig.socket(libc::SOCK_DGRAM);
    let name = || rig.call(&Request::LocalName(program.id), None);
    rig.connect_datagrams(&program, Some(address));
    rig.connect_datagrams(&program, None);
    assert_eq!(name(), Response::Address(([0, 0, 0, 0], 0).into()));
    program.write(&[&header(Some(address))[..], b"x"].concat());
    let Response::Address(named) = name() else { panic!("a name") };
    assert_eq!(heard(&far).1.port(), named.port());
    drop(program);
    rig.nothing_is_left();
}

/// C49: the server looks up names.
#[test]
fn names_are_the_servers() {
    let rig = Rig::new();
    let host = Query::Host { host: "192.0.2.7".into(), service: "80".into(), family: Some(Family::V4) };
    let found = rig.call(&Request::Resolve(host), None);
    assert_eq!(found, Response::Hosts(vec![([192, 0, 2, 7], 80).into()]));
}
