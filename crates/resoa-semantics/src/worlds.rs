//! The hosts: the far one and the near one, in two namespaces with a cable between them. For remote
//! sockets there is a third namespace for the program, in which no interface is up.
//!
//! ```text
//!  program ──▶ agent ══ last hop ══▶ server │ near: 10.99.0.1, fd99::1 ──────── far: 10.99.0.2, fd99::2
//!  (no interface)        (loopback of near)  │ natively the program is here
//! ```
//!
//! The server has the near host's addresses, so that addresses are the same in all worlds.

use netlab::Namespace;
use netlab::route::{self, Metrics, Prefix, Route};
use std::fs::File;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// Time limit for a process to become ready.
const PATIENCE: Duration = Duration::from_mins(1);

/// Addresses of the near host, or of its server.
pub const NEAR: [IpAddr; 2] =
    [IpAddr::V4(Ipv4Addr::new(10, 99, 0, 1)), IpAddr::V6(Ipv6Addr::new(0xfd99, 0, 0, 0, 0, 0, 0, 1))];
/// Addresses of the far host.
pub const FAR: [IpAddr; 2] =
    [IpAddr::V4(Ipv4Addr::new(10, 99, 0, 2)), IpAddr::V6(Ipv6Addr::new(0xfd99, 0, 0, 0, 0, 0, 0, 2))];
/// Addresses behind the far host, which drops packets to them.
pub const SILENT: [IpAddr; 2] =
    [IpAddr::V4(Ipv4Addr::new(10, 97, 0, 1)), IpAddr::V6(Ipv6Addr::new(0xfd97, 0, 0, 0, 0, 0, 0, 1))];
/// Addresses that the near host's routes declare unreachable.
pub const UNREACHABLE_HERE: [IpAddr; 2] =
    [IpAddr::V4(Ipv4Addr::new(10, 95, 0, 1)), IpAddr::V6(Ipv6Addr::new(0xfd95, 0, 0, 0, 0, 0, 0, 1))];
/// Addresses that the far host reports as unreachable by ICMP.
pub const UNREACHABLE_THERE: [IpAddr; 2] =
    [IpAddr::V4(Ipv4Addr::new(10, 96, 0, 1)), IpAddr::V6(Ipv6Addr::new(0xfd96, 0, 0, 0, 0, 0, 0, 1))];

/// Which sockets the program has.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, clap::ValueEnum, serde::Serialize, serde::Deserialize,
)]
#[serde(rename_all = "lowercase")]
pub enum World {
    /// The kernel's.
    Native,
    /// Remote ones, by the preload library.
    Preload,
    /// Remote ones, by seccomp notification.
    Seccomp,
}

impl World {
    pub fn name(self) -> &'static str {
        match self {
            Self::Native => "native",
            Self::Preload => "preload",
            Self::Seccomp => "seccomp",
        }
    }
}

/// How remote sockets are served.
#[derive(Debug, clap::Args)]
pub struct Serving {
    /// The command `lasthop`
    #[arg(long, default_value = "lasthop")]
    pub lasthop: PathBuf,
    /// Every destination is local to the agent, which is on the near host: dual protocol stack
    /// mode. Sockets that name none are still the server's
    #[arg(long)]
    pub local: bool,
}

/// All destinations, including those that `any` does not include.
const EVERYWHERE: [&str; 7] =
    ["any", "127.0.0.0/8", "::1", "169.254.0.0/16", "fe80::/10", "224.0.0.0/4", "ff00::/8"];

/// A process that is killed when this is dropped.
struct Kept(Child);

impl Drop for Kept {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// The hosts, the far host's process, and the processes for remote sockets.
pub struct Hosts {
    /// In the order in which they are stopped.
    processes: Vec<(&'static str, Kept)>,
    near: Namespace,
    far: Namespace,
    /// Namespace of programs with remote sockets.
    bare: Namespace,
    folder: tempfile::TempDir,
    lasthop: Option<PathBuf>,
}

impl Hosts {
    /// Creates both hosts and starts the far one's process.
    ///
    /// # Errors
    /// Without the privilege to create namespaces.
    pub fn new() -> io::Result<Self> {
        let [near, far, bare] =
            [Namespace::new(), Namespace::new(), Namespace::new()].map(|new| new.map_err(io::Error::other));
        let mut this = Self {
            processes: Vec::new(),
            near: near?,
            far: far?,
            bare: bare?,
            folder: tempfile::tempdir()?,
            lasthop: None,
        };
        this.cable().map_err(io::Error::other)?;
        let path = this.far_path();
        let mut command = Command::new(std::env::current_exe()?);
        command.arg("far").arg(&path).args(FAR.map(|address| address.to_string()));
        let far = this.far.try_clone().map_err(io::Error::other)?;
        this.start("far", &far, command)?;
        wait_for(&path)?;
        Ok(this)
    }

