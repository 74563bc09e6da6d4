//! A server with a policy, and clients that connect one by one.

pub use crate::guest::{Returned, Turns, sending};
use resoa_carrier::memory::Memory;
use resoa_policy::Policy;
use resoa_protocol::lhp::{Identity, LastHop, Provider, Service};
use resoa_protocol::message::{AddressMode, Create, Family, Operation, Query, RsockType};
use resoa_protocol::server::Addresses;
use resoa_protocol::{
    Action, CallId, Client, Registration, RsockId, ServerSettings, Settings, SocketCall, Timers,
};
use resoa_server::{FinHold, Host};
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

/// Bytes that the carrier takes before it says stop.
const ROOM: usize = 1 << 20;

/// A client in this process.
pub type Guest = crate::guest::Guest<Memory>;

/// A server and its clients by number.
pub struct Site {
    pub host: Host<Memory>,
    door: Memory,
    pub guests: Vec<Guest>,
}

impl Turns for Site {
    fn turn(&mut self) {
        let mut has_heard = false;
        for guest in &mut self.guests {
            has_heard |= guest.hear();
            guest.expire();
        }
        let wait = if has_heard { Duration::ZERO } else { Duration::from_millis(2) };
        self.host.turn(Some(wait)).expect("epoll waits");
    }
}

/// Parses a policy in which KEY1 to KEY4 stand for keys.
pub fn policy(text: &str) -> Arc<Policy> {
    let mut text = text.to_owned();
    for who in 1..=4 {
        text = text.replace(&format!("KEY{who}"), &resoa_carrier::keys::PublicKey([who; 32]).to_string());
    }
    Arc::new(Policy::parse("policy", &text).unwrap_or_else(|error| panic!("{error}")))
}

impl Site {
    pub fn new(policy: Arc<Policy>) -> Self {
        Self::with(ServerSettings::new(Addresses::default()), policy)
    }

    pub fn with(settings: ServerSettings, policy: Arc<Policy>) -> Self {
        let carrier = Memory::server(ROOM).expect("descriptors");
        // Any end of the carrier can create clients.
        let door = carrier.client(Identity(Vec::new())).expect("descriptors");
        let host = Host::with_policy(settings, carrier, policy).expect("descriptors");
        Self { host, door, guests: Vec::new() }
    }

    /// Adds a FIN hold; to be called before there are clients.
    pub fn holding(self, hold: FinHold) -> Self {
        Self { host: self.host.with_fin_hold(hold), ..self }
    }

    /// Connects a client with this key. Its registration shows whether it may stay.
    pub fn comes(&mut self, who: u8, mode: AddressMode) -> usize {
        let mut carrier = self.door.client(Identity(vec![who; 32])).expect("descriptors");
        let link = carrier.register(Service::Reliable, Provider { id: 1, protocol: 0 }).expect("always");
        let client = Client::new(mode, Settings::default(), Timers::default());
        self.guests.push(Guest::new(client, carrier, link, Vec::new()));
        self.guests.len() - 1
    }

    /// Connects and registers a client with this key.
    pub fn guest(&mut self, who: u8) -> usize {
        self.registered(who, AddressMode::Any)
    }

    /// The same, with this address mode.
    pub fn registered(&mut self, who: u8, mode: AddressMode) -> usize {
        let guest = self.comes(who, mode);
        self.at(guest, |client, _, out| client.start(out));
        self.until(|site| site.guests[guest].registration.is_some().then_some(()));
        let registration = self.guests[guest].registration.clone();
        assert!(matches!(registration, Some(Registration::Registered(_))), "{registration:?}");
        guest
    }

    pub fn at(&mut self, guest: usize, event: impl FnOnce(&mut Client, Duration, &mut Vec<Action>)) {
        self.guests[guest].at(event);
    }

    pub fn socket(&mut self, guest: usize, family: Family, kind: RsockType) -> RsockId {
        self.guests[guest].client.socket(Create { family, kind }).expect("registered")
    }

    pub fn stream(&mut self, guest: usize) -> RsockId {
        self.socket(guest, Family::V4, RsockType::Stream)
    }

    pub fn begin(&mut self, guest: usize, socket: RsockId, what: impl Into<SocketCall>) -> CallId {
        self.guests[guest].begin(socket, what)
    }

    pub fn ended(&mut self, guest: usize, call: CallId) -> Option<Returned> {
        self.guests[guest].ended(call)
    }

    /// A call, to its end.
    pub fn call(&mut self, guest: usize, socket: RsockId, what: impl Into<SocketCall>) -> Returned {
        let call = self.begin(guest, socket, what);
        self.until(|site| site.ended(guest, call))
    }

    pub fn connect(&mut self, guest: usize, to: SocketAddr) -> Returned {
        let family = if to.is_ipv4() { Family::V4 } else { Family::V6 };
        let socket = self.socket(guest, family, RsockType::Stream);
        self.call(guest, socket, Operation::Connect(to))
    }

    pub fn look_up(&mut self, guest: usize, query: Query) -> Returned {
        let call = self.guests[guest].next_call();
        self.at(guest, |client, now, out| client.look_up(call, query, now, out));
        self.until(|site| site.ended(guest, call))
    }

    /// Number of refusals of all clients by reason.
    pub fn refusals(&self) -> BTreeMap<String, u64> {
        self.host.report().refusals
    }
}

pub fn at(text: &str) -> SocketAddr {
    text.parse().expect("an address with a port")
}
