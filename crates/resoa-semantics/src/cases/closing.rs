//! `close` and `shutdown`: data at the far host, and the results of later calls.

use super::cases;
use crate::near::{ALL, Near};
use crate::sys;
use std::time::Instant;

cases! {
    "C51 C52" Both: clean, unread, unread_and_answered, unread_there, after_much_data, twice;
    "C63" Both: half_here, half_there, half_there_then_here, both_halves, half_with_data_waiting;
    "C64" Both: reading_half, reading_half_then_data;
    "C63" Both: shutdown_twice, shutdown_fresh, shutdown_no_half, shutdown_bound;
    "C54" Both: data_after_close, data_after_shutdown_of_both;
    "C51 C55" Both: linger_zero, linger_zero_with_data, linger_zero_shutdown, linger_done, linger_expired, linger_nonblocking;
    "C56 C79" Both: linger_exit, killed, killed_with_unread, ended_with_data;
    "C65" Both: both_at_once;
    "C66" Both: write_after_shutdown, read_after_end;
}

fn clean(n: &mut Near) {
    let (fd, far) = n.connected();
    n.say("close", sys::close(fd));
    n.hear("recv", &format!("recv {} 10", far.0));
    n.hear("mask", &format!("mask {}", far.0));
}

/// Closing a socket with unread data sends a reset.
fn unread(n: &mut Near) {
    let (fd, far) = n.connected();
    n.hear("send", &format!("send {} hello", far.0));
    n.until("poll", fd, libc::POLLIN);
    n.say("close", sys::close(fd));
    n.hear("recv", &format!("recv {} 10", far.0));
}

/// Data sent before the reset arrives before it: a server may answer a request that it has not read
/// completely.
fn unread_and_answered(n: &mut Near) {
    for _ in 0..5 {
        let (fd, far) = n.connected();
        n.hear("send", &format!("send {} question", far.0));
        n.until("poll", fd, libc::POLLIN);
        n.say("send", sys::send(fd, b"answer", 0));
        n.say("close", sys::close(fd));
        n.hear("recv", &format!("recv {} 20", far.0));
        n.hear("recv", &format!("recv {} 20", far.0));
    }
}

fn unread_there(n: &mut Near) {
    let (fd, far) = n.connected();
    n.say("send", sys::send(fd, b"hello", 0));
    Near::settle();
    n.hear("close", &format!("close {}", far.0));
    n.until("poll", fd, libc::POLLIN);
    n.receive("recv", fd, 10, 0);
    n.receive("recv again", fd, 10, 0);
}

fn after_much_data(n: &mut Near) {
    let (fd, far) = n.connected();
    n.far.start("sleep 200");
    n.far.start(&format!("drain {}", far.0));
    let sent = crate::far::flood(fd, 3_000_000, 0);
    n.say("sent", sent);
    n.say("close", sys::close(fd));
    n.far.finish();
    let drained = n.far.finish();
    n.say("far", drained);
}

fn twice(n: &mut Near) {
    let (fd, _) = n.connected();
    n.say("close", sys::close(fd));
    n.say("close again", sys::close(fd));
    n.receive("recv", fd, 10, 0);
    n.say("send", sys::send(fd, b"x", 0));
    n.mask("poll", fd);
    n.say("shutdown", sys::shutdown(fd, libc::SHUT_WR));
    n.name("getsockname", sys::getsockname(fd), 0);
}

fn half_here(n: &mut Near) {
    let (fd, far) = n.connected();
    n.say("send", sys::send(fd, b"question", 0));
    n.say("shutdown", sys::shutdown(fd, libc::SHUT_WR));
    n.mask("poll", fd);
    n.hear("recv", &format!("recv {} 20", far.0));
    n.hear("recv", &format!("recv {} 20", far.0));
    n.hear("send", &format!("send {} answer", far.0));
    n.receive("recv", fd, 20, 0);
    n.hear("close", &format!("close {}", far.0));
    n.receive("recv", fd, 20, 0);
    n.until("poll after", fd, libc::POLLHUP);
}

fn half_there(n: &mut Near) {
    let (fd, far) = n.connected();
    n.hear("send", &format!("send {} question", far.0));
    n.hear("shutdown", &format!("shutdown {} 1", far.0));
    n.until("poll", fd, libc::POLLRDHUP);
    n.receive("recv", fd, 20, 0);
    n.receive("recv", fd, 20, 0);
    n.mask("poll after", fd);
    n.say("send", sys::send(fd, b"answer", 0));
    n.hear("recv", &format!("recv {} 20", far.0));
    n.say("close", sys::close(fd));
    n.hear("recv", &format!("recv {} 20", far.0));
}

fn half_there_then_here(n: &mut Near) {
    let (fd, far) = n.connected();
    n.hear("shutdown", &format!("shutdown {} 1", far.0));
    n.until("poll", fd, libc::POLLRDHUP);
    n.say("shutdown", sys::shutdown(fd, libc::SHUT_WR));
    n.until("poll after", fd, libc::POLLHUP);
    n.receive("recv", fd, 20, 0);
    n.say("send", sys::send(fd, b"x", 0));
    n.signals("signals", &[libc::SIGPIPE]);
    n.hear("recv", &format!("recv {} 20", far.0));
    n.pending_error("SO_ERROR", fd);
}

