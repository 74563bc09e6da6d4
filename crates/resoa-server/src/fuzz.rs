//! Entry point of the fuzz targets (feature `fuzz`) into the gate, which is private otherwise.
#![expect(clippy::missing_panics_doc, reason = "to panic if something does not hold is what it is for")]

use crate::gate::Gate;
use resoa_carrier::keys::PublicKey;
use resoa_policy::{Policy, meant};
use resoa_protocol::lhp::{Connection, Identity};
use resoa_protocol::message::{Ancillary, Create, Family, Operation, Reply, RsockType};
use resoa_protocol::{Endpoint, Errno, TcpAction, TcpEvent};
use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

/// Policies for two clients. None of them opens a guarded destination.
const POLICIES: [&str; 4] = [
    "[clients.a]\nkey = \"KEY1\"\n[clients.b]\nkey = \"KEY2\"\n",
    "[clients.a]\nkey = \"KEY1\"\nlisten = false\nbind = \"none\"\n[clients.b]\nkey = \"KEY2\"\nallow = [\"0.0.0.0/0 80\", \"::/0\"]\n",
    "[defaults]\ndeny = [\"192.0.2.0/24\"]\n[clients.b]\nkey = \"KEY2\"\nbuffers = \"4MiB\"\n",
    "[clients.a]\nkey = \"KEY1\"\nallow = [\"198.51.100.0/24 1-100\"]\nbind = \"5000-5010\"\n",
];
/// Destinations of programs, permitted and forbidden ones. The last is the server's own address.
const PLACES: [&str; 16] = [
    "192.0.2.1",
    "198.51.100.7",
    "2001:db8::1",
    "0.0.0.0",
    "::",
    "127.0.0.1",
    "127.9.9.9",
    "::1",
    "::ffff:127.0.0.1",
    "64:ff9b::7f00:1",
    "169.254.169.254",
    "fe80::1",
    "224.0.0.251",
    "ff02::fb",
    "255.255.255.255",
    OWN,
];
const OWN: &str = "203.0.113.9";

fn policy(number: u8) -> Arc<Policy> {
    let key = |number| PublicKey([number; 32]).to_string();
    let text = POLICIES[usize::from(number) % POLICIES.len()];
    let text = text.replace("KEY1", &key(1)).replace("KEY2", &key(2));
    Arc::new(Policy::parse("p.toml", &text).expect("it is one"))
}

/// State of a socket, tracked apart from the gate.
struct Known {
    connection: Connection,
    outstanding: u64,
}

/// Clients connect and leave, send arbitrary requests and receive arbitrary events, and the policy
/// changes. Asserts that no guarded destination is permitted, that every refusal is counted, that
/// each client's outstanding bytes are those of its own sockets, and that none are left when all
/// sockets are closed.
pub fn gate(script: &[u8]) {
    let mut gate = Gate::new(policy(script.first().copied().unwrap_or_default()));
    let (mut known, mut refused) = (BTreeMap::<Endpoint, Known>::new(), 0_u64);
    let mut is_here = [false; 4];
    for (&[what, who, number, more], now) in
        script.as_chunks::<4>().0.iter().zip((0..).map(Duration::from_secs))
    {
        let (connection, endpoint) = (Connection(u64::from(who % 4) + 1), Endpoint(u64::from(number % 8)));
        let here = usize::from(who % 4);
        match what % 12 {
            0 if !is_here[here] => {
                let identity = Identity(vec![1 + who / 4 % 3; 32]);
                is_here[here] = gate.come(connection, &identity, now).is_some();
            }
            1 if more < 32 => {
                is_here[here] = false;
                known.retain(|&endpoint, socket| {
                    let goes = socket.connection == connection;
                    if goes {
                        gate.closed(endpoint);
                    }
                    !goes
                });
                gate.gone(connection);
            }
            2 if more < 32 => {
                for connection in gate.reload(policy(number)) {
                    gate.visitor(connection).expect("is here");
                }
            }
            3 => drop(gate.overdue(now)),
            4 => {
                gate.closed(endpoint);
                known.remove(&endpoint);
            }
            5 if known.contains_key(&endpoint) => {
                let event = event(number, more);
                match &event {
                    TcpEvent::NotCreated => drop(known.remove(&endpoint)),
                    TcpEvent::Failed(_) => known.get_mut(&endpoint).expect("is known").outstanding = 0,
                    TcpEvent::Acknowledged(count) => {
                        let socket = known.get_mut(&endpoint).expect("is known");
                        socket.outstanding = socket.outstanding.saturating_sub((*count).into());
                    }
                    _ => {}
                }
                gate.happened(endpoint, &event);
            }
            _ if is_here[here] => {
                let action = action(what, number, more);
                let is_new = matches!(action, TcpAction::Create { .. });
                // The server numbers end points uniquely, and asks for each on behalf of its owner.
                if is_new == known.contains_key(&endpoint) {
                    continue;
                }
                let connection = known.get(&endpoint).map_or(connection, |socket| socket.connection);
                let outcome = gate.ask(connection, endpoint, &action, |address| address == own());
                if outcome.is_err() {
                    refused += 1;
                    continue;
                }
                is_harmless(&action);
                gate.does(connection, endpoint, &action);
                let socket = known.entry(endpoint).or_insert(Known { connection, outstanding: 0 });
                if let TcpAction::Send { bytes, .. } = &action {
                    socket.outstanding += bytes.len() as u64;
                }
            }
            _ => {}
        }
        for (connection, visitor) in gate.visitors() {
            let its = known.values().filter(|socket| socket.connection == connection);
            assert_eq!(visitor.outstanding, its.map(|socket| socket.outstanding).sum::<u64>());
        }
        assert_eq!(gate.total().refusals.values().sum::<u64>(), refused);
        assert!(known.iter().all(|(&endpoint, socket)| gate.owner(endpoint) == Some(socket.connection)));
    }
    for endpoint in (0..8).map(Endpoint) {
        gate.closed(endpoint);
        assert_eq!(gate.owner(endpoint), None);
    }
    assert!(gate.visitors().all(|(_, visitor)| visitor.outstanding == 0));
}

