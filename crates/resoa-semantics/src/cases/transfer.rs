//! Octets both ways: flags of `recv`, vectors, time limits, what fits, and long transfers.

use super::{call, cases};
use crate::far::{drain, flood};
use crate::near::{Near, received, stuff};
use crate::sys;
use std::time::Instant;

cases! {
    "C44" Both: peek, peek_grows, wait_for_all, wait_for_all_ends, do_not_wait, discard, nothing_asked, nothing_sent, peek_wait_for_all;
    "C42 C43" Both: full, partial, send_time_limit, writes_of_one_octet;
    "C44" Both: receive_time_limit, receive_time_limit_with_data;
    "C29" Both: low_water, low_water_poll, peek_for_more, count_for_more;
    "C42 C44" Both: vectors, message_of_many, message_received, message_flags, sender_unknown, address_ignored, many_messages;
    "C41" Both: waiting_octets, unacknowledged;
    "C50" Both: sendfile, splice_out, splice_in;
    "C28 C96" Both: up_unread, down_unread, down_unread_small_buffer;
    "C42 C44" Both: long_up, long_down, long_both;
    "C42" Both: back_and_forth;
    "C44" Both: bad_pointers;
}

fn peek(n: &mut Near) {
    let (fd, far) = n.connected();
    n.hear("send", &format!("send {} hello", far.0));
    n.receive("peek", fd, 3, libc::MSG_PEEK);
    n.receive("peek", fd, 10, libc::MSG_PEEK);
    n.receive("recv", fd, 10, 0);
    n.receive("peek", fd, 10, libc::MSG_PEEK | libc::MSG_DONTWAIT);
}

fn peek_grows(n: &mut Near) {
    let (fd, far) = n.connected();
    n.hear("send", &format!("send {} one", far.0));
    n.receive("peek", fd, 10, libc::MSG_PEEK);
    n.hear("send", &format!("send {} two", far.0));
    Near::settle();
    n.receive("peek", fd, 10, libc::MSG_PEEK);
    n.receive("recv", fd, 10, 0);
}

fn wait_for_all(n: &mut Near) {
    let (fd, far) = n.connected();
    n.hear("send", &format!("send {} one", far.0));
    let reader = std::thread::spawn(move || received(fd, 6, libc::MSG_WAITALL));
    Near::settle();
    n.say("waits", !reader.is_finished());
    n.hear("send", &format!("send {} two-three", far.0));
    n.say("recv", reader.join().expect("a text"));
    n.receive("rest", fd, 10, 0);
}

fn peek_wait_for_all(n: &mut Near) {
    let (fd, far) = n.connected();
    n.hear("send", &format!("send {} one", far.0));
    let reader = std::thread::spawn(move || received(fd, 6, libc::MSG_WAITALL | libc::MSG_PEEK));
    Near::settle();
    n.say("waits", !reader.is_finished());
    n.hear("send", &format!("send {} two", far.0));
    n.say("peek", reader.join().expect("a text"));
    n.receive("rest", fd, 10, 0);
}

fn wait_for_all_ends(n: &mut Near) {
    let (fd, far) = n.connected();
    n.hear("send", &format!("send {} one", far.0));
    n.hear("close", &format!("close {}", far.0));
    n.receive("recv", fd, 10, libc::MSG_WAITALL);
    n.receive("recv", fd, 10, libc::MSG_WAITALL);
}

fn do_not_wait(n: &mut Near) {
    let (fd, _far) = n.connected();
    n.receive("recv", fd, 10, libc::MSG_DONTWAIT);
    n.say("F_SETFL", sys::fcntl(fd, libc::F_SETFL, libc::O_NONBLOCK));
    n.receive("recv", fd, 10, 0);
    let mut room = [0; 10];
    n.say("read", sys::read(fd, &mut room));
}

/// `MSG_TRUNC` of a stream takes octets away without copying them.
fn discard(n: &mut Near) {
    let (fd, far) = n.connected();
    n.hear("send", &format!("send {} hello", far.0));
    n.until("poll", fd, libc::POLLIN);
    let mut room = *b"....";
    n.say("recv", sys::recv(fd, &mut room, libc::MSG_TRUNC));
    n.say("room", String::from_utf8_lossy(&room).into_owned());
    n.receive("rest", fd, 10, 0);
}

fn nothing_asked(n: &mut Near) {
    let (fd, far) = n.connected();
    n.hear("send", &format!("send {} hello", far.0));
    n.until("poll", fd, libc::POLLIN);
    n.say("recv of nothing", sys::recv(fd, &mut [], 0));
    n.receive("recv", fd, 10, 0);
}

