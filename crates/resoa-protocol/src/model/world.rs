//! Client and server, an ordered Last Hop Protocol between them, and end points whose TCP is a
//! [`Connection`].

use super::far::Connection;
use super::program::Program;
use crate::calls::{Action, CallId, SocketCall, Value};
use crate::client::{Client, Registration};
use crate::lhp::{Connection as LinkId, DisconnectReason, Identity, Indication};
use crate::message::{AddressMode, Create, Family, Message, Operation, Reply, RsockType};
use crate::server::{Addresses, Server, ServerAction, ServerSettings};
use crate::settings::{LingerPolicy, Mutation, Settings, Timers};
use crate::tcp::{Endpoint, TcpAction, TcpEvent};
use crate::{Errno, RsockId};
use std::collections::{BTreeMap, VecDeque};
use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

pub(super) const LINK: LinkId = LinkId(1);
pub(super) const CREATE: Create = Create { family: Family::V4, kind: RsockType::Stream };
/// Time does not matter in a model.
pub(super) const NOW: Duration = Duration::ZERO;

/// Sizes of buffers in bytes.
#[derive(Debug, Clone, Copy)]
pub(super) struct Buffers {
    /// SO_SNDBUF of the client's program.
    pub(super) send: u32,
    /// Buffer of the server.
    pub(super) server: u32,
    /// SO_RCVBUF, and the buffer of the client.
    pub(super) receive: u32,
    /// SO_RCVBUF of the far host.
    pub(super) far: u32,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct World {
    pub(super) client: Client,
    pub(super) server: Server,
    /// Messages in flight to the server, and to the client.
    pub(super) up: VecDeque<Message>,
    pub(super) down: VecDeque<Message>,
    pub(super) connections: BTreeMap<Endpoint, Connection>,
    pub(super) listener: Option<Endpoint>,
    /// How the stack connects, and the end point that it is connecting.
    pub(super) connects: Connects,
    /// Whether the server's stack may accept connections.
    pub(super) admits: bool,
    pub(super) program: Program,
    buffers: [u32; 2],
    /// Whether the link is down for the client, and for the server.
    pub(super) lost: [bool; 2],
    /// Number of the far host's bytes that have reached the client so far, and whether the end of
    /// the stream has.
    pub(super) delivered: (usize, bool),
}

/// How long the stack takes to connect.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Connects {
    AtOnce,
    /// For any time. Nothing is being connected at the moment.
    Late,
    /// For any time. This end point is being connected.
    Now(Endpoint),
}

pub(super) fn address(port: u16) -> SocketAddr {
    (Ipv4Addr::LOCALHOST, port).into()
}

impl World {
    /// Creates a world with a registered client.
    pub(super) fn new(buffers: Buffers, linger: LingerPolicy, mutation: Option<Mutation>) -> Self {
        let settings = Settings {
            chunk: 2,
            send_buffer: buffers.send,
            receive_buffer: buffers.receive,
            report_after: 1,
            linger,
            mutation,
            ..Settings::default()
        };
        let server = ServerSettings {
            chunk: 2,
            send_space: buffers.server,
            mutation,
            ..ServerSettings::new(Addresses::shared(Ipv4Addr::LOCALHOST.into()))
        };
        let mut world = Self {
            client: Client::new(AddressMode::Any, settings, Timers::default()),
            server: Server::new(server),
            up: VecDeque::new(),
            down: VecDeque::new(),
            connections: BTreeMap::new(),
            listener: None,
            connects: Connects::AtOnce,
            admits: false,
            program: Program::default(),
            buffers: [buffers.receive, buffers.far],
            lost: [false; 2],
            delivered: (0, false),
        };
        world.server.connected(LINK, Identity(vec![1]), NOW);
        world.at_client(|client, out| {
            client.start(out);
            client.indication(Indication::Connected, NOW, out);
        });
        world.exchange();
        world
    }

    /// Delivers all messages in flight between client and server.
    pub(super) fn exchange(&mut self) {
        while self.step_up() || self.step_down() {}
    }

    /// Delivers a message to the server, and returns whether there was one.
    pub(super) fn step_up(&mut self) -> bool {
        let Some(message) = self.up.pop_front() else { return false };
        self.at_server(|server, out| server.message(LINK, message, NOW, out));
        true
    }

    /// Delivers a message to the client, and returns whether there was one.
    pub(super) fn step_down(&mut self) -> bool {
        let Some(message) = self.down.pop_front() else { return false };
        self.at_client(|client, out| client.message(message, NOW, out));
        true
    }

    pub(super) fn call(&mut self, socket: RsockId, what: impl Into<SocketCall>) {
        self.at_client(|client, out| client.call(socket, CallId(0), what, NOW, out));
    }

