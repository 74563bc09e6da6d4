//! Addresses of clients as seen by a far host: a kernel of its own behind a cable, in network
//! namespaces of the tests' own. These tests need root; without it, they print a message and pass.

use crate::cable::{self, Cable};
use crate::site::{Site, Turns, policy, sending};
use resoa_protocol::message::{AddressMode, Operation, Refusal, RsockType};
use resoa_protocol::{Errno, ReceiveFlags, Registration, RsockId, SocketCall, Value};
use std::io::{Read, Write};
use std::net::{IpAddr, SocketAddr, TcpStream};

/// Port on which the clients' programs listen.
pub const PORT: u16 = 8080;

pub fn reading(length: usize) -> SocketCall {
    SocketCall::Receive { length, flags: ReceiveFlags::default() }
}

/// Connects a client's program to the far host and exchanges one byte each way. Returns the source
/// address that the far host sees.
pub fn connects(site: &mut Site, guest: usize, cable: &Cable) -> IpAddr {
    let listener = cable.listener();
    let socket = site.socket(guest, cable.family(), RsockType::Stream);
    let connect = Operation::Connect(listener.local_addr().expect("is bound"));
    assert_eq!(site.call(guest, socket, connect), Ok(Value::Done));
    let (mut far, peer) = listener.accept().expect("has connected");
    assert_eq!(site.call(guest, socket, SocketCall::LocalName), Ok(Value::Address(peer)));
    exchange(site, guest, socket, &mut far);
    peer.ip()
}

/// Makes a client's program listen.
pub fn listens(site: &mut Site, guest: usize, address: IpAddr) -> Result<RsockId, Errno> {
    let family = cable::family(address);
    let any = if address.is_ipv4() { "0.0.0.0" } else { "::" }.parse().expect("an address");
    let socket = site.socket(guest, family, RsockType::Stream);
    site.call(guest, socket, Operation::Bind(SocketAddr::new(any, PORT)))?;
    site.call(guest, socket, Operation::Listen { backlog: 4 })?;
    // LISTEN has no answer: it is there when something behind it has one.
    let option = Operation::GetOption { level: libc::IPPROTO_TCP, name: libc::TCP_INFO, length: 8 };
    assert!(matches!(site.call(guest, socket, option), Ok(Value::Option(_))));
    Ok(socket)
}

/// Connects from the far host to an address at which this client's program listens.
pub fn is_reached(site: &mut Site, guest: usize, listener: RsockId, address: IpAddr, cable: &Cable) {
    let to = SocketAddr::new(address, PORT);
    let mut far = site.far(|| cable.far_connects(to));
    let accepted = site.call(guest, listener, SocketCall::Accept);
    let Ok(Value::Accepted { socket, peer }) = accepted else { panic!("{accepted:?}") };
    assert_eq!(peer, far.local_addr().expect("is connected"));
    exchange(site, guest, socket, &mut far);
}

fn exchange(site: &mut Site, guest: usize, socket: RsockId, far: &mut TcpStream) {
    assert_eq!(site.call(guest, socket, sending(b"u".to_vec())), Ok(Value::Count(1)));
    let mut octet = [0];
    site.far(|| far.read_exact(&mut octet).expect("arrives"));
    assert_eq!(octet, *b"u");
    far.write_all(b"d").expect("is connected");
    assert_eq!(site.call(guest, socket, reading(1)), Ok(Value::Bytes(b"d".to_vec())));
}

/// Sends a datagram from a client's program. Returns the source address that the far host sees.
pub fn sends(site: &mut Site, guest: usize, cable: &Cable) -> IpAddr {
    let far = cable.far_datagrams();
    let socket = site.socket(guest, cable.family(), RsockType::Datagram);
    let connect = Operation::Connect(far.local_addr().expect("is bound"));
    assert_eq!(site.call(guest, socket, connect), Ok(Value::Done));
    assert_eq!(site.call(guest, socket, sending(b"u".to_vec())), Ok(Value::Count(1)));
    site.far(|| far.recv_from(&mut [0; 8]).expect("arrives").1.ip())
}

/// C09, C10, C11: two clients have an address each (1-1), two more share that of the server (n-m).
/// The far host sees each client's address on streams and datagrams, and reaches each at the same
/// port of its address. Of the two clients that share an address, the second does not get the port.
/// A client cannot bind to the address of another one.
#[test]
fn addresses_of_several_clients() {
    for is_ipv6 in [false, true] {
        let Some(cable) = cable::lay(is_ipv6) else { return };
        let near = cable.near;
        let own = [11, 12].map(|last| cable.has_also(last));
        let text = format!(
            "address = \"{near}\"\npool = [\"{}\", \"{}\"]\n[clients.a]\nkey = \"KEY1\"\naddress = \"pool\"\n\
             [clients.b]\nkey = \"KEY2\"\naddress = \"pool\"\n[clients.c]\nkey = \"KEY3\"\n[clients.d]\nkey = \"KEY4\"\n",
            own[0], own[1],
        );
        let mut site = Site::new(policy(&text));
        let guests = [1, 2, 3, 4].map(|who| site.guest(who));
        let mut seen = guests.map(|guest| connects(&mut site, guest, &cable));
        assert_eq!(guests.map(|guest| sends(&mut site, guest, &cable)), seen);
        // The pool chooses which of the two gets which address.
        let [a, b, ..] = seen;
        seen[..2].sort();
        assert_eq!(seen, [own[0], own[1], near, near]);

        for (guest, address) in [(0, a), (1, b), (2, near)] {
            let listener = listens(&mut site, guests[guest], address).expect("the port is free there");
            is_reached(&mut site, guests[guest], listener, address, &cable);
        }
        assert_eq!(listens(&mut site, guests[3], near), Err(Errno::EADDRINUSE));
        let socket = site.socket(guests[0], cable.family(), RsockType::Stream);
        let elsewhere = Operation::Bind(SocketAddr::new(b, 0));
        assert_eq!(site.call(guests[0], socket, elsewhere), Err(Errno::EADDRNOTAVAIL));
    }
}

/// C11: the configuration decides, and a client's request is granted within its limits (n-m by
/// configuration).
#[test]
fn modes_that_clients_ask_for() {
    let text = "address = \"127.0.0.1\"\npool = [\"127.0.0.7\"]\n[clients.a]\nkey = \"KEY1\"\naddress = \"pool\"\n\
                [clients.b]\nkey = \"KEY2\"\naddress = \"pool\"\n[clients.c]\nkey = \"KEY3\"\naddress = \"127.0.0.8\"\n[clients.d]\nkey = \"KEY4\"\n";
    let mut site = Site::new(policy(text));
    let mut registers = |who, mode| -> Result<IpAddr, Refusal> {
        let guest = site.comes(who, mode);
        site.at(guest, |client, _, out| client.start(out));
        match site.until(|site| site.guests[guest].registration.clone()) {
            Registration::Registered(granted) => Ok(granted.address),
            Registration::Refused(why) => Err(why),
            other => panic!("{other:?}"),
        }
    };
    let at = |text: &str| -> IpAddr { text.parse().expect("an address") };
    assert_eq!(registers(1, AddressMode::Any), Ok(at("127.0.0.7")));
    // The pool has no other address.
    assert!(registers(2, AddressMode::Own).is_err());
    assert_eq!(registers(3, AddressMode::Own), Ok(at("127.0.0.8")));
    assert_eq!(registers(4, AddressMode::Shared), Ok(at("127.0.0.1")));
    assert!(registers(4, AddressMode::Own).is_err());
}
