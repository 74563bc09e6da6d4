//! A client and a server in one thread, and far hosts beside them.

use crate::carried::{Carried, cut, hold, pair};
use resoa_carrier::{Carrier, Outbox};
use resoa_protocol::lhp::{Connection, Indication, LastHop};
use resoa_protocol::message::{AddressMode, Create, Family, Kind};
use resoa_protocol::server::Addresses;
use resoa_protocol::{
    Action, CallId, Client, Errno, ReceiveFlags, Registration, RsockId, SendFlags, ServerSettings, Settings,
    SocketCall, Timers, Value,
};
use resoa_server::{FinHold, Host};
use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener, TcpStream};
use std::thread;
use std::time::{Duration, Instant};

/// After so long something will never come.
pub const PATIENCE: Duration = Duration::from_mins(1);

pub type Returned = Result<Value, Errno>;

/// Both loopback addresses.
pub const LOOPBACKS: [IpAddr; 2] = [IpAddr::V4(Ipv4Addr::LOCALHOST), IpAddr::V6(Ipv6Addr::LOCALHOST)];

/// A registered client and its server.
pub struct Rig {
    pub host: Host<Carried>,
    client: Client,
    carrier: Carried,
    outbox: Outbox,
    link: Connection,
    address: Vec<u8>,
    origin: Instant,
    own: IpAddr,
    returned: BTreeMap<CallId, Returned>,
    registration: Option<Registration>,
    last_call: u64,
    /// The client hears nothing, and says what it is asked alone.
    pub stalled: bool,
}

impl Rig {
    /// Connections come from `own`.
    pub fn new(own: IpAddr) -> Self {
        Self::with(own, Settings::default())
    }

    pub fn with(own: IpAddr, settings: Settings) -> Self {
        Self::holding(own, settings, hold())
    }

    /// FINs are held, or not.
    pub fn holding(own: IpAddr, settings: Settings, hold: Option<FinHold>) -> Self {
        let (server, carrier, link, address) = pair();
        let mut host = Host::new(ServerSettings::new(Addresses::shared(own)), server).expect("descriptors");
        if let Some(hold) = hold {
            host = host.with_fin_hold(hold);
        }
        let mut rig = Self {
            host,
            client: Client::new(AddressMode::Any, settings, Timers::default()),
            carrier,
            outbox: Outbox::default(),
            link,
            address,
            origin: Instant::now(),
            own,
            returned: BTreeMap::new(),
            registration: None,
            last_call: 0,
            stalled: false,
        };
        rig.at_client(|client, _, out| client.start(out));
        rig.until(|rig| rig.registration.is_some().then_some(()));
        assert!(matches!(rig.registration, Some(Registration::Registered(_))), "{:?}", rig.registration);
        rig
    }

    fn at_client(&mut self, event: impl FnOnce(&mut Client, Duration, &mut Vec<Action>)) {
        let mut out = Vec::new();
        event(&mut self.client, self.origin.elapsed(), &mut out);
        for action in out {
            match action {
                Action::Send(message) => {
                    if self.outbox.send(&mut self.carrier, self.link, message.encode()) {
                        self.client.indication(Indication::Off, self.origin.elapsed(), &mut Vec::new());
                    }
                }
                Action::Return { call, result } => {
                    assert!(self.returned.insert(call, result).is_none(), "{call:?} returns twice");
                }
                Action::Registration(registration) => self.registration = Some(registration),
                Action::Connect => self.carrier.connect(self.link, &self.address),
                Action::Close => self.carrier.close(self.link),
                Action::Reset => self.carrier.reset(self.link),
                Action::Signal { .. } | Action::Ready { .. } => {}
            }
        }
    }

