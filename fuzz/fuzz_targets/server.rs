//! The state machine of the server of remote sockets. Clients send any message in any order, lose
//! their connections and return; the stack does whatever a stack may do. Always:
//!
//! * the server asks the stack only for possible operations: on existing end points, of their kind,
//!   and within their limits;
//! * the server sends only messages that it may send, they parse back to the same message, and they
//!   go only to present clients that accept messages;
//! * an ERROR is never answered with an ERROR;
//! * no end point is left when the clients have gone.

use resoa_protocol::lhp::{Connection, Identity};
use resoa_protocol::message::{
    AddressMode, Ancillary, Body, Call, CloseState, Control, Create, Family, Fault, Half, MESSAGE_OCTETS,
    Operation, Query, Reply, RsockType, Update,
};
use resoa_protocol::server::Addresses;
use resoa_protocol::{
    Endpoint, Errno, Incarnation, Message, RsockId, Server, ServerAction, ServerSettings, Target, TcpAction,
    TcpEvent, Xid,
};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::net::SocketAddr;
use std::time::Duration;

const SEND_SPACE: u32 = 64 << 10;
/// Maximum number of operations that wait for the stack at a time.
const PENDING: usize = 256;
/// Number of clients; the first two are the same client.
const CLIENTS: [u8; 3] = [1, 1, 2];

/// One input.
pub fn run(octets: &[u8]) {
    let mut world = World::new(octets);
    while world.step().is_some() {}
    world.end();
}

/// State of a client's connection.
#[derive(Default)]
struct Link {
    connection: u64,
    is_there: bool,
    is_off: bool,
}

/// An end point as the stack sees it.
struct Socket {
    kind: RsockType,
    asked: VecDeque<Operation>,
    is_connected: bool,
    is_listening: bool,
    unacknowledged: u64,
    /// Bytes that were announced and not yet consumed.
    told: u64,
    is_shut: bool,
    /// Whether the far host's FIN has arrived, and whether it is acknowledged.
    fin: [bool; 2],
}

impl Socket {
    fn new(kind: RsockType, is_connected: bool) -> Self {
        Self {
            kind,
            asked: VecDeque::new(),
            is_connected,
            is_listening: false,
            unacknowledged: 0,
            told: 0,
            is_shut: false,
            fin: [false; 2],
        }
    }
}

struct World<'a> {
    script: &'a [u8],
    server: Server,
    links: [Link; 3],
    stack: BTreeMap<Endpoint, Socket>,
    /// End points that could not be created; requests for them have no effect.
    never: BTreeSet<Endpoint>,
    last: u64,
    connections: u64,
    now: Duration,
    resolving: Vec<(Connection, Xid)>,
}

fn address(port: u8) -> SocketAddr {
    ([192, 0, 2, 1], port.into()).into()
}

impl<'a> World<'a> {
    fn new(script: &'a [u8]) -> Self {
        let mut settings = ServerSettings::new(Addresses::shared(address(0).ip()));
        (settings.send_space, settings.sockets, settings.clients) = (SEND_SPACE, 8, 2);
        settings.timers.watchdog = Duration::from_secs(20);
        settings.timers.reply = Duration::from_secs(10);
        Self {
            script,
            server: Server::new(settings),
            links: Default::default(),
            stack: BTreeMap::new(),
            never: BTreeSet::new(),
            last: 0,
            connections: 0,
            now: Duration::ZERO,
            resolving: Vec::new(),
        }
    }

    fn byte(&mut self) -> Option<u8> {
        let (&first, rest) = self.script.split_first()?;
        self.script = rest;
        Some(first)
    }

    fn flag(&mut self) -> Option<bool> {
        Some(self.byte()? & 1 == 1)
    }

    fn octets(&mut self) -> Option<Vec<u8>> {
        Some(vec![7; [0, 1, 5, 1000, 16 << 10, 65_000][usize::from(self.byte()? % 6)]])
    }

