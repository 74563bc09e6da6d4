//! How far a connection has come, as its user knows it, over carriers that have a stream to say so
//! on.

use resoa_protocol::lhp::{Ended, Statistics};

/// See the [module](self).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stage {
    /// The client waits to be taken.
    Asking,
    /// The server waits to be told who it is.
    Unknown,
    /// The server's user has not said whether it takes the client.
    Offered,
    Up,
    /// Our user has ended it: what was handed over is delivered, and the other side has still to
    /// end.
    Closing,
    /// It never was, or has ended, and our user is to be told.
    Over(Ended),
    /// It has ended, and our user knows.
    Gone,
}

/// What is known of a connection that is not there.
pub(crate) const NOTHING_KNOWN: Statistics =
    Statistics { round_trip: None, healthy: false, retransmissions: 0 };
