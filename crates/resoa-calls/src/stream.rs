//! Flags and errors of streams that AF_UNIX treats differently than TCP (C109; 8.2 of the
//! specification). The interposer handles them itself.

use libc::{MSG_DONTWAIT, MSG_ERRQUEUE, MSG_PEEK, MSG_TRUNC, MSG_WAITALL};

/// Returns whether `recv` copies nothing: it counts bytes and discards them, except with MSG_PEEK
/// (`tcp_recvmsg`). AF_UNIX copies them.
#[must_use]
pub fn discards(flags: i32) -> bool {
    flags & MSG_TRUNC != 0
}

/// Returns whether `recv` peeks and waits until all bytes or the end have arrived. AF_UNIX does not
/// wait when it peeks.
#[must_use]
pub fn peeks_at_all(flags: i32) -> bool {
    flags & (MSG_PEEK | MSG_WAITALL | MSG_DONTWAIT) == MSG_PEEK | MSG_WAITALL
}

/// Returns whether `recv` asks for errors and time stamps. There are none, so TCP says EAGAIN.
/// AF_UNIX reads data.
#[must_use]
pub fn wants_errors(flags: i32) -> bool {
    flags & MSG_ERRQUEUE != 0
}

/// Returns whether a reader gets an end of stream for a connection's error. 0 means that the error
/// has been reported before. EPIPE is that of a reset after the far host's FIN, which the reader
/// gets (`tcp_recvmsg`).
#[must_use]
pub fn is_an_end(error: i32) -> bool {
    matches!(error, 0 | libc::EPIPE)
}
