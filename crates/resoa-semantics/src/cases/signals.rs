//! Calls that a signal interrupts, signals that sockets send, and threads that share a socket.

use super::cases;
use crate::near::{Near, SETTLED, count_signals, received, stuff};
use crate::sys::{self, Answer, call};
use std::os::unix::thread::JoinHandleExt;
use std::sync::mpsc::channel;
use std::time::{Duration, Instant};

cases! {
    "C48" Both: recv_interrupted, recv_restarted, recv_with_time_limit, accept_interrupted, accept_restarted, connect_interrupted, connect_restarted, send_interrupted,
        send_partly_interrupted, poll_interrupted, close_interrupted, recvfrom_interrupted;
    "C47" Both: input, input_once_each, output_of_connect, end, broken_pipe, nobody_asked;
    "C50" Both: two_readers, reader_and_writer, closed_while_reading, shut_while_reading, shut_while_writing, two_writers, option_while_reading;
}

/// Maximum time for an interrupted call to return. It is shorter than the time limits of calls that
/// must not restart.
const RETURNS: Duration = Duration::from_secs(3);

/// Time limit that a signal always precedes, however long the call and the signal take to start.
const LIMIT_MS: i32 = 20_000;

/// Runs `work` on a thread of its own and sends it a signal while it waits. Records whether the
/// call returned before `release`, and its result.
fn interrupted(
    n: &mut Near,
    restart: bool,
    work: impl FnOnce() -> Answer + Send + 'static,
    release: impl FnOnce(&mut Near),
) {
    count_signals(libc::SIGUSR1, restart);
    let (say, number) = channel();
    let thread = std::thread::spawn(move || {
        let _ = say.send(call!(gettid()).descriptor());
        work()
    });
    until_it_waits(number.recv().expect("it begins by saying so"));
    // SAFETY: the thread has not been joined.
    unsafe { libc::pthread_kill(thread.as_pthread_t(), libc::SIGUSR1) };
    let begin = Instant::now();
    while !thread.is_finished() && begin.elapsed() < RETURNS {
        std::thread::sleep(Duration::from_millis(5));
    }
    n.say("came back", thread.is_finished());
    release(n);
    n.say("returned", thread.join().expect("an answer"));
    n.signals("signals", &[libc::SIGUSR1]);
}

/// Waits until a thread of this process has slept without interruption for as long as pending
/// events take. An earlier signal might arrive before the call.
fn until_it_waits(number: i32) {
    let seen = || std::fs::read_to_string(format!("/proc/self/task/{number}/status")).unwrap_or_default();
    let (begin, mut since, mut before) = (Instant::now(), Instant::now(), seen());
    while since.elapsed() < SETTLED && begin.elapsed() < RETURNS {
        std::thread::sleep(Duration::from_millis(5));
        // The text contains the number of times that the thread has slept.
        let now = seen();
        if now != before || !now.contains("State:\tS") {
            (since, before) = (Instant::now(), now);
        }
    }
}

fn recv_interrupted(n: &mut Near) {
    let (fd, far) = n.connected();
    interrupted(n, false, move || sys::recv(fd, &mut [0; 10], 0), |_| {});
    n.hear("send", &format!("send {} hello", far.0));
    n.receive("recv", fd, 10, 0);
}

fn recv_restarted(n: &mut Near) {
    let (fd, far) = n.connected();
    interrupted(
        n,
        true,
        move || sys::recv(fd, &mut [0; 10], 0),
        |n| n.hear("send", &format!("send {} hello", far.0)),
    );
}

/// A call with a time limit is not restarted.
fn recv_with_time_limit(n: &mut Near) {
    let (fd, _far) = n.connected();
    sys::set_time_limit(fd, libc::SO_RCVTIMEO, LIMIT_MS.into());
    interrupted(n, true, move || sys::recv(fd, &mut [0; 10], 0), |_| {});
}

fn accept_interrupted(n: &mut Near) {
    let (fd, address) = n.listener(1);
    interrupted(n, false, move || sys::accept(fd), |_| {});
    n.called(address);
    n.say("accept", sys::accept(fd).0.is_ok());
}

fn accept_restarted(n: &mut Near) {
    let (fd, address) = n.listener(1);
    interrupted(
        n,
        true,
        move || Answer(sys::accept(fd).0.map(|_| 0)),
        |n| {
            n.called(address);
        },
    );
}

