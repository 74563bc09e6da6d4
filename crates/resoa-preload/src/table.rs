//! Hints about descriptor numbers, which save system calls. Threads share the table without a lock.
//!
//! Hints may be wrong in one direction only. A number remembered as a socket of the agent's may be
//! something else by now; callers that act on it check the descriptor's name first. A number
//! remembered as foreign is foreign. Each way in which the agent's descriptors get a number
//! (`socket`, `accept`, `dup`, `recvmsg`) is recorded here. A process that does not own this table
//! remembers no number as foreign.

use libc::c_int;
use resoa_calls::descriptor::DescriptorType;
use rustix::process::getpid;
use std::sync::atomic::{AtomicI32, AtomicU8, Ordering};

/// Size of the table. Higher numbers are not remembered, but checked each time.
const NUMBERS: usize = 1 << 16;

static TABLE: [AtomicU8; NUMBERS] = [const { AtomicU8::new(0) }; NUMBERS];

/// The process that owns the table. A child after `vfork` shares the memory but has numbers of its
/// own: a foreign number there may be a socket in its parent.
static PROCESS: AtomicI32 = AtomicI32::new(0);

/// Makes this process the owner of the table, and its children after `fork`. A child created
/// without the C library does not become the owner, and learns no foreign numbers.
pub fn look_after() {
    extern "C" fn ours() {
        PROCESS.store(getpid().as_raw_pid(), Ordering::Relaxed);
    }
    ours();
    // SAFETY: the function writes one number.
    unsafe { libc::pthread_atfork(None, None, Some(ours)) };
}

fn is_ours() -> bool {
    PROCESS.load(Ordering::Relaxed) == getpid().as_raw_pid()
}

/// State of a number when it was last checked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Hint {
    /// Not checked.
    Unknown,
    /// Not the agent's: a file, or another kind of socket.
    Foreign,
    /// A socket of the agent's.
    Carried(DescriptorType),
}

/// The hints by their value in the table. The first is that of a zeroed table.
const HINTS: [Hint; 5] = [
    Hint::Unknown,
    Hint::Foreign,
    Hint::Carried(DescriptorType::Stream),
    Hint::Carried(DescriptorType::Listener),
    Hint::Carried(DescriptorType::Datagram),
];

impl Hint {
    const fn place(self) -> u8 {
        match self {
            Self::Unknown => 0,
            Self::Foreign => 1,
            Self::Carried(DescriptorType::Stream) => 2,
            Self::Carried(DescriptorType::Listener) => 3,
            Self::Carried(DescriptorType::Datagram) => 4,
        }
    }
}

fn place(number: c_int) -> Option<&'static AtomicU8> {
    TABLE.get(usize::try_from(number).ok()?)
}

/// Returns the hint for a number.
pub fn hint(number: c_int) -> Hint {
    let at = place(number).map_or(0, |place| place.load(Ordering::Relaxed));
    HINTS[usize::from(at)]
}

/// Records a hint for a number.
pub fn remember(number: c_int, hint: Hint) {
    if let Some(place) = place(number) {
        let hint = if hint == Hint::Foreign && !is_ours() { Hint::Unknown } else { hint };
        place.store(hint.place(), Ordering::Relaxed);
    }
}

/// Records a hint for a number that had none, unless another thread has recorded one meanwhile.
pub fn learn(number: c_int, hint: Hint) {
    if let Some(place) = place(number).filter(|_| hint != Hint::Foreign || is_ours()) {
        let unknown = Hint::Unknown.place();
        let _ = place.compare_exchange(unknown, hint.place(), Ordering::Relaxed, Ordering::Relaxed);
    }
}

/// Forgets the hint for the target of a copy, so that it is checked again. The source's hint is not
/// copied: a child after `vfork` shares this memory, but its numbers differ from its parent's.
pub fn copied(to: c_int) {
    remember(to, Hint::Unknown);
}

/// Forgets the hints for a range of numbers, inclusive.
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

    /// A copy is unknown, whatever its number was before. A hint learned late does not overwrite a
    /// newer one.
    #[test]
    fn hints_are_wrong_in_one_direction_only() {
        look_after();
        for known in HINTS {
            remember(1001, known);
            assert_eq!(hint(1001), known);
            copied(1001);
            assert_eq!(hint(1001), Hint::Unknown);
        }
        let datagram = Hint::Carried(DescriptorType::Datagram);
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
