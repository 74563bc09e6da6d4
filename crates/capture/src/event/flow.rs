//! Whose packet it was.

use serde::{Deserialize, Serialize};
use std::net::IpAddr;

/// Addresses, ports and place in the stream, as far as a packet's headers could be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Flow {
    /// Where it came from.
    pub source: IpAddr,
    /// Where it went.
    pub destination: IpAddr,
    /// IP protocol number (6 TCP, 17 UDP) behind all extension headers.
    pub protocol: u8,
    /// Source and destination port of TCP or UDP.
    pub ports: Option<(u16, u16)>,
    /// TCP sequence number of the first byte.
    pub tcp_sequence: Option<u32>,
    /// Bytes behind the transport header.
    pub payload: Option<u32>,
}
