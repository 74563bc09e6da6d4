//! File calls on datagram sockets: `read`, `readv`, `write`, `writev`, and empty datagrams.

use super::datagrams::{bound, far, receive};
use super::messages::part;
use super::udp::{heard, sends};
use super::{call, cases};
use crate::control::{self, Control, list};
use crate::near::Near;
use crate::sys;

cases! {
    "C91" Both: read_whole, read_in_parts, read_with_control_messages, read_by_another_name, read_by_the_c_library, read_after_connect;
    "C91" Both: read_nothing, write_nothing, empty_ones;
}

fn read(n: &mut Near, what: &str, fd: i32, room: usize) {
    let mut octets = vec![0; room];
    let answer = sys::read(fd, &mut octets);
    n.say(what, format!("{answer} {:?}", String::from_utf8_lossy(&octets[..answer.count().min(room)])));
}

/// Records the result of `readv` into buffers of these lengths.
fn read_pieces(n: &mut Near, what: &str, fd: i32, lengths: &[usize]) {
    let mut rooms: Vec<Vec<u8>> = lengths.iter().map(|length| vec![b'.'; *length]).collect();
    let parts: Vec<_> = rooms.iter_mut().map(|room| part(room)).collect();
    let answer = call!(readv(fd, parts.as_ptr(), i32::try_from(parts.len()).expect("a few")));
    let texts: Vec<_> = rooms.iter().map(|room| String::from_utf8_lossy(room).into_owned()).collect();
    n.say(what, format!("{answer} {texts:?}"));
}

/// `read` returns the payload of a datagram, whatever its source is.
fn read_whole(n: &mut Near) {
    let ((far, to), (fd, own)) = (far(n), bound(n));
    sends(n, (far, own), &["hello", "longer than there is room for", "named", "peeked"], fd);
    read(n, "read", fd, 100);
    read(n, "read of six", fd, 6);
    receive(n, "recvfrom", fd, 100, 0, to.port());
    receive(n, "peek", fd, 100, libc::MSG_PEEK, to.port());
    let mut count = 0;
    n.say("FIONREAD", sys::ioctl(fd, libc::FIONREAD, &mut count));
    n.say("is", count);
    read(n, "read", fd, 100);
    n.receive("nothing", fd, 100, libc::MSG_DONTWAIT);
}

fn read_in_parts(n: &mut Near) {
    let ((far, _), (fd, own)) = (far(n), bound(n));
    sends(n, (far, own), &["hello world", "longer than the parts", "x"], fd);
    read_pieces(n, "readv", fd, &[5, 20]);
    read_pieces(n, "readv", fd, &[2, 0, 3]);
    read_pieces(n, "readv", fd, &[1]);
}

fn read_with_control_messages(n: &mut Near) {
    let ((far, to), (fd, own)) = (far(n), bound(n));
    let (level, option) = if n.family == libc::AF_INET6 {
        (libc::IPPROTO_IPV6, libc::IPV6_RECVTCLASS)
    } else {
        (libc::IPPROTO_IP, libc::IP_RECVTOS)
    };
    n.hear("send_to", &format!("send_to {} {own} before", far.0));
    n.until("poll", fd, libc::POLLIN);
    n.say("option", sys::set(fd, level, option, 1));
    sends(n, (far, own), &["one", "two", "three"], fd);
    read(n, "read", fd, 100);
    read(n, "read", fd, 100);
    let received = control::receive(fd, 200, 0);
    n.say("recvmsg", format!("{:?} {}", received.text, list(&received.controls)));
    n.say("connect", sys::connect(fd, to));
    sends(n, (far, own), &["connected", "once more"], fd);
    read(n, "read", fd, 100);
    read(n, "read", fd, 100);
    let received = control::receive(fd, 200, 0);
    n.say("recvmsg", format!("{:?} {}", received.text, list(&received.controls)));
    let mut said =
        Control::number(level, if level == libc::IPPROTO_IP { libc::IP_TTL } else { libc::IPV6_HOPLIMIT }, 9);
    said.value.truncate(4);
    n.say("sendmsg", control::send(fd, b"said", None, &[said]));
}

/// By a copy of the file descriptor.
fn read_by_another_name(n: &mut Near) {
    let ((far, _), (fd, own)) = (far(n), bound(n));
    let copy = call!(dup(fd)).descriptor();
    sends(n, (far, own), &["one", "two"], fd);
    read(n, "read", copy, 100);
}

