//! Data both ways: flags of `recv`, time limits, low-water marks, and calls other than `send` and
//! `recv` that transfer data.

use super::{call, cases};
use crate::near::{Near, received, stuff};
use crate::sys;
use std::time::Instant;

cases! {
    "C44" Both: peek, peek_grows, wait_for_all, wait_for_all_ends, do_not_wait, discard, nothing_asked, nothing_sent, peek_wait_for_all;
    "C42 C43" Both: send_time_limit;
    "C44" Both: receive_time_limit, receive_time_limit_with_data;
    "C29" Both: low_water, low_water_poll;
    "C41" Both: waiting_octets;
    "C50" Both: sendfile, splice_out, splice_in;
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

/// Receives with a limit of 6 bytes. The first 3 are sent at once, and `later` after the call is
/// seen to wait.
fn receives_when_all_is_there(n: &mut Near, what: &str, flags: i32, later: &str) {
    let (fd, far) = n.connected();
    n.hear("send", &format!("send {} one", far.0));
    let reader = std::thread::spawn(move || received(fd, 6, flags));
    Near::settle();
    n.say("waits", !reader.is_finished());
    n.hear("send", &format!("send {} {later}", far.0));
    n.say(what, reader.join().expect("a text"));
    n.receive("rest", fd, 10, 0);
}

fn wait_for_all(n: &mut Near) {
    receives_when_all_is_there(n, "recv", libc::MSG_WAITALL, "two-three");
}

fn peek_wait_for_all(n: &mut Near) {
    receives_when_all_is_there(n, "peek", libc::MSG_WAITALL | libc::MSG_PEEK, "two");
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

/// `MSG_TRUNC` on a stream discards data without copying it.
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

fn send_time_limit(n: &mut Near) {
    let (fd, _far) = n.connected();
    stuff(fd);
    n.say("SO_SNDTIMEO", sys::set_time_limit(fd, libc::SO_SNDTIMEO, 300));
    let begin = Instant::now();
    n.say("send", sys::send(fd, b"x", 0));
    n.took("it took", begin, 300);
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

/// The first data is taken at once, and Linux wakes the reader when another 6 bytes are there.
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

/// Creates a file with `count` bytes of the pattern.
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

fn bad_pointers(n: &mut Near) {
    let (fd, far) = n.connected();
    let nowhere = std::ptr::without_provenance_mut::<libc::c_void>(8);
    n.say("send", call!(send(fd, nowhere.cast_const(), 5, 0)));
    n.hear("send", &format!("send {} hello", far.0));
    n.until("poll", fd, libc::POLLIN);
    n.say("recv", call!(recv(fd, nowhere, 5, 0)));
    n.receive("recv after", fd, 10, 0);
}
