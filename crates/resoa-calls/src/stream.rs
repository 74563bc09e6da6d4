//! What flags and errors of a stream mean to a TCP where AF_UNIX takes them otherwise (C109; 8.2 of
//! the specification): what an interposer has to do by itself.

use libc::{MSG_DONTWAIT, MSG_ERRQUEUE, MSG_PEEK, MSG_TRUNC, MSG_WAITALL};

/// `recv` copies nothing: octets are counted, and thrown away but for MSG_PEEK (`tcp_recvmsg`).
/// AF_UNIX copies them.
#[must_use]
pub fn discards(flags: i32) -> bool {
    flags & MSG_TRUNC != 0
}

/// `recv` shows octets once all are there, or the end is. AF_UNIX does not wait for what it shows.
#[must_use]
pub fn peeks_at_all(flags: i32) -> bool {
    flags & (MSG_PEEK | MSG_WAITALL | MSG_DONTWAIT) == MSG_PEEK | MSG_WAITALL
}

/// `recv` asks for errors and time stamps, of which none come: EAGAIN. AF_UNIX reads data.
#[must_use]
pub fn wants_errors(flags: i32) -> bool {
    flags & MSG_ERRQUEUE != 0
}

/// Whether a connection's error is an end to who reads: 0 is none that was not told, and EPIPE is
/// that of a reset behind the far host's FIN, which who reads has (`tcp_recvmsg`).
#[must_use]
pub fn is_an_end(error: i32) -> bool {
    matches!(error, 0 | libc::EPIPE)
}
