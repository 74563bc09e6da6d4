//! An agent that simulates the far hosts itself and records its requests.
//!
//! Port 7 echoes. Port 9 refuses. Port 10 resets when it gets data. Port 11 sends `last` and fails
//! (ETIMEDOUT). Port 12 reads nothing. Port 19 never answers. Ports 53 and 54 are for datagrams,
//! which are echoed; to `refused` the answer is an error instead.
//!
//! A listener gets a connection from 192.0.2.9:4242 a moment after `listen`, which sends `hello`.

use resoa_calls::{
    Agent, LISTENING, Request, Response, SocketId, SocketName, datagram, descriptor, receive_request, respond,
};
use resoa_protocol::message::Operation;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::fd::{AsFd, OwnedFd};
use rustix::net::{
    AddressFamily, RecvFlags, SendAncillaryBuffer, SendAncillaryMessage, SendFlags, Shutdown, SocketAddrUnix,
    SocketFlags, SocketType, accept_with, bind, connect, listen, recv, send, sendmsg, shutdown, socket_with,
    socketpair,
};
use std::collections::HashMap;
use std::mem::MaybeUninit;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

/// Time between `listen` and the arrival of a connection.
const ARRIVAL: Duration = Duration::from_millis(100);

#[derive(Default)]
struct State {
    asked: Vec<Request>,
    interrupted: Vec<Request>,
    local: HashMap<SocketId, SocketAddr>,
    peer: HashMap<SocketId, SocketAddr>,
    ended: Vec<SocketId>,
    pairs: HashMap<SocketId, OwnedFd>,
    /// Ends that are only kept open.
    held: Vec<OwnedFd>,
    /// Errors of failed connections that no call has returned yet.
    errors: HashMap<SocketId, i32>,
}

/// The agent.
#[derive(Clone)]
pub struct FakeAgent {
    folder: Arc<tempfile::TempDir>,
    inner: Arc<OwnedFd>,
    state: Arc<Mutex<State>>,
    number: Arc<AtomicU64>,
}

fn unix(kind: SocketType) -> OwnedFd {
    socket_with(AddressFamily::UNIX, kind, SocketFlags::CLOEXEC, None).expect("descriptors")
}

fn pair(kind: SocketType) -> (OwnedFd, OwnedFd) {
    socketpair(AddressFamily::UNIX, kind, SocketFlags::CLOEXEC, None).expect("descriptors")
}

impl FakeAgent {
    pub fn start() -> Self {
        let folder = Arc::new(tempfile::tempdir().expect("a folder"));
        let at = |name: &str| SocketAddrUnix::new(folder.path().join(name)).expect("short");
        let (calls, inner) = (unix(SocketType::SEQPACKET), unix(SocketType::STREAM));
        for (socket, name) in [(&calls, "agent"), (&inner, "inner")] {
            bind(socket, &at(name)).expect("free");
            listen(socket, 128).expect("bound");
        }
        let agent = Self { folder, inner: Arc::new(inner), state: Arc::default(), number: Arc::default() };
        let serving = agent.clone();
        thread::spawn(move || {
            loop {
                let connection = accept_with(&calls, SocketFlags::CLOEXEC).expect("it listens");
                let serving = serving.clone();
                thread::spawn(move || serving.serve(&connection));
            }
        });
        agent
    }

    /// Returns the client for this agent.
    pub fn agent(&self) -> Agent {
        Agent::at(self.folder.path().join("agent"))
    }

    pub fn asked(&self) -> Vec<Request> {
        self.state.lock().expect("no panic").asked.clone()
    }

    /// Returns the calls that were dropped before their answer.
    pub fn interrupted(&self) -> Vec<Request> {
        self.state.lock().expect("no panic").interrupted.clone()
    }

    fn serve(&self, connection: &OwnedFd) {
        let mut descriptors = [PollFd::new(connection, PollFlags::IN)];
        poll(&mut descriptors, None).expect("it polls");
        let Ok(Some((request, descriptor))) = receive_request(connection) else { return };
        self.state.lock().expect("no panic").asked.push(request.clone());
        if let Some((response, descriptor)) = self.answer(&request, descriptor) {
            // The caller may have ended.
            let _ = respond(connection, &response, descriptor.as_ref().map(AsFd::as_fd));
        } else {
            poll(&mut descriptors, None).expect("it polls");
            self.state.lock().expect("no panic").interrupted.push(request);
        }
    }

    fn named(&self, descriptor: &OwnedFd) -> SocketId {
        let socket = SocketId(self.number.fetch_add(1, Ordering::Relaxed));
        let agent = u64::from(std::process::id()) << 32 | self.folder.path().as_os_str().len() as u64;
        let unique = agent ^ (Arc::as_ptr(&self.inner) as u64).rotate_left(17);
        bind(descriptor, &SocketName { agent: unique, socket }.address()).expect("free");
        socket
    }