/// The attempt continues without the program, and the next call reports it.
fn connect_interrupted(n: &mut Near) {
    let (to, fd) = (n.elsewhere(crate::worlds::SILENT), n.stream());
    interrupted(n, false, move || sys::connect(fd, to), |_| {});
    n.mask("poll", fd);
    sys::fcntl(fd, libc::F_SETFL, libc::O_NONBLOCK);
    n.say("connect again", sys::connect(fd, to));
}

fn connect_restarted(n: &mut Near) {
    let (to, fd) = (n.elsewhere(crate::worlds::SILENT), n.stream());
    sys::set_time_limit(fd, libc::SO_SNDTIMEO, LIMIT_MS.into());
    interrupted(n, true, move || sys::connect(fd, to), |_| {});
}

fn send_interrupted(n: &mut Near) {
    let (fd, _far) = n.connected();
    stuff(fd);
    interrupted(n, false, move || sys::send(fd, b"x", 0), |_| {});
}

fn send_partly_interrupted(n: &mut Near) {
    let (fd, _far) = n.connected();
    // Allocate before the thread starts, so that the call waits when the signal arrives.
    let octets = vec![b'x'; 32 << 20];
    interrupted(
        n,
        false,
        move || {
            let answer = sys::send(fd, &octets, 0);
            Answer(answer.0.map(|count| i64::from(count > 0 && count < 32 << 20)))
        },
        |_| {},
    );
}

fn poll_interrupted(n: &mut Near) {
    let (fd, _far) = n.connected();
    interrupted(n, true, move || sys::poll(fd, libc::POLLIN, LIMIT_MS).0, |_| {});
}

/// A lingering close returns, and the socket is closed.
fn close_interrupted(n: &mut Near) {
    let (fd, _far) = n.connected();
    stuff(fd);
    sys::set_linger(fd, true, LIMIT_MS / 1000);
    let begin = Instant::now();
    interrupted(n, false, move || sys::close(fd), |_| {});
    n.say("before its time", begin.elapsed().as_millis() < LIMIT_MS.unsigned_abs().into());
    n.say("close again", sys::close(fd));
}

fn recvfrom_interrupted(n: &mut Near) {
    let fd = n.datagram();
    sys::bind(fd, n.any(0));
    interrupted(n, false, move || sys::receive_from(fd, &mut [0; 10], 0).0, |_| {});
}

fn ask_for_signals(n: &mut Near, fd: i32) {
    n.say("F_SETOWN", sys::fcntl(fd, libc::F_SETOWN, std::process::id().cast_signed()));
    n.say("O_ASYNC", sys::fcntl(fd, libc::F_SETFL, libc::O_ASYNC | libc::O_NONBLOCK));
    n.signals("so far", &[libc::SIGIO]);
}

/// Records whether SIGIO has arrived at least once. The number of repeated signals is unspecified.
fn sigio(n: &mut Near, what: &str) {
    Near::settle();
    let came = n.count(libc::SIGIO) > 0;
    n.say(what, came);
}

fn input(n: &mut Near) {
    let (fd, far) = n.connected();
    ask_for_signals(n, fd);
    n.hear("send", &format!("send {} hello", far.0));
    sigio(n, "SIGIO");
    n.receive("recv", fd, 10, 0);
}

fn input_once_each(n: &mut Near) {
    let (fd, far) = n.connected();
    ask_for_signals(n, fd);
    for _ in 0..3 {
        n.hear("send", &format!("send {} x", far.0));
        sigio(n, "SIGIO");
    }
}

fn output_of_connect(n: &mut Near) {
    let fd = n.nonblocking();
    let (_, address) = n.far.listen(n.family, 1);
    ask_for_signals(n, fd);
    n.say("connect", sys::connect(fd, address));
    n.until("poll", fd, libc::POLLOUT);
    sigio(n, "SIGIO");
}

fn end(n: &mut Near) {
    let (fd, far) = n.connected();
    ask_for_signals(n, fd);
    n.hear("shutdown", &format!("shutdown {} 1", far.0));
    sigio(n, "SIGIO of the end");
    let (fd, far) = n.connected();
    n.count(libc::SIGIO);
    ask_for_signals(n, fd);
    n.hear("reset", &format!("reset {}", far.0));
    sigio(n, "SIGIO of a reset");
}