    /// A turn of both.
    pub fn turn(&mut self) {
        let mut happened = Vec::new();
        if !self.stalled {
            self.carrier.poll(&mut happened);
        }
        let wait = if happened.is_empty() { Duration::from_millis(2) } else { Duration::ZERO };
        for (_, indication) in happened {
            if indication == Indication::On && !self.outbox.on(&mut self.carrier, self.link) {
                continue;
            }
            self.at_client(|client, now, out| client.indication(indication, now, out));
        }
        let now = self.origin.elapsed();
        if self.client.deadline().is_some_and(|deadline| deadline <= now) {
            self.at_client(Client::expire);
        }
        self.host.turn(Some(wait)).expect("epoll waits");
    }

    /// Turns until there is something.
    pub fn until<T>(&mut self, mut there: impl FnMut(&mut Self) -> Option<T>) -> T {
        let begin = Instant::now();
        loop {
            if let Some(found) = there(self) {
                return found;
            }
            assert!(begin.elapsed() < PATIENCE, "does not come");
            self.turn();
        }
    }

    /// What a far host does, in its own thread, while client and server run.
    pub fn far<T: Send>(&mut self, work: impl FnOnce() -> T + Send) -> T {
        thread::scope(|scope| {
            let far = scope.spawn(work);
            self.until(|_| far.is_finished().then_some(()));
            far.join().expect("the far host does what it should")
        })
    }

    /// The link to the client ends as by an outage.
    pub fn cut(&mut self) {
        if let Some(indication) = cut(&mut self.carrier, self.link) {
            self.at_client(|client, now, out| client.indication(indication, now, out));
        }
    }

    pub fn socket(&mut self) -> RsockId {
        let family = if self.own.is_ipv4() { Family::V4 } else { Family::V6 };
        self.client.socket(Create { family, kind: Kind::Stream }).expect("registered")
    }

    pub fn begin(&mut self, socket: RsockId, what: SocketCall) -> CallId {
        self.last_call += 1;
        let call = CallId(self.last_call);
        self.at_client(|client, now, out| client.call(socket, call, what, now, out));
        call
    }

    pub fn ended(&mut self, call: CallId) -> Option<Returned> {
        self.returned.remove(&call)
    }

    /// A call, to its end.
    pub fn call(&mut self, socket: RsockId, what: SocketCall) -> Returned {
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

    /// SO_LINGER, with this many seconds.
    pub fn linger(&mut self, socket: RsockId, seconds: i32) {
        let value = [1, seconds].iter().flat_map(|number: &i32| number.to_ne_bytes()).collect();
        let option = SocketCall::SetOption { level: libc::SOL_SOCKET, name: libc::SO_LINGER, value };
        assert_eq!(self.call(socket, option), Ok(Value::Done));
    }

    pub fn option(&mut self, socket: RsockId, level: i32, name: i32) -> Vec<u8> {
        match self.call(socket, SocketCall::GetOption { level, name, length: 256 }) {
            Ok(Value::Option(value)) => value,
            other => panic!("{other:?}"),
        }
    }

    /// A connected socket, and the far host's end of it.
    pub fn connected(&mut self) -> (RsockId, TcpStream) {
        let listener = listener(self.own);
        let address = listener.local_addr().expect("is bound");
        let socket = self.socket();
        assert_eq!(self.call(socket, SocketCall::Connect(address)), Ok(Value::Done));
        (socket, listener.accept().expect("has connected").0)
    }

    /// Nothing is left of any socket at the server, and nothing at the client.
    pub fn nothing_is_left(&mut self) {
        self.until(|rig| (rig.host.sockets() == 0 && rig.client.sockets() == 0).then_some(()));
    }
}

pub fn listener(own: IpAddr) -> TcpListener {
    TcpListener::bind(SocketAddr::new(own, 0)).expect("loopback")
}

pub fn sending(bytes: Vec<u8>) -> SocketCall {
    SocketCall::Send { bytes, to: None, flags: SendFlags::default() }
}

pub fn reading(length: usize) -> SocketCall {
    SocketCall::Receive { length, flags: ReceiveFlags::default() }
}

#[expect(clippy::unnecessary_wraps, reason = "what a call returns")]
pub fn bytes(octets: &[u8]) -> Returned {
    Ok(Value::Bytes(octets.to_vec()))
}