    /// Returns the response to a request; `None` means never.
    fn answer(&self, request: &Request, descriptor: Option<OwnedFd>) -> Option<(Response, Option<OwnedFd>)> {
        let plain = |response| Some((response, None));
        let failed = |error| plain(Response::Failed(error));
        match *request {
            Request::Socket { protocol: libc::IPPROTO_MPTCP, .. } => failed(libc::EPROTONOSUPPORT),
            Request::Socket { kind, .. } if kind & 0xf == libc::SOCK_DGRAM => {
                let (theirs, ours) = pair(SocketType::SEQPACKET);
                let socket = self.named(&theirs);
                let end = ours.try_clone().expect("descriptors");
                self.state.lock().expect("no panic").pairs.insert(socket, end);
                let agent = self.clone();
                thread::spawn(move || agent.datagrams(socket, &ours));
                Some((Response::Descriptor(socket), Some(theirs)))
            }
            Request::Socket { .. } => {
                let theirs = unix(SocketType::STREAM);
                let socket = self.named(&theirs);
                Some((Response::Descriptor(socket), Some(theirs)))
            }
            Request::Operation { socket, ref operation, nonblocking } => {
                plain(self.operation(socket, operation, nonblocking, descriptor)?)
            }
            // As if another call had begun to connect: the program sends the data itself.
            Request::Open { socket, address, .. } => {
                plain(self.connect(socket, Some(address), false, &descriptor?)?)
            }
            Request::Accept { .. } => {
                let (theirs, ours) = pair(SocketType::STREAM);
                let socket = self.named(&theirs);
                send(&ours, b"hello", SendFlags::empty()).expect("room");
                thread::spawn(move || echo(&ours));
                let peer = ([192, 0, 2, 9], 4242).into();
                Some((Response::Accepted { socket, peer }, Some(theirs)))
            }
            Request::Closed(socket) => {
                // The echo thread records the sockets whose program's end is closed.
                while !self.state.lock().expect("no panic").ended.contains(&socket) {
                    thread::sleep(Duration::from_millis(1));
                }
                plain(Response::Done)
            }
            Request::LocalName(socket) => {
                let bound = self.state.lock().expect("no panic").local.get(&socket).copied();
                plain(Response::Address(bound.unwrap_or(([0, 0, 0, 0], 0).into())))
            }
            Request::PeerName(socket) => {
                let peer = self.state.lock().expect("no panic").peer.get(&socket).copied();
                plain(peer.map_or(Response::Failed(libc::ENOTCONN), Response::Address))
            }
            Request::Shutdown { socket, .. } => {
                let state = self.state.lock().expect("no panic");
                let is_fresh = !state.peer.contains_key(&socket) && !state.pairs.contains_key(&socket);
                if is_fresh || state.errors.contains_key(&socket) {
                    return failed(libc::ENOTCONN);
                }
                if let Some(end) = state.pairs.get(&socket) {
                    shutdown(end, Shutdown::Both).expect("it is one of a pair");
                }
                plain(Response::Done)
            }
            // Nothing has begun here that it could be the rest of.
            Request::SendTo { socket, address: None, .. }
                if !self.state.lock().expect("no panic").peer.contains_key(&socket) =>
            {
                failed(libc::EDESTADDRREQ)
            }
            Request::SendTo { .. } | Request::SeesData(_) => plain(Response::Done),
            _ => failed(libc::ENOSYS),
        }
    }

    /// `None`: never.
    fn operation(
        &self,
        socket: SocketId,
        operation: &Operation,
        nonblocking: bool,
        descriptor: Option<OwnedFd>,
    ) -> Option<Response> {
        let state = || self.state.lock().expect("no panic");
        Some(match *operation {
            Operation::Bind(address) if address.port() == 1 => Response::Failed(libc::EADDRINUSE),
            Operation::Bind(address) => {
                state().local.insert(socket, address);
                Response::Done
            }
            Operation::Connect(peer) => self.connect(socket, Some(peer), nonblocking, &descriptor?)?,
            Operation::Disconnect => self.connect(socket, None, nonblocking, &descriptor?)?,
            Operation::Listen { .. } => {
                let ours = self.join(&descriptor?);
                let waking = ours.try_clone().expect("descriptors");
                thread::spawn(move || {
                    thread::sleep(ARRIVAL);
                    send(&waking, &[0], SendFlags::NOSIGNAL).map(drop)
                });
                state().held.push(ours);
                Response::Done
            }
            Operation::SetOption { name: 77, .. } => Response::Failed(libc::ENOPROTOOPT),
            Operation::SetOption { .. } => Response::Done,
            Operation::GetOption { name: libc::SO_ERROR, .. } => {
                let error = state().errors.get_mut(&socket).map_or(0, std::mem::take);
                Response::Value(error.to_ne_bytes().to_vec())
            }
            Operation::GetOption { name: libc::SO_PRIORITY, .. } => {
                Response::Value(LISTENING.to_ne_bytes().to_vec())
            }
            Operation::GetOption { level, name, length } => {
                let mut value = (level * 100 + name).to_ne_bytes().to_vec();
                value.truncate(length as usize);
                Response::Value(value)
            }
            Operation::Ioctl { .. } => Response::Value(42_i32.to_ne_bytes().to_vec()),
        })
    }