    fn step(&mut self) -> Option<()> {
        let (what, who) = (self.byte()?, usize::from(self.byte()? % 3));
        self.now += Duration::from_millis(200);
        let (now, connection, is_there) =
            (self.now, Connection(self.links[who].connection), self.links[who].is_there);
        let mut out = Vec::new();
        match what % 16 {
            0 if !is_there => self.comes(who),
            0 | 1 if self.byte()? < 8 => {
                self.links[who].is_there = false;
                self.server.disconnected(connection, &mut out);
            }
            2 if is_there => {
                self.links[who].is_off = self.flag()?;
                self.server.flow(connection, !self.links[who].is_off, &mut out);
            }
            3 => self.server.remind(&mut out),
            4 => {
                let wait = self.byte()? % 16;
                self.now += Duration::from_secs(wait.into());
                self.server.expire(self.now, &mut out);
            }
            5 => {
                if let Some((connection, xid)) = self.resolving.pop() {
                    let outcome =
                        if self.flag()? { Ok(Reply::Hosts(vec![address(1)])) } else { Err(Errno::EAGAIN) };
                    self.server.resolved(connection, xid, outcome, &mut out);
                }
            }
            6..=9 => self.stack_does(&mut out)?,
            10 if is_there => {
                let target = self.target()?;
                let call = Call::Datagram { to: None, ancillary: Ancillary::none(), bytes: self.octets()? };
                let body = Body::Call { create: None, consumed: self.byte()?.into(), call };
                self.server.lost_datagram(connection, Message { target, body }, now, &mut out);
            }
            _ if is_there => {
                let message = self.message()?;
                // Skip messages that a carrier could not have delivered.
                if let Ok(message) = Message::decode(&message.encode()) {
                    let is_error = matches!(message.body, Body::Control(Control::Error(_)));
                    self.server.message(connection, message, now, &mut out);
                    let is_answer = |action: &ServerAction| matches!(action, ServerAction::Send { message, .. } if matches!(message.body, Body::Control(Control::Error(_))));
                    assert!(!is_error || !out.iter().any(is_answer), "an ERROR for an ERROR");
                }
            }
            _ => {}
        }
        self.take(out);
        Some(())
    }

    fn comes(&mut self, who: usize) {
        self.connections += 1;
        self.links[who] = Link { connection: self.connections, is_there: true, is_off: false };
        self.server.connected(Connection(self.connections), Identity(vec![CLIENTS[who]]), self.now);
    }

    fn target(&mut self) -> Option<Target> {
        let number = self.byte()?;
        Some(match number % 8 {
            7 => Target::Child {
                listener: RsockId((self.byte()? % 6).into()),
                incarnation: Incarnation((self.byte()? % 4).into()),
            },
            number => Target::Socket(RsockId(number.into())),
        })
    }

    fn create(&mut self) -> Option<Option<Create>> {
        let number = self.byte()?;
        let kind = [RsockType::Stream, RsockType::Datagram, RsockType::Lite][usize::from(number / 4 % 3)];
        let family = if number & 1 == 0 { Family::V4 } else { Family::V6 };
        Some((number & 2 == 0).then_some(Create { family, kind }))
    }

    fn request(&mut self, xid: Xid) -> Option<Body> {
        let (create, number) = (self.create()?, self.byte()?);
        let operation = match number % 8 {
            0 => Operation::Bind(address(number)),
            1 | 2 => Operation::Connect(address(number)),
            3 => Operation::Disconnect,
            4 => Operation::Listen { backlog: (number >> 4).into() },
            5 => Operation::SetOption { level: 1, name: 8, value: vec![number; 4] },
            6 => Operation::GetOption { level: 6, name: 11, length: 200 },
            _ if number & 8 == 0 => Operation::Ioctl { command: 1, argument: vec![0; 4] },
            _ => return Some(Body::Resolve { xid, query: Query::Address(address(number)) }),
        };
        Some(Body::Request { xid, create, operation })
    }

    fn call(&mut self) -> Option<Call> {
        let number = self.byte()?;
        let state = if number & 16 == 0 { CloseState::Close } else { CloseState::DataPending };
        Some(match number % 12 {
            0 => Call::Listen { backlog: (number >> 5).into() },
            1 => Call::Accepted {
                incarnation: Incarnation((number >> 6).into()),
                socket: RsockId((self.byte()? % 8).into()),
            },
            2 | 3 => {
                Call::Write { bytes: self.octets()?, urgent: number & 32 != 0, scarce: number & 64 != 0 }
            }
            4 | 5 => {
                let to = (number & 32 != 0).then(|| address(number));
                Call::Datagram { to, ancillary: Ancillary::none(), bytes: self.octets()? }
            }
            6 => Call::Consumed,
            7 => Call::SetOption { level: 1, name: 9, value: vec![1; 4] },
            8 => Call::Close { state, abort: number & 32 != 0, linger: number & 64 != 0 },
            9 => Call::Shutdown {
                half: [Half::Read, Half::Write, Half::Both][usize::from(number >> 6) % 3],
                state,
            },
            10 => Call::FinDelivered,
            _ => [Call::LingerExpired, Call::LocalAddress][usize::from(number >> 4) % 2].clone(),
        })
    }

