//! A client and a server in one thread, with far hosts.

use crate::carried::{Carried, cut, hold, opened, pair};
use crate::guest::{Guest, Returned};
pub use crate::guest::{Turns, sending};
use resoa_protocol::message::{AddressMode, Create, Family, Operation, RsockType};
use resoa_protocol::server::Addresses;
use resoa_protocol::{
    CallId, Client, ReceiveFlags, Registration, RsockId, ServerSettings, Settings, SocketCall, Timers, Value,
};
use resoa_server::{FinHold, Host};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener, TcpStream};
use std::time::Duration;

/// Both loopback addresses.
pub const LOOPBACKS: [IpAddr; 2] = [IpAddr::V4(Ipv4Addr::LOCALHOST), IpAddr::V6(Ipv6Addr::LOCALHOST)];

/// A registered client and its server.
pub struct Rig {
    pub host: Host<Carried>,
    guest: Guest<Carried>,
    own: IpAddr,
    /// While set, the client receives nothing, but still makes calls.
    pub stalled: bool,
}

impl Turns for Rig {
    fn turn(&mut self) {
        let has_heard = !self.stalled && self.guest.hear();
        self.guest.expire();
        let wait = if has_heard { Duration::ZERO } else { Duration::from_millis(2) };
        self.host.turn(Some(wait)).expect("epoll waits");
    }
}

impl Rig {
    /// Creates a rig whose connections have the source address `own`.
    pub fn new(own: IpAddr) -> Self {
        Self::with(own, Settings::default())
    }

    pub fn with(own: IpAddr, settings: Settings) -> Self {
        Self::holding(own, settings, hold())
    }

    /// The same with this FIN hold, or without one.
    pub fn holding(own: IpAddr, settings: Settings, hold: Option<FinHold>) -> Self {
        let (server, carrier, link, address) = pair();
        let mut host = Host::new(ServerSettings::new(Addresses::shared(own)), server).expect("descriptors");
        if let Some(hold) = hold {
            host = host.with_fin_hold(hold);
        }
        opened();
        let client = Client::new(AddressMode::Any, settings, Timers::default());
        let mut rig = Self { host, guest: Guest::new(client, carrier, link, address), own, stalled: false };
        rig.guest.at(|client, _, out| client.start(out));
        rig.until(|rig| rig.guest.registration.is_some().then_some(()));
        let registration = &rig.guest.registration;
        assert!(matches!(registration, Some(Registration::Registered(_))), "{registration:?}");
        rig
    }

    /// Cuts the link to the client, as in an outage.
    pub fn cut(&mut self) {
        if let Some(indication) = cut(&mut self.guest.carrier, self.guest.link) {
            self.guest.at(|client, now, out| client.indication(indication, now, out));
        }
    }

    pub fn socket(&mut self) -> RsockId {
        let family = if self.own.is_ipv4() { Family::V4 } else { Family::V6 };
        self.guest.client.socket(Create { family, kind: RsockType::Stream }).expect("registered")
    }

    pub fn begin(&mut self, socket: RsockId, what: impl Into<SocketCall>) -> CallId {
        self.guest.begin(socket, what)
    }

    pub fn ended(&mut self, call: CallId) -> Option<Returned> {
        self.guest.ended(call)
    }

    /// A call, to its end.
    pub fn call(&mut self, socket: RsockId, what: impl Into<SocketCall>) -> Returned {
        let call = self.begin(socket, what);
        self.until(|rig| rig.ended(call))
    }

    pub fn send(&mut self, socket: RsockId, bytes: &[u8]) -> Returned {
        self.call(socket, sending(bytes.to_vec()))
    }

    pub fn read(&mut self, socket: RsockId, length: usize) -> Returned {
        self.call(socket, reading(length))
    }

    pub fn close(&mut self, socket: RsockId) -> Returned {
        self.call(socket, SocketCall::Close { may_wait: true })
    }

    /// Sets SO_LINGER to this many seconds.
    pub fn linger(&mut self, socket: RsockId, seconds: i32) {
        let value = [1, seconds].iter().flat_map(|number: &i32| number.to_ne_bytes()).collect();
        let option = Operation::SetOption { level: libc::SOL_SOCKET, name: libc::SO_LINGER, value };
        assert_eq!(self.call(socket, option), Ok(Value::Done));
    }

    pub fn option(&mut self, socket: RsockId, level: i32, name: i32) -> Vec<u8> {
        match self.call(socket, Operation::GetOption { level, name, length: 256 }) {
            Ok(Value::Option(value)) => value,
            other => panic!("{other:?}"),
        }
    }

    /// Returns a connected socket and the far host's end of it.
    pub fn connected(&mut self) -> (RsockId, TcpStream) {
        let listener = listener(self.own);
        let address = listener.local_addr().expect("is bound");
        let socket = self.socket();
        assert_eq!(self.call(socket, Operation::Connect(address)), Ok(Value::Done));
        (socket, listener.accept().expect("has connected").0)
    }

    /// Waits until neither the server nor the client has a socket left.
    pub fn nothing_is_left(&mut self) {
        self.until(|rig| (rig.host.sockets() == 0 && rig.guest.client.sockets() == 0).then_some(()));
    }
}

pub fn listener(own: IpAddr) -> TcpListener {
    TcpListener::bind(SocketAddr::new(own, 0)).expect("loopback")
}

pub fn reading(length: usize) -> SocketCall {
    SocketCall::Receive { length, flags: ReceiveFlags::default() }
}

#[expect(clippy::unnecessary_wraps, reason = "what a call returns")]
pub fn bytes(octets: &[u8]) -> Returned {
    Ok(Value::Bytes(octets.to_vec()))
}
