//! Datagram sockets (C91).

use crate::program::{at, carried, connect, length, of, recv, send, socket};
use libc::{MSG_DONTWAIT, MSG_PEEK, MSG_TRUNC, c_int, iovec, msghdr, sockaddr_in};
use resoa_calls::Request;
use std::ptr;

unsafe fn send_to(number: c_int, octets: &[u8], port: u16) -> Result<i64, c_int> {
    let to = at(port);
    length(unsafe { libc::sendto(number, octets.as_ptr().cast(), octets.len(), 0, to.as_ptr().cast(), 16) })
}

/// Without `connect` each datagram on the descriptor carries its address, which the program does
/// not see.
#[test]
fn with_addresses() {
    carried("datagrams::with_addresses", || unsafe {
        let number = socket(libc::SOCK_DGRAM);
        assert_eq!(send(number, b"x", 0), Err(libc::EDESTADDRREQ));
        assert_eq!(send_to(number, b"x", 0), Err(libc::EINVAL));
        assert_eq!(send_to(number, &vec![0; 65_508], 53), Err(libc::EMSGSIZE));
        assert_eq!(send(number, b"x", libc::MSG_OOB), Err(libc::EOPNOTSUPP));
        assert_eq!(send_to(number, b"first", 53), Ok(5));
        assert_eq!(recv(number, 3, MSG_PEEK), Ok(b"fir".to_vec()));
        let mut waiting: c_int = 0;
        assert_eq!(of(libc::ioctl(number, libc::FIONREAD, &raw mut waiting)), Ok(0));
        assert_eq!(waiting, 5);
        assert_eq!(length(libc::recv(number, ptr::null_mut(), 0, MSG_PEEK | MSG_TRUNC)), Ok(5));
        let (mut octets, mut from, mut room) = ([0u8; 2], [0u8; 16], 16);
        let mut piece = iovec { iov_base: octets.as_mut_ptr().cast(), iov_len: 2 };
        let mut message: msghdr = std::mem::zeroed();
        (message.msg_iov, message.msg_iovlen) = (&raw mut piece, 1);
        (message.msg_name, message.msg_namelen) = (from.as_mut_ptr().cast(), 16);
        assert_eq!(libc::recvmsg(number, &raw mut message, 0), 2);
        assert_eq!((&octets, message.msg_flags, message.msg_namelen), (b"fi", MSG_TRUNC, 16));
        assert_eq!(&from[..], &at(53)[..]);
        assert_eq!(send_to(number, b"", 54), Ok(0));
        let got =
            libc::recvfrom(number, octets.as_mut_ptr().cast(), 2, 0, from.as_mut_ptr().cast(), &raw mut room);
        assert_eq!((got, room, &from[..4]), (0, 16, &at(54)[..4]));
        assert_eq!(recv(number, 1, MSG_DONTWAIT), Err(libc::EAGAIN));
        assert_eq!(of(libc::listen(number, 1)), Err(libc::EOPNOTSUPP));
        assert_eq!(of(libc::accept(number, ptr::null_mut(), ptr::null_mut())), Err(libc::EOPNOTSUPP));
    });
}

/// With `connect`, datagrams on the descriptor have no header. Another destination needs a request,
/// and `connect` to no address undoes the first.
#[test]
fn connected() {
    let asked = carried("datagrams::connected", || unsafe {
        let number = socket(libc::SOCK_DGRAM);
        assert_eq!(connect(number, 53), Ok(0));
        assert_eq!(send(number, b"plain", 0), Ok(5));
        let (mut octets, mut from, mut room) = ([0u8; 9], [0u8; 16], 16);
        let got =
            libc::recvfrom(number, octets.as_mut_ptr().cast(), 9, 0, from.as_mut_ptr().cast(), &raw mut room);
        assert_eq!((got, &octets[..5], room, &from[..4]), (5, &b"plain"[..], 16, &at(53)[..4]));
        assert_eq!(send_to(number, b"same", 53), Ok(4));
        assert_eq!(send_to(number, b"other", 54), Ok(5));
        let nobody: sockaddr_in = std::mem::zeroed();
        assert_eq!(of(libc::connect(number, (&raw const nobody).cast(), 16)), Ok(0));
        assert_eq!(send(number, b"x", 0), Err(libc::EDESTADDRREQ));
    });
    let sent = asked.iter().find_map(|request| match request {
        Request::SendTo { address: Some(address), octets, .. } => Some((*address, octets.clone())),
        _ => None,
    });
    assert_eq!(sent, Some((([192, 0, 2, 2], 54).into(), b"other".to_vec())));
}

/// Calls `sendmsg` with one control message.
unsafe fn send_beside(
    number: c_int,
    (level, kind): (c_int, c_int),
    value: &[u8],
    port: Option<u16>,
) -> Result<i64, c_int> {
    let mut piece = iovec { iov_base: b"beside".as_ptr().cast_mut().cast(), iov_len: 6 };
    let mut to = at(port.unwrap_or(0));
    let mut control = [0_u64; 8];
    let octets =
        [&(16 + value.len() as u64).to_ne_bytes()[..], &level.to_ne_bytes(), &kind.to_ne_bytes(), value]
            .concat();
    let mut message: msghdr = unsafe { std::mem::zeroed() };
    (message.msg_iov, message.msg_iovlen) = (&raw mut piece, 1);
    if port.is_some() {
        (message.msg_name, message.msg_namelen) = (to.as_mut_ptr().cast(), 16);
    }
    unsafe { control.as_mut_ptr().cast::<u8>().copy_from_nonoverlapping(octets.as_ptr(), octets.len()) };
    (message.msg_control, message.msg_controllen) = (control.as_mut_ptr().cast(), octets.len());
    length(unsafe { libc::sendmsg(number, &raw const message, 0) })
}

