//! Frames of Ethernet without IP (C03): a packet socket of one interface, for the ethertype that
//! IEEE 802 leaves to local experiments.
//!
//! Short frames are filled up on the wire, so that the length of a packet stands before it (2
//! octets, network order).
#![expect(unsafe_code, reason = "addresses of packet sockets are in no safe library")]

use crate::MacAddress;
use rustix::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::ffi::CString;
use std::io;
use std::mem::{MaybeUninit, size_of};

/// IEEE 802, local experimental ethertype 1.
const ETHERTYPE: u16 = 0x88b5;
/// Octets of the length.
const LENGTH: usize = 2;
/// What is sent at once is never longer, whatever the interface says: lo and veth say 65 536 and
/// more.
const LONGEST: usize = 9000;
/// The shortest that makes sense.
const SHORTEST: usize = 256;
/// What every interface of Ethernet carries (IEEE 802.3), those on the way and at the other end
/// included.
const EVERYWHERE: usize = 1500;

/// See the [module](self).
#[derive(Debug)]
pub(super) struct Ether {
    socket: OwnedFd,
    interface: i32,
    frame: usize,
}

impl Ether {
    pub(super) fn new(name: &str) -> io::Result<Self> {
        let told = |error: io::Error| {
            let way_out =
                if error.kind() == io::ErrorKind::PermissionDenied { "; it takes CAP_NET_RAW" } else { "" };
            io::Error::new(error.kind(), format!("interface {name}: {error}{way_out}"))
        };
        let text = CString::new(name).map_err(|_| told(io::ErrorKind::InvalidInput.into()))?;
        // SAFETY: `text` ends with a zero octet and lives as long as the call.
        let interface = unsafe { libc::if_nametoindex(text.as_ptr()) };
        if interface == 0 {
            return Err(told(io::Error::last_os_error()));
        }
        let kind = libc::SOCK_DGRAM | libc::SOCK_CLOEXEC | libc::SOCK_NONBLOCK;
        // SAFETY: nothing is given that could be wrong; protocol 0 receives nothing until it is
        // bound.
        let socket = unsafe { libc::socket(libc::AF_PACKET, kind, 0) };
        if socket < 0 {
            return Err(told(io::Error::last_os_error()));
        }
        // SAFETY: it was made just now, and nobody else has it.
        let socket = unsafe { OwnedFd::from_raw_fd(socket) };
        let mtu = mtu(name).unwrap_or(EVERYWHERE);
        let ether = Self { socket, interface: interface.cast_signed(), frame: mtu.clamp(SHORTEST, LONGEST) };
        let address = ether.address(MacAddress([0; 6]));
        // SAFETY: the address is one of packet sockets, and of the length that is given.
        let bound = unsafe {
            libc::bind(
                ether.socket.as_raw_fd(),
                (&raw const address).cast(),
                size_of::<libc::sockaddr_ll>() as u32,
            )
        };
        if bound == 0 { Ok(ether) } else { Err(told(io::Error::last_os_error())) }
    }

    pub(super) fn descriptor(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }

    /// Octets of a packet that arrives for certain, and of one that might.
    pub(super) fn rooms(&self) -> (usize, usize) {
        (self.frame.min(EVERYWHERE) - LENGTH, self.frame - LENGTH)
    }

    fn address(&self, to: MacAddress) -> libc::sockaddr_ll {
        let mut hardware = [0; 8];
        hardware[..6].copy_from_slice(&to.0);
        libc::sockaddr_ll {
            sll_family: libc::AF_PACKET as u16,
            sll_protocol: ETHERTYPE.to_be(),
            sll_ifindex: self.interface,
            sll_hatype: 0,
            sll_pkttype: 0,
            sll_halen: 6,
            sll_addr: hardware,
        }
    }

    pub(super) fn send(&self, to: MacAddress, packet: &[u8]) -> io::Result<usize> {
        let mut frame = Vec::with_capacity(LENGTH + packet.len());
        frame.extend((packet.len() as u16).to_be_bytes());
        frame.extend(packet);
        let address = self.address(to);
        // SAFETY: frame and address live as long as the call, and have the lengths that are given.
        let sent = unsafe {
            libc::sendto(
                self.socket.as_raw_fd(),
                frame.as_ptr().cast(),
                frame.len(),
                0,
                (&raw const address).cast(),
                size_of::<libc::sockaddr_ll>() as u32,
            )
        };
        match usize::try_from(sent) {
            Ok(sent) => Ok(sent),
            // A full queue of the interface tells nobody when it is so no more: the packet is lost.
            Err(_) => match io::Error::last_os_error() {
                error if error.raw_os_error() == Some(libc::ENOBUFS) => Ok(0),
                error => Err(error),
            },
        }
    }

    pub(super) fn receive(&self, buffer: &mut [u8]) -> io::Result<(usize, MacAddress)> {
        let mut address = MaybeUninit::<libc::sockaddr_ll>::zeroed();
        let mut length = size_of::<libc::sockaddr_ll>() as libc::socklen_t;
        // SAFETY: the kernel writes at most the lengths that are given, which are those of `buffer`
        // and `address`.
        let got = unsafe {
            libc::recvfrom(
                self.socket.as_raw_fd(),
                buffer.as_mut_ptr().cast(),
                buffer.len(),
                0,
                address.as_mut_ptr().cast(),
                &raw mut length,
            )
        };
        let Ok(got) = usize::try_from(got) else { return Err(io::Error::last_os_error()) };
        // SAFETY: it is made of numbers, and was all zero before the kernel wrote to it.
        let address = unsafe { address.assume_init() };
        let from = MacAddress(std::array::from_fn(|octet| address.sll_addr[octet]));
        let said =
            buffer[..got].first_chunk::<LENGTH>().map(|length| usize::from(u16::from_be_bytes(*length)));
        match said {
            Some(said) if LENGTH + said <= got && address.sll_pkttype != libc::PACKET_OUTGOING => {
                buffer.copy_within(LENGTH..LENGTH + said, 0);
                Ok((said, from))
            }
            // No packet of ours.
            _ => Ok((0, from)),
        }
    }
}

/// What the interface carries at once.
fn mtu(name: &str) -> Option<usize> {
    std::fs::read_to_string(format!("/sys/class/net/{name}/mtu")).ok()?.trim().parse().ok()
}