fn both_halves(n: &mut Near) {
    let (fd, far) = n.connected();
    n.say("shutdown", sys::shutdown(fd, libc::SHUT_RDWR));
    n.mask("poll", fd);
    n.receive("recv", fd, 20, 0);
    n.say("send", sys::send(fd, b"x", 0));
    n.signals("signals", &[libc::SIGPIPE]);
    n.hear("recv", &format!("recv {} 20", far.0));
}

fn half_with_data_waiting(n: &mut Near) {
    let (fd, far) = n.connected();
    n.hear("send", &format!("send {} early", far.0));
    n.until("poll", fd, libc::POLLIN);
    n.say("shutdown", sys::shutdown(fd, libc::SHUT_WR));
    n.hear("recv", &format!("recv {} 20", far.0));
    n.receive("recv", fd, 20, 0);
}

fn reading_half(n: &mut Near) {
    let (fd, far) = n.connected();
    n.say("shutdown", sys::shutdown(fd, libc::SHUT_RD));
    n.mask("poll", fd);
    n.receive("recv", fd, 20, 0);
    n.say("send", sys::send(fd, b"hello", 0));
    n.hear("recv", &format!("recv {} 20", far.0));
    n.hear("mask", &format!("mask {}", far.0));
}

/// On Linux, data that arrives later can be read, and after it the end is reported again.
fn reading_half_then_data(n: &mut Near) {
    let (fd, far) = n.connected();
    n.say("shutdown", sys::shutdown(fd, libc::SHUT_RD));
    n.hear("send", &format!("send {} late", far.0));
    Near::settle();
    n.mask("poll", fd);
    n.receive("recv", fd, 20, 0);
    n.receive("recv", fd, 20, 0);
    n.hear("send", &format!("send {} later", far.0));
}

fn shutdown_twice(n: &mut Near) {
    let (fd, far) = n.connected();
    n.say("shutdown", sys::shutdown(fd, libc::SHUT_WR));
    n.say("shutdown again", sys::shutdown(fd, libc::SHUT_WR));
    n.say("shutdown of both", sys::shutdown(fd, libc::SHUT_RDWR));
    n.hear("close", &format!("close {}", far.0));
    n.until("poll", fd, libc::POLLHUP);
    n.say("shutdown after the end", sys::shutdown(fd, libc::SHUT_RDWR));
}

fn shutdown_fresh(n: &mut Near) {
    let fd = n.stream();
    for how in [libc::SHUT_RD, libc::SHUT_WR, libc::SHUT_RDWR] {
        n.say("shutdown", sys::shutdown(fd, how));
    }
    n.mask("poll", fd);
}

fn shutdown_bound(n: &mut Near) {
    let fd = n.stream();
    n.say("bind", sys::bind(fd, n.any(0)));
    n.say("shutdown", sys::shutdown(fd, libc::SHUT_WR));
    n.say("listen", sys::listen(fd, 1));
}

fn shutdown_no_half(n: &mut Near) {
    let (fd, _) = n.connected();
    n.say("shutdown", sys::shutdown(fd, 3));
    n.say("shutdown", sys::shutdown(fd, -1));
    n.mask("poll", fd);
}

fn data_after_close(n: &mut Near) {
    let (fd, far) = n.connected();
    n.say("close", sys::close(fd));
    n.hear("recv", &format!("recv {} 20", far.0));
    n.hear("send", &format!("send {} x", far.0));
    Near::settle();
    n.hear("send", &format!("send {} x", far.0));
}

fn data_after_shutdown_of_both(n: &mut Near) {
    let (fd, far) = n.connected();
    n.say("shutdown", sys::shutdown(fd, libc::SHUT_RDWR));
    n.hear("recv", &format!("recv {} 20", far.0));
    n.hear("send", &format!("send {} x", far.0));
    Near::settle();
    n.hear("send", &format!("send {} x", far.0));
    n.mask("poll", fd);
}

fn linger_zero(n: &mut Near) {
    let (fd, far) = n.connected();
    n.say("SO_LINGER", sys::set_linger(fd, true, 0));
    n.say("close", sys::close(fd));
    n.hear("recv", &format!("recv {} 20", far.0));
}

/// As [`unread_and_answered`].
fn linger_zero_with_data(n: &mut Near) {
    for _ in 0..5 {
        let (fd, far) = n.connected();
        n.say("SO_LINGER", sys::set_linger(fd, true, 0));
        n.say("send", sys::send(fd, b"last words", 0));
        n.say("close", sys::close(fd));
        n.hear("recv", &format!("recv {} 20", far.0));
        n.hear("recv", &format!("recv {} 20", far.0));
    }
}

