//! Sockets passed over AF_UNIX: statements of unix(7) about SCM_RIGHTS.

use super::cases;
use crate::control::{self, Control, Received};
use crate::near::Near;
use crate::sys;

cases! {
    "C50" Both: several_at_once, fewer_than_there_are, no_room, closed_on_exec, looked_at, thrown_away, over_datagrams;
    "C50" Both: listener, fresh, connecting, datagrams, options_stay, end_with_one_left, over_itself;
    "C50" One: not_open, without_an_octet;
}

/// Passes file descriptors along with a byte.
fn give(over: i32, fds: &[i32]) -> sys::Answer {
    control::send(over, b"x", None, &[rights(fds)])
}

fn rights(fds: &[i32]) -> Control {
    let numbers: Vec<u8> = fds.iter().flat_map(|fd| fd.to_ne_bytes()).collect();
    Control::new(libc::SOL_SOCKET, libc::SCM_RIGHTS, &numbers)
}

/// Receives a message with `room` bytes for control messages. Returns it with the file descriptors.
fn take(over: i32, room: usize, flags: i32) -> (Received, Vec<i32>) {
    let received = control::receive(over, room, flags);
    let numbers = received.controls.iter().flat_map(|control| control.value.chunks_exact(4));
    let fds = numbers.map(|octets| i32::from_ne_bytes(octets.try_into().expect("four"))).collect();
    (received, fds)
}

fn say(n: &mut Near, what: &str, received: &Received, fds: &[i32]) {
    let cut = received.flags & libc::MSG_CTRUNC != 0;
    n.say(
        what,
        format!("{}, {} descriptors, cut {cut}, {} octets", received.answer, fds.len(), received.length),
    );
}

fn pair() -> [i32; 2] {
    sys::pair().expect("descriptors")
}

fn several_at_once(n: &mut Near) {
    let ((one, first), (two, second)) = (n.connected(), n.connected());
    let [here, there] = pair();
    n.say("sendmsg", give(here, &[one, two, one]));
    sys::close(one);
    sys::close(two);
    let (received, fds) = take(there, 64, 0);
    say(n, "recvmsg", &received, &fds);
    for (fd, text) in fds.iter().zip(["one", "two", "three"]) {
        n.say("send", sys::send(*fd, text.as_bytes(), 0));
    }
    for far in [first, second] {
        n.hear("recv", &format!("recv {} 3", far.0));
    }
}

/// Descriptors without room in the buffer are closed.
fn fewer_than_there_are(n: &mut Near) {
    let ((one, first), (two, second)) = (n.connected(), n.connected());
    let [here, there] = pair();
    n.say("sendmsg", give(here, &[one, two]));
    sys::close(one);
    sys::close(two);
    let (received, fds) = take(there, 20, 0);
    say(n, "recvmsg", &received, &fds);
    n.say("send", sys::send(fds[0], b"here", 0));
    n.hear("recv", &format!("recv {} 10", first.0));
    n.hear("recv of the other", &format!("recv {} 10", second.0));
}

fn no_room(n: &mut Near) {
    let (fd, far) = n.connected();
    let [here, there] = pair();
    n.say("sendmsg", give(here, &[fd]));
    sys::close(fd);
    let (received, fds) = take(there, 0, 0);
    say(n, "recvmsg", &received, &fds);
    n.hear("recv", &format!("recv {} 10", far.0));
}

fn closed_on_exec(n: &mut Near) {
    let (fd, _far) = n.connected();
    let [here, there] = pair();
    for flags in [0, libc::MSG_CMSG_CLOEXEC] {
        give(here, &[fd]);
        let (_, fds) = take(there, 64, flags);
        n.say("F_GETFD", sys::fcntl(fds[0], libc::F_GETFD, 0));
    }
}

/// Each peek installs a new file descriptor.
fn looked_at(n: &mut Near) {
    let (fd, far) = n.connected();
    let [here, there] = pair();
    give(here, &[fd]);
    sys::close(fd);
    for flags in [libc::MSG_PEEK, 0] {
        let (received, fds) = take(there, 64, flags);
        say(n, "recvmsg", &received, &fds);
        n.say("send", sys::send(fds[0], b"x", 0));
        n.say("close", sys::close(fds[0]));
    }
    n.hear("recv", &format!("recv {} 1", far.0));
    n.hear("recv", &format!("recv {} 1", far.0));
    n.hear("recv", &format!("recv {} 1", far.0));
}

/// The descriptor is not received, and the pair is closed.
fn thrown_away(n: &mut Near) {
    let (fd, far) = n.connected();
    let [here, there] = pair();
    give(here, &[fd]);
    sys::close(fd);
    sys::close(here);
    Near::settle();
    n.hear("mask", &format!("mask {}", far.0));
    sys::close(there);
    n.hear("recv", &format!("recv {} 10", far.0));
}

fn over_datagrams(n: &mut Near) {
    let (fd, far) = n.connected();
    let mut ends = [0; 2];
    let kind = libc::SOCK_DGRAM | libc::SOCK_CLOEXEC;
    n.say("socketpair", super::call!(socketpair(libc::AF_UNIX, kind, 0, ends.as_mut_ptr())));
    n.say("sendmsg", control::send(ends[0], b"", None, &[rights(&[fd])]));
    sys::close(fd);
    let (received, fds) = take(ends[1], 64, 0);
    say(n, "recvmsg", &received, &fds);
    n.say("send", sys::send(fds[0], b"hello", 0));
    n.hear("recv", &format!("recv {} 10", far.0));
}

