//! Unrequested traffic to a client: connections and datagrams, as far as its policy admits them.

use crate::guest::PATIENCE;
use crate::site::{Site, Turns, at, policy, sending};
use resoa_protocol::message::{Family, Operation, RsockType};
use resoa_protocol::{Errno, ReceiveFlags, RsockId, SocketCall, Value};
use rustix::net::sockopt;
use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpStream, UdpSocket};

fn send(site: &mut Site, guest: usize, socket: RsockId, to: Option<SocketAddr>) {
    let call = match sending(b"asks".to_vec()) {
        SocketCall::Send { bytes, flags, .. } => SocketCall::Send { bytes, to, flags },
        other => other,
    };
    assert_eq!(site.call(guest, socket, call), Ok(Value::Count(4)));
}

/// Receives the next datagram and its sender.
fn received(site: &mut Site, guest: usize, socket: RsockId) -> (Vec<u8>, Option<SocketAddr>) {
    match site.call(guest, socket, SocketCall::Receive { length: 100, flags: ReceiveFlags::default() }) {
        Ok(Value::Datagram { bytes, from, .. }) => (bytes, Some(from)),
        Ok(Value::Bytes(bytes)) => (bytes, None),
        other => panic!("{other:?}"),
    }
}

/// Binds a socket to a port that the kernel chooses, and returns the port.
fn bound(site: &mut Site, guest: usize, socket: RsockId, to: &str) -> u16 {
    assert_eq!(site.call(guest, socket, Operation::Bind(at(to))), Ok(Value::Done));
    match site.call(guest, socket, SocketCall::LocalName) {
        Ok(Value::Address(local)) => local.port(),
        other => panic!("{other:?}"),
    }
}

/// Starts to listen. LISTEN has no answer, so the next call with an answer shows that the server
/// has it.
fn listens(site: &mut Site, guest: usize, socket: RsockId) {
    assert_eq!(site.call(guest, socket, Operation::Listen { backlog: 5 }), Ok(Value::Done));
    let option = Operation::GetOption { level: libc::IPPROTO_TCP, name: libc::TCP_INFO, length: 8 };
    assert!(matches!(site.call(guest, socket, option), Ok(Value::Option(_))));
}

/// Asserts that the client may not listen; the next call returns the error.
fn may_not_listen(site: &mut Site, guest: usize, socket: RsockId) {
    assert_eq!(site.call(guest, socket, Operation::Listen { backlog: 5 }), Ok(Value::Done));
    assert_eq!(site.call(guest, socket, SocketCall::Accept), Err(Errno::EACCES));
}

fn far(address: &str) -> UdpSocket {
    UdpSocket::bind((address.parse::<Ipv4Addr>().expect("an address"), 0)).expect("loopback")
}

/// Connects from an address. Returns the data that the program sends, or nothing if the connection
/// fails.
fn comes(from: &str, to: SocketAddr) -> Vec<u8> {
    let socket = rustix::net::socket(rustix::net::AddressFamily::INET, rustix::net::SocketType::STREAM, None)
        .expect("a descriptor");
    rustix::net::bind(&socket, &at(&format!("{from}:0"))).expect("loopback");
    let mut octets = Vec::new();
    if rustix::net::connect(&socket, &to).is_ok() {
        let mut stream = TcpStream::from(socket);
        stream.set_read_timeout(Some(PATIENCE / 2)).expect("is a socket");
        // This has no effect on a connection that was reset.
        let _ = stream.write_all(b"x");
        if stream.read_to_end(&mut octets).is_err() {
            octets.clear();
        }
    }
    octets
}

/// Without `listen`, a client receives datagrams only from addresses that it has sent to or is
/// connected to, and no connections at all.
#[test]
fn who_may_not_listen_hears_answers_alone() {
    let mut site = Site::new(policy(
        "address = \"127.0.0.1\"\n[clients.a]\nkey = \"KEY1\"\nallow = [\"127.0.0.0/8\"]\nlisten = false\n",
    ));
    let guest = site.guest(1);
    let stream = site.stream(guest);
    bound(&mut site, guest, stream, "0.0.0.0:0");
    may_not_listen(&mut site, guest, stream);
    let (friend, stranger) = (far("127.0.0.2"), far("127.0.0.3"));
    for connected in [false, true] {
        let socket = site.socket(guest, Family::V4, RsockType::Datagram);
        let to = (Ipv4Addr::LOCALHOST, bound(&mut site, guest, socket, "0.0.0.0:0"));
        // These arrive before the client has sent anything.
        friend.send_to(b"unasked", to).expect("loopback");
        stranger.send_to(b"unasked", to).expect("loopback");
        let before = site.refusals().get("listen").copied().unwrap_or_default();
        site.until(|site| (site.refusals().get("listen").copied() >= Some(before.max(1) + 1)).then_some(()));
        let asked = friend.local_addr().expect("is bound");
        if connected {
            assert_eq!(site.call(guest, socket, Operation::Connect(asked)), Ok(Value::Done));
            send(&mut site, guest, socket, None);
        } else {
            send(&mut site, guest, socket, Some(asked));
        }
        site.far(|| friend.recv(&mut [0; 9]).expect("comes"));
        stranger.send_to(b"unasked", to).expect("loopback");
        friend.send_to(b"answer", to).expect("loopback");
        assert_eq!(received(&mut site, guest, socket).0, b"answer");
    }
}

