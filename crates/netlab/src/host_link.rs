//! The topology of `lasthop link`: a wireless host in its own namespace, connected to the caller's
//! network.
//!
//! ```text
//!   inside (anonymous namespace)                     outside (the caller's namespace)
//!   COMMAND -- lasthop0 ==[ emulator: two descriptors ]== lasthop-ID -- the caller, NAT -- its network
//!              inside address                             outside address = host.lasthop
//! ```
//!
//! The calls and their order are in the [crate's documentation](crate). Each end has one address
//! per IP version, with a 32-bit (128-bit) prefix, and only routes that we add. So no connection
//! over the link uses a congestion control that nobody chose.
//!
//! Towards the caller's network, the inside address is masqueraded. IPv6 crosses the caller only if
//! the caller has a default route that was not learned from a router advertisement: forwarding
//! would make the kernel forget such a route. Otherwise IPv6 reaches only `host6.lasthop`, and the
//! wireless host has no IPv6 default route.
//!
//! Devices at an interface of the caller, and other namespaces, can be behind the link as well
//! ([`Attachment`]).

mod attachments;
mod build;
mod command;
mod entrance;

pub use command::{CommandEnd, CommandLine};
pub use entrance::Entrance;

use crate::attachment::{Attached, Attachment};
use crate::dns::Forwarder;
use crate::error::Result;
use crate::keeper::{KeptRun, StartOrder, Started};
use crate::names::Overlays;
use crate::nat::Publish;
use crate::plan::Addresses;
use crate::route::Metrics;
use crate::signals::Quiet;
use crate::state::Run;
use crate::tun::Tun;
use crate::{Namespace, Rights};
use link::units::ByteCount;
use packet::Layer;
use std::net::IpAddr;
use std::os::fd::AsRawFd;
use std::path::PathBuf;

/// Options of a link, apart from its model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostLinkOptions {
    /// Whether packets on both file descriptors start with the IP header (TUN) or the Ethernet
    /// header (TAP). On Ethernet, each end has a permanent entry for the other's hardware address:
    /// no ARP and no neighbour discovery cross the link.
    pub layer: Layer,
    /// Largest IP packet on the link in bytes; IPv6 needs 1280.
    pub mtu: u16,
    /// Whether segments stay whole on both file descriptors; see [`tun`](crate::tun).
    pub whole_segments: bool,
    /// Capacity of a device's queue towards the emulator in packets, per direction. This is not the
    /// link's queue: it is large, so that only the model drops packets.
    pub queue_length: u32,
    /// TCP metrics of the routes at both ends.
    pub metrics: Metrics,
    /// Bandwidth-delay product of the link, which socket buffers are set to; zero keeps the
    /// kernel's defaults. In the caller's namespace they are set only if it is a private one.
    pub bandwidth_delay_product: ByteCount,
    /// Whether the host that programs reach is the link's own end, where a server is started.
    /// Otherwise it is the host behind pasta for an ordinary user.
    pub host_is_outside: bool,
    /// Ports of the caller that are forwarded to servers behind the link.
    pub publish: Vec<Publish>,
    /// Interfaces and namespaces that are behind the link like the program.
    pub attachments: Vec<Attachment>,
    /// The device file that opens TUN devices.
    pub device: PathBuf,
}

impl Default for HostLinkOptions {
    fn default() -> Self {
        Self {
            layer: Layer::Ip,
            mtu: 1500,
            whole_segments: false,
            queue_length: 10_000,
            metrics: Metrics::default(),
            bandwidth_delay_product: ByteCount::new(0),
            host_is_outside: false,
            publish: Vec::new(),
            attachments: Vec::new(),
            device: crate::tun::device_of_links().to_owned(),
        }
    }
}

/// A link that is up; see the [module](self).
#[derive(Debug)]
#[must_use = "dropping a link takes it down"]
pub struct HostLink {
    // Dropped first: the keeper ends COMMAND and undoes the run.
    kept: KeptRun,
    _forwarder: Option<Forwarder>,
    inside: Tun,
    outside: Tun,
    inside_namespace: Namespace,
    addresses: Addresses,
    host: IpAddr,
    name_server: Option<IpAddr>,
    attached: Vec<Attached>,
    overlays: Overlays,
    cgroup: Option<PathBuf>,
    notes: Vec<String>,
    not_started: Option<CommandEnd>,
    quiet: Quiet,
}