/// RFC 3542: control messages that the kernel would refuse are refused before anything is sent. On
/// a connected socket, a datagram with control messages needs a request, because the descriptor has
/// no place for them.
#[test]
fn control_messages() {
    const TOS: (c_int, c_int) = (libc::IPPROTO_IP, libc::IP_TOS);
    let asked = carried("datagrams::control_messages", || unsafe {
        let number = socket(libc::SOCK_DGRAM);
        assert_eq!(send_beside(number, TOS, &[4], None), Err(libc::EDESTADDRREQ));
        assert_eq!(send_beside(number, TOS, &[4; 3], Some(53)), Err(libc::EINVAL));
        assert_eq!(
            send_beside(number, (libc::SOL_SOCKET, libc::SO_MARK), &[4; 4], Some(53)),
            Err(libc::EPERM)
        );
        assert_eq!(recv(number, 9, MSG_DONTWAIT), Err(libc::EAGAIN));
        assert_eq!(send_beside(number, TOS, &[4], Some(53)), Ok(6));
        assert_eq!(connect(number, 53), Ok(0));
        assert_eq!(send_beside(number, TOS, &[8], None), Ok(6));
        assert_eq!(send_beside(number, TOS, &[12], Some(53)), Ok(6));
        assert_eq!(send_beside(number, TOS, &[16], Some(54)), Ok(6));
        // Control messages of the other IP version are ignored, and the datagram takes the usual
        // way.
        assert_eq!(send_beside(number, (libc::IPPROTO_IPV6, libc::IPV6_TCLASS), &[0; 4], None), Ok(6));
    });
    let sent = asked.into_iter().filter_map(|request| match request {
        Request::SendTo { address, ancillary, octets, more: false, .. } => Some((address, ancillary, octets)),
        _ => None,
    });
    // The first one has no destination. The agent refuses it, because it could also be the rest of
    // another datagram.
    let sent = sent.skip(1);
    let beside = |class| vec![0, libc::IP_TOS as u8, 1, class];
    let elsewhere = Some(([192, 0, 2, 2], 54).into());
    let expected =
        [(None, 8), (None, 12), (elsewhere, 16)].map(|(to, class)| (to, beside(class), b"beside".to_vec()));
    assert_eq!(sent.collect::<Vec<_>>(), expected);
}

/// MSG_MORE: parts of a datagram go to the agent. The last part, on a connected socket, goes over
/// the descriptor as usual.
#[test]
fn parts() {
    let asked = carried("datagrams::parts", || {
        let number = socket(libc::SOCK_DGRAM);
        assert_eq!(connect(number, 53), Ok(0));
        assert_eq!(send(number, b"one", libc::MSG_MORE), Ok(3));
        assert_eq!(send(number, b"two", 0), Ok(3));
        assert_eq!(recv(number, 9, 0), Ok(b"two".to_vec()));
    });
    let sent = asked.into_iter().filter_map(|request| match request {
        Request::SendTo { address, octets, more, .. } => Some((address, octets, more)),
        _ => None,
    });
    assert_eq!(sent.collect::<Vec<_>>(), [(None, b"one".to_vec(), true)]);
}

/// Several datagrams in a call, with many pieces each.
#[test]
fn several() {
    carried("datagrams::several", || unsafe {
        let number = socket(libc::SOCK_DGRAM);
        let mut to = at(7);
        let text = b"0123456789abcdef";
        let mut pieces: Vec<iovec> = text
            .iter()
            .map(|octet| iovec { iov_base: ptr::from_ref(octet).cast_mut().cast(), iov_len: 1 })
            .collect();
        let mut messages: [libc::mmsghdr; 2] = std::mem::zeroed();
        for (message, count) in messages.iter_mut().zip([16, 3]) {
            message.msg_hdr.msg_iov = pieces.as_mut_ptr();
            message.msg_hdr.msg_iovlen = count;
            (message.msg_hdr.msg_name, message.msg_hdr.msg_namelen) = (to.as_mut_ptr().cast(), 16);
        }
        assert_eq!(libc::sendmmsg(number, messages.as_mut_ptr(), 2, 0), 2);
        assert_eq!((messages[0].msg_len, messages[1].msg_len), (16, 3));
        let mut places = [[0u8; 20]; 3];
        let mut parts =
            places.each_mut().map(|place| iovec { iov_base: place.as_mut_ptr().cast(), iov_len: 20 });
        let mut messages: [libc::mmsghdr; 3] = std::mem::zeroed();
        for (message, part) in messages.iter_mut().zip(&mut parts) {
            (message.msg_hdr.msg_iov, message.msg_hdr.msg_iovlen) = (ptr::from_mut(part), 1);
        }
        // The second echo may arrive later than the first.
        let mut got: c_int = 0;
        while got < 2 {
            let rest = messages.as_mut_ptr().add(got as usize);
            got +=
                libc::recvmmsg(number, rest, 3 - got.cast_unsigned(), libc::MSG_WAITFORONE, ptr::null_mut());
        }
        assert_eq!((got, messages[0].msg_len, messages[1].msg_len), (2, 16, 3));
        assert_eq!((&places[0][..16], &places[1][..3]), (&text[..], &text[..3]));
    });
}
