//! One socket with several descriptors and processes: copies, children, `exec`, passing on.

use super::messages::{message, part};
use super::{call, cases};
use crate::near::{Near, received};
use crate::sys;
use std::process::{Command, Stdio};

cases! {
    "C50" Both: copy, copy_over, last_of_two, child_writes, child_reads, child_ends, after_exec, closed_by_exec, passed, passed_while_waiting, standard_input;
}

/// A child of `fork`.
pub struct Child(i32);

/// Forks a child that runs `work` and exits with its status.
pub fn fork(work: impl FnOnce() -> i32) -> Child {
    // SAFETY: a case has a single thread when it forks.
    match unsafe { libc::fork() } {
        0 => {
            let status = work();
            // SAFETY: ends the process, without the parent's destructors.
            unsafe { libc::_exit(status) }
        }
        pid => Child(pid),
    }
}

/// Forks a child that holds a descriptor until it is killed.
pub fn fork_holding(_fd: i32) -> Child {
    fork(|| {
        loop {
            std::thread::sleep(std::time::Duration::from_secs(1));
        }
    })
}

/// Closes a descriptor that a child still has.
pub fn forget(fd: i32) {
    sys::close(fd);
}

impl Child {
    /// Returns the process ID.
    pub fn number(&self) -> i32 {
        self.0
    }

    /// Waits for the child. Returns its status, or the negative number of the signal that ended it.
    pub fn wait(&self) -> i32 {
        let mut status = 0;
        call!(waitpid(self.0, &raw mut status, 0));
        if libc::WIFEXITED(status) { libc::WEXITSTATUS(status) } else { -libc::WTERMSIG(status) }
    }

    pub fn kill(&self) {
        call!(kill(self.0, libc::SIGKILL));
        self.wait();
    }
}

fn copy(n: &mut Near) {
    let (fd, far) = n.connected();
    let copy = call!(dup(fd)).descriptor();
    n.hear("send", &format!("send {} one-two", far.0));
    n.receive("recv", fd, 3, 0);
    n.receive("recv of the copy", copy, 10, 0);
    n.name("getpeername", sys::getpeername(copy), 0);
    n.say("option", sys::set(copy, libc::IPPROTO_TCP, libc::TCP_NODELAY, 1));
    n.say("is", sys::get(fd, libc::IPPROTO_TCP, libc::TCP_NODELAY));
}

fn copy_over(n: &mut Near) {
    let ((one, far_one), (two, far_two)) = (n.connected(), n.connected());
    n.say("dup2", call!(dup2(one, two)).0 == Ok(i64::from(two)));
    n.hear("recv", &format!("recv {} 10", far_two.0));
    n.say("send", sys::send(two, b"hello", 0));
    n.hear("recv", &format!("recv {} 10", far_one.0));
}

fn last_of_two(n: &mut Near) {
    let (fd, far) = n.connected();
    let copy = call!(dup(fd)).descriptor();
    n.say("close", sys::close(fd));
    n.say("send", sys::send(copy, b"hello", 0));
    n.hear("recv", &format!("recv {} 10", far.0));
    n.say("close", sys::close(copy));
    n.hear("recv", &format!("recv {} 10", far.0));
}

fn child_writes(n: &mut Near) {
    let (fd, far) = n.connected();
    let child = fork(move || i32::from(sys::send(fd, b"from the child", 0).count() != 14));
    n.say("exit", child.wait());
    n.say("send", sys::send(fd, b", from the parent", 0));
    Near::settle();
    n.hear("recv", &format!("recv {} 100", far.0));
}

fn child_reads(n: &mut Near) {
    let (fd, far) = n.connected();
    let child = fork(move || i32::from(received(fd, 3, 0) != "\"one\""));
    n.hear("send", &format!("send {} one", far.0));
    n.say("exit", child.wait());
    n.hear("send", &format!("send {} two", far.0));
    n.receive("recv", fd, 10, 0);
}

/// The connection ends when the last process has closed it.
fn child_ends(n: &mut Near) {
    let (fd, far) = n.connected();
    let child = fork_holding(fd);
    n.say("close", sys::close(fd));
    Near::settle();
    n.hear("mask", &format!("mask {}", far.0));
    child.kill();
    n.hear("recv", &format!("recv {} 10", far.0));
}

/// Returns a command that runs this program again and passes a connected socket to it.
fn other_program(word: &str, fd: i32) -> Command {
    let mut command = Command::new(std::env::current_exe().expect("this program"));
    command.args(["heir", word, &fd.to_string()]);
    command
}