    /// Returns the path at which the far host's process accepts commands.
    pub fn far_path(&self) -> PathBuf {
        self.folder.path().join("far")
    }

    fn agent_path(&self) -> PathBuf {
        self.folder.path().join("agent")
    }

    fn cable(&self) -> netlab::Result<()> {
        let end = |namespace, name, last| netlab::veth::End {
            namespace,
            name,
            hardware_address: [2, 0, 0, 99, 0, last],
        };
        netlab::veth::pair(end(&self.near, "near0", 1), end(&self.far, "far0", 2))?;
        for (namespace, name, addresses) in [(&self.near, "near0", NEAR), (&self.far, "far0", FAR)] {
            netlab::interface::loopback_up(namespace)?;
            let index = netlab::interface::find(namespace, name)?.index;
            netlab::interface::change(namespace, index, &netlab::interface::Change::up())?;
            for address in addresses {
                let prefix_length = if address.is_ipv4() { 24 } else { 64 };
                netlab::address::add(namespace, netlab::address::Address { index, address, prefix_length })?;
                route::add(namespace, &Route::on_link(prefix(address), index, metrics()))?;
            }
        }
        let index = netlab::interface::find(&self.near, "near0")?.index;
        for places in [SILENT, UNREACHABLE_THERE] {
            for (place, router) in places.into_iter().zip(FAR) {
                route::add(&self.near, &Route::by_way_of(prefix(place), router, index, metrics()))?;
            }
        }
        netlab::sysctl::write(&self.far, "net.ipv4.ip_forward", "1")?;
        netlab::sysctl::write(&self.far, "net.ipv6.conf.all.forwarding", "1")?;
        // Without a limit on the rate of ICMP errors.
        netlab::sysctl::write(&self.far, "net.ipv4.icmp_ratelimit", "0")?;
        netlab::sysctl::write(&self.far, "net.ipv6.icmp.ratelimit", "0")?;
        for (namespace, kind, places) in [
            (&self.near, "unreachable", UNREACHABLE_HERE),
            (&self.far, "unreachable", UNREACHABLE_THERE),
            (&self.far, "blackhole", SILENT),
        ] {
            for place in places {
                let bits = if place.is_ipv4() { 24 } else { 64 };
                let text = format!("{place}/{bits}");
                let text = text.replace(".1/", ".0/").replace("::1/", "::/");
                ip(namespace, &["route", "add", kind, &text])?;
            }
        }
        Ok(())
    }