    fn control(&mut self) -> Option<Control> {
        let number = self.byte()?;
        let mode = [AddressMode::Any, AddressMode::Shared, AddressMode::Own][usize::from(number >> 4) % 3];
        Some(match number % 8 {
            0..=3 => Control::Register {
                version: 1,
                mode,
                receive_space: [0, 1000, 1 << 20, u32::MAX][usize::from(number >> 6)],
                resume: number & 8 != 0,
            },
            4 => Control::Deregister { graceful: number & 16 == 0 },
            5 => Control::StillAlive { reply: number & 16 == 0 },
            6 => Control::RequestPending(Xid((number >> 5).into())),
            _ => Control::Error(Fault::InvalidRsockId),
        })
    }

    fn message(&mut self) -> Option<Message> {
        let what = self.byte()?;
        if what == u8::MAX {
            // As in the script.
            let length = usize::from(self.byte()?).min(self.script.len());
            let (octets, rest) = self.script.split_at(length);
            self.script = rest;
            return Message::decode(octets).ok();
        }
        if what % 8 == 0 {
            return Some(Message::control(self.control()?));
        }
        let target = self.target()?;
        let body = match what % 8 {
            1 | 2 => self.request(Xid((what >> 4).into()))?,
            3..=6 => {
                let consumed = u32::from(self.byte()?) * 100;
                Body::Call { create: self.create()?, consumed, call: self.call()? }
            }
            _ if what & 8 == 0 => Body::Control(self.control()?),
            _ if what & 16 == 0 => Body::Update(Update::SendFreed(u32::MAX)),
            _ => Body::Response { xid: Xid(0), outcome: Ok(Reply::Done) },
        };
        Some(Message { target, body })
    }

    /// Makes an event happen at an end point that allows it.
    fn stack_does(&mut self, out: &mut Vec<ServerAction>) -> Option<()> {
        let (which, what) = (self.byte()?, self.byte()?);
        let count = self.stack.len().max(1);
        let Some((&endpoint, socket)) = self.stack.iter_mut().nth(usize::from(which) % count) else {
            return Some(());
        };
        let is_stream = socket.kind == RsockType::Stream;
        let is_up = is_stream && socket.is_connected;
        let event = match what % 10 {
            0 | 1 => {
                let Some(operation) = socket.asked.pop_front() else { return Some(()) };
                let is_fine = what < 200;
                socket.is_connected |= is_fine && matches!(operation, Operation::Connect(_));
                socket.is_listening |= is_fine && matches!(operation, Operation::Listen { .. });
                TcpEvent::Done(match operation {
                    _ if !is_fine => Err(Errno::EADDRINUSE),
                    Operation::Bind(address) => Ok(Reply::Local(address)),
                    Operation::Connect(peer) => Ok(Reply::Connected { local: address(1), peer }),
                    Operation::SetOption { value, .. } => Ok(Reply::Value(value)),
                    _ => Ok(Reply::Done),
                })
            }
            2 | 3 if is_up && !socket.fin[0] => {
                socket.told += u64::from(what);
                TcpEvent::Received(vec![1; what.into()])
            }
            4 if !is_stream => TcpEvent::Datagram {
                from: address(what),
                ancillary: Ancillary::none(),
                bytes: vec![1; what.into()],
            },
            4 if is_up => TcpEvent::Urgent { ahead: what.into() },
            5 if socket.unacknowledged > 0 => {
                let count = socket.unacknowledged.min(u64::from(what) * 300);
                socket.unacknowledged -= count;
                TcpEvent::Acknowledged(count as u32)
            }
            6 if is_up && !socket.fin[0] => {
                socket.fin[0] = true;
                TcpEvent::FinReceived
            }
            7 if is_up && socket.is_shut && socket.unacknowledged == 0 => TcpEvent::FinAcknowledged,
            8 if is_up || !is_stream => {
                socket.is_connected &= !is_stream;
                TcpEvent::Failed(Errno::ECONNRESET)
            }
            9 if socket.is_listening => {
                if let Some(child) = self.server.incoming(endpoint, address(1), address(what), out) {
                    self.fresh(child);
                    self.stack.insert(child, Socket::new(RsockType::Stream, true));
                }
                return Some(());
            }
            9 => TcpEvent::Located(address(what)),
            _ => return Some(()),
        };
        self.server.tcp(endpoint, event, out);
        Some(())
    }

