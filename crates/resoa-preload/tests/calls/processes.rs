//! Processes: what happens to descriptors across `fork`, `vfork`, `close` and confinement.

use crate::agent::{HELLO, RESET};
use crate::program::{
    at, carried, connected, hold_signals, length, of, recv, set_option, was_signalled, write,
};
use libc::{SOL_SOCKET, c_int};
use std::fs::File;
use std::io::Write as _;
use std::os::fd::{AsRawFd, FromRawFd, IntoRawFd};

/// C50: a program whose own filter kills it at any socket call can still read, write and close, on
/// any of its descriptors. (sshd installs such a filter before it reads from an unauthenticated
/// client.)
#[test]
fn a_program_that_confines_itself() {
    carried("processes::a_program_that_confines_itself", || unsafe {
        hold_signals();
        let [number, over] = [HELLO, RESET].map(connected);
        // A descriptor that has no hint yet.
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
        // The cause of the reset is no longer asked for.
        assert_eq!(length(libc::read(over, octets.as_mut_ptr().cast(), 8)), Ok(4));
        assert_eq!(write(over, b"x"), Err(libc::EPIPE));
        assert!(was_signalled());
        assert_eq!(of(libc::shutdown(number, libc::SHUT_RDWR)), Ok(0));
        assert_eq!((of(libc::close(number)), of(libc::close(pipe[0]))), (Ok(0), Ok(0)));
    });
}

/// A number that became a file unnoticed is a file.
#[test]
fn numbers_that_become_files() {
    carried("processes::numbers_that_become_files", || unsafe {
        let number = connected(RESET);
        // As `fclose` does, without calling `close`.
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

/// C50: a child after `vfork` shares its parent's memory but has numbers of its own. Its changes to
/// a number do not affect the parent's socket.
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
    carried("processes::a_child_with_the_same_memory", || unsafe {
        let number = connected(HELLO);
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

/// C50: a descriptor is the same socket in a child and under another number. A file that replaces
/// it is no socket.
#[test]
fn copies_and_children() {
    carried("processes::copies_and_children", || unsafe {
        let number = connected(RESET);
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
