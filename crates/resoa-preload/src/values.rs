//! Addresses and values as programs give them and take them: pointers and lengths.

use crate::errno;
use libc::{c_int, sockaddr, socklen_t};
use std::net::SocketAddr;

/// The longest address that the kernel reads (`struct sockaddr_storage`).
const LONGEST_ADDRESS: usize = 128;

/// A piece of this process's memory.
fn piece(octets: *const u8, length: usize) -> libc::iovec {
    libc::iovec { iov_base: octets.cast_mut().cast(), iov_len: length }
}

/// Whether the kernel could read these octets, where it would say EFAULT otherwise. Where it may not be asked, that they can be read is believed.
fn is_readable(octets: *const u8, length: usize) -> bool {
    let mut copy = [0_u8; 4096];
    let (here, there) = (piece(copy.as_mut_ptr(), length.min(copy.len())), piece(octets, length));
    // SAFETY: the copy is this function's own; the kernel checks the other.
    let copied =
        unsafe { libc::process_vm_readv(libc::getpid(), &raw const here, 1, &raw const there, 1, 0) };
    copied >= 0 || errno::get() != libc::EFAULT
}

/// Writes to where a program wants something, or EFAULT as the kernel says.
///
/// # Safety
/// Nobody else uses the octets that are there.
pub unsafe fn put(octets: &[u8], place: *mut u8) -> Result<(), c_int> {
    let (here, there) = (piece(octets.as_ptr(), octets.len()), piece(place, octets.len()));
    // SAFETY: the octets are read, and the kernel checks the place.
    let copied =
        unsafe { libc::process_vm_writev(libc::getpid(), &raw const here, 1, &raw const there, 1, 0) };
    if copied == octets.len() as isize {
        return Ok(());
    }
    if copied >= 0 || errno::get() == libc::EFAULT {
        return Err(libc::EFAULT);
    }
    // The kernel may not be asked here, so that the program is believed.
    // SAFETY: as the caller promises.
    unsafe { place.copy_from_nonoverlapping(octets.as_ptr(), octets.len()) };
    Ok(())
}

/// The length that stands where a program has room; EFAULT, or EINVAL if it is negative.
///
/// # Safety
/// Where the kernel may not be asked, the pointer points at a length.
pub unsafe fn room(length: *const socklen_t) -> Result<usize, c_int> {
    if length.is_null() || !is_readable(length.cast(), size_of::<socklen_t>()) {
        return Err(libc::EFAULT);
    }
    // SAFETY: it was just read.
    usize::try_from(unsafe { length.read_unaligned() }.cast_signed()).map_err(|_| libc::EINVAL)
}

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
            } else if !is_readable(octets, length) {
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
/// Nobody else uses what `room` and `place` point at; either may be null.
pub unsafe fn give(address: SocketAddr, place: *mut sockaddr, room: *mut socklen_t) -> Result<(), c_int> {
    if place.is_null() {
        return Ok(());
    }
    let octets = resoa_calls::address::written(address);
    // SAFETY: as the caller promises.
    unsafe {
        let has = self::room(room)?;
        put(&octets[..octets.len().min(has)], place.cast())?;
        put(&(octets.len() as socklen_t).to_ne_bytes(), room.cast())
    }
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
            assert_eq!(address(ptr::without_provenance(8), 16), Err(libc::EFAULT));
            let nowhere = ptr::without_provenance_mut(8);
            let mut length = 16;
            let somewhere = ([192, 0, 2, 1], 80).into();
            assert_eq!(give(somewhere, nowhere, &raw mut length), Err(libc::EFAULT));
            assert_eq!(give(somewhere, nowhere, ptr::without_provenance_mut(8)), Err(libc::EFAULT));
            assert_eq!(address(ptr::null(), 0), Err(libc::EINVAL));
            assert_eq!(address(ptr::null(), 4096), Err(libc::EINVAL));
            assert_eq!(address(ptr::null(), u32::MAX), Err(libc::EINVAL));
        }
    }
}
