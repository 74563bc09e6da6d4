//! Addresses and values as programs give them and take them: by pointers that may lead nowhere,
//! which is EFAULT and not the program's end. So the kernel copies, from this process to this
//! process.

use libc::{c_int, c_void, iovec, sockaddr, socklen_t, timespec};
use resoa_calls::time::TIMESPEC;
use resoa_calls::{address, time};
use rustix::process::getpid;
use std::net::SocketAddr;
use std::ptr;
use std::time::Duration;

/// `process_vm_readv`, `process_vm_writev`
type Copy = unsafe extern "C" fn(
    libc::pid_t,
    *const iovec,
    libc::c_ulong,
    *const iovec,
    libc::c_ulong,
    libc::c_ulong,
) -> isize;

/// Copies with `how` between a place of ours and one of the program's; `plainly` does it where the
/// kernel does not.
fn copied(
    how: Copy,
    ours: *mut u8,
    theirs: *mut u8,
    octets: usize,
    plainly: impl FnOnce(),
) -> Result<(), c_int> {
    if octets == 0 {
        return Ok(());
    }
    let piece = |place: *mut u8| iovec { iov_base: place.cast::<c_void>(), iov_len: octets };
    let (ours, theirs) = (piece(ours), piece(theirs));
    let before = crate::errno::get();
    // SAFETY: our place has as many octets, and of theirs the kernel finds out.
    let done = unsafe { how(getpid().as_raw_pid(), &raw const ours, 1, &raw const theirs, 1, 0) };
    let error = crate::errno::get();
    crate::errno::set(before);
    match usize::try_from(done) {
        Ok(done) if done == octets => Ok(()),
        Err(_) if matches!(error, libc::ENOSYS | libc::EPERM) => {
            plainly();
            Ok(())
        }
        _ => Err(libc::EFAULT),
    }
}

/// The octets that a program gave, with memory of the allocator's; of none, or with a length that
/// is none, EFAULT or EINVAL as the kernel says.
pub fn given(octets: *const u8, length: socklen_t, longest: usize) -> Result<Vec<u8>, c_int> {
    let mut copy = vec![0; within(length, longest)?];
    read(octets, &mut copy)?;
    Ok(copy)
}

/// The same in a place of ours, which is as long as they may be.
pub fn given_in(octets: *const u8, length: socklen_t, place: &mut [u8]) -> Result<&[u8], c_int> {
    let length = within(length, place.len())?;
    let place = &mut place[..length];
    read(octets, place)?;
    Ok(place)
}

fn within(length: socklen_t, longest: usize) -> Result<usize, c_int> {
    usize::try_from(length.cast_signed()).ok().filter(|length| *length <= longest).ok_or(libc::EINVAL)
}

fn read(octets: *const u8, ours: &mut [u8]) -> Result<(), c_int> {
    let (place, count) = (ours.as_mut_ptr(), ours.len());
    copied(libc::process_vm_readv, place, octets.cast_mut(), count, || {
        // SAFETY: as a call of the kernel's would read them.
        unsafe { place.copy_from_nonoverlapping(octets, count) }
    })
}

/// Whether a structure that a program gave can be read, so that it may be read in place: EFAULT
/// otherwise. It is asked of the kernel page by page, by a call that fails whatever it finds there
/// (`rt_sigprocmask` with no such action); a copy by `process_vm_readv` takes nine times as long. A
/// program that has [confined](crate::confined) itself makes no such call.
pub fn readable<T>(place: *const T, count: usize) -> Result<(), c_int> {
    const PAGE: usize = 4096;
    let octets = size_of::<T>() * count;
    if octets == 0 || crate::confined::is_confined() {
        return Ok(());
    }
    let first = place.addr();
    let last = first.checked_add(octets - 1).ok_or(libc::EFAULT)?;
    let before = crate::errno::get();
    // Eight octets that begin at a multiple of eight are on one page.
    let is_there = (first / PAGE..=last / PAGE).all(|page| {
        let at = first.max(page * PAGE) & !7;
        crate::errno::set(0);
        // SAFETY: the kernel reads eight octets, if it can, and changes nothing: there is no such
        // action.
        unsafe { libc::syscall(libc::SYS_rt_sigprocmask, -1, place.with_addr(at), ptr::null::<u8>(), 8) };
        // Of null it reads nothing, and has nothing to do.
        crate::errno::get() == libc::EINVAL
    });
    crate::errno::set(before);
    if is_there { Ok(()) } else { Err(libc::EFAULT) }
}

/// Puts octets where a program wants them; EFAULT if that is nowhere.
pub fn put(place: *mut u8, octets: &[u8]) -> Result<(), c_int> {
    copied(libc::process_vm_writev, octets.as_ptr().cast_mut(), place, octets.len(), || {
        // SAFETY: as a call of the kernel's would write them.
        unsafe { place.copy_from_nonoverlapping(octets.as_ptr(), octets.len()) }
    })
}

/// A length that a program gave by its place.
pub fn length(place: *const socklen_t) -> Result<socklen_t, c_int> {
    let mut octets = [0; size_of::<socklen_t>()];
    read(place.cast(), &mut octets)?;
    Ok(socklen_t::from_ne_bytes(octets))
}

