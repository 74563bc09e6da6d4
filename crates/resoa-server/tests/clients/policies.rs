//! The server enforces policies.

use crate::site::{Site, Turns, at, policy, sending};
use resoa_protocol::message::{AddressMode, Family, Operation, Refusal, RsockType};
use resoa_protocol::server::Addresses;
use resoa_protocol::{Errno, ReceiveFlags, Registration, ServerSettings, SocketCall, Value};
use std::io::Read;
use std::net::{TcpListener, UdpSocket};

/// The server's loopback interface is closed to clients, in every notation of its address, unless
/// the policy opens it. Connections elsewhere are unaffected (TL: guarded destinations).
#[test]
fn destinations_are_those_of_the_policy() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("loopback");
    let port = listener.local_addr().expect("is bound").port();
    let text = format!(
        "[clients.a]\nkey = \"KEY1\"\n[clients.b]\nkey = \"KEY2\"\nallow = [\"any\", \"127.0.0.1 {port}\"]\n"
    );
    let mut site = Site::new(policy(&text));
    let (closed, open) = (site.guest(1), site.guest(2));
    for written in ["127.0.0.1", "0.0.0.0", "[::ffff:127.0.0.1]", "127.9.9.9"] {
        let to = at(&format!("{written}:{port}"));
        assert_eq!(site.connect(closed, to), Err(Errno::ENETUNREACH), "{written}");
    }
    assert_eq!(site.connect(open, at(&format!("127.0.0.1:{port}"))), Ok(Value::Done));
    assert_eq!(site.connect(open, at(&format!("[::ffff:127.0.0.1]:{port}"))), Ok(Value::Done));
    assert_eq!(site.connect(open, at(&format!("127.0.0.2:{port}"))), Err(Errno::ENETUNREACH));
    assert_eq!(site.refusals(), [("loopback".to_owned(), 5)].into());
    // A socket can be used after a refusal.
    let socket = site.stream(open);
    assert_eq!(site.call(open, socket, Operation::Connect(at("127.0.0.2:9"))), Err(Errno::ENETUNREACH));
    assert_eq!(
        site.call(open, socket, Operation::Connect(at(&format!("127.0.0.1:{port}")))),
        Ok(Value::Done)
    );
}

/// Each datagram is checked.
#[test]
fn datagrams_are_asked_for() {
    let far = UdpSocket::bind("127.0.0.1:0").expect("loopback");
    let port = far.local_addr().expect("is bound").port();
    let text = format!("[clients.a]\nkey = \"KEY1\"\nallow = [\"127.0.0.1 {port}\"]\n");
    let mut site = Site::new(policy(&text));
    let guest = site.guest(1);
    let socket = site.socket(guest, Family::V4, RsockType::Datagram);
    let send = |to: &str| match sending(b"hi".to_vec()) {
        SocketCall::Send { bytes, flags, .. } => SocketCall::Send { bytes, to: Some(at(to)), flags },
        other => other,
    };
    site.call(guest, socket, send(&format!("127.0.0.1:{port}"))).expect("is taken");
    site.call(guest, socket, send("127.0.0.2:9")).expect("the error comes with the next call");
    let receive = SocketCall::Receive { length: 10, flags: ReceiveFlags::default() };
    assert_eq!(site.call(guest, socket, receive), Err(Errno::ENETUNREACH));
    let mut buffer = [0; 8];
    assert_eq!(far.recv(&mut buffer).expect("the first has come"), 2);
    assert_eq!(site.refusals(), [("loopback".to_owned(), 1)].into());
}

/// C10: both clients share an address. The port of one cannot be bound by the other, not even with
/// SO_REUSEPORT.
#[test]
fn two_clients_and_one_port() {
    let mut site = Site::new(policy(
        "address = \"127.0.0.1\"\n[clients.a]\nkey = \"KEY1\"\n[clients.b]\nkey = \"KEY2\"\n",
    ));
    let (first, second) = (site.guest(1), site.guest(2));
    let reuse = || Operation::SetOption {
        level: libc::SOL_SOCKET,
        name: libc::SO_REUSEPORT,
        value: 1_i32.to_ne_bytes().into(),
    };
    let bound = site.stream(first);
    assert_eq!(site.call(first, bound, reuse()), Ok(Value::Done));
    assert_eq!(site.call(first, bound, Operation::Bind(at("0.0.0.0:0"))), Ok(Value::Done));
    let Ok(Value::Address(name)) = site.call(first, bound, SocketCall::LocalName) else { panic!("is bound") };
    assert_eq!(site.call(first, bound, Operation::Listen { backlog: 5 }), Ok(Value::Done));
    let other = site.stream(second);
    assert_eq!(site.call(second, other, reuse()), Ok(Value::Done));
    assert_eq!(site.call(second, other, Operation::Bind(name)), Err(Errno::EADDRINUSE));
    // The kernel would have let it: the first client's own second socket may.
    let own = site.stream(first);
    assert_eq!(site.call(first, own, reuse()), Ok(Value::Done));
    assert_eq!(site.call(first, own, Operation::Bind(name)), Ok(Value::Done));
    for socket in [bound, own] {
        assert_eq!(site.call(first, socket, SocketCall::Close { may_wait: true }), Ok(Value::Done));
    }
    site.until(|site| (site.host.sockets() == 1).then_some(()));
    assert_eq!(site.call(second, other, Operation::Bind(name)), Ok(Value::Done));
}

