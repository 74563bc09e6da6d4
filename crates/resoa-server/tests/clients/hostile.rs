//! Attacks of one client that the others do not notice.

use crate::site::{Site, Turns, policy, sending};
use resoa_protocol::lhp::LastHop;
use resoa_protocol::message::{
    AddressMode, Ancillary, Body, Call, Control, Create, Family, Operation, RsockType,
};
use resoa_protocol::server::Addresses;
use resoa_protocol::{Message, RsockId, ServerSettings, SocketCall, Target, Value, Xid};
use std::io::{ErrorKind, Read};
use std::net::{TcpListener, UdpSocket};
use std::time::Duration;

const BOTH: &str =
    "[defaults]\nallow = [\"127.0.0.1\"]\n[clients.a]\nkey = \"KEY1\"\n[clients.b]\nkey = \"KEY2\"\n";

/// Asserts that another client is served: it connects, and its data arrives.
fn goes_on(site: &mut Site, guest: usize) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("loopback");
    let socket = site.stream(guest);
    let connect = Operation::Connect(listener.local_addr().expect("is bound"));
    assert_eq!(site.call(guest, socket, connect), Ok(Value::Done));
    let mut far = listener.accept().expect("has connected").0;
    assert_eq!(site.call(guest, socket, sending(b"x".to_vec())), Ok(Value::Count(1)));
    site.far(|| far.read_exact(&mut [0]).expect("it arrives"));
}

/// C07: malformed messages end the connection, with all of its sockets. They are counted.
#[test]
fn octets_that_are_no_message() {
    let mut site = Site::new(policy(BOTH));
    let (bad, good) = (site.guest(1), site.guest(2));
    let listener = TcpListener::bind("127.0.0.1:0").expect("loopback");
    assert_eq!(site.connect(bad, listener.local_addr().expect("is bound")), Ok(Value::Done));
    let mut far = listener.accept().expect("has connected").0;
    for octets in [&b"GET / HTTP/1.1\r\n\r\n"[..], &[0xff; 70], &[0x13]] {
        let link = site.guests[bad].link;
        let _ = site.guests[bad].carrier.send(link, octets);
    }
    site.until(|site| (site.host.report().clients.len() == 1).then_some(()));
    assert_eq!(far.read(&mut [0; 1]).expect_err("RST").kind(), std::io::ErrorKind::ConnectionReset);
    assert_eq!(site.host.incidents().malformed, 1, "the rest is nobody's");
    goes_on(&mut site, good);
}

/// The server stops reading from a client that sends requests and does not receive, so that the
/// answers do not fill its memory.
#[test]
fn a_client_that_does_not_listen() {
    let mut site = Site::new(policy(BOTH));
    let (bad, good) = (site.guest(1), site.guest(2));
    // From now on nobody receives messages for the bad client.
    let crate::site::Guest { link, mut carrier, .. } = site.guests.remove(bad);
    let good = good - 1;
    // Each answer has some bytes. The carrier holds 1 MiB of them, the server a limited number of
    // messages more. Then it stops reading.
    let mut full = false;
    for number in 0..200_000 {
        let create = Some(Create { family: Family::V4, kind: RsockType::Stream });
        let operation = Operation::GetOption { level: libc::IPPROTO_TCP, name: libc::TCP_INFO, length: 256 };
        let body = Body::Request { xid: Xid(number), create, operation };
        let message = Message { target: Target::Socket(RsockId(1)), body };
        if carrier.send(link, &message.encode()) == resoa_protocol::lhp::Handed::TakenLast {
            full = true;
            break;
        }
        if number % 500 == 0 {
            site.turn();
        }
    }
    assert!(full, "the server has read everything");
    let report = site.host.report();
    assert!(report.clients.iter().any(|client| client.stopped), "{report:?}");
    goes_on(&mut site, good);
}

/// The same for a client that causes datagrams to itself. They wait in another queue than its
/// answers because they may be lost, and count as well.
#[test]
fn a_client_that_does_not_listen_to_datagrams() {
    let mut site = Site::new(policy(BOTH));
    let (bad, good) = (site.guest(1), site.guest(2));
    let far = UdpSocket::bind("127.0.0.1:0").expect("loopback");
    far.set_nonblocking(true).expect("it is ours");
    let to = Some(far.local_addr().expect("is bound"));
    let crate::site::Guest { link, mut carrier, .. } = site.guests.remove(bad);
    let good = good - 1;
    // The carrier has room for 1 MiB, which is 9200 answers of the far host. The server keeps some
    // 1024 more.
    let stopped = (0..13_000).find(|number| {
        let create = (*number == 0).then_some(Create { family: Family::V4, kind: RsockType::Datagram });
        let call = Call::Datagram { to, ancillary: Ancillary::none(), bytes: vec![1; 100] };
        let message =
            Message { target: Target::Socket(RsockId(1)), body: Body::Call { create, consumed: 0, call } };
        let _ = carrier.send(link, &message.encode());
        site.turn();
        let mut octets = [0; 200];
        while let Ok((count, from)) = far.recv_from(&mut octets) {
            far.send_to(&octets[..count], from).expect("there is room");
        }
        number % 100 == 0 && site.host.report().clients.iter().any(|client| client.stopped)
    });
    assert!(stopped.is_some(), "the server has read everything");
    goes_on(&mut site, good);
}

