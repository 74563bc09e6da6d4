//! An agent without a server: the port of an address determines the result of a call.

use resoa_calls::{
    Request, Response, SocketId, SocketName, datagram, descriptor::set_mark, receive_request, respond,
};
use resoa_protocol::message::{Operation, Query};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::fd::{AsFd, OwnedFd};
use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, Shutdown, SocketAddrUnix, SocketFlags, SocketType, accept_with,
    bind, connect, listen, recv, send, shutdown, socket_with, socketpair,
};
use std::collections::HashMap;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

/// The connection is refused.
pub const REFUSED: u16 = 1;
/// Connects and sends `hello`.
pub const HELLO: u16 = 80;
/// Connects, sends `last` and is reset.
pub const RESET: u16 = 81;
/// Connects and is reset after its end of stream.
pub const ENDED: u16 = 82;
/// Connects and sends one byte every 20 ms, twice, then the end of stream.
pub const SLOW: u16 = 84;
/// Connects and sends one byte every 5 ms as long as somebody reads.
pub const DRIP: u16 = 86;
/// Connects, reads nothing, and fails some time after the program has sent something.
pub const LOST: u16 = 85;
/// Does not answer.
pub const SILENT: u16 = 83;

/// Gives each agent its own name: tests run at the same time.
static NEXT: AtomicU64 = AtomicU64::new(1);

/// Held while a program starts, and while an agent has an end that it is about to close. Until its
/// `execve`, a new process has a copy of that end, and closing it would not reset the connection.
pub static COPIES: Mutex<()> = Mutex::new(());

#[derive(Default)]
struct Socket {
    end: Option<OwnedFd>,
    peer: Option<SocketAddr>,
    error: i32,
    options: HashMap<(i32, i32), Vec<u8>>,
    family: i32,
}

/// The requests that the agent received.
pub type Log = Arc<Mutex<Vec<Request>>>;

/// Starts an agent in this folder, which runs as long as the process. Returns its path and the log
/// of its requests.
pub fn start(folder: &Path) -> (PathBuf, Log) {
    let path = folder.join("agent");
    let bound = |path: &Path, kind| {
        let socket = socket_with(AddressFamily::UNIX, kind, SocketFlags::CLOEXEC, None).expect("descriptors");
        bind(&socket, &SocketAddrUnix::new(path).expect("short")).expect("free");
        listen(&socket, 8).expect("bound");
        socket
    };
    let calls = bound(&path, SocketType::SEQPACKET);
    let pairs = bound(&folder.join("pairs"), SocketType::STREAM);
    let log = Log::default();
    let mut agent = Agent {
        number: NEXT.fetch_add(1, Ordering::Relaxed) << 32 | u64::from(std::process::id()),
        folder: folder.into(),
        pairs,
        log: log.clone(),
        sockets: HashMap::new(),
    };
    thread::spawn(move || {
        while let Ok(connection) = accept_with(&calls, SocketFlags::CLOEXEC) {
            poll(&mut [PollFd::new(&connection, PollFlags::IN)], None).expect("a descriptor");
            if let Ok(Some((request, descriptor))) = receive_request(&connection) {
                let _no_copies = COPIES.lock().expect("no panic");
                agent.log.lock().expect("no panic").push(request.clone());
                agent.answer(request, descriptor, connection);
            }
        }
    });
    (path, log)
}

struct Agent {
    number: u64,
    folder: PathBuf,
    pairs: OwnedFd,
    log: Log,
    sockets: HashMap<SocketId, Socket>,
}

