//! `errno`: what a call that failed leaves, and what one that succeeded must not change.

use libc::c_int;

/// As it is now.
pub fn get() -> c_int {
    // SAFETY: the C library's own, of this thread.
    unsafe { *libc::__errno_location() }
}

/// What the caller will see.
pub fn set(number: c_int) {
    // SAFETY: as above.
    unsafe { *libc::__errno_location() = number }
}
