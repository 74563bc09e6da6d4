//! The far host: another process in another namespace, on the kernel's own sockets. It carries out
//! the commands of a case and answers each. The connection is an AF_UNIX socket at a path, which no
//! interposer handles, with one line each way per command ([`session`]).

pub mod host;
mod session;

use crate::sys;
use std::io::{self, BufRead, BufReader, Write};
use std::net::{IpAddr, SocketAddr};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

/// Time after which the far host is considered gone. Its own waits are shorter.
const PATIENCE: Duration = Duration::from_secs(50);

/// A connection to the far host, with sockets of its own there. They are reset when it is dropped.
pub struct Far {
    reader: BufReader<UnixStream>,
    writer: UnixStream,
    /// Its IPv4 and IPv6 address.
    pub addresses: [IpAddr; 2],
}

/// A socket of the far host, by its number there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Handle(pub usize);

impl Far {
    /// Connects to the far host.
    ///
    /// # Errors
    /// If nobody listens at the path.
    pub fn reach(path: &Path) -> io::Result<Self> {
        let writer = UnixStream::connect(path)?;
        writer.set_read_timeout(Some(PATIENCE))?;
        let reader = BufReader::new(writer.try_clone()?);
        let mut this = Self { reader, writer, addresses: [IpAddr::from([0, 0, 0, 0]); 2] };
        let hello = this.ask("hello");
        let mut addresses = hello.split(' ').map(|address| address.parse().map_err(io::Error::other));
        for place in &mut this.addresses {
            *place = addresses.next().ok_or(io::ErrorKind::UnexpectedEof)??;
        }
        Ok(this)
    }

    /// Sends a command without waiting for its answer, which [`Far::finish`] returns.
    ///
    /// # Panics
    /// If the far host is gone, because nothing can be compared any more.
    pub fn start(&mut self, command: &str) {
        writeln!(self.writer, "{command}").expect("the far host listens");
    }

    /// Returns the answer to the oldest command that was started.
    ///
    /// # Panics
    /// As [`Far::start`].
    pub fn finish(&mut self) -> String {
        let mut line = String::new();
        self.reader.read_line(&mut line).expect("the far host answers");
        assert!(line.ends_with('\n'), "the far host is gone");
        line.trim_end().to_owned()
    }

    /// Sends a command and returns its answer.
    pub fn ask(&mut self, command: &str) -> String {
        self.start(command);
        self.finish()
    }

    /// Sends a command whose answer is a socket.
    ///
    /// # Panics
    /// If it is not.
    pub fn open(&mut self, command: &str) -> Handle {
        let answer = self.ask(command);
        Handle(
            answer
                .split(' ')
                .next()
                .and_then(|number| number.parse().ok())
                .unwrap_or_else(|| panic!("far `{command}`: {answer}")),
        )
    }

    pub fn address(&self, family: i32, port: u16) -> SocketAddr {
        SocketAddr::new(self.addresses[usize::from(family == libc::AF_INET6)], port)
    }

    /// Returns the port of a socket there.
    ///
    /// # Panics
    /// If it has none.
    pub fn port(&mut self, handle: Handle) -> u16 {
        self.ask(&format!("port {}", handle.0)).parse().expect("a port")
    }

    /// Opens a listener there. Returns it and its address.
    pub fn listen(&mut self, family: i32, backlog: i32) -> (Handle, SocketAddr) {
        let handle = self.open(&format!("listen {} {backlog}", version(family)));
        let port = self.port(handle);
        (handle, self.address(family, port))
    }

    /// Accepts the next connection of a listener there.
    pub fn accept(&mut self, listener: Handle) -> Handle {
        self.open(&format!("accept {}", listener.0))
    }
}

/// Returns the IP version: 4 or 6.
pub fn version(family: i32) -> u8 {
    if family == libc::AF_INET6 { 6 } else { 4 }
}

/// Returns byte `at` of every long transfer. It depends on the position, so that loss, duplication
/// and reordering are detected.
pub fn pattern(at: u64) -> u8 {
    (at.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 56) as u8
}

/// Reads to the end of a stream and checks the pattern. Returns the number of bytes, whether they
/// are intact, and how the stream ended.
pub fn drain(fd: i32) -> String {
    let mut room = vec![0; 64 * 1024];
    let (mut total, mut wrong) = (0_u64, None);
    let end = loop {
        match sys::recv(fd, &mut room, 0).0 {
            Ok(0) => break "EOF".to_owned(),
            Ok(count) => {
                for octet in &room[..count as usize] {
                    if *octet != pattern(total) && wrong.is_none() {
                        wrong = Some(total);
                    }
                    total += 1;
                }
            }
            Err(number) => break crate::names::errno(number),
        }
    };
    let state = wrong.map_or("intact".to_owned(), |place| format!("wrong from octet {place}"));
    format!("{total} octets, {state}, {end}")
}

/// Sends `count` bytes of the pattern. Returns the number of bytes sent, and the error if there was
/// one.
pub fn flood(fd: i32, count: u64, flags: i32) -> String {
    let mut sent = 0;
    while sent < count {
        let chunk: Vec<u8> = (sent..count.min(sent + 65_536)).map(pattern).collect();
        match sys::send(fd, &chunk, flags | libc::MSG_NOSIGNAL).0 {
            Ok(done) => sent += done as u64,
            Err(number) => return format!("{sent} octets, {}", crate::names::errno(number)),
        }
    }
    format!("{sent} octets")
}