impl Agent {
    fn answer(&mut self, request: Request, descriptor: Option<OwnedFd>, connection: OwnedFd) {
        let (response, descriptor) = match request {
            Request::Socket { family, kind, .. } => self.socket(family, kind),
            Request::Operation { operation: Operation::Connect(address), .. } if address.port() == SILENT => {
                // Until the program no longer waits for an answer.
                thread::spawn(move || poll(&mut [PollFd::new(&connection, PollFlags::RDHUP)], None));
                return;
            }
            Request::Operation { socket, operation, nonblocking } => {
                (self.operation(socket, operation, nonblocking, descriptor), None)
            }
            // As if another call had begun to connect: the program sends the data itself.
            Request::Open { socket, address, .. } => {
                (self.operation(socket, Operation::Connect(address), false, descriptor), None)
            }
            Request::Accept { .. } => {
                let id = self.next();
                let (program, ours) = pair(SocketType::STREAM);
                bind(&program, &self.name(id).address()).expect("free");
                send(&ours, b"hi", SendFlags::NOSIGNAL).expect("it is there");
                let peer = ([192, 0, 2, 9], 1234).into();
                self.sockets.insert(id, Socket { end: Some(ours), peer: Some(peer), ..Socket::default() });
                (Response::Accepted { socket: id, peer }, Some(program))
            }
            Request::Shutdown { socket, how } => {
                let socket = self.sockets.entry(socket).or_default();
                match (&socket.end, how) {
                    (None, _) => (Response::Failed(libc::ENOTCONN), None),
                    (Some(end), libc::SHUT_RD) => {
                        shutdown(end, Shutdown::Write).expect("it is connected");
                        (Response::Done, None)
                    }
                    _ => (Response::Done, None),
                }
            }
            // There is no previous part of a datagram that this could complete.
            Request::SendTo { socket, address: None, .. }
                if self.sockets.entry(socket).or_default().peer.is_none() =>
            {
                (Response::Failed(libc::EDESTADDRREQ), None)
            }
            Request::Closed(_) | Request::SendTo { .. } | Request::SeesData(_) => (Response::Done, None),
            Request::TakeUndelivered(_) => (Response::Failed(libc::EAGAIN), None),
            Request::LocalName(_) => (Response::Address(([192, 0, 2, 1], 4000).into()), None),
            Request::PeerName(socket) => match self.sockets.entry(socket).or_default().peer {
                Some(peer) => (Response::Address(peer), None),
                None => (Response::Failed(libc::ENOTCONN), None),
            },
            Request::Resolve(query) => (resolved(query), None),
            Request::Status => (Response::Failed(libc::ENOSYS), None),
        };
        let _ = respond(&connection, &response, descriptor.as_ref().map(AsFd::as_fd));
    }

    fn operation(
        &mut self,
        id: SocketId,
        operation: Operation,
        nonblocking: bool,
        descriptor: Option<OwnedFd>,
    ) -> Response {
        let theirs = || descriptor.expect("the program's");
        match operation {
            Operation::Bind(address) if address.port() == 9 => return Response::Failed(libc::EADDRINUSE),
            Operation::Bind(_) => {}
            Operation::Connect(peer) => return self.connect(id, Some(peer), nonblocking, &theirs()),
            Operation::Disconnect => return self.connect(id, None, nonblocking, &theirs()),
            Operation::Listen { .. } => {
                let end = self.joined(&theirs());
                send(&end, b"1", SendFlags::NOSIGNAL).expect("it is there");
                self.sockets.entry(id).or_default().end = Some(end);
            }
            Operation::SetOption { level, name, value } => {
                self.sockets.entry(id).or_default().options.insert((level, name), value);
            }
            Operation::GetOption { level, name, .. } => return self.option(id, level, name),
            Operation::Ioctl { command, .. } => return Response::Value(command.to_ne_bytes().to_vec()),
        }
        Response::Done
    }

    fn name(&self, socket: SocketId) -> SocketName {
        SocketName { agent: self.number, socket }
    }

    fn next(&self) -> SocketId {
        SocketId(self.sockets.len() as u64 + 1)
    }

