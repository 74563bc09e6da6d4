//! `gethostbyname`, `gethostbyaddr` and their variants with the caller's memory. The variants
//! without it share one result, as in the C library.

use super::{addresses, is_number, numbers::name_of};
use crate::{agent, real};
use libc::{c_char, c_int, c_void, hostent, size_t, socklen_t};
use std::cell::UnsafeCell;
use std::ffi::{CStr, CString};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::ptr;

/// From `netdb.h`.
const HOST_NOT_FOUND: c_int = 1;
const TRY_AGAIN: c_int = 2;
const NO_RECOVERY: c_int = 3;
const NETDB_INTERNAL: c_int = -1;

unsafe extern "C" {
    fn __h_errno_location() -> *mut c_int;
}

fn host_error(error: c_int) -> c_int {
    match error {
        libc::EAI_AGAIN => TRY_AGAIN,
        libc::EAI_NONAME | libc::EAI_NODATA => HOST_NOT_FOUND,
        _ => NO_RECOVERY,
    }
}

/// The output arguments of a look-up: the result, a buffer for the data that it points at, and two
/// status values.
struct Answer {
    host: *mut hostent,
    buffer: *mut c_char,
    room: size_t,
    result: *mut *mut hostent,
    error: *mut c_int,
}

impl Answer {
    /// Reports a failure and returns `number`.
    ///
    /// # Safety
    /// All arguments are as a program passes them to `gethostbyname_r`.
    unsafe fn fail(&self, host_error: c_int, number: c_int) -> c_int {
        unsafe {
            *self.result = ptr::null_mut();
            if !self.error.is_null() {
                *self.error = host_error;
            }
        }
        number
    }

    /// Writes the result and returns 0, or ERANGE if the buffer is too small.
    ///
    /// # Safety
    /// As [`Answer::fail`].
    unsafe fn fill(&self, name: &CStr, found: &[IpAddr]) -> c_int {
        let octets: Vec<Vec<u8>> = found
            .iter()
            .map(|address| match address {
                IpAddr::V4(address) => address.octets().to_vec(),
                IpAddr::V6(address) => address.octets().to_vec(),
            })
            .collect();
        let each = octets.first().map_or(0, Vec::len);
        let skipped = self.buffer.align_offset(align_of::<*mut c_char>());
        // A null-terminated list of addresses, and an empty one of aliases.
        let pointers = octets.len() + 2;
        let name = name.to_bytes_with_nul();
        let needed = skipped + pointers * size_of::<*mut c_char>() + each * octets.len() + name.len();
        if needed > self.room {
            return unsafe { self.fail(NETDB_INTERNAL, libc::ERANGE) };
        }
        // SAFETY: there is room for all of it, aligned.
        unsafe {
            let list = self.buffer.add(skipped).cast::<*mut c_char>();
            let mut place = list.add(pointers).cast::<u8>();
            for (number, address) in octets.iter().enumerate() {
                place.copy_from_nonoverlapping(address.as_ptr(), each);
                *list.add(number) = place.cast();
                place = place.add(each);
            }
            *list.add(octets.len()) = ptr::null_mut();
            *list.add(octets.len() + 1) = ptr::null_mut();
            place.copy_from_nonoverlapping(name.as_ptr(), name.len());
            *self.host = hostent {
                h_name: place.cast(),
                h_aliases: list.add(octets.len() + 1),
                h_addrtype: if each == 4 { libc::AF_INET } else { libc::AF_INET6 },
                h_length: each as c_int,
                h_addr_list: list,
            };
            *self.result = self.host;
        }
        0
    }

    /// Looks up a name.
    ///
    /// # Safety
    /// As [`Answer::fail`].
    unsafe fn by_name(&self, name: *const c_char, family: c_int) -> c_int {
        let name = unsafe { CStr::from_ptr(name) };
        match name.to_str().map_err(|_| libc::EAI_NONAME).and_then(|text| addresses(text, family)) {
            Ok(found) => unsafe { self.fill(name, &found) },
            Err(libc::EAI_AGAIN) => unsafe { self.fail(TRY_AGAIN, libc::EAGAIN) },
            // A name that does not exist is no error of the call.
            Err(error) => unsafe { self.fail(host_error(error), 0) },
        }
    }

    /// Looks up an address.
    ///
    /// # Safety
    /// As [`Answer::fail`].
    unsafe fn by_address(&self, address: IpAddr) -> c_int {
        let name =
            name_of((address, 0).into()).and_then(|name| CString::new(name).map_err(|_| libc::EAI_FAIL));
        match name {
            Ok(name) => unsafe { self.fill(&name, &[address]) },
            Err(libc::EAI_AGAIN) => unsafe { self.fail(TRY_AGAIN, libc::EAGAIN) },
            Err(error) => unsafe { self.fail(host_error(error), 0) },
        }
    }
}

