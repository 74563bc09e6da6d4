//! The two ends of a workload, and where each runs.
//!
//! An end is a thread of this process, in its node's namespace. If the sockets of its node are
//! remote, it is a program of its own (`program.rs`), because a program's sockets are remote as a
//! whole. Both ways run the same code.

mod program;

use super::ground::{Ground, Stop};
use super::{bulk, datagrams, request, sessions};
use borsh::{BorshDeserialize, BorshSerialize};
use netlab::tcp;
use nix::libc::MSG_FASTOPEN;
use nix::sys::socket::sockopt::ReuseAddr;
use nix::sys::socket::{
    AddressFamily, MsgFlags, SockFlag, SockProtocol, SockType, SockaddrIn, SockaddrStorage, bind, connect,
    sendto, setsockopt, socket,
};
use nix::time::{ClockId, clock_gettime};
use program::Program;
pub use program::{SUBCOMMAND, execute};
use std::io;
use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4, TcpStream};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::sync::Arc;
use std::time::Duration;

/// First port of clients; fixed, so that a repeated run has the same ports.
const CLIENTS: u16 = 10_000;
/// Number of client ports per workload.
const CLIENTS_EACH: u32 = 4000;
/// Number of workloads with client ports of their own; for others the kernel chooses.
const WITH_PORTS: u16 = 13;

/// Time since the start of the run, the same in each of its processes.
#[derive(Debug, Clone, Copy, BorshSerialize, BorshDeserialize)]
pub struct RunClock {
    /// CLOCK_MONOTONIC at the start, in nanoseconds.
    start: u64,
}

/// The clock and the stop signal of a run, for an end of a workload.
#[derive(Debug, Clone, Copy)]
pub struct Site<'a> {
    /// Time of the run.
    pub clock: RunClock,
    /// Signal that the run is over.
    pub stop: &'a Stop,
}

/// An end that clients reach.
pub trait ServerEnd: Into<Task> + Clone + Sync {
    /// Measurements of this end.
    type Outcome: BorshSerialize + BorshDeserialize + Send;

    /// Serves while `clients` run. They begin when the server can be reached.
    ///
    /// # Errors
    /// If it cannot listen.
    fn serve<C: Send>(
        &self,
        site: Site<'_>,
        clients: impl FnOnce() -> C + Send,
    ) -> Result<(C, Self::Outcome), String>;
}

/// An end that connects.
pub trait ClientEnd: Into<Task> + Clone + Sync {
    /// Measurements of this end.
    type Outcome: BorshSerialize + BorshDeserialize + Send;

    /// Does its work; errors of single connections are in the outcome.
    fn run(&self, site: Site<'_>) -> Self::Outcome;
}

/// An end as a message to a program.
#[derive(Debug, BorshSerialize, BorshDeserialize)]
pub enum Task {
    /// The sender of bulk data.
    BulkSender(bulk::Sender),
    /// Its receiver.
    BulkReceiver(bulk::Receiver),
    /// The client of a request workload.
    RequestClient(request::Client),
    /// Its server.
    RequestServer(request::Server),
    /// The sources of sessions.
    SessionSources(sessions::Sources),
    /// Their sink.
    SessionSink(sessions::Sink),
    /// The sender of datagrams.
    DatagramSender(datagrams::Sender),
    /// Their receiver.
    DatagramReceiver(datagrams::Receiver),
}

/// Runs both ends of the workload `name`, each on its node; returns the outcomes of client and
/// server.
///
/// # Errors
/// If an end cannot start, or its program fails.
pub fn both<S: ServerEnd, C: ClientEnd>(
    ground: &Ground<'_>,
    name: &str,
    (server_node, server): (usize, &S),
    (client_node, client): (usize, &C),
) -> Result<(C::Outcome, S::Outcome), String> {
    let site = ground.site();
    let clients = || match ground.roles.sockets(client_node) {
        None => {
            let ran = ground.namespace(client_node).enter(|| Ok(client.run(site)));
            ran.map_err(|error| error.to_string())
        }
        Some(sockets) => {
            let program = Program::start(ground, name, client_node, sockets, client.clone().into())?;
            program.outcome(site.stop)
        }
    };
    let (client, server) = match ground.roles.sockets(server_node) {
        None => {
            let ran = ground.namespace(server_node).enter(|| Ok(server.serve(site, clients)));
            ran.map_err(|error| error.to_string())??
        }
        Some(sockets) => {
            let mut program = Program::start(ground, name, server_node, sockets, server.clone().into())?;
            program.wait_until_ready()?;
            let client = clients();
            program.tell_that_clients_have_finished();
            (client, program.outcome(site.stop)?)
        }
    };
    Ok((client?, server))
}

impl RunClock {
    /// Starts the clock.
    #[must_use]
    pub fn start() -> Self {
        Self { start: monotonic() }
    }

    /// Returns the time since the start in nanoseconds.
    #[must_use]
    pub fn now(self) -> u64 {
        monotonic().saturating_sub(self.start)
    }

