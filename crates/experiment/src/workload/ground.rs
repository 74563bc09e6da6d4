//! The environment of workloads: the network, the time of the run, and the signal to stop.

use super::end::{RunClock, Site};
use crate::roles::Roles;
use crate::scenario::Scenario;
use link::Seed;
use netlab::Namespace;
use netlab::mesh::Mesh;
use std::io;
use std::net::{IpAddr, Shutdown, SocketAddr, TcpStream};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::{Duration, Instant};

/// First port of servers: workload n has this port plus n.
pub const SERVERS: u16 = 5001;
/// The environment of a run's workloads.
#[derive(Debug)]
pub struct Ground<'a> {
    /// Nodes and links.
    pub scenario: &'a Scenario,
    /// The network built from them.
    pub mesh: &'a Mesh,
    /// Time of the run.
    pub clock: RunClock,
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
    /// Programs of the run that nodes need.
    pub roles: &'a Roles,
}

impl Ground<'_> {
    /// Returns the clock and the stop signal, for an end of a workload.
    #[must_use]
    pub fn site(&self) -> Site<'_> {
        Site { clock: self.clock, stop: self.stop }
    }

    /// Returns the time since the start in nanoseconds.
    #[must_use]
    pub fn now(&self) -> u64 {
        self.clock.now()
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

    /// Returns the address at which a server on a node listens, for the workload with this
    /// index.
    #[must_use]
    pub fn server(&self, node: usize, workload: usize) -> SocketAddr {
        let port = SERVERS + workload as u16;
        SocketAddr::new(IpAddr::V4(self.scenario.tcp_address(node)), port)
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
        sleep_unless(&self.over, origin, time);
    }
}

/// Sleeps until `time` after `origin`, or until `over` becomes true, which it checks 20 times per
/// second.
pub(crate) fn sleep_unless(over: &AtomicBool, origin: Instant, time: Duration) {
    const LOOK: Duration = Duration::from_millis(50);
    while !over.load(Ordering::Acquire) {
        let left = time.saturating_sub(origin.elapsed());
        if left.is_zero() {
            return;
        }
        std::thread::sleep(left.min(LOOK));
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::plan::Plan;
    use std::io::Read;
    use std::net::TcpListener;

    /// Calls `work` with the environment of nodes `a` (0) and `b` (1), without a network.
    pub fn without_network<T>(work: impl FnOnce(&Ground<'_>) -> T) -> T {
        let text = "[[scenario.links]]\nbetween = [\"a\", \"b\"]\n[[workloads]]\nname = \"w\"\n\
                    kind = \"command\"\nnode = \"a\"\ncommand = \"true\"\n";
        let plan = Plan::parse("plan.toml", text).expect("a plan");
        let scenario = plan.experiment(&plan.cells()[0], 0, 0).expect("an experiment").scenario;
        let mesh = Mesh::build(&[], &[], &[]).expect("no network");
        let folder = tempfile::tempdir().expect("a folder");
        let stop = Stop::default();
        let ground = Ground {
            scenario: &scenario,
            mesh: &mesh,
            clock: RunClock::start(),
            seed: Seed::campaign(1),
            stop: &stop,
            scratch: folder.path(),
            logs: folder.path(),
            stem: "c000-r00",
            roles: &Roles::default(),
        };
        work(&ground)
    }

    #[test]
    fn servers_have_a_port_for_each_workload() {
        without_network(|ground| {
            assert_eq!(ground.server(1, 0).to_string(), "10.0.0.2:5001");
            assert_eq!(ground.server(0, 3).to_string(), "10.0.0.1:5004");
        });
    }

    fn connected() -> (TcpStream, TcpStream) {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a listener");
        let client = TcpStream::connect(listener.local_addr().expect("an address")).expect("connected");
        (client, listener.accept().expect("accepted").0)
    }

    #[test]
    fn nothing_blocks_in_a_connection_when_the_run_is_over() {
        let stop = Stop::default();
        let (client, mut server) = connected();
        let watched = stop.watch(client).expect("the run is not over");
        stop.tell();
        assert!(stop.is_over());
        assert_eq!(server.read(&mut [0]).expect("the end"), 0, "the other end sees the end");
        assert_eq!((&*watched).read(&mut [0]).expect("the end"), 0);
        let error = stop.watch(connected().0).expect_err("the run is over");
        assert_eq!(error.to_string(), "the run is over");
    }

    /// A program waits for the end of a connection, which must not depend on the end of the run.
    #[test]
    fn a_watched_connection_closes_with_its_owner() {
        let stop = Stop::default();
        let (client, mut server) = connected();
        drop(stop.watch(client).expect("the run is not over"));
        assert_eq!(server.read(&mut [0]).expect("the end"), 0);
        let _other = stop.watch(connected().0).expect("the run is not over");
        let known = stop.connections.lock().expect("no panic").len();
        assert_eq!(known, 1, "closed connections are forgotten");
    }

    #[test]
    fn sleeping_ends_at_the_time_or_with_the_run() {
        let (stop, begin) = (Stop::default(), Instant::now());
        stop.sleep_until(begin, Duration::from_millis(60));
        assert!(begin.elapsed() >= Duration::from_millis(60));
        stop.sleep_until(begin, Duration::from_millis(1));
        stop.tell();
        stop.sleep_until(begin, Duration::MAX);
    }
}
