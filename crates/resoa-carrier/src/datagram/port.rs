//! What packets go out and come in by: a UDP socket, or an interface of Ethernet.

use super::ether::Ether;
use super::whole;
use crate::MacAddress;
use crate::noise::TAG;
use rustix::fd::{AsFd, BorrowedFd};
use rustix::net::sockopt;
use std::collections::VecDeque;
use std::fmt;
use std::io::{self, ErrorKind};
use std::net::{SocketAddr, UdpSocket};

/// Octets of a datagram: what every path of today carries whole (RFC 9000, 14).
const DATAGRAM: usize = 1200;
/// Octets of IP that most paths carry, and are tried.
const ETHERNET: usize = 1500;
/// Octets that the kernel keeps for us, if it may: some milliseconds of a fast link.
const KERNEL: usize = 4 << 20;
/// Packets that wait for the kernel to take them; more are as good as lost.
const WAITING: usize = 64;

/// Where a packet comes from or goes to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Address {
    Udp(SocketAddr),
    Ether(MacAddress),
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Udp(address) => address.fmt(f),
            Self::Ether(address) => address.fmt(f),
        }
    }
}

/// See the [module](self).
#[derive(Debug)]
pub(super) struct Port {
    kind: Kind,
    waiting: VecDeque<(Address, Vec<u8>)>,
}

#[derive(Debug)]
enum Kind {
    Udp(UdpSocket),
    Ether(Ether),
}

impl Port {
    pub(super) fn udp(address: SocketAddr) -> io::Result<Self> {
        let socket = UdpSocket::bind(address)?;
        socket.set_nonblocking(true)?;
        enlarge(socket.as_fd());
        whole::never_cut(&socket)?;
        Ok(Self { kind: Kind::Udp(socket), waiting: VecDeque::new() })
    }

    pub(super) fn ether(interface: &str) -> io::Result<Self> {
        let ether = Ether::new(interface)?;
        enlarge(ether.descriptor());
        Ok(Self { kind: Kind::Ether(ether), waiting: VecDeque::new() })
    }

    pub(super) fn descriptor(&self) -> BorrowedFd<'_> {
        match &self.kind {
            Kind::Udp(socket) => socket.as_fd(),
            Kind::Ether(ether) => ether.descriptor(),
        }
    }

    pub(super) fn address(&self) -> Option<SocketAddr> {
        match &self.kind {
            Kind::Udp(socket) => socket.local_addr().ok(),
            Kind::Ether(_) => None,
        }
    }

    pub(super) fn read_address(&self, text: &str) -> Option<Address> {
        match &self.kind {
            Kind::Udp(_) => text.parse().ok().map(Address::Udp),
            Kind::Ether(_) => super::read_mac(text).map(Address::Ether),
        }
    }

    /// Octets of frames that fit a packet for certain, and that might.
    pub(super) fn rooms(&self) -> (usize, usize) {
        let (short, long) = match &self.kind {
            Kind::Udp(socket) => {
                let is_v4 = socket.local_addr().is_ok_and(|address| address.is_ipv4());
                (DATAGRAM, ETHERNET - if is_v4 { 20 + 8 } else { 40 + 8 })
            }
            Kind::Ether(ether) => (ether.room(), ether.room()),
        };
        let beside = super::packet::HEADER + TAG;
        (short - beside, long - beside)
    }

    /// Whether the kernel takes nothing at the moment.
    pub(super) fn is_full(&self) -> bool {
        !self.waiting.is_empty()
    }

    /// Sends a packet. What cannot be sent is lost, as on the way.
    pub(super) fn send(&mut self, to: Address, octets: &[u8]) {
        if !self.is_full() && self.try_send(to, octets) {
            return;
        }
        if self.waiting.len() < WAITING {
            self.waiting.push_back((to, octets.to_vec()));
        }
    }

    /// Sends what waits.
    pub(super) fn flush(&mut self) {
        while let Some((to, octets)) = self.waiting.pop_front() {
            if !self.try_send(to, &octets) {
                self.waiting.push_front((to, octets));
                return;
            }
        }
    }

    /// Whether there was room for it.
    fn try_send(&self, to: Address, octets: &[u8]) -> bool {
        let outcome = match (&self.kind, to) {
            (Kind::Udp(socket), Address::Udp(to)) => socket.send_to(octets, to),
            (Kind::Ether(ether), Address::Ether(to)) => ether.send(to, octets),
            _ => return true,
        };
        !outcome.is_err_and(|error| error.kind() == ErrorKind::WouldBlock)
    }

    /// The next packet; `None` if there is none.
    pub(super) fn receive(&self, buffer: &mut [u8]) -> io::Result<Option<(usize, Address)>> {
        let outcome = match &self.kind {
            Kind::Udp(socket) => socket.recv_from(buffer).map(|(length, from)| (length, Address::Udp(from))),
            Kind::Ether(ether) => ether.receive(buffer).map(|(length, from)| (length, Address::Ether(from))),
        };
        match outcome {
            Ok(found) => Ok(Some(found)),
            Err(error) if error.kind() == ErrorKind::WouldBlock => Ok(None),
            Err(error) => Err(error),
        }
    }
}

/// More than everybody has, if we may; as much as anybody may have otherwise.
fn enlarge(socket: BorrowedFd) {
    if sockopt::set_socket_recv_buffer_size_force(socket, KERNEL).is_err() {
        let _ = sockopt::set_socket_recv_buffer_size(socket, KERNEL);
    }
    if sockopt::set_socket_send_buffer_size_force(socket, KERNEL).is_err() {
        let _ = sockopt::set_socket_send_buffer_size(socket, KERNEL);
    }
}
