//! A reset by the far host and its effect on calls: first the data, then the error once, then the
//! end of the stream.

use super::cases;
use crate::near::{Near, received};
use crate::sys;

cases! {
    "C66 C108" Both: idle, told_by_recv, told_by_send, told_by_option, told_by_nobody, with_unread, while_reading, while_writing, while_polling;
    "C66" Both: without_signal, then_shutdown, then_connect, then_names, then_options, after_their_end, after_our_shutdown;
    "C66 C108" Both: with_unsent, edge, while_waiting_for_all, with_low_water, end_and_reset;
}

fn reset(n: &mut Near, far: crate::far::Handle) {
    let answer = n.far.ask(&format!("reset {}", far.0));
    assert_eq!(answer, "0", "far reset");
}

/// Resets the connection and waits until this host has received it.
fn reset_arrives(n: &mut Near, far: crate::far::Handle, fd: i32) {
    reset(n, far);
    n.until("poll", fd, libc::POLLERR);
}

/// Returns a stream that the far host has reset, and records the result of `poll`.
fn was_reset(n: &mut Near) -> i32 {
    let (fd, far) = n.connected();
    reset(n, far);
    n.until("poll", fd, libc::POLLIN);
    fd
}

fn idle(n: &mut Near) {
    let fd = was_reset(n);
    n.pending_error("SO_ERROR", fd);
    n.mask("poll after", fd);
    n.receive("recv", fd, 10, 0);
}

fn told_by_recv(n: &mut Near) {
    let fd = was_reset(n);
    n.receive("recv", fd, 10, 0);
    n.receive("recv again", fd, 10, 0);
    n.pending_error("SO_ERROR", fd);
    n.say("send", sys::send(fd, b"x", 0));
    n.signals("signals", &[libc::SIGPIPE]);
    n.mask("poll after", fd);
}

fn told_by_send(n: &mut Near) {
    let fd = was_reset(n);
    n.say("send", sys::send(fd, b"x", 0));
    n.signals("signals", &[libc::SIGPIPE]);
    n.say("send again", sys::send(fd, b"x", 0));
    n.signals("signals", &[libc::SIGPIPE]);
    n.receive("recv", fd, 10, 0);
}

fn told_by_option(n: &mut Near) {
    let fd = was_reset(n);
    n.pending_error("SO_ERROR", fd);
    n.pending_error("SO_ERROR again", fd);
    n.say("send", sys::send(fd, b"x", 0));
    n.signals("signals", &[libc::SIGPIPE]);
    n.receive("recv", fd, 10, 0);
}

fn told_by_nobody(n: &mut Near) {
    let fd = was_reset(n);
    n.say("write", sys::write(fd, b"x"));
    n.say("write again", sys::write(fd, b"x"));
    n.signals("signals", &[libc::SIGPIPE]);
    let mut room = [0; 10];
    n.say("read", sys::read(fd, &mut room));
}

fn with_unread(n: &mut Near) {
    let (fd, far) = n.connected();
    n.hear("send", &format!("send {} hello", far.0));
    n.until("poll", fd, libc::POLLIN);
    reset_arrives(n, far, fd);
    n.receive("recv", fd, 3, 0);
    n.receive("recv", fd, 10, 0);
    n.receive("recv", fd, 10, 0);
    n.receive("recv", fd, 10, 0);
}

fn while_reading(n: &mut Near) {
    let (fd, far) = n.connected();
    let reader = std::thread::spawn(move || received(fd, 10, 0));
    Near::settle();
    reset(n, far);
    n.say("recv", reader.join().expect("a text"));
    n.receive("recv again", fd, 10, 0);
}

fn while_writing(n: &mut Near) {
    let (fd, far) = n.connected();
    crate::near::stuff(fd);
    let writer = std::thread::spawn(move || sys::send(fd, &vec![b'x'; 8 << 20], libc::MSG_NOSIGNAL));
    Near::settle();
    reset(n, far);
    let answer = writer.join().expect("an answer");
    n.say("send", if answer.count() > 0 { "some".into() } else { answer.to_string() });
}

fn while_polling(n: &mut Near) {
    let (fd, far) = n.connected();
    let waiter = std::thread::spawn(move || sys::poll(fd, libc::POLLIN, 5000));
    Near::settle();
    reset(n, far);
    let (answer, events) = waiter.join().expect("an answer");
    n.say("poll", format!("{answer} {}", crate::names::mask(events)));
}

fn without_signal(n: &mut Near) {
    let fd = was_reset(n);
    n.say("send", sys::send(fd, b"x", libc::MSG_NOSIGNAL));
    n.say("send again", sys::send(fd, b"x", libc::MSG_NOSIGNAL));
    n.signals("signals", &[libc::SIGPIPE]);
}

