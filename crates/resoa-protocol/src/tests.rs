//! Client and server side by side, with a stack that answers as the test says.

mod any;
mod calls;
mod closing;
mod datagrams;
mod failures;
mod listening;
mod opening;
mod options;
mod parts;
mod registration;
mod transfer;

use crate::calls::{Action, CallId, ReceiveFlags, SendFlags, Signal, SocketCall, Value};
use crate::client::{Client, Registration};
use crate::lhp::{Connection, Identity, Indication};
use crate::message::{AddressMode, Create, Family, Operation, Reply, RsockType};
use crate::server::{Addresses, Server, ServerAction, ServerSettings};
use crate::settings::{Settings, Timers};
use crate::tcp::{Endpoint, TcpAction, TcpEvent};
use crate::{Errno, Message, RsockId};
use std::collections::BTreeMap;
use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

const LINK: Connection = Connection(1);
const STREAM: Create = Create { family: Family::V4, kind: RsockType::Stream };
const DATAGRAM: Create = Create { family: Family::V4, kind: RsockType::Datagram };
const SOL_SOCKET: i32 = 1;

fn address(port: u16) -> SocketAddr {
    (Ipv4Addr::new(192, 0, 2, 1), port).into()
}

/// Result of a call.
type Returned = Result<Value, Errno>;

struct Pair {
    client: Client,
    server: Server,
    now: Duration,
    last_call: u64,
    returned: BTreeMap<CallId, Returned>,
    signals: Vec<Signal>,
    registrations: Vec<Registration>,
    /// Requests to the stack.
    stack: Vec<(Endpoint, TcpAction)>,
    /// Number of messages that have crossed the link: up, down.
    messages: [usize; 2],
    up: Vec<Message>,
    down: Vec<Message>,
    /// Whether messages cross the link at once.
    flows: bool,
    /// Messages are crossing the link at the moment.
    exchanging: bool,
    /// Whether a reset of the Last Hop Protocol was requested, by the client and by the server.
    resets: [bool; 2],
}

impl Pair {
    fn new() -> Self {
        Self::with(Settings::default(), ServerSettings::new(Addresses::shared(address(0).ip())))
    }

    /// Creates a pair whose client is registered.
    fn with(settings: Settings, server: ServerSettings) -> Self {
        let mut pair = Self::unregistered(AddressMode::Any, settings, server);
        pair.register();
        assert!(matches!(pair.registrations.pop(), Some(Registration::Registered(_))));
        pair.messages = [0; 2];
        pair
    }

    fn unregistered(mode: AddressMode, settings: Settings, server: ServerSettings) -> Self {
        Self {
            client: Client::new(mode, settings, Timers::default()),
            server: Server::new(server),
            now: Duration::ZERO,
            last_call: 0,
            returned: BTreeMap::new(),
            signals: Vec::new(),
            registrations: Vec::new(),
            stack: Vec::new(),
            messages: [0; 2],
            up: Vec::new(),
            down: Vec::new(),
            flows: true,
            exchanging: false,
            resets: [false; 2],
        }
    }

    fn register(&mut self) {
        self.server.connected(LINK, Identity(vec![7]), self.now);
        self.at_client(|client, now, out| {
            client.start(out);
            client.indication(Indication::Connected, now, out);
        });
    }

    fn at_client(&mut self, event: impl FnOnce(&mut Client, Duration, &mut Vec<Action>)) {
        let mut out = Vec::new();
        event(&mut self.client, self.now, &mut out);
        for action in out {
            match action {
                Action::Send(message) => self.up.push(message),
                Action::Return { call, result } => {
                    assert!(self.returned.insert(call, result).is_none(), "{call:?} returns twice");
                }
                Action::Signal { signal, .. } => self.signals.push(signal),
                Action::Registration(registration) => self.registrations.push(registration),
                Action::Reset => self.resets[0] = true,
                Action::Ready { .. } | Action::Connect | Action::Close => {}
            }
        }
        self.exchange();
    }

    fn at_server(&mut self, event: impl FnOnce(&mut Server, Duration, &mut Vec<ServerAction>)) {
        let mut out = Vec::new();
        event(&mut self.server, self.now, &mut out);
        for action in out {
            match action {
                ServerAction::Send { message, .. } => self.down.push(message),
                ServerAction::Tcp { endpoint, action } => self.stack.push((endpoint, action)),
                ServerAction::Resolve { .. } => {}
                ServerAction::Reset(_) => self.resets[1] = true,
            }
        }
        self.exchange();
    }

