//! What a program whose calls are notified can say: numbers and arguments of calls, messages in its
//! memory, the kernel's word of its threads.

/// One input.
pub fn run(octets: &[u8]) {
    resoa_notify::fuzz::call(octets);
    resoa_notify::fuzz::message(octets);
    resoa_notify::fuzz::status(octets);
}
