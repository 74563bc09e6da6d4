//! Registration, de-registration, and the watchdogs.

use super::{LINK, Pair, STREAM, address};
use crate::Message;
use crate::calls::{SocketCall, Value};
use crate::client::{Client, Registration};
use crate::lhp::{Connection, DisconnectReason, Identity};
use crate::message::{Accepted, AddressMode, Body, Control, Modes, Operation, Refusal};
use crate::server::{Addresses, Grant, Server, ServerAction, ServerSettings};
use crate::settings::{Mutation, Settings};
use crate::tcp::TcpAction;
use std::net::IpAddr;
use std::time::Duration;

fn settings() -> ServerSettings {
    ServerSettings::new(Addresses::shared(address(0).ip()))
}

/// Returns a server's answer to a registration. `who` determines the key and the number of the
/// connection.
fn register(
    pair: &mut Pair,
    who: u8,
    version: u8,
    mode: AddressMode,
    resume: bool,
) -> Result<IpAddr, Refusal> {
    let connection = Connection(u64::from(who) + 100);
    pair.server.connected(connection, Identity(vec![who]), pair.now);
    let register = Control::Register { version, mode, receive_space: 1, resume };
    let mut out = Vec::new();
    pair.server.message(connection, Message::control(register), pair.now, &mut out);
    match out.pop() {
        Some(ServerAction::Send {
            message: Message { body: Body::Control(Control::Registered(answer)), .. },
            ..
        }) => answer.map(|accepted| accepted.address),
        other => panic!("{other:?}"),
    }
}

fn unregistered(server: ServerSettings) -> Pair {
    Pair::unregistered(AddressMode::Any, Settings::default(), server)
}

/// C06, C70: what a client is granted; no call before registration; refusals for version, room and
/// resumption.
#[test]
fn registration_and_its_refusals() {
    let mut pair = unregistered(settings());
    assert_eq!(pair.client.socket(STREAM), Err(crate::Errno::ENETDOWN));
    pair.register();
    let Some(Registration::Registered(accepted)) = pair.registrations.pop() else { panic!("is registered") };
    assert_eq!((accepted.address, accepted.sockets), (address(0).ip(), 1 << 16));
    assert_eq!(register(&mut pair, 1, 9, AddressMode::Any, false), Err(Refusal::Version(1)));
    assert_eq!(register(&mut pair, 1, 1, AddressMode::Any, true), Err(Refusal::NoResumption));
    let full = ServerSettings { clients: 0, alternative: b"there".to_vec(), ..settings() };
    let refusal = Refusal::Resources { alternative: b"there".to_vec() };
    assert_eq!(register(&mut unregistered(full), 1, 1, AddressMode::Any, false), Err(refusal));
}

/// C09, C10, C11, A33: addresses by mode. A refusal lists the modes that are offered.
#[test]
fn addresses_by_mode() {
    let [shared, first, own] = [1, 2, 9].map(|last| IpAddr::from([192, 0, 2, last]));
    let mut pair = unregistered(settings());
    let modes = Modes { shared: true, own: false, brought: false };
    assert_eq!(register(&mut pair, 1, 1, AddressMode::Own, false), Err(Refusal::Mode(modes)));
    assert_eq!(register(&mut pair, 1, 1, AddressMode::Shared, false), Ok(shared));
    assert_eq!(register(&mut pair, 2, 1, AddressMode::Shared, false), Ok(shared));
    let addresses = Addresses { shared: Some(shared), pool: vec![first], brought: vec![own] };
    let mut pair = unregistered(ServerSettings::new(addresses));
    assert_eq!(register(&mut pair, 1, 1, AddressMode::Any, false), Ok(first));
    assert!(matches!(register(&mut pair, 2, 1, AddressMode::Own, false), Err(Refusal::Resources { .. })));
    assert_eq!(register(&mut pair, 3, 1, AddressMode::Any, false), Ok(shared));
    assert_eq!(register(&mut pair, 4, 1, AddressMode::Brought(own), false), Ok(own));
    assert!(matches!(
        register(&mut pair, 5, 1, AddressMode::Brought(own), false),
        Err(Refusal::Resources { .. })
    ));
    // Only listed addresses may be brought, because any other could belong to another host.
    assert!(matches!(register(&mut pair, 5, 1, AddressMode::Brought(first), false), Err(Refusal::Mode(_))));
}

