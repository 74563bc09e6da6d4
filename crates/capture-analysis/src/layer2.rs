//! Headers before IP in the packets of a capture; each link type has a file of its own.
//!
//! Link types have the numbers of the registry of link types (LINKTYPE values of pcap and pcapng).

mod cooked;
mod cooked2;
mod ethernet;
mod loopback;
mod raw;

/// Header in front of the IP packets of an interface.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Layer2 {
    /// Ethernet II, with any number of VLAN tags (1).
    Ethernet,
    /// No header (101, 228, 229; also 12 and 14 in files of other systems).
    Raw,
    /// Linux cooked capture, version 1 (113), which `tcpdump -i any` used to write.
    Cooked,
    /// Linux cooked capture, version 2 (276).
    Cooked2,
    /// Address family in four bytes (0: in the byte order of the capturing machine; 108: in network
    /// byte order).
    Loopback,
}

impl Layer2 {
    /// Returns the header of link type `link_type`; `None` if it cannot be read here.
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

    /// Returns the IP packet in a captured packet; `None` if it carries something else, or was cut
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