fn nothing_sent(n: &mut Near) {
    let (fd, far) = n.connected();
    n.say("send of nothing", sys::send(fd, b"", 0));
    n.say("write of nothing", sys::write(fd, b""));
    n.say("send", sys::send(fd, b"x", 0));
    n.hear("recv", &format!("recv {} 10", far.0));
}

fn full(n: &mut Near) {
    let (fd, far) = n.connected();
    stuff(fd);
    n.mask("poll", fd);
    n.say("send", sys::send(fd, b"x", libc::MSG_DONTWAIT));
    n.far.start(&format!("drain {}", far.0));
    n.until("poll after", fd, libc::POLLOUT);
    n.say("send after", sys::send(fd, b"x", libc::MSG_DONTWAIT));
}

fn partial(n: &mut Near) {
    let (fd, _far) = n.connected();
    sys::fcntl(fd, libc::F_SETFL, libc::O_NONBLOCK);
    let octets = vec![b'x'; 32 << 20];
    let answer = sys::send(fd, &octets, 0);
    n.say("some", answer.count() > 0 && answer.count() < octets.len());
    stuff(fd);
    n.say("none", sys::send(fd, &octets, 0));
}

fn send_time_limit(n: &mut Near) {
    let (fd, _far) = n.connected();
    stuff(fd);
    n.say("SO_SNDTIMEO", sys::set_time_limit(fd, libc::SO_SNDTIMEO, 300));
    let begin = Instant::now();
    n.say("send", sys::send(fd, b"x", 0));
    n.took("it took", begin, 300);
}

/// What a queue of AF_UNIX counts for itself must not make small writes wait early.
fn writes_of_one_octet(n: &mut Near) {
    let (fd, far) = n.connected();
    n.say("F_SETFL", sys::fcntl(fd, libc::F_SETFL, libc::O_NONBLOCK));
    let mut taken = 0_u64;
    let begin = Instant::now();
    while taken < 5000 && begin.elapsed().as_secs() < 3 {
        match sys::send(fd, &[crate::far::pattern(taken)], 0).0 {
            Ok(_) => taken += 1,
            Err(_) => {
                sys::poll(fd, libc::POLLOUT, 100);
            }
        }
    }
    n.say("taken", taken);
    n.say("close", sys::close(fd));
    n.hear("drain", &format!("drain {}", far.0));
}

fn receive_time_limit(n: &mut Near) {
    let (fd, _far) = n.connected();
    n.say("SO_RCVTIMEO", sys::set_time_limit(fd, libc::SO_RCVTIMEO, 300));
    let begin = Instant::now();
    n.receive("recv", fd, 10, 0);
    n.took("it took", begin, 300);
}

fn receive_time_limit_with_data(n: &mut Near) {
    let (fd, far) = n.connected();
    n.say("SO_RCVTIMEO", sys::set_time_limit(fd, libc::SO_RCVTIMEO, 300));
    n.hear("send", &format!("send {} some", far.0));
    let begin = Instant::now();
    n.receive("recv", fd, 10, libc::MSG_WAITALL);
    n.took("it took", begin, 300);
    n.receive("recv", fd, 10, libc::MSG_DONTWAIT);
}

/// What came first is taken at once, and Linux wakes the reader when another 6 are there.
fn low_water(n: &mut Near) {
    let (fd, far) = n.connected();
    n.say("SO_RCVLOWAT", sys::set(fd, libc::SOL_SOCKET, libc::SO_RCVLOWAT, 6));
    n.hear("send", &format!("send {} one", far.0));
    let reader = std::thread::spawn(move || received(fd, 20, 0));
    Near::settle();
    n.say("waits", !reader.is_finished());
    n.hear("send", &format!("send {} two-three", far.0));
    n.say("recv", reader.join().expect("a text"));
}

fn low_water_poll(n: &mut Near) {
    let (fd, far) = n.connected();
    n.say("SO_RCVLOWAT", sys::set(fd, libc::SOL_SOCKET, libc::SO_RCVLOWAT, 6));
    n.hear("send", &format!("send {} one", far.0));
    Near::settle();
    n.mask("poll with 3", fd);
    n.hear("send", &format!("send {} two", far.0));
    n.until("poll with 6", fd, libc::POLLIN);
}

/// More than a window of the last hop, waited for without reading.
fn peek_for_more(n: &mut Near) {
    let (fd, far) = n.connected();
    n.far.start(&format!("flood {} 60000", far.0));
    let mut room = vec![0; 60_000];
    let begin = Instant::now();
    let mut seen = 0;
    while seen < 60_000 && begin.elapsed().as_secs() < 3 {
        seen = sys::recv(fd, &mut room, libc::MSG_PEEK).count();
    }
    n.say("peeked", seen);
    n.say("recv", sys::recv(fd, &mut room, libc::MSG_WAITALL));
    let answer = n.far.finish();
    n.say("far", answer);
}