    /// Delivers all messages across the link, encoded and decoded again.
    fn exchange(&mut self) {
        if std::mem::replace(&mut self.exchanging, true) {
            return;
        }
        while self.flows && !(self.up.is_empty() && self.down.is_empty()) {
            for message in std::mem::take(&mut self.up) {
                self.messages[0] += 1;
                let message = Message::decode(&message.encode()).expect("was written");
                self.at_server(|server, now, out| server.message(LINK, message, now, out));
            }
            for message in std::mem::take(&mut self.down) {
                self.messages[1] += 1;
                let octets = message.encode();
                self.at_client(|client, now, out| client.indication(Indication::Data(octets), now, out));
            }
            assert!(self.messages[0] < 1000, "no end of messages");
        }
        self.exchanging = false;
    }

    /// Begins a call.
    fn begin(&mut self, socket: RsockId, what: impl Into<SocketCall>) -> CallId {
        self.last_call += 1;
        let call = CallId(self.last_call);
        self.at_client(|client, now, out| client.call(socket, call, what, now, out));
        call
    }

    /// Takes the result of a call; `None` if it still waits.
    fn ended(&mut self, call: CallId) -> Option<Returned> {
        self.returned.remove(&call)
    }

    /// Executes a call that returns at once.
    fn call(&mut self, socket: RsockId, what: impl Into<SocketCall>) -> Returned {
        let call = self.begin(socket, what);
        self.ended(call).expect("returns at once")
    }

    fn socket(&mut self, create: Create) -> RsockId {
        self.client.socket(create).expect("there is room")
    }

    /// Takes the requests to the stack since the last call of this function.
    fn asked(&mut self) -> Vec<TcpAction> {
        self.stack.drain(..).map(|(_, action)| action).collect()
    }

    fn event(&mut self, endpoint: u64, event: TcpEvent) {
        self.at_server(|server, _, out| server.tcp(Endpoint(endpoint), event, out));
    }

    fn done(&mut self, endpoint: u64, outcome: Result<Reply, Errno>) {
        self.event(endpoint, TcpEvent::Done(outcome));
    }

    /// Creates a connected stream: socket 1 at end point 1, if it is the first.
    fn connected(&mut self) -> RsockId {
        let socket = self.socket(STREAM);
        let call = self.begin(socket, Operation::Connect(address(80)));
        self.done(socket.0.into(), Ok(Reply::Connected { local: address(40_000), peer: address(80) }));
        assert_eq!(self.ended(call), Some(Ok(Value::Done)));
        self.stack.clear();
        self.messages = [0; 2];
        socket
    }

    fn send(&mut self, socket: RsockId, bytes: &[u8]) -> CallId {
        let flags = SendFlags::default();
        self.begin(socket, SocketCall::Send { bytes: bytes.to_vec(), to: None, flags })
    }

    fn receive(&mut self, socket: RsockId, length: usize) -> CallId {
        self.begin(socket, SocketCall::Receive { length, flags: ReceiveFlags::default() })
    }

    /// Reads what there is, without waiting.
    fn read(&mut self, socket: RsockId, length: usize) -> Returned {
        let flags = ReceiveFlags { dont_wait: true, ..ReceiveFlags::default() };
        self.call(socket, SocketCall::Receive { length, flags })
    }

    /// Returns the result of `poll` as letters: I, O, P(RI), E, H, R(DHUP).
    fn poll(&self, socket: RsockId) -> String {
        let ready = self.client.readiness(socket).expect("there is such a socket");
        let letters = [
            (ready.input, 'I'),
            (ready.output, 'O'),
            (ready.urgent, 'P'),
            (ready.error, 'E'),
            (ready.hung_up, 'H'),
            (ready.peer_hung_up, 'R'),
        ];
        letters.iter().filter(|(is_set, _)| *is_set).map(|&(_, letter)| letter).collect()
    }

    fn set(&mut self, socket: RsockId, name: i32, value: &[i32]) -> Returned {
        let value = value.iter().flat_map(|number| number.to_ne_bytes()).collect();
        self.call(socket, Operation::SetOption { level: SOL_SOCKET, name, value })
    }

    fn get(&mut self, socket: RsockId, name: i32) -> i32 {
        match self.call(socket, Operation::GetOption { level: SOL_SOCKET, name, length: 4 }) {
            Ok(Value::Option(value)) => i32::from_ne_bytes(value.try_into().expect("four octets")),
            other => panic!("{other:?}"),
        }
    }
}

#[expect(clippy::unnecessary_wraps, reason = "what a call returns")]
fn bytes(octets: &[u8]) -> Returned {
    Ok(Value::Bytes(octets.to_vec()))
}

fn execute(operation: Operation) -> TcpAction {
    TcpAction::Execute(operation)
}