/// C10: a port that the kernel has chosen for one client cannot be bound by another, even if both
/// share theirs. This holds for a socket that has sent a datagram or is connected.
#[test]
fn two_clients_and_a_chosen_port() {
    let mut site = Site::new(policy(
        "address = \"127.0.0.1\"\n[defaults]\nallow = [\"127.0.0.1\"]\n[clients.a]\nkey = \"KEY1\"\n[clients.b]\nkey = \"KEY2\"\n",
    ));
    let (first, second) = (site.guest(1), site.guest(2));
    let sharing = |site: &mut Site, guest, kind| {
        let socket = site.socket(guest, Family::V4, kind);
        for name in [libc::SO_REUSEADDR, libc::SO_REUSEPORT] {
            let value = 1_i32.to_ne_bytes().into();
            let set = Operation::SetOption { level: libc::SOL_SOCKET, name, value };
            assert_eq!(site.call(guest, socket, set), Ok(Value::Done));
        }
        socket
    };
    let listener = TcpListener::bind("127.0.0.1:0").expect("loopback");
    let far = UdpSocket::bind("127.0.0.1:0").expect("loopback");
    let heard = || far.recv_from(&mut [0; 8]).expect("comes").1;

    let sends = sharing(&mut site, first, RsockType::Datagram);
    let send = |to| match sending(b"hi".to_vec()) {
        SocketCall::Send { bytes, flags, .. } => SocketCall::Send { bytes, to, flags },
        other => other,
    };
    let to = far.local_addr().expect("is bound");
    site.call(first, sends, send(Some(to))).expect("is taken");
    let from = site.far(heard);
    let connected = sharing(&mut site, first, RsockType::Datagram);
    assert_eq!(site.call(first, connected, Operation::Connect(to)), Ok(Value::Done));
    site.call(first, connected, send(None)).expect("is taken");
    let from_connected = site.far(heard);
    let stream = sharing(&mut site, first, RsockType::Stream);
    let to = listener.local_addr().expect("is bound");
    assert_eq!(site.call(first, stream, Operation::Connect(to)), Ok(Value::Done));
    let from_stream = listener.accept().expect("has connected").1;

    for (kind, own, name) in [
        (RsockType::Datagram, sends, from),
        (RsockType::Datagram, connected, from_connected),
        (RsockType::Stream, stream, from_stream),
    ] {
        let thief = sharing(&mut site, second, kind);
        assert_eq!(site.call(second, thief, Operation::Bind(name)), Err(Errno::EADDRINUSE), "{kind:?}");
        if kind == RsockType::Datagram {
            // With the socket, the port goes.
            assert_eq!(site.call(first, own, SocketCall::Close { may_wait: true }), Ok(Value::Done));
            site.until(|site| {
                (site.call(second, thief, Operation::Bind(name)) == Ok(Value::Done)).then_some(())
            });
        }
    }
}

/// The policy limits the number of clients, also above the default of the settings. After a reload,
/// another client may connect.
#[test]
fn as_many_as_the_policy_says() {
    let clients = |most: usize| {
        let keys = [1, 2, 3].map(|who| format!("[clients.c{who}]\nkey = \"KEY{who}\"\n")).concat();
        policy(&format!("clients-at-a-time = {most}\n{keys}"))
    };
    let mut site =
        Site::with(ServerSettings { clients: 1, ..ServerSettings::new(Addresses::default()) }, clients(2));
    let comes = |site: &mut Site, who| {
        let guest = site.comes(who, AddressMode::Any);
        site.at(guest, |client, _, out| client.start(out));
        site.until(|site| site.guests[guest].registration.is_some().then_some(()));
        matches!(site.guests[guest].registration, Some(Registration::Registered(_)))
    };
    assert!(comes(&mut site, 1) && comes(&mut site, 2));
    assert!(!comes(&mut site, 3), "there is no room");
    site.host.reload(clients(3));
    assert!(comes(&mut site, 3), "now there is");
    site.host.reload(clients(1));
    let report = site.host.report();
    assert_eq!(
        report.clients.iter().filter(|client| client.address.is_some()).count(),
        3,
        "who is here stays"
    );
}

