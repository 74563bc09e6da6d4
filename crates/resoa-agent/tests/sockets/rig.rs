//! An agent, its server, and programs.

use confinement::{Confinement, Needs};
use resoa_agent::{Agent, AgentSettings, LocalRules};
use resoa_calls::{Connected, Request, Response, SocketId, SocketName, Status};
use resoa_carrier::memory::Memory;
use resoa_protocol::lhp::Identity;
use resoa_protocol::message::{AddressMode, Operation};
use resoa_protocol::server::Addresses;
use resoa_protocol::{ServerSettings, Settings, Timers};
use resoa_server::{Host, ServerThread, keep_kernel_lists};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fd::{AsFd, OwnedFd};
use std::io::Read;
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// Time after which an event is considered missing.
pub const PATIENCE: Duration = Duration::from_secs(30);
/// Bytes that the carrier accepts before it stops the sender.
const ROOM: usize = 1 << 20;
/// Address of the far hosts.
pub const HERE: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);
/// Address of the server's sockets, in tests that distinguish them from the agent's host.
pub const THERE: IpAddr = IpAddr::V4(Ipv4Addr::new(127, 0, 0, 9));
/// All events to poll for.
pub const ALL: PollFlags = PollFlags::IN.union(PollFlags::OUT).union(PollFlags::RDHUP).union(PollFlags::PRI);

/// An agent that is registered at its server; both run until it is dropped.
pub struct Rig {
    calls: resoa_calls::Agent,
    stop: Arc<AtomicBool>,
    /// Whether to cut the carrier.
    cut: Arc<AtomicBool>,
    server_sockets: Arc<AtomicUsize>,
    threads: Vec<JoinHandle<()>>,
    _folder: tempfile::TempDir,
}

impl Rig {
    pub fn new() -> Self {
        Self::with(Settings::default())
    }

    pub fn with(settings: Settings) -> Self {
        Self::of(settings, HERE)
    }

    /// Creates a rig whose sockets have this address.
    pub fn of(settings: Settings, address: IpAddr) -> Self {
        let rig = Self::made(settings, LocalRules::default(), Some(address));
        rig.registered();
        rig
    }

    /// Creates a rig with these local destinations, and a server whose sockets are at [`THERE`].
    pub fn with_local(rules: &[&str]) -> Self {
        let rig = Self::made(Settings::default(), local(rules), Some(THERE));
        rig.registered();
        rig
    }

    /// As [`with_local`](Self::with_local), with a server that never answers.
    pub fn without_server(rules: &[&str]) -> Self {
        Self::made(Settings::default(), local(rules), None)
    }