fn then_shutdown(n: &mut Near) {
    let fd = was_reset(n);
    n.say("shutdown", sys::shutdown(fd, libc::SHUT_WR));
    n.pending_error("SO_ERROR", fd);
    n.say("close", sys::close(fd));
}

fn then_connect(n: &mut Near) {
    let fd = was_reset(n);
    let (_, address) = n.far.listen(n.family, 1);
    n.say("connect", sys::connect(fd, address));
    n.pending_error("SO_ERROR", fd);
    n.say("connect to nobody", sys::disconnect(fd));
    n.say("connect again", sys::connect(fd, address));
    n.mask("poll after", fd);
}

fn then_names(n: &mut Near) {
    let fd = was_reset(n);
    n.name("getpeername", sys::getpeername(fd), 0);
    n.name("getsockname", sys::getsockname(fd), 0);
}

fn then_options(n: &mut Near) {
    let fd = was_reset(n);
    n.say("TCP_NODELAY", sys::set(fd, libc::IPPROTO_TCP, libc::TCP_NODELAY, 1));
    n.say("TCP_NODELAY is", sys::get(fd, libc::IPPROTO_TCP, libc::TCP_NODELAY));
    n.say("SO_KEEPALIVE", sys::set(fd, libc::SOL_SOCKET, libc::SO_KEEPALIVE, 1));
    let state = sys::tcp_state(fd).map_or_else(|error| error.to_string(), str::to_owned);
    n.say("state", state);
}

/// The error of a reset after the far host's FIN is EPIPE.
fn after_their_end(n: &mut Near) {
    let (fd, far) = n.connected();
    n.hear("shutdown", &format!("shutdown {} 1", far.0));
    n.until("poll", fd, libc::POLLRDHUP);
    n.receive("recv", fd, 10, 0);
    reset_arrives(n, far, fd);
    n.pending_error("SO_ERROR", fd);
    n.receive("recv", fd, 10, 0);
    n.say("send", sys::send(fd, b"x", libc::MSG_NOSIGNAL));
}

/// The data that has arrived is returned, and the next call gets the error.
fn while_waiting_for_all(n: &mut Near) {
    let (fd, far) = n.connected();
    n.hear("send", &format!("send {} hello", far.0));
    n.until("poll", fd, libc::POLLIN);
    let reader = std::thread::spawn(move || received(fd, 10, libc::MSG_WAITALL));
    Near::settle();
    reset(n, far);
    n.say("recv", reader.join().expect("a text"));
    n.receive("recv again", fd, 10, 0);
    n.receive("recv at last", fd, 10, 0);
    n.pending_error("SO_ERROR", fd);
}

fn with_low_water(n: &mut Near) {
    let (fd, far) = n.connected();
    n.say("SO_RCVLOWAT", sys::set(fd, libc::SOL_SOCKET, libc::SO_RCVLOWAT, 10));
    n.hear("send", &format!("send {} hello", far.0));
    Near::settle();
    reset_arrives(n, far, fd);
    n.receive("recv", fd, 10, 0);
    n.receive("recv again", fd, 10, 0);
    n.receive("recv at last", fd, 10, 0);
}

/// A reader gets the FIN, and not the error of the reset after it.
fn end_and_reset(n: &mut Near) {
    let (fd, far) = n.connected();
    n.hear("shutdown", &format!("shutdown {} 1", far.0));
    n.until("poll", fd, libc::POLLRDHUP);
    reset_arrives(n, far, fd);
    n.receive("recv", fd, 10, 0);
    n.receive("recv again", fd, 10, 0);
    n.say("send", sys::send(fd, b"x", libc::MSG_NOSIGNAL));
}

fn after_our_shutdown(n: &mut Near) {
    let (fd, far) = n.connected();
    n.say("shutdown", sys::shutdown(fd, libc::SHUT_WR));
    n.hear("recv", &format!("recv {} 10", far.0));
    reset_arrives(n, far, fd);
    n.receive("recv", fd, 10, 0);
    n.receive("recv", fd, 10, 0);
}

fn with_unsent(n: &mut Near) {
    let (fd, far) = n.connected();
    crate::near::stuff(fd);
    n.mask("poll when full", fd);
    reset_arrives(n, far, fd);
    n.receive("recv", fd, 10, 0);
    n.receive("recv", fd, 10, 0);
}

fn edge(n: &mut Near) {
    let (fd, far) = n.connected();
    let epoll = sys::epoll(fd, (libc::EPOLLIN | libc::EPOLLRDHUP | libc::EPOLLET) as u32);
    n.say("nothing yet", sys::epoll_wait(epoll, 50).0);
    reset(n, far);
    let (answer, events) = sys::epoll_wait(epoll, 3000);
    n.say("epoll", format!("{answer} {}", crate::names::mask(events as i16)));
}