/// Returns whether the server looks up this name.
unsafe fn asks(name: *const c_char, family: c_int) -> bool {
    agent::known().is_some()
        && matches!(family, libc::AF_INET | libc::AF_INET6)
        && !name.is_null()
        && !is_number(unsafe { CStr::from_ptr(name) })
}

/// `gethostbyname2_r(3)`
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn gethostbyname2_r(
    name: *const c_char,
    family: c_int,
    host: *mut hostent,
    buffer: *mut c_char,
    room: size_t,
    result: *mut *mut hostent,
    error: *mut c_int,
) -> c_int {
    if !unsafe { asks(name, family) } {
        return unsafe { real::gethostbyname2_r(name, family, host, buffer, room, result, error) };
    }
    unsafe { Answer { host, buffer, room, result, error }.by_name(name, family) }
}

/// `gethostbyname_r(3)`
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn gethostbyname_r(
    name: *const c_char,
    host: *mut hostent,
    buffer: *mut c_char,
    room: size_t,
    result: *mut *mut hostent,
    error: *mut c_int,
) -> c_int {
    if !unsafe { asks(name, libc::AF_INET) } {
        return unsafe { real::gethostbyname_r(name, host, buffer, room, result, error) };
    }
    unsafe { Answer { host, buffer, room, result, error }.by_name(name, libc::AF_INET) }
}

/// Reads an address given as bytes; `None` if there is no agent, or if the family is not supported.
unsafe fn address_of(address: *const c_void, length: socklen_t, family: c_int) -> Option<IpAddr> {
    if address.is_null() || agent::known().is_none() {
        return None;
    }
    match (family, length) {
        (libc::AF_INET, 4) => Some(Ipv4Addr::from(unsafe { address.cast::<[u8; 4]>().read() }).into()),
        (libc::AF_INET6, 16) => Some(Ipv6Addr::from(unsafe { address.cast::<[u8; 16]>().read() }).into()),
        _ => None,
    }
}

/// `gethostbyaddr_r(3)`
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn gethostbyaddr_r(
    address: *const c_void,
    length: socklen_t,
    family: c_int,
    host: *mut hostent,
    buffer: *mut c_char,
    room: size_t,
    result: *mut *mut hostent,
    error: *mut c_int,
) -> c_int {
    match unsafe { address_of(address, length, family) } {
        Some(address) => unsafe { Answer { host, buffer, room, result, error }.by_address(address) },
        None => unsafe { real::gethostbyaddr_r(address, length, family, host, buffer, room, result, error) },
    }
}

/// Size of the buffer for one result, in bytes.
const ROOM: usize = 8192;

/// The one result of the variants without the caller's memory. The next call of any thread
/// overwrites it, as the manual says.
struct Shared(UnsafeCell<(hostent, [u64; ROOM / 8])>);

// SAFETY: callers promise not to use these functions from two threads at a time; those of the C
// library require the same.
unsafe impl Sync for Shared {}

static SHARED: Shared = Shared(UnsafeCell::new((
    hostent {
        h_name: ptr::null_mut(),
        h_aliases: ptr::null_mut(),
        h_addrtype: 0,
        h_length: 0,
        h_addr_list: ptr::null_mut(),
    },
    [0; ROOM / 8],
)));

unsafe fn shared(fill: impl FnOnce(&Answer) -> c_int) -> *mut hostent {
    let mut result = ptr::null_mut();
    unsafe {
        let place = SHARED.0.get();
        let answer = Answer {
            host: &raw mut (*place).0,
            buffer: (&raw mut (*place).1).cast(),
            room: ROOM,
            result: &raw mut result,
            error: __h_errno_location(),
        };
        fill(&answer);
    }
    result
}

/// `gethostbyname(3)`
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn gethostbyname(name: *const c_char) -> *mut hostent {
    if !unsafe { asks(name, libc::AF_INET) } {
        return unsafe { real::gethostbyname(name) };
    }
    unsafe { shared(|answer| answer.by_name(name, libc::AF_INET)) }
}

/// `gethostbyname2(3)`
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn gethostbyname2(name: *const c_char, family: c_int) -> *mut hostent {
    if !unsafe { asks(name, family) } {
        return unsafe { real::gethostbyname2(name, family) };
    }
    unsafe { shared(|answer| answer.by_name(name, family)) }
}

/// `gethostbyaddr(3)`
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn gethostbyaddr(
    address: *const c_void,
    length: socklen_t,
    family: c_int,
) -> *mut hostent {
    match unsafe { address_of(address, length, family) } {
        Some(of) => unsafe { shared(|answer| answer.by_address(of)) },
        None => unsafe { real::gethostbyaddr(address, length, family) },
    }
}
