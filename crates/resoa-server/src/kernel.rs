//! Kernel sockets by the numbers that the server gives them: carries out [`TcpAction`]s and returns
//! [`TcpEvent`]s.
//!
//! All sockets are non-blocking and in one edge-triggered epoll. Data that was peeked at stays in
//! the socket, so a level-triggered epoll would report it forever. A look at a socket uses up its
//! edge. So work that cannot be finished in that look is recorded here and resumed later.

mod arriving;
mod ends;
mod sharing;
#[cfg(test)]
mod tests;

pub use arriving::Arrived;

use crate::capabilities::Capabilities;
use crate::congestion_controls;
use crate::datagrams;
use crate::errors;
use crate::fin_hold::{Connection, FinHold};
use crate::host_ports::{self, HostPorts};
use crate::stream::Stream;
use arriving::Starved;
use resoa_protocol::message::{Create, Reply};
use resoa_protocol::{Endpoint, Errno, TcpAction, TcpEvent};
use rustix::event::epoll::{self, EventData, EventFlags};
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::net;
use std::collections::{BTreeSet, HashMap, HashSet};
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;
use std::{io, mem};

/// Maximum bytes peeked at per call.
const PEEKED: usize = 256 << 10;
/// Maximum events taken from epoll at a time.
const EVENTS: usize = 256;
/// First epoll identifier of a descriptor that is not a socket of a client; the identifiers from
/// here on number the [`Source`]s.
const SOURCES: u64 = u64::MAX - 255;

/// Identifier of a file descriptor that is no socket of a client and ends a wait when it is
/// readable. There are at most 256.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Source(pub u8);

/// Events that have ended a wait.
#[derive(Debug, Default)]
pub struct Happened {
    /// Sockets that have to be [looked at](KernelTcp::look).
    pub endpoints: Vec<Endpoint>,
    /// Descriptors that are readable.
    pub sources: Vec<Source>,
}

/// A socket of a client.
#[derive(Debug)]
pub(crate) struct Socket {
    pub(crate) fd: OwnedFd,
    pub(crate) create: Create,
    /// The kernel's identifier of the socket (SO_COOKIE).
    pub(crate) cookie: u64,
    /// The client's address.
    pub(crate) source: IpAddr,
    /// The program has passed an address to `bind`, and not the unspecified one.
    pub(crate) named: bool,
    /// It is bound to an address, passed by the program or not.
    pub(crate) bound: bool,
    pub(crate) phase: Phase,
    /// Local and remote address, once both are known.
    connection: Option<Connection>,
    /// Outcomes of later requests, which are reported after that of the pending `connect`.
    behind: Vec<Result<Reply, Errno>>,
}

/// Phase of a socket.
#[derive(Debug)]
pub(crate) enum Phase {
    Fresh,
    /// To this address.
    Connecting(SocketAddr),
    Listening {
        /// Whether connections are accepted at the moment.
        accepts: bool,
        /// Limit of the kernel's queue, as in `listen`.
        backlog: u32,
    },
    Open(Stream),
    Datagrams,
}

/// Sockets of a server; see the [module](self).
#[derive(Debug)]
pub struct KernelTcp {
    epoll: OwnedFd,
    capabilities: Capabilities,
    hold: Option<FinHold>,
    sockets: HashMap<Endpoint, Socket>,
    /// The kernel's identifiers of these sockets.
    cookies: HashSet<u64>,
    /// Lists the ports of other processes; `None` if the kernel does not support that.
    host_ports: Option<HostPorts>,
    /// Sockets to look at without an edge.
    due: BTreeSet<Endpoint>,
    starved: Starved,
    /// Sockets that wait for acknowledgements, which cause no edge.
    unacknowledged: BTreeSet<Endpoint>,
    buffer: Vec<u8>,
}

impl KernelTcp {
    /// Creates an instance without sockets, and probes the features of the kernel.
    ///
    /// # Errors
    /// If the kernel has no file descriptor left.
    pub fn new() -> io::Result<Self> {
        congestion_controls::keep_kernel_lists();
        let host_ports = HostPorts::open().ok().and_then(|mut ports| ports.answer().then_some(ports));
        Ok(Self {
            epoll: epoll::create(epoll::CreateFlags::CLOEXEC)?,
            capabilities: Capabilities { host_ports: host_ports.is_some(), ..Capabilities::probe() },
            hold: None,
            sockets: HashMap::new(),
            cookies: HashSet::new(),
            host_ports,
            due: BTreeSet::new(),
            starved: Starved::default(),
            unacknowledged: BTreeSet::new(),
            buffer: vec![0; PEEKED],
        })
    }

    /// Adds a FIN hold.
    #[must_use]
    pub fn with_fin_hold(mut self, hold: FinHold) -> Self {
        self.hold = Some(hold);
        self.capabilities.fin_hold = true;
        self
    }

    /// The FIN hold, if there is one.
    #[must_use]
    pub fn fin_hold(&self) -> Option<&FinHold> {
        self.hold.as_ref()
    }

