//! Data that is written in parts and sent together, or written together and sent in parts:
//! MSG_MORE, UDP_CORK, TCP_CORK, MSG_EOR, UDP_SEGMENT, UDP_GRO, MSG_ZEROCOPY.

use super::cases;
use super::datagrams::{bound, far};
use crate::control::{self, Control};
use crate::far::Handle;
use crate::near::Near;
use crate::sys;

cases! {
    "C91" Both: datagram_of_several_sends, to_a_destination, corked, corked_by_writes, ends_by_closing, parts_beside_others, segments, segments_said_beside;
    "C91" One: too_long, cork_option, segment_option, received_together, of_udp_lite;
    "C42" Both: more_of_a_stream, cork_of_a_stream, end_of_record;
    "C42" One: sent_without_copies;
}

const UDP: i32 = libc::SOL_UDP;
/// From `linux/udp.h`.
const CORK: i32 = 1;
const SEGMENT: i32 = libc::UDP_SEGMENT;
const GRO: i32 = libc::UDP_GRO;
const MORE: i32 = libc::MSG_MORE;

/// Records the text of the next datagram at the far host.
fn heard(n: &mut Near, far: Handle) {
    let answer = n.far.ask(&format!("recv_from {}", far.0));
    n.say("far", answer.split_once(' ').map_or(answer.clone(), |(_, text)| text.to_owned()));
}

fn datagram_of_several_sends(n: &mut Near) {
    let ((far, to), fd) = (far(n), n.datagram());
    n.say("connect", sys::connect(fd, to));
    n.say("send", sys::send(fd, b"one ", MORE));
    n.say("send", sys::send(fd, b"two ", MORE));
    n.say("send", sys::send(fd, b"three", 0));
    heard(n, far);
    n.say("send", sys::send(fd, b"alone", 0));
    heard(n, far);
    n.say("send", sys::send(fd, b"one ", MORE));
    n.say("write", sys::write(fd, b"two"));
    heard(n, far);
}

fn to_a_destination(n: &mut Near) {
    let ((one, to_one), (two, to_two), fd) = (far(n), far(n), n.datagram());
    n.say("sendto", sys::send_to(fd, b"one ", MORE, to_one));
    // The first part determines the destination.
    n.say("sendto elsewhere", sys::send_to(fd, b"two ", MORE, to_two));
    n.say("send to nobody", sys::send(fd, b"three", 0));
    heard(n, one);
    n.say("sendto", sys::send_to(fd, b"alone", 0, to_two));
    heard(n, two);
    n.say("send to nobody", sys::send(fd, b"x", 0));
}

fn corked(n: &mut Near) {
    let ((far, to), fd) = (far(n), n.datagram());
    n.say("before", sys::send_to(fd, b"before", 0, to));
    n.say("UDP_CORK", sys::set(fd, UDP, CORK, 1));
    n.say("sendto", sys::send_to(fd, b"one ", 0, to));
    n.say("sendto", sys::send_to(fd, b"two", 0, to));
    n.say("UDP_CORK", sys::set(fd, UDP, CORK, 0));
    n.say("after", sys::send_to(fd, b"after", 0, to));
    for _ in 0..3 {
        heard(n, far);
    }
}

fn corked_by_writes(n: &mut Near) {
    let ((far, to), fd) = (far(n), n.datagram());
    n.say("connect", sys::connect(fd, to));
    n.say("UDP_CORK", sys::set(fd, UDP, CORK, 1));
    n.say("write", sys::write(fd, b"one "));
    n.say("write", sys::write(fd, b"two "));
    n.say("send", sys::send(fd, b"three", 0));
    n.say("UDP_CORK", sys::set(fd, UDP, CORK, 0));
    heard(n, far);
    n.say("UDP_CORK", sys::set(fd, UDP, CORK, 0));
    n.say("write", sys::write(fd, b"after"));
    heard(n, far);
}

/// An incomplete datagram is not sent.
fn ends_by_closing(n: &mut Near) {
    let ((far, to), fd) = (far(n), n.datagram());
    n.say("sendto", sys::send_to(fd, b"never", MORE, to));
    n.say("close", sys::close(fd));
    let other = n.datagram();
    n.say("sendto", sys::send_to(other, b"another", 0, to));
    heard(n, far);
}

