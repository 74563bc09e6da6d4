//! Sockets of streams.

use crate::agent::{DRIP, ENDED, HELLO, LOST, REFUSED, RESET, SILENT, SLOW};
use crate::program::{
    alone, at, carried, connect, hold_signals, length, of, option, recv, send, set_option, socket,
    was_signalled, write,
};
use libc::{MSG_DONTWAIT, MSG_NOSIGNAL, MSG_PEEK, MSG_TRUNC, SOL_SOCKET, c_int};
use resoa_calls::Request;
use std::fs::File;
use std::io::Write as _;
use std::os::fd::{AsRawFd, FromRawFd, IntoRawFd};
use std::ptr;

/// C17, C50: a socket has the lowest number that is free and the flags that were asked for; other families pass, and what would reach a network past the agent does not.
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
    // Two, and the one of an unknown type.
    assert_eq!(asked.len(), 3);
}

/// C30: no family, type or protocol makes a socket of a network. In a namespace without interfaces.
#[test]
fn ways_to_a_network() {
    const PROTOCOLS: [i32; 5] =
        [0, libc::IPPROTO_SCTP, libc::IPPROTO_UDPLITE, libc::IPPROTO_RAW, libc::IPPROTO_MPTCP];
    const FAMILIES: std::ops::Range<i32> = 0..64;
    let asked = carried("streams::ways_to_a_network", || unsafe {
        // Without the right to it nothing is different but the host's network.
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

/// Without an agent nothing is made, and nothing of the host's own network is used instead.
#[test]
fn no_agent() {
    alone("streams::no_agent", || unsafe {
        assert_eq!(of(libc::socket(libc::AF_INET, libc::SOCK_STREAM, 0)), Err(libc::ENETDOWN));
        assert_eq!(of(libc::socket(libc::AF_INET6, libc::SOCK_DGRAM, 0)), Err(libc::ENETDOWN));
        assert_eq!(of(libc::socket(libc::AF_INET, libc::SOCK_RAW, 1)), Err(libc::EPERM));
    });
}

/// C109: a socket that is not connected says what a TCP's says.
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

/// C35, C38, C44: data flows, an address to send to is ignored, and `recvfrom` tells none; MSG_TRUNC discards.
#[test]
fn a_connection() {
    carried("streams::a_connection", || unsafe {
        let number = socket(libc::SOCK_STREAM);
        assert_eq!(connect(number, HELLO), Ok(0));
        assert_eq!(recv(number, 2, MSG_PEEK), Ok(b"he".to_vec()));
        // Counts, and copies nothing.
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

/// C50: a program whose own filter ends it at any socket call reads, writes and closes as before, whatever it has (sshd does, when it hears a stranger).
#[test]
fn a_program_that_confines_itself() {
    carried("streams::a_program_that_confines_itself", || unsafe {
        hold_signals();
        let [number, over] = [HELLO, RESET].map(|port| {
            let number = socket(libc::SOCK_STREAM);
            assert_eq!(connect(number, port), Ok(0));
            number
        });
        // One that was not looked at yet.
        let mut pipe = [0; 2];
        assert_eq!(libc::pipe(pipe.as_mut_ptr()), 0);
        let linger = libc::linger { l_onoff: 1, l_linger: 5 };
        assert_eq!(set_option(number, SOL_SOCKET, libc::SO_LINGER, &linger), Ok(0));
        let ends = [
            libc::SYS_socket,
            libc::SYS_connect,
            libc::SYS_getsockname,
            libc::SYS_getsockopt,
            libc::SYS_setsockopt,
            libc::SYS_sendto,
            libc::SYS_recvfrom,
            libc::SYS_sendmsg,
            libc::SYS_recvmsg,
        ];
        let plain = |code, k| libc::sock_filter { code, jt: 0, jf: 0, k };
        let (load, equal, verdict) = (0x20, 0x15, 0x06);
        let mut filter = vec![plain(load, 0)];
        for call in ends {
            filter.push(libc::sock_filter { jf: 1, ..plain(equal, call as u32) });
            filter.push(plain(verdict, libc::SECCOMP_RET_KILL_PROCESS));
        }
        filter.push(plain(verdict, libc::SECCOMP_RET_ALLOW));
        let program = libc::sock_fprog { len: filter.len() as u16, filter: filter.as_mut_ptr() };
        assert_eq!(libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
        let mode = libc::SECCOMP_MODE_FILTER;
        assert_eq!(libc::prctl(libc::PR_SET_SECCOMP, mode, &raw const program), 0);
        let mut octets = [0u8; 8];
        assert_eq!(length(libc::read(number, octets.as_mut_ptr().cast(), 8)), Ok(5));
        assert_eq!(&octets[..5], b"hello");
        assert_eq!((write(number, b"x"), write(pipe[1], b"x")), (Ok(1), Ok(1)));
        assert_eq!(length(libc::read(pipe[0], octets.as_mut_ptr().cast(), 8)), Ok(1));
        // What it died of is not asked any more.
        assert_eq!(length(libc::read(over, octets.as_mut_ptr().cast(), 8)), Ok(4));
        assert_eq!(write(over, b"x"), Err(libc::EPIPE));
        assert!(was_signalled());
        assert_eq!(of(libc::shutdown(number, libc::SHUT_RDWR)), Ok(0));
        assert_eq!((of(libc::close(number)), of(libc::close(pipe[0]))), (Ok(0), Ok(0)));
    });
}

/// C29, C44: MSG_PEEK with MSG_WAITALL waits for all that it is asked for, until the end.
#[test]
fn peeking_at_all() {
    carried("streams::peeking_at_all", || {
        let number = socket(libc::SOCK_STREAM);
        assert_eq!(connect(number, SLOW), Ok(0));
        let flags = MSG_PEEK | libc::MSG_WAITALL;
        assert_eq!(recv(number, 2, flags), Ok(b"ab".to_vec()));
        assert_eq!(recv(number, 3, flags), Ok(b"ab".to_vec()));
        assert_eq!(recv(number, 3, 0), Ok(b"ab".to_vec()));
        assert_eq!(recv(number, 3, flags), Ok(vec![]));
    });
}

/// C29, C44: SO_RCVTIMEO ends that wait as well, however often something comes meanwhile.
#[test]
fn peeking_at_all_for_a_while() {
    carried("streams::peeking_at_all_for_a_while", || {
        let number = socket(libc::SOCK_STREAM);
        assert_eq!(connect(number, DRIP), Ok(0));
        let time = libc::timeval { tv_sec: 0, tv_usec: 200_000 };
        assert_eq!(set_option(number, SOL_SOCKET, libc::SO_RCVTIMEO, &time), Ok(0));
        let many = 2000;
        let seen = loop {
            match recv(number, many, MSG_PEEK | libc::MSG_WAITALL) {
                // On a machine that does nothing at all for so long.
                Err(libc::EAGAIN) => {}
                seen => break seen.expect("octets").len(),
            }
        };
        assert!((1..many).contains(&seen), "{seen} octets");
    });
}

/// C66, C108: octets before a reset are read first; then the error comes once and without a signal, then EPIPE with one.
#[test]
fn a_reset() {
    carried("streams::a_reset", || {
        hold_signals();
        let number = socket(libc::SOCK_STREAM);
        assert_eq!(connect(number, RESET), Ok(0));
        assert_eq!(write(number, b"x"), Err(libc::ECONNRESET));
        assert!(!was_signalled());
        assert_eq!(write(number, b"x"), Err(libc::EPIPE));
        assert!(was_signalled());
        assert_eq!(recv(number, 9, 0), Ok(b"last".to_vec()));
        assert_eq!(recv(number, 9, 0), Ok(vec![]));
        let number = socket(libc::SOCK_STREAM);
        assert_eq!(connect(number, RESET), Ok(0));
        assert_eq!(recv(number, 9, 0), Ok(b"last".to_vec()));
        assert_eq!(recv(number, 9, 0), Err(libc::ECONNRESET));
        assert_eq!(recv(number, 9, 0), Ok(vec![]));
        assert_eq!(option(number, SOL_SOCKET, libc::SO_ERROR), Ok(0));
        // What came after the end is EPIPE, and that has its signal always.
        let number = socket(libc::SOCK_STREAM);
        assert_eq!(connect(number, ENDED), Ok(0));
        assert_eq!(write(number, b"x"), Err(libc::EPIPE));
        assert!(was_signalled());
        // Who reads has the end that came before it.
        let number = socket(libc::SOCK_STREAM);
        assert_eq!(connect(number, ENDED), Ok(0));
        assert_eq!(recv(number, 9, 0), Ok(vec![]));
    });
}

/// C66, C108: a read that waits for more than came before a reset returns that, and the next one the error: never an end that there was not.
#[test]
fn a_reset_while_more_is_waited_for() {
    use libc::MSG_WAITALL;
    carried("streams::a_reset_while_more_is_waited_for", || {
        let reset = || {
            let number = socket(libc::SOCK_STREAM);
            assert_eq!(connect(number, RESET), Ok(0));
            number
        };
        let last = Ok(b"last".to_vec());
        for again in [0, MSG_WAITALL, MSG_TRUNC, MSG_PEEK, MSG_PEEK | MSG_WAITALL] {
            let number = reset();
            assert_eq!(recv(number, 9, MSG_WAITALL), last);
            assert_eq!(recv(number, 0, 0), Ok(vec![]));
            assert_eq!(recv(number, 9, again), Err(libc::ECONNRESET), "{again:#x}");
            assert_eq!(recv(number, 9, again), Ok(vec![]));
        }
        let mut place = [0u8; 9];
        let at: *mut libc::c_void = place.as_mut_ptr().cast();
        let mut piece = libc::iovec { iov_base: at, iov_len: 9 };
        let mut message: libc::msghdr = unsafe { std::mem::zeroed() };
        (message.msg_iov, message.msg_iovlen) = (&raw mut piece, 1);
        let mut readers: [(&str, &mut dyn FnMut(c_int) -> isize); 3] = [
            ("read", &mut |number| unsafe { libc::read(number, at, 9) }),
            ("readv", &mut |number| unsafe { libc::readv(number, &raw const piece, 1) }),
            ("recvmsg", &mut |number| unsafe { libc::recvmsg(number, &raw mut message, 0) }),
        ];
        for (name, reader) in &mut readers {
            let number = reset();
            assert_eq!(set_option(number, SOL_SOCKET, libc::SO_RCVLOWAT, &9), Ok(0));
            assert_eq!(recv(number, 9, 0), last);
            assert_eq!(length(reader(number)), Err(libc::ECONNRESET), "{name}");
            assert_eq!(length(reader(number)), Ok(0), "{name}");
        }
        let number = reset();
        assert_eq!(length(unsafe { libc::recv(number, ptr::null_mut(), 9, MSG_TRUNC | MSG_WAITALL) }), Ok(4));
        assert_eq!(recv(number, 9, 0), Err(libc::ECONNRESET));
        assert_eq!(option(number, SOL_SOCKET, libc::SO_ERROR), Ok(0));
    });
}

/// C66, C108: a writer that waits for room hears the connection's error, and hears it once.
#[test]
fn lost_while_writing() {
    carried("streams::lost_while_writing", || {
        hold_signals();
        let number = socket(libc::SOCK_STREAM);
        assert_eq!(connect(number, LOST), Ok(0));
        while send(number, &[0; 4096], MSG_DONTWAIT).is_ok() {}
        assert_eq!(send(number, &[0; 4096], 0), Err(libc::ETIMEDOUT));
        assert!(!was_signalled());
        assert_eq!(send(number, b"x", 0), Err(libc::EPIPE));
        assert!(was_signalled());
        assert_eq!(recv(number, 9, 0), Ok(vec![]));
    });
}

/// Places that lead nowhere are EFAULT, as in the kernel.
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

/// C36: a connection that is refused while nobody waits tells its error once, by SO_ERROR or by reading.
#[test]
fn refused_while_nobody_waits() {
    carried("streams::refused_while_nobody_waits", || {
        for by_option in [true, false] {
            let number = socket(libc::SOCK_STREAM | libc::SOCK_NONBLOCK);
            assert_eq!(connect(number, REFUSED), Err(libc::EINPROGRESS));
            if by_option {
                assert_eq!(option(number, SOL_SOCKET, libc::SO_ERROR), Ok(libc::ECONNREFUSED));
                assert_eq!(recv(number, 1, 0), Ok(vec![]));
            } else {
                assert_eq!(recv(number, 1, 0), Err(libc::ECONNREFUSED));
            }
            assert_eq!(option(number, SOL_SOCKET, libc::SO_ERROR), Ok(0));
        }
    });
}

/// A thread is cancelled while it waits in `connect` (pthreads(7)), and its call is interrupted.
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
    /// The test's own address, which it never returns unless it was not cancelled.
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
            // It may not have come to the wait yet, and is cancelled there.
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
        // Again and again, since the first may come before the wait.
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

/// C33, C39: a listener is read by `accept` alone, and a connection has its options.
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

/// C55, C39: SO_LINGER makes `close` ask, of a copy and of a connection that was accepted, too; without it nothing is asked.
#[test]
fn close_that_lingers() {
    let asked = carried("streams::close_that_lingers", || unsafe {
        let linger = libc::linger { l_onoff: 1, l_linger: 3 };
        let number = socket(libc::SOCK_STREAM);
        assert_eq!(connect(number, HELLO), Ok(0));
        assert_eq!(set_option(number, SOL_SOCKET, libc::SO_LINGER, &linger), Ok(0));
        let copy = libc::dup(number);
        assert_eq!((libc::close(number), libc::close(copy)), (0, 0));
        assert_eq!(of(libc::close(copy)), Err(libc::EBADF));
        let listener = socket(libc::SOCK_STREAM);
        assert_eq!(set_option(listener, SOL_SOCKET, libc::SO_LINGER, &linger), Ok(0));
        assert_eq!(libc::listen(listener, 1), 0);
        let accepted = libc::accept(listener, ptr::null_mut(), ptr::null_mut());
        assert_eq!(libc::close(accepted), 0);
        let without = socket(libc::SOCK_STREAM);
        assert_eq!((connect(without, HELLO), libc::close(without)), (Ok(0), 0));
        // Another file in its place closes it, too, unless that is itself or none.
        let files: [&dyn Fn(c_int, c_int) -> c_int; 2] =
            [&|file, number| libc::dup2(file, number), &|file, number| libc::dup3(file, number, 0)];
        for replace in files {
            let number = socket(libc::SOCK_STREAM);
            assert_eq!(connect(number, HELLO), Ok(0));
            assert_eq!(set_option(number, SOL_SOCKET, libc::SO_LINGER, &linger), Ok(0));
            replace(number, number);
            assert_eq!(of(replace(-1, number)), Err(libc::EBADF));
            assert_eq!(recv(number, 9, 0), Ok(b"hello".to_vec()));
            let file = File::open("/dev/null").expect("it is there");
            assert_eq!(replace(file.as_raw_fd(), number), number);
            assert_eq!(libc::close(number), 0);
        }
    });
    let closed = asked.iter().filter(|request| matches!(request, Request::Closed(_))).count();
    assert_eq!(closed, 5, "{asked:?}");
}

/// C39: options are the agent's; those that concern waiting and reading are the descriptor's as well.
#[test]
fn options() {
    carried("streams::options", || {
        let number = socket(libc::SOCK_STREAM);
        assert_eq!(connect(number, HELLO), Ok(0));
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

/// A number that has become a file behind the library's back is a file.
#[test]
fn numbers_that_become_files() {
    carried("streams::numbers_that_become_files", || unsafe {
        let number = socket(libc::SOCK_STREAM);
        assert_eq!(connect(number, RESET), Ok(0));
        // As `fclose` does it, without `close`.
        libc::syscall(libc::SYS_close, number);
        let path = format!("{}/library-test-{}", std::env::temp_dir().display(), libc::getpid());
        let mut file = File::create(&path).expect("a file");
        assert_eq!(file.as_raw_fd(), number);
        file.write_all(b"octets").expect("room");
        drop(file);
        assert_eq!(std::fs::read(&path).expect("it is there"), b"octets");
        std::fs::remove_file(path).expect("it is there");
    });
}

/// C50: a child after `vfork` has its parent's memory and numbers of its own: what it makes of one is nothing to its parent's socket.
#[test]
fn a_child_with_the_same_memory() {
    extern "C" fn child(number: *mut libc::c_void) -> c_int {
        let number = number as c_int;
        let mut pipe = [0; 2];
        unsafe {
            let is_done = libc::pipe(pipe.as_mut_ptr()) == 0
                && libc::dup2(pipe[1], number) == number
                && write(number, b"x") == Ok(1)
                && libc::close(number) == 0
                && libc::socket(libc::AF_UNIX, libc::SOCK_STREAM, 0) == number;
            libc::_exit(c_int::from(!is_done));
        }
    }
    carried("streams::a_child_with_the_same_memory", || unsafe {
        let number = socket(libc::SOCK_STREAM);
        assert_eq!(connect(number, HELLO), Ok(0));
        let mut stack = vec![0u128; 1 << 16];
        let flags = libc::CLONE_VM | libc::CLONE_VFORK | libc::SIGCHLD;
        let top = stack.as_mut_ptr().add(stack.len()).cast();
        let child = libc::clone(child, top, flags, number as *mut libc::c_void);
        let mut status = -1;
        assert_eq!((libc::waitpid(child, &raw mut status, 0), status), (child, 0));
        let (mut name, mut room) = ([0u8; 16], 16);
        assert_eq!(libc::getpeername(number, name.as_mut_ptr().cast(), &raw mut room), 0);
        assert_eq!((room, &name[..]), (16, &at(HELLO)[..]));
    });
}

/// C50: a descriptor is the same socket in a child, under another number, and after it was passed to another process; a file that was passed is none.
#[test]
fn copies_and_children() {
    carried("streams::copies_and_children", || unsafe {
        let number = socket(libc::SOCK_STREAM);
        assert_eq!(connect(number, RESET), Ok(0));
        let child = libc::fork();
        if child == 0 {
            let copy = libc::fcntl(number, libc::F_DUPFD, 200);
            let read = recv(copy, 9, 0) == Ok(b"last".to_vec()) && recv(copy, 9, 0) == Err(libc::ECONNRESET);
            libc::_exit(c_int::from(!read));
        }
        let mut status = -1;
        libc::waitpid(child, &raw mut status, 0);
        assert_eq!(status, 0);
        let file = File::open("/dev/null").expect("it is there").into_raw_fd();
        assert_eq!(recv(number, 9, 0), Ok(vec![]));
        assert_eq!(libc::dup2(file, number), number);
        assert_eq!(write(number, b"x"), Err(libc::EBADF));
        drop(File::from_raw_fd(file));
    });
}