    fn made(settings: Settings, local: LocalRules, address: Option<IpAddr>) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let listen = folder.path().join("agent");
        let stop = Arc::new(AtomicBool::new(false));
        let cut = Arc::new(AtomicBool::new(false));
        let server_sockets = Arc::new(AtomicUsize::new(0));
        let server = Memory::server(ROOM).expect("descriptors");
        let client = server.client(Identity(vec![1])).expect("descriptors");
        let threads = vec![
            thread::spawn({
                let (stop, count) = (Arc::clone(&stop), Arc::clone(&server_sockets));
                move || serve(server, address, &stop, &count)
            }),
            thread::spawn({
                let (stop, cut, listen) = (Arc::clone(&stop), Arc::clone(&cut), listen.clone());
                move || attend(client, listen, (settings, local), &stop, &cut)
            }),
        ];
        let calls = resoa_calls::Agent::at(&listen);
        let rig = Self { calls, stop, cut, server_sockets, threads, _folder: folder };
        until(|| listen.exists().then_some(()));
        rig
    }

    /// Waits for the registration.
    pub fn registered(&self) {
        until(|| match self.calls.call(&Request::Status, None) {
            Ok((Response::Status(Status { connected: Connected::Yes { .. }, .. }), _)) => Some(()),
            _ => None,
        });
    }

    pub fn status(&self) -> Status {
        match self.call(&Request::Status, None) {
            Response::Status(status) => status,
            other => panic!("{other:?}"),
        }
    }

    /// Cuts the link, as an outage does.
    pub fn cut(&self) {
        self.cut.store(true, Ordering::SeqCst);
    }

    pub fn calls(&self) -> &resoa_calls::Agent {
        &self.calls
    }

    pub fn call(&self, request: &Request, descriptor: Option<&OwnedFd>) -> Response {
        self.calls.call(request, descriptor.map(AsFd::as_fd)).expect("it answers").0
    }

    pub fn stream(&self) -> Program {
        self.socket(libc::SOCK_STREAM)
    }

    pub fn socket(&self, kind: i32) -> Program {
        self.socket_of(kind, true)
    }

    /// As [`socket`](Self::socket), for an interposer that does not intercept calls that read.
    pub fn unseen(&self, kind: i32) -> Program {
        self.socket_of(kind, false)
    }

    fn socket_of(&self, kind: i32, sees_data: bool) -> Program {
        let request = Request::Socket { family: libc::AF_INET, kind, protocol: 0, sees_data };
        match self.calls.call(&request, None).expect("it answers") {
            (Response::Descriptor(id), Some(fd)) => {
                assert_eq!(SocketName::of(&fd).map(|name| name.socket), Some(id));
                Program { fd, id }
            }
            other => panic!("{other:?}"),
        }
    }

    /// Returns a connection to a far host, and the far host's end of it.
    pub fn connected(&self) -> (Program, TcpStream) {
        let listener = TcpListener::bind((HERE, 0)).expect("loopback");
        let program = self.stream();
        assert_eq!(self.connect(&program, at(&listener)), Response::Done);
        (program, listener.accept().expect("has connected").0)
    }

    pub fn connect(&self, program: &Program, to: SocketAddr) -> Response {
        let request = Request::operation(program.id, Operation::Connect(to));
        self.call(&request, Some(&program.fd))
    }

    pub fn begin_to_connect(&self, program: &Program, to: SocketAddr) -> Response {
        let request =
            Request::Operation { socket: program.id, operation: Operation::Connect(to), nonblocking: true };
        self.call(&request, Some(&program.fd))
    }

    /// Returns SO_ERROR, which clears it.
    pub fn error(&self, program: &Program) -> i32 {
        self.option(program, libc::SOL_SOCKET, libc::SO_ERROR)
    }

    pub fn option(&self, program: &Program, level: i32, name: i32) -> i32 {
        let request = Request::operation(program.id, Operation::GetOption { level, name, length: 4 });
        match self.call(&request, None) {
            Response::Value(value) => i32::from_ne_bytes(value.try_into().expect("an int")),
            other => panic!("{other:?}"),
        }
    }

    pub fn set_option(&self, program: &Program, level: i32, name: i32, value: &[i32]) {
        let value = value.iter().flat_map(|number| number.to_ne_bytes()).collect();
        let request = Request::operation(program.id, Operation::SetOption { level, name, value });
        assert_eq!(self.call(&request, None), Response::Done);
    }

    /// Waits until the agent and the server have no sockets left.
    pub fn nothing_is_left(&self) {
        until(|| (self.status().open == 0 && self.server_sockets.load(Ordering::SeqCst) == 0).then_some(()));
    }
}

impl Drop for Rig {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::SeqCst);
        for thread in self.threads.drain(..) {
            let ended = thread.join();
            assert!(thread::panicking() || ended.is_ok(), "a thread has failed");
        }
    }
}

fn local(rules: &[&str]) -> LocalRules {
    let destinations = rules.iter().map(|rule| rule.parse().expect("a destination")).collect();
    LocalRules { destinations, names: Vec::new() }
}

fn serve(carrier: Memory, address: Option<IpAddr>, stop: &AtomicBool, count: &AtomicUsize) {
    let Some(address) = address else { return };
    let mut host = Host::new(ServerSettings::new(Addresses::shared(address)), carrier).expect("descriptors");
    while !stop.load(Ordering::SeqCst) {
        host.turn(Some(Duration::from_millis(2))).expect("epoll waits");
        count.store(host.sockets(), Ordering::SeqCst);
    }
}

