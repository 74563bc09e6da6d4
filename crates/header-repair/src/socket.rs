//! What the algorithm asks a socket, for damaged segments only.

use crate::sequence::{is_after, is_before, signed_distance};
use crate::{ByteWindow, Policy, Tuple};
use std::net::Ipv6Addr;

/// Settings of the application (TL-01, TL-05, TL-41).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Settings {
    /// Whether damage is acceptable at this moment.
    pub on: bool,
    /// How much risk is acceptable.
    pub policy: Policy,
    /// Where in the stream damage is acceptable; `None` means everywhere.
    pub window: Option<ByteWindow>,
}

/// State of an established connection's socket at one instant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SocketView {
    /// Next sequence number that the socket expects.
    pub rcv_nxt: u32,
    /// Offset of `rcv_nxt` in the stream.
    pub bytes_received: u64,
    /// First sequence number that the socket has sent and that is not acknowledged.
    pub snd_una: u32,
    /// Next sequence number that the socket will send.
    pub snd_nxt: u32,
    /// Settings of the application.
    pub settings: Settings,
}

impl SocketView {
    /// Returns the stream offset of the byte with sequence number `seq`; `None` before the stream's
    /// start.
    #[must_use]
    pub const fn offset(&self, seq: u32) -> Option<u64> {
        self.bytes_received.checked_add_signed(signed_distance(self.rcv_nxt, seq) as i64)
    }

    /// Returns whether a new segment may acknowledge everything before `ack`: all of it was sent,
    /// and no more than that has been acknowledged.
    #[must_use]
    pub const fn is_plausible_ack(&self, ack: u32) -> bool {
        !is_before(ack, self.snd_una) && !is_after(ack, self.snd_nxt)
    }
}

/// Access to the host's sockets.
pub trait Sockets {
    /// Returns the socket of an established connection. `None` means that the connection has ended,
    /// even if a listener waits for a new one; what was remembered of the connection is then
    /// forgotten.
    fn view(&self, connection: &Tuple) -> Option<SocketView>;

    /// Returns the settings of the socket that listens on an address and port. Used in thesis mode
    /// only, for handshakes.
    fn listener(&self, address: Ipv6Addr, port: u16) -> Option<Settings> {
        let _ = (address, port);
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const VIEW: SocketView = SocketView {
        rcv_nxt: 0,
        bytes_received: 0,
        snd_una: u32::MAX - 9,
        snd_nxt: 10,
        settings: Settings { on: true, policy: Policy::Normal, window: None },
    };

    #[test]
    fn plausible_acknowledgments_are_of_what_is_in_flight() {
        for (ack, plausible) in [
            (u32::MAX - 10, false),
            (u32::MAX - 9, true),
            (0, true),
            (10, true),
            (11, false),
            (1 << 30, false),
        ] {
            assert_eq!(VIEW.is_plausible_ack(ack), plausible, "{ack}");
        }
    }

    #[test]
    fn offsets_count_from_rcv_nxt_both_ways_and_never_wrap() {
        let view = SocketView { rcv_nxt: 5, bytes_received: 10, ..VIEW };
        assert_eq!(view.offset(8), Some(13));
        assert_eq!(view.offset(u32::MAX - 4), Some(0));
        assert_eq!(view.offset(u32::MAX - 5), None);
    }
}
