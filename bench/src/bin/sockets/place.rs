//! TCP addresses and AF_UNIX paths, and streams of both.

use rustix::net::sockopt;
use std::io::{self, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::PathBuf;
use std::str::FromStr;

/// An address to listen on or connect to.
#[derive(Debug, Clone)]
pub enum SocketAddress {
    Tcp(SocketAddr),
    Unix(PathBuf),
}

impl FromStr for SocketAddress {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.strip_prefix("unix:") {
            Some(path) => Ok(Self::Unix(path.into())),
            None => text
                .parse()
                .map(Self::Tcp)
                .map_err(|_| format!("`{text}` is not an address: write 192.0.2.1:4000 or unix:PATH")),
        }
    }
}

/// A stream of either kind.
#[derive(Debug)]
pub enum Stream {
    Tcp(TcpStream),
    Unix(UnixStream),
}

/// A listener of either kind.
#[derive(Debug)]
pub enum Listener {
    Tcp(TcpListener),
    Unix(UnixListener),
}

impl SocketAddress {
    pub fn listen(&self) -> io::Result<Listener> {
        Ok(match self {
            Self::Tcp(address) => Listener::Tcp(TcpListener::bind(address)?),
            Self::Unix(path) => Listener::Unix(UnixListener::bind(path)?),
        })
    }

    /// Connects, and sends small writes at once (no Nagle algorithm).
    pub fn connect(&self, congestion: Option<&str>) -> io::Result<Stream> {
        Ok(match self {
            Self::Tcp(address) => Stream::of(TcpStream::connect(address)?, congestion)?,
            Self::Unix(path) => Stream::Unix(UnixStream::connect(path)?),
        })
    }
}

impl Listener {
    pub fn accept(&self, congestion: Option<&str>) -> io::Result<Stream> {
        Ok(match self {
            Self::Tcp(listener) => Stream::of(listener.accept()?.0, congestion)?,
            Self::Unix(listener) => Stream::Unix(listener.accept()?.0),
        })
    }
}

impl Stream {
    fn of(stream: TcpStream, congestion: Option<&str>) -> io::Result<Self> {
        stream.set_nodelay(true)?;
        if let Some(congestion) = congestion {
            sockopt::set_tcp_congestion(&stream, congestion)?;
        }
        Ok(Self::Tcp(stream))
    }

    pub fn try_clone(&self) -> io::Result<Self> {
        Ok(match self {
            Self::Tcp(stream) => Self::Tcp(stream.try_clone()?),
            Self::Unix(stream) => Self::Unix(stream.try_clone()?),
        })
    }

    pub fn shutdown(&self, how: Shutdown) -> io::Result<()> {
        match self {
            Self::Tcp(stream) => stream.shutdown(how),
            Self::Unix(stream) => stream.shutdown(how),
        }
    }
}

impl Read for Stream {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Tcp(stream) => stream.read(buffer),
            Self::Unix(stream) => stream.read(buffer),
        }
    }
}

impl Write for Stream {
    fn write(&mut self, octets: &[u8]) -> io::Result<usize> {
        match self {
            Self::Tcp(stream) => stream.write(octets),
            Self::Unix(stream) => stream.write(octets),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
