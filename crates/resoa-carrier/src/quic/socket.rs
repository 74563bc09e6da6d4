//! The socket of an end: datagrams by the batch, as QUIC wants them.

use bytes::BytesMut;
use quinn_proto::{EcnCodepoint, Transmit};
use quinn_udp::{RecvMeta, UdpSocketState};
use rustix::fd::{AsFd, BorrowedFd};
use rustix::net::sockopt;
use std::io::{self, ErrorKind, IoSliceMut};
use std::net::{IpAddr, SocketAddr, UdpSocket};

/// Octets of a batch of datagrams that the kernel hands over in one (GRO).
const LONGEST: usize = 1 << 16;
/// Octets of a batch that it takes.
const TOGETHER: usize = 65_000;
/// Batches of each look at the socket.
const BATCHES: usize = 8;
/// Octets that the kernel keeps each way: bursts of some milliseconds at a gigabit.
const BUFFER: usize = 4 << 20;

/// A datagram that has come.
pub(super) struct Arrived {
    pub(super) from: SocketAddr,
    pub(super) to: Option<IpAddr>,
    pub(super) ecn: Option<EcnCodepoint>,
    pub(super) octets: BytesMut,
}

/// See the [module](self).
#[derive(Debug)]
pub(super) struct Socket {
    udp: UdpSocket,
    state: UdpSocketState,
    buffers: Vec<u8>,
    /// What the kernel had no room for.
    unsent: Option<(Transmit, Vec<u8>)>,
}

impl Socket {
    pub(super) fn bind(address: SocketAddr) -> io::Result<Self> {
        let udp = UdpSocket::bind(address)?;
        // Unless root asks it is as much as the administrator allows anybody.
        let _ = sockopt::set_socket_recv_buffer_size_force(&udp, BUFFER)
            .or_else(|_| sockopt::set_socket_recv_buffer_size(&udp, BUFFER));
        let _ = sockopt::set_socket_send_buffer_size(&udp, BUFFER);
        let state = UdpSocketState::new((&udp).into())?;
        Ok(Self { udp, state, buffers: vec![0; LONGEST * BATCHES], unsent: None })
    }

    pub(super) fn descriptor(&self) -> BorrowedFd<'_> {
        self.udp.as_fd()
    }

    pub(super) fn address(&self) -> io::Result<SocketAddr> {
        self.udp.local_addr()
    }

    /// Whether datagrams find out by being lost that they are too long.
    pub(super) fn may_fragment(&self) -> bool {
        self.state.may_fragment()
    }

    /// Datagrams of this length that the kernel takes in one (GSO): together they may be no longer than one can be.
    pub(super) fn batch(&self, octets: u16) -> usize {
        self.state.max_gso_segments().min(TOGETHER / usize::from(octets.max(1))).max(1)
    }

    /// Takes some of what has come. Whether there may be more.
    pub(super) fn receive(&mut self, arrived: &mut Vec<Arrived>) -> bool {
        let mut metas = [RecvMeta::default(); BATCHES];
        let mut buffers: Vec<_> = self.buffers.chunks_mut(LONGEST).map(IoSliceMut::new).collect();
        let count = match self.state.recv((&self.udp).into(), &mut buffers, &mut metas) {
            Ok(count) => count,
            Err(error) if error.kind() == ErrorKind::WouldBlock => return false,
            // ICMP's word about a datagram of ours, which anybody could have sent.
            Err(_) => return true,
        };
        for (meta, buffer) in metas.iter().zip(&buffers).take(count) {
            for datagram in buffer[..meta.len].chunks(meta.stride.max(1)) {
                arrived.push(Arrived {
                    from: meta.addr,
                    to: meta.dst_ip,
                    ecn: meta.ecn.and_then(|ecn| EcnCodepoint::from_bits(ecn as u8)),
                    octets: datagram.into(),
                });
            }
        }
        true
    }

    /// Whether the kernel had room for everything until now.
    pub(super) fn is_free(&mut self) -> bool {
        match self.unsent.take() {
            Some((transmit, octets)) => self.send(transmit, octets),
            None => true,
        }
    }

    /// Sends the first octets as it is said, now or when there is room. Whether there was.
    pub(super) fn send(&mut self, transmit: Transmit, octets: Vec<u8>) -> bool {
        let datagrams = quinn_udp::Transmit {
            destination: transmit.destination,
            ecn: transmit.ecn.and_then(|ecn| quinn_udp::EcnCodepoint::from_bits(ecn as u8)),
            contents: &octets[..transmit.size],
            segment_size: transmit.segment_size,
            src_ip: transmit.src_ip,
        };
        match self.state.send((&self.udp).into(), &datagrams) {
            Err(error) if error.kind() == ErrorKind::WouldBlock => {
                self.unsent = Some((transmit, octets));
                false
            }
            // What cannot be sent is lost.
            _ => true,
        }
    }
}