fn listener(n: &mut Near) {
    let (fd, address) = n.listener(4);
    let [here, there] = pair();
    give(here, &[fd]);
    sys::close(fd);
    let far = n.called(address);
    let (_, fds) = take(there, 64, 0);
    n.say("SO_ACCEPTCONN", sys::get(fds[0], libc::SOL_SOCKET, libc::SO_ACCEPTCONN));
    let accepted = sys::accept(fds[0]).descriptor();
    n.say("send", sys::send(accepted, b"hello", 0));
    n.hear("recv", &format!("recv {} 10", far.0));
}

fn fresh(n: &mut Near) {
    let fd = n.stream();
    let [here, there] = pair();
    give(here, &[fd]);
    sys::close(fd);
    let (_, fds) = take(there, 64, 0);
    let far = n.connect(fds[0]);
    n.say("send", sys::send(fds[0], b"hello", 0));
    n.hear("recv", &format!("recv {} 10", far.0));
}

fn connecting(n: &mut Near) {
    let (fd, (listener, to)) = (n.nonblocking(), n.far.listen(n.family, 1));
    n.say("connect", sys::connect(fd, to));
    let [here, there] = pair();
    give(here, &[fd]);
    sys::close(fd);
    let (_, fds) = take(there, 64, 0);
    n.until("poll", fds[0], libc::POLLOUT);
    let far = n.far.accept(listener);
    n.say("send", sys::send(fds[0], b"hello", 0));
    n.hear("recv", &format!("recv {} 10", far.0));
}

fn datagrams(n: &mut Near) {
    let fd = n.datagram();
    n.say("bind", sys::bind(fd, n.own(0)));
    let own = sys::getsockname(fd).ok().flatten().expect("a name");
    let far = n.far.open(&format!("datagram {}", crate::far::version(n.family)));
    let [here, there] = pair();
    give(here, &[fd]);
    sys::close(fd);
    n.hear("send_to", &format!("send_to {} {own} hello", far.0));
    let (_, fds) = take(there, 64, 0);
    n.receive("recv", fds[0], 10, 0);
}

/// Options belong to the socket, whichever process has it.
fn options_stay(n: &mut Near) {
    let (fd, _far) = n.connected();
    sys::set(fd, libc::IPPROTO_TCP, libc::TCP_NODELAY, 1);
    sys::set_time_limit(fd, libc::SO_RCVTIMEO, 300);
    sys::set_linger(fd, true, 3);
    sys::fcntl(fd, libc::F_SETFL, libc::O_NONBLOCK);
    let [here, there] = pair();
    give(here, &[fd]);
    sys::close(fd);
    let (_, fds) = take(there, 64, 0);
    n.say("TCP_NODELAY", sys::get(fds[0], libc::IPPROTO_TCP, libc::TCP_NODELAY));
    n.say("F_GETFL", sys::fcntl(fds[0], libc::F_GETFL, 0));
    for name in [libc::SO_RCVTIMEO, libc::SO_LINGER] {
        let mut room = [0; 16];
        let (answer, length) = sys::get_octets(fds[0], libc::SOL_SOCKET, name, &mut room);
        n.say("octets", format!("{answer} {length} {room:?}"));
    }
    n.name("getsockname", sys::getsockname(fds[0]), 0);
}

/// The connection ends when the last descriptor is closed.
fn end_with_one_left(n: &mut Near) {
    let (fd, far) = n.connected();
    let [here, there] = pair();
    give(here, &[fd]);
    let (_, fds) = take(there, 64, 0);
    n.say("close", sys::close(fd));
    n.say("send", sys::send(fds[0], b"x", 0));
    n.hear("recv", &format!("recv {} 10", far.0));
    n.say("shutdown", sys::shutdown(fds[0], libc::SHUT_WR));
    n.hear("recv", &format!("recv {} 10", far.0));
}

/// File descriptors have no meaning for an IP socket and are not delivered.
fn over_itself(n: &mut Near) {
    let (fd, far) = n.connected();
    let (other, other_far) = n.connected();
    n.say("sendmsg", give(fd, &[other]));
    n.say("close", sys::close(other));
    n.hear("recv", &format!("recv {} 10", far.0));
    n.hear("recv of the other", &format!("recv {} 10", other_far.0));
}

fn not_open(n: &mut Near) {
    let [here, there] = pair();
    n.say("sendmsg", give(here, &[999]));
    n.say("sendmsg of -1", give(here, &[-1]));
    sys::fcntl(there, libc::F_SETFL, libc::O_NONBLOCK);
    let (received, fds) = take(there, 64, 0);
    say(n, "recvmsg", &received, &fds);
}

/// A stream delivers nothing without a byte.
fn without_an_octet(n: &mut Near) {
    let fd = n.stream();
    let [here, there] = pair();
    n.say("sendmsg", control::send(here, b"", None, &[rights(&[fd])]));
    sys::fcntl(there, libc::F_SETFL, libc::O_NONBLOCK);
    let (received, fds) = take(there, 64, 0);
    say(n, "recvmsg", &received, &fds);
}
