//! Addresses and values as programs give them and take them: by pointers that may lead nowhere,
//! which is EFAULT and not the program's end. So the kernel copies, from this process to this
//! process.

use libc::{c_int, c_void, iovec};
use rustix::process::getpid;
use std::ptr;

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

/// Reads octets that a program gave; EFAULT if they are nowhere.
pub fn read(octets: *const u8, ours: &mut [u8]) -> Result<(), c_int> {
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

#[cfg(test)]
mod tests {
    use super::*;

    /// What leads nowhere is EFAULT, unless nothing is there to be copied.
    #[test]
    fn places_that_lead_nowhere() {
        for place in [ptr::null_mut(), ptr::without_provenance_mut::<u8>(64)] {
            assert_eq!(read(place, &mut [0; 4]), Err(libc::EFAULT));
            assert_eq!(read(place, &mut []), Ok(()));
            assert_eq!(put(place, b"x"), Err(libc::EFAULT));
            assert_eq!(put(place, b""), Ok(()));
        }
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
