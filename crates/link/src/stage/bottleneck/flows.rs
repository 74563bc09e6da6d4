//! The flows of packets, for disciplines that treat flows separately.
//!
//! A flow is what one hash of protocol, addresses and ports selects (the 5-tuple). The hash has a
//! key that depends on the seed of the stage, so that collisions differ between seeds. Packets
//! without ports, which includes all fragments, are flows by protocol and addresses. All packets
//! that are not IP are one flow.

use crate::seed::Seed;
use packet::Frame;
use rand::RngExt;
use std::net::IpAddr;

/// A keyed hash from packets to flows.
#[derive(Debug, Clone)]
pub(super) struct FlowHash {
    key: [u8; 32],
}

impl FlowHash {
    /// Creates the hash of the stage with this seed.
    pub fn new(seed: &Seed) -> Self {
        Self::with_key(seed.stage("flows").stream().random())
    }

    /// Creates the hash with this key.
    pub fn with_key(key: [u8; 32]) -> Self {
        Self { key }
    }

    /// Returns the place of a packet's flow among `flows` flows.
    pub fn place(&self, frame: &Frame, flows: u32) -> u32 {
        let digest = blake3::keyed_hash(&self.key, &tuple(frame));
        let hash = digest.as_bytes().first_chunk().map_or(0, |bytes| u32::from_le_bytes(*bytes));
        // As `reciprocal_scale` of Linux.
        ((u64::from(hash) * u64::from(flows)) >> 32) as u32
    }
}

/// Returns the bytes that identify a flow: protocol, ports, source and destination.
fn tuple(frame: &Frame) -> [u8; 37] {
    let mut tuple = [0; 37];
    let Ok(headers) = frame.headers() else { return tuple };
    let ports = headers.ports().filter(|_| !headers.is_fragment());
    let (source, destination) = ports.unwrap_or_default();
    tuple[0] = headers.protocol();
    tuple[1..3].copy_from_slice(&source.to_be_bytes());
    tuple[3..5].copy_from_slice(&destination.to_be_bytes());
    let (source, destination) = headers.addresses();
    tuple[5..21].copy_from_slice(&octets(source));
    tuple[21..].copy_from_slice(&octets(destination));
    tuple
}

fn octets(address: IpAddr) -> [u8; 16] {
    match address {
        IpAddr::V4(address) => address.to_ipv6_mapped().octets(),
        IpAddr::V6(address) => address.octets(),
    }
}