    pub(super) fn at_client(&mut self, event: impl FnOnce(&mut Client, &mut Vec<Action>)) {
        let mut out = Vec::new();
        event(&mut self.client, &mut out);
        for action in out {
            match action {
                Action::Send(message) => self.up.push_back(message),
                Action::Return { result, .. } => self.program.returned(result),
                Action::Registration(Registration::Refused(why)) => panic!("refused: {why:?}"),
                _ => {}
            }
        }
    }

    pub(super) fn at_server(&mut self, event: impl FnOnce(&mut Server, &mut Vec<ServerAction>)) {
        let mut out = Vec::new();
        event(&mut self.server, &mut out);
        for action in out {
            match action {
                ServerAction::Send { message, .. } if !self.lost[0] => self.down.push_back(message),
                ServerAction::Tcp { endpoint, action } => self.tcp(endpoint, action),
                _ => {}
            }
        }
    }

    /// Executes a request to the server's stack. What takes no time is done at once.
    fn tcp(&mut self, endpoint: Endpoint, action: TcpAction) {
        let done = match action {
            TcpAction::Create { .. } => return,
            TcpAction::Close | TcpAction::StopListening if self.listener == Some(endpoint) => {
                self.listener = None;
                return;
            }
            TcpAction::Admit { accept, .. } => {
                self.admits = accept;
                return;
            }
            TcpAction::Execute(Operation::Connect(_)) if self.connects == Connects::Late => {
                self.connects = Connects::Now(endpoint);
                return;
            }
            TcpAction::Abort | TcpAction::Close if self.connects == Connects::Now(endpoint) => {
                self.connects = Connects::Late;
                return;
            }
            TcpAction::Execute(Operation::Connect(peer)) => {
                let [near, far] = self.buffers;
                self.connections.insert(endpoint, Connection::new(near, far));
                Ok(Reply::Connected { local: address(1), peer })
            }
            TcpAction::Execute(Operation::Listen { backlog }) => {
                self.listener = Some(endpoint);
                self.admits = backlog > 0;
                Ok(Reply::Local(address(2)))
            }
            TcpAction::Execute(_) => Err(Errno::EINVAL),
            action => {
                if let Some(connection) = self.connections.get_mut(&endpoint) {
                    connection.act(action);
                }
                return;
            }
        };
        self.at_server(|server, out| server.tcp(endpoint, TcpEvent::Done(done), out));
    }

    /// Delivers a segment to the server.
    pub(super) fn arrive_near(&mut self, endpoint: Endpoint) {
        let event = self.connections.get_mut(&endpoint).and_then(Connection::arrive_near);
        if let Some(event) = event {
            self.at_server(|server, out| server.tcp(endpoint, event, out));
        }
    }

    /// Ends a connection attempt of the stack.
    pub(super) fn answer(&mut self, is_connected: bool) {
        let Connects::Now(endpoint) = self.connects else { return };
        self.connects = Connects::Late;
        let outcome = if is_connected {
            let [near, far] = self.buffers;
            self.connections.insert(endpoint, Connection::new(near, far));
            Ok(Reply::Connected { local: address(1), peer: address(9) })
        } else {
            Err(Errno::ECONNREFUSED)
        };
        self.at_server(|server, out| server.tcp(endpoint, TcpEvent::Done(outcome), out));
    }

    /// A far host connects to the listener.
    pub(super) fn arrival(&mut self) {
        let Some(listener) = self.listener else { return };
        let mut endpoint = None;
        self.at_server(|server, out| endpoint = server.incoming(listener, address(2), address(3), out));
        let mut connection = Connection::new(self.buffers[0], self.buffers[1]);
        connection.program.first += 0x10 * self.connections.len() as u8;
        match endpoint {
            Some(endpoint) => drop(self.connections.insert(endpoint, connection)),
            None => connection.act(TcpAction::Abort),
        }
    }

    /// Tells the client that the link has failed. Messages in flight to it are lost.
    pub(super) fn lose_client(&mut self) {
        self.lost[0] = true;
        self.down.clear();
        self.at_client(|client, out| {
            client.indication(Indication::Disconnected(DisconnectReason::Unreachable), NOW, out);
        });
        self.up.clear();
    }

    /// Tells the server that the link has failed.
    pub(super) fn lose_server(&mut self) {
        self.lost[1] = true;
        self.up.clear();
        self.at_server(|server, out| server.disconnected(LINK, out));
    }

    /// Creates a socket that is connected to a far host.
    pub(super) fn connected_socket(&mut self) -> RsockId {
        let socket = self.client.socket(CREATE).expect("the client is registered");
        self.program.begin();
        self.call(socket, Operation::Connect(address(9)));
        self.exchange();
        assert_eq!(self.program.result(), Some(&Ok(Value::Done)), "connects");
        socket
    }

    /// Returns the only connection.
    pub(super) fn connection(&self) -> &Connection {
        self.connections.values().next().expect("was connected")
    }

    pub(super) fn connection_mut(&mut self) -> (Endpoint, &mut Connection) {
        let (&endpoint, connection) = self.connections.iter_mut().next().expect("was connected");
        (endpoint, connection)
    }
}