/// Runs in the program of [`other_program`].
pub fn heir(word: &str, fd: i32) -> i32 {
    match word {
        "talk" => {
            let text = received(fd, 10, 0);
            let named = sys::getpeername(fd).is_ok();
            let option = sys::get(fd, libc::IPPROTO_TCP, libc::TCP_NODELAY);
            sys::send(fd, format!("{text} {named} {option}").as_bytes(), 0);
            0
        }
        _ => i32::from(sys::fcntl(fd, libc::F_GETFD, 0).0.is_ok()),
    }
}

fn after_exec(n: &mut Near) {
    let (fd, far) = n.connected();
    sys::set(fd, libc::IPPROTO_TCP, libc::TCP_NODELAY, 1);
    sys::fcntl(fd, libc::F_SETFD, 0);
    let mut child = other_program("talk", fd).spawn().expect("it starts");
    n.say("close", sys::close(fd));
    n.hear("send", &format!("send {} hello", far.0));
    n.hear("recv", &format!("recv {} 100", far.0));
    n.say("exit", child.wait().is_ok_and(|status| status.success()));
    n.hear("recv", &format!("recv {} 100", far.0));
}

fn closed_by_exec(n: &mut Near) {
    let (fd, _far) = n.connected();
    let status = other_program("look", fd).status().expect("it starts");
    n.say("open there", status.code().unwrap_or(-1));
}

fn standard_input(n: &mut Near) {
    use std::os::fd::{FromRawFd, OwnedFd};
    let (fd, far) = n.connected();
    // SAFETY: the descriptor has no other owner.
    let owned = unsafe { OwnedFd::from_raw_fd(fd) };
    let copy = owned.try_clone().expect("a descriptor");
    let mut child =
        Command::new("cat").stdin(Stdio::from(owned)).stdout(Stdio::from(copy)).spawn().expect("cat");
    n.hear("send", &format!("send {} through cat", far.0));
    n.hear("recv", &format!("recv {} 100", far.0));
    n.hear("shutdown", &format!("shutdown {} 1", far.0));
    n.say("exit", child.wait().is_ok_and(|status| status.success()));
    n.hear("recv", &format!("recv {} 100", far.0));
}

/// Passes a descriptor over an AF_UNIX pair.
fn pass(over: i32, fd: i32) -> sys::Answer {
    let mut octet = [b'x'];
    let mut parts = [part(&mut octet)];
    let mut message = message(&mut parts);
    let mut control = [0_u64; 4];
    message.msg_control = control.as_mut_ptr().cast();
    // SAFETY: the control buffer has room for a descriptor and is aligned.
    unsafe {
        message.msg_controllen = libc::CMSG_SPACE(4) as usize;
        let header = libc::CMSG_FIRSTHDR(&raw const message);
        (*header).cmsg_level = libc::SOL_SOCKET;
        (*header).cmsg_type = libc::SCM_RIGHTS;
        (*header).cmsg_len = libc::CMSG_LEN(4) as usize;
        libc::CMSG_DATA(header).cast::<i32>().write_unaligned(fd);
    }
    call!(sendmsg(over, &raw const message, 0))
}

/// Receives a descriptor that was passed.
fn take(over: i32) -> i32 {
    let mut octet = [0];
    let mut parts = [part(&mut octet)];
    let mut message = message(&mut parts);
    let mut control = [0_u64; 4];
    message.msg_control = control.as_mut_ptr().cast();
    message.msg_controllen = 32;
    let answer = call!(recvmsg(over, &raw mut message, 0));
    assert_eq!(answer.0, Ok(1), "recvmsg");
    // SAFETY: the byte came with one descriptor.
    unsafe { libc::CMSG_DATA(libc::CMSG_FIRSTHDR(&raw const message)).cast::<i32>().read_unaligned() }
}

fn passed(n: &mut Near) {
    let (fd, far) = n.connected();
    let [here, there] = sys::pair().expect("descriptors");
    let child = fork(move || {
        sys::close(fd);
        let fd = take(there);
        let text = received(fd, 10, 0);
        sys::send(fd, format!("{text} {}", sys::getpeername(fd).is_ok()).as_bytes(), 0);
        0
    });
    n.say("sendmsg", pass(here, fd));
    n.say("close", sys::close(fd));
    n.hear("send", &format!("send {} hello", far.0));
    n.hear("recv", &format!("recv {} 100", far.0));
    n.say("exit", child.wait());
    n.hear("recv", &format!("recv {} 100", far.0));
}

/// While it is being passed, the socket has no descriptor and stays open.
fn passed_while_waiting(n: &mut Near) {
    let (fd, far) = n.connected();
    let [here, there] = sys::pair().expect("descriptors");
    n.say("sendmsg", pass(here, fd));
    n.say("close", sys::close(fd));
    Near::settle();
    n.hear("mask", &format!("mask {}", far.0));
    let fd = take(there);
    n.say("send", sys::send(fd, b"still here", 0));
    n.hear("recv", &format!("recv {} 100", far.0));
}
