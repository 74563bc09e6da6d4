//! Parts of a packet that damage can be aimed at (TL-14).

use super::Headers;
use borsh::{BorshDeserialize, BorshSerialize};
use std::fmt;
use std::ops::Range;
use std::str::FromStr;

/// A part of a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, BorshSerialize, BorshDeserialize)]
pub enum Region {
    /// The IP packet with its header, without an Ethernet header before it and padding after it. On
    /// a real Ethernet the frame check sequence covers these, and a frame damaged there never
    /// reaches IP.
    #[default]
    Packet,
    /// The data that IP carries, after extension headers: transport header and payload, or a
    /// fragment of them.
    Segment,
    /// The header of TCP (with its options), UDP or ICMP.
    TransportHeader,
    /// The transport's payload. A fragment other than the first consists of payload only.
    Payload,
}

/// A name that is not that of a [`Region`].
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("there is no region `{0}` of a packet: use packet, segment, header or payload")]
pub struct UnknownRegion(pub String);

impl Region {
    /// All regions, from the widest.
    pub const ALL: [Self; 4] = [Self::Packet, Self::Segment, Self::TransportHeader, Self::Payload];

    const fn name(self) -> &'static str {
        match self {
            Self::Packet => "packet",
            Self::Segment => "segment",
            Self::TransportHeader => "header",
            Self::Payload => "payload",
        }
    }
}

impl fmt::Display for Region {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Region {
    type Err = UnknownRegion;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Self::ALL
            .into_iter()
            .find(|region| region.name() == text)
            .ok_or_else(|| UnknownRegion(text.to_owned()))
    }
}

impl Headers {
    /// Returns the range of a region in the bytes that were parsed.
    ///
    /// `None` if the packet has no such part or its limits are unknown. A payload may be empty.
    #[must_use]
    pub fn region(&self, region: Region) -> Option<Range<usize>> {
        let segment = self.segment();
        match region {
            Region::Packet => Some(self.network()..segment.end),
            Region::Segment => Some(segment),
            Region::TransportHeader => self.payload().map(|payload| segment.start..payload),
            Region::Payload if self.is_later_fragment() => Some(segment),
            Region::Payload => self.payload().map(|payload| payload..segment.end),
        }
    }
}
