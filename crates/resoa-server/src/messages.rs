//! `sendmsg` and `recvmsg` of datagrams with control messages ([`Ancillary`]), for which no safe
//! wrapper covers all types.
#![expect(unsafe_code, reason = "control messages by number are in no safe library")]

use crate::{errors, own};
use resoa_protocol::control_messages::{laid_out, read};
use resoa_protocol::message::{Ancillary, Record};
use resoa_protocol::{Errno, message::Family};
use rustix::fd::{AsRawFd, BorrowedFd};
use rustix::net::SocketAddrAny;
use rustix::net::addr::{SocketAddrArg, SocketAddrStorage};
use std::mem::{self, MaybeUninit};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::{io, ptr};

/// Buffer size in bytes for all control messages that a program can request with a datagram
/// ([`options`](crate::options)), with room to spare.
const CONTROL: usize = 512;

/// A buffer for control messages, aligned for `struct cmsghdr`.
#[repr(align(8))]
struct Control([u8; CONTROL]);

/// Like [`receive`], from the error queue (IP_RECVERR): a datagram that was not delivered, its
/// destination, and its control messages.
///
/// # Errors
/// As [`receive`].
pub(crate) fn undelivered(
    fd: BorrowedFd,
    buffer: &mut [u8],
) -> io::Result<Option<(usize, SocketAddr, Ancillary)>> {
    receive_with(fd, buffer, libc::MSG_DONTWAIT | libc::MSG_ERRQUEUE)
}

/// Receives a datagram with `recvmsg`. Returns its length, its sender and its control messages;
/// `None` if the sender's address is not of IP.
///
/// # Errors
/// The kernel's; EAGAIN if there is no datagram.
pub(crate) fn receive(
    fd: BorrowedFd,
    buffer: &mut [u8],
) -> io::Result<Option<(usize, SocketAddr, Ancillary)>> {
    receive_with(fd, buffer, libc::MSG_DONTWAIT)
}

fn receive_with(
    fd: BorrowedFd,
    buffer: &mut [u8],
    flags: i32,
) -> io::Result<Option<(usize, SocketAddr, Ancillary)>> {
    let mut name = MaybeUninit::<SocketAddrStorage>::zeroed();
    let mut control = Control([0; CONTROL]);
    let mut piece = libc::iovec { iov_base: buffer.as_mut_ptr().cast(), iov_len: buffer.len() };
    // SAFETY: all zeros are an empty message.
    let mut message: libc::msghdr = unsafe { mem::zeroed() };
    message.msg_name = name.as_mut_ptr().cast();
    message.msg_namelen = size_of::<SocketAddrStorage>() as libc::socklen_t;
    (message.msg_iov, message.msg_iovlen) = (&raw mut piece, 1);
    message.msg_control = control.0.as_mut_ptr().cast();
    // Lengths are `size_t` in glibc and `socklen_t` in musl.
    message.msg_controllen = CONTROL as _;
    // SAFETY: each of the three buffers has the length that is given for it.
    let count = unsafe { libc::recvmsg(fd.as_raw_fd(), &raw mut message, flags) };
    let count = usize::try_from(count).map_err(|_| io::Error::last_os_error())?;
    if message.msg_namelen < size_of::<libc::sa_family_t>() as libc::socklen_t {
        return Ok(None);
    }
    // SAFETY: the kernel has written an address of this length.
    let from = unsafe { SocketAddrAny::read(name.as_ptr(), message.msg_namelen) };
    let from = SocketAddr::try_from(from).ok();
    let control = &control.0[..CONTROL.min(message.msg_controllen as usize)];
    Ok(from.map(|from| (count, from, read(control))))
}

