//! Stream sockets.

use crate::agent::{DRIP, HELLO, REFUSED, SILENT, SLOW};
use crate::program::{
    alone, at, carried, connect, connected, hold_signals, length, of, option, recv, send, set_option, socket,
    was_signalled, write,
};
use libc::{MSG_DONTWAIT, MSG_NOSIGNAL, MSG_PEEK, MSG_TRUNC, SOL_SOCKET, c_int};
use resoa_calls::Request;
use std::ptr;

/// C17, C50: a socket gets the lowest free number and the flags that were asked for. Families that
/// cannot reach a network are left to the kernel; families that would bypass the agent are refused.
#[test]
fn sockets_and_their_numbers() {
    let asked = carried("streams::sockets_and_their_numbers", || unsafe {
        let lowest = libc::dup(0);
        libc::close(lowest);
        let plain = socket(libc::SOCK_STREAM);
        assert_eq!(plain, lowest);
        assert_eq!((libc::fcntl(plain, libc::F_GETFD), libc::fcntl(plain, libc::F_GETFL)), (0, libc::O_RDWR));
        let other = socket(libc::SOCK_STREAM | libc::SOCK_NONBLOCK | libc::SOCK_CLOEXEC);
        assert_eq!(other, lowest + 1);
        let flags = libc::O_RDWR | libc::O_NONBLOCK;
        assert_eq!(
            (libc::fcntl(other, libc::F_GETFD), libc::fcntl(other, libc::F_GETFL)),
            (libc::FD_CLOEXEC, flags)
        );
        for (family, kind, error) in [
            (libc::AF_INET, libc::SOCK_RAW, libc::EPERM),
            (libc::AF_INET, resoa_calls::carried::SOCK_PACKET, libc::EPERM),
            (libc::AF_PACKET, libc::SOCK_RAW, libc::EPERM),
            (libc::AF_PACKET, libc::SOCK_DGRAM, libc::EPERM),
            (libc::AF_VSOCK, libc::SOCK_STREAM, libc::EAFNOSUPPORT),
            (libc::AF_INET, 12, libc::ESOCKTNOSUPPORT),
        ] {
            assert_eq!(of(libc::socket(family, kind, 0)), Err(error), "{family} {kind}");
        }
        assert_eq!(of(libc::socket(libc::AF_UNIX, libc::SOCK_STREAM, 0)), Ok(i64::from(lowest) + 2));
    });
    // Two sockets, and the one of an unknown type.
    assert_eq!(asked.len(), 3);
}

/// C30: no family, type or protocol gives a socket on the host's network. Runs in a namespace
/// without interfaces.
#[test]
fn ways_to_a_network() {
    const PROTOCOLS: [i32; 5] =
        [0, libc::IPPROTO_SCTP, libc::IPPROTO_UDPLITE, libc::IPPROTO_RAW, libc::IPPROTO_MPTCP];
    const FAMILIES: std::ops::Range<i32> = 0..64;
    let asked = carried("streams::ways_to_a_network", || unsafe {
        // Without the privilege the test runs in the host's network, which makes no other
        // difference.
        let _ = libc::unshare(libc::CLONE_NEWNET);
        for family in FAMILIES {
            for (kind, protocol) in (0..16).flat_map(|kind| PROTOCOLS.map(|protocol| (kind, protocol))) {
                let number = libc::socket(family, kind, protocol);
                assert!(
                    number < 0
                        || [libc::AF_UNIX, libc::AF_NETLINK, libc::AF_INET, libc::AF_INET6].contains(&family),
                    "{family} {kind} {protocol}"
                );
                libc::close(number);
            }
        }
    });
    let of_ip = 2 * (16 - 2) * PROTOCOLS.len();
    assert!(asked.iter().all(|asked| matches!(asked, Request::Socket { .. })), "{asked:?}");
    assert_eq!(asked.len(), of_ip);
}

/// Without an agent no socket is created, and the host's own network is not used instead.
#[test]
fn no_agent() {
    alone("streams::no_agent", || unsafe {
        assert_eq!(of(libc::socket(libc::AF_INET, libc::SOCK_STREAM, 0)), Err(libc::ENETDOWN));
        assert_eq!(of(libc::socket(libc::AF_INET6, libc::SOCK_DGRAM, 0)), Err(libc::ENETDOWN));
        assert_eq!(of(libc::socket(libc::AF_INET, libc::SOCK_RAW, 1)), Err(libc::EPERM));
    });
}

