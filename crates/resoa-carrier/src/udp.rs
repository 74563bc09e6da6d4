//! A socket of UDP by which many datagrams go out, and come in, in one system call (UDP_SEGMENT,
//! UDP_GRO; udp(7)).

use quinn_udp::{RecvMeta, Transmit, UdpSocketState};
use rustix::fd::{AsFd, BorrowedFd};
use rustix::net::sockopt;
use std::io::{self, ErrorKind, IoSliceMut};
use std::net::{SocketAddr, UdpSocket};
use std::ops::Range;

/// Octets of datagrams that go out in one call: together they may be no longer than one can be.
pub(crate) const TOGETHER: usize = 65_000;
/// Octets of a run of datagrams that comes in, and runs of a call.
const LONGEST: usize = 1 << 16;
const RUNS: usize = 8;
/// Octets of the room for a call.
pub(crate) const ROOM: usize = RUNS * LONGEST;
/// Octets that the kernel keeps each way, if it may: some milliseconds of a fast link.
const KERNEL: usize = 4 << 20;

/// See the [module](self).
#[derive(Debug)]
pub(crate) struct Udp {
    socket: UdpSocket,
    state: UdpSocketState,
    address: SocketAddr,
}

impl Udp {
    /// One at this address, that never blocks, and whose datagrams no host on the way cuts into
    /// fragments if the kernel can see to that.
    pub(crate) fn bind(address: SocketAddr) -> io::Result<Self> {
        let socket = UdpSocket::bind(address)?;
        enlarge(socket.as_fd());
        let state = UdpSocketState::new((&socket).into())?;
        let address = socket.local_addr()?;
        Ok(Self { socket, state, address })
    }

    /// Its own address.
    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    /// Whether datagrams that are too long may be cut.
    pub(crate) fn may_fragment(&self) -> bool {
        self.state.may_fragment()
    }

    /// Datagrams that go out in one call.
    pub(crate) fn most(&self) -> usize {
        self.state.max_gso_segments()
    }

    /// Takes some of what has come into a room of [`ROOM`] octets; where each datagram is in it,
    /// and what is known of it. Whether there may be more.
    ///
    /// # Errors
    /// What ICMP says of a datagram that was sent before, which anybody could have written; it is
    /// told once, and there may be more.
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
        Ok(true)
    }

    /// Sends datagrams. What cannot be sent is lost, as on the way; whether there was room.
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

/// More than everybody has, if we may; as much as anybody may have otherwise.
pub(crate) fn enlarge(socket: BorrowedFd) {
    if sockopt::set_socket_recv_buffer_size_force(socket, KERNEL).is_err() {
        let _ = sockopt::set_socket_recv_buffer_size(socket, KERNEL);
    }
    if sockopt::set_socket_send_buffer_size_force(socket, KERNEL).is_err() {
        let _ = sockopt::set_socket_send_buffer_size(socket, KERNEL);
    }
}