/// Sends a datagram with control messages.
///
/// # Errors
/// EINVAL for a control message that a program may not send, or for a source address that is not
/// `own`; otherwise the kernel's.
pub(crate) fn send(
    fd: BorrowedFd,
    own: (Family, IpAddr),
    to: Option<SocketAddr>,
    ancillary: &Ancillary,
    bytes: &[u8],
) -> Result<(), Errno> {
    if !ancillary.records().all(|record| may_be_said(record, own)) {
        return Err(Errno::EINVAL);
    }
    let (mut control, _) = laid_out(ancillary, usize::MAX);
    let mut piece = libc::iovec { iov_base: bytes.as_ptr().cast_mut().cast(), iov_len: bytes.len() };
    // SAFETY: all zeros are an empty message.
    let mut message: libc::msghdr = unsafe { mem::zeroed() };
    (message.msg_iov, message.msg_iovlen) = (&raw mut piece, 1);
    (message.msg_control, message.msg_controllen) = (control.as_mut_ptr().cast(), control.len() as _);
    let mut send = |name: *const libc::c_void, length: u32| {
        (message.msg_name, message.msg_namelen) = (name.cast_mut(), length);
        // SAFETY: each of the three buffers has the length that is given for it, and the kernel
        // only reads them.
        let sent = unsafe {
            libc::sendmsg(fd.as_raw_fd(), &raw const message, libc::MSG_NOSIGNAL | libc::MSG_DONTWAIT)
        };
        if sent < 0 { Err(errors::errno(&io::Error::last_os_error())) } else { Ok(()) }
    };
    match to {
        None => send(ptr::null(), 0),
        // SAFETY: the kernel does not read beyond the length of the address.
        Some(to) => unsafe { to.with_sockaddr(|name, length| send(name.cast(), length)) },
    }
}

/// Returns the source address that a control message requests (IP_PKTINFO, IPV6_PKTINFO); `None`
/// for the unspecified address.
pub(crate) fn source(record: Record) -> Option<IpAddr> {
    let address: IpAddr = match (i32::from(record.level), i32::from(record.kind)) {
        // The address follows the interface; the rest has no meaning in this direction.
        (libc::IPPROTO_IP, libc::IP_PKTINFO) => {
            Ipv4Addr::from(*record.value.get(4..)?.first_chunk::<4>()?).into()
        }
        // The address precedes the interface.
        (libc::IPPROTO_IPV6, libc::IPV6_PKTINFO) => Ipv6Addr::from(*record.value.first_chunk::<16>()?).into(),
        _ => return None,
    };
    Some(address.to_canonical()).filter(|address| !address.is_unspecified())
}

