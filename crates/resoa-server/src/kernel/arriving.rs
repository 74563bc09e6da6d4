//! Connections that arrive at listeners. They are taken one by one, and the server tries again if
//! it had no file descriptor for one (8.3).

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

/// Time until a listener that found no file descriptor is tried again, if no socket of this server
/// closes earlier.
const PAUSE: Duration = Duration::from_millis(100);

/// A connection that the kernel has accepted. The caller has to [adopt](KernelTcp::adopt) it or to
/// [reset](KernelTcp::unwanted) it.
#[derive(Debug)]
pub struct Arrived {
    fd: OwnedFd,
    create: Create,
    source: IpAddr,
    /// Address and port on the server's side.
    pub local: SocketAddr,
    /// Address and port of the far host.
    pub peer: SocketAddr,
}

/// Listeners that found no file descriptor left for a connection. The connection stays in the
/// kernel's queue and causes no further edge. A descriptor becomes free when a socket of this
/// server closes. If a carrier or another process (ENFILE) frees one, the server gets no notice.
#[derive(Debug, Default)]
pub(super) struct Starved {
    listeners: BTreeSet<Endpoint>,
    /// Time at which they are tried again.
    again: Option<Instant>,
    times: u64,
}

impl Starved {
    fn add(&mut self, listener: Endpoint) {
        self.listeners.insert(listener);
        self.again.get_or_insert_with(|| Instant::now() + PAUSE);
        self.times += 1;
    }

    /// Time until some are [overdue](Self::overdue); `None` if there are none.
    pub(super) fn wait(&self) -> Option<Duration> {
        self.again.map(|again| again.saturating_duration_since(Instant::now()))
    }

    /// Removes and returns the listeners that have waited long enough.
    pub(super) fn overdue(&mut self) -> BTreeSet<Endpoint> {
        if self.wait() == Some(Duration::ZERO) { self.all() } else { BTreeSet::new() }
    }

    /// Removes and returns all listeners, because there is a file descriptor.
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

    /// Limits the kernel's queue of connections from now on, as in `listen`. `u32::MAX` stands for
    /// the kernel's own limit.
    pub(super) fn queue_up_to(&mut self, most: u32) {
        if let Phase::Listening { backlog, .. } = &mut self.phase
            && std::mem::replace(backlog, most) != most
        {
            // Calling `listen` again on a listener only changes the limit.
            let _ = net::listen(&self.fd, most.min(i32::MAX as u32).cast_signed());
        }
    }

    /// Takes the first waiting connection. Returns `None` if there is none, or if the socket does
    /// not listen any more.
    ///
    /// # Errors
    /// If there is no file descriptor or no memory for it. The connection keeps waiting and causes
    /// no further event.
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
    /// Takes a connection that waits at a listener, if one is to be taken now.
    ///
    /// The limit of the kernel's queue is lowered by one before the connection is taken. Otherwise
    /// another connection could use its place, and more would wait than the program has set. If the
    /// server does not want the connection, call [`unwanted`](Self::unwanted).
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

    /// Includes a listener that may have more connections in the result of the next wait.
    pub fn look_again(&mut self, listener: Endpoint) {
        self.due.insert(listener);
    }

    /// Resets a connection that was taken from a listener and that the server does not keep.
    pub fn unwanted(&mut self, listener: Endpoint, arrived: &Arrived) {
        reset(&arrived.fd);
        if let Some(socket) = self.sockets.get_mut(&listener)
            && let Phase::Listening { backlog, .. } = socket.phase
        {
            socket.queue_up_to(backlog.saturating_add(1));
        }
    }

    /// Assigns a number to a connection.
    ///
    /// # Errors
    /// If epoll cannot wait for it. The connection is reset then.
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

    /// Number of times that a listener found no file descriptor left.
    #[must_use]
    pub fn starvations(&self) -> u64 {
        self.starved.times
    }
}
