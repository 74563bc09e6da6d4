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

/// The return of a call: -1 and its error, or what it came to, with `errno` as it was whatever
/// happened on the way.
pub fn settled(call: impl FnOnce() -> Result<usize, c_int>) -> isize {
    let before = get();
    match call() {
        Ok(value) => {
            set(before);
            value.cast_signed()
        }
        Err(number) => {
            set(number);
            -1
        }
    }
}

/// The same of a call that returns an `int`.
pub fn settled_int(call: impl FnOnce() -> Result<usize, c_int>) -> c_int {
    settled(call) as c_int
}
