//! What was last known of a descriptor's number: a hint that spares system calls, shared by threads
//! without a lock.
//!
//! What is remembered may be wrong in one direction only. A number that is remembered as a socket
//! of the agent's may be something else by now, which whoever acts on it finds out by the
//! descriptor's name. One that is remembered as foreign is so: every way in which a descriptor of
//! the agent's comes to a number (`socket`, `accept`, `dup`, `recvmsg`) writes it down here, and a
//! process whose numbers are not these remembers nothing as foreign.

use libc::c_int;
use resoa_calls::descriptor::Kind;
use rustix::process::getpid;
use std::sync::atomic::{AtomicI32, AtomicU8, Ordering};

/// Higher numbers are not remembered and looked at each time.
const NUMBERS: usize = 1 << 16;

static TABLE: [AtomicU8; NUMBERS] = [const { AtomicU8::new(0) }; NUMBERS];

/// The process whose numbers these are. A child after `vfork` has the same memory and numbers of
/// its own: what is foreign there may be its parent's socket.
static PROCESS: AtomicI32 = AtomicI32::new(0);

/// From now on the table is this process's, and a child's after `fork`. One that was made without
/// the C library learns of nothing that it is foreign.
pub fn look_after() {
    extern "C" fn ours() {
        PROCESS.store(getpid().as_raw_pid(), Ordering::Relaxed);
    }
    ours();
    // SAFETY: the function touches one number.
    unsafe { libc::pthread_atfork(None, None, Some(ours)) };
}

fn is_ours() -> bool {
    PROCESS.load(Ordering::Relaxed) == getpid().as_raw_pid()
}

/// What a number was when it was looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Hint {
    /// Not looked at.
    Unknown,
    /// None of the agent's: a file, or a socket of another kind.
    Foreign,
    /// One of the agent's.
    Carried(Kind),
}

/// Each, by its place, as the table has it: the first is what a table of zeroes says.
const HINTS: [Hint; 5] = [
    Hint::Unknown,
    Hint::Foreign,
    Hint::Carried(Kind::Stream),
    Hint::Carried(Kind::Listener),
    Hint::Carried(Kind::Datagram),
];

impl Hint {
    const fn place(self) -> u8 {
        match self {
            Self::Unknown => 0,
            Self::Foreign => 1,
            Self::Carried(Kind::Stream) => 2,
            Self::Carried(Kind::Listener) => 3,
            Self::Carried(Kind::Datagram) => 4,
        }
    }
}

fn place(number: c_int) -> Option<&'static AtomicU8> {
    TABLE.get(usize::try_from(number).ok()?)
}

/// What is remembered.
pub fn hint(number: c_int) -> Hint {
    let at = place(number).map_or(0, |place| place.load(Ordering::Relaxed));
    HINTS[usize::from(at)]
}

/// Remembers what a number has become.
pub fn remember(number: c_int, hint: Hint) {
    if let Some(place) = place(number) {
        let hint = if hint == Hint::Foreign && !is_ours() { Hint::Unknown } else { hint };
        place.store(hint.place(), Ordering::Relaxed);
    }
}

/// Remembers what was found out about a number of which nothing was known, unless it has become
/// something else meanwhile.
pub fn learn(number: c_int, hint: Hint) {
    if let Some(place) = place(number).filter(|_| hint != Hint::Foreign || is_ours()) {
        let unknown = Hint::Unknown.place();
        let _ = place.compare_exchange(unknown, hint.place(), Ordering::Relaxed, Ordering::Relaxed);
    }
}

/// A number has become a copy of another one. It is looked at again: after `vfork` a child's
/// numbers differ from its parent's, and the memory is one.
pub fn copied(to: c_int) {
    remember(to, Hint::Unknown);
}

/// Forgets numbers.
pub fn forget(first: c_int, last: c_int) {
    let first = usize::try_from(first).unwrap_or(0);
    let last = usize::try_from(last).unwrap_or(0).min(NUMBERS - 1);
    for place in TABLE.get(first..=last).unwrap_or_default() {
        place.store(Hint::Unknown.place(), Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Of a copy nothing is known, whatever its number was, and what is learnt late does not hide
    /// what happened meanwhile.
    #[test]
    fn hints_are_wrong_in_one_direction_only() {
        look_after();
        for known in HINTS {
            remember(1001, known);
            assert_eq!(hint(1001), known);
            copied(1001);
            assert_eq!(hint(1001), Hint::Unknown);
        }
        let datagram = Hint::Carried(Kind::Datagram);
        remember(1000, datagram);
        learn(1001, datagram);
        learn(1001, Hint::Foreign);
        assert_eq!(hint(1001), datagram);
        forget(1001, c_int::MAX);
        assert_eq!((hint(1000), hint(1001)), (datagram, Hint::Unknown));
        learn(1001, Hint::Foreign);
        assert_eq!(hint(1001), Hint::Foreign);
    }

    /// Numbers out of range are unknown.
    #[test]
    fn numbers_that_are_none() {
        look_after();
        remember(-1, Hint::Foreign);
        remember(1 << 16, Hint::Foreign);
        assert_eq!((hint(-1), hint(1 << 16)), (Hint::Unknown, Hint::Unknown));
        forget(5, 4);
        forget(1 << 17, c_int::MAX);
    }
}