fn attend(
    carrier: Memory,
    listen: PathBuf,
    (settings, local): (Settings, LocalRules),
    stop: &AtomicBool,
    cut: &AtomicBool,
) {
    let settings = AgentSettings { listen, mode: AddressMode::Any, settings, timers: Timers::default() };
    let mut agent = Agent::new(settings, carrier, Vec::new()).expect("a place");
    // As the command does. Confinement applies to this thread and those that it starts.
    let needs = Needs { low_ports: !local.is_empty(), sockets: agent.connects_to(), ..Needs::default() };
    keep_kernel_lists();
    Confinement::enter_here(&needs, true).expect("the kernel can");
    assert!(std::fs::read("/etc/passwd").is_err(), "it is in force");
    let server = (!local.is_empty()).then(|| ServerThread::start(local.client()));
    let (_server, carrier) = server.transpose().expect("descriptors and a thread").unzip();
    if let Some(carrier) = carrier {
        agent.serve_locally(&local, carrier).expect("descriptors");
    }
    while !stop.load(Ordering::SeqCst) {
        agent.turn(Some(Duration::from_millis(20))).expect("epoll waits");
        if cut.swap(false, Ordering::SeqCst) {
            agent.cut();
        }
    }
}

/// A program's socket.
#[derive(Debug)]
pub struct Program {
    pub fd: OwnedFd,
    pub id: SocketId,
}

impl Program {
    /// Returns the descriptor's poll events.
    pub fn polled(&self) -> PollFlags {
        polled(&self.fd)
    }

    pub fn write(&self, octets: &[u8]) {
        let mut rest = octets;
        while !rest.is_empty() {
            rest = &rest[rustix::io::write(&self.fd, rest).expect("is connected")..];
        }
    }

    /// Reads this many bytes, or fewer at the end.
    pub fn read(&self, count: usize) -> Vec<u8> {
        let mut octets = vec![0; count];
        let mut read = 0;
        while read < count {
            match rustix::io::read(&self.fd, &mut octets[read..]).expect("is connected") {
                0 => break,
                more => read += more,
            }
        }
        octets.truncate(read);
        octets
    }

    /// Reads everything to the end.
    pub fn read_to_end(&self) -> Result<Vec<u8>, rustix::io::Errno> {
        let (mut all, mut room) = (Vec::new(), vec![0; 1 << 16]);
        loop {
            match rustix::io::read(&self.fd, &mut room[..])? {
                0 => return Ok(all),
                count => all.extend(&room[..count]),
            }
        }
    }
}

/// Returns a descriptor's poll events.
pub fn polled(fd: impl AsFd) -> PollFlags {
    let mut polled = [PollFd::new(&fd, ALL)];
    poll(&mut polled, Some(&Timespec { tv_sec: 0, tv_nsec: 0 })).expect("polls");
    polled[0].revents()
}

pub fn at(listener: &TcpListener) -> SocketAddr {
    listener.local_addr().expect("is bound")
}

/// Returns the address of a port that refuses connections.
pub fn nobody() -> SocketAddr {
    at(&TcpListener::bind((HERE, 0)).expect("loopback"))
}

/// Waits until `there` returns a value.
pub fn until<T>(mut there: impl FnMut() -> Option<T>) -> T {
    let begin = Instant::now();
    loop {
        if let Some(found) = there() {
            return found;
        }
        assert!(begin.elapsed() < PATIENCE, "does not come");
        thread::sleep(Duration::from_millis(1));
    }
}

/// Waits until a descriptor polls exactly this.
pub fn until_polled(fd: impl AsFd, wanted: PollFlags) {
    let begin = Instant::now();
    loop {
        let found = polled(&fd);
        if found == wanted {
            return;
        }
        assert!(begin.elapsed() < PATIENCE, "poll says {found:?}, not {wanted:?}");
        thread::sleep(Duration::from_millis(1));
    }
}

/// Waits until a descriptor polls at least this.
pub fn until_polled_has(fd: impl AsFd, wanted: PollFlags) {
    until(|| polled(&fd).contains(wanted).then_some(()));
}

pub fn read_exactly(far: &mut TcpStream, count: usize) -> Vec<u8> {
    let mut octets = vec![0; count];
    far.read_exact(&mut octets).expect("so many come");
    octets
}
