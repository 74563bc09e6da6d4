//! The environment of workloads: the network, the time of the run, and the signal to stop.

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

/// First port of servers: workload n has this port plus n.
pub const SERVERS: u16 = 5001;
/// First port of clients; fixed, so that a repeated run has the same ports.
const CLIENTS: u16 = 10_000;
/// Number of client ports per workload.
const CLIENTS_EACH: u32 = 4000;
/// Number of workloads with client ports of their own; for others the kernel chooses.
const WITH_PORTS: usize = 13;

/// The environment of a run's workloads.
#[derive(Debug)]
pub struct Ground<'a> {
    /// Nodes and links.
    pub scenario: &'a Scenario,
    /// The network built from them.
    pub mesh: &'a Mesh,
    /// Start of the run.
    pub origin: Instant,
    /// Seed of the run.
    pub seed: Seed,
    /// Signal that the run is over.
    pub stop: &'a Stop,
    /// An empty directory in which commands run.
    pub scratch: &'a Path,
    /// Directory for the outputs of commands: files named after the run and the workload.
    pub logs: &'a Path,
    /// Prefix of these names.
    pub stem: &'a str,
}

impl Ground<'_> {
    /// Returns the time since the start in nanoseconds.
    #[must_use]
    pub fn now(&self) -> u64 {
        self.origin.elapsed().as_nanos() as u64
    }

    /// Returns the name of a node.
    #[must_use]
    pub fn name(&self, node: usize) -> String {
        self.scenario.nodes[node].name.clone()
    }

    /// Returns the namespace of a node.
    #[must_use]
    pub fn namespace(&self, node: usize) -> &Namespace {
        self.mesh.node(node)
    }

    /// Returns the address of the server of the workload with this index.
    #[must_use]
    pub fn server(&self, node: usize, workload: usize) -> SocketAddr {
        let port = SERVERS + workload as u16;
        SocketAddr::new(IpAddr::V4(self.scenario.nodes[node].address()), port)
    }

    /// Listens in the calling thread's namespace.
    ///
    /// # Errors
    /// If the port is taken.
    pub fn listen(&self, at: SocketAddr) -> io::Result<TcpListener> {
        TcpListener::bind(at)
    }

    /// Connects from the calling thread's namespace, with a congestion control of its own if one is
    /// given.
    ///
    /// The congestion control is set before and after connecting. The first makes an unknown name
    /// an error before anything is sent. The second is necessary because connecting replaces it by
    /// that of the route (`tcp_ca_dst_init` of Linux).
    ///
    /// # Errors
    /// If the server cannot be reached, the congestion control is unknown, or the run is over.
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

/// Signal to workloads that the run is over.
#[derive(Debug, Default)]
pub struct Stop {
    over: AtomicBool,
    /// Connections that their owners still hold. An owning copy here would keep a socket open after
    /// its owner has closed it.
    connections: Mutex<Vec<Weak<TcpStream>>>,
}

impl Stop {
    /// Returns whether the run is over.
    #[must_use]
    pub fn is_over(&self) -> bool {
        self.over.load(Ordering::Acquire)
    }

    /// Registers a connection to be shut down when the run is over, so that nothing blocks in it.
    ///
    /// # Errors
    /// If the run is already over.
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

    /// Declares the run over: shuts connections down, so that nothing blocks in them.
    pub fn tell(&self) {
        self.over.store(true, Ordering::Release);
        for connection in self.connections.lock().unwrap_or_else(PoisonError::into_inner).drain(..) {
            // A connection that is already closed needs nothing.
            let _ = connection.upgrade().map(|connection| connection.shutdown(Shutdown::Both));
        }
    }

    /// Sleeps until `time` after `origin`, or until the run is over, which it checks 20 times per
    /// second.
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
