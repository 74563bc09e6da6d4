//! A UDP socket that sends and receives many datagrams in one system call (UDP_SEGMENT, UDP_GRO;
//! udp(7)).

use quinn_udp::{RecvMeta, Transmit, UdpSocketState};
use rustix::fd::{AsFd, BorrowedFd};
use rustix::net::sockopt;
use std::io::{self, ErrorKind, IoSliceMut};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
use std::ops::Range;

/// Payload of a datagram in bytes that a path must carry for QUIC, and that most paths of today
/// carry unfragmented (RFC 9000, 14).
pub(crate) const DATAGRAM: usize = 1200;
/// Most bytes of datagrams sent in one call: together they may be no longer than the longest single
/// datagram.
pub(crate) const TOGETHER: usize = 65_000;
/// Most bytes in a received run of datagrams, and runs per call.
const LONGEST: usize = 1 << 16;
const RUNS: usize = 8;
/// Bytes of the buffer for one receive call.
pub(crate) const ROOM: usize = RUNS * LONGEST;
/// Bytes that the kernel buffers in each direction, if permitted: a few milliseconds on a fast
/// link.
const KERNEL: usize = 4 << 20;

/// A UDP socket; see the [module](self).
#[derive(Debug)]
pub(crate) struct Udp {
    socket: UdpSocket,
    state: UdpSocketState,
    address: SocketAddr,
}

impl Udp {
    /// Binds a non-blocking socket to this address. Its datagrams are not fragmented on the way, if
    /// the kernel supports that.
    pub(crate) fn bind(address: SocketAddr) -> io::Result<Self> {
        let socket = UdpSocket::bind(address)?;
        enlarge(socket.as_fd());
        let state = UdpSocketState::new((&socket).into())?;
        let address = socket.local_addr()?;
        Ok(Self { socket, state, address })
    }

    /// Returns the local address.
    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    /// Returns whether datagrams that are too long may be fragmented.
    pub(crate) fn may_fragment(&self) -> bool {
        self.state.may_fragment()
    }

    /// Returns how many datagrams can be sent in one call.
    pub(crate) fn most(&self) -> usize {
        self.state.max_gso_segments()
    }

    /// Receives datagrams into a buffer of [`ROOM`] bytes, and calls `came` with the range and the
    /// metadata of each. Returns whether there may be more.
    ///
    /// # Errors
    /// An ICMP error about an earlier datagram, which anybody can have forged. It is reported once,
    /// and there may be more to receive.
    pub(crate) fn receive(
        &self,
        room: &mut [u8],
        mut came: impl FnMut(Range<usize>, &RecvMeta),
    ) -> io::Result<bool> {
        let mut metas = [RecvMeta::default(); RUNS];
        let mut buffers: Vec<_> = room.chunks_mut(LONGEST).map(IoSliceMut::new).collect();
        let count = match self.state.recv((&self.socket).into(), &mut buffers, &mut metas) {
            Ok(count) => count,
            Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(false),
            Err(error) => return Err(error),
        };
        for (run, meta) in metas.iter().take(count).enumerate() {
            let (begin, end) = (run * LONGEST, run * LONGEST + meta.len);
            for from in (begin..end).step_by(meta.stride.max(1)) {
                came(from..end.min(from + meta.stride), meta);
            }
        }
        // A call that returns fewer has emptied the socket.
        Ok(count == RUNS)
    }

    /// Sends datagrams, and returns whether there was room. What cannot be sent for another reason
    /// is lost, as on the way.
    pub(crate) fn send(&self, datagrams: &Transmit) -> bool {
        let outcome = self.state.try_send((&self.socket).into(), datagrams);
        !outcome.is_err_and(|error| error.kind() == ErrorKind::WouldBlock)
    }
}

impl AsFd for Udp {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

/// Returns the bytes of the UDP and IP headers of a datagram to this address.
pub(crate) fn headers(to: SocketAddr) -> usize {
    8 + if to.is_ipv4() { 20 } else { 40 }
}

/// Returns the number of bytes that the route to this address carries in an IP packet, as far as
/// the kernel knows it (IP_MTU, which exists for connected sockets only).
pub(crate) fn route_mtu(to: SocketAddr) -> Option<usize> {
    let any: IpAddr = if to.is_ipv4() { Ipv4Addr::UNSPECIFIED.into() } else { Ipv6Addr::UNSPECIFIED.into() };
    let socket = UdpSocket::bind((any, 0)).ok()?;
    socket.connect(to).ok()?;
    let mtu = if to.is_ipv4() { sockopt::ip_mtu(&socket) } else { sockopt::ipv6_mtu(&socket) };
    mtu.ok().map(|octets| octets as usize)
}

/// Sets both buffers to `KERNEL` bytes, beyond the system's limit if we have the privilege,
/// otherwise up to it.
pub(crate) fn enlarge(socket: BorrowedFd) {
    if sockopt::set_socket_recv_buffer_size_force(socket, KERNEL).is_err() {
        let _ = sockopt::set_socket_recv_buffer_size(socket, KERNEL);
    }
    if sockopt::set_socket_send_buffer_size_force(socket, KERNEL).is_err() {
        let _ = sockopt::set_socket_send_buffer_size(socket, KERNEL);
    }
}
