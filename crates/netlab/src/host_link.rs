//! The topology of `lasthop link`: a wireless host in a namespace of its own, the caller's network
//! as the other end.
//!
//! ```text
//!   inside (anonymous namespace)                     outside (the caller's namespace)
//!   COMMAND -- lasthop0 ==[ emulator: two descriptors ]== lasthop-ID -- the caller, NAT -- its network
//!              inside address                             outside address = host.lasthop
//! ```
//!
//! The calls and their order are in the [crate's documentation](crate). Both ends have one address
//! of 32 (128) bits and routes of ours only, so that no connection over the link uses a congestion
//! control that nobody chose.
//!
//! Towards the caller's network the inside address is masqueraded. IPv6 leaves the caller only if
//! it has a default route that was not learned from a router advertisement (forwarding would make
//! the kernel forget that one); otherwise IPv6 reaches to `host6.lasthop`, and the wireless host
//! has no IPv6 default route.

mod build;
mod command;

pub use command::{CommandLine, Ended};

use crate::dns::Forwarder;
use crate::error::Result;
use crate::keeper::{Keeper, StartOrder, Started};
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
use std::path::PathBuf;

/// What a link is to be like, besides its model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostLinkOptions {
    /// Whether packets on both descriptors start with the IP header (TUN) or the Ethernet header
    /// (TAP). On Ethernet each end knows the other's hardware address for good: no ARP and no
    /// neighbour discovery crosses the link.
    pub layer: Layer,
    /// Largest IP packet on the link in bytes; IPv6 needs 1280.
    pub mtu: u16,
    /// Whether segments stay whole on both descriptors; see [`tun`](crate::tun).
    pub whole_segments: bool,
    /// Packets that wait in a device for the emulator, per direction. Not the link's queue: large,
    /// so that what is lost is lost by the model.
    pub queue_length: u32,
    /// TCP over both ends' routes.
    pub metrics: Metrics,
    /// Bandwidth-delay product of the link, to set socket buffers by; zero leaves the kernel's. The
    /// caller's namespace is only changed if it is a private one.
    pub bandwidth_delay_product: ByteCount,
    /// Ports of the caller that lead to servers behind the link.
    pub publish: Vec<Publish>,
    /// The file that makes TUN ends.
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
            publish: Vec::new(),
            device: PathBuf::from(crate::tun::DEVICE),
        }
    }
}

/// A link that stands; see the [module](self).
#[derive(Debug)]
#[must_use = "dropping a link takes it down"]
pub struct HostLink {
    // In the order in which they go: first the keeper, which ends COMMAND and undoes the run.
    keeper: Option<Keeper>,
    run: Run,
    _forwarder: Option<Forwarder>,
    inside: Tun,
    outside: Tun,
    inside_namespace: Namespace,
    addresses: Addresses,
    host: IpAddr,
    overlays: Overlays,
    cgroup: Option<PathBuf>,
    notes: Vec<String>,
    not_started: Option<Ended>,
    quiet: Quiet,
}

impl HostLink {
    /// Builds the link; on an error nothing is left of it.
    pub fn create(run: Run, rights: &Rights, options: &HostLinkOptions) -> Result<Self> {
        build::build(run, rights, options)
    }

    /// Name of the run, for `lasthop link set`.
    #[must_use]
    pub fn id(&self) -> &str {
        self.run.id()
    }

    /// The run's directory: what is put there (a control socket) goes with the run.
    #[must_use]
    pub fn directory(&self) -> PathBuf {
        self.run.directory()
    }

    /// The wireless host's end: what it sends is read here.
    #[must_use]
    pub fn inside(&self) -> &Tun {
        &self.inside
    }

    /// The caller's end.
    #[must_use]
    pub fn outside(&self) -> &Tun {
        &self.outside
    }

    /// The wireless host's namespace.
    #[must_use]
    pub fn inside_namespace(&self) -> &Namespace {
        &self.inside_namespace
    }

    /// Packets the kernel dropped at either end because the emulator did not read them in time.
    pub fn dropped_by_kernel(&self) -> Result<u64> {
        Ok(self.inside.statistics()?.tx_dropped + self.outside.statistics()?.tx_dropped)
    }

    /// Addresses of both ends.
    #[must_use]
    pub fn addresses(&self) -> Addresses {
        self.addresses
    }

    /// The address that `host.lasthop` and `LASTHOP_HOST` stand for.
    #[must_use]
    pub fn host(&self) -> IpAddr {
        self.host
    }

    /// What this link cannot do here, and why; one line each.
    #[must_use]
    pub fn notes(&self) -> &[String] {
        &self.notes
    }

    /// Starts the program. One that cannot be executed is no error: [`wait`](Self::wait) then says
    /// 126 or 127 and why.
    pub fn start(&mut self, command: &CommandLine) -> Result<()> {
        self.run.update(|state| state.command = command.for_people())?;
        let order = StartOrder {
            program: command.program.clone(),
            arguments: command.arguments.clone(),
            environment: command.environment.clone(),
            overlays: self.overlays.clone(),
            host: self.host,
            cgroup: self.cgroup.clone(),
            ignored: self.quiet.ignored_before.clone(),
        };
        self.not_started = match self.keeper()?.start_command(order)? {
            Started::Running => None,
            Started::Not { code, message } => Some(Ended::NotStarted { code, message }),
        };
        Ok(())
    }

    /// Waits until the program and all its descendants have ended. SIGTERM and SIGHUP to this
    /// process are passed on to the program meanwhile; SIGINT and SIGQUIT it gets from the terminal
    /// itself.
    pub fn wait(&mut self) -> Result<Ended> {
        match self.not_started.take() {
            Some(ended) => Ok(ended),
            None => Ok(Ended::Exited(self.keeper()?.wait(&self.quiet)?)),
        }
    }

    /// Sends the program a signal.
    pub fn signal(&self, signal: i32) -> Result<()> {
        self.keeper()?.signal(signal)
    }

    /// Ends the program if it runs (SIGTERM, after 2 s SIGKILL) and takes the link down; one line
    /// for each thing undone.
    pub fn end(mut self) -> Result<Vec<String>> {
        match self.keeper.take() {
            Some(keeper) => keeper.end().inspect_err(|_| self.run.take_back()),
            None => Ok(Vec::new()),
        }
    }

    fn keeper(&self) -> Result<&Keeper> {
        self.keeper.as_ref().ok_or_else(|| crate::Error::Keeper("the link has ended".into()))
    }
}

impl Drop for HostLink {
    fn drop(&mut self) {
        if let Some(keeper) = self.keeper.take() {
            let clean = keeper.end();
            if clean.is_err() {
                self.run.take_back();
            }
        }
    }
}