/// E9: a client that has fallen silent is asked whether it is there, and given up if it does not
/// answer. A client that answers stays.
#[test]
fn a_client_that_falls_silent() {
    let mut settings = ServerSettings::new(Addresses::default());
    settings.timers.watchdog = Duration::from_millis(40);
    settings.timers.reply = Duration::from_millis(40);
    let mut site = Site::with(settings, policy(BOTH));
    let (bad, good) = (site.guest(1), site.guest(2));
    let listener = TcpListener::bind("127.0.0.1:0").expect("loopback");
    assert_eq!(site.connect(bad, listener.local_addr().expect("is bound")), Ok(Value::Done));
    let mut far = listener.accept().expect("has connected").0;
    // The connection stays open, but nobody answers.
    let silent = site.guests.remove(bad);
    let good = good - 1;
    site.until(|site| (site.host.report().clients.len() == 1).then_some(()));
    assert_eq!(far.read(&mut [0; 1]).expect_err("RST").kind(), std::io::ErrorKind::ConnectionReset);
    drop(silent);
    // The other client has been asked as often, and is asked again.
    for _ in 0..100 {
        site.turn();
    }
    goes_on(&mut site, good);
}

/// The server does not read more from a client than it may have in flight. When the far host reads,
/// all of it arrives.
#[test]
fn more_than_it_may_have_under_way() {
    let text = BOTH.replace("[defaults]\n", "[defaults]\nbuffers = \"256KiB\"\nsocket-buffer = \"128KiB\"\n");
    let mut site = Site::new(policy(&text));
    let (bad, good) = (site.guest(1), site.guest(2));
    let listener = TcpListener::bind("127.0.0.1:0").expect("loopback");
    let to = listener.local_addr().expect("is bound");
    let mut far = Vec::new();
    let mut sockets = Vec::new();
    // The kernel's send buffers count as data in flight. Data in the far host's receive buffer is
    // acknowledged and does not, so that buffer is small.
    rustix::net::sockopt::set_socket_recv_buffer_size(&listener, 32 << 10).expect("small");
    for _ in 0..32 {
        let socket = site.stream(bad);
        assert_eq!(site.call(bad, socket, Operation::Connect(to)), Ok(Value::Done));
        far.push(listener.accept().expect("has connected").0);
        sockets.push(socket);
    }
    for socket in sockets {
        site.begin(bad, socket, sending(vec![7; 128 << 10]));
    }
    site.until(|site| site.host.report().clients.iter().any(|client| client.stopped).then_some(()));
    let most = |site: &Site| site.host.report().clients.iter().map(|client| client.octets_outstanding).max();
    for _ in 0..100 {
        site.turn();
    }
    // Data that the carrier had taken before the stop is still read.
    assert!(most(&site) <= Some((256 << 10) + (1 << 20)), "{:?}", most(&site));
    goes_on(&mut site, good);
    let readers: Vec<_> = far
        .into_iter()
        .map(|mut far| std::thread::spawn(move || far.read_exact(&mut vec![0; 128 << 10])))
        .collect();
    site.until(|_| readers.iter().all(std::thread::JoinHandle::is_finished).then_some(()));
    for reader in readers {
        reader.join().expect("reads").expect("all of it");
    }
    site.until(|site| site.host.report().clients.iter().all(|client| !client.stopped).then_some(()));
}

