//! System calls without a safe wrapper of this generality: options by number, the amount of
//! unacknowledged data, the round-trip time, and the C library's resolver.
#![expect(
    unsafe_code,
    reason = "options by number, with octets that a remote program gave, and the C library's resolver are in no safe library"
)]

use resoa_protocol::message::Family;
use rustix::fd::{AsRawFd, BorrowedFd};
use std::ffi::{CStr, CString};
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV6};
use std::time::Duration;
use std::{io, mem, ptr};

/// Maximum length in bytes of an option that is read.
const LONGEST: usize = 4096;

/// `getsockopt`, truncated to `room` bytes.
pub(crate) fn option(fd: BorrowedFd, level: i32, name: i32, room: usize) -> io::Result<Vec<u8>> {
    let mut value = vec![0; room.min(LONGEST)];
    let mut length = value.len() as libc::socklen_t;
    // SAFETY: the kernel writes at most `length` bytes to `value`, which has as many, and their
    // number to `length`.
    let result =
        unsafe { libc::getsockopt(fd.as_raw_fd(), level, name, value.as_mut_ptr().cast(), &raw mut length) };
    if result != 0 {
        return Err(io::Error::last_os_error());
    }
    value.truncate(length as usize);
    Ok(value)
}

/// `setsockopt`. Only for options whose value holds no pointer, because the kernel would follow it
/// in this process.
pub(crate) fn set_option(fd: BorrowedFd, level: i32, name: i32, value: &[u8]) -> io::Result<()> {
    // SAFETY: the kernel reads no more bytes than `value` has. The caller promises that none of
    // them is a pointer; `options` ensures that.
    let result = unsafe {
        libc::setsockopt(fd.as_raw_fd(), level, name, value.as_ptr().cast(), value.len() as libc::socklen_t)
    };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// SIOCOUTQ: sequence numbers that were passed to TCP and are not acknowledged. Our own FIN is one.
pub(crate) fn unacknowledged(fd: BorrowedFd) -> io::Result<u32> {
    let mut count: libc::c_int = 0;
    // SAFETY: the kernel writes one `int` to `count`.
    let result = unsafe { libc::ioctl(fd.as_raw_fd(), libc::TIOCOUTQ, &raw mut count) };
    if result == 0 { Ok(count.cast_unsigned()) } else { Err(io::Error::last_os_error()) }
}

/// Smoothed round-trip time of a TCP connection (`tcpi_rtt` of TCP_INFO); zero if it is unknown.
pub(crate) fn round_trip(fd: BorrowedFd) -> Duration {
    let end = mem::offset_of!(libc::tcp_info, tcpi_rtt) + size_of::<u32>();
    let info = option(fd, libc::IPPROTO_TCP, libc::TCP_INFO, end).unwrap_or_default();
    let micros = info.last_chunk().map_or(0, |octets| u32::from_ne_bytes(*octets));
    Duration::from_micros(micros.into())
}

/// `getaddrinfo`, with each address once. A service without an entry for streams is looked up among
/// those for datagrams.
///
/// # Errors
/// A code `EAI_…`.
pub(crate) fn addresses(host: &str, service: &str, family: Option<Family>) -> Result<Vec<SocketAddr>, i32> {
    match addresses_for(host, service, family, libc::SOCK_STREAM) {
        Err(libc::EAI_SERVICE) => addresses_for(host, service, family, libc::SOCK_DGRAM),
        outcome => outcome,
    }
}

fn addresses_for(
    host: &str,
    service: &str,
    family: Option<Family>,
    kind: i32,
) -> Result<Vec<SocketAddr>, i32> {
    let text = |text: &str| CString::new(text).map_err(|_| libc::EAI_NONAME);
    let (host_text, service_text) = (text(host)?, text(service)?);
    let or_null = |text: &CStr| if text.is_empty() { ptr::null() } else { text.as_ptr() };
    // SAFETY: all zeros are a valid `addrinfo`: no flags, no pointers.
    let mut hints: libc::addrinfo = unsafe { mem::zeroed() };
    hints.ai_socktype = kind;
    // Without a host: the address for a listener.
    hints.ai_flags = if host.is_empty() { libc::AI_PASSIVE } else { 0 };
    hints.ai_family = match family {
        None => libc::AF_UNSPEC,
        Some(Family::V4) => libc::AF_INET,
        Some(Family::V6) => libc::AF_INET6,
    };
    let mut list = ptr::null_mut();
    // SAFETY: both texts end with a zero and outlive the call. The resolver stores its result in
    // `list` if there is one.
    let code = unsafe {
        libc::getaddrinfo(or_null(&host_text), or_null(&service_text), &raw const hints, &raw mut list)
    };
    if code != 0 {
        return Err(code);
    }
    let mut found = Vec::new();
    let mut next = list;
    // SAFETY: the list comes from the resolver and ends with a null.
    while let Some(entry) = unsafe { next.as_ref() } {
        // SAFETY: the address has the family and the length that the entry says.
        let address = unsafe { address(entry) };
        found.extend(address.filter(|address| !found.contains(address)));
        next = entry.ai_next;
    }
    // SAFETY: the list is not used any more.
    unsafe { libc::freeaddrinfo(list) };
    Ok(found)
}

/// Converts the address of an entry; `None` for other families.
///
/// # Safety
/// `entry` has an address of its family.
unsafe fn address(entry: &libc::addrinfo) -> Option<SocketAddr> {
    match entry.ai_family {
        libc::AF_INET => {
            // SAFETY: the family says so. The read does not depend on the alignment.
            let address = unsafe { entry.ai_addr.cast::<libc::sockaddr_in>().read_unaligned() };
            let ip = Ipv4Addr::from(address.sin_addr.s_addr.to_ne_bytes());
            Some((ip, u16::from_be(address.sin_port)).into())
        }
        libc::AF_INET6 => {
            // SAFETY: as above.
            let address = unsafe { entry.ai_addr.cast::<libc::sockaddr_in6>().read_unaligned() };
            let ip = Ipv6Addr::from(address.sin6_addr.s6_addr);
            Some(SocketAddrV6::new(ip, u16::from_be(address.sin6_port), 0, address.sin6_scope_id).into())
        }
        _ => None,
    }
}

/// `getnameinfo`: names of a host and of a service. A service without a name is returned as its
/// number.
///
/// # Errors
/// A code `EAI_…`.
pub(crate) fn name(address: SocketAddr) -> Result<(String, String), i32> {
    let (mut host, mut service) = ([0 as libc::c_char; 1025], [0 as libc::c_char; 256]);
    let (storage, length) = match address {
        SocketAddr::V4(address) => {
            let sin = libc::sockaddr_in {
                sin_family: libc::AF_INET as libc::sa_family_t,
                sin_port: address.port().to_be(),
                sin_addr: libc::in_addr { s_addr: u32::from_ne_bytes(address.ip().octets()) },
                sin_zero: [0; 8],
            };
            (Storage { sin }, size_of::<libc::sockaddr_in>())
        }
        SocketAddr::V6(address) => {
            let sin6 = libc::sockaddr_in6 {
                sin6_family: libc::AF_INET6 as libc::sa_family_t,
                sin6_port: address.port().to_be(),
                sin6_flowinfo: 0,
                sin6_addr: libc::in6_addr { s6_addr: address.ip().octets() },
                sin6_scope_id: address.scope_id(),
            };
            (Storage { sin6 }, size_of::<libc::sockaddr_in6>())
        }
    };
    // SAFETY: the address and both buffers have the lengths that are passed.
    let code = unsafe {
        libc::getnameinfo(
            (&raw const storage).cast(),
            length as libc::socklen_t,
            host.as_mut_ptr(),
            host.len() as libc::socklen_t,
            service.as_mut_ptr(),
            service.len() as libc::socklen_t,
            libc::NI_NAMEREQD,
        )
    };
    if code != 0 {
        return Err(code);
    }
    let text = |buffer: &[libc::c_char]| {
        let octets: Vec<u8> =
            buffer.iter().take_while(|&&octet| octet != 0).map(|octet| octet.cast_unsigned()).collect();
        String::from_utf8(octets).map_err(|_| libc::EAI_FAIL)
    };
    Ok((text(&host)?, text(&service)?))
}

/// An address of either family.
#[repr(C)]
union Storage {
    sin: libc::sockaddr_in,
    sin6: libc::sockaddr_in6,
}