/// C09: the stack is told that an address is the client's own.
#[test]
fn an_address_that_the_client_brings() {
    let own = IpAddr::from([192, 0, 2, 9]);
    let addresses = Addresses { brought: vec![own], ..Addresses::default() };
    let mode = AddressMode::Brought(own);
    let mut pair = Pair::unregistered(mode, Settings::default(), ServerSettings::new(addresses));
    pair.register();
    let socket = pair.socket(STREAM);
    pair.begin(socket, Operation::Connect(address(80)));
    let create = TcpAction::Create { create: STREAM, source: own, foreign: true };
    assert_eq!(pair.asked()[0], create);
}

/// C11 (n-m): clients can have different grants, and no client gets an address that another has to
/// itself.
#[test]
fn clients_may_have_different_things() {
    let [shared, own] = [1, 2].map(|last| IpAddr::from([192, 0, 2, last]));
    let mut server = Server::new(settings());
    let register = |server: &mut Server, who: u8, grant: Grant| {
        let connection = Connection(u64::from(who));
        server.connected_with(connection, Identity(vec![who]), grant, Duration::ZERO);
        let register =
            Control::Register { version: 1, mode: AddressMode::Any, receive_space: 1, resume: false };
        let mut out = Vec::new();
        server.message(connection, Message::control(register), Duration::ZERO, &mut out);
        match out.pop() {
            Some(ServerAction::Send {
                message: Message { body: Body::Control(Control::Registered(answer)), .. },
                ..
            }) => answer,
            other => panic!("{other:?}"),
        }
    };
    let own_address = Addresses { pool: vec![own], ..Addresses::default() };
    let grant = Grant { addresses: own_address, sockets: 1, send_space: 5000 };
    let accepted = Accepted { address: own, sockets: 1, send_space: 5000 };
    assert_eq!(register(&mut server, 1, grant.clone()), Ok(accepted));
    let no_room = Refusal::Resources { alternative: Vec::new() };
    assert_eq!(register(&mut server, 2, grant), Err(no_room));
    let others = register(&mut server, 3, Grant::of(&settings())).expect("what all may have");
    assert_eq!((others.address, others.sockets), (shared, 1 << 16));
    let census = server.census(Connection(1)).expect("is there");
    assert_eq!((census.address, census.sockets.len()), (Some(own), 0));
    assert_eq!(server.census(Connection(2)).map(|census| census.address), Some(None));
}

/// C78, E6, A24: a client that registers while it is registered has lost its sockets. They are
/// reset, and the next attempt succeeds.
#[test]
fn a_client_that_comes_again() {
    let mut pair = Pair::new();
    pair.connected();
    let again = |pair: &mut Pair| {
        let connection = Connection(2);
        pair.server.connected(connection, Identity(vec![7]), pair.now);
        let mode = AddressMode::Any;
        let register = Control::Register { version: 1, mode, receive_space: 1, resume: false };
        let mut out = Vec::new();
        pair.server.message(connection, Message::control(register), pair.now, &mut out);
        out
    };
    let out = again(&mut pair);
    let retry_after = Duration::from_secs(1);
    let refused = Control::Registered(Err(Refusal::StillRegistered { retry_after }));
    assert!(matches!(&out[0], ServerAction::Tcp { action: TcpAction::Abort, .. }));
    assert_eq!(out[1], ServerAction::Reset(LINK));
    assert_eq!(out[2], ServerAction::Send { connection: Connection(2), message: Message::control(refused) });
    let out = again(&mut pair);
    assert!(matches!(&out[..], [ServerAction::Send { message, .. }]
        if matches!(message.body, Body::Control(Control::Registered(Ok(_))))));
}

