//! What workloads run on: nodes that stand, the run's time, and the word to stop.

use crate::scenario::Scenario;
use link::Seed;
use netlab::mesh::Mesh;
use netlab::{Namespace, tcp};
use rustix::net::{AddressFamily, SocketType, bind, connect, ipproto, socket, sockopt};
use std::io;
use std::net::{IpAddr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::os::fd::{AsFd, BorrowedFd};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::{Duration, Instant};

/// First port of servers: that of workload n is n higher.
pub const SERVERS: u16 = 5001;
/// First port of clients, so that a repeated run has the same ports.
const CLIENTS: u16 = 10_000;
/// Ports of the clients of one workload.
const CLIENTS_EACH: u32 = 4000;
/// How many workloads have ports of their own; those of others are the kernel's choice.
const WITH_PORTS: usize = 13;

/// Where workloads run.
#[derive(Debug)]
pub struct Ground<'a> {
    /// Nodes and links.
    pub scenario: &'a Scenario,
    /// The same, standing.
    pub mesh: &'a Mesh,
    /// Start of the run.
    pub origin: Instant,
    /// Seed of the run.
    pub seed: Seed,
    /// Whether it is over.
    pub stop: &'a Stop,
    /// An empty folder for commands to work in.
    pub scratch: &'a Path,
    /// Where outputs of commands go: files named after the run and the workload.
    pub logs: &'a Path,
    /// First part of these names.
    pub stem: &'a str,
}

impl Ground<'_> {
    /// Time since the start, in nanoseconds.
    #[must_use]
    pub fn now(&self) -> u64 {
        self.origin.elapsed().as_nanos() as u64
    }

    /// Name of a node.
    #[must_use]
    pub fn name(&self, node: usize) -> String {
        self.scenario.nodes[node].name.clone()
    }

    /// Namespace of a node.
    #[must_use]
    pub fn namespace(&self, node: usize) -> &Namespace {
        self.mesh.node(node)
    }

    /// Address of the server of the workload in this place.
    #[must_use]
    pub fn server(&self, node: usize, workload: usize) -> SocketAddr {
        let port = SERVERS + workload as u16;
        SocketAddr::new(IpAddr::V4(self.scenario.nodes[node].address()), port)
    }

    /// A listener of the calling thread's namespace.
    ///
    /// # Errors
    /// If the port is taken.
    pub fn listen(&self, at: SocketAddr) -> io::Result<TcpListener> {
        TcpListener::bind(at)
    }

    /// Connects from the calling thread's namespace, with a congestion control of its own if one is
    /// given.
    ///
    /// It is set before and again after: connecting puts that of the route in its place
    /// (`tcp_ca_dst_init` of Linux), and the first is there so that a name which this kernel does
    /// not have is an error before anything is sent.
    ///
    /// # Errors
    /// If the other side cannot be reached, or the run is over.
    pub fn connect(
        &self,
        to: SocketAddr,
        workload: usize,
        number: u32,
        congestion_control: Option<&str>,
    ) -> io::Result<Arc<TcpStream>> {
        let descriptor = socket(AddressFamily::INET, SocketType::STREAM, Some(ipproto::TCP))?;
        rustix::io::fcntl_setfd(&descriptor, rustix::io::FdFlags::CLOEXEC)?;
        sockopt::set_socket_reuseaddr(&descriptor, true)?;
        if workload < WITH_PORTS {
            let port = CLIENTS + workload as u16 * CLIENTS_EACH as u16 + (number % CLIENTS_EACH) as u16;
            bind(&descriptor, &SocketAddr::new(IpAddr::V4(std::net::Ipv4Addr::UNSPECIFIED), port))?;
        }
        let set = |socket: BorrowedFd<'_>| match congestion_control {
            Some(name) => tcp::set_congestion_control(socket, name).map_err(io::Error::other),
            None => Ok(()),
        };
        set(descriptor.as_fd())?;
        let stream = self.stop.watch(TcpStream::from(descriptor))?;
        connect(&*stream, &to)?;
        set(stream.as_fd())?;
        Ok(stream)
    }
}

/// Tells workloads that the run is over.
#[derive(Debug, Default)]
pub struct Stop {
    over: AtomicBool,
    /// Those that their owners still have: a copy here would keep a socket open that its owner has
    /// closed.
    connections: Mutex<Vec<Weak<TcpStream>>>,
}

impl Stop {
    /// Whether the run is over.
    #[must_use]
    pub fn is_over(&self) -> bool {
        self.over.load(Ordering::Acquire)
    }

    /// Ends what blocks in this connection when the run is over.
    ///
    /// # Errors
    /// If the run is over already.
    pub fn watch(&self, connection: TcpStream) -> io::Result<Arc<TcpStream>> {
        let mut connections = self.connections.lock().unwrap_or_else(PoisonError::into_inner);
        if self.is_over() {
            return Err(io::Error::other("the run is over"));
        }
        connections.retain(|known| known.strong_count() > 0);
        let connection = Arc::new(connection);
        connections.push(Arc::downgrade(&connection));
        Ok(connection)
    }

    /// The run is over: connections are shut down, so that nothing blocks in them.
    pub fn tell(&self) {
        self.over.store(true, Ordering::Release);
        for connection in self.connections.lock().unwrap_or_else(PoisonError::into_inner).drain(..) {
            // One that is closed already needs nothing.
            let _ = connection.upgrade().map(|connection| connection.shutdown(Shutdown::Both));
        }
    }

    /// Sleeps until `time` after `origin`, or until the run is over; looks 20 times a second.
    pub fn sleep_until(&self, origin: Instant, time: Duration) {
        const LOOK: Duration = Duration::from_millis(50);
        while !self.is_over() {
            let left = time.saturating_sub(origin.elapsed());
            if left.is_zero() {
                return;
            }
            std::thread::sleep(left.min(LOOK));
        }
    }
}
