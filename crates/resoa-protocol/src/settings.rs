//! Settings of a client, and the mutations that its models must detect.

use std::time::Duration;

/// Settings of a client's sockets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Settings {
    /// Most bytes of data in one message (A29).
    pub chunk: u32,
    /// SO_SNDBUF of a new socket in bytes of data that the far host has not acknowledged yet,
    /// wherever they are (A1). At least 2304, as on Linux, for datagrams.
    pub send_buffer: u32,
    /// Bytes that may arrive here before the program reads them. Must not be less than the server's
    /// receive buffer. Otherwise data, and the FIN behind it, would wait at the server for a
    /// program that does not read (A18).
    pub receive_buffer: u32,
    /// Number of bytes read that is reported at once, or a quarter of SO_RCVBUF if that is less.
    /// Fewer bytes wait for [`report_delay`](Self::report_delay) or for another message.
    pub report_after: u32,
    /// Longest delay of a report; see [`report_after`](Self::report_after).
    pub report_delay: Duration,
    /// What a lingering `close` does when its time is over (A5).
    pub linger: LingerPolicy,
    /// A mutation that a model must detect.
    #[cfg(test)]
    pub(crate) mutation: Option<Mutation>,
}

impl Default for Settings {
    /// Returns buffers as large as Linux lets TCP's grow (`tcp_wmem`, `tcp_rmem`), and reports
    /// after 2 segments (2.8 of the specification). The delay of reports is short, because the
    /// server's kernel acknowledges small amounts only when they are read, and a far host may wait
    /// for that (Nagle's algorithm, a small SO_SNDBUF).
    fn default() -> Self {
        Self {
            chunk: 16 << 10,
            send_buffer: 4 << 20,
            receive_buffer: 6 << 20,
            report_after: 2 * 1460,
            report_delay: Duration::from_millis(10),
            linger: LingerPolicy::Linux,
            #[cfg(test)]
            mutation: None,
        }
    }
}

/// What a lingering `close` does when its time is over.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum LingerPolicy {
    /// `close` returns 0, and delivery goes on.
    Linux,
    /// `close` returns EWOULDBLOCK, and RST discards the data that was not delivered. A
    /// non-blocking socket does not wait (the thesis).
    Bsd,
}

/// Timers of requests, of control messages and of the watchdog.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Timers {
    /// Round-trip times before the client asks after a request (6.1.3).
    pub request_round_trips: u32,
    /// Shortest time before it asks.
    pub request_shortest: Duration,
    /// Longest time before it asks; also used while no round-trip time is known.
    pub request_longest: Duration,
    /// Number of unanswered questions about a request after which the server is given up (6.5.3).
    pub expiries: u32,
    /// Time within which a control message must be answered.
    pub reply: Duration,
    /// Silence after which the other side is probed.
    pub watchdog: Duration,
}

impl Default for Timers {
    /// Returns the values of the specification's 4.5.
    fn default() -> Self {
        Self {
            request_round_trips: 10,
            request_shortest: Duration::from_secs(3),
            request_longest: Duration::from_mins(1),
            expiries: 16,
            reply: Duration::from_mins(1),
            watchdog: Duration::from_hours(1),
        }
    }
}

/// Whether the settings contain this mutation; always false outside of tests.
macro_rules! mutant {
    ($settings:expr, $mutation:ident) => {{
        #[cfg(test)]
        let is_alive = $settings.mutation == Some($crate::settings::Mutation::$mutation);
        #[cfg(not(test))]
        let is_alive = {
            let _ = &$settings;
            false
        };
        is_alive
    }};
}
pub(crate) use mutant;

/// Mistakes that an implementation could make. A model must detect each of them (C104).
#[cfg(test)]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Mutation {
    /// The far host's FIN is acknowledged at once, as by a plain TCP proxy.
    NoFinHold,
    /// The window opens when data is forwarded, not when it is read.
    WindowOnForward,
    /// The server is not told of an `accept`.
    AcceptedOmitted,
    /// CLOSE overtakes data that is still to be written.
    CloseBeforeQueued,
    /// Space at the server is never freed.
    RemoteUsedNotDecremented,
    /// The server is not told that room is scarce.
    RoomNotAskedFor,
    /// The client forgets the socket before it has sent the second CLOSE.
    FreesBeforeSecondClose,
    /// An answer to STILL_ALIVE is answered.
    StillAlivePingPong,
    /// The program can fill SO_SNDBUF and the server's buffer in addition (A1).
    BufferDoubling,
    /// A lingering `close` returns as soon as all data is handed over, as with any TCP proxy.
    LingerUntilHandedOver,
    /// Data that was forwarded and not read does not count as unread when the socket closes.
    UnreadForgotten,
}
