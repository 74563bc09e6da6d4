//! TUN (IP) and TAP (Ethernet) devices in a namespace, whose packets this process reads and writes.
//!
//! The device is not persistent: it vanishes with its last file descriptor, however the process
//! ends.
//!
//! * *Per packet* (the default): the kernel segments and fills in checksums before a packet is
//!   read. So each read returns what a wire would carry, and damage to it is noticed.
//! * *Whole segments* ([`TunOptions::whole_segments`]): each packet starts with a `struct
//!   virtio_net_hdr`. TCP segments of up to 64 KiB arrive uncut with a partial checksum, and may be
//!   written so.
//!
//! `tx_dropped` counts packets that the kernel dropped because the device's queue was full: the
//! reader was too slow, which makes a run *overloaded*.

use crate::error::{Error, Result, Trying};
use crate::interface::{self, Change, Statistics};
use crate::{Namespace, offload, sysctl};
use packet::Layer;
use rustix::fs::{Mode, OFlags};
use std::fs::File;
use std::io::ErrorKind;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};

/// Size in bytes of `struct virtio_net_hdr`, which precedes each packet with whole segments.
pub const VIRTIO_HEADER_LENGTH: usize = 10;

/// TunOptions of a device.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TunOptions {
    /// Interface name, at most 15 bytes.
    pub name: String,
    /// TUN (IP) or TAP (Ethernet).
    pub layer: Layer,
    /// Hardware address of a TAP device, fixed so that captures are reproducible.
    pub hardware_address: [u8; 6],
    /// Largest IP packet in bytes.
    pub mtu: u32,
    /// Capacity of the device's queue towards the reader in packets (`txqueuelen`).
    pub queue_length: u32,
    /// Whether segments stay whole; see the [module](self).
    pub whole_segments: bool,
    /// Whether written packets take the NAPI path of a network card, with GRO (IFF_NAPI).
    pub napi: bool,
    /// The device file that opens TUN and TAP devices.
    pub device: PathBuf,
}

impl Default for TunOptions {
    fn default() -> Self {
        Self {
            name: "lasthop0".into(),
            layer: Layer::Ip,
            hardware_address: [0x02, 0, 0, 0, 0, 1],
            mtu: 1500,
            queue_length: 1000,
            whole_segments: false,
            napi: false,
            device: PathBuf::from(DEVICE),
        }
    }
}

/// Path of the device file on Linux.
pub const DEVICE: &str = "/dev/net/tun";

/// Path of the device file in a guest's kernel, whose devices have links inside the kernel (crate
/// `emulator`, module `guest`). It takes the requests that [`DEVICE`] takes.
pub const GUEST_DEVICE: &str = "/dev/lasthop";

/// Returns the device file for the ends of a link: that of the guest's kernel, if this is one.
#[must_use]
pub fn device_of_links() -> &'static Path {
    let guest = Path::new(GUEST_DEVICE);
    if guest.exists() { guest } else { Path::new(DEVICE) }
}

/// Opens an event loop in the guest's kernel; `None` on a host.
pub fn guest_loop() -> Result<Option<File>> {
    match File::options().read(true).write(true).open(GUEST_DEVICE) {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        opened => opened.trying(|| format!("open {GUEST_DEVICE}")).map(Some),
    }
}

/// A TUN or TAP device; see the [module](self).
#[derive(Debug)]
pub struct Tun {
    fd: OwnedFd,
    namespace: Namespace,
    name: String,
    index: u32,
}

impl Tun {
    /// Creates a device in `namespace`, up and without addresses.
    ///
    /// The kernel sends nothing of its own accord over it: it announces no link-local address and
    /// solicits no routers.
    pub fn open(namespace: &Namespace, options: &TunOptions) -> Result<Self> {
        let fd = namespace.enter(|| attach(options))?;
        if sysctl::has_ipv6(namespace) {
            for (key, value) in [("accept_ra", "0"), ("router_solicitations", "0"), ("addr_gen_mode", "1")] {
                // In a sysctl key, a dot in a device name is written as a slash.
                let device = options.name.replace('.', "/");
                sysctl::write(namespace, &format!("net.ipv6.conf.{device}.{key}"), value)?;
            }
        }
        let index = interface::find(namespace, &options.name)?.index;
        let hardware_address = match options.layer {
            Layer::Ip => None,
            Layer::Ethernet => Some(options.hardware_address),
        };
        let change = Change {
            up: None,
            mtu: Some(options.mtu),
            queue_length: Some(options.queue_length),
            hardware_address,
        };
        interface::change(namespace, index, &change)?;
        interface::change(namespace, index, &Change::up())?;
        Ok(Self { fd, namespace: namespace.try_clone()?, name: options.name.clone(), index })
    }

