//! Connections that arrive at listeners: taken one by one, and tried again where there was no
//! descriptor for one (8.3).

use super::ends::{prepare, reset};
use super::{KernelTcp, Phase, Socket, name};
use crate::fin_hold::Connection;
use crate::stream::Stream;
use resoa_protocol::Endpoint;
use resoa_protocol::message::Create;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fd::OwnedFd;
use rustix::io::Errno;
use rustix::net::{self, SocketFlags};
use std::collections::BTreeSet;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::time::{Duration, Instant};

/// Until a listener is looked at again that found no descriptor, if no socket of this server's goes
/// before.
const PAUSE: Duration = Duration::from_millis(100);

/// A connection that the kernel has accepted: to be [adopted](KernelTcp::adopt) or
/// [reset](KernelTcp::unwanted).
#[derive(Debug)]
pub struct Arrived {
    fd: OwnedFd,
    create: Create,
    source: IpAddr,
    /// The server's side.
    pub local: SocketAddr,
    /// Who has connected.
    pub peer: SocketAddr,
}

/// Listeners that found no descriptor left for a connection, which stays in the kernel's queue and
/// makes no edge any more. One becomes free when a socket of this server's goes; when one does that
/// a carrier had, or another process (ENFILE), nobody says so.
#[derive(Debug, Default)]
pub(super) struct Starved {
    listeners: BTreeSet<Endpoint>,
    /// When they are tried again.
    again: Option<Instant>,
    times: u64,
}

impl Starved {
    fn add(&mut self, listener: Endpoint) {
        self.listeners.insert(listener);
        self.again.get_or_insert_with(|| Instant::now() + PAUSE);
        self.times += 1;
    }

    /// How long until some are [overdue](Self::overdue); `None` if there are none.
    pub(super) fn wait(&self) -> Option<Duration> {
        self.again.map(|again| again.saturating_duration_since(Instant::now()))
    }

    /// Those that have waited long enough.
    pub(super) fn overdue(&mut self) -> BTreeSet<Endpoint> {
        if self.wait() == Some(Duration::ZERO) { self.all() } else { BTreeSet::new() }
    }

    /// All of them: there is a descriptor.
    pub(super) fn all(&mut self) -> BTreeSet<Endpoint> {
        self.again = None;
        std::mem::take(&mut self.listeners)
    }
}

impl Socket {
    /// Whether a connection waits in the kernel.
    fn has_arrivals(&self) -> bool {
        let at_once = Timespec { tv_sec: 0, tv_nsec: 0 };
        poll(&mut [PollFd::new(&self.fd, PollFlags::IN)], Some(&at_once)).is_ok_and(|ready| ready > 0)
    }

    /// So many may wait in the kernel from now on, as in `listen`; `u32::MAX` are as many as it
    /// lets.
    pub(super) fn queue_up_to(&mut self, most: u32) {
        if let Phase::Listening { backlog, .. } = &mut self.phase
            && std::mem::replace(backlog, most) != most
        {
            // It listens already.
            let _ = net::listen(&self.fd, most.min(i32::MAX as u32).cast_signed());
        }
    }

    /// The first that waits; `None` if there is none, or it does not listen any more.
    ///
    /// # Errors
    /// If there is no descriptor or no memory for it: it waits on, and nothing else will say so.
    fn take(&self) -> Result<Option<Arrived>, Errno> {
        loop {
            let (fd, peer) =
                match net::acceptfrom_with(&self.fd, SocketFlags::NONBLOCK | SocketFlags::CLOEXEC) {
                    Ok(arrived) => arrived,
                    Err(Errno::AGAIN | Errno::INVAL) => return Ok(None),
                    Err(Errno::INTR | Errno::CONNABORTED) => continue,
                    Err(error) => return Err(error),
                };
            let prepared =
                prepare(&fd).ok().and_then(|()| Some((name(&fd)?, SocketAddr::try_from(peer?).ok()?)));
            if let Some((local, peer)) = prepared {
                return Ok(Some(Arrived { fd, create: self.create, source: self.source, local, peer }));
            }
        }
    }
}

impl KernelTcp {
    /// A connection that waits at a listener, if one is to be taken now. The kernel's queue is
    /// shorter by it then, and was before it was taken: its place would be somebody else's, and
    /// more would wait than the program said. If the server does not want it, it is [not one of
    /// them](Self::unwanted).
    pub fn accept(&mut self, listener: Endpoint) -> Option<Arrived> {
        let socket = self.sockets.get_mut(&listener)?;
        let Phase::Listening { accepts: true, backlog } = socket.phase else { return None };
        let is_counted = backlog != u32::MAX;
        if is_counted {
            if !socket.has_arrivals() {
                return None;
            }
            socket.queue_up_to(backlog.saturating_sub(1));
        }
        let arrived = socket.take();
        if is_counted && !matches!(arrived, Ok(Some(_))) {
            socket.queue_up_to(backlog);
        }
        if arrived.is_err() {
            self.starved.add(listener);
        }
        arrived.ok().flatten()
    }

    /// A listener has more, perhaps: it is among those that something has happened to in the next
    /// wait.
    pub fn look_again(&mut self, listener: Endpoint) {
        self.due.insert(listener);
    }

    /// A connection that was taken from a listener is not kept for its program.
    pub fn unwanted(&mut self, listener: Endpoint, arrived: &Arrived) {
        reset(&arrived.fd);
        if let Some(socket) = self.sockets.get_mut(&listener)
            && let Phase::Listening { backlog, .. } = socket.phase
        {
            socket.queue_up_to(backlog.saturating_add(1));
        }
    }

    /// Gives a connection its number.
    ///
    /// # Errors
    /// If it cannot be waited for; it is reset then.
    pub fn adopt(&mut self, endpoint: Endpoint, arrived: Arrived) -> io::Result<()> {
        let Arrived { fd, create, source, local, peer } = arrived;
        let phase = Phase::Open(Stream::new(self.hold.is_some()));
        let connection = Some(Connection { local, peer });
        let socket = Socket {
            fd,
            create,
            cookie: 0,
            source,
            named: true,
            bound: true,
            phase,
            connection,
            behind: Vec::new(),
        };
        self.insert(endpoint, socket)
    }

    /// Times that a listener found no descriptor left.
    #[must_use]
    pub fn starvations(&self) -> u64 {
        self.starved.times
    }
}
