//! Detection of signals for a thread whose call is being answered, from `/proc/…/status`.
//!
//! Such a thread sleeps so that only a fatal signal wakes it. In the kernel's TCP, a handler or a
//! stop would also interrupt the call. So a waiting call checks for such signals here, and ends as
//! the kernel would end it.

use crate::status::{field, mask};

/// ERESTARTSYS of the kernel: the call is restarted after a handler with SA_RESTART or a stop, and
/// fails with EINTR after another handler. Only valid if a signal is certainly pending; the program
/// would see this number otherwise.
pub(crate) const RESTART: i32 = 512;

/// Signals pending for a thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Pending {
    /// No signal that it does not block or ignore.
    Nothing,
    /// A signal that this thread will take.
    Own,
    /// A signal of a process with several threads: another thread may take it.
    Shared,
}

/// Evaluates the `status` of a thread. A blocked or ignored signal does not interrupt.
pub(crate) fn pending(status: &str) -> Pending {
    let mask = |name| mask(status, name);
    let passes = !(mask("SigBlk") | mask("SigIgn"));
    let alone = field(status, "Threads") == Some("1");
    match (mask("SigPnd") & passes != 0, mask("ShdPnd") & passes != 0) {
        (true, _) => Pending::Own,
        (false, true) if alone => Pending::Own,
        (false, true) => Pending::Shared,
        (false, false) => Pending::Nothing,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn status(threads: u32, own: u64, shared: u64, blocked: u64, ignored: u64) -> String {
        format!(
            "Name:\tgo\nTgid:\t7\nThreads:\t{threads}\nSigQ:\t0/63\nSigPnd:\t{own:016x}\nShdPnd:\t{shared:016x}\n\
             SigBlk:\t{blocked:016x}\nSigIgn:\t{ignored:016x}\nSigCgt:\t0000000000000000\n"
        )
    }

    /// Section 3.14: local waits end with a signal; a signal that no thread would take ends none.
    #[test]
    fn what_interrupts() {
        let interrupt = 1 << (libc::SIGINT - 1);
        for (status, expected) in [
            (status(1, 0, 0, 0, 0), Pending::Nothing),
            (status(9, interrupt, 0, 0, 0), Pending::Own),
            (status(1, 0, interrupt, 0, 0), Pending::Own),
            (status(2, 0, interrupt, 0, 0), Pending::Shared),
            (status(1, interrupt, interrupt, interrupt, 0), Pending::Nothing),
            (status(1, 0, interrupt, 0, interrupt), Pending::Nothing),
            (String::new(), Pending::Nothing),
        ] {
            assert_eq!(pending(&status), expected, "{status}");
        }
    }
}