    /// Returns an id that no end point has had.
    fn fresh(&mut self, endpoint: Endpoint) {
        assert!(endpoint.0 > self.last, "{endpoint:?} again");
        self.last = endpoint.0;
    }

    /// Carries out the server's requests.
    fn take(&mut self, out: Vec<ServerAction>) {
        let mut queue = VecDeque::from(out);
        while let Some(action) = queue.pop_front() {
            match action {
                ServerAction::Send { connection, message } => self.sent(connection, &message),
                ServerAction::Tcp { endpoint, action } => {
                    let mut more = Vec::new();
                    self.asked(endpoint, action, &mut more);
                    queue.extend(more);
                }
                ServerAction::Resolve { connection, xid, .. } => {
                    assert!(self.link(connection).is_some(), "for nobody");
                    self.resolving.push((connection, xid));
                }
                ServerAction::Reset(connection) => {
                    if let Some(link) = self.link(connection) {
                        link.is_there = false;
                    }
                }
            }
        }
    }

    fn link(&mut self, connection: Connection) -> Option<&mut Link> {
        self.links.iter_mut().find(|link| link.is_there && Connection(link.connection) == connection)
    }

    fn sent(&mut self, connection: Connection, message: &Message) {
        let octets = message.encode();
        assert!(octets.len() <= MESSAGE_OCTETS, "{} octets", octets.len());
        assert_eq!(Message::decode(&octets).as_ref(), Ok(message));
        let is_of_client =
            matches!(message.body, Body::Request { .. } | Body::Resolve { .. } | Body::Call { .. });
        assert!(!is_of_client, "a client's: {message:?}");
        let Some(link) = self.link(connection) else { panic!("for nobody: {message:?}") };
        assert!(!link.is_off || message.may_be_lost(), "it does not take {message:?}");
    }

    fn asked(&mut self, endpoint: Endpoint, action: TcpAction, more: &mut Vec<ServerAction>) {
        if let TcpAction::Create { create, .. } = action {
            self.fresh(endpoint);
            if endpoint.0 % 7 == 3 {
                self.never.insert(endpoint);
                self.server.tcp(endpoint, TcpEvent::NotCreated, more);
            } else {
                self.stack.insert(endpoint, Socket::new(create.kind, false));
            }
            return;
        }
        if self.never.contains(&endpoint) {
            return;
        }
        let Some(socket) = self.stack.get_mut(&endpoint) else { panic!("{action:?} of nothing") };
        let is_stream = socket.kind == RsockType::Stream;
        match action {
            TcpAction::Create { .. } => {}
            TcpAction::Execute(operation) => {
                assert!(is_stream || !matches!(operation, Operation::Listen { .. }), "{operation:?}");
                socket.asked.push_back(operation);
                assert!(socket.asked.len() <= PENDING, "more than a stack is asked at a time");
            }
            TcpAction::Admit { .. } => assert!(is_stream),
            TcpAction::StopListening => {
                assert!(is_stream);
                socket.is_listening = false;
            }
            TcpAction::Send { bytes, .. } => {
                assert!(is_stream && !socket.is_shut && !bytes.is_empty(), "{bytes:?}");
                socket.unacknowledged += bytes.len() as u64;
                assert!(socket.unacknowledged <= SEND_SPACE.into(), "more than it has room for");
            }
            TcpAction::SendTo { .. } => assert!(!is_stream),
            TcpAction::Locate => {}
            TcpAction::Consume(count) => {
                assert!(is_stream && u64::from(count) <= socket.told, "{count} of {}", socket.told);
                socket.told -= u64::from(count);
            }
            TcpAction::ShutdownWrite => assert!(is_stream && !std::mem::replace(&mut socket.is_shut, true)),
            TcpAction::ReleaseFin => {
                assert!(socket.fin[0] && !std::mem::replace(&mut socket.fin[1], true), "no FIN is held");
            }
            TcpAction::Close | TcpAction::Abort => drop(self.stack.remove(&endpoint)),
        }
    }

    fn end(&mut self) {
        for who in 0..self.links.len() {
            let (connection, mut out) = (Connection(self.links[who].connection), Vec::new());
            self.links[who].is_there = false;
            self.server.disconnected(connection, &mut out);
            self.take(out);
            assert_eq!(self.server.sockets(connection), 0);
        }
        assert!(self.stack.is_empty(), "{:?} are left", self.stack.keys());
        let mut out = Vec::new();
        self.server.remind(&mut out);
        assert!(out.is_empty() && !self.server.owes());
    }
}
