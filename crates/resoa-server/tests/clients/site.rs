//! A server with a policy, and clients that come one by one.

use resoa_carrier::memory::Memory;
use resoa_carrier::{Carrier, Outbox};
use resoa_protocol::lhp::{Connection, Identity, Indication, LastHop, Provider, Service};
use resoa_protocol::message::{AddressMode, Create, Family, Kind};
use resoa_protocol::server::Addresses;
use resoa_protocol::{
    Action, CallId, Client, Errno, LookUp, Registration, RsockId, SendFlags, ServerSettings, Settings,
    SocketCall, Timers, Value,
};
use resoa_server::Host;
use resoa_server::policy::Policy;
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// After so long something will never come.
pub const PATIENCE: Duration = Duration::from_mins(1);
/// Octets that the carrier takes before it says stop.
const ROOM: usize = 1 << 20;

pub type Returned = Result<Value, Errno>;

/// A server, and its clients by number.
pub struct Site {
    pub host: Host<Memory>,
    door: Memory,
    pub guests: Vec<Guest>,
    origin: Instant,
}

/// A client.
pub struct Guest {
    client: Client,
    pub carrier: Memory,
    pub link: Connection,
    outbox: Outbox,
    returned: BTreeMap<CallId, Returned>,
    pub registration: Option<Registration>,
    last_call: u64,
}

/// The text of a policy, in which keys are numbers.
pub fn policy(text: &str) -> Arc<Policy> {
    let mut text = text.to_owned();
    for who in 1..=3 {
        text = text.replace(&format!("KEY{who}"), &resoa_carrier::keys::PublicKey([who; 32]).to_string());
    }
    Arc::new(Policy::parse("policy", &text).unwrap_or_else(|error| panic!("{error}")))
}

impl Site {
    pub fn new(policy: Arc<Policy>) -> Self {
        let carrier = Memory::server(ROOM).expect("descriptors");
        // Clients are made by any end.
        let door = carrier.client(Identity(Vec::new())).expect("descriptors");
        let settings = ServerSettings::new(Addresses::default());
        let host = Host::with_policy(settings, carrier, policy).expect("descriptors");
        Self { host, door, guests: Vec::new(), origin: Instant::now() }
    }

    /// A client of this key has come; whether it may stay is seen at its registration.
    pub fn comes(&mut self, who: u8, mode: AddressMode) -> usize {
        let mut carrier = self.door.client(Identity(vec![who; 32])).expect("descriptors");
        let link = carrier.register(Service::Reliable, Provider { id: 1, protocol: 0 }).expect("always");
        let guest = Guest {
            client: Client::new(mode, Settings::default(), Timers::default()),
            carrier,
            link,
            outbox: Outbox::default(),
            returned: BTreeMap::new(),
            registration: None,
            last_call: 0,
        };
        self.guests.push(guest);
        self.guests.len() - 1
    }

    /// It has registered.
    pub fn guest(&mut self, who: u8) -> usize {
        let guest = self.comes(who, AddressMode::Any);
        self.at(guest, |client, _, out| client.start(out));
        self.until(|site| site.guests[guest].registration.is_some().then_some(()));
        let registration = self.guests[guest].registration.clone();
        assert!(matches!(registration, Some(Registration::Registered(_))), "{registration:?}");
        guest
    }

    pub fn at(&mut self, guest: usize, event: impl FnOnce(&mut Client, Duration, &mut Vec<Action>)) {
        let Guest { client, carrier, link, outbox, returned, registration, .. } = &mut self.guests[guest];
        let mut out = Vec::new();
        event(client, self.origin.elapsed(), &mut out);
        for action in out {
            match action {
                Action::Send(message) => {
                    if outbox.send(carrier, *link, message.encode()) {
                        client.indication(Indication::Off, self.origin.elapsed(), &mut Vec::new());
                    }
                }
                Action::Return { call, result } => drop(returned.insert(call, result)),
                Action::Registration(news) => *registration = Some(news),
                Action::Connect => carrier.connect(*link, &[]),
                Action::Close => carrier.close(*link),
                Action::Reset => carrier.reset(*link),
                Action::Signal { .. } | Action::Ready { .. } => {}
            }
        }
    }

    /// A turn of all.
    pub fn turn(&mut self) {
        let mut idle = true;
        for guest in 0..self.guests.len() {
            let mut happened = Vec::new();
            self.guests[guest].carrier.poll(&mut happened);
            for (_, indication) in happened {
                idle = false;
                let Guest { carrier, link, outbox, .. } = &mut self.guests[guest];
                if indication == Indication::On && !outbox.on(carrier, *link) {
                    continue;
                }
                self.at(guest, |client, now, out| client.indication(indication, now, out));
            }
            if self.guests[guest].client.deadline().is_some_and(|deadline| deadline <= self.origin.elapsed())
            {
                self.at(guest, Client::expire);
            }
        }
        self.host.turn(Some(Duration::from_millis(if idle { 2 } else { 0 }))).expect("epoll waits");
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

    /// What a far host does, in its own thread, while the others run.
    pub fn far<T: Send>(&mut self, work: impl FnOnce() -> T + Send) -> T {
        std::thread::scope(|scope| {
            let far = scope.spawn(work);
            self.until(|_| far.is_finished().then_some(()));
            far.join().expect("the far host does what it should")
        })
    }

    pub fn socket(&mut self, guest: usize, family: Family, kind: Kind) -> RsockId {
        self.guests[guest].client.socket(Create { family, kind }).expect("registered")
    }

    pub fn stream(&mut self, guest: usize) -> RsockId {
        self.socket(guest, Family::V4, Kind::Stream)
    }

    pub fn begin(&mut self, guest: usize, socket: RsockId, what: SocketCall) -> CallId {
        self.guests[guest].last_call += 1;
        let call = CallId(self.guests[guest].last_call);
        self.at(guest, |client, now, out| client.call(socket, call, what, now, out));
        call
    }

    pub fn ended(&mut self, guest: usize, call: CallId) -> Option<Returned> {
        self.guests[guest].returned.remove(&call)
    }

    /// A call, to its end.
    pub fn call(&mut self, guest: usize, socket: RsockId, what: SocketCall) -> Returned {
        let call = self.begin(guest, socket, what);
        self.until(|site| site.ended(guest, call))
    }

    pub fn connect(&mut self, guest: usize, to: SocketAddr) -> Returned {
        let family = if to.is_ipv4() { Family::V4 } else { Family::V6 };
        let socket = self.socket(guest, family, Kind::Stream);
        self.call(guest, socket, SocketCall::Connect(to))
    }

    pub fn look_up(&mut self, guest: usize, query: LookUp) -> Returned {
        self.guests[guest].last_call += 1;
        let call = CallId(self.guests[guest].last_call);
        self.at(guest, |client, now, out| client.look_up(call, query, now, out));
        self.until(|site| site.ended(guest, call))
    }

    /// What was refused to all, by reason.
    pub fn refusals(&self) -> BTreeMap<String, u64> {
        self.host.report().refusals
    }
}

pub fn at(text: &str) -> SocketAddr {
    text.parse().expect("an address with a port")
}

pub fn sending(bytes: Vec<u8>) -> SocketCall {
    SocketCall::Send { bytes, to: None, flags: SendFlags::default() }
}
