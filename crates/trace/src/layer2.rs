//! What lies before IP in a packet of a capture: one kind of link a file.
//!
//! The numbers are those of the registry of link types (LINKTYPE values of pcap and pcapng).

mod cooked;
mod cooked2;
mod ethernet;
mod loopback;
mod raw;

/// What the packets of an interface start with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Layer2 {
    /// Ethernet II, with any number of VLAN tags (1).
    Ethernet,
    /// Nothing: IP at once (101, 228, 229, and 12 and 14 in files of other systems).
    Raw,
    /// Linux cooked capture, version 1 (113): what `tcpdump -i any` wrote for long.
    Cooked,
    /// Linux cooked capture, version 2 (276).
    Cooked2,
    /// The address family in four bytes (0 in the order of the machine that captured, 108 in the
    /// network's).
    Loopback,
}

impl Layer2 {
    /// The kind of link with this number; `None` for one that cannot be read here.
    #[must_use]
    pub const fn of(link_type: u16) -> Option<Self> {
        Some(match link_type {
            1 => Self::Ethernet,
            12 | 14 | 101 | 228 | 229 => Self::Raw,
            113 => Self::Cooked,
            276 => Self::Cooked2,
            0 | 108 => Self::Loopback,
            _ => return None,
        })
    }

    /// The IP packet in a packet of such a link; `None` if it carries something else, or was cut
    /// off before.
    #[inline]
    #[must_use]
    pub fn ip(self, bytes: &[u8]) -> Option<&[u8]> {
        match self {
            Self::Ethernet => ethernet::ip(bytes),
            Self::Raw => raw::ip(bytes),
            Self::Cooked => cooked::ip(bytes),
            Self::Cooked2 => cooked2::ip(bytes),
            Self::Loopback => loopback::ip(bytes),
        }
    }
}

#[cfg(test)]
mod tests;
