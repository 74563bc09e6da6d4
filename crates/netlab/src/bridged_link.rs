//! The topology of `lasthop link --bridge`: two interfaces of the caller with a link between them
//! at Ethernet level.
//!
//! ```text
//!   devices ── eth1 ── bridge ── TAP ==[ emulator: two descriptors ]== TAP ── bridge ── eth2 ── network
//!              └──────────── one namespace, without addresses ───────────────┘
//! ```
//!
//! Frames of every protocol cross the link. There is no router: nothing here has an address,
//! answers or is served, and no packet has a hop more. Both interfaces move into a namespace of
//! their own, so that the caller's own protocols do not use them meanwhile. The keeper moves them
//! back, also if the caller is killed.

use crate::error::{Error, Result};
use crate::keeper::KeptRun;
use crate::state::{NamespaceId, Run};
use crate::tun::{self, Tun};
use crate::{Namespace, Rights, attachment, bridge, interface, sysctl};
use packet::Layer;
use std::path::PathBuf;

/// Names and hardware addresses of the link's own devices: inside, outside.
const ENDS: [(&str, [u8; 6]); 2] =
    [("lasthop-in", [0x02, 0, 0, 0, 0, 1]), ("lasthop-out", [0x02, 0, 0, 0, 0, 2])];
/// Names of the bridges.
const BRIDGES: [&str; 2] = ["lasthop-br-in", "lasthop-br-out"];

/// Options of a link between two interfaces.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BridgedLinkOptions {
    /// The interfaces: that of the devices, from which frames go up, and that of their network.
    pub interfaces: [String; 2],
    /// Whether segments stay whole on both file descriptors; see [`tun`].
    pub whole_segments: bool,
    /// Capacity of a device's queue towards the emulator in frames, per direction; not the link's
    /// queue.
    pub queue_length: u32,
}

/// A link between two interfaces that is up; see the [module](self).
#[derive(Debug)]
#[must_use = "dropping a link takes it down"]
pub struct BridgedLink {
    // Dropped first: the keeper undoes the run.
    kept: KeptRun,
    ends: [Tun; 2],
    mtu: u32,
}

impl BridgedLink {
    /// Builds the link.
    ///
    /// # Errors
    /// If this user may not, or an interface cannot be bridged: an error leaves nothing behind.
    pub fn create(mut run: Run, rights: &Rights, options: &BridgedLinkOptions) -> Result<Self> {
        if rights.outside_is_private() {
            return Err(Error::missing("only root can bridge interfaces of this host", "run it with sudo"));
        }
        let outside = Namespace::current()?;
        let [first, second] = &options.interfaces;
        if first == second {
            return Err(Error::missing(format!("{first} is named twice"), "name two interfaces"));
        }
        let mut mtu = 0;
        for name in &options.interfaces {
            attachment::check_interface(&outside, name)?;
            mtu = mtu.max(interface::find(&outside, name)?.mtu);
        }
        let id = NamespaceId::of(&outside)?;
        run.update(|state| state.outside = Some(id))?;
        let middle = Namespace::new()?;
        // Otherwise the kernel would announce addresses of its own over the bridges.
        if sysctl::has_ipv6(&middle) {
            for family in ["default", "all"] {
                sysctl::write(&middle, &format!("net.ipv6.conf.{family}.disable_ipv6"), "1")?;
            }
        }
        run.record_inside(&middle)?;
        let open = |(name, hardware_address): (&str, [u8; 6])| {
            let options = tun::TunOptions {
                name: name.to_owned(),
                layer: Layer::Ethernet,
                hardware_address,
                mtu,
                queue_length: options.queue_length,
                whole_segments: options.whole_segments,
                ..tun::TunOptions::default()
            };
            Tun::open(&middle, &options)
        };
        let ends = [open(ENDS[0])?, open(ENDS[1])?];
        // If anything below fails, dropping it undoes the run.
        let mut kept = KeptRun::start(run, &[&middle])?;
        kept.run.update(|state| state.command = options.interfaces.to_vec())?;
        for ((name, end), bridge_name) in options.interfaces.iter().zip(&ends).zip(BRIDGES) {
            let bridge = bridge::create(&middle, bridge_name)?;
            bridge::add_port(&middle, bridge, end.index())?;
            let port = attachment::move_interface(&mut kept.run, &middle, &outside, name)?;
            bridge::add_port(&middle, bridge, port)?;
        }
        Ok(Self { kept, ends, mtu })
    }

    /// Returns the run's id, for `lasthop link set`.
    #[must_use]
    pub fn id(&self) -> &str {
        self.kept.run.id()
    }

    /// Returns the run's directory; files in it are removed with the run.
    #[must_use]
    pub fn directory(&self) -> PathBuf {
        self.kept.run.directory()
    }

    /// Returns both ends, inside and outside: the emulator reads here what the interfaces receive,
    /// and writes what they send.
    #[must_use]
    pub fn ends(&self) -> &[Tun; 2] {
        &self.ends
    }

    /// Returns the largest payload of a frame in bytes: the larger MTU of the two interfaces.
    #[must_use]
    pub fn mtu(&self) -> u32 {
        self.mtu
    }

    /// Returns how many frames the kernel dropped because the emulator did not read them in time.
    pub fn dropped_by_kernel(&self) -> Result<u64> {
        self.ends.iter().try_fold(0, |sum, end| Ok(sum + end.statistics()?.tx_dropped))
    }

    /// Takes the link down. Returns one line for each object that was removed or restored.
    pub fn end(self) -> Result<Vec<String>> {
        self.kept.end()
    }
}
