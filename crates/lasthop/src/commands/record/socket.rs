//! A UDP socket with the kernel's times of arrival.
//!
//! Times are nanoseconds of the real-time clock, which the kernel uses to stamp packets.

use nix::errno::Errno;
use nix::sys::socket::sockopt::{RcvBuf, RcvBufForce, ReceiveTimestampns};
use nix::sys::socket::{ControlMessageOwned, MsgFlags, SockaddrStorage, recvmsg, setsockopt};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::io::{self, IoSliceMut};
use std::net::{IpAddr, SocketAddr, SocketAddrV4, SocketAddrV6, UdpSocket};
use std::os::fd::{AsRawFd, BorrowedFd};
use std::time::{Duration, SystemTime};

/// Room for packets that arrive while this process waits for a processor.
const ROOM: usize = 8 << 20;
const SECOND: u64 = 1_000_000_000;
/// Longest wait, so that a step of the clock delays nothing for long.
const LONGEST: u64 = SECOND;

/// A socket; see the [module](self).
#[derive(Debug)]
pub struct Socket {
    udp: UdpSocket,
    buffer: Vec<u8>,
    control: Vec<u8>,
}

impl Socket {
    /// Opens a socket at `address`.
    pub fn bind(address: SocketAddr) -> io::Result<Self> {
        let socket = UdpSocket::bind(address)?;
        setsockopt(&socket, ReceiveTimestampns, &true)?;
        // An ordinary user gets as much as net.core.rmem_max allows.
        if setsockopt(&socket, RcvBufForce, &ROOM).is_err() {
            setsockopt(&socket, RcvBuf, &ROOM)?;
        }
        let control = nix::cmsg_space!(nix::sys::time::TimeSpec);
        Ok(Self { udp: socket, buffer: vec![0; 65_536], control })
    }

    /// Returns the address of this end.
    pub fn address(&self) -> io::Result<SocketAddr> {
        self.udp.local_addr()
    }

    /// Sends a datagram.
    ///
    /// # Errors
    /// Those of the socket. A refusal of a host on the way (ICMP) is none: it belongs to an earlier
    /// datagram.
    pub fn send(&self, datagram: &[u8], to: SocketAddr) -> io::Result<()> {
        match self.udp.send_to(datagram, to) {
            Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => Ok(()),
            // A full queue of a device: the packet is lost, as in the network.
            Err(error) if error.raw_os_error() == Some(Errno::ENOBUFS as i32) => Ok(()),
            sent => sent.map(|_| ()),
        }
    }

    /// Returns the next datagram that has arrived, its sender and its time, if there is one.
    pub fn receive(&mut self) -> io::Result<Option<(&[u8], SocketAddr, u64)>> {
        let (length, from, at) = loop {
            let mut pieces = [IoSliceMut::new(&mut self.buffer)];
            let flags = MsgFlags::MSG_DONTWAIT;
            let descriptor = self.udp.as_raw_fd();
            let message =
                match recvmsg::<SockaddrStorage>(descriptor, &mut pieces, Some(&mut self.control), flags) {
                    Ok(message) => message,
                    Err(Errno::EAGAIN) => return Ok(None),
                    Err(Errno::EINTR | Errno::ECONNREFUSED) => continue,
                    Err(error) => return Err(error.into()),
                };
            let stamp = message.cmsgs()?.find_map(|control| match control {
                ControlMessageOwned::ScmTimestampns(stamp) => Some(stamp),
                _ => None,
            });
            let stamp = stamp.ok_or_else(|| io::Error::other("the kernel supplied no receive timestamp"))?;
            let at = stamp.tv_sec() as u64 * SECOND + stamp.tv_nsec() as u64;
            if let Some(from) = message.address.as_ref().and_then(address) {
                break (message.bytes, from, at);
            }
        };
        Ok(Some((&self.buffer[..length], from, at)))
    }

    /// Waits until a datagram or `also` can be read, or until `time`.
    pub fn wait(&self, time: u64, also: Option<BorrowedFd<'_>>) -> io::Result<()> {
        let left = time.saturating_sub(now()).min(LONGEST);
        let timeout = Timespec::try_from(Duration::from_nanos(left)).map_err(io::Error::other)?;
        let mut ends = vec![PollFd::new(&self.udp, PollFlags::IN)];
        if let Some(also) = &also {
            ends.push(PollFd::new(also, PollFlags::IN));
        }
        match poll(&mut ends, Some(&timeout)) {
            Ok(_) | Err(rustix::io::Errno::INTR) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }
}

fn address(storage: &SockaddrStorage) -> Option<SocketAddr> {
    match (storage.as_sockaddr_in(), storage.as_sockaddr_in6()) {
        (Some(v4), _) => Some(SocketAddrV4::from(*v4).into()),
        (None, Some(v6)) => Some(SocketAddrV6::from(*v6).into()),
        (None, None) => None,
    }
}

/// Returns the time of the real-time clock.
pub fn now() -> u64 {
    SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_nanos() as u64
}

/// Returns the bytes of the headers of IP and UDP.
pub fn headers(address: IpAddr) -> u8 {
    match address {
        IpAddr::V4(_) => 28,
        IpAddr::V6(v6) if v6.to_ipv4_mapped().is_some() => 28,
        IpAddr::V6(_) => 48,
    }
}
