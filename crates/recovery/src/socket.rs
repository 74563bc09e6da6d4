//! What is asked of a socket, and only for damaged segments.

use crate::{ByteWindow, Policy, Tuple};
use std::net::Ipv6Addr;

/// What the application has set (TL-01, TL-05, TL-41).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Settings {
    /// Whether damage is acceptable now.
    pub on: bool,
    /// How much risk is.
    pub policy: Policy,
    /// Where in the stream damage is; everywhere without one.
    pub window: Option<ByteWindow>,
}

/// A socket of an established connection at one instant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SocketView {
    /// Next sequence number that the socket expects.
    pub rcv_nxt: u32,
    /// Offset of `rcv_nxt` in the stream.
    pub bytes_received: u64,
    /// What the application has set.
    pub settings: Settings,
}

impl SocketView {
    /// Offset in the stream of the byte with sequence number `seq`; `None` before its start.
    #[must_use]
    pub const fn offset(&self, seq: u32) -> Option<u64> {
        self.bytes_received.checked_add_signed(crate::sequence::signed_distance(self.rcv_nxt, seq) as i64)
    }
}

/// Where sockets are looked up.
pub trait Sockets {
    /// The socket of an established connection.
    fn view(&self, connection: &Tuple) -> Option<SocketView>;

    /// What is set on the socket that listens on an address and port. Asked in thesis mode only, for handshakes.
    fn listener(&self, address: Ipv6Addr, port: u16) -> Option<Settings> {
        let _ = (address, port);
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn offsets_count_from_rcv_nxt_both_ways_and_never_wrap() {
        let settings = Settings { on: true, policy: Policy::Normal, window: None };
        let view = SocketView { rcv_nxt: 5, bytes_received: 10, settings };
        assert_eq!(view.offset(8), Some(13));
        assert_eq!(view.offset(u32::MAX - 4), Some(0));
        assert_eq!(view.offset(u32::MAX - 5), None);
    }
}
