//! eBPF programs at network interfaces: what those of TCP Lite and of the FIN hold have in common.
//!
//! The hook is tcx (Linux 6.6), in front of tc's filters. It needs no qdisc and no netlink, and the
//! kernel detaches a program when its link's last descriptor is closed, in whatever way the process
//! ends.

mod refusal;

pub use refusal::{Refusal, listen};

use libbpf_rs::{AsRawLibbpf, Link, Mut, ProgramImpl};
use std::io;
use std::ptr::{self, NonNull};

/// What stands before the IP header of a packet that an interface hands up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Header {
    /// Nothing: TUN, PPP, raw IP.
    None,
    /// 14 octets of Ethernet: Wi-Fi and the loopback, too.
    Ethernet,
}

/// As of modems; the libc crate does not have it.
const ARPHRD_RAWIP: u16 = 519;

impl Header {
    /// Of interfaces of this type of link layer (`linux/if_arp.h`).
    ///
    /// # Errors
    /// A reason, if that is not known.
    pub fn of(link_layer: u16) -> Result<Self, String> {
        match link_layer {
            libc::ARPHRD_ETHER | libc::ARPHRD_LOOPBACK => Ok(Self::Ethernet),
            libc::ARPHRD_NONE | ARPHRD_RAWIP | libc::ARPHRD_PPP => Ok(Self::None),
            other => Err(format!(
                "its link layer (ARPHRD {other}) is not known here; Ethernet, Wi-Fi, TUN, PPP and raw IP are"
            )),
        }
    }
}

/// Attaches a program to an interface, behind those that are at the hook already; the program's
/// section says whether at ingress or egress. It stays as long as the link.
///
/// # Errors
/// The kernel's: ENODEV without the interface, EPERM without CAP_NET_ADMIN and CAP_BPF, EINVAL
/// before Linux 6.6.
#[expect(unsafe_code, reason = "libbpf-rs does not wrap tcx")]
pub fn attach(program: &ProgramImpl<'_, Mut>, interface: u32) -> io::Result<Link> {
    // SAFETY: the program is loaded and borrowed for the call, and no options means the defaults.
    let link = unsafe {
        libbpf_sys::bpf_program__attach_tcx(
            program.as_libbpf_object().as_ptr(),
            interface.cast_signed(),
            ptr::null(),
        )
    };
    let Some(link) = NonNull::new(link) else { return Err(io::Error::last_os_error()) };
    // SAFETY: libbpf made it, and nobody else has it.
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
