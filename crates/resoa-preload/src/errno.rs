//! Access to `errno`, which a failed call sets and a successful call must not change.

use libc::c_int;

/// Returns the current value.
pub fn get() -> c_int {
    // SAFETY: the place belongs to the C library and to this thread.
    unsafe { *libc::__errno_location() }
}

/// Sets the value that the caller will see.
pub fn set(number: c_int) {
    // SAFETY: as above.
    unsafe { *libc::__errno_location() = number }
}