/// The C library calls `read` internally.
fn read_by_the_c_library(n: &mut Near) {
    let ((far, _), (fd, own)) = (far(n), bound(n));
    sends(n, (far, own), &["two"], fd);
    // SAFETY: the descriptor is open, and the mode is a string.
    let file = unsafe { libc::fdopen(fd, c"r".as_ptr()) };
    let mut room = [0_u8; 3];
    // SAFETY: the buffer lives during the call and has this length.
    let count = unsafe { libc::fread(room.as_mut_ptr().cast(), 1, room.len(), file) };
    n.say("fread", format!("{count} {:?}", String::from_utf8_lossy(&room)));
}

/// Datagrams that arrived before a `connect` can be read after it.
fn read_after_connect(n: &mut Near) {
    let ((one, to), (two, at_two), (fd, own)) = (far(n), far(n), bound(n));
    sends(n, (one, own), &["one", "once more"], fd);
    sends(n, (two, own), &["two"], fd);
    n.say("connect", sys::connect(fd, to));
    read(n, "read", fd, 100);
    receive(n, "recvfrom", fd, 100, 0, to.port());
    receive(n, "recvfrom", fd, 100, 0, at_two.port());
    sends(n, (one, own), &["three", "four"], fd);
    n.say("connect to nobody", sys::disconnect(fd));
    read(n, "read", fd, 100);
    receive(n, "recvfrom", fd, 100, 0, to.port());
}

/// `read` of 0 bytes returns at once and keeps the datagram; `recv` of 0 bytes removes it (read(2),
/// recv(2)).
fn read_nothing(n: &mut Near) {
    let ((far, to), (fd, own)) = (far(n), bound(n));
    read(n, "read of none, of none", fd, 0);
    read_pieces(n, "readv of none, of none", fd, &[0, 0]);
    read_pieces(n, "readv without pieces", fd, &[]);
    sends(n, (far, own), &["one", "two", "three"], fd);
    read(n, "read of none", fd, 0);
    read_pieces(n, "readv of none", fd, &[0]);
    read(n, "read", fd, 100);
    n.receive("recv of none", fd, 0, 0);
    receive(n, "recvfrom", fd, 100, 0, to.port());
    n.say("connect", sys::connect(fd, to));
    sends(n, (far, own), &["four"], fd);
    read(n, "read of none", fd, 0);
    read(n, "read", fd, 100);
    n.say("read to nowhere", call!(read(fd, std::ptr::without_provenance_mut(8), 0)));
    n.say("read with O_NONBLOCK", sys::fcntl(fd, libc::F_SETFL, libc::O_NONBLOCK));
    read(n, "read of none", fd, 0);
    n.receive("recv of none", fd, 0, 0);
}

/// `write` of 0 bytes sends a datagram, `writev` does not.
fn write_nothing(n: &mut Near) {
    let ((far, to), fd) = (far(n), n.datagram());
    n.say("connect", sys::connect(fd, to));
    n.say("write of none", sys::write(fd, b""));
    heard(n, far, fd);
    let mut empty = [0_u8; 0];
    let parts = [part(&mut empty)];
    n.say("writev of none", call!(writev(fd, parts.as_ptr(), 1)));
    n.say("writev without pieces", call!(writev(fd, parts.as_ptr(), 0)));
    n.say("send of none", sys::send(fd, b"", 0));
    n.say("send", sys::send(fd, b"behind", 0));
    heard(n, far, fd);
    heard(n, far, fd);
}

/// An empty datagram counts as a datagram: it has a source address and does not signal an end.
fn empty_ones(n: &mut Near) {
    let ((far, to), (fd, own)) = (far(n), bound(n));
    for _ in 0..4 {
        n.hear("send_to", &format!("send_to {} {own} ", far.0));
    }
    n.hear("send_to", &format!("send_to {} {own} last", far.0));
    n.until("poll", fd, libc::POLLIN);
    receive(n, "recvfrom", fd, 20, 0, to.port());
    read(n, "read", fd, 20);
    let mut count = 7;
    n.say("FIONREAD", sys::ioctl(fd, libc::FIONREAD, &mut count));
    n.say("is", count);
    n.say("connect", sys::connect(fd, to));
    receive(n, "recvfrom", fd, 20, 0, to.port());
    n.receive("recv, not waiting", fd, 20, libc::MSG_DONTWAIT);
    receive(n, "recvfrom", fd, 20, 0, to.port());
}