/// C08, C71: gracefully only when both sides have no socket left; otherwise at any time, with RST.
#[test]
fn deregistration() {
    let mut pair = Pair::new();
    let socket = pair.connected();
    pair.at_client(|client, now, out| client.stop(true, now, out));
    assert_eq!((pair.registrations.pop(), pair.messages), (Some(Registration::SocketsOpen), [0, 0]));
    assert_eq!(pair.call(socket, SocketCall::Close { may_wait: true }), Ok(Value::Done));
    pair.at_client(|client, now, out| client.stop(true, now, out));
    assert_eq!(pair.registrations.pop(), Some(Registration::SocketsOpen), "the server still has it");
    pair.event(1, crate::TcpEvent::FinAcknowledged);
    pair.at_client(|client, now, out| client.stop(true, now, out));
    assert_eq!(pair.registrations.pop(), Some(Registration::Ended));
    let mut pair = Pair::new();
    let socket = pair.connected();
    let waits = pair.receive(socket, 1);
    pair.at_client(|client, now, out| client.stop(false, now, out));
    assert_eq!(pair.registrations.pop(), Some(Registration::Ended));
    assert_eq!(pair.asked(), [TcpAction::Abort]);
    assert_eq!(pair.ended(waits), Some(Err(crate::Errno::ECONNRESET)));
}

/// C19, A3: an hour of silence costs one question and one answer, whichever side asks.
#[test]
fn watchdogs_ask_once() {
    let mut pair = Pair::new();
    let hour = Duration::from_hours(1);
    assert_eq!((pair.client.deadline(), pair.server.deadline()), (Some(hour), Some(hour)));
    pair.now = hour;
    pair.at_client(Client::expire);
    assert_eq!(pair.messages, [1, 1]);
    pair.at_server(Server::expire);
    assert_eq!((pair.messages, pair.server.deadline()), ([1, 1], Some(hour * 2)));
    pair.now = hour * 2;
    pair.at_server(Server::expire);
    assert_eq!((pair.messages, pair.client.deadline()), ([2, 2], Some(hour * 3)));
}

/// C104: answers that are answered cause an endless exchange.
#[test]
#[should_panic(expected = "no end of messages")]
fn answers_that_are_answered() {
    let mutation = Some(Mutation::StillAlivePingPong);
    let mut pair =
        Pair::with(Settings { mutation, ..Settings::default() }, ServerSettings { mutation, ..settings() });
    pair.now = Duration::from_hours(1);
    pair.at_client(Client::expire);
}

/// C70: a server that does not answer a registration is given up.
#[test]
fn a_registration_without_an_answer() {
    let mut pair = unregistered(settings());
    pair.flows = false;
    pair.register();
    pair.now = pair.client.deadline().expect("is timed");
    pair.at_client(Client::expire);
    assert_eq!(pair.registrations.pop(), Some(Registration::Lost(DisconnectReason::Unreachable)));
    assert!(pair.resets[0]);
}

/// C80, E9: silence after the question means that the other side is gone.
#[test]
fn silence_after_the_question() {
    let mut pair = Pair::new();
    pair.connected();
    pair.flows = false;
    for _ in 0..2 {
        pair.now = pair.client.deadline().expect("watches");
        pair.at_client(Client::expire);
        pair.now = pair.server.deadline().unwrap_or_default().max(pair.now);
        pair.at_server(Server::expire);
    }
    assert_eq!(pair.registrations.pop(), Some(Registration::Lost(DisconnectReason::Unreachable)));
    assert_eq!((pair.resets, pair.asked()), ([true, true], vec![TcpAction::Abort]));
}
