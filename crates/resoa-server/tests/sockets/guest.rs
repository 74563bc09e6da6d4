//! A client with its end of the carrier, and the loop that drives a test.

use resoa_carrier::{Carrier, Outbox};
use resoa_protocol::lhp::{Connection, Indication};
use resoa_protocol::{Action, CallId, Client, Errno, Registration, RsockId, SendFlags, SocketCall, Value};
use std::collections::BTreeMap;
use std::thread;
use std::time::{Duration, Instant};

/// Time after which a test stops waiting.
pub const PATIENCE: Duration = Duration::from_mins(1);

pub type Returned = Result<Value, Errno>;

/// A client; see the [module](self).
pub struct Guest<C> {
    pub client: Client,
    pub carrier: C,
    pub link: Connection,
    /// Address of the server.
    address: Vec<u8>,
    outbox: Outbox,
    origin: Instant,
    returned: BTreeMap<CallId, Returned>,
    pub registration: Option<Registration>,
    last_call: u64,
}

impl<C: Carrier> Guest<C> {
    pub fn new(client: Client, carrier: C, link: Connection, address: Vec<u8>) -> Self {
        Self {
            client,
            carrier,
            link,
            address,
            outbox: Outbox::default(),
            origin: Instant::now(),
            returned: BTreeMap::new(),
            registration: None,
            last_call: 0,
        }
    }

    /// Passes an event to the client and carries out its actions.
    pub fn at(&mut self, event: impl FnOnce(&mut Client, Duration, &mut Vec<Action>)) {
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
                Action::Registration(news) => self.registration = Some(news),
                Action::Connect => self.carrier.connect(self.link, &self.address),
                Action::Close => self.carrier.close(self.link),
                Action::Reset => self.carrier.reset(self.link),
                Action::Signal { .. } | Action::Ready { .. } => {}
            }
        }
    }

    /// Passes all indications to the client. Returns whether there were any.
    pub fn hear(&mut self) -> bool {
        let mut happened = Vec::new();
        self.carrier.poll(&mut happened);
        let has_heard = !happened.is_empty();
        for (_, indication) in happened {
            if indication == Indication::On && !self.outbox.on(&mut self.carrier, self.link) {
                continue;
            }
            self.at(|client, now, out| client.indication(indication, now, out));
        }
        has_heard
    }

    /// Fires the client's timers that are due.
    pub fn expire(&mut self) {
        if self.client.deadline().is_some_and(|deadline| deadline <= self.origin.elapsed()) {
            self.at(Client::expire);
        }
    }

    /// Returns an unused call number.
    pub fn next_call(&mut self) -> CallId {
        self.last_call += 1;
        CallId(self.last_call)
    }

    pub fn begin(&mut self, socket: RsockId, what: impl Into<SocketCall>) -> CallId {
        let call = self.next_call();
        self.at(|client, now, out| client.call(socket, call, what, now, out));
        call
    }

    pub fn ended(&mut self, call: CallId) -> Option<Returned> {
        self.returned.remove(&call)
    }
}

/// A setup that runs in turns.
pub trait Turns {
    /// Runs one turn of all parts.
    fn turn(&mut self);

    /// Runs turns until `there` returns something.
    fn until<T>(&mut self, mut there: impl FnMut(&mut Self) -> Option<T>) -> T {
        let begin = Instant::now();
        loop {
            if let Some(found) = there(self) {
                return found;
            }
            assert!(begin.elapsed() < PATIENCE, "does not come");
            self.turn();
        }
    }

    /// Runs a far host's function in a thread of its own, while the others take turns.
    fn far<T: Send>(&mut self, work: impl FnOnce() -> T + Send) -> T {
        thread::scope(|scope| {
            let far = scope.spawn(work);
            self.until(|_| far.is_finished().then_some(()));
            far.join().expect("the far host does what it should")
        })
    }
}

pub fn sending(bytes: Vec<u8>) -> SocketCall {
    SocketCall::Send { bytes, to: None, flags: SendFlags::default() }
}
