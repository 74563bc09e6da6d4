//! Descriptors that exist by other ways than `socket` and `dup`, and changes of the table inside
//! the kernel. In these ways an interposer could lose track of a socket.

use super::processes::fork_holding;
use super::{call, cases};
use crate::near::Near;
use crate::sys;
use std::os::fd::{FromRawFd as _, OwnedFd};
use std::process::Command;

cases! {
    "C50" Both: over_another, in_a_range, by_another_process, of_a_thread, in_a_child_of_vfork;
}

/// `dup3` over a file, and over another socket.
fn over_another(n: &mut Near) {
    let (fd, far) = n.connected();
    let file = call!(open(c"/dev/null".as_ptr(), libc::O_RDWR)).descriptor();
    let fresh = n.stream();
    for over in [file, fresh] {
        n.say(
            "dup3",
            sys::Answer(call!(dup3(fd, over, libc::O_CLOEXEC)).0.map(|number| number - i64::from(over))),
        );
        n.say("getpeername", sys::getpeername(over).is_ok());
        n.say("send", sys::send(over, b"over", 0));
        n.hear("recv", &format!("recv {} 4", far.0));
    }
    n.say("file over it", call!(dup2(file, fresh)).0.is_ok());
    n.say("getpeername", sys::getpeername(file).is_ok());
    n.say("close", sys::close(fd));
    n.hear("send", &format!("send {} hello", far.0));
    n.receive("recv", file, 10, 0);
}

/// `close_range` ends a connection, and its number is reused by a file.
fn in_a_range(n: &mut Near) {
    let (fd, far) = n.connected();
    n.say("close_range", call!(close_range(fd as u32, fd as u32, 0)));
    n.hear("recv", &format!("recv {} 10", far.0));
    let file = call!(open(c"/dev/zero".as_ptr(), libc::O_RDONLY)).descriptor();
    n.say("the number again", file == fd);
    n.say("read", call!(read(file, [0_u8; 4].as_mut_ptr().cast(), 4)));
    n.say("getpeername", sys::getpeername(file).err().map_or("a name".into(), |error| error.to_string()));
}

/// `pidfd_getfd` of a child's socket.
fn by_another_process(n: &mut Near) {
    let (fd, far) = n.connected();
    let child = fork_holding(fd);
    let descriptor = call!(syscall(libc::SYS_pidfd_open, child.number(), 0)).descriptor();
    n.say("close", sys::close(fd));
    let taken = call!(syscall(libc::SYS_pidfd_getfd, descriptor, fd, 0));
    child.kill();
    n.say("pidfd_getfd", taken.0.is_ok());
    if taken.0.is_err() {
        return;
    }
    let taken = taken.descriptor();
    n.say("getpeername", sys::getpeername(taken).is_ok());
    n.say("send", sys::send(taken, b"taken", 0));
    n.hear("recv", &format!("recv {} 5", far.0));
    n.hear("send", &format!("send {} hello", far.0));
    n.receive("recv", taken, 10, 0);
    n.say("shutdown", sys::shutdown(taken, libc::SHUT_WR));
    n.hear("recv", &format!("recv {} 5", far.0));
}

/// A thread with a descriptor table of its own, in which the same number is another socket.
fn of_a_thread(n: &mut Near) {
    let ((fd, one), (spare, other)) = (n.connected(), n.connected());
    let said = std::thread::spawn(move || {
        let unshared = call!(unshare(libc::CLONE_FILES));
        let moved = call!(dup2(spare, fd)).0.is_ok();
        sys::send(fd, b"thread", 0);
        (unshared, moved, sys::getpeername(fd).is_ok(), sys::shutdown(fd, libc::SHUT_WR))
    });
    let (unshared, moved, is_named, shut) = said.join().expect("it does not panic");
    n.say("unshare", unshared);
    n.say("dup2", moved);
    n.say("getpeername", is_named);
    n.say("shutdown", shut);
    n.hear("recv of the thread's", &format!("recv {} 10", other.0));
    n.say("send", sys::send(fd, b"process", 0));
    n.hear("recv of the process's", &format!("recv {} 10", one.0));
    n.hear("recv of the thread's", &format!("recv {} 10", other.0));
    n.receive("recv", spare, 1, libc::MSG_DONTWAIT);
}

/// A child that shares its parent's memory until it executes another program. Before that, it moves
/// the socket to the number that the program expects.
fn in_a_child_of_vfork(n: &mut Near) {
    let (fd, far) = n.connected();
    let copy = || {
        let copy = call!(dup(fd)).descriptor();
        // SAFETY: the descriptor has no other owner.
        unsafe { OwnedFd::from_raw_fd(copy) }
    };
    // Without other actions between fork and exec, `spawn` uses vfork.
    let mut child = Command::new("cat").stdin(copy()).stdout(copy()).spawn().expect("it is everywhere");
    n.hear("send", &format!("send {} through", far.0));
    n.hear("recv", &format!("recv {} 7", far.0));
    n.say("send", sys::send(fd, b"!", 0));
    n.hear("recv", &format!("recv {} 1", far.0));
    n.hear("shutdown", &format!("shutdown {} {}", far.0, libc::SHUT_WR));
    n.say("cat", child.wait().is_ok_and(|status| status.success()));
    n.receive("recv", fd, 10, 0);
}
