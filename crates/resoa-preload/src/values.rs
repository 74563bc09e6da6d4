//! Access to addresses and values by a program's pointers. An invalid pointer must give EFAULT and
//! not crash the program. So the kernel copies the data, from this process to itself.

use libc::{c_int, c_void, iovec};
use rustix::process::getpid;
use std::ptr;

/// `process_vm_readv` or `process_vm_writev`.
type Copy = unsafe extern "C" fn(
    libc::pid_t,
    *const iovec,
    libc::c_ulong,
    *const iovec,
    libc::c_ulong,
    libc::c_ulong,
) -> isize;

/// Copies with `how` between our memory and the program's. `plainly` does it if the kernel refuses
/// to.
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
    // SAFETY: our memory has as many bytes, and the kernel checks theirs.
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

/// Reads bytes that a program gave. EFAULT if they cannot be read.
pub fn read(octets: *const u8, ours: &mut [u8]) -> Result<(), c_int> {
    let (place, count) = (ours.as_mut_ptr(), ours.len());
    copied(libc::process_vm_readv, place, octets.cast_mut(), count, || {
        // SAFETY: as a system call would read them.
        unsafe { place.copy_from_nonoverlapping(octets, count) }
    })
}

/// Checks that structures can be read, so that they may be read in place. EFAULT otherwise.
///
/// The kernel checks each page, in a call that always fails: `rt_sigprocmask` with an invalid
/// action. A copy by `process_vm_readv` takes nine times as long. A program that has
/// [confined](crate::confined) itself makes no such call; for it there is no check.
pub fn readable<T>(place: *const T, count: usize) -> Result<(), c_int> {
    const PAGE: usize = 4096;
    let octets = size_of::<T>() * count;
    if octets == 0 || crate::confined::is_confined() {
        return Ok(());
    }
    let first = place.addr();
    let last = first.checked_add(octets - 1).ok_or(libc::EFAULT)?;
    let before = crate::errno::get();
    // Eight bytes that begin at a multiple of eight are on one page.
    let is_there = (first / PAGE..=last / PAGE).all(|page| {
        let at = first.max(page * PAGE) & !7;
        crate::errno::set(0);
        // SAFETY: the kernel at most reads eight bytes. It changes nothing, because the action is
        // invalid.
        unsafe { libc::syscall(libc::SYS_rt_sigprocmask, -1, place.with_addr(at), ptr::null::<u8>(), 8) };
        // For null, the kernel reads nothing and returns 0, which leaves `errno` at 0.
        crate::errno::get() == libc::EINVAL
    });
    crate::errno::set(before);
    if is_there { Ok(()) } else { Err(libc::EFAULT) }
}

/// Writes bytes where a program wants them. EFAULT if they cannot be written.
pub fn put(place: *mut u8, octets: &[u8]) -> Result<(), c_int> {
    copied(libc::process_vm_writev, octets.as_ptr().cast_mut(), place, octets.len(), || {
        // SAFETY: as a system call would write them.
        unsafe { place.copy_from_nonoverlapping(octets.as_ptr(), octets.len()) }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Invalid pointers are EFAULT, unless there is nothing to copy.
    #[test]
    fn places_that_lead_nowhere() {
        for place in [ptr::null_mut(), ptr::without_provenance_mut::<u8>(64)] {
            assert_eq!(read(place, &mut [0; 4]), Err(libc::EFAULT));
            assert_eq!(read(place, &mut []), Ok(()));
            assert_eq!(put(place, b"x"), Err(libc::EFAULT));
            assert_eq!(put(place, b""), Ok(()));
        }
    }

    /// A structure that begins in mapped memory and ends outside cannot be read. A structure
    /// without bytes is not checked.
    #[test]
    fn structures_that_are_not_there() {
        const PAGE: usize = 4096;
        // SAFETY: the two pages are ours; the second is inaccessible.
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
        // SAFETY: nobody else has them.
        unsafe { libc::munmap(place.cast(), 2 * PAGE) };
    }
}
