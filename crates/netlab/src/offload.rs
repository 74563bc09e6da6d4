//! Offloads of an interface, read and set by the ethtool ioctl.
//!
//! If the kernel believes that a device computes checksums or cuts segments, it does neither
//! itself. Damage on such a path stays invisible, and 64 KiB packets pass where a wire would carry
//! 1500 bytes. Behind veth, loopback and TAP there is no hardware that would do this work, so an
//! experiment must choose which of the two it wants.

use crate::Namespace;
use crate::error::{Result, Trying};
use std::os::fd::AsRawFd;

/// Work that is left to the device; `None` leaves a setting unchanged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Offloads {
    /// Checksums of outgoing packets (`tx-checksumming`).
    pub transmit_checksum: Option<bool>,
    /// Segmentation of TCP (`tcp-segmentation-offload`).
    pub tcp_segmentation: Option<bool>,
    /// Segmentation just above the device (`generic-segmentation-offload`).
    pub generic_segmentation: Option<bool>,
    /// Coalescing of received segments (`generic-receive-offload`).
    pub generic_receive: Option<bool>,
}

impl Offloads {
    /// No offloads: every packet as on a wire, with a complete checksum and at most the MTU.
    pub const NONE: Self = Self {
        transmit_checksum: Some(false),
        tcp_segmentation: Some(false),
        generic_segmentation: Some(false),
        generic_receive: Some(false),
    };
}

// linux/ethtool.h: the get and set commands of each feature.
const TRANSMIT_CHECKSUM: (u32, u32) = (0x16, 0x17);
const TCP_SEGMENTATION: (u32, u32) = (0x1e, 0x1f);
const GENERIC_SEGMENTATION: (u32, u32) = (0x23, 0x24);
const GENERIC_RECEIVE: (u32, u32) = (0x2b, 0x2c);

/// Sets the offloads of `interface`.
pub fn set(namespace: &Namespace, interface: &str, offloads: Offloads) -> Result<()> {
    namespace.enter(|| {
        for ((_, command), value) in [
            (TRANSMIT_CHECKSUM, offloads.transmit_checksum),
            (TCP_SEGMENTATION, offloads.tcp_segmentation),
            (GENERIC_SEGMENTATION, offloads.generic_segmentation),
            (GENERIC_RECEIVE, offloads.generic_receive),
        ] {
            if let Some(value) = value {
                ethtool(interface, command, u32::from(value))?;
            }
        }
        Ok(())
    })
}

/// Returns the offloads of `interface`, all of them `Some`.
pub fn get(namespace: &Namespace, interface: &str) -> Result<Offloads> {
    namespace.enter(|| {
        let ask = |(command, _): (u32, u32)| ethtool(interface, command, 0).map(|value| Some(value != 0));
        Ok(Offloads {
            transmit_checksum: ask(TRANSMIT_CHECKSUM)?,
            tcp_segmentation: ask(TCP_SEGMENTATION)?,
            generic_segmentation: ask(GENERIC_SEGMENTATION)?,
            generic_receive: ask(GENERIC_RECEIVE)?,
        })
    })
}

/// `struct ethtool_value`.
#[repr(C)]
struct Value {
    command: u32,
    data: u32,
}

/// Performs one command in the calling thread's namespace and returns the resulting value.
fn ethtool(interface: &str, command: u32, data: u32) -> Result<u32> {
    let what = || format!("run ethtool command {command:#x} on {interface}");
    let socket = rustix::net::socket(rustix::net::AddressFamily::INET, rustix::net::SocketType::DGRAM, None)
        .trying(|| "open a socket".into())?;
    let mut value = Value { command, data };
    let mut request = named(interface)?;
    request.ifr_ifru.ifru_data = (&raw mut value).cast();
    // SAFETY: SIOCETHTOOL reads and writes the `ethtool_value` behind `ifr_data`, which outlives
    // the call.
    let status = unsafe { libc::ioctl(socket.as_raw_fd(), libc::SIOCETHTOOL as _, &raw mut request) };
    if status < 0 {
        return Err(std::io::Error::last_os_error()).trying(what);
    }
    Ok(value.data)
}

/// Returns an `ifreq` that names an interface.
pub(crate) fn named(interface: &str) -> Result<libc::ifreq> {
    // SAFETY: `ifreq` is plain data for which all zeros is a valid value.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    let room = request.ifr_name.len() - 1;
    if interface.is_empty() || interface.len() > room || interface.contains(['/', ' ']) {
        return Err(crate::Error::Value {
            what: "interface name",
            value: interface.to_owned(),
            expected: "1 to 15 bytes without slashes and spaces",
        });
    }
    for (to, from) in request.ifr_name.iter_mut().zip(interface.bytes()) {
        *to = libc::c_char::from_ne_bytes([from]);
    }
    Ok(request)
}
