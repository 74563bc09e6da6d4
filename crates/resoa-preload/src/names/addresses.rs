//! `getaddrinfo`. The C library validates its arguments, chooses protocols and ports, and reads
//! numeric addresses. The server looks up hosts.

use super::{addresses, is_number};
use crate::{agent, real};
use libc::{addrinfo, c_char, c_int, sockaddr};
use std::ffi::CStr;
use std::net::{IpAddr, SocketAddr};
use std::ptr;

/// `getaddrinfo(3)`. The C library's own `freeaddrinfo` frees the result. So, as in the C library,
/// each entry is one allocation that includes its address, and a canonical name is another one.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn getaddrinfo(
    node: *const c_char,
    service: *const c_char,
    hints: *const addrinfo,
    result: *mut *mut addrinfo,
) -> c_int {
    if agent::known().is_none() {
        return unsafe { real::getaddrinfo(node, service, hints, result) };
    }
    // SAFETY: all zero means no hints.
    let mut wanted: addrinfo = unsafe { std::mem::zeroed() };
    if let Some(hints) = unsafe { hints.as_ref() } {
        wanted.ai_flags = hints.ai_flags;
        wanted.ai_family = hints.ai_family;
        wanted.ai_socktype = hints.ai_socktype;
        wanted.ai_protocol = hints.ai_protocol;
    } else {
        // glibc's default is this flag and AI_ADDRCONFIG, which is about this host's interfaces.
        // Remote sockets do not use those.
        wanted.ai_flags = libc::AI_V4MAPPED;
    }
    wanted.ai_flags &= !libc::AI_ADDRCONFIG;
    // SAFETY: the text ends with zero.
    let host = (!node.is_null()).then(|| unsafe { CStr::from_ptr(node) });
    let Some(host) = host.filter(|host| wanted.ai_flags & libc::AI_NUMERICHOST == 0 && !is_number(host))
    else {
        return unsafe { real::getaddrinfo(node, service, &raw const wanted, result) };
    };
    match unsafe { looked_up(host, service, wanted) } {
        Ok(list) => {
            unsafe { *result = list };
            0
        }
        Err(error) => error,
    }
}

unsafe fn looked_up(host: &CStr, service: *const c_char, wanted: addrinfo) -> Result<*mut addrinfo, c_int> {
    let family = wanted.ai_family;
    let ports = unsafe { ports(service, wanted) }?;
    let text = host.to_str().map_err(|_| libc::EAI_NONAME)?;
    let mut found = match addresses(text, family) {
        Err(libc::EAI_NONAME) if maps(&wanted) => Vec::new(),
        found => found?,
    };
    if maps(&wanted) && (found.is_empty() || wanted.ai_flags & libc::AI_ALL != 0) {
        let v4 = addresses(text, libc::AF_INET);
        if let (true, Err(error)) = (found.is_empty(), &v4) {
            return Err(*error);
        }
        found.extend(v4.unwrap_or_default().into_iter().map(|address| match address {
            IpAddr::V4(address) => IpAddr::V6(address.to_ipv6_mapped()),
            IpAddr::V6(_) => address,
        }));
    }
    let entries = found.iter().flat_map(|address| ports.iter().map(move |port| (*address, *port)));
    let name = (wanted.ai_flags & libc::AI_CANONNAME != 0).then_some(host);
    unsafe { list(entries, wanted.ai_flags, name) }
}

fn maps(wanted: &addrinfo) -> bool {
    wanted.ai_family == libc::AF_INET6 && wanted.ai_flags & libc::AI_V4MAPPED != 0
}

/// A socket type, a protocol and a port.
#[derive(Debug, Clone, Copy)]
struct Port {
    kind: c_int,
    protocol: c_int,
    number: u16,
}

/// Returns the entries that each address gets for a service, or for none. The C library finds them
/// by looking up a numeric address instead of the host, and reports wrong arguments.
unsafe fn ports(service: *const c_char, wanted: addrinfo) -> Result<Vec<Port>, c_int> {
    let mut hints = wanted;
    hints.ai_flags = wanted.ai_flags & !libc::AI_CANONNAME | libc::AI_NUMERICHOST;
    hints.ai_family = if wanted.ai_family == libc::AF_UNSPEC { libc::AF_INET } else { wanted.ai_family };
    let number = if hints.ai_family == libc::AF_INET6 { c"::1" } else { c"127.0.0.1" };
    let mut found = ptr::null_mut();
    let error = unsafe { real::getaddrinfo(number.as_ptr(), service, &raw const hints, &raw mut found) };
    if error != 0 {
        return Err(error);
    }
    let mut ports = Vec::new();
    let mut entry = found;
    while let Some(known) = unsafe { entry.as_ref() } {
        // SAFETY: this is an address of IPv4 or IPv6; both have the port in the same place.
        let port = unsafe { (*known.ai_addr.cast::<libc::sockaddr_in>()).sin_port };
        ports.push(Port { kind: known.ai_socktype, protocol: known.ai_protocol, number: u16::from_be(port) });
        entry = known.ai_next;
    }
    unsafe { libc::freeaddrinfo(found) };
    Ok(ports)
}

/// Builds an entry for each address and port, in the C library's own memory.
unsafe fn list(
    entries: impl Iterator<Item = (IpAddr, Port)>,
    flags: c_int,
    mut canonical: Option<&CStr>,
) -> Result<*mut addrinfo, c_int> {
    let mut first = ptr::null_mut();
    let mut end: *mut *mut addrinfo = &raw mut first;
    for (address, port) in entries {
        let octets = resoa_calls::address::written(SocketAddr::new(address, port.number));
        // SAFETY: one allocation holds an entry and the bytes of an address behind it. Each place
        // is written before it is used.
        unsafe {
            let entry: *mut addrinfo = libc::malloc(size_of::<addrinfo>() + octets.len()).cast();
            if entry.is_null() {
                libc::freeaddrinfo(first);
                return Err(libc::EAI_MEMORY);
            }
            let place = entry.add(1).cast::<u8>();
            place.copy_from_nonoverlapping(octets.as_ptr(), octets.len());
            entry.write(addrinfo {
                ai_flags: flags,
                ai_family: if address.is_ipv4() { libc::AF_INET } else { libc::AF_INET6 },
                ai_socktype: port.kind,
                ai_protocol: port.protocol,
                ai_addrlen: octets.len() as libc::socklen_t,
                ai_addr: place.cast::<sockaddr>(),
                ai_canonname: canonical.take().map_or(ptr::null_mut(), |name| libc::strdup(name.as_ptr())),
                ai_next: ptr::null_mut(),
            });
            *end = entry;
            end = &raw mut (*entry).ai_next;
        }
    }
    Ok(first)
}
