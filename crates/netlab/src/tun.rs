//! TUN and TAP devices: the ends of a link.

use crate::errors::{Attempt, NetlabError};
use crate::namespace::Namespace;
use packet::Layer;
use rustix::fs::{Mode, OFlags, open};
use rustix::ioctl::{IntegerSetter, Setter, ioctl};
use std::ffi::{c_char, c_short};
use std::io;
use std::os::fd::OwnedFd;
use std::path::Path;

/// The device file, unless a test says otherwise.
pub const DEVICE: &str = "/dev/net/tun";

/// What a device is to be like.
#[derive(Debug, Clone, Copy)]
pub struct TunOptions<'a> {
    /// Name of the interface, 15 bytes at most.
    pub name: &'a str,
    /// TUN for IP, TAP for Ethernet.
    pub layer: Layer,
    /// Whether segments come and go whole, behind a virtio header, with checksums left to do.
    pub whole_segments: bool,
}

/// `struct ifreq` as far as TUNSETIFF looks at it.
#[repr(C)]
struct InterfaceRequest {
    name: [c_char; libc::IFNAMSIZ],
    flags: c_short,
    rest: [u8; 22],
}

/// Makes a device in `namespace`. It disappears when the descriptor is closed.
pub fn create(namespace: &Namespace, options: TunOptions<'_>) -> Result<OwnedFd, NetlabError> {
    namespace.enter(|| create_here(Path::new(DEVICE), options))
}

/// Makes a device in the namespace of this thread, by the device file at `device`.
pub fn create_here(device: &Path, options: TunOptions<'_>) -> Result<OwnedFd, NetlabError> {
    let TunOptions { name, layer, whole_segments } = options;
    let fd = open(device, OFlags::RDWR | OFlags::CLOEXEC | OFlags::NONBLOCK, Mode::empty())
        .attempt(format!("open {}", device.display()))
        .map_err(|error| with_way_out(error, device))?;

    let mut request = InterfaceRequest { name: [0; libc::IFNAMSIZ], flags: 0, rest: [0; 22] };
    // The last byte stays 0.
    for (to, from) in request.name[..libc::IFNAMSIZ - 1].iter_mut().zip(name.bytes()) {
        *to = c_char::from_ne_bytes([from]);
    }
    let kind = match layer {
        Layer::Ip => libc::IFF_TUN,
        Layer::Ethernet => libc::IFF_TAP,
    };
    let header = if whole_segments { libc::IFF_VNET_HDR } else { 0 };
    request.flags = (kind | libc::IFF_NO_PI | header) as c_short;
    // SAFETY: TUNSETIFF reads and writes one `struct ifreq`, which is 40 bytes on 64-bit Linux, as this one is.
    unsafe { ioctl(&fd, Setter::<{ libc::TUNSETIFF as _ }, InterfaceRequest>::new(request)) }
        .attempt(format!("make the interface {name}"))
        .map_err(|error| {
            error.or_else_do("this needs root (CAP_NET_ADMIN), or a user namespace of your own")
        })?;

    let offloads = if whole_segments {
        libc::TUN_F_CSUM | libc::TUN_F_TSO4 | libc::TUN_F_TSO6 | libc::TUN_F_TSO_ECN
    } else {
        0
    };
    // SAFETY: TUNSETOFFLOAD takes flags by value.
    unsafe { ioctl(&fd, IntegerSetter::<{ libc::TUNSETOFFLOAD as _ }>::new_usize(offloads as usize)) }
        .attempt(format!("set the offloads of {name}"))?;
    Ok(fd)
}

/// What to do about a device file that cannot be opened.
fn with_way_out(error: NetlabError, device: &Path) -> NetlabError {
    let device = device.display();
    let way_out = match error.reason.kind() {
        io::ErrorKind::NotFound => {
            format!(
                "load the tun module (modprobe tun), or as root: mkdir -p /dev/net && mknod {device} c 10 200"
            )
        }
        io::ErrorKind::PermissionDenied => {
            format!("run as root, or let everybody open it, as most distributions do: chmod 0666 {device}")
        }
        _ => return error,
    };
    error.or_else_do(way_out)
}

const _: () = assert!(size_of::<InterfaceRequest>() == 40, "struct ifreq has 40 bytes on 64-bit Linux");
