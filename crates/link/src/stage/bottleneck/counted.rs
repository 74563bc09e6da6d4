//! The layer at which a limiter counts bits.
//!
//! A rate such as "11 Mbit/s" is ambiguous without it. A full-sized TCP segment on Ethernet has
//! 1500 bytes of IP and occupies 1538 bytes on the wire.

use borsh::{BorshDeserialize, BorshSerialize};
use packet::{Frame, Layer};
use serde::de::{Error, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::fmt;

/// Bytes of an Ethernet header: two addresses and the type (IEEE 802.3).
const ETHERNET_HEADER: u64 = 14;
/// Bytes of the frame check sequence behind an Ethernet frame.
const ETHERNET_FCS: u64 = 4;
/// Shortest Ethernet frame, including the frame check sequence; shorter ones are padded.
const ETHERNET_MINIMUM: u64 = 64;
/// Preamble and start-of-frame delimiter (8), and the gap between frames (12).
const ETHERNET_GAP: u64 = 8 + 12;

/// Bytes of a packet that use capacity. The text form is `ip` (the default), `ethernet`, `wire`, or
/// a number of bytes added to each IP packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, BorshSerialize, BorshDeserialize)]
pub enum Counted {
    /// The IP packet: header and payload.
    #[default]
    Ip,
    /// The IP packet and an Ethernet header (14 bytes), as in Linux's queueing disciplines.
    Ethernet,
    /// The time on an Ethernet wire: at least 64 bytes of frame with check sequence, and 20 of
    /// preamble and gap.
    Wire,
    /// The IP packet and this many bytes.
    Overhead(u32),
}

impl Counted {
    /// Returns the bytes that a packet of `layer` costs beyond its length, and the minimum cost of
    /// a packet.
    #[must_use]
    pub const fn overhead(self, layer: Layer) -> (i64, u64) {
        let (beyond_ip, least) = match self {
            Self::Ip => (0, 0),
            Self::Ethernet => (ETHERNET_HEADER, 0),
            Self::Wire => (ETHERNET_HEADER + ETHERNET_FCS + ETHERNET_GAP, ETHERNET_MINIMUM + ETHERNET_GAP),
            Self::Overhead(bytes) => (bytes as u64, 0),
        };
        let header = match layer {
            Layer::Ip => 0,
            Layer::Ethernet => ETHERNET_HEADER,
        };
        (beyond_ip.cast_signed() - header.cast_signed(), least)
    }

    /// Returns the bytes that `frame` costs.
    #[must_use]
    pub fn bytes(self, frame: &Frame) -> u64 {
        let length = frame.len() as u64;
        let ip = match frame.layer() {
            Layer::Ip => length,
            Layer::Ethernet => length.saturating_sub(ETHERNET_HEADER),
        };
        match self {
            Self::Ip => ip,
            Self::Ethernet => ip + ETHERNET_HEADER,
            Self::Wire => (ip + ETHERNET_HEADER + ETHERNET_FCS).max(ETHERNET_MINIMUM) + ETHERNET_GAP,
            Self::Overhead(bytes) => ip + u64::from(bytes),
        }
    }
}

impl fmt::Display for Counted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ip => f.pad("counted at IP"),
            Self::Ethernet => f.pad("counted at Ethernet"),
            Self::Wire => f.pad("counted on the Ethernet wire"),
            Self::Overhead(bytes) => f.pad(&format!("counted at IP + {bytes} B")),
        }
    }
}

impl Serialize for Counted {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Ip => serializer.serialize_str("ip"),
            Self::Ethernet => serializer.serialize_str("ethernet"),
            Self::Wire => serializer.serialize_str("wire"),
            Self::Overhead(bytes) => serializer.serialize_u32(*bytes),
        }
    }
}

impl<'de> Deserialize<'de> for Counted {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Layers;

        impl Visitor<'_> for Layers {
            type Value = Counted;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("`ip`, `ethernet`, `wire` or a number of bytes added to each IP packet")
            }

            fn visit_str<E: Error>(self, text: &str) -> Result<Counted, E> {
                match text {
                    "ip" => Ok(Counted::Ip),
                    "ethernet" => Ok(Counted::Ethernet),
                    "wire" => Ok(Counted::Wire),
                    _ => Err(E::invalid_value(serde::de::Unexpected::Str(text), &self)),
                }
            }

            fn visit_i64<E: Error>(self, bytes: i64) -> Result<Counted, E> {
                u32::try_from(bytes)
                    .map(Counted::Overhead)
                    .map_err(|_| E::invalid_value(serde::de::Unexpected::Signed(bytes), &self))
            }

            fn visit_u64<E: Error>(self, bytes: u64) -> Result<Counted, E> {
                u32::try_from(bytes)
                    .map(Counted::Overhead)
                    .map_err(|_| E::invalid_value(serde::de::Unexpected::Unsigned(bytes), &self))
            }
        }

        deserializer.deserialize_any(Layers)
    }
}

impl std::str::FromStr for Counted {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || {
            format!(
                "`{text}` is not a layer: use ip, ethernet, wire, or a number of bytes added to each packet"
            )
        };
        match text {
            "ip" => Ok(Self::Ip),
            "ethernet" => Ok(Self::Ethernet),
            "wire" => Ok(Self::Wire),
            number => number.parse().map(Self::Overhead).map_err(|_| wrong()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The numbers in logs agree with the limiter's count.
    #[test]
    fn overhead_and_least_give_the_bytes() {
        for counted in [Counted::Ip, Counted::Ethernet, Counted::Wire, Counted::Overhead(9)] {
            for layer in [Layer::Ip, Layer::Ethernet] {
                let (overhead, least) = counted.overhead(layer);
                for length in [14, 20, 40, 54, 59, 60, 61, 74, 1500, 1514] {
                    let bytes = counted.bytes(&Frame::owned(layer, vec![0; length]));
                    assert_eq!(
                        (length as u64).saturating_add_signed(overhead).max(least),
                        bytes,
                        "{counted:?}"
                    );
                }
            }
        }
    }
}