/// An address that a program gave; `None` is AF_UNSPEC.
pub fn address(place: *const sockaddr, length: socklen_t) -> Result<Option<SocketAddr>, c_int> {
    address::read(given_in(place.cast(), length, &mut [0; address::LONGEST])?)
}

/// Gives a program an address: as much as it has room for, and how long it is.
pub fn give(address: SocketAddr, place: *mut sockaddr, room: *mut socklen_t) -> Result<(), c_int> {
    if place.is_null() {
        return Ok(());
    }
    let has = usize::try_from(length(room)?.cast_signed()).map_err(|_| libc::EINVAL)?;
    let octets = address::written(address);
    put(place.cast(), &octets[..octets.len().min(has)])?;
    put(room.cast(), &(octets.len() as socklen_t).to_ne_bytes())
}

/// Tells a program that there is no address, as the kernel does: by its length alone.
pub fn give_none(room: *mut socklen_t) -> Result<(), c_int> {
    if length(room)?.cast_signed() < 0 {
        return Err(libc::EINVAL);
    }
    put(room.cast(), &socklen_t::to_ne_bytes(0))
}

/// How long a program that gave a time wants to wait at most.
pub fn span(place: *const timespec) -> Result<Duration, c_int> {
    let mut octets = [0; TIMESPEC];
    read(place.cast(), &mut octets)?;
    time::span(&octets).ok_or(libc::EINVAL)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Addresses are cut to the room there is, and their whole length is said.
    #[test]
    fn addresses_are_cut() {
        let address = ([192, 0, 2, 1], 80).into();
        let mut place = [0xffu8; 16];
        let mut room = 4;
        let given = give(address, place.as_mut_ptr().cast(), &raw mut room);
        assert_eq!((given, room, &place[..5]), (Ok(()), 16, &[2, 0, 0, 80, 0xff][..]));
        let mut negative = u32::MAX;
        assert_eq!(give(address, place.as_mut_ptr().cast(), &raw mut negative), Err(libc::EINVAL));
        assert_eq!(give(address, ptr::null_mut(), ptr::null_mut()), Ok(()));
    }

    /// What is no address is refused as the kernel does, and what leads nowhere is EFAULT.
    #[test]
    fn addresses_that_are_none() {
        let nowhere = ptr::without_provenance_mut::<u8>(64);
        for place in [ptr::null_mut(), nowhere] {
            assert_eq!(address(place.cast(), 16), Err(libc::EFAULT));
            assert_eq!(put(place, b"x"), Err(libc::EFAULT));
            assert_eq!(put(place, b""), Ok(()));
            assert_eq!(length(place.cast()), Err(libc::EFAULT));
        }
        assert_eq!(address(ptr::null(), 0), Err(libc::EINVAL));
        assert_eq!(address(ptr::null(), 4096), Err(libc::EINVAL));
        assert_eq!(address(ptr::null(), u32::MAX), Err(libc::EINVAL));
        assert_eq!(give_none(nowhere.cast()), Err(libc::EFAULT));
        let mut room = 5;
        assert_eq!((give_none(&raw mut room), room), (Ok(()), 0));
        room = u32::MAX;
        assert_eq!(give_none(&raw mut room), Err(libc::EINVAL));
        assert_eq!(span(nowhere.cast()), Err(libc::EFAULT));
        assert_eq!(span(&timespec { tv_sec: -1, tv_nsec: 0 }), Err(libc::EINVAL));
        assert_eq!(span(&timespec { tv_sec: 1, tv_nsec: 5 }), Ok(Duration::new(1, 5)));
        let mut place = [0u8; 16];
        let given = give(([192, 0, 2, 1], 80).into(), place.as_mut_ptr().cast(), nowhere.cast());
        assert_eq!((given, place), (Err(libc::EFAULT), [0; 16]));
    }

    /// A structure that begins where memory is, and ends where there is none, cannot be read;
    /// nothing is asked of one without octets.
    #[test]
    fn structures_that_are_not_there() {
        const PAGE: usize = 4096;
        // SAFETY: two pages of our own, of which the second cannot be used.
        let place = unsafe {
            let protection = libc::PROT_READ | libc::PROT_WRITE;
            let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
            let place = libc::mmap(ptr::null_mut(), 2 * PAGE, protection, flags, -1, 0);
            assert_eq!(libc::mprotect(place.byte_add(PAGE), PAGE, libc::PROT_NONE), 0);
            place.cast::<u8>()
        };
        let before = crate::errno::get();
        let at = |octet: usize| place.wrapping_add(octet).cast::<[u8; 56]>();
        assert_eq!(readable(at(0), 1), Ok(()));
        assert_eq!(readable(at(PAGE - 56), 1), Ok(()));
        assert_eq!(readable(at(PAGE - 55), 1), Err(libc::EFAULT));
        assert_eq!(readable(at(0), PAGE / 56 + 1), Err(libc::EFAULT));
        assert_eq!(readable(at(PAGE), 0), Ok(()));
        assert_eq!(readable(ptr::null::<u64>(), 1), Err(libc::EFAULT));
        assert_eq!(readable(ptr::without_provenance::<u64>(usize::MAX - 3), 1), Err(libc::EFAULT));
        assert_eq!(crate::errno::get(), before);
        // SAFETY: nobody has them.
        unsafe { libc::munmap(place.cast(), 2 * PAGE) };
    }
}