    fn socket(&mut self, family: i32, kind: i32) -> (Response, Option<OwnedFd>) {
        let id = self.next();
        let flags = SocketFlags::from_bits_retain(kind.cast_unsigned())
            & (SocketFlags::NONBLOCK | SocketFlags::CLOEXEC);
        let mut socket = Socket { family, ..Socket::default() };
        let program = match kind & 0xf {
            libc::SOCK_STREAM => {
                socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None).expect("descriptors")
            }
            libc::SOCK_DGRAM => {
                let (program, ours) = pair(SocketType::SEQPACKET);
                socket.end = Some(ours);
                program
            }
            _ => return (Response::Failed(libc::ESOCKTNOSUPPORT), None),
        };
        bind(&program, &self.name(id).address()).expect("free");
        if let Some(end) = &socket.end {
            echo(end.try_clone().expect("descriptors"));
        }
        self.sockets.insert(id, socket);
        (Response::Descriptor(id), Some(program))
    }

    /// Returns the agent's end of a program's descriptor.
    fn joined(&self, descriptor: &OwnedFd) -> OwnedFd {
        let place = SocketAddrUnix::new(self.folder.join("pairs")).expect("short");
        let _ = rustix::io::ioctl_fionbio(descriptor, false);
        connect(descriptor, &place).expect("fresh");
        accept_with(&self.pairs, SocketFlags::CLOEXEC).expect("just connected")
    }

    fn connect(
        &mut self,
        id: SocketId,
        to: Option<SocketAddr>,
        nonblocking: bool,
        descriptor: &OwnedFd,
    ) -> Response {
        let port = to.map_or(0, |to| to.port());
        let is_datagram = self.sockets.get(&id).is_some_and(|socket| socket.end.is_some());
        if is_datagram {
            set_mark(descriptor, i32::from(to.is_some()) * datagram::CONNECTED);
            self.sockets.entry(id).or_default().peer = to;
            return Response::Done;
        }
        if port == REFUSED && !nonblocking {
            return Response::Failed(libc::ECONNREFUSED);
        }
        let end = self.joined(descriptor);
        let socket = self.sockets.entry(id).or_default();
        socket.peer = to;
        // So that the end that is closed has an unread byte, which makes it a reset.
        send(descriptor, b"p", SendFlags::NOSIGNAL).expect("it is connected");
        match port {
            REFUSED => {
                socket.error = libc::ECONNREFUSED;
                let _ = rustix::io::ioctl_fionbio(descriptor, true);
                return Response::Failed(libc::EINPROGRESS);
            }
            RESET => {
                send(&end, b"last", SendFlags::NOSIGNAL).expect("it is there");
                socket.error = libc::ECONNRESET;
            }
            SLOW => {
                thread::spawn(move || {
                    for octet in b"ab" {
                        thread::sleep(Duration::from_millis(20));
                        send(&end, &[*octet], SendFlags::NOSIGNAL).expect("it is there");
                    }
                    thread::sleep(Duration::from_millis(20));
                    shutdown(&end, Shutdown::Write).expect("it is there");
                    // Keep the end open as long as the program runs.
                    let _ = poll(&mut [PollFd::new(&end, PollFlags::HUP)], None);
                });
            }
            DRIP => {
                thread::spawn(move || {
                    while send(&end, b"d", SendFlags::NOSIGNAL).is_ok() {
                        thread::sleep(Duration::from_millis(5));
                    }
                });
            }
            LOST => {
                socket.error = libc::ETIMEDOUT;
                thread::spawn(move || {
                    // The priming byte is there from the start.
                    while rustix::io::ioctl_fionread(&end).expect("a socket") < 2 {
                        thread::sleep(Duration::from_millis(1));
                    }
                    // By then the program most likely waits for room.
                    thread::sleep(Duration::from_millis(100));
                    drop(end);
                });
            }
            ENDED => socket.error = libc::EPIPE,
            HELLO => {
                send(&end, b"hello", SendFlags::NOSIGNAL).expect("it is there");
                socket.end = Some(end);
            }
            _ => socket.end = Some(end),
        }
        Response::Done
    }

    fn option(&mut self, id: SocketId, level: i32, name: i32) -> Response {
        let socket = self.sockets.entry(id).or_default();
        let number = |value: i32| Response::Value(value.to_ne_bytes().to_vec());
        match (level, name) {
            (libc::SOL_SOCKET, libc::SO_ERROR) => number(std::mem::take(&mut socket.error)),
            (libc::SOL_SOCKET, libc::SO_DOMAIN) => number(socket.family),
            _ => match socket.options.get(&(level, name)) {
                Some(value) => Response::Value(value.clone()),
                None => Response::Failed(libc::ENOPROTOOPT),
            },
        }
    }
}

fn pair(kind: SocketType) -> (OwnedFd, OwnedFd) {
    socketpair(AddressFamily::UNIX, kind, SocketFlags::CLOEXEC, None).expect("descriptors")
}

/// Echoes each datagram unchanged, header included. So each seems to come from its destination.
fn echo(end: OwnedFd) {
    thread::spawn(move || {
        let mut octets = vec![0; 70_000];
        while let Ok((length, _)) = recv(&end, &mut octets[..], RecvFlags::empty()) {
            if length == 0 || send(&end, &octets[..length], SendFlags::NOSIGNAL).is_err() {
                return;
            }
        }
    });
}

fn resolved(query: Query) -> Response {
    match query {
        Query::Host { host, .. } if host == "example.org" => {
            let v6 = "[2001:db8::7]:0".parse().expect("an address");
            Response::Hosts(vec![([192, 0, 2, 7], 0).into(), v6])
        }
        Query::Address(address) if address == ([192, 0, 2, 7], 0).into() => {
            Response::Name { host: "example.org".into(), service: String::new() }
        }
        _ => Response::Unresolved(libc::EAI_NONAME),
    }
}