fn own() -> IpAddr {
    OWN.parse().expect("an address")
}

fn place(number: u8, port: u8) -> SocketAddr {
    let address = PLACES[usize::from(number) % PLACES.len()].parse().expect("an address");
    SocketAddr::new(address, [0, 80, 443, 1023, 5000, 5005, 8080, 65_535][usize::from(port % 8)])
}

fn action(what: u8, number: u8, more: u8) -> TcpAction {
    let place = place(more, more >> 5);
    match what % 12 {
        6 => TcpAction::Execute(Operation::Connect(place)),
        7 => TcpAction::Execute(Operation::Bind(place)),
        8 => TcpAction::SendTo { to: Some(place), ancillary: Ancillary::none(), bytes: vec![0; 9] },
        9 if more & 1 == 0 => TcpAction::Execute(Operation::Listen { backlog: 1 }),
        9 => {
            let IpAddr::V4(group) = place.ip() else { return TcpAction::Locate };
            let (level, name) = (libc::IPPROTO_IP, libc::IP_ADD_MEMBERSHIP);
            let value = [group.octets(), [0; 4]].concat();
            TcpAction::Execute(Operation::SetOption { level, name, value })
        }
        10 => TcpAction::Send { bytes: vec![0; usize::from(more) + 1], urgent: false },
        _ => {
            let kind = [RsockType::Stream, RsockType::Datagram][usize::from(number & 1)];
            let create = Create { family: Family::V4, kind };
            TcpAction::Create { create, source: [192, 0, 2, 9].into(), foreign: false }
        }
    }
}

fn event(number: u8, more: u8) -> TcpEvent {
    match more % 8 {
        0 => TcpEvent::NotCreated,
        1 => TcpEvent::Failed(Errno::ECONNRESET),
        2 => TcpEvent::Done(Ok(Reply::Local(place(number, more >> 5)))),
        3 => TcpEvent::Received(vec![1; more.into()]),
        _ => TcpEvent::Acknowledged(u32::from(more) * 2),
    }
}

/// Asserts that an action does not address the server itself, its link or a multicast group. No
/// policy of this test opens those.
fn is_harmless(action: &TcpAction) {
    let to = match action {
        TcpAction::Execute(Operation::Connect(to)) | TcpAction::SendTo { to: Some(to), .. } => to.ip(),
        TcpAction::Execute(Operation::SetOption { value, .. }) => {
            IpAddr::from(*value.first_chunk::<4>().expect("a group"))
        }
        _ => return,
    };
    let to = meant(to);
    let is_link_local = match to {
        IpAddr::V4(to) => to.is_link_local() || to.is_broadcast(),
        IpAddr::V6(to) => to.is_unicast_link_local(),
    };
    assert!(!to.is_loopback() && !to.is_unspecified() && !to.is_multicast() && !is_link_local, "{action:?}");
    assert_ne!(to, own(), "{action:?}");
}