    /// Forgets held FINs that the server will not ask for again. The event loop calls it from time
    /// to time.
    pub(crate) fn sweep(&self) {
        if let Some(hold) = &self.hold {
            hold.sweep(self.sockets.values().filter_map(|socket| socket.connection));
        }
    }

    /// Features of this kernel.
    #[must_use]
    pub fn capabilities(&self) -> Capabilities {
        self.capabilities
    }

    /// Number of sockets that the server has not given up.
    #[must_use]
    pub fn sockets(&self) -> usize {
        self.sockets.len()
    }

    /// Makes [`wait`](Self::wait) also end when this descriptor becomes readable, and report it as
    /// `source`.
    ///
    /// # Errors
    /// If epoll cannot wait for the descriptor.
    pub fn wait_for(&self, descriptor: BorrowedFd, source: Source) -> io::Result<()> {
        let id = SOURCES + u64::from(source.0);
        Ok(epoll::add(&self.epoll, descriptor, EventData::new_u64(id), EventFlags::IN)?)
    }

    /// Waits for events, at most `longest`, and returns them.
    ///
    /// # Errors
    /// Errors of epoll, none of which can be recovered from.
    pub fn wait(&mut self, longest: Option<Duration>) -> io::Result<Happened> {
        let longest = longest.into_iter().chain(self.starved.wait()).min();
        let longest = if self.due.is_empty() { longest } else { Some(Duration::ZERO) };
        // A longer time might not fit the type, and waiting an hour is as good.
        let timeout = longest.map(|longest| {
            rustix::event::Timespec::try_from(longest.min(Duration::from_hours(1))).unwrap_or_default()
        });
        let mut events = Vec::with_capacity(EVENTS);
        match epoll::wait(&self.epoll, rustix::buffer::spare_capacity(&mut events), timeout.as_ref()) {
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        let mut endpoints = mem::take(&mut self.due);
        endpoints.append(&mut self.starved.overdue());
        let mut sources = Vec::new();
        for id in events.iter().map(|event| event.data.u64()) {
            match id.checked_sub(SOURCES).and_then(|source| u8::try_from(source).ok()) {
                Some(source) => sources.push(Source(source)),
                None => drop(endpoints.insert(Endpoint(id))),
            }
        }
        Ok(Happened { endpoints: endpoints.into_iter().collect(), sources })
    }

    /// Appends the events of a socket. A listener has none here: call [`accept`](Self::accept).
    pub fn look(&mut self, endpoint: Endpoint, events: &mut Vec<TcpEvent>) {
        let Some(socket) = self.sockets.get_mut(&endpoint) else { return };
        match &mut socket.phase {
            Phase::Fresh | Phase::Listening { .. } => {}
            Phase::Datagrams => {
                if datagrams::receive(&socket.fd, &mut self.buffer, events) {
                    self.due.insert(endpoint);
                }
            }
            Phase::Connecting(peer) => {
                let peer = *peer;
                if let Some(outcome) = socket.connected(peer, self.hold.is_some()) {
                    if outcome.is_ok() {
                        // Data that arrived with it causes no other edge.
                        self.due.insert(endpoint);
                    }
                    let behind = socket.behind.drain(..);
                    events.extend([outcome].into_iter().chain(behind).map(TcpEvent::Done));
                }
            }
            Phase::Open(stream) => {
                stream.progress(&socket.fd, &mut self.buffer, events);
                if stream.awaits_acknowledgement() {
                    self.unacknowledged.insert(endpoint);
                }
                if stream.may_end() {
                    self.due.insert(endpoint);
                }
            }
        }
    }

    fn insert(&mut self, endpoint: Endpoint, mut socket: Socket) -> io::Result<()> {
        socket.cookie = host_ports::cookie(socket.fd.as_fd())?;
        let flags = EventFlags::IN | EventFlags::OUT | EventFlags::RDHUP | EventFlags::PRI | EventFlags::ET;
        epoll::add(&self.epoll, &socket.fd, EventData::new_u64(endpoint.0), flags)?;
        self.cookies.insert(socket.cookie);
        self.sockets.insert(endpoint, socket);
        Ok(())
    }

    /// Number of sockets that wait for acknowledgements, as far as is known.
    #[must_use]
    pub fn awaiting_acknowledgements(&self) -> usize {
        self.unacknowledged.len()
    }

    /// Appends an event for each amount acknowledged since the last call.
    pub fn acknowledgements(&mut self, events: &mut Vec<(Endpoint, TcpEvent)>) {
        let mut told = Vec::new();
        let sockets = &mut self.sockets;
        self.unacknowledged.retain(|&endpoint| {
            let Some(Socket { fd, phase: Phase::Open(stream), .. }) = sockets.get_mut(&endpoint) else {
                return false;
            };
            stream.acknowledgements(fd, &mut told);
            events.extend(told.drain(..).map(|event| (endpoint, event)));
            stream.awaits_acknowledgement()
        });
    }

    /// Refuses an action. Appends the answer in its order among the others.
    pub fn refuse(
        &mut self,
        endpoint: Endpoint,
        action: &TcpAction,
        error: Errno,
        events: &mut Vec<TcpEvent>,
    ) {
        match (action, self.sockets.get_mut(&endpoint)) {
            (TcpAction::Create { .. }, _) => events.push(TcpEvent::NotCreated),
            (TcpAction::Execute(_), Some(Socket { phase: Phase::Connecting(_), behind, .. })) => {
                behind.push(Err(error));
            }
            (TcpAction::Execute(_), Some(_)) => events.push(TcpEvent::Done(Err(error))),
            (TcpAction::SendTo { .. }, Some(_)) => events.push(TcpEvent::Failed(error)),
            _ => {}
        }
    }

    /// Carries out an action on a socket, and appends the events that it causes at once.
    pub fn act(&mut self, endpoint: Endpoint, action: TcpAction, events: &mut Vec<TcpEvent>) {
        if let TcpAction::Create { create, source, foreign } = action {
            let made = self.create(create, source, foreign).and_then(|socket| self.insert(endpoint, socket));
            if made.is_err() {
                events.push(TcpEvent::NotCreated);
            }
            return;
        }
        let Some(socket) = self.sockets.get_mut(&endpoint) else { return };
        match action {
            TcpAction::Create { .. } => {}
            TcpAction::Execute(operation) => {
                let is_behind = matches!(socket.phase, Phase::Connecting(_));
                match socket.execute(operation) {
                    Some(outcome) if is_behind => socket.behind.push(outcome),
                    Some(outcome) => events.push(TcpEvent::Done(outcome)),
                    None => {}
                }
                // Look in any case: an edge may have passed while it did not matter.
                self.due.insert(endpoint);
            }
            TcpAction::Admit { accept, backlog } => {
                // The limit that the program has set applies to the kernel's queue and the server's
                // together.
                socket.queue_up_to(backlog);
                if let Phase::Listening { accepts, .. } = &mut socket.phase {
                    *accepts = accept;
                    self.due.insert(endpoint);
                }
            }
            TcpAction::StopListening => {
                let _ = net::shutdown(&socket.fd, net::Shutdown::Read);
                socket.phase = Phase::Fresh;
            }
            TcpAction::Send { bytes, urgent } => {
                if let Phase::Open(stream) = &mut socket.phase {
                    stream.send((bytes, urgent), &socket.fd, &mut self.buffer, events);
                    if stream.awaits_acknowledgement() {
                        self.unacknowledged.insert(endpoint);
                    }
                }
            }
            TcpAction::SendTo { to, ancillary, bytes } => match socket.bind_own() {
                Ok(()) => datagrams::send(&socket.fd, socket.own(), (to, &ancillary, &bytes), events),
                Err(error) => events.push(TcpEvent::Failed(error)),
            },
            TcpAction::Locate => events.extend(name(&socket.fd).map(TcpEvent::Located)),
            TcpAction::Consume(count) => {
                if let Phase::Open(stream) = &mut socket.phase {
                    stream.consume(&socket.fd, count as usize, &mut self.buffer);
                }
            }
            TcpAction::ShutdownWrite => {
                if let Phase::Open(stream) = &mut socket.phase {
                    stream.finish();
                    self.look(endpoint, events);
                }
            }
            TcpAction::ReleaseFin => {
                if let (Some(hold), Some(connection), Phase::Open(stream)) =
                    (&self.hold, &socket.connection, &mut socket.phase)
                {
                    hold.release(socket.fd.as_fd(), connection);
                    stream.release();
                    // The server's own FIN may have waited for this.
                    self.look(endpoint, events);
                }
            }
            TcpAction::Close => self.forget(endpoint, false),
            TcpAction::Abort => self.forget(endpoint, true),
        }
    }
}

/// `getsockname`.
pub(crate) fn name(fd: &OwnedFd) -> Option<SocketAddr> {
    SocketAddr::try_from(net::getsockname(fd).ok()?).ok()
}

impl Socket {
    /// Returns the outcome of a `connect`, or `None` while it is pending. It calls `connect` again
    /// to learn the outcome. After reading SO_ERROR instead, the next attempt on the socket would
    /// fail with ECONNABORTED.
    fn connected(&mut self, peer: SocketAddr, holds: bool) -> Option<Result<Reply, Errno>> {
        match net::connect(&self.fd, &peer) {
            Ok(()) | Err(rustix::io::Errno::ISCONN) => {
                self.phase = Phase::Open(Stream::new(holds));
                let local = name(&self.fd);
                // Ask for the host that has answered: a connect to the unspecified address reaches
                // another one.
                let answered =
                    net::getpeername(&self.fd).ok().and_then(|peer| SocketAddr::try_from(peer?).ok());
                let peer_on_wire = answered.unwrap_or(peer);
                self.connection = local.map(|local| Connection { local, peer: peer_on_wire });
                Some(local.ok_or(Errno::ENOTCONN).map(|local| Reply::Connected { local, peer: peer_on_wire }))
            }
            Err(rustix::io::Errno::ALREADY | rustix::io::Errno::INPROGRESS | rustix::io::Errno::INTR) => None,
            Err(error) => {
                self.phase = Phase::Fresh;
                Some(Err(errors::of(error)))
            }
        }
    }
}
