//! The order in which the loop answers programs. An agent and its server take turns in one thread,
//! and the test checks the agent's messages.

use crate::rig::HERE;
use resoa_agent::{Agent, AgentSettings};
use resoa_calls::{Connected, Request, Response, SocketId};
use resoa_carrier::Carrier;
use resoa_carrier::memory::Memory;
use resoa_protocol::lhp::{Connection, Handed, Identity, Indication, LastHop, Provider, Service, Statistics};
use resoa_protocol::message::{AddressMode, Body, Call, Message, Operation};
use resoa_protocol::server::Addresses;
use resoa_protocol::{ServerSettings, Settings, Timers};
use resoa_server::Host;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use std::cell::RefCell;
use std::io;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::rc::Rc;
use std::time::{Duration, Instant};

/// Number of sockets that send at the same time.
const MANY: usize = 64;
/// Number of turns within which any event has happened.
const ENOUGH: usize = 100_000;

/// Messages of the agent, in order.
type Said = Rc<RefCell<Vec<Message>>>;

/// A carrier that records the messages that it sends.
struct Noted(Memory, Said);

impl LastHop for Noted {
    type Error = io::Error;

    fn register(&mut self, service: Service, provider: Provider) -> io::Result<Connection> {
        self.0.register(service, provider)
    }

    fn passive(&mut self, connection: Connection) -> io::Result<()> {
        self.0.passive(connection)
    }

    fn connect(&mut self, connection: Connection, address: &[u8]) {
        self.0.connect(connection, address);
    }

    fn accept(&mut self, connection: Connection) {
        self.0.accept(connection);
    }

    fn close(&mut self, connection: Connection) {
        self.0.close(connection);
    }

    fn reset(&mut self, connection: Connection) {
        self.0.reset(connection);
    }

    fn send(&mut self, connection: Connection, message: &[u8]) -> Handed {
        self.1.borrow_mut().push(Message::decode(message).expect("was written"));
        self.0.send(connection, message)
    }

    fn receive(&mut self, connection: Connection, wanted: bool) {
        self.0.receive(connection, wanted);
    }

    fn statistics(&self, connection: Connection) -> Statistics {
        self.0.statistics(connection)
    }
}

impl Carrier for Noted {
    fn descriptor(&self) -> BorrowedFd<'_> {
        self.0.descriptor()
    }

    fn deadline(&self) -> Option<Instant> {
        self.0.deadline()
    }

    fn poll(&mut self, happened: &mut Vec<(Connection, Indication)>) {
        self.0.poll(happened);
    }
}

/// An agent and its server.
struct Both {
    agent: Agent,
    host: Host<Memory>,
    calls: resoa_calls::Agent,
    said: Said,
    _folder: tempfile::TempDir,
}

fn is_readable(fd: impl AsFd) -> bool {
    poll(&mut [PollFd::new(&fd, PollFlags::IN)], Some(&Timespec::default())) == Ok(1)
}

impl Both {
    fn new() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let listen = folder.path().join("agent");
        let server = Memory::server(1 << 20).expect("descriptors");
        let client = server.client(Identity(vec![1])).expect("descriptors");
        let host = Host::new(ServerSettings::new(Addresses::shared(HERE)), server).expect("descriptors");
        let said = Said::default();
        let settings = AgentSettings {
            listen: listen.clone(),
            mode: AddressMode::Any,
            settings: Settings::default(),
            timers: Timers::default(),
        };
        let agent = Agent::new(settings, Noted(client, Rc::clone(&said)), Vec::new()).expect("a place");
        let calls = resoa_calls::Agent::at(&listen);
        let mut both = Self { agent, host, calls, said, _folder: folder };
        while !matches!(both.connected_to_its_server(), Connected::Yes { .. }) {
            both.turn();
        }
        both
    }

    fn connected_to_its_server(&mut self) -> Connected {
        match self.call(&Request::Status, None).0 {
            Response::Status(status) => status.connected,
            other => panic!("{other:?}"),
        }
    }

    fn turn(&mut self) {
        self.agent.turn(Some(Duration::ZERO)).expect("epoll waits");
        self.host.turn(Some(Duration::ZERO)).expect("epoll waits");
    }

    fn until(&mut self, is_there: impl Fn() -> bool) {
        for _ in 0..ENOUGH {
            if is_there() {
                return;
            }
            self.turn();
        }
        panic!("does not come");
    }

    fn call(&mut self, request: &Request, descriptor: Option<&OwnedFd>) -> (Response, Option<OwnedFd>) {
        let calls = self.calls.clone();
        let started = calls.start(request, descriptor.map(AsFd::as_fd)).expect("it listens");
        self.until(|| is_readable(&started));
        started.answer().expect("it answers")
    }

    fn stream(&mut self) -> (SocketId, OwnedFd) {
        let request =
            Request::Socket { family: libc::AF_INET, kind: libc::SOCK_STREAM, protocol: 0, sees_data: true };
        match self.call(&request, None) {
            (Response::Descriptor(id), Some(fd)) => (id, fd),
            other => panic!("{other:?}"),
        }
    }

    fn connected(&mut self, to: SocketAddr) -> OwnedFd {
        let (socket, fd) = self.stream();
        let request = Request::operation(socket, Operation::Connect(to));
        assert_eq!(self.call(&request, Some(&fd)).0, Response::Done);
        fd
    }
}

/// C33: a program that accepts does not wait for all data of its other connections, as natively.
/// Its call is answered while they are processed.
#[test]
fn a_call_among_much_data() {
    let mut both = Both::new();
    let far = TcpListener::bind((HERE, 0)).expect("loopback");
    let to = far.local_addr().expect("is bound");
    let programs: Vec<OwnedFd> = (0..MANY).map(|_| both.connected(to)).collect();
    let (socket, listener) = both.stream();
    both.call(&Request::operation(socket, Operation::Listen { backlog: 8 }), Some(&listener));
    let Response::Address(address) = both.call(&Request::LocalName(socket), None).0 else {
        panic!("no address")
    };
    let _caller = TcpStream::connect((HERE, address.port())).expect("is taken");
    both.until(|| is_readable(&listener));
    // Until nothing else is in progress.
    for _ in 0..10 {
        both.turn();
    }
    both.said.borrow_mut().clear();
    for program in &programs {
        assert_eq!(rustix::io::write(program, b"x"), Ok(1));
    }
    assert_eq!(rustix::io::read(&listener, &mut [0; 1][..]), Ok(1));
    let calls = both.calls.clone();
    let accept = calls.start(&Request::Accept { socket, flags: 0 }, None).expect("it listens");
    both.agent.turn(Some(Duration::ZERO)).expect("epoll waits");
    assert!(is_readable(&accept), "one turn sees to all of them");
    let said = both.said.borrow();
    let calls: Vec<&Call> = said
        .iter()
        .filter_map(|message| match &message.body {
            Body::Call { call, .. } => Some(call),
            _ => None,
        })
        .collect();
    let accepted = calls.iter().position(|call| matches!(call, Call::Accepted { .. }));
    let written = calls.iter().filter(|call| matches!(call, Call::Write { .. })).count();
    assert_eq!(written, MANY);
    assert_eq!(accepted, Some(16), "of {}", calls.len());
}
