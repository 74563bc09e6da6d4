//! How streams end: resets, failures, and a `close` that lingers.

use crate::agent::{ENDED, HELLO, LOST, REFUSED, RESET};
use crate::program::{
    carried, connect, connected, hold_signals, length, of, option, recv, send, set_option, socket,
    was_signalled, write,
};
use libc::{MSG_DONTWAIT, MSG_PEEK, MSG_TRUNC, SOL_SOCKET, c_int};
use resoa_calls::Request;
use std::fs::File;
use std::os::fd::AsRawFd;
use std::ptr;

/// C66, C108: data before a reset is read first. Then the error is reported once, without a signal,
/// and after it EPIPE with a signal.
#[test]
fn a_reset() {
    carried("ends::a_reset", || {
        hold_signals();
        let number = connected(RESET);
        assert_eq!(write(number, b"x"), Err(libc::ECONNRESET));
        assert!(!was_signalled());
        assert_eq!(write(number, b"x"), Err(libc::EPIPE));
        assert!(was_signalled());
        assert_eq!(recv(number, 9, 0), Ok(b"last".to_vec()));
        assert_eq!(recv(number, 9, 0), Ok(vec![]));
        let number = connected(RESET);
        assert_eq!(recv(number, 9, 0), Ok(b"last".to_vec()));
        assert_eq!(recv(number, 9, 0), Err(libc::ECONNRESET));
        assert_eq!(recv(number, 9, 0), Ok(vec![]));
        assert_eq!(option(number, SOL_SOCKET, libc::SO_ERROR), Ok(0));
        // A reset after the end of stream is EPIPE, which always has its signal.
        let number = connected(ENDED);
        assert_eq!(write(number, b"x"), Err(libc::EPIPE));
        assert!(was_signalled());
        // A reader gets the end that came before the reset.
        let number = connected(ENDED);
        assert_eq!(recv(number, 9, 0), Ok(vec![]));
    });
}

/// C66, C108: a read that waits for more data than came before a reset returns that data, and the
/// next read returns the error, never a false end of stream.
#[test]
fn a_reset_while_more_is_waited_for() {
    use libc::MSG_WAITALL;
    carried("ends::a_reset_while_more_is_waited_for", || {
        let reset = || connected(RESET);
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

/// C66, C108: a writer that waits for room gets the connection's error, once.
#[test]
fn lost_while_writing() {
    carried("ends::lost_while_writing", || {
        hold_signals();
        let number = connected(LOST);
        while send(number, &[0; 4096], MSG_DONTWAIT).is_ok() {}
        assert_eq!(send(number, &[0; 4096], 0), Err(libc::ETIMEDOUT));
        assert!(!was_signalled());
        assert_eq!(send(number, b"x", 0), Err(libc::EPIPE));
        assert!(was_signalled());
        assert_eq!(recv(number, 9, 0), Ok(vec![]));
    });
}

/// C36: a non-blocking connection that is refused reports its error once, by SO_ERROR or by a read.
#[test]
fn refused_while_nobody_waits() {
    carried("ends::refused_while_nobody_waits", || {
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

/// C55, C39: with SO_LINGER, `close` sends a request, also for a copy and for an accepted
/// connection. Without it, `close` sends none.
#[test]
fn close_that_lingers() {
    let asked = carried("ends::close_that_lingers", || unsafe {
        let linger = libc::linger { l_onoff: 1, l_linger: 3 };
        let number = connected(HELLO);
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
        // Replacing the descriptor by another file closes it, too. Replacing it by itself or by no
        // file does not.
        let files: [&dyn Fn(c_int, c_int) -> c_int; 2] =
            [&|file, number| libc::dup2(file, number), &|file, number| libc::dup3(file, number, 0)];
        for replace in files {
            let number = connected(HELLO);
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