/// Far hosts that take nothing stop a client with too much in flight only for a while. Then the
/// socket with the most data outstanding is aborted, and the server reads the client's requests for
/// the other sockets, first of all the `close` of one. The client itself is not given up, however
/// long it was not read from.
#[test]
fn far_hosts_that_take_nothing() {
    let text = BOTH.replace("[defaults]\n", "[defaults]\nbuffers = \"256KiB\"\nsocket-buffer = \"128KiB\"\n");
    let mut settings = ServerSettings::new(Addresses::default());
    settings.timers.watchdog = Duration::from_millis(300);
    let mut site = Site::with(settings, policy(&text));
    let (bad, good) = (site.guest(1), site.guest(2));
    let listener = TcpListener::bind("127.0.0.1:0").expect("loopback");
    let to = listener.local_addr().expect("is bound");
    rustix::net::sockopt::set_socket_recv_buffer_size(&listener, 32 << 10).expect("small");
    let connected = |site: &mut Site| {
        let socket = site.stream(bad);
        assert_eq!(site.call(bad, socket, Operation::Connect(to)), Ok(Value::Done));
        (socket, listener.accept().expect("has connected").0)
    };
    let (idle, mut far_of_idle) = connected(&mut site);
    let stalled: Vec<_> = (0..32).map(|_| connected(&mut site)).collect();
    for &(socket, _) in &stalled {
        site.begin(bad, socket, sending(vec![7; 128 << 10]));
    }
    site.until(|site| site.host.report().clients.iter().any(|client| client.stopped).then_some(()));
    assert_eq!(site.call(bad, idle, SocketCall::Close { may_wait: true }), Ok(Value::Done));
    far_of_idle.set_nonblocking(true).expect("a socket");
    let ended = site.until(|_| match far_of_idle.read(&mut [0; 1]) {
        Err(error) if error.kind() == ErrorKind::WouldBlock => None,
        ended => Some(ended),
    });
    assert_eq!(ended.expect("FIN and no RST"), 0);
    let is_given_up = |far: &std::net::TcpStream| far.take_error().expect("a socket").is_some();
    assert!(stalled.iter().any(|(_, far)| is_given_up(far)), "something had to give");
    let report = site.host.report();
    assert_eq!((report.clients.len(), report.turned_away, report.unregistered), (2, 0, 0));
    goes_on(&mut site, good);
}

/// A client has more in flight than it may, and then its far hosts reset the connections. None of
/// the data is in flight any more, although the program has closed no socket, and the server reads
/// from the client again at once. The reason is not the end of a standstill, which aborts exactly
/// one socket: here all sockets still exist.
#[test]
fn far_hosts_that_reset() {
    let text = BOTH.replace("[defaults]\n", "[defaults]\nbuffers = \"256KiB\"\nsocket-buffer = \"128KiB\"\n");
    let mut site = Site::new(policy(&text));
    let (bad, good) = (site.guest(1), site.guest(2));
    let listener = TcpListener::bind("127.0.0.1:0").expect("loopback");
    let to = listener.local_addr().expect("is bound");
    rustix::net::sockopt::set_socket_recv_buffer_size(&listener, 32 << 10).expect("small");
    let mut stalled = Vec::new();
    for _ in 0..32 {
        let socket = site.stream(bad);
        assert_eq!(site.call(bad, socket, Operation::Connect(to)), Ok(Value::Done));
        stalled.push((socket, listener.accept().expect("has connected").0));
    }
    for &(socket, _) in &stalled {
        site.begin(bad, socket, sending(vec![7; 128 << 10]));
    }
    site.until(|site| site.host.report().clients.iter().any(|client| client.stopped).then_some(()));
    // Each far socket has unread data, so closing it sends RST.
    stalled.clear();
    let is_heard = |site: &mut Site| {
        let report = site.host.report();
        report.clients.iter().all(|client| !client.stopped && client.octets_outstanding == 0).then_some(())
    };
    site.until(is_heard);
    assert_eq!(site.host.sockets(), 32, "none was given up, and none was closed");
    goes_on(&mut site, bad);
    goes_on(&mut site, good);
}

/// Nonsensical messages of a client, before and after its registration, do not bring the server
/// down and leave no socket behind.
#[test]
fn messages_that_nobody_would_send() {
    let mut site = Site::new(policy(BOTH));
    let good = site.guest(2);
    let bad = site.comes(1, AddressMode::Any);
    let (link, create) =
        (site.guests[bad].link, Some(Create { family: Family::V6, kind: RsockType::Stream }));
    site.guests[bad].carrier.connect(link, &[]);
    site.turn();
    let register =
        Control::Register { version: 1, mode: AddressMode::Any, receive_space: u32::MAX, resume: false };
    let bodies = [
        Body::Request { xid: Xid(1), create, operation: Operation::Listen { backlog: u32::MAX } },
        Body::Control(register),
        Body::Request { xid: Xid(1), create, operation: Operation::Listen { backlog: u32::MAX } },
        Body::Request {
            xid: Xid(1),
            create,
            operation: Operation::SetOption { level: -1, name: -1, value: vec![0; 60_000] },
        },
        Body::Request {
            xid: Xid(1),
            create,
            operation: Operation::Ioctl { command: u32::MAX, argument: vec![1; 100] },
        },
        Body::Request {
            xid: Xid(1),
            create,
            operation: Operation::GetOption { level: 6, name: 11, length: u32::MAX },
        },
        Body::Control(Control::Deregister { graceful: false }),
    ];
    for _ in 0..3 {
        for body in bodies.clone() {
            for socket in [0, 1, u32::MAX] {
                let message = Message { target: Target::Socket(RsockId(socket)), body: body.clone() };
                let _ = site.guests[bad].carrier.send(link, &message.encode());
                site.turn();
            }
        }
    }
    assert_eq!(site.host.sockets(), 0);
    goes_on(&mut site, good);
}