/// `accept-from` defines the networks that may connect and send unrequested datagrams.
#[test]
fn networks_that_may_come_in() {
    let mut site = Site::new(policy(
        "address = \"127.0.0.1\"\n[clients.a]\nkey = \"KEY1\"\nallow = [\"127.0.0.0/8\"]\naccept-from = [\"127.0.1.0/24\"]\n",
    ));
    let guest = site.guest(1);
    let listener = site.stream(guest);
    let to = SocketAddr::from((Ipv4Addr::LOCALHOST, bound(&mut site, guest, listener, "0.0.0.0:0")));
    listens(&mut site, guest, listener);
    assert_eq!(site.far(|| comes("127.0.0.3", to)), b"", "it is reset");
    assert_eq!(site.refusals(), [("accept_from".to_owned(), 1)].into());
    let served = site.begin(guest, listener, SocketCall::Accept);
    std::thread::scope(|scope| {
        let friend = scope.spawn(|| comes("127.0.1.3", to));
        let Ok(Value::Accepted { socket, .. }) = site.until(|site| site.ended(guest, served)) else {
            panic!("it may come")
        };
        assert_eq!(site.call(guest, socket, sending(b"served".to_vec())), Ok(Value::Count(6)));
        let receive = SocketCall::Receive { length: 9, flags: ReceiveFlags::default() };
        assert_eq!(site.call(guest, socket, receive), Ok(Value::Bytes(b"x".to_vec())));
        assert_eq!(site.call(guest, socket, SocketCall::Close { may_wait: true }), Ok(Value::Done));
        site.until(|_| friend.is_finished().then_some(()));
        assert_eq!(friend.join().expect("reads to the end"), b"served");
    });
    let socket = site.socket(guest, Family::V4, RsockType::Datagram);
    let to = (Ipv4Addr::LOCALHOST, bound(&mut site, guest, socket, "0.0.0.0:0"));
    far("127.0.0.3").send_to(b"stranger", to).expect("loopback");
    far("127.0.1.3").send_to(b"friend", to).expect("loopback");
    assert_eq!(received(&mut site, guest, socket).0, b"friend");
    assert_eq!(site.refusals(), [("accept_from".to_owned(), 2)].into());
}

/// A socket bound to the unspecified address is not reachable over the host's loopback interface,
/// unless the policy opens that port there.
#[test]
fn any_address_is_not_the_loopback() {
    let mut site = Site::new(policy("[clients.a]\nkey = \"KEY1\"\n"));
    let guest = site.guest(1);
    let listener = site.stream(guest);
    let port = bound(&mut site, guest, listener, "0.0.0.0:0");
    listens(&mut site, guest, listener);
    assert_eq!(site.far(|| comes("127.0.0.1", (Ipv4Addr::LOCALHOST, port).into())), b"", "it is reset");
    let socket = site.socket(guest, Family::V4, RsockType::Datagram);
    let to = (Ipv4Addr::LOCALHOST, bound(&mut site, guest, socket, "0.0.0.0:0"));
    far("127.0.0.1").send_to(b"within", to).expect("loopback");
    site.until(|site| (site.refusals() == [("loopback".to_owned(), 2)].into()).then_some(()));
    // A port that the kernel chooses on the loopback interface may be the source of connections,
    // but not a listener.
    let mut site = Site::new(policy("[clients.a]\nkey = \"KEY1\"\nallow = [\"any\", \"127.0.0.1 8080\"]\n"));
    let guest = site.guest(1);
    let listener = site.stream(guest);
    bound(&mut site, guest, listener, "127.0.0.1:0");
    may_not_listen(&mut site, guest, listener);
}

/// A client does not receive a multicast group that another process of the host has joined. It may
/// join the group only if its policy has the group.
#[test]
fn groups_of_the_host() {
    let group = Ipv4Addr::new(239, 1, 2, 3);
    let mut site = Site::new(policy(
        "[defaults]\nallow = [\"any\", \"127.0.0.0/8\"]\n[clients.a]\nkey = \"KEY1\"\n[clients.b]\nkey = \"KEY2\"\nallow = [\"127.0.0.0/8\", \"239.1.2.3\"]\n",
    ));
    let (closed, open) = (site.guest(1), site.guest(2));
    let host = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0)).expect("a port");
    host.join_multicast_v4(&group, &Ipv4Addr::LOCALHOST).expect("the loopback has groups");
    let sender = far("127.0.0.1");
    sockopt::set_ip_multicast_if(&sender, &Ipv4Addr::LOCALHOST).expect("may be set");
    let host_port = host.local_addr().expect("is bound").port();
    sender.send_to(b"group", (group, host_port)).expect("loopback");
    assert_eq!(site.far(|| host.recv(&mut [0; 9]).expect("the host hears it")), 5);

    let join = |site: &mut Site, guest, socket| {
        let value = [group.octets(), Ipv4Addr::LOCALHOST.octets()].concat();
        let (level, name) = (libc::IPPROTO_IP, libc::IP_ADD_MEMBERSHIP);
        site.call(guest, socket, Operation::SetOption { level, name, value })
    };
    for (guest, joined) in [(closed, Err(Errno::ENETUNREACH)), (open, Ok(Value::Done))] {
        let socket = site.socket(guest, Family::V4, RsockType::Datagram);
        let port = bound(&mut site, guest, socket, "0.0.0.0:0");
        sender.send_to(b"group", (group, port)).expect("loopback");
        sender.send_to(b"alone", (Ipv4Addr::LOCALHOST, port)).expect("loopback");
        assert_eq!(received(&mut site, guest, socket).0, b"alone");
        assert_eq!(join(&mut site, guest, socket), joined);
        if joined.is_ok() {
            sender.send_to(b"group", (group, port)).expect("loopback");
            assert_eq!(received(&mut site, guest, socket).0, b"group");
        }
    }
}