    /// Returns the index of the interface in its namespace.
    #[must_use]
    pub fn index(&self) -> u32 {
        self.index
    }

    /// Returns the name of the interface in its namespace.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns a new file descriptor of the packet queue; the device lives until the last one is
    /// closed.
    pub fn descriptor(&self) -> Result<OwnedFd> {
        self.fd.try_clone().trying(|| format!("duplicate the file descriptor of {}", self.name))
    }

    /// Returns the device's packet counters.
    pub fn statistics(&self) -> Result<Statistics> {
        Ok(interface::find(&self.namespace, &self.name)?.statistics)
    }
}

impl AsFd for Tun {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

/// Opens the device file and attaches a queue to a new interface in the calling thread's namespace.
fn attach(options: &TunOptions) -> Result<OwnedFd> {
    let flags = OFlags::RDWR | OFlags::CLOEXEC | OFlags::NONBLOCK;
    let fd =
        rustix::fs::open(&options.device, flags, Mode::empty()).map_err(|errno| explain(options, errno))?;
    let mut request = offload::named(&options.name)?;
    let mut mode = libc::IFF_NO_PI
        | match options.layer {
            Layer::Ip => libc::IFF_TUN,
            Layer::Ethernet => libc::IFF_TAP,
        };
    if options.whole_segments {
        mode |= libc::IFF_VNET_HDR;
    }
    if options.napi {
        mode |= libc::IFF_NAPI;
    }
    request.ifr_ifru.ifru_flags = mode as libc::c_short;
    // SAFETY: TUNSETIFF reads and writes the `ifreq`, which outlives the call.
    let status = unsafe { libc::ioctl(fd.as_raw_fd(), libc::TUNSETIFF as _, &raw mut request) };
    if status < 0 {
        return Err(std::io::Error::last_os_error())
            .trying(|| format!("create the interface {}", options.name));
    }
    let features =
        if options.whole_segments { libc::TUN_F_CSUM | libc::TUN_F_TSO4 | libc::TUN_F_TSO6 } else { 0 };
    // SAFETY: TUNSETOFFLOAD takes its argument by value.
    let status =
        unsafe { libc::ioctl(fd.as_raw_fd(), libc::TUNSETOFFLOAD as _, libc::c_ulong::from(features)) };
    if status < 0 {
        return Err(std::io::Error::last_os_error())
            .trying(|| format!("set the offloads of interface {}", options.name));
    }
    Ok(fd)
}

/// Returns an error that says why the device file cannot be opened, and what to do.
fn explain(options: &TunOptions, errno: rustix::io::Errno) -> Error {
    use std::os::unix::fs::PermissionsExt;
    let path = options.device.display();
    match errno {
        rustix::io::Errno::NOENT | rustix::io::Errno::NODEV | rustix::io::Errno::NXIO => Error::missing(
            format!("cannot open {path}: {}", std::io::Error::from(errno)),
            format!("as root: modprobe tun; mkdir -p /dev/net; mknod -m 666 {path} c 10 200"),
        ),
        rustix::io::Errno::ACCESS | rustix::io::Errno::PERM => {
            // The owner is left out: in a user namespace, other users' ids all look alike.
            let found = std::fs::metadata(&options.device).map_or_else(
                |_| "mode unknown".to_owned(),
                |data| format!("mode {:04o}", data.permissions().mode() & 0o7777),
            );
            Error::missing(
                format!("cannot open {path}: permission denied ({found})"),
                format!("as root: chmod 0666 {path}"),
            )
        }
        other => Error::System { what: format!("open {path}"), source: other.into() },
    }
}