    /// Starts the server on the near host, and an agent that is its client.
    ///
    /// # Errors
    /// If they do not start, with their output.
    pub fn serve(&mut self, serving: &Serving) -> io::Result<()> {
        let lasthop = &serving.lasthop;
        let near = self.near.try_clone().map_err(io::Error::other)?;
        let folder = self.folder.path();
        let key = folder.join("client.key");
        let made = Command::new(lasthop).args(["resoa", "key"]).arg(&key).output()?;
        if !made.status.success() {
            return Err(io::Error::other(format!(
                "cannot make a key with `lasthop resoa key`: {}",
                String::from_utf8_lossy(&made.stderr)
            )));
        }
        let mut server = Command::new(lasthop);
        server.args(["resoa", "serve", "--listen", "plain:127.0.0.1:4000"]);
        self.start("server", &near, server)?;
        self.until_said("server", "serving", PATIENCE)?;
        let mut agent = Command::new(lasthop);
        agent.args(["resoa", "agent", "--server", "plain:127.0.0.1:4000"]);
        agent.arg("--key").arg(&key).arg("--listen").arg(self.agent_path());
        if serving.local {
            agent.args(EVERYWHERE.iter().flat_map(|destination| ["--local", destination]));
        }
        self.start("agent", &near, agent)?;
        // Wait until the agent listens and is registered.
        let begin = Instant::now();
        loop {
            let status = self.status();
            if status
                .as_ref()
                .is_ok_and(|status| matches!(status.connected, resoa_calls::Connected::Yes { .. }))
            {
                break;
            }
            if begin.elapsed() > PATIENCE {
                return Err(io::Error::other(format!(
                    "the agent is not registered ({status:?}): {}; the server said: {}",
                    self.said("agent"),
                    self.said("server")
                )));
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        self.lasthop = Some(lasthop.clone());
        Ok(())
    }

    /// Returns the agent's status.
    ///
    /// # Errors
    /// If the agent is gone.
    pub fn status(&self) -> io::Result<resoa_calls::Status> {
        match resoa_calls::Agent::at(self.agent_path()).call(&resoa_calls::Request::Status, None) {
            Ok((resoa_calls::Response::Status(status), _)) => Ok(status),
            other => Err(io::Error::other(format!("unexpected answer of the agent: {other:?}"))),
        }
    }

    /// Returns a command that runs a program in a world.
    ///
    /// # Panics
    /// If remote sockets are wanted and [`Hosts::serve`] was not called.
    pub fn command(&self, world: World, program: &Path) -> Command {
        if world == World::Native {
            return Command::new(program);
        }
        let mut command = Command::new(self.lasthop.as_ref().expect("served"));
        command.args(["resoa", "run", "--agent"]).arg(self.agent_path());
        if world == World::Seccomp {
            command.arg("--seccomp");
        }
        command.arg("--").arg(program);
        command
    }

    /// Returns the namespaces and the agent as environment variables, for a script.
    pub fn environment(&self) -> Vec<(&'static str, std::ffi::OsString)> {
        let path =
            |namespace: &Namespace| namespace.path().replace("self", &std::process::id().to_string()).into();
        vec![
            ("FAR", path(&self.far)),
            ("NEAR", path(&self.near)),
            ("BARE", path(&self.bare)),
            (resoa_calls::AGENT, self.agent_path().into_os_string()),
        ]
    }

    /// Starts a command in the namespace for programs of that world.
    ///
    /// # Errors
    /// If it does not start.
    pub fn spawn(&self, world: World, command: &mut Command) -> io::Result<Child> {
        let namespace = if world == World::Native { &self.near } else { &self.bare };
        let hosts: Vec<_> = self.processes.iter().map(|(_, process)| process.0.id().to_string()).collect();
        command.env(crate::near::HOSTS, hosts.join(" "));
        namespace.enter(|| Ok(command.spawn())).map_err(io::Error::other)?
    }

    fn start(&mut self, name: &'static str, place: &Namespace, mut command: Command) -> io::Result<()> {
        let log = File::create(self.folder.path().join(format!("{name}.log")))?;
        command.stdin(Stdio::null()).stdout(log.try_clone()?).stderr(log);
        let child = place.enter(|| Ok(command.spawn())).map_err(io::Error::other)??;
        if let Ok(mut processes) = crate::PROCESSES.lock() {
            processes.push(child.id());
        }
        self.processes.insert(0, (name, Kept(child)));
        Ok(())
    }

    /// Returns the output of a process.
    pub fn said(&self, name: &str) -> String {
        std::fs::read_to_string(self.folder.path().join(format!("{name}.log"))).unwrap_or_default()
    }

    /// Waits until a process has written any output.
    fn until_said(&self, name: &str, word: &str, limit: Duration) -> io::Result<()> {
        let begin = Instant::now();
        while self.said(name).trim().is_empty() {
            if begin.elapsed() > limit {
                return Err(io::Error::other(format!("the {name} is not {word}")));
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        Ok(())
    }

    /// Describes the processes that have ended.
    pub fn fallen(&mut self) -> Vec<String> {
        let mut fallen = Vec::new();
        for (name, process) in &mut self.processes {
            if let Ok(Some(status)) = process.0.try_wait() {
                fallen.push(format!("{name}: {status}"));
            }
        }
        fallen
    }
}

/// Returns the network of an address.
fn prefix(address: IpAddr) -> Prefix {
    match address {
        IpAddr::V4(address) => {
            let [a, b, c, _] = address.octets();
            Prefix { address: IpAddr::from([a, b, c, 0]), length: 24 }
        }
        IpAddr::V6(address) => {
            let mut parts = address.segments();
            parts[4..].fill(0);
            Prefix { address: IpAddr::from(parts), length: 64 }
        }
    }
}

fn metrics() -> Metrics {
    Metrics::default()
}

fn ip(namespace: &Namespace, arguments: &[&str]) -> netlab::Result<()> {
    let output = namespace.enter(|| Ok(Command::new("ip").args(arguments).output()))?;
    assert!(output.is_ok_and(|output| output.status.success()), "ip {}", arguments.join(" "));
    Ok(())
}

/// Waits until a process listens at the path. The file alone exists a moment earlier.
fn wait_for(path: &Path) -> io::Result<()> {
    let begin = Instant::now();
    while let Err(error) = UnixStream::connect(path) {
        if begin.elapsed() > PATIENCE {
            return Err(io::Error::other(format!("no process listens at {}: {error}", path.display())));
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    Ok(())
}
