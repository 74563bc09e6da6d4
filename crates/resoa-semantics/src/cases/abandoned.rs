//! Sockets that are closed while they connect. The far host is so close that the stack has its
//! answer when `connect` returns. Natively, too, the program does not know it yet.

use super::cases;
use crate::near::Near;
use crate::sys;

cases! {
    "C37 C52" Both: closed_at_once, closed_lingering, closed_by_exit;
    "C37 C51" Both: reset_at_once;
    "C37" Both: silent_lingering, silent_reset;
}

/// Connects without waiting, ends the socket by `end`, and records the data that the far host
/// received. Repeats this, because it is a race whether an agent knows of the connection by then.
fn abandoned(n: &mut Near, linger: Option<i32>, end: fn(&mut Near, i32)) {
    let (listener, address) = n.far.listen(n.family, 8);
    for _ in 0..8 {
        let fd = n.nonblocking();
        if let Some(seconds) = linger {
            sys::set_linger(fd, true, seconds);
        }
        n.say("connect", sys::connect(fd, address));
        end(n, fd);
        let far = n.far.accept(listener);
        n.hear("recv", &format!("recv {} 10", far.0));
    }
}

fn close(n: &mut Near, fd: i32) {
    n.say("close", sys::close(fd));
}

fn closed_at_once(n: &mut Near) {
    abandoned(n, None, close);
}

fn closed_lingering(n: &mut Near) {
    abandoned(n, Some(5), close);
}

fn reset_at_once(n: &mut Near) {
    abandoned(n, Some(0), close);
}

/// The file descriptor is closed with the only process that has it.
fn closed_by_exit(n: &mut Near) {
    abandoned(n, None, |_, fd| {
        // SAFETY: the child makes only one call.
        let child = unsafe { libc::fork() };
        if child == 0 {
            // SAFETY: the child uses nothing of this process any more.
            unsafe { libc::_exit(0) };
        }
        sys::close(fd);
        sys::call!(waitpid(child, std::ptr::null_mut(), 0));
    });
}

/// Without an answer there is nothing to linger for and no connection to reset.
fn silent(n: &mut Near, seconds: i32) {
    let (to, fd) = (n.elsewhere(crate::worlds::SILENT), n.nonblocking());
    sys::set_linger(fd, true, seconds);
    n.say("connect", sys::connect(fd, to));
    let begun = std::time::Instant::now();
    close(n, fd);
    n.say("at once", begun.elapsed().as_secs() < 5);
}

fn silent_lingering(n: &mut Near) {
    silent(n, 20);
}

fn silent_reset(n: &mut Near) {
    silent(n, 0);
}
