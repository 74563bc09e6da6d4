//! Commands of a case to the far host. A line has a command and its arguments, separated by spaces;
//! the answer is a line. Handles are numbers of sockets. Calls wait for at most 10 s and then
//! return `EAGAIN`.
//!
//! | command | does | answer |
//! |---|---|---|
//! | `hello` | | both addresses |
//! | `listen V BACKLOG` | a listener at any port | handle |
//! | `accept H` | | handle, peer |
//! | `connect V ADDRESS` | | handle, or errno |
//! | `attempt V ADDRESS MS` | the same, with a time limit of its own | handle, or errno |
//! | `datagram V`, `lite V` | a datagram socket at any port, of UDP or of UDP-Lite | handle |
//! | `closed V` | a port without a listener, kept in use | port |
//! | `port H`, `mask H`, `state H`, `peer H` | | as it says |
//! | `send H TEXT`, `oob H TEXT`, `recv H N`, `recv_oob H` | | count; text |
//! | `flood H N`, `stuff H`, `drain H`, `count H` | sends N bytes of the pattern; sends as many as are taken; reads to the end and checks the pattern; reads to the end | how many, how it ended |
//! | `exchange H N`, `echo H N` | sends N bytes of the pattern while it reads to the end; returns 64 bytes N times | both results; count |
//! | `send_to H ADDRESS TEXT`, `recv_from H`, `recv_message H` | | count; text and address; text and control messages |
//! | `shutdown H HOW`, `close H`, `reset H`, `linger H S` | | 0 or errno |
//! | `set H LEVEL NAME VALUE`, `get H LEVEL NAME`, `outq H` | | number |
//! | `sleep MS` | | 0 |

use super::{drain, flood};
use crate::sys::{self, Answer};
use crate::{control, names};
use std::io::{BufRead, BufReader, Write};
use std::net::{IpAddr, SocketAddr};
use std::os::unix::net::UnixStream;
use std::time::Duration;

/// Time limit of the far host's calls in milliseconds, after which they return EAGAIN.
const LIMIT_MS: i64 = 10_000;

pub struct Session {
    addresses: [IpAddr; 2],
    sockets: Vec<i32>,
}

impl Session {
    pub fn new(addresses: [IpAddr; 2]) -> Self {
        Self { addresses, sockets: Vec::new() }
    }

    /// Serves the case until it disconnects.
    pub fn run(mut self, stream: &UnixStream) {
        let mut writer = stream;
        for line in BufReader::new(stream).lines() {
            let Ok(line) = line else { return };
            let words: Vec<&str> = line.split(' ').collect();
            let answer =
                self.command(&words).unwrap_or_else(|| format!("the far host does not understand `{line}`"));
            if writeln!(writer, "{answer}").is_err() {
                return;
            }
        }
    }

    fn command(&mut self, words: &[&str]) -> Option<String> {
        let fd = || self.sockets.get(words.get(1)?.parse::<usize>().ok()?).copied();
        let number = |place: usize| words.get(place)?.parse::<i64>().ok();
        let text = |place: usize| words.get(place).copied();
        let said = |answer: Answer| Some(answer.to_string());
        match *words.first()? {
            "hello" => Some(format!("{} {}", self.addresses[0], self.addresses[1])),
            "listen" => {
                let fd = self.bound(text(1)?, libc::SOCK_STREAM, 0);
                match sys::listen(fd, number(2)? as i32).0 {
                    Ok(_) => Some(self.keep(fd)),
                    Err(number) => Some(names::errno(number)),
                }
            }
            "accept" => {
                let (answer, peer) = sys::accept_from(fd()?, libc::SOCK_CLOEXEC);
                match answer.0 {
                    Ok(new) => Some(format!("{} {}", self.keep(new as i32), peer?)),
                    Err(number) => Some(names::errno(number)),
                }
            }
            "connect" => Some(self.connect(text(1)?, text(2)?.parse().ok()?, LIMIT_MS)),
            "attempt" => Some(self.connect(text(1)?, text(2)?.parse().ok()?, number(3)?)),
            "datagram" => {
                let fd = self.bound(text(1)?, libc::SOCK_DGRAM, 0);
                Some(self.keep(fd))
            }
            "lite" => {
                let fd = self.bound(text(1)?, libc::SOCK_DGRAM, libc::IPPROTO_UDPLITE);
                Some(self.keep(fd))
            }
            "closed" => {
                let fd = self.bound(text(1)?, libc::SOCK_STREAM, 0);
                self.keep(fd);
                sys::getsockname(fd).ok()?.map(|address| address.port().to_string())
            }
            "port" => sys::getsockname(fd()?).ok()?.map(|address| address.port().to_string()),
            "peer" => Some(
                sys::getpeername(fd()?).map_or_else(|error| error.to_string(), |peer| format!("{peer:?}")),
            ),
            "mask" => Some(names::mask(sys::poll(fd()?, crate::near::ALL, 0).1)),
            "state" => Some(sys::tcp_state(fd()?).map_or_else(|error| error.to_string(), str::to_owned)),
            "send" => said(sys::send(fd()?, words.get(2..)?.join(" ").as_bytes(), libc::MSG_NOSIGNAL)),
            "oob" => said(sys::send(fd()?, text(2)?.as_bytes(), libc::MSG_NOSIGNAL | libc::MSG_OOB)),
            "recv" => Some(received(fd()?, number(2)? as usize, 0)),
            "recv_oob" => Some(received(fd()?, 1, libc::MSG_OOB)),
            "flood" => Some(flood(fd()?, number(2)? as u64, 0)),
            "stuff" => Some(crate::near::stuff(fd()?).to_string()),
            "drain" => Some(drain(fd()?)),
            "count" => Some(drain(fd()?).split(' ').next()?.to_owned()),
            "exchange" => {
                let (fd, count) = (fd()?, number(2)? as u64);
                let writer = std::thread::spawn(move || {
                    let sent = flood(fd, count, 0);
                    sys::shutdown(fd, libc::SHUT_WR);
                    sent
                });
                let drained = drain(fd);
                Some(format!("sent {}; received {drained}", writer.join().ok()?))
            }
            "echo" => {
                let (mut room, mut echoed) = ([0; 64], 0);
                while echoed < number(2)? && sys::recv(fd()?, &mut room, libc::MSG_WAITALL).count() == 64 {
                    sys::send(fd()?, &room, libc::MSG_NOSIGNAL);
                    echoed += 1;
                }
                Some(echoed.to_string())
            }
            "send_to" => said(sys::send_to(
                fd()?,
                words.get(3..)?.join(" ").as_bytes(),
                libc::MSG_NOSIGNAL,
                text(2)?.parse().ok()?,
            )),
            "recv_from" => received_from(fd()?),
            "recv_message" => {
                let received = control::receive(fd()?, 200, 0);
                Some(format!("{:?} {}", received.text, control::list(&received.controls)))
            }
            "shutdown" => said(sys::shutdown(fd()?, number(2)? as i32)),
            "close" => said(sys::close(self.take(words)?)),
            "reset" => {
                let fd = self.take(words)?;
                sys::set_linger(fd, true, 0);
                said(sys::close(fd))
            }
            "linger" => said(sys::set_linger(fd()?, true, number(2)? as i32)),
            "set" => said(sys::set(fd()?, number(2)? as i32, number(3)? as i32, number(4)? as i32)),
            "get" => said(sys::get(fd()?, number(2)? as i32, number(3)? as i32)),
            "outq" => {
                let mut count = 0;
                sys::ioctl(fd()?, libc::TIOCOUTQ, &mut count);
                Some(count.to_string())
            }
            "sleep" => {
                std::thread::sleep(Duration::from_millis(number(1)? as u64));
                Some("0".into())
            }
            _ => None,
        }
    }