/// C109: an unconnected socket fails as a TCP socket does.
#[test]
fn not_connected() {
    carried("streams::not_connected", || {
        hold_signals();
        let number = socket(libc::SOCK_STREAM);
        assert_eq!(write(number, b"x"), Err(libc::EPIPE));
        assert!(was_signalled());
        assert_eq!(send(number, b"x", MSG_NOSIGNAL), Err(libc::EPIPE));
        assert!(!was_signalled());
        assert_eq!(recv(number, 1, 0), Err(libc::ENOTCONN));
        for how in [libc::SHUT_RD, libc::SHUT_WR, libc::SHUT_RDWR] {
            assert_eq!(of(unsafe { libc::shutdown(number, how) }), Err(libc::ENOTCONN));
        }
        assert_eq!(of(unsafe { libc::shutdown(number, 7) }), Err(libc::EINVAL));
        assert_eq!(of(unsafe { libc::accept(number, ptr::null_mut(), ptr::null_mut()) }), Err(libc::EINVAL));
        assert_eq!(connect(number, REFUSED), Err(libc::ECONNREFUSED));
        assert_eq!(connect(number, HELLO), Ok(0));
    });
}

/// C35, C38, C44: data flows, a destination address is ignored, `recvfrom` reports no address, and
/// MSG_TRUNC discards.
#[test]
fn a_connection() {
    carried("streams::a_connection", || unsafe {
        let number = connected(HELLO);
        assert_eq!(recv(number, 2, MSG_PEEK), Ok(b"he".to_vec()));
        // The call counts bytes and copies none.
        for flags in [0, libc::MSG_WAITALL] {
            let counts =
                |count| length(libc::recv(number, ptr::null_mut(), count, MSG_PEEK | MSG_TRUNC | flags));
            assert_eq!((counts(0), counts(3), counts(5)), (Ok(0), Ok(3), Ok(5)));
        }
        assert_eq!(recv(number, 9, MSG_PEEK | MSG_TRUNC), Ok(vec![0; 5]));
        assert_eq!(length(libc::recv(number, ptr::null_mut(), 3, MSG_TRUNC)), Ok(3));
        let (mut octets, mut name, mut room) = ([0u8; 8], [0u8; 16], 16);
        let got =
            libc::recvfrom(number, octets.as_mut_ptr().cast(), 8, 0, name.as_mut_ptr().cast(), &raw mut room);
        assert_eq!((got, &octets[..2], room), (2, &b"lo"[..], 0));
        let to = at(9);
        assert_eq!(length(libc::sendto(number, b"abc".as_ptr().cast(), 3, 0, to.as_ptr().cast(), 16)), Ok(3));
        assert_eq!(recv(number, 1, libc::MSG_ERRQUEUE | MSG_DONTWAIT), Err(libc::EAGAIN));
        assert_eq!(recv(number, 1, MSG_DONTWAIT), Err(libc::EAGAIN));
        let mut room = 4;
        assert_eq!(libc::getpeername(number, name.as_mut_ptr().cast(), &raw mut room), 0);
        assert_eq!((room, &name[..4]), (16, &at(HELLO)[..4]));
        assert_eq!(of(libc::shutdown(number, libc::SHUT_WR)), Ok(0));
        assert_eq!(send(number, b"x", MSG_NOSIGNAL), Err(libc::EPIPE));
        assert_eq!(of(libc::shutdown(number, libc::SHUT_WR)), Ok(0));
        assert_eq!(of(libc::shutdown(number, libc::SHUT_RDWR)), Ok(0));
        assert_eq!(recv(number, 1, 0), Ok(vec![]));
    });
}

/// C29, C44: MSG_PEEK with MSG_WAITALL waits for all bytes, or for the end of the stream.
#[test]
fn peeking_at_all() {
    carried("streams::peeking_at_all", || {
        let number = connected(SLOW);
        let flags = MSG_PEEK | libc::MSG_WAITALL;
        assert_eq!(recv(number, 2, flags), Ok(b"ab".to_vec()));
        assert_eq!(recv(number, 3, flags), Ok(b"ab".to_vec()));
        assert_eq!(recv(number, 3, 0), Ok(b"ab".to_vec()));
        assert_eq!(recv(number, 3, flags), Ok(vec![]));
    });
}

/// C29, C44: SO_RCVTIMEO also ends that wait, however often data arrives meanwhile.
#[test]
fn peeking_at_all_for_a_while() {
    carried("streams::peeking_at_all_for_a_while", || {
        let number = connected(DRIP);
        let time = libc::timeval { tv_sec: 0, tv_usec: 200_000 };
        assert_eq!(set_option(number, SOL_SOCKET, libc::SO_RCVTIMEO, &time), Ok(0));
        let many = 2000;
        let seen = loop {
            match recv(number, many, MSG_PEEK | libc::MSG_WAITALL) {
                // On a machine that stalls for this long, nothing has arrived yet.
                Err(libc::EAGAIN) => {}
                seen => break seen.expect("octets").len(),
            }
        };
        assert!((1..many).contains(&seen), "{seen} octets");
    });
}