impl HostLink {
    /// Builds the link; an error leaves nothing behind.
    pub fn create(run: Run, rights: &Rights, options: &HostLinkOptions) -> Result<Self> {
        build::build(run, rights, options)
    }

    /// Returns the run's id, for `lasthop link set`.
    #[must_use]
    pub fn id(&self) -> &str {
        self.kept.run.id()
    }

    /// Returns the run's directory; files in it, such as a control socket, are removed with the
    /// run.
    #[must_use]
    pub fn directory(&self) -> PathBuf {
        self.kept.run.directory()
    }

    /// Returns the wireless host's end; the emulator reads here what this host sends.
    #[must_use]
    pub fn inside(&self) -> &Tun {
        &self.inside
    }

    /// Returns the caller's end.
    #[must_use]
    pub fn outside(&self) -> &Tun {
        &self.outside
    }

    /// Returns the wireless host's namespace.
    #[must_use]
    pub fn inside_namespace(&self) -> &Namespace {
        &self.inside_namespace
    }

    /// Returns how many packets the kernel dropped at both ends because the emulator did not read
    /// them in time.
    pub fn dropped_by_kernel(&self) -> Result<u64> {
        Ok(self.inside.statistics()?.tx_dropped + self.outside.statistics()?.tx_dropped)
    }

    /// Returns the addresses of both ends.
    #[must_use]
    pub fn addresses(&self) -> Addresses {
        self.addresses
    }

    /// Returns the address that `host.lasthop` and `LASTHOP_HOST` stand for.
    #[must_use]
    pub fn host(&self) -> IpAddr {
        self.host
    }

    /// Returns the attachments with their addresses.
    #[must_use]
    pub fn attached(&self) -> &[Attached] {
        &self.attached
    }

    /// Returns a name server that can be reached from behind the link.
    #[must_use]
    pub fn name_server(&self) -> Option<IpAddr> {
        self.name_server
    }

    /// Returns what this link cannot do on this machine, and why; one line each.
    #[must_use]
    pub fn notes(&self) -> &[String] {
        &self.notes
    }

    /// Starts the program.
    ///
    /// A program that cannot be executed is no error here: [`wait`](Self::wait) returns status 126
    /// or 127 and the reason.
    pub fn start(&mut self, command: &CommandLine) -> Result<()> {
        self.kept.run.update(|state| state.command = command.for_people())?;
        let order = StartOrder {
            program: command.program.clone(),
            arguments: command.arguments.clone(),
            environment: command.environment.clone(),
            overlays: self.overlays.clone(),
            host: self.host,
            cgroup: self.cgroup.clone(),
            ignored: self.quiet.ignored_before.clone(),
        };
        self.not_started = match self.kept.keeper()?.start_command(order)? {
            Started::Running => None,
            Started::Not { code, message } => Some(CommandEnd::NotStarted { code, message }),
        };
        Ok(())
    }

    /// Returns what another process of this user needs to run a program behind this link. It is
    /// valid as long as the link is up.
    pub fn entrance(&self) -> Result<Entrance> {
        Ok(Entrance {
            id: self.id().to_owned(),
            pid: std::process::id(),
            network: self.inside_namespace.fd().as_raw_fd(),
            inode: self.inside_namespace.inode()?,
            overlays: self.overlays.clone(),
            host: self.host,
            cgroup: self.cgroup.clone(),
        })
    }

    /// Waits until the program and all its descendants have ended.
    ///
    /// Meanwhile SIGTERM and SIGHUP to this process are passed on to the program. The terminal
    /// sends SIGINT and SIGQUIT to the program itself.
    pub fn wait(&mut self) -> Result<CommandEnd> {
        match self.not_started.take() {
            Some(ended) => Ok(ended),
            None => Ok(CommandEnd::Exited(self.kept.keeper()?.wait(&self.quiet)?)),
        }
    }

    /// Sends `signal` to the program.
    pub fn signal(&self, signal: i32) -> Result<()> {
        self.kept.keeper()?.signal(signal)
    }

    /// Ends the program if it runs (SIGTERM, after 2 s SIGKILL) and takes the link down.
    ///
    /// Returns one line for each object that was removed or restored.
    pub fn end(self) -> Result<Vec<String>> {
        self.kept.end()
    }
}
