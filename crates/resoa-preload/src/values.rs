//! Addresses and values as programs give them and take them: pointers and lengths.

use libc::{c_int, sockaddr, socklen_t};
use std::net::SocketAddr;

/// The longest address that the kernel reads (`struct sockaddr_storage`).
const LONGEST_ADDRESS: usize = 128;

/// The octets that a program gave; of none, or with a length that is none, EFAULT or EINVAL as the kernel says.
///
/// # Safety
/// A pointer that is not null points at as many octets.
pub unsafe fn given<'a>(octets: *const u8, length: socklen_t, longest: usize) -> Result<&'a [u8], c_int> {
    let length = c_int::try_from(length).ok().and_then(|length| usize::try_from(length).ok());
    match length {
        Some(length) if length <= longest => {
            if length == 0 {
                Ok(&[])
            } else if octets.is_null() {
                Err(libc::EFAULT)
            } else {
                // SAFETY: as the caller promises.
                Ok(unsafe { std::slice::from_raw_parts(octets, length) })
            }
        }
        _ => Err(libc::EINVAL),
    }
}

/// An address that a program gave; `None` is AF_UNSPEC.
///
/// # Safety
/// As [`given`].
pub unsafe fn address(address: *const sockaddr, length: socklen_t) -> Result<Option<SocketAddr>, c_int> {
    // SAFETY: as the caller promises.
    resoa_calls::address::read(unsafe { given(address.cast(), length, LONGEST_ADDRESS) }?)
}

/// Gives a program an address: as much as it has room for, and how long it is.
///
/// # Safety
/// `room` points at a length, and `place` at as many octets; either may be null.
pub unsafe fn give(address: SocketAddr, place: *mut sockaddr, room: *mut socklen_t) -> Result<(), c_int> {
    if place.is_null() {
        return Ok(());
    }
    if room.is_null() {
        return Err(libc::EFAULT);
    }
    let octets = resoa_calls::address::written(address);
    // SAFETY: as the caller promises.
    unsafe {
        let has = usize::try_from((*room).cast_signed()).map_err(|_| libc::EINVAL)?;
        place.cast::<u8>().copy_from_nonoverlapping(octets.as_ptr(), octets.len().min(has));
        *room = octets.len() as socklen_t;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ptr;

    /// Addresses are cut to the room there is, and their whole length is said.
    #[test]
    fn addresses_are_cut() {
        let mut place = [0xffu8; 16];
        let mut room = 4;
        let given = unsafe { give(([192, 0, 2, 1], 80).into(), place.as_mut_ptr().cast(), &raw mut room) };
        assert_eq!((given, room, &place[..5]), (Ok(()), 16, &[2, 0, 0, 80, 0xff][..]));
        let mut negative = u32::MAX;
        let given =
            unsafe { give(([192, 0, 2, 1], 80).into(), place.as_mut_ptr().cast(), &raw mut negative) };
        assert_eq!(given, Err(libc::EINVAL));
        assert_eq!(unsafe { give(([192, 0, 2, 1], 80).into(), ptr::null_mut(), ptr::null_mut()) }, Ok(()));
    }

    /// What is no address is refused as the kernel does.
    #[test]
    fn addresses_that_are_none() {
        unsafe {
            assert_eq!(address(ptr::null(), 16), Err(libc::EFAULT));
            assert_eq!(address(ptr::null(), 0), Err(libc::EINVAL));
            assert_eq!(address(ptr::null(), 4096), Err(libc::EINVAL));
            assert_eq!(address(ptr::null(), u32::MAX), Err(libc::EINVAL));
        }
    }
}