fn linger_zero_shutdown(n: &mut Near) {
    let (fd, far) = n.connected();
    n.say("SO_LINGER", sys::set_linger(fd, true, 0));
    n.say("shutdown", sys::shutdown(fd, libc::SHUT_WR));
    n.hear("recv", &format!("recv {} 20", far.0));
    n.say("close", sys::close(fd));
    Near::settle();
    n.hear("mask", &format!("mask {}", far.0));
}

fn linger_done(n: &mut Near) {
    let (fd, far) = n.connected();
    n.say("SO_LINGER", sys::set_linger(fd, true, 5));
    n.say("send", sys::send(fd, b"hello", 0));
    let begin = Instant::now();
    n.say("close", sys::close(fd));
    n.say("before its time", begin.elapsed().as_millis() < 2000);
    n.hear("recv", &format!("recv {} 20", far.0));
    n.hear("recv", &format!("recv {} 20", far.0));
}

fn linger_expired(n: &mut Near) {
    let (fd, far) = n.connected();
    crate::near::stuff(fd);
    n.say("SO_LINGER", sys::set_linger(fd, true, 1));
    let begin = Instant::now();
    n.say("close", sys::close(fd));
    n.took("it took", begin, 1000);
    n.hear("mask", &format!("mask {}", far.0));
}

fn linger_nonblocking(n: &mut Near) {
    let (fd, _far) = n.connected();
    crate::near::stuff(fd);
    n.say("F_SETFL", sys::fcntl(fd, libc::F_SETFL, libc::O_NONBLOCK));
    n.say("SO_LINGER", sys::set_linger(fd, true, 1));
    let begin = Instant::now();
    n.say("close", sys::close(fd));
    n.took("it took", begin, 1000);
}

/// The end of a process does not linger.
fn linger_exit(n: &mut Near) {
    let (fd, _far) = n.connected();
    crate::near::stuff(fd);
    n.say("SO_LINGER", sys::set_linger(fd, true, 8));
    let begin = Instant::now();
    let child = super::processes::fork_holding(fd);
    sys::close(fd);
    n.say("close of one of two does not wait", begin.elapsed().as_millis() < 2000);
    child.kill();
    let (fd, _far) = n.connected();
    crate::near::stuff(fd);
    sys::set_linger(fd, true, 8);
    let child = super::processes::fork_holding(fd);
    let moved = sys::fcntl(fd, libc::F_GETFD, 0);
    n.say("the socket is open", moved.0.is_ok());
    super::processes::forget(fd);
    let begin = Instant::now();
    child.kill();
    n.say("kill does not wait", begin.elapsed().as_millis() < 2000);
}

fn killed(n: &mut Near) {
    let (fd, far) = n.connected();
    let child = super::processes::fork_holding(fd);
    super::processes::forget(fd);
    n.hear("mask", &format!("mask {}", far.0));
    child.kill();
    n.hear("recv", &format!("recv {} 20", far.0));
}

fn killed_with_unread(n: &mut Near) {
    let (fd, far) = n.connected();
    n.hear("send", &format!("send {} hello", far.0));
    n.until("poll", fd, libc::POLLIN);
    let child = super::processes::fork_holding(fd);
    super::processes::forget(fd);
    child.kill();
    n.hear("recv", &format!("recv {} 20", far.0));
}

fn ended_with_data(n: &mut Near) {
    let (fd, far) = n.connected();
    let child = super::processes::fork(move || {
        let sent = crate::far::flood(fd, 100_000, 0);
        i32::from(sent != "100000 octets")
    });
    super::processes::forget(fd);
    n.say("exit", child.wait());
    n.hear("drain", &format!("drain {}", far.0));
}

fn both_at_once(n: &mut Near) {
    let (fd, far) = n.connected();
    n.far.start(&format!("shutdown {} 1", far.0));
    n.say("shutdown", sys::shutdown(fd, libc::SHUT_WR));
    n.far.finish();
    n.until("poll", fd, libc::POLLHUP);
    n.receive("recv", fd, 10, 0);
    n.hear("recv", &format!("recv {} 10", far.0));
    n.hear("mask", &format!("mask {}", far.0));
}

fn write_after_shutdown(n: &mut Near) {
    let (fd, _far) = n.connected();
    n.say("shutdown", sys::shutdown(fd, libc::SHUT_WR));
    n.say("write", sys::write(fd, b"x"));
    n.signals("signals", &[libc::SIGPIPE]);
    n.say("send", sys::send(fd, b"x", libc::MSG_NOSIGNAL));
    n.signals("signals", &[libc::SIGPIPE]);
    n.pending_error("SO_ERROR", fd);
}

fn read_after_end(n: &mut Near) {
    let (fd, far) = n.connected();
    n.hear("close", &format!("close {}", far.0));
    n.until("poll", fd, ALL & !libc::POLLOUT);
    for _ in 0..3 {
        n.receive("recv", fd, 10, 0);
    }
    n.say("send", sys::send(fd, b"x", 0));
    Near::settle();
    n.mask("poll", fd);
    n.say("send", sys::send(fd, b"x", 0));
    n.signals("signals", &[libc::SIGPIPE]);
    n.receive("recv", fd, 10, 0);
    n.pending_error("SO_ERROR", fd);
}
