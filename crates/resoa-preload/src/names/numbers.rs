//! `getnameinfo`: the server looks up the host by its address, this host the service by its port.

use crate::program::{Here, given};
use crate::{agent, real};
use libc::{c_char, c_int, sockaddr, socklen_t};
use resoa_calls::{Request, Response};
use resoa_protocol::message::Query;
use std::net::{IpAddr, SocketAddr};
use std::ptr;

/// Returns the host name of an address.
///
/// # Errors
/// `EAI_…`
pub fn name_of(address: SocketAddr) -> Result<String, c_int> {
    if address.ip().to_canonical().is_loopback() {
        return Ok("localhost".to_owned());
    }
    // The port says nothing about the host, and a scope is valid only on its own host.
    let address = match address.ip() {
        IpAddr::V4(ip) => SocketAddr::from((ip, 0)),
        IpAddr::V6(ip) => SocketAddr::from((ip, 0)),
    };
    match agent::ask_at_length(&Request::Resolve(Query::Address(address))) {
        Ok(Response::Name { host, .. }) => Ok(host),
        Ok(Response::Unresolved(error)) => Err(error),
        _ => Err(libc::EAI_AGAIN),
    }
}

/// `getnameinfo(3)`
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn getnameinfo(
    address: *const sockaddr,
    length: socklen_t,
    host: *mut c_char,
    host_room: socklen_t,
    service: *mut c_char,
    service_room: socklen_t,
    flags: c_int,
) -> c_int {
    let native = |host, host_room, flags| unsafe {
        real::getnameinfo(address, length, host, host_room, service, service_room, flags)
    };
    let asks = !host.is_null() && host_room > 0 && flags & libc::NI_NUMERICHOST == 0;
    let known = asks && agent::known().is_some();
    let Some(of) = known.then(|| given(address, length).address(&Here).ok().flatten()).flatten() else {
        return native(host, host_room, flags);
    };
    let name = match name_of(of) {
        Ok(name) => name,
        Err(error) if flags & libc::NI_NAMEREQD != 0 => return error,
        // The result is the address as a number.
        Err(_) => return native(host, host_room, flags | libc::NI_NUMERICHOST),
    };
    if !service.is_null() && service_room > 0 {
        let error = native(ptr::null_mut(), 0, flags & !libc::NI_NAMEREQD);
        if error != 0 {
            return error;
        }
    }
    if name.len() >= host_room as usize || name.contains('\0') {
        return libc::EAI_OVERFLOW;
    }
    // SAFETY: there is room for the name and the zero behind it.
    unsafe {
        host.cast::<u8>().copy_from_nonoverlapping(name.as_ptr(), name.len());
        host.add(name.len()).write(0);
    }
    0
}
