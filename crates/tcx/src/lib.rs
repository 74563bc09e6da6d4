//! eBPF programs at network interfaces: code shared by TCP Lite and the FIN hold.
//!
//! The hook is tcx (Linux 6.6), which runs before tc's filters. It needs no qdisc and no netlink.
//! The kernel detaches a program when the last file descriptor of its link is closed, however the
//! process ends.

mod refusal;

pub use refusal::{Refusal, listen};

use libbpf_rs::{AsRawLibbpf, Link, Mut, ProgramImpl};
use std::io;
use std::ptr::{self, NonNull};

/// The header in front of the IP header of a packet from an interface.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Header {
    /// No header: TUN, PPP, raw IP.
    None,
    /// Ethernet, 14 octets; also for Wi-Fi and the loopback device.
    Ethernet,
}

/// Raw IP, as modems have it; missing in the libc crate.
const ARPHRD_RAWIP: u16 = 519;

impl Header {
    /// Returns the header for interfaces of this link layer type (`linux/if_arp.h`).
    ///
    /// # Errors
    /// The reason, if the type is unknown.
    pub fn of(link_layer: u16) -> Result<Self, String> {
        match link_layer {
            libc::ARPHRD_ETHER | libc::ARPHRD_LOOPBACK => Ok(Self::Ethernet),
            libc::ARPHRD_NONE | ARPHRD_RAWIP | libc::ARPHRD_PPP => Ok(Self::None),
            other => Err(format!(
                "its link layer (ARPHRD {other}) is not supported: expected Ethernet, Wi-Fi, TUN, PPP or raw IP"
            )),
        }
    }
}

/// Attaches a program to an interface, behind the programs that are already at the hook. The
/// program's section determines ingress or egress. The program stays attached as long as the link
/// exists.
///
/// # Errors
/// Errors of the kernel: ENODEV if the interface does not exist, EPERM without CAP_NET_ADMIN and
/// CAP_BPF, EINVAL before Linux 6.6.
#[expect(unsafe_code, reason = "libbpf-rs does not wrap tcx")]
pub fn attach(program: &ProgramImpl<'_, Mut>, interface: u32) -> io::Result<Link> {
    // SAFETY: the program is loaded and borrowed for the call; null options are the defaults.
    let link = unsafe {
        libbpf_sys::bpf_program__attach_tcx(
            program.as_libbpf_object().as_ptr(),
            interface.cast_signed(),
            ptr::null(),
        )
    };
    let Some(link) = NonNull::new(link) else { return Err(io::Error::last_os_error()) };
    // SAFETY: libbpf made the link, and it has no other owner.
    Ok(unsafe { Link::from_ptr(link) })
}

#[cfg(test)]
mod tests {
    use super::Header;

    #[test]
    fn link_layers() {
        let of = |link_layer: u16| Header::of(link_layer).ok();
        // ARPHRD_ETHER, ARPHRD_LOOPBACK; ARPHRD_NONE, ARPHRD_RAWIP, ARPHRD_PPP.
        assert_eq!([1, 772].map(of), [Some(Header::Ethernet); 2]);
        assert_eq!([65534, 519, 512].map(of), [Some(Header::None); 3]);
        // ARPHRD_IEEE80211_RADIOTAP
        assert!(Header::of(803).is_err_and(|why| why.contains("ARPHRD 803")));
    }
}