/// Whether any program may send this control message. A source address has to be the client's
/// ([`own`]).
fn may_be_said(record: Record, (family, client): (Family, IpAddr)) -> bool {
    let Record { level, kind, value } = record;
    let is_formed = match (i32::from(level), i32::from(kind)) {
        (libc::IPPROTO_IP, libc::IP_TTL)
        | (libc::IPPROTO_IPV6, libc::IPV6_HOPLIMIT | libc::IPV6_TCLASS | libc::IPV6_DONTFRAG) => {
            value.len() == 4
        }
        (libc::IPPROTO_IP, libc::IP_TOS) => matches!(value.len(), 1 | 4),
        (libc::IPPROTO_IP, libc::IP_PKTINFO) => value.len() == 12,
        (libc::IPPROTO_IPV6, libc::IPV6_PKTINFO) => value.len() == 20,
        (libc::SOL_UDP, libc::UDP_SEGMENT) => value.len() == 2,
        (libc::SOL_SOCKET, libc::SO_PRIORITY) => {
            let number = value.first_chunk().map(|number| i32::from_ne_bytes(*number));
            value.len() == 4 && number.is_some_and(|number| (0..=6).contains(&number))
        }
        _ => false,
    };
    let is_own = |address| match own::source(family, client) {
        Ok(own) => own.is_none_or(|own| own.to_canonical() == address),
        Err(_) => false,
    };
    is_formed && source(record).is_none_or(is_own)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::options;
    use std::net::UdpSocket;
    use std::os::fd::AsFd;

    const ANY: (Family, IpAddr) = (Family::V4, IpAddr::V4(Ipv4Addr::UNSPECIFIED));

    fn beside(records: &[(i32, i32, &[u8])]) -> Ancillary {
        let mut ancillary = Ancillary::none();
        for (level, kind, value) in records {
            assert!(ancillary.push(*level as u8, *kind as u8, value));
        }
        ancillary
    }

    /// C91, RFC 3542: control messages take effect on the wire, and requested ones arrive with the
    /// datagram, for both versions of IP.
    #[test]
    fn said_and_told() {
        let (ip, ipv6) = (libc::IPPROTO_IP, libc::IPPROTO_IPV6);
        let on = 1_i32.to_ne_bytes();
        let number = |number: i32| number.to_ne_bytes();
        let scenes = [
            (
                "127.0.0.1:0",
                [(ip, libc::IP_RECVTTL), (ip, libc::IP_RECVTOS)],
                beside(&[(ip, libc::IP_TTL, &number(9)), (ip, libc::IP_TOS, &[0x2e])]),
                beside(&[(ip, libc::IP_TTL, &number(9)), (ip, libc::IP_TOS, &[0x2e])]),
            ),
            (
                "[::1]:0",
                [(ipv6, libc::IPV6_RECVHOPLIMIT), (ipv6, libc::IPV6_RECVTCLASS)],
                beside(&[(ipv6, libc::IPV6_TCLASS, &number(3)), (ipv6, libc::IPV6_HOPLIMIT, &number(9))]),
                beside(&[(ipv6, libc::IPV6_HOPLIMIT, &number(9)), (ipv6, libc::IPV6_TCLASS, &number(3))]),
            ),
        ];
        for (address, wanted, said, told) in scenes {
            let [near, far] = [(); 2].map(|()| UdpSocket::bind(address).expect("loopback"));
            for (level, name) in wanted {
                options::set(far.as_fd(), level, name, &on).expect("any program may");
            }
            let to = far.local_addr().expect("is bound");
            assert_eq!(send(near.as_fd(), ANY, Some(to), &said, b"x"), Ok(()));
            let (count, from, found) = receive(far.as_fd(), &mut [0; 9]).expect("loopback").expect("of IP");
            assert_eq!((count, from), (1, near.local_addr().expect("is bound")));
            assert_eq!(found, told, "{address}");
            near.connect(to).expect("loopback");
            assert_eq!(send(near.as_fd(), ANY, None, &said, b""), Ok(()));
            let (count, _, found) = receive(far.as_fd(), &mut [0; 9]).expect("loopback").expect("of IP");
            assert_eq!((count, found), (0, told), "{address}");
        }
    }

    /// C10: of the server's addresses, a datagram can only have the client's own as its source.
    #[test]
    fn sources() {
        let (ip, ipv6) = (libc::IPPROTO_IP, libc::IPPROTO_IPV6);
        let of_v4 = |address: [u8; 4]| beside(&[(ip, libc::IP_PKTINFO, &[[0; 4], address, [9; 4]].concat())]);
        let of_v6 = |address: &str| {
            let octets = address.parse::<Ipv6Addr>().expect("an address").octets();
            beside(&[(ipv6, libc::IPV6_PKTINFO, &[&octets[..], &[0; 4]].concat())])
        };
        let may =
            |ancillary: &Ancillary, client| ancillary.records().all(|record| may_be_said(record, client));
        let own = (Family::V4, [192, 0, 2, 7].into());
        assert!(
            may(&of_v4([192, 0, 2, 7]), own) && may(&of_v4([0; 4]), own) && may(&of_v4([192, 0, 2, 8]), ANY)
        );
        assert!(!may(&of_v4([192, 0, 2, 8]), own));
        let own: (_, IpAddr) = (Family::V6, [192, 0, 2, 7].into());
        assert!(may(&of_v6("::ffff:192.0.2.7"), own) && may(&of_v6("::"), own));
        assert!(!may(&of_v6("2001:db8::7"), own) && !may(&of_v4([192, 0, 2, 8]), own));
        let own = (Family::V6, "2001:db8::7".parse().expect("an address"));
        assert!(may(&of_v6("2001:db8::7"), own) && !may(&of_v6("2001:db8::8"), own));
    }

    /// Control messages that need a privilege of this process, are unknown or malformed are refused
    /// for every client.
    #[test]
    fn what_may_not_be_said() {
        let near = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).expect("loopback");
        let to = near.local_addr().expect("is bound");
        let (ip, socket) = (libc::IPPROTO_IP, libc::SOL_SOCKET);
        for (level, kind, value) in [
            (socket, libc::SO_MARK, &[0; 4][..]),
            (socket, libc::SCM_RIGHTS, &[0; 4]),
            (socket, libc::SO_PRIORITY, &7_i32.to_ne_bytes()),
            (ip, libc::IP_TTL, &[9]),
            (ip, libc::IP_RETOPTS, &[1; 4]),
            (ip, libc::IP_PKTINFO, &[0; 11]),
            (libc::IPPROTO_IPV6, libc::IPV6_HOPOPTS, &[0; 8]),
        ] {
            let said = beside(&[(level, kind, value)]);
            assert_eq!(send(near.as_fd(), ANY, Some(to), &said, b"x"), Err(Errno::EINVAL), "{level} {kind}");
        }
        let said = beside(&[(socket, libc::SO_PRIORITY, &6_i32.to_ne_bytes())]);
        assert_eq!(send(near.as_fd(), ANY, Some(to), &said, b"x"), Ok(()));
    }
}