/// The default action of SIGPIPE ends the program.
fn broken_pipe(n: &mut Near) {
    let (fd, far) = n.connected();
    n.hear("reset", &format!("reset {}", far.0));
    n.until("poll", fd, libc::POLLIN);
    let child = super::processes::fork(move || {
        // SAFETY: this sets the default action.
        unsafe { libc::signal(libc::SIGPIPE, libc::SIG_DFL) };
        sys::send(fd, b"x", 0);
        sys::write(fd, b"x");
        7
    });
    n.say("ended by", child.wait());
    let (fd, _far) = n.connected();
    sys::shutdown(fd, libc::SHUT_WR);
    let child = super::processes::fork(move || {
        // SAFETY: this ignores the signal.
        unsafe { libc::signal(libc::SIGPIPE, libc::SIG_IGN) };
        i32::from(sys::write(fd, b"x").failed(libc::EPIPE))
    });
    n.say("EPIPE where it is ignored", child.wait());
}

fn nobody_asked(n: &mut Near) {
    let (fd, far) = n.connected();
    n.hear("send", &format!("send {} hello", far.0));
    n.hear("oob", &format!("oob {} !", far.0));
    n.until("poll", fd, libc::POLLIN);
    n.signals("signals", &[libc::SIGIO, libc::SIGURG]);
}

fn two_readers(n: &mut Near) {
    let (fd, far) = n.connected();
    let readers: Vec<_> = (0..2).map(|_| std::thread::spawn(move || received(fd, 1, 0))).collect();
    Near::settle();
    n.hear("send", &format!("send {} aa", far.0));
    for reader in readers {
        n.say("recv", reader.join().expect("a text"));
    }
}

fn reader_and_writer(n: &mut Near) {
    let (fd, far) = n.connected();
    let reader = std::thread::spawn(move || received(fd, 10, 0));
    Near::settle();
    n.say("send", sys::send(fd, b"question", 0));
    n.hear("recv", &format!("recv {} 10", far.0));
    n.hear("send", &format!("send {} answer", far.0));
    n.say("recv", reader.join().expect("a text"));
}

/// The reader keeps the socket open until it has its data.
fn closed_while_reading(n: &mut Near) {
    let (fd, far) = n.connected();
    let reader = std::thread::spawn(move || received(fd, 10, 0));
    Near::settle();
    n.say("close", sys::close(fd));
    Near::settle();
    n.say("the reader waits", !reader.is_finished());
    n.hear("mask", &format!("mask {}", far.0));
    n.hear("send", &format!("send {} hello", far.0));
    n.say("recv", reader.join().expect("a text"));
    n.hear("recv", &format!("recv {} 10", far.0));
}

fn shut_while_reading(n: &mut Near) {
    let (fd, _far) = n.connected();
    let reader = std::thread::spawn(move || received(fd, 10, 0));
    Near::settle();
    n.say("shutdown", sys::shutdown(fd, libc::SHUT_RD));
    n.say("recv", reader.join().expect("a text"));
}

fn shut_while_writing(n: &mut Near) {
    let (fd, _far) = n.connected();
    stuff(fd);
    let writer = std::thread::spawn(move || sys::send(fd, b"x", libc::MSG_NOSIGNAL));
    Near::settle();
    n.say("shutdown", sys::shutdown(fd, libc::SHUT_WR));
    n.say("send", writer.join().expect("an answer"));
}

fn two_writers(n: &mut Near) {
    let (fd, far) = n.connected();
    let writers: Vec<_> = (0..2)
        .map(|_| {
            std::thread::spawn(move || {
                let mut count = 0;
                for _ in 0..100 {
                    count += sys::send(fd, &[b'x'; 1000], 0).count();
                }
                count
            })
        })
        .collect();
    n.far.start(&format!("count {}", far.0));
    for writer in writers {
        n.say("sent", writer.join().expect("a number"));
    }
    sys::shutdown(fd, libc::SHUT_WR);
    let answer = n.far.finish();
    n.say("far", answer);
}

fn option_while_reading(n: &mut Near) {
    let (fd, far) = n.connected();
    let reader = std::thread::spawn(move || received(fd, 10, 0));
    Near::settle();
    n.say("set", sys::set(fd, libc::IPPROTO_TCP, libc::TCP_NODELAY, 1));
    n.say("get", sys::get(fd, libc::IPPROTO_TCP, libc::TCP_NODELAY));
    n.hear("send", &format!("send {} hello", far.0));
    n.say("recv", reader.join().expect("a text"));
}