/// C05: the same socket number at two clients means two sockets, each with its own data.
#[test]
fn equal_numbers_at_two_clients() {
    let mut site = Site::new(policy(
        "[defaults]\nallow = [\"127.0.0.1\"]\n[clients.a]\nkey = \"KEY1\"\n[clients.b]\nkey = \"KEY2\"\n",
    ));
    let guests = [site.guest(1), site.guest(2)];
    let listener = TcpListener::bind("127.0.0.1:0").expect("loopback");
    let to = listener.local_addr().expect("is bound");
    let mut far = Vec::new();
    for guest in guests {
        let socket = site.stream(guest);
        assert_eq!(socket, resoa_protocol::RsockId(1));
        assert_eq!(site.call(guest, socket, Operation::Connect(to)), Ok(Value::Done));
        far.push(listener.accept().expect("has connected").0);
        let bytes = vec![guest as u8; 100];
        assert_eq!(site.call(guest, socket, sending(bytes)), Ok(Value::Count(100)));
        assert_eq!(site.call(guest, socket, SocketCall::Close { may_wait: true }), Ok(Value::Done));
    }
    for (guest, far) in guests.into_iter().zip(&mut far) {
        let mut octets = [0; 100];
        site.far(|| far.read_exact(&mut octets).expect("all of it"));
        assert_eq!(octets, [guest as u8; 100]);
    }
}

/// C09, C11: addresses of the policy: one client has its own, the other the shared one.
#[test]
fn addresses_of_the_policy() {
    let text = "address = \"127.0.0.1\"\n[defaults]\nallow = [\"127.0.0.0/8\"]\n\
                [clients.a]\nkey = \"KEY1\"\naddress = \"127.0.0.7\"\n[clients.b]\nkey = \"KEY2\"\n";
    let mut site = Site::new(policy(text));
    let listener = TcpListener::bind("127.0.0.1:0").expect("loopback");
    let to = listener.local_addr().expect("is bound");
    for (who, own) in [(1, "127.0.0.7"), (2, "127.0.0.1")] {
        let guest = site.guest(who);
        assert_eq!(site.connect(guest, to), Ok(Value::Done));
        assert_eq!(listener.accept().expect("has connected").1.ip().to_string(), own);
    }
    let stranger = site.comes(3, AddressMode::Any);
    site.at(stranger, |client, _, out| client.start(out));
    site.until(|site| (site.host.incidents().turned_away == 1).then_some(()));
    assert!(!matches!(site.guests[stranger].registration, Some(Registration::Registered(_))));
}

/// A client may not bring an address that the policy has not given to it.
#[test]
fn an_address_of_somebody_else() {
    let mut site = Site::new(policy("[clients.a]\nkey = \"KEY1\"\nbrings = [\"203.0.113.9\"]\n"));
    let guest = site.comes(1, AddressMode::Brought([203, 0, 113, 10].into()));
    site.at(guest, |client, _, out| client.start(out));
    site.until(|site| site.guests[guest].registration.is_some().then_some(()));
    let registration = site.guests[guest].registration.clone();
    assert!(matches!(&registration, Some(Registration::Refused(Refusal::Mode(_)))), "{registration:?}");
}

/// A client that is removed from the policy is disconnected at once, with RST for the far host.
/// Another client's permissions change.
#[test]
fn the_policy_is_read_again() {
    let text =
        "[defaults]\nallow = [\"127.0.0.1\"]\n[clients.a]\nkey = \"KEY1\"\n[clients.b]\nkey = \"KEY2\"\n";
    let mut site = Site::new(policy(text));
    let (stays, goes) = (site.guest(1), site.guest(2));
    let listener = TcpListener::bind("127.0.0.1:0").expect("loopback");
    let to = listener.local_addr().expect("is bound");
    assert_eq!(site.connect(goes, to), Ok(Value::Done));
    let mut far = listener.accept().expect("has connected").0;
    assert_eq!(site.connect(stays, to), Ok(Value::Done));
    site.host.reload(policy("[clients.a]\nkey = \"KEY1\"\n"));
    let error = far.read(&mut [0; 1]).expect_err("RST");
    assert_eq!(error.kind(), std::io::ErrorKind::ConnectionReset);
    assert_eq!(site.connect(stays, to), Err(Errno::ENETUNREACH), "not any more");
    assert_eq!(site.host.report().clients.len(), 1);
}
