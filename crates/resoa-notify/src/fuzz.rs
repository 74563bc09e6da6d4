//! Entry points for the fuzz targets (feature `fuzz`): parsers of the data that a program controls.
//! Each takes arbitrary bytes, and panics if a property does not hold.
#![expect(
    clippy::missing_panics_doc,
    reason = "to panic if something does not hold is what each of them is for"
)]

use crate::call::Notified;
use crate::filter::{Closing, notified};
use crate::message::{read, window};
use crate::signals::pending;
use crate::status::{BIND_SERVICE, field, has_privilege, mask};
use crate::target::{Target, Threads};
use libc::seccomp_data;
use resoa_calls::interposer::{Call, total};
use std::cell::RefCell;

/// Bytes that are copied from a program at a time.
const CHUNK: usize = 64 << 10;

thread_local! {
    /// The program is this process.
    static PROGRAM: RefCell<Threads> = RefCell::default();
}

fn program() -> Target {
    let number = std::process::id().cast_signed();
    PROGRAM.with_borrow_mut(|threads| threads.target(number)).expect("it runs")
}

fn word(octets: &[u8], number: usize) -> u64 {
    let mut word = [0; 8];
    for (to, from) in word.iter_mut().zip(octets.iter().skip(number * 8)) {
        *to = *from;
    }
    u64::from_ne_bytes(word)
}

/// A call is determined by its number alone, whatever its arguments. Its descriptor is an `int`.
pub fn call(octets: &[u8]) {
    let Some((&number, rest)) = octets.split_first() else { return };
    let calls = notified(Closing::Lingers);
    let mut args = [0; 6];
    for (place, argument) in args.iter_mut().enumerate() {
        *argument = word(rest, place);
    }
    let of = |number: i64| {
        Notified::of(&seccomp_data { nr: number as i32, arch: 0, instruction_pointer: 0, args })
    };
    match of(calls[usize::from(number) % calls.len()]) {
        Notified::Socket { family, .. } => assert_eq!(family, args[0] as i32),
        Notified::Close(descriptor) => assert_eq!(descriptor, args[0] as i32),
        Notified::On(descriptor, call) => {
            assert_eq!(descriptor, args[0] as i32);
            if let Call::SendMessages { count, .. } | Call::ReceiveMessages { count, .. } = call {
                assert_eq!(count, args[2] as u32);
            }
        }
        Notified::Other => panic!("the filter notifies of it"),
    }
    let other = args[5] as u16;
    assert_eq!(of(other.into()) == Notified::Other, !calls.contains(&other.into()));
}

/// A message in a program's memory, with arbitrary pointers into the input or to invalid places. A
/// message that can be read has at most as many pieces as the kernel accepts, and its windows are
/// no longer than requested.
pub fn message(octets: &[u8]) {
    const HEADER: usize = 56;
    let mut memory = octets.to_vec();
    memory.resize(octets.len().max(HEADER), 0);
    let base = memory.as_ptr().expose_provenance();
    // Places of the address, the pieces, the control messages and the first data.
    for place in [0, 16, 32, HEADER] {
        let Some(at) = memory.get(place..place + 8).and_then(|at| at.first_chunk::<8>()) else { continue };
        let wanted = usize::from_ne_bytes(*at);
        // Multiples of 8 stay unchanged.
        if !wanted.is_multiple_of(8) {
            let inside = base + wanted % (octets.len() + 16);
            memory[place..place + 8].copy_from_slice(&inside.to_ne_bytes());
        }
    }
    let program = program();
    let Ok(message) = read(&program, base) else { return };
    assert!(message.pieces.len() <= 1024);
    let (whole, skip) = (total(&message.pieces), word(octets, 2) as usize);
    for most in [0, 1, CHUNK] {
        let part = window(&message.pieces, skip, most);
        assert!(total(&part) <= most && part.iter().all(|piece| piece.length > 0));
        // A total beyond `usize::MAX` saturates.
        assert!(whole == usize::MAX || total(&part) == most.min(whole.saturating_sub(skip)));
        if let Ok(octets) = program.gather(&part) {
            assert_eq!(octets.len(), total(&part));
        }
    }
    drop(memory);
}

/// The `status` of a thread contains the name of its program, which the program chooses.
pub fn status(octets: &[u8]) {
    let text = String::from_utf8_lossy(octets);
    let _ = pending(&text);
    for name in ["Name", "Tgid", "Threads", "SigBlk", ""] {
        assert!(field(&text, name).is_none_or(|value| text.contains(value)));
        let _ = mask(&text, name);
    }
    assert!(!has_privilege(&text, BIND_SERVICE) || mask(&text, "CapEff") & 1 << BIND_SERVICE != 0);
}
