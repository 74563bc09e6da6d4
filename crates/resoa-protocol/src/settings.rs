//! What a client may be told to do otherwise, and the mutants that its models have to find.

use std::time::Duration;

/// Sockets of a client.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Settings {
    /// Octets of data that one message carries at most (A29).
    pub chunk: u32,
    /// SO_SNDBUF of a new socket, in octets of data: what the far host has not yet acknowledged,
    /// wherever it is (A1). At least 2304, as Linux has it, for datagrams.
    pub send_buffer: u32,
    /// Octets that arrive here before the program reads them. Not less than the server's receive
    /// buffer, or data and with it the FIN would wait at the server for a program that does not
    /// read (A18).
    pub receive_buffer: u32,
    /// Octets read that are reported at once, if they are not a quarter of SO_RCVBUF before; fewer
    /// wait for [`report_delay`](Self::report_delay) or for a message to go along with.
    pub report_after: u32,
    /// See [`report_after`](Self::report_after).
    pub report_delay: Duration,
    /// What becomes of a lingering `close` when its time is over (A5).
    pub linger: LingerPolicy,
    /// A mutant, to see that a model finds it.
    #[cfg(test)]
    pub(crate) mutation: Option<Mutation>,
}

impl Default for Settings {
    /// Buffers as large as Linux lets TCP's grow (`tcp_wmem`, `tcp_rmem`); reports after 2 segments
    /// (2.8 of the specification). The delay is short, since the server's kernel acknowledges few
    /// octets when they are read, and a far host may wait for that (Nagle's rule, a small
    /// SO_SNDBUF).
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
    /// It returns 0, and delivery goes on.
    Linux,
    /// It returns EWOULDBLOCK, and what was not delivered is thrown away by RST; a non-blocking
    /// socket does not wait (the thesis).
    Bsd,
}

/// How often something that has to be answered is asked for, and when an idle other side is asked
/// whether it is there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Timers {
    /// Round-trip times before a request is asked after (6.1.3).
    pub request_round_trips: u32,
    /// At least.
    pub request_shortest: Duration,
    /// At most; also where no round-trip time is known yet.
    pub request_longest: Duration,
    /// Times that a request is asked after without an answer before the server is given up (6.5.3).
    pub expiries: u32,
    /// Until a control message has to be answered.
    pub reply: Duration,
    /// Silence after which the other side is asked whether it is there.
    pub watchdog: Duration,
}

impl Default for Timers {
    /// The specification's 4.5.
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

/// Whether settings have this mutant; never outside of tests.
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

/// Mistakes that an implementation could make, each of which a model has to find (C104).
#[cfg(test)]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Mutation {
    /// The far host's FIN is acknowledged at once: the server is a plain TCP proxy.
    NoFinHold,
    /// The window opens when data is forwarded, not when it was read.
    WindowOnForward,
    /// The server is not told of an `accept`.
    AcceptedOmitted,
    /// CLOSE overtakes what is still to be written.
    CloseBeforeQueued,
    /// Space at the server is never free again.
    RemoteUsedNotDecremented,
    /// The server is not told that room is scarce.
    RoomNotAskedFor,
    /// The client forgets the socket before it has sent the second CLOSE.
    FreesBeforeSecondClose,
    /// The answer to STILL_ALIVE is answered.
    StillAlivePingPong,
    /// The program may fill SO_SNDBUF and the server's buffer as well (A1).
    BufferDoubling,
    /// A lingering `close` returns as soon as everything is handed over, as with any TCP proxy.
    LingerUntilHandedOver,
    /// What was forwarded and not yet read does not count as unread when the socket closes.
    UnreadForgotten,
}