/// Invalid pointers are EFAULT, as in the kernel.
#[test]
fn places_that_lead_nowhere() {
    carried("streams::places_that_lead_nowhere", || unsafe {
        let number = socket(libc::SOCK_STREAM);
        let nowhere = ptr::without_provenance_mut::<libc::c_void>(64);
        assert_eq!(of(libc::bind(number, nowhere.cast(), 16)), Err(libc::EFAULT));
        assert_eq!(of(libc::connect(number, nowhere.cast(), 16)), Err(libc::EFAULT));
        assert_eq!(
            of(libc::setsockopt(number, SOL_SOCKET, libc::SO_KEEPALIVE, nowhere, 4)),
            Err(libc::EFAULT)
        );
        let (mut room, mut value) = (4, 0);
        let at: *mut c_int = &raw mut value;
        let option = |value, room| of(libc::getsockopt(number, SOL_SOCKET, libc::SO_ERROR, value, room));
        assert_eq!(option(nowhere, &raw mut room), Err(libc::EFAULT));
        assert_eq!(option(at.cast(), nowhere.cast()), Err(libc::EFAULT));
        assert_eq!(of(libc::getsockname(number, nowhere.cast(), &raw mut room)), Err(libc::EFAULT));
        assert_eq!(of(libc::getsockname(number, ptr::null_mut(), &raw mut room)), Err(libc::EFAULT));
        assert_eq!(of(libc::ioctl(number, libc::TIOCOUTQ, nowhere)), Err(libc::EFAULT));
        assert_eq!(connect(number, HELLO), Ok(0));
        assert_eq!(length(libc::read(number, nowhere, 1)), Err(libc::EFAULT));
        let mut place = [0u8; 16];
        let mut from = |number, room| {
            let address = (&raw mut place).cast();
            length(libc::recvfrom(number, (&raw mut value).cast(), 1, MSG_DONTWAIT, address, room))
        };
        assert_eq!(from(number, nowhere.cast()), Err(libc::EFAULT));
        assert_eq!(from(number, ptr::null_mut()), Err(libc::EFAULT));
        room = u32::MAX;
        assert_eq!(from(number, &raw mut room), Err(libc::EINVAL));
        room = 16;
        assert_eq!((from(number, &raw mut room), room), (Ok(1), 0));
        let datagrams = socket(libc::SOCK_DGRAM);
        let mut message: libc::mmsghdr = std::mem::zeroed();
        let mut several = |time| of(libc::recvmmsg(datagrams, &raw mut message, 1, MSG_DONTWAIT, time));
        assert_eq!(several(nowhere.cast()), Err(libc::EFAULT));
        let mut time = libc::timespec { tv_sec: -1, tv_nsec: 2_000_000_000 };
        assert_eq!(several(&raw mut time), Err(libc::EINVAL));
        time = libc::timespec { tv_sec: i64::MAX, tv_nsec: 0 };
        assert_eq!(several(&raw mut time), Err(libc::EAGAIN));
    });
}

/// A thread can be cancelled while it waits in `connect` (pthreads(7)), which interrupts the call.
#[test]
fn a_connect_that_is_cancelled() {
    unsafe extern "C-unwind" {
        fn connect(number: c_int, address: *const libc::c_void, length: libc::socklen_t) -> c_int;
        fn pthread_create(
            thread: *mut libc::pthread_t,
            attributes: *const libc::pthread_attr_t,
            start: unsafe extern "C-unwind" fn(*mut libc::c_void) -> *mut libc::c_void,
            argument: *mut libc::c_void,
        ) -> c_int;
        fn pthread_cancel(thread: libc::pthread_t) -> c_int;
    }
    /// Connects; it only returns if the thread was not cancelled.
    unsafe extern "C-unwind" fn wait(number: *mut libc::c_void) -> *mut libc::c_void {
        let to = resoa_calls::address::written(std::net::SocketAddr::from(([192, 0, 2, 2], SILENT)));
        unsafe { connect(number as c_int, to.as_ptr().cast(), to.len() as libc::socklen_t) };
        number
    }
    carried("streams::a_connect_that_is_cancelled", || unsafe {
        for has_limit in [false, true] {
            let number = socket(libc::SOCK_STREAM);
            let time = libc::timeval { tv_sec: i64::from(has_limit) * 1000, tv_usec: 0 };
            assert_eq!(set_option(number, SOL_SOCKET, libc::SO_SNDTIMEO, &time), Ok(0));
            let (mut thread, mut came) = (0, ptr::null_mut());
            assert_eq!(pthread_create(&raw mut thread, ptr::null(), wait, number as *mut libc::c_void), 0);
            // The thread may not have reached the wait yet; then it is cancelled there.
            assert_eq!((pthread_cancel(thread), libc::pthread_join(thread, &raw mut came)), (0, 0));
            assert_eq!(came as isize, -1, "PTHREAD_CANCELED");
        }
    });
}

