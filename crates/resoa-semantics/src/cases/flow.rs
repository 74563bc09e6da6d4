//! Amounts of data: full buffers, windows of readers that do not read, and long transfers.

use super::cases;
use crate::far::{drain, flood};
use crate::near::{Near, PATIENCE, stuff};
use crate::sys;
use std::time::Instant;

cases! {
    "C42 C43" Both: full, partial, writes_of_one_octet;
    "C29" Both: peek_for_more, count_for_more;
    "C41" Both: unacknowledged;
    "C28 C96" Both: up_unread, down_unread, down_unread_small_buffer;
    "C42 C44" Both: long_up, long_down, long_both;
    "C42" Both: back_and_forth;
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

/// The overhead of small messages in an AF_UNIX queue must not make small writes wait early.
fn writes_of_one_octet(n: &mut Near) {
    let (fd, far) = n.connected();
    n.say("F_SETFL", sys::fcntl(fd, libc::F_SETFL, libc::O_NONBLOCK));
    let mut taken = 0_u64;
    let begin = Instant::now();
    while taken < 5000 && begin.elapsed() < PATIENCE {
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

/// Waits without reading for more data than a window of the last hop.
fn peek_for_more(n: &mut Near) {
    let (fd, far) = n.connected();
    n.far.start(&format!("flood {} 60000", far.0));
    let mut room = vec![0; 60_000];
    let begin = Instant::now();
    let mut seen = 0;
    while seen < 60_000 && begin.elapsed() < PATIENCE {
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
    while count < 60_000 && begin.elapsed() < PATIENCE {
        sys::ioctl(fd, libc::FIONREAD, &mut count);
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    n.say("FIONREAD", count);
    let answer = n.far.finish();
    n.say("far", answer);
}

fn unacknowledged(n: &mut Near) {
    let (fd, _far) = n.connected();
    let mut count = -1;
    n.say("send", sys::send(fd, b"hello", 0));
    let begin = Instant::now();
    while count != 0 && begin.elapsed() < PATIENCE {
        sys::ioctl(fd, libc::TIOCOUTQ, &mut count);
    }
    n.say("SIOCOUTQ comes to", count);
    let taken = stuff(fd);
    sys::ioctl(fd, libc::TIOCOUTQ, &mut count);
    n.say("when full some is left", count > 0 && (count as u64) < taken);
}

/// Amount that both ends take while the far host does not read, with buffers of fixed size.
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
    // This thread reads while another one writes. At the far host, `exchange` does both.
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
