//! What was last known of a descriptor's number: a hint that spares system calls, shared by threads without a lock.
//!
//! What is remembered may be wrong in one direction only. A number that is remembered as a socket of the agent's may be something else by now, which whoever acts on it finds out by the
//! descriptor's name. One that is remembered as foreign is so: every way in which a descriptor of the agent's comes to a number (`socket`, `accept`, `dup`, `recvmsg`) writes it down here.

use libc::c_int;
use std::sync::atomic::{AtomicU8, Ordering};

/// Higher numbers are not remembered and looked at each time.
const NUMBERS: usize = 1 << 16;

static TABLE: [AtomicU8; NUMBERS] = [const { AtomicU8::new(0) }; NUMBERS];

/// What a number was when it was looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Hint {
    /// Not looked at.
    Unknown = 0,
    /// None of the agent's: a file, or a socket of another kind.
    Foreign = 1,
    /// A stream.
    Stream = 2,
    /// A stream that listens.
    Listener = 3,
    /// A datagram socket.
    Datagram = 4,
}

fn place(number: c_int) -> Option<&'static AtomicU8> {
    TABLE.get(usize::try_from(number).ok()?)
}

/// What is remembered.
pub fn hint(number: c_int) -> Hint {
    match place(number).map_or(0, |place| place.load(Ordering::Relaxed)) {
        1 => Hint::Foreign,
        2 => Hint::Stream,
        3 => Hint::Listener,
        4 => Hint::Datagram,
        _ => Hint::Unknown,
    }
}

/// Remembers what a number has become.
pub fn remember(number: c_int, hint: Hint) {
    if let Some(place) = place(number) {
        place.store(hint as u8, Ordering::Relaxed);
    }
}

/// Remembers what was found out about a number of which nothing was known, unless it has become something else meanwhile.
pub fn learn(number: c_int, hint: Hint) {
    if let Some(place) = place(number) {
        let _ = place.compare_exchange(0, hint as u8, Ordering::Relaxed, Ordering::Relaxed);
    }
}

/// A number has become a copy of another one. It is looked at again: after `vfork` a child's numbers differ from its parent's, and the memory is one.
pub fn copied(to: c_int) {
    remember(to, Hint::Unknown);
}

/// Forgets numbers.
pub fn forget(first: c_int, last: c_int) {
    let first = usize::try_from(first).unwrap_or(0);
    let last = usize::try_from(last).unwrap_or(0).min(NUMBERS - 1);
    for place in TABLE.get(first..=last).unwrap_or_default() {
        place.store(0, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Of a copy nothing is known, whatever its number was, and what is learnt late does not hide what happened meanwhile.
    #[test]
    fn hints_are_wrong_in_one_direction_only() {
        for known in [Hint::Foreign, Hint::Stream, Hint::Listener, Hint::Datagram] {
            remember(1001, known);
            copied(1001);
            assert_eq!(hint(1001), Hint::Unknown);
        }
        remember(1000, Hint::Datagram);
        learn(1001, Hint::Datagram);
        learn(1001, Hint::Foreign);
        assert_eq!(hint(1001), Hint::Datagram);
        forget(1001, c_int::MAX);
        assert_eq!((hint(1000), hint(1001)), (Hint::Datagram, Hint::Unknown));
        learn(1001, Hint::Foreign);
        assert_eq!(hint(1001), Hint::Foreign);
    }

    /// Numbers out of range are unknown.
    #[test]
    fn numbers_that_are_none() {
        remember(-1, Hint::Stream);
        remember(1 << 16, Hint::Stream);
        assert_eq!((hint(-1), hint(1 << 16)), (Hint::Unknown, Hint::Unknown));
        forget(5, 4);
        forget(1 << 17, c_int::MAX);
    }
}
