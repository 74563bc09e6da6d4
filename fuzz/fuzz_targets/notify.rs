//! Arbitrary input from a program under seccomp notification: call numbers and arguments, messages
//! in its memory, and the kernel's information on its threads.

/// One input.
pub fn run(octets: &[u8]) {
    resoa_notify::fuzz::call(octets);
    resoa_notify::fuzz::message(octets);
    resoa_notify::fuzz::status(octets);
}