/// The control messages of the first part apply to the whole datagram.
fn parts_beside_others(n: &mut Near) {
    let ((far, to), fd) = (far(n), n.datagram());
    let (level, option, kind) = if n.family == libc::AF_INET6 {
        (libc::IPPROTO_IPV6, libc::IPV6_RECVHOPLIMIT, libc::IPV6_HOPLIMIT)
    } else {
        (libc::IPPROTO_IP, libc::IP_RECVTTL, libc::IP_TTL)
    };
    n.hear("option", &format!("set {} {level} {option} 1", far.0));
    n.say("UDP_CORK", sys::set(fd, UDP, CORK, 1));
    n.say("sendmsg", control::send(fd, b"one ", Some(to), &[Control::number(level, kind, 33)]));
    n.say("sendmsg", control::send(fd, b"two", Some(to), &[Control::number(level, kind, 44)]));
    n.say("UDP_CORK", sys::set(fd, UDP, CORK, 0));
    n.hear("recv_message", &format!("recv_message {}", far.0));
}

fn too_long(n: &mut Near) {
    let ((far, to), fd) = (far(n), n.datagram());
    n.say("connect", sys::connect(fd, to));
    n.say("send", sys::send(fd, &vec![b'x'; 40_000], MORE));
    n.say("send", sys::send(fd, &vec![b'x'; 40_000], MORE));
    // The part that was accepted before is lost, too.
    n.say("send", sys::send(fd, b"alone", 0));
    heard(n, far);
}

fn cork_option(n: &mut Near) {
    let fd = n.datagram();
    n.say("is", sys::get(fd, UDP, CORK));
    n.say("set", sys::set(fd, UDP, CORK, 5));
    n.say("is", sys::get(fd, UDP, CORK));
    n.say("set", sys::set_octets(fd, UDP, CORK, &[0]));
    n.say("set", sys::set(fd, UDP, CORK, 0));
    n.say("is", sys::get(fd, UDP, CORK));
    let stream = n.stream();
    n.say("of a stream", sys::set(stream, UDP, CORK, 1));
    n.say("is", sys::get(stream, UDP, CORK));
}

fn segments(n: &mut Near) {
    let ((far, to), fd) = (far(n), n.datagram());
    n.say("UDP_SEGMENT", sys::set(fd, UDP, SEGMENT, 4));
    n.say("sendto", sys::send_to(fd, b"one two three", 0, to));
    for _ in 0..4 {
        heard(n, far);
    }
    n.say("sendto", sys::send_to(fd, b"x", 0, to));
    heard(n, far);
    n.say("UDP_SEGMENT", sys::set(fd, UDP, SEGMENT, 0));
    n.say("connect", sys::connect(fd, to));
    n.say("send", sys::send(fd, b"one two three", 0));
    heard(n, far);
}

fn segments_said_beside(n: &mut Near) {
    let ((far, to), fd) = (far(n), n.datagram());
    let size = |octets: u16| Control::new(UDP, SEGMENT, &octets.to_ne_bytes());
    n.say("sendmsg", control::send(fd, b"one two three", Some(to), &[size(5)]));
    for _ in 0..3 {
        heard(n, far);
    }
    n.say("connect", sys::connect(fd, to));
    n.say("sendmsg", control::send(fd, b"one two", None, &[size(4)]));
    for _ in 0..2 {
        heard(n, far);
    }
    n.say("of four octets", control::send(fd, b"x", None, &[Control::number(UDP, SEGMENT, 4)]));
    n.say("of another type", control::send(fd, b"x", None, &[Control::number(UDP, 99, 4)]));
    n.say("send", sys::send(fd, b"plainly", 0));
    heard(n, far);
}

fn segment_option(n: &mut Near) {
    let fd = n.datagram();
    n.say("is", sys::get(fd, UDP, SEGMENT));
    for value in [1200, -1, 65_535, 65_536, 0] {
        n.say("set", sys::set(fd, UDP, SEGMENT, value));
        n.say("is", sys::get(fd, UDP, SEGMENT));
    }
    n.say("of two octets", sys::set_octets(fd, UDP, SEGMENT, &[0, 5]));
    n.say("another", sys::get(fd, UDP, 99));
    n.say("another", sys::set(fd, UDP, 99, 1));
}

