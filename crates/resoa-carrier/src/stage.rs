//! Progress of a connection as its user knows it, for carriers with a stream on which they report
//! it.

use resoa_protocol::lhp::{DisconnectReason, Statistics};

/// Stage of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stage {
    /// The client waits for the server to accept it.
    Asking,
    /// The server waits for the client's introduction.
    Unknown,
    /// The server's user has not decided yet whether to accept the client.
    Offered,
    Up,
    /// Our user has closed the connection. What it handed over is still delivered, and the other
    /// side has not ended the connection yet.
    Closing,
    /// The connection failed or has ended, and our user must be told.
    Over(DisconnectReason),
    /// The connection has ended, and our user knows.
    Gone,
}

/// Statistics of a connection that does not exist.
pub(crate) const NOTHING_KNOWN: Statistics =
    Statistics { round_trip: None, healthy: false, retransmissions: 0 };
