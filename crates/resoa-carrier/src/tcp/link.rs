//! One connection of the baseline carrier: messages are cut out of the stream, and ends told apart.

use super::KeepAlive;
use super::info;
use resoa_protocol::lhp::{Ended, Handed, Identity, Indication, Statistics};
use resoa_protocol::message::MESSAGE_OCTETS;
use rustix::fd::{AsFd, BorrowedFd};
use rustix::net::{AddressFamily, SocketFlags, SocketType, connect, socket_with, sockopt};
use std::io::{self, ErrorKind, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::time::Duration;

/// Octets of the length in front of a message.
const LENGTH: usize = 4;

/// How far a connection has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stage {
    /// The client waits to be taken.
    Asking,
    /// The server waits to be told who it is.
    Unknown,
    /// The server's user has not said whether it takes the client.
    Offered,
    Up,
    /// Nothing more is sent behind what is waiting; the other side has still to end.
    Closing,
    /// It never was, or is not any more.
    Over(Ended),
}

/// A connection; see the [module](self).
#[derive(Debug)]
pub(super) struct Link {
    stream: Option<TcpStream>,
    pub(super) stage: Stage,
    inbound: Vec<u8>,
    outbound: Vec<u8>,
    /// Our user was told to stop.
    full: bool,
    /// Our user wants messages at the moment.
    pub(super) wanted: bool,
}

impl Link {
    fn new(stream: Option<TcpStream>, stage: Stage) -> Self {
        Self { stream, stage, inbound: Vec::new(), outbound: Vec::new(), full: false, wanted: true }
    }

    pub(super) fn ended(why: Ended) -> Self {
        Self::new(None, Stage::Over(why))
    }

    pub(super) fn accepted(stream: TcpStream, keep_alive: KeepAlive) -> io::Result<Self> {
        prepare(&stream, keep_alive)?;
        stream.set_nonblocking(true)?;
        Ok(Self::new(Some(stream), Stage::Unknown))
    }

    pub(super) fn connecting(
        address: SocketAddr,
        identity: &Identity,
        keep_alive: KeepAlive,
    ) -> io::Result<Self> {
        let family = if address.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
        let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
        let stream = TcpStream::from(socket_with(family, SocketType::STREAM, flags, None)?);
        prepare(&stream, keep_alive)?;
        match connect(&stream, &address) {
            Ok(()) | Err(rustix::io::Errno::INPROGRESS) => {}
            Err(error) => return Err(error.into()),
        }
        let mut link = Self::new(Some(stream), Stage::Asking);
        link.write(&identity.0);
        Ok(link)
    }

