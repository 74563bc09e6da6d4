//! The UDP socket of an end, which sends and receives datagrams in batches, as QUIC does.

use crate::udp::{ROOM, TOGETHER, Udp};
use bytes::BytesMut;
use quinn_proto::{EcnCodepoint, Transmit};
use rustix::fd::{AsFd, BorrowedFd};
use std::io;
use std::net::{IpAddr, SocketAddr};

/// A datagram that has arrived.
pub(super) struct Arrived {
    pub(super) from: SocketAddr,
    pub(super) to: Option<IpAddr>,
    pub(super) ecn: Option<EcnCodepoint>,
    pub(super) octets: BytesMut,
}

/// A UDP socket; see the [module](self).
#[derive(Debug)]
pub(super) struct Socket {
    udp: Udp,
    room: Vec<u8>,
    /// Datagrams that the kernel had no room for.
    unsent: Option<(Transmit, Vec<u8>)>,
}

impl Socket {
    pub(super) fn bind(address: SocketAddr) -> io::Result<Self> {
        Ok(Self { udp: Udp::bind(address)?, room: vec![0; ROOM], unsent: None })
    }

    pub(super) fn descriptor(&self) -> BorrowedFd<'_> {
        self.udp.as_fd()
    }

    pub(super) fn address(&self) -> SocketAddr {
        self.udp.address()
    }

    /// Returns whether datagrams that are too long may be fragmented instead of being lost.
    pub(super) fn may_fragment(&self) -> bool {
        self.udp.may_fragment()
    }

    /// Returns how many datagrams of this length the kernel takes in one call (GSO).
    pub(super) fn batch(&self, octets: u16) -> usize {
        self.udp.most().min(TOGETHER / usize::from(octets.max(1))).max(1)
    }

    /// Receives datagrams, and returns whether there may be more.
    pub(super) fn receive(&mut self, arrived: &mut Vec<Arrived>) -> bool {
        let mut found = Vec::new();
        let more = self.udp.receive(&mut self.room, |place, meta| found.push((place, *meta)));
        arrived.extend(found.into_iter().map(|(place, meta)| Arrived {
            from: meta.addr,
            to: meta.dst_ip,
            ecn: meta.ecn.and_then(|ecn| EcnCodepoint::from_bits(ecn as u8)),
            octets: self.room[place].into(),
        }));
        more.unwrap_or(true)
    }

    /// Returns whether datagrams wait for room.
    pub(super) fn is_full(&self) -> bool {
        self.unsent.is_some()
    }

    /// Sends what was left, and returns whether the kernel had room for it.
    pub(super) fn is_free(&mut self) -> bool {
        match self.unsent.take() {
            Some((transmit, octets)) => self.send(transmit, octets),
            None => true,
        }
    }

    /// Sends datagrams, now or as soon as there is room. Returns whether there was.
    pub(super) fn send(&mut self, transmit: Transmit, octets: Vec<u8>) -> bool {
        let datagrams = quinn_udp::Transmit {
            destination: transmit.destination,
            ecn: transmit.ecn.and_then(|ecn| quinn_udp::EcnCodepoint::from_bits(ecn as u8)),
            contents: &octets[..transmit.size],
            segment_size: transmit.segment_size,
            src_ip: transmit.src_ip,
        };
        let has_room = self.udp.send(&datagrams);
        if !has_room {
            self.unsent = Some((transmit, octets));
        }
        has_room
    }
}