    /// By the port; `None`: never.
    fn connect(
        &self,
        socket: SocketId,
        address: Option<SocketAddr>,
        nonblocking: bool,
        theirs: &OwnedFd,
    ) -> Option<Response> {
        let port = address.map_or(0, |address| address.port());
        let state = || self.state.lock().expect("no panic");
        match port {
            9 => return Some(Response::Failed(libc::ECONNREFUSED)),
            19 => return None,
            10 => {
                let ours = self.join(theirs);
                state().errors.insert(socket, libc::ECONNRESET);
                thread::spawn(move || poll(&mut [PollFd::new(&ours, PollFlags::IN)], None).map(drop));
            }
            11 => {
                let ours = self.join(theirs);
                send(&ours, b"last", SendFlags::NOSIGNAL).expect("room");
                // An end that is closed with an unread byte is a reset.
                send(theirs, b"p", SendFlags::NOSIGNAL).expect("room");
                state().errors.insert(socket, libc::ETIMEDOUT);
            }
            12 => {
                let ours = self.join(theirs);
                state().held.push(ours);
            }
            53 | 54 => {
                // For datagrams: from now on they have no address in front.
                descriptor::set_mark(theirs, datagram::CONNECTED);
                state().peer.extend(address.map(|address| (socket, address)));
            }
            _ => {
                let ours = self.join(theirs);
                let ended = Arc::clone(&self.state);
                thread::spawn(move || {
                    echo(&ours);
                    ended.lock().expect("no panic").ended.push(socket);
                });
                state().peer.extend(address.map(|address| (socket, address)));
                if nonblocking {
                    return Some(Response::Failed(libc::EINPROGRESS));
                }
            }
        }
        Some(Response::Done)
    }

    /// Echoes a program's datagrams. The answer to `refused` is an error. It is reported among the
    /// datagrams if an interposer sees the calls that receive.
    fn datagrams(&self, socket: SocketId, end: &OwnedFd) {
        let mut octets = vec![0; 70_000];
        while let Ok((_, length)) = recv(end, &mut octets[..], RecvFlags::empty()) {
            let sent = if &octets[..length] == b"refused" {
                let mut state = self.state.lock().expect("no panic");
                state.errors.insert(socket, libc::ECONNREFUSED);
                let is_seen = state.asked.contains(&Request::SeesData(socket));
                drop(state);
                if is_seen { tell_error(end) } else { Ok(()) }
            } else {
                send(end, &octets[..length], SendFlags::NOSIGNAL).map(drop)
            };
            if length == 0 || sent.is_err() {
                return;
            }
        }
    }

    /// Connects a program's descriptor and returns our end.
    fn join(&self, theirs: &OwnedFd) -> OwnedFd {
        let at = SocketAddrUnix::new(self.folder.path().join("inner")).expect("short");
        // Under the lock, so that the accepted connection is the one just made.
        let _state = self.state.lock().expect("no panic");
        connect(theirs, &at).expect("it is fresh");
        accept_with(&*self.inner, SocketFlags::CLOEXEC).expect("it has connected")
    }
}

fn echo(end: &OwnedFd) {
    let mut octets = vec![0; 70_000];
    while let Ok((_, length)) = recv(end, &mut octets[..], RecvFlags::empty()) {
        if length == 0 || send(end, &octets[..length], SendFlags::NOSIGNAL).is_err() {
            return;
        }
    }
}

/// Sends a packet with a descriptor, which reports an error.
fn tell_error(end: &OwnedFd) -> rustix::io::Result<()> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut beside = SendAncillaryBuffer::new(&mut space);
    let descriptors = [end.as_fd()];
    beside.push(SendAncillaryMessage::ScmRights(&descriptors));
    sendmsg(end, &[], &mut beside, SendFlags::NOSIGNAL).map(drop)
}