/// C48: a signal ends the wait of `connect`.
#[test]
fn a_connect_that_is_interrupted() {
    carried("streams::a_connect_that_is_interrupted", || unsafe {
        extern "C" fn handler(_: c_int) {}
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = handler as *const () as usize;
        libc::sigaction(libc::SIGUSR1, &raw const action, ptr::null_mut());
        let number = socket(libc::SOCK_STREAM);
        // Sent repeatedly, because the first one may come before the wait.
        let waiting = libc::pthread_self();
        std::thread::spawn(move || {
            loop {
                std::thread::sleep(std::time::Duration::from_millis(20));
                libc::pthread_kill(waiting, libc::SIGUSR1);
            }
        });
        assert_eq!(connect(number, SILENT), Err(libc::EINTR));
    });
}

/// C33, C39: only `accept` reads from a listener, and a connection inherits its options.
#[test]
fn a_listener() {
    carried("streams::a_listener", || unsafe {
        hold_signals();
        let number = socket(libc::SOCK_STREAM);
        let address = at(9);
        assert_eq!(of(libc::bind(number, address.as_ptr().cast(), 16)), Err(libc::EADDRINUSE));
        let linger = libc::linger { l_onoff: 1, l_linger: 3 };
        assert_eq!(set_option(number, SOL_SOCKET, libc::SO_LINGER, &linger), Ok(0));
        assert_eq!(of(libc::listen(number, 5)), Ok(0));
        assert_eq!(recv(number, 1, MSG_DONTWAIT), Err(libc::ENOTCONN));
        assert_eq!(write(number, b"x"), Err(libc::EPIPE));
        assert!(was_signalled());
        let (mut name, mut room) = ([0u8; 16], 16);
        let accepted = libc::accept4(number, name.as_mut_ptr().cast(), &raw mut room, libc::SOCK_CLOEXEC);
        assert!(accepted > number);
        let from: std::net::SocketAddr = ([192, 0, 2, 9], 1234).into();
        assert_eq!(resoa_calls::address::read(&name), Ok(Some(from)));
        assert_eq!(libc::fcntl(accepted, libc::F_GETFD), libc::FD_CLOEXEC);
        assert_eq!(libc::fcntl(accepted, libc::F_GETFL), libc::O_RDWR);
        assert_eq!(recv(accepted, 9, 0), Ok(b"hi".to_vec()));
        assert_eq!(of(libc::accept(accepted, ptr::null_mut(), ptr::null_mut())), Err(libc::EINVAL));
        libc::fcntl(number, libc::F_SETFL, libc::O_NONBLOCK);
        assert_eq!(of(libc::accept(number, ptr::null_mut(), ptr::null_mut())), Err(libc::EAGAIN));
        assert_eq!(of(libc::accept4(number, ptr::null_mut(), ptr::null_mut(), 1)), Err(libc::EINVAL));
        assert_eq!(of(libc::shutdown(number, libc::SHUT_RD)), Ok(0));
        assert_eq!(of(libc::accept(number, ptr::null_mut(), ptr::null_mut())), Err(libc::EINVAL));
    });
}

/// C39: the agent has the options. Those about waiting and receiving are also set on the
/// descriptor.
#[test]
fn options() {
    carried("streams::options", || {
        let number = connected(HELLO);
        assert_eq!(recv(number, 5, 0), Ok(b"hello".to_vec()));
        assert_eq!(option(number, libc::IPPROTO_TCP, libc::TCP_NODELAY), Err(libc::ENOPROTOOPT));
        assert_eq!(set_option(number, libc::IPPROTO_TCP, libc::TCP_NODELAY, &1), Ok(0));
        assert_eq!(option(number, libc::IPPROTO_TCP, libc::TCP_NODELAY), Ok(1));
        let time = libc::timeval { tv_sec: 0, tv_usec: 10_000 };
        assert_eq!(set_option(number, SOL_SOCKET, libc::SO_RCVTIMEO, &time), Ok(0));
        assert_eq!(recv(number, 1, 0), Err(libc::EAGAIN));
        let mut outstanding: c_int = 0;
        assert_eq!(of(unsafe { libc::ioctl(number, libc::TIOCOUTQ, &raw mut outstanding) }), Ok(0));
        assert_eq!(outstanding as u64, libc::TIOCOUTQ);
    });
}
