//! Interfaces of the calling thread's network namespace, with the properties that the programs
//! depend on. Reading them needs no privileges.
#![expect(unsafe_code, reason = "these calls are in no safe library")]

use rustix::fd::{AsRawFd, OwnedFd};
use rustix::net::{AddressFamily, SocketFlags, SocketType};
use std::ffi::CStr;
use std::io;
use tcx::Header;

/// Properties of an interface.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Interface {
    pub(super) index: u32,
    /// Type of its link layer (`linux/if_arp.h`).
    pub(super) link_layer: u16,
    pub(super) is_up: bool,
    pub(super) is_loopback: bool,
}

impl Interface {
    /// Header that its packets begin with.
    ///
    /// # Errors
    /// The reason, if the header of this link layer is unknown.
    pub(super) fn header(self) -> Result<Header, String> {
        Header::of(self.link_layer)
    }
}

/// Looks up the interface of this name.
pub(super) fn find(name: &str) -> io::Result<Interface> {
    let socket =
        rustix::net::socket_with(AddressFamily::INET, SocketType::DGRAM, SocketFlags::CLOEXEC, None)?;
    let index = ask(&socket, name, libc::SIOCGIFINDEX as libc::Ioctl)?;
    let hardware = ask(&socket, name, libc::SIOCGIFHWADDR as libc::Ioctl)?;
    let flags = ask(&socket, name, libc::SIOCGIFFLAGS as libc::Ioctl)?;
    // SAFETY: each call has written the part that is read here, and all other bytes are 0.
    let (index, link_layer, flags) = unsafe {
        (index.ifr_ifru.ifru_ifindex, hardware.ifr_ifru.ifru_hwaddr.sa_family, flags.ifr_ifru.ifru_flags)
    };
    let flags = libc::c_int::from(flags);
    Ok(Interface {
        index: index.cast_unsigned(),
        link_layer,
        is_up: flags & libc::IFF_UP != 0,
        is_loopback: flags & libc::IFF_LOOPBACK != 0,
    })
}

fn ask(socket: &OwnedFd, name: &str, what: libc::Ioctl) -> io::Result<libc::ifreq> {
    // SAFETY: it is plain data for which 0 is a value.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    // The last byte stays 0 and ends the name.
    if name.len() >= request.ifr_name.len() {
        return Err(rustix::io::Errno::NODEV.into());
    }
    for (to, from) in request.ifr_name.iter_mut().zip(name.bytes()) {
        *to = from.cast_signed();
    }
    // SAFETY: the kernel reads the name from `request` and writes the answer to it.
    let result = unsafe { libc::ioctl(socket.as_raw_fd(), what, &raw mut request) };
    if result == 0 { Ok(request) } else { Err(io::Error::last_os_error()) }
}

/// Lists the names of all interfaces.
pub(super) fn names() -> io::Result<Vec<String>> {
    // SAFETY: the call takes no arguments.
    let list = unsafe { libc::if_nameindex() };
    if list.is_null() {
        return Err(io::Error::last_os_error());
    }
    let mut names = Vec::new();
    let mut next = list;
    // SAFETY: an entry without an index ends the list. All others have a name, and no name is used
    // after the list is freed.
    unsafe {
        while (*next).if_index != 0 {
            names.push(CStr::from_ptr((*next).if_name).to_string_lossy().into_owned());
            next = next.add(1);
        }
        libc::if_freenameindex(list);
    }
    Ok(names)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loopback_is_everywhere() {
        assert!(names().expect("can be listed").contains(&"lo".to_owned()));
        let found = find("lo").expect("is there");
        assert!(found.is_loopback && found.index == 1, "{found:?}");
        assert_eq!(found.header(), Ok(Header::Ethernet));
        for name in ["nowhere0", "a-name-that-is-too-long-for-one"] {
            assert_eq!(find(name).expect_err("is not there").raw_os_error(), Some(libc::ENODEV));
        }
    }
}