    pub(super) fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        self.stream.as_ref().map(AsFd::as_fd)
    }

    fn write(&mut self, message: &[u8]) {
        self.outbound.extend((message.len() as u32).to_be_bytes());
        self.outbound.extend(message);
    }

    /// Sends a message, now or when there is room for it. If that shows the connection to be over, the next look at it does, too.
    pub(super) fn send(&mut self, message: &[u8]) {
        if self.stage == Stage::Up {
            self.write(message);
            let _ = self.flush();
        }
    }

    /// Whether more is taken, if so much may wait.
    pub(super) fn stop_at(&mut self, room: usize) -> Handed {
        self.full = self.outbound.len() >= room;
        if self.full { Handed::TakenLast } else { Handed::Taken }
    }

    pub(super) fn close(&mut self) {
        self.stage = Stage::Closing;
        let _ = self.flush();
    }

    pub(super) fn reset(self) {
        if let Some(stream) = &self.stream {
            // If it has no connection any more there is nobody to be told.
            let _ = sockopt::set_socket_linger(stream, Some(Duration::ZERO));
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        let Some(mut stream) = self.stream.as_ref() else { return Ok(()) };
        let mut sent = 0;
        let outcome = loop {
            match stream.write(&self.outbound[sent..]) {
                Ok(_) if sent == self.outbound.len() => break Ok(()),
                Ok(count) => sent += count,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                // Not connected yet looks the same.
                Err(error) if error.kind() == ErrorKind::WouldBlock => break Ok(()),
                Err(error) => break Err(error),
            }
        };
        self.outbound.drain(..sent);
        if self.stage == Stage::Closing && self.outbound.is_empty() {
            // The other side has it, or has gone.
            let _ = stream.shutdown(Shutdown::Write);
        }
        outcome
    }

    /// Sends and takes what there is; whether the connection goes on.
    pub(super) fn progress(&mut self, happened: &mut Vec<Indication>) -> bool {
        if let Stage::Over(why) = self.stage {
            happened.push(Indication::Disconnected(why));
            return false;
        }
        let sent = self.flush();
        if self.full && self.outbound.is_empty() {
            self.full = false;
            happened.push(Indication::On);
        }
        if !self.wanted {
            return true;
        }
        // What came before the end is told before it.
        let end = self.fill().and_then(|end| sent.map(|()| end)).unwrap_or_else(|error| Some(reason(&error)));
        let end = self.messages(happened).or(end);
        match end {
            Some(_) if self.stage == Stage::Closing || self.stage == Stage::Unknown => false,
            Some(why) => {
                happened.push(Indication::Disconnected(why));
                false
            }
            None => true,
        }
    }

    /// Reads what there is; how it ended, if it did.
    fn fill(&mut self) -> io::Result<Option<Ended>> {
        let Some(mut stream) = self.stream.as_ref() else { return Ok(None) };
        let mut buffer = [0; 16 << 10];
        loop {
            match stream.read(&mut buffer) {
                Ok(0) => return Ok(Some(Ended::Closed)),
                Ok(count) => self.inbound.extend(&buffer[..count]),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(None),
                Err(error) => return Err(error),
            }
        }
    }

    /// Tells the messages that are whole. One that is too long is the end: nothing behind it can be trusted.
    fn messages(&mut self, happened: &mut Vec<Indication>) -> Option<Ended> {
        let mut begin = 0;
        let mut end = None;
        while let Some(length) = self.inbound[begin..].first_chunk::<LENGTH>() {
            let length = u32::from_be_bytes(*length) as usize;
            if length > MESSAGE_OCTETS {
                end = Some(Ended::Reset);
                break;
            }
            let Some(message) = self.inbound.get(begin + LENGTH..begin + LENGTH + length) else { break };
            let message = message.to_vec();
            begin += LENGTH + length;
            match self.stage {
                Stage::Unknown => {
                    self.stage = Stage::Offered;
                    happened.push(Indication::Connect { identity: Identity(message) });
                }
                Stage::Asking => {
                    self.stage = Stage::Up;
                    happened.push(Indication::Connected);
                }
                Stage::Offered | Stage::Up => happened.push(Indication::Data(message)),
                Stage::Closing | Stage::Over(_) => {}
            }
        }
        self.inbound.drain(..begin);
        end
    }

    pub(super) fn statistics(&self) -> Option<Statistics> {
        let stream = self.stream.as_ref()?;
        let info = info::of(stream).ok()?;
        Some(Statistics {
            round_trip: (info.tcpi_rtt > 0).then(|| Duration::from_micros(info.tcpi_rtt.into())),
            healthy: info.tcpi_retransmits == 0,
            retransmissions: info.tcpi_total_retrans.into(),
        })
    }
}

/// Messages are sent at once, and an outage is found out by both sides, whether they have something to say or not.
fn prepare(stream: &TcpStream, keep_alive: KeepAlive) -> io::Result<()> {
    let KeepAlive { interval, questions } = keep_alive;
    sockopt::set_tcp_nodelay(stream, true)?;
    sockopt::set_socket_keepalive(stream, true)?;
    sockopt::set_tcp_keepidle(stream, interval)?;
    sockopt::set_tcp_keepintvl(stream, interval)?;
    sockopt::set_tcp_keepcnt(stream, questions)?;
    Ok(sockopt::set_tcp_user_timeout(stream, (interval * questions).as_millis() as u32)?)
}

fn reason(error: &io::Error) -> Ended {
    match error.kind() {
        ErrorKind::ConnectionReset | ErrorKind::ConnectionRefused | ErrorKind::BrokenPipe => Ended::Reset,
        _ => Ended::Unreachable,
    }
}