    fn connect(&mut self, version: &str, to: SocketAddr, limit_ms: i64) -> String {
        let fd = self.bound(version, libc::SOCK_STREAM, 0);
        sys::set_time_limit(fd, libc::SO_SNDTIMEO, limit_ms);
        let answer = sys::connect(fd, to);
        sys::set_time_limit(fd, libc::SO_SNDTIMEO, LIMIT_MS);
        match answer.0 {
            Ok(_) => self.keep(fd),
            Err(number) => {
                sys::close(fd);
                names::errno(number)
            }
        }
    }

    /// Creates a socket at this host's address and any port, with time limits.
    fn bound(&self, version: &str, kind: i32, protocol: i32) -> i32 {
        let (family, ip) = if version == "6" {
            (libc::AF_INET6, self.addresses[1])
        } else {
            (libc::AF_INET, self.addresses[0])
        };
        let fd = sys::socket(family, kind | libc::SOCK_CLOEXEC, protocol).descriptor();
        sys::set_time_limit(fd, libc::SO_RCVTIMEO, LIMIT_MS);
        sys::set_time_limit(fd, libc::SO_SNDTIMEO, LIMIT_MS);
        sys::bind(fd, SocketAddr::new(ip, 0));
        fd
    }

    fn keep(&mut self, fd: i32) -> String {
        sys::set_time_limit(fd, libc::SO_RCVTIMEO, LIMIT_MS);
        sys::set_time_limit(fd, libc::SO_SNDTIMEO, LIMIT_MS);
        self.sockets.push(fd);
        (self.sockets.len() - 1).to_string()
    }

    fn take(&mut self, words: &[&str]) -> Option<i32> {
        let place = self.sockets.get_mut(words.get(1)?.parse::<usize>().ok()?)?;
        Some(std::mem::replace(place, -1)).filter(|fd| *fd >= 0)
    }
}

fn received(fd: i32, room: usize, flags: i32) -> String {
    let mut room = vec![0; room];
    match sys::recv(fd, &mut room, flags).0 {
        Ok(0) => "EOF".into(),
        Ok(count) => format!("{:?}", String::from_utf8_lossy(&room[..count as usize])),
        Err(number) => names::errno(number),
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        for fd in self.sockets.drain(..).filter(|fd| *fd >= 0) {
            sys::set_linger(fd, true, 0);
            sys::close(fd);
        }
    }
}

/// Receives a datagram. Returns its sender and its text, or the error.
fn received_from(fd: i32) -> Option<String> {
    let mut room = vec![0; 65_536];
    let (answer, peer) = sys::receive_from(fd, &mut room, 0);
    Some(match answer.0 {
        Ok(count) => format!("{} {:?}", peer?, String::from_utf8_lossy(&room[..count as usize])),
        Err(number) => names::errno(number),
    })
}
