//! Ethernet frames without IP (C03): a packet socket of one interface, for an ethertype that IEEE
//! 802 reserves for local experiments.
//!
//! Short frames are padded on the wire, so each packet is preceded by its length (2 bytes, network
//! order).
#![expect(unsafe_code, reason = "addresses of packet sockets are in no safe library")]

use crate::MacAddress;
use rustix::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::ffi::CString;
use std::io;
use std::mem::{MaybeUninit, size_of};

/// IEEE 802, local experimental ethertype 1.
const ETHERTYPE: u16 = 0x88b5;
/// Bytes of the length field.
const LENGTH: usize = 2;
/// Longest frame, whatever the interface says: lo and veth report 65 536 bytes and more.
const LONGEST: usize = 9000;
/// Lower bound on the frame length of an interface.
const SHORTEST: usize = 256;
/// MTU of every Ethernet interface (IEEE 802.3), including those on the way and at the other end.
const EVERYWHERE: usize = 1500;

/// A packet socket; see the [module](self).
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
                if error.kind() == io::ErrorKind::PermissionDenied { "; run with CAP_NET_RAW" } else { "" };
            io::Error::new(error.kind(), format!("cannot use interface {name}: {error}{way_out}"))
        };
        let text = CString::new(name).map_err(|_| told(io::ErrorKind::InvalidInput.into()))?;
        // SAFETY: `text` ends with a zero byte and outlives the call.
        let interface = unsafe { libc::if_nametoindex(text.as_ptr()) };
        if interface == 0 {
            return Err(told(io::Error::last_os_error()));
        }
        let kind = libc::SOCK_DGRAM | libc::SOCK_CLOEXEC | libc::SOCK_NONBLOCK;
        // SAFETY: the call has no pointers. With protocol 0, the socket receives nothing until it
        // is bound.
        let socket = unsafe { libc::socket(libc::AF_PACKET, kind, 0) };
        if socket < 0 {
            return Err(told(io::Error::last_os_error()));
        }
        // SAFETY: the file descriptor is new, and nothing else owns it.
        let socket = unsafe { OwnedFd::from_raw_fd(socket) };
        let mtu = mtu(name).unwrap_or(EVERYWHERE);
        let ether = Self { socket, interface: interface.cast_signed(), frame: mtu.clamp(SHORTEST, LONGEST) };
        let address = ether.address(MacAddress([0; 6]));
        // SAFETY: the address is one for packet sockets, and has the given length.
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

    /// Returns the bytes of a packet that certainly arrives, and of one that might.
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
        // SAFETY: frame and address outlive the call, and have the given lengths.
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
            // The kernel does not report when a full interface queue has room again, so the packet
            // counts as lost.
            Err(_) => match io::Error::last_os_error() {
                error if error.raw_os_error() == Some(libc::ENOBUFS) => Ok(0),
                error => Err(error),
            },
        }
    }

    pub(super) fn receive(&self, buffer: &mut [u8]) -> io::Result<(usize, MacAddress)> {
        let mut address = MaybeUninit::<libc::sockaddr_ll>::zeroed();
        let mut length = size_of::<libc::sockaddr_ll>() as libc::socklen_t;
        // SAFETY: the kernel writes at most the given lengths, which are those of `buffer` and
        // `address`.
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
        // SAFETY: all fields are numbers, and were zero before the kernel wrote to them.
        let address = unsafe { address.assume_init() };
        let from = MacAddress(std::array::from_fn(|octet| address.sll_addr[octet]));
        let said =
            buffer[..got].first_chunk::<LENGTH>().map(|length| usize::from(u16::from_be_bytes(*length)));
        match said {
            Some(said) if LENGTH + said <= got && address.sll_pkttype != libc::PACKET_OUTGOING => {
                buffer.copy_within(LENGTH..LENGTH + said, 0);
                Ok((said, from))
            }
            // Not a packet of this protocol.
            _ => Ok((0, from)),
        }
    }
}

/// Returns the MTU of the interface.
fn mtu(name: &str) -> Option<usize> {
    std::fs::read_to_string(format!("/sys/class/net/{name}/mtu")).ok()?.trim().parse().ok()
}