    /// Converts a time of CLOCK_REALTIME, shortly before now.
    pub(super) fn at_real_time(self, time: Duration) -> u64 {
        let ago = time_of(ClockId::CLOCK_REALTIME).saturating_sub(time);
        self.now().saturating_sub(ago.as_nanos() as u64)
    }
}

/// Returns CLOCK_MONOTONIC in nanoseconds.
fn monotonic() -> u64 {
    time_of(ClockId::CLOCK_MONOTONIC).as_nanos() as u64
}

fn time_of(clock: ClockId) -> Duration {
    clock_gettime(clock).expect("Linux has this clock").into()
}

impl Site<'_> {
    /// Connects from the calling thread's namespace, with a congestion control of its own if one is
    /// given.
    ///
    /// The congestion control is set before and after connecting. The first makes an unknown name
    /// an error before anything is sent. The second is necessary because connecting replaces it by
    /// that of the route (`tcp_ca_dst_init` of Linux).
    ///
    /// The calls go through the C library, where remote sockets intercept them. Each costs such a
    /// socket a round trip of the last hop, so a socket without a `port` is not bound.
    ///
    /// # Errors
    /// If the server cannot be reached, the congestion control is unknown, or the run is over.
    pub fn connect(
        self,
        to: SocketAddr,
        port: Option<u16>,
        congestion_control: Option<&str>,
    ) -> io::Result<Arc<TcpStream>> {
        self.open(to, port, congestion_control, &[]).map(|(stream, _)| stream)
    }

    /// Connects as [`connect`](Self::connect) does, by a call that also sends the `first` data, if
    /// there is any (MSG_FASTOPEN). Returns how much of it was sent.
    ///
    /// # Errors
    /// As [`connect`](Self::connect).
    pub fn open(
        self,
        to: SocketAddr,
        port: Option<u16>,
        congestion_control: Option<&str>,
        first: &[u8],
    ) -> io::Result<(Arc<TcpStream>, usize)> {
        let descriptor =
            socket(AddressFamily::Inet, SockType::Stream, SockFlag::SOCK_CLOEXEC, SockProtocol::Tcp)?;
        if let Some(port) = port {
            setsockopt(&descriptor, ReuseAddr, &true)?;
            let from = SockaddrIn::from(SocketAddrV4::new(Ipv4Addr::UNSPECIFIED, port));
            bind(descriptor.as_raw_fd(), &from)?;
        }
        let set = |socket: BorrowedFd<'_>| match congestion_control {
            Some(name) => tcp::set_congestion_control(socket, name).map_err(io::Error::other),
            None => Ok(()),
        };
        set(descriptor.as_fd())?;
        let stream = self.stop.watch(TcpStream::from(descriptor))?;
        let to = SockaddrStorage::from(to);
        let taken = if first.is_empty() {
            connect(stream.as_raw_fd(), &to)?;
            0
        } else {
            sendto(stream.as_raw_fd(), first, &to, MsgFlags::from_bits_retain(MSG_FASTOPEN))?
        };
        set(stream.as_fd())?;
        Ok((stream, taken))
    }
}

/// Ports of a workload's clients.
#[derive(Debug, Clone, Copy, PartialEq, Eq, BorshSerialize, BorshDeserialize)]
pub enum ClientPorts {
    /// The kernel chooses them.
    Any,
    /// Those of the workload with this index, below [`WITH_PORTS`].
    Of(u16),
}

impl ClientPorts {
    /// Returns the ports of the clients of a workload on this node.
    #[must_use]
    pub fn of(ground: &Ground<'_>, node: usize, workload: usize) -> Self {
        match u16::try_from(workload) {
            Ok(workload) if workload < WITH_PORTS && ground.roles.sockets(node).is_none() => {
                Self::Of(workload)
            }
            _ => Self::Any,
        }
    }

    /// Returns whether a client of the same workload had the port of this client before.
    #[must_use]
    pub const fn repeats(number: u32) -> bool {
        number >= CLIENTS_EACH
    }

    /// Returns the port of the client with this number; `None` if the kernel chooses.
    #[must_use]
    pub fn port(self, number: u32) -> Option<u16> {
        let Self::Of(workload) = self else { return None };
        Some(CLIENTS + workload * CLIENTS_EACH as u16 + (number % CLIENTS_EACH) as u16)
    }
}

#[cfg(test)]
mod tests {
    use super::super::ground::SERVERS;
    use super::*;
    use std::collections::HashSet;

    /// So the packets of a repeated run have the same ports, and no two connections share a pair.
    #[test]
    fn clients_have_ports_of_their_own() {
        let all: HashSet<_> = (0..WITH_PORTS)
            .flat_map(|workload| {
                (0..CLIENTS_EACH).filter_map(move |number| ClientPorts::Of(workload).port(number))
            })
            .collect();
        assert_eq!(all.len(), usize::from(WITH_PORTS) * CLIENTS_EACH as usize);
        assert!(all.iter().all(|port| (CLIENTS..=CLIENTS + 52_000).contains(port)));
        assert!(!all.contains(&SERVERS) && !all.contains(&(SERVERS + 4998)), "no port of a server");
        let of = |number| ClientPorts::Of(1).port(number);
        assert_eq!(of(CLIENTS_EACH + 2), of(2), "they are used again");
        assert_eq!([CLIENTS_EACH - 1, CLIENTS_EACH].map(ClientPorts::repeats), [false, true]);
        assert_eq!(ClientPorts::Any.port(0), None);
    }

    /// Every process of a run has the same time.
    #[test]
    fn a_clock_that_crossed_to_another_process_goes_on() {
        let clock = RunClock::start();
        let bytes = borsh::to_vec(&clock).expect("bytes");
        let other: RunClock = borsh::from_slice(&bytes).expect("a clock");
        let (before, at, after) = (clock.now(), other.now(), clock.now());
        assert!((before..=after).contains(&at), "{before} {at} {after}");
    }
}