/// Only datagrams that arrive together can be merged; a single one is delivered as it is.
fn received_together(n: &mut Near) {
    let ((far, _), (fd, own)) = (far(n), bound(n));
    n.say("is", sys::get(fd, UDP, GRO));
    n.say("UDP_GRO", sys::set(fd, UDP, GRO, 5));
    n.say("is", sys::get(fd, UDP, GRO));
    n.hear("send_to", &format!("send_to {} {own} hello", far.0));
    let received = control::receive(fd, 200, 0);
    n.say("recvmsg", format!("{:?} {}", received.text, control::list(&received.controls)));
    n.say("UDP_GRO", sys::set(fd, UDP, GRO, 0));
    n.say("is", sys::get(fd, UDP, GRO));
}

fn of_udp_lite(n: &mut Near) {
    const LITE: i32 = libc::IPPROTO_UDPLITE;
    let fd = sys::socket(n.family, libc::SOCK_DGRAM | libc::SOCK_CLOEXEC, LITE).descriptor();
    let far = n.far.open(&format!("lite {}", crate::far::version(n.family)));
    let port = n.far.port(far);
    let to = n.far.address(n.family, port);
    n.say("UDP_CORK", sys::set(fd, LITE, CORK, 1));
    n.say("is", sys::get(fd, LITE, CORK));
    n.say("sendto", sys::send_to(fd, b"one ", 0, to));
    n.say("sendto", sys::send_to(fd, b"two", 0, to));
    n.say("UDP_CORK", sys::set(fd, LITE, CORK, 0));
    heard(n, far);
    n.say("of UDP", sys::set(fd, UDP, CORK, 1));
}

/// Whether bytes leave together depends on when the far host looks, natively as well. Here all of
/// them arrive, and held-back data is sent with the end.
fn more_of_a_stream(n: &mut Near) {
    let (fd, far) = n.connected();
    n.say("send", sys::send(fd, b"one ", MORE));
    n.say("send", sys::send(fd, b"two ", MORE));
    n.say("send", sys::send(fd, b"three", 0));
    Near::settle();
    n.hear("recv", &format!("recv {} 20", far.0));
    n.say("send", sys::send(fd, b"last", MORE));
    n.say("shutdown", sys::shutdown(fd, libc::SHUT_WR));
    n.hear("recv", &format!("recv {} 20", far.0));
    n.hear("recv", &format!("recv {} 20", far.0));
}

fn cork_of_a_stream(n: &mut Near) {
    let (fd, far) = n.connected();
    n.say("before", sys::send(fd, b"before", 0));
    n.say("TCP_CORK", sys::set(fd, libc::IPPROTO_TCP, libc::TCP_CORK, 1));
    n.hear("recv", &format!("recv {} 6", far.0));
    n.say("send", sys::send(fd, b"one ", 0));
    n.say("write", sys::write(fd, b"two "));
    n.say("send", sys::send(fd, b"three", 0));
    n.say("TCP_CORK", sys::set(fd, libc::IPPROTO_TCP, libc::TCP_CORK, 0));
    Near::settle();
    n.hear("recv", &format!("recv {} 20", far.0));
}

fn end_of_record(n: &mut Near) {
    let (fd, far) = n.connected();
    n.say("send", sys::send(fd, b"one ", libc::MSG_EOR));
    n.say("send", sys::send(fd, b"two", libc::MSG_EOR));
    Near::settle();
    n.hear("recv", &format!("recv {} 20", far.0));
    let ((far, to), fd) = (super::datagrams::far(n), n.datagram());
    n.say("sendto", sys::send_to(fd, b"one", libc::MSG_EOR, to));
    heard(n, far);
}

/// Without SO_ZEROCOPY the flag has no effect, and there is no notification.
fn sent_without_copies(n: &mut Near) {
    let (fd, far) = n.connected();
    n.say("is", sys::get(fd, libc::SOL_SOCKET, libc::SO_ZEROCOPY));
    n.say("send", sys::send(fd, b"hello", libc::MSG_ZEROCOPY));
    n.hear("recv", &format!("recv {} 20", far.0));
    n.receive("error queue", fd, 20, libc::MSG_ERRQUEUE);
    let ((far, to), fd) = (super::datagrams::far(n), n.datagram());
    n.say("sendto", sys::send_to(fd, b"hello", libc::MSG_ZEROCOPY, to));
    heard(n, far);
    n.say("none", sys::set(fd, libc::SOL_SOCKET, libc::SO_ZEROCOPY, 0));
}