fn count_for_more(n: &mut Near) {
    let (fd, far) = n.connected();
    n.far.start(&format!("flood {} 60000", far.0));
    let begin = Instant::now();
    let mut count = 0;
    while count < 60_000 && begin.elapsed().as_secs() < 3 {
        sys::ioctl(fd, libc::FIONREAD, &mut count);
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    n.say("FIONREAD", count);
    let answer = n.far.finish();
    n.say("far", answer);
}

fn vectors(n: &mut Near) {
    let (fd, far) = n.connected();
    let parts: [&[u8]; 3] = [b"one ", b"", b"two"];
    let list =
        parts.map(|part| libc::iovec { iov_base: part.as_ptr().cast_mut().cast(), iov_len: part.len() });
    n.say("writev", call!(writev(fd, list.as_ptr(), 3)));
    n.hear("recv", &format!("recv {} 20", far.0));
    n.hear("send", &format!("send {} abcdef", far.0));
    n.until("poll", fd, libc::POLLIN);
    let (mut first, mut second) = ([0_u8; 2], [0_u8; 10]);
    let list = [
        libc::iovec { iov_base: first.as_mut_ptr().cast(), iov_len: 2 },
        libc::iovec { iov_base: second.as_mut_ptr().cast(), iov_len: 10 },
    ];
    n.say("readv", call!(readv(fd, list.as_ptr(), 2)));
    n.say("parts", format!("{} {}", String::from_utf8_lossy(&first), String::from_utf8_lossy(&second[..4])));
}

/// A message of these parts, with room for an address.
pub fn message(parts: &mut [libc::iovec]) -> libc::msghdr {
    // SAFETY: all octets 0 is a message of nothing.
    let mut message: libc::msghdr = unsafe { std::mem::zeroed() };
    message.msg_iov = parts.as_mut_ptr();
    message.msg_iovlen = parts.len();
    message
}

/// A part of a message.
pub fn part(octets: &mut [u8]) -> libc::iovec {
    libc::iovec { iov_base: octets.as_mut_ptr().cast(), iov_len: octets.len() }
}

fn message_of_many(n: &mut Near) {
    let (fd, far) = n.connected();
    let (mut one, mut two) = (*b"one ", *b"two");
    let mut parts = [part(&mut one), part(&mut two)];
    let header = message(&mut parts);
    n.say("sendmsg", call!(sendmsg(fd, &raw const header, 0)));
    n.hear("recv", &format!("recv {} 20", far.0));
}

fn message_received(n: &mut Near) {
    let (fd, far) = n.connected();
    n.hear("send", &format!("send {} abcdef", far.0));
    n.until("poll", fd, libc::POLLIN);
    let (mut first, mut second) = ([0_u8; 2], [0_u8; 10]);
    let mut parts = [part(&mut first), part(&mut second)];
    let mut header = message(&mut parts);
    let mut address = sys::Address::empty();
    (header.msg_name, header.msg_namelen) = (address.room().0.cast(), address.length);
    n.say("recvmsg", call!(recvmsg(fd, &raw mut header, 0)));
    n.say("octets of the name", header.msg_namelen);
    n.say("octets of control", header.msg_controllen);
    n.say("flags", header.msg_flags);
    n.say("parts", format!("{} {}", String::from_utf8_lossy(&first), String::from_utf8_lossy(&second[..4])));
}

fn message_flags(n: &mut Near) {
    let (fd, far) = n.connected();
    n.hear("send", &format!("send {} abcdef", far.0));
    n.until("poll", fd, libc::POLLIN);
    let mut room = [0_u8; 2];
    let mut parts = [part(&mut room)];
    let mut header = message(&mut parts);
    n.say("recvmsg", call!(recvmsg(fd, &raw mut header, libc::MSG_PEEK)));
    n.say("flags", header.msg_flags);
    n.say("recvmsg", call!(recvmsg(fd, &raw mut header, libc::MSG_WAITALL)));
    n.say("flags", header.msg_flags);
    n.receive("rest", fd, 10, 0);
}

fn many_messages(n: &mut Near) {
    let (fd, far) = n.connected();
    let (mut one, mut two) = (*b"one ", *b"two");
    let (mut first, mut second) = ([part(&mut one)], [part(&mut two)]);
    let mut list = [
        libc::mmsghdr { msg_hdr: message(&mut first), msg_len: 0 },
        libc::mmsghdr { msg_hdr: message(&mut second), msg_len: 0 },
    ];
    n.say("sendmmsg", call!(sendmmsg(fd, list.as_mut_ptr(), 2, 0)));
    n.say("lengths", format!("{} {}", list[0].msg_len, list[1].msg_len));
    Near::settle();
    n.hear("recv", &format!("recv {} 20", far.0));
}

fn sender_unknown(n: &mut Near) {
    let (fd, far) = n.connected();
    n.hear("send", &format!("send {} abcdef", far.0));
    n.until("poll", fd, libc::POLLIN);
    let mut room = [0; 10];
    let mut address = sys::Address::empty();
    let (pointer, length) = address.room();
    n.say("recvfrom", call!(recvfrom(fd, room.as_mut_ptr().cast(), 10, 0, pointer, length)));
    n.say("octets of the name", address.length);
}

fn address_ignored(n: &mut Near) {
    let (fd, far) = n.connected();
    let elsewhere = n.closed_port();
    n.say("sendto", sys::send_to(fd, b"hello", 0, elsewhere));
    n.hear("recv", &format!("recv {} 20", far.0));
    let fresh = n.stream();
    n.say("sendto of a fresh one", sys::send_to(fresh, b"hello", libc::MSG_NOSIGNAL, elsewhere));
}

fn waiting_octets(n: &mut Near) {
    let (fd, far) = n.connected();
    let mut count = -1;
    n.say("FIONREAD", sys::ioctl(fd, libc::FIONREAD, &mut count));
    n.say("is", count);
    n.hear("send", &format!("send {} hello", far.0));
    n.until("poll", fd, libc::POLLIN);
    n.say("FIONREAD", sys::ioctl(fd, libc::FIONREAD, &mut count));
    n.say("is", count);
    n.receive("recv", fd, 2, 0);
    n.say("FIONREAD", sys::ioctl(fd, libc::FIONREAD, &mut count));
    n.say("is", count);
}

fn unacknowledged(n: &mut Near) {
    let (fd, _far) = n.connected();
    let mut count = -1;
    n.say("send", sys::send(fd, b"hello", 0));
    let begin = Instant::now();
    while count != 0 && begin.elapsed().as_secs() < 3 {
        sys::ioctl(fd, libc::TIOCOUTQ, &mut count);
    }
    n.say("SIOCOUTQ comes to", count);
    let taken = stuff(fd);
    sys::ioctl(fd, libc::TIOCOUTQ, &mut count);
    n.say("when full some is left", count > 0 && (count as u64) < taken);
}

/// A file with so many octets of the pattern.
fn file(count: u64) -> std::fs::File {
    use std::io::{Seek, SeekFrom, Write};
    let mut file = tempfile::tempfile().expect("a file");
    file.write_all(&(0..count).map(crate::far::pattern).collect::<Vec<_>>()).expect("room");
    file.seek(SeekFrom::Start(0)).expect("its begin");
    file
}

fn sendfile(n: &mut Near) {
    use std::os::fd::AsRawFd;
    let (fd, far) = n.connected();
    let file = file(300_000);
    n.far.start(&format!("drain {}", far.0));
    let mut sent = 0;
    while sent < 300_000 {
        let answer = call!(sendfile(fd, file.as_raw_fd(), std::ptr::null_mut(), 300_000 - sent));
        if answer.count() == 0 {
            n.say("sendfile", answer);
            break;
        }
        sent += answer.count();
    }
    n.say("sent", sent);
    sys::close(fd);
    let answer = n.far.finish();
    n.say("far", answer);
}

fn splice_out(n: &mut Near) {
    use std::os::fd::AsRawFd;
    let (fd, far) = n.connected();
    let file = file(30_000);
    let mut pipe = [0; 2];
    assert_eq!(call!(pipe(pipe.as_mut_ptr())).0, Ok(0), "pipe");
    let none = std::ptr::null_mut::<libc::loff_t>();
    n.say("splice", call!(splice(file.as_raw_fd(), none, pipe[1], none, 30_000, 0)));
    n.say("splice", call!(splice(pipe[0], none, fd, none, 30_000, 0)));
    sys::close(fd);
    n.hear("drain", &format!("drain {}", far.0));
}

fn splice_in(n: &mut Near) {
    let (fd, far) = n.connected();
    n.hear("send", &format!("send {} hello", far.0));
    n.until("poll", fd, libc::POLLIN);
    let mut pipe = [0; 2];
    assert_eq!(call!(pipe(pipe.as_mut_ptr())).0, Ok(0), "pipe");
    let none = std::ptr::null_mut::<libc::loff_t>();
    n.say("splice", call!(splice(fd, none, pipe[1], none, 100, 0)));
    let mut room = [0; 10];
    n.say("read", sys::read(pipe[0], &mut room));
    n.say("text", String::from_utf8_lossy(&room[..5]).into_owned());
}

/// What near and far take while the far host does not read, with buffers that do not grow.
fn up_unread(n: &mut Near) {
    let (listener, address) = n.far.listen(n.family, 1);
    n.hear("SO_RCVBUF", &format!("set {} {} {} 50000", listener.0, libc::SOL_SOCKET, libc::SO_RCVBUF));
    let fd = n.stream();
    n.say("SO_SNDBUF", sys::set(fd, libc::SOL_SOCKET, libc::SO_SNDBUF, 50_000));
    n.say("connect", sys::connect(fd, address));
    let _far = n.far.accept(listener);
    let taken = stuff(fd);
    n.measure("taken", taken, 2.0);
}

fn down_unread(n: &mut Near) {
    let fd = n.stream();
    n.say("SO_RCVBUF", sys::set(fd, libc::SOL_SOCKET, libc::SO_RCVBUF, 100_000));
    let (listener, address) = n.far.listen(n.family, 1);
    n.hear("SO_SNDBUF", &format!("set {} {} {} 50000", listener.0, libc::SOL_SOCKET, libc::SO_SNDBUF));
    n.say("connect", sys::connect(fd, address));
    let far = n.far.accept(listener);
    let taken: u64 = n.far.ask(&format!("stuff {}", far.0)).parse().expect("a number");
    n.measure("taken", taken, 1.5);
    n.until("poll", fd, libc::POLLIN);
}

fn down_unread_small_buffer(n: &mut Near) {
    let fd = n.stream();
    n.say("SO_RCVBUF", sys::set(fd, libc::SOL_SOCKET, libc::SO_RCVBUF, 10_000));
    let (listener, address) = n.far.listen(n.family, 1);
    n.hear("SO_SNDBUF", &format!("set {} {} {} 10000", listener.0, libc::SOL_SOCKET, libc::SO_SNDBUF));
    n.say("connect", sys::connect(fd, address));
    let far = n.far.accept(listener);
    let taken: u64 = n.far.ask(&format!("stuff {}", far.0)).parse().expect("a number");
    n.measure("taken", taken, 2.0);
}

const LONG: u64 = 20_000_000;

fn long_up(n: &mut Near) {
    let (fd, far) = n.connected();
    n.far.start(&format!("drain {}", far.0));
    let sent = flood(fd, LONG, 0);
    n.say("sent", sent);
    n.say("shutdown", sys::shutdown(fd, libc::SHUT_WR));
    let answer = n.far.finish();
    n.say("far", answer);
}

fn long_down(n: &mut Near) {
    let (fd, far) = n.connected();
    n.far.start(&format!("flood {} {LONG}", far.0));
    n.far.start(&format!("close {}", far.0));
    let drained = drain(fd);
    n.say("recv", drained);
    let answer = n.far.finish();
    n.say("far", answer);
    n.far.finish();
}

fn long_both(n: &mut Near) {
    let (fd, far) = n.connected();
    // Two sessions, since a far host's does one command after the other.
    let writer = std::thread::spawn(move || {
        let sent = flood(fd, LONG, 0);
        sys::shutdown(fd, libc::SHUT_WR);
        sent
    });
    n.far.start(&format!("exchange {} {LONG}", far.0));
    let drained = drain(fd);
    n.say("recv", drained);
    n.say("sent", writer.join().expect("a text"));
    let answer = n.far.finish();
    n.say("far", answer);
}

fn back_and_forth(n: &mut Near) {
    let (fd, far) = n.connected();
    n.far.start(&format!("echo {} 200", far.0));
    let mut room = [0; 64];
    let mut right = 0;
    for number in 0..200_u8 {
        if sys::send(fd, &[number; 64], 0).count() == 64
            && sys::recv(fd, &mut room, libc::MSG_WAITALL).count() == 64
            && room == [number; 64]
        {
            right += 1;
        }
    }
    n.say("right", right);
    let answer = n.far.finish();
    n.say("far", answer);
}

fn bad_pointers(n: &mut Near) {
    let (fd, far) = n.connected();
    let nowhere = std::ptr::without_provenance_mut::<libc::c_void>(8);
    n.say("send", call!(send(fd, nowhere.cast_const(), 5, 0)));
    n.hear("send", &format!("send {} hello", far.0));
    n.until("poll", fd, libc::POLLIN);
    n.say("recv", call!(recv(fd, nowhere, 5, 0)));
    n.receive("recv after", fd, 10, 0);
}
