//! One connection over TCP: cuts messages out of the stream, and distinguishes the ways in which a
//! connection ends.

use super::backlog::Backlog;
use super::cover::{Cover, Proof};
use super::framing::NoLength;
use super::window::Window;
use super::{KeepAlive, framing, info};
use crate::farewell::Farewell;
use crate::noise::{FIRST, Failed};
use crate::stage::Stage;
use crate::waiting::GATHERED;
use resoa_protocol::lhp::{DisconnectReason, Handed, Identity, Indication, Statistics};
use rustix::fd::{AsFd, BorrowedFd};
use rustix::net::{AddressFamily, SocketFlags, SocketType, connect, socket_with, sockopt};
use std::io::{self, ErrorKind, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::time::{Duration, Instant};

/// Bytes that are read before their messages go to the user, which bounds what a fast sender can
/// make us buffer.
const READ: usize = 256 << 10;
/// Bytes of each `read`.
const GULP: usize = 64 << 10;
/// Most bytes of a client's introduction: 96 of the handshake and 20 of a record, or its key alone.
const INTRODUCTION_OCTETS: usize = 1 << 10;

/// Result of processing a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Progress {
    /// Nothing to do until its socket is ready or its user calls.
    Waits,
    /// There may be more to read already.
    Hurries,
    Over,
}

/// Result of reading.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Filled {
    /// There is no more at the moment.
    All,
    /// There may be more.
    More,
    /// The stream has ended.
    End,
}

/// A connection; see the [module](self).
#[derive(Debug)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a word of another: the user, the server, the wire"
)]
pub(super) struct Link {
    stream: Option<TcpStream>,
    pub(super) stage: Stage,
    cover: Cover,
    /// Received messages and their bytes on the wire; then the same for messages to send.
    inbound: Backlog,
    read: Backlog,
    outbound: Backlog,
    unsent: Backlog,
    /// The first error of any operation. The kernel reports the reason of a break only once; later
    /// writes fail with EPIPE, and later reads find the end of the stream.
    pub(super) broken: Option<io::Error>,
    /// The end of our stream is on the wire, or is queued behind what waits.
    finished: bool,
    farewell: Farewell,
    pub(super) window: Window,
    /// Silence that counts as an outage.
    silence: Duration,
    /// When the connection began.
    pub(super) since: Instant,
    /// Our user was told to stop.
    full: bool,
    /// Our user wants messages at the moment.
    pub(super) wanted: bool,
    /// The client's first message may be processed. That takes time, of which strangers have a
    /// limited share.
    pub(super) reckons: bool,
}

impl Link {
    fn new(stream: Option<TcpStream>, stage: Stage, keep_alive: KeepAlive) -> Self {
        Self {
            stream,
            stage,
            cover: Cover::Plain,
            inbound: Backlog::default(),
            read: Backlog::default(),
            outbound: Backlog::default(),
            unsent: Backlog::default(),
            broken: None,
            finished: false,
            farewell: Farewell::default(),
            window: Window::default(),
            silence: keep_alive.interval * keep_alive.questions,
            since: Instant::now(),
            full: false,
            wanted: true,
            reckons: false,
        }
    }

    pub(super) fn ended(why: DisconnectReason) -> Self {
        Self::new(None, Stage::Over(why), KeepAlive::default())
    }

    fn covered(mut self, proof: &Proof) -> io::Result<Self> {
        self.cover = Cover::new(proof, self.unsent.behind()).map_err(io::Error::other)?;
        Ok(self)
    }

    pub(super) fn accepted(stream: TcpStream, proof: &Proof, keep_alive: KeepAlive) -> io::Result<Self> {
        prepare(&stream, keep_alive)?;
        stream.set_nonblocking(true)?;
        Self::new(Some(stream), Stage::Unknown, keep_alive).covered(proof)
    }

    pub(super) fn connecting(
        address: SocketAddr,
        identity: &Identity,
        proof: &Proof,
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
        let mut link = Self::new(Some(stream), Stage::Asking, keep_alive).covered(proof)?;
        link.write(&identity.0);
        Ok(link)
    }

    pub(super) fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        self.stream.as_ref().map(AsFd::as_fd)
    }

    fn write(&mut self, message: &[u8]) {
        framing::write(message, &mut self.outbound);
    }

    /// Sends a message now, or as soon as there is room.
    ///
    /// If it `may_wait`, and little waits already, it waits for [`let_go`](Self::let_go). Returns
    /// false if it is the first message that waits for that.
    pub(super) fn send(&mut self, message: &[u8], may_wait: bool) -> bool {
        if self.stage != Stage::Up {
            return true;
        }
        let is_first = self.outbound.is_empty();
        self.write(message);
        if may_wait && self.outbound.len() < GATHERED {
            return !is_first;
        }
        self.let_go();
        true
    }

    /// Sends the messages that were collected. If the connection turns out to be over, the next
    /// pass reports it.
    pub(super) fn let_go(&mut self) {
        self.flush();
    }

    /// Returns whether more messages are taken while at most `room` bytes wait. A user that was
    /// told to stop must wait for `On`.
    pub(super) fn stop_at(&mut self, room: usize) -> Handed {
        self.full |= self.waiting() >= room;
        if self.full { Handed::TakenLast } else { Handed::Taken }
    }

    /// Returns the number of bytes that the kernel has not taken yet.
    fn waiting(&self) -> usize {
        self.outbound.len() + self.unsent.len()
    }

    pub(super) fn close(&mut self) {
        self.stage = Stage::Closing;
        self.flush();
    }

    /// Returns until when a client waits to be accepted. Keep-alive probes cannot replace this,
    /// because the kernel answers them even if the server process says nothing.
    fn patience(&self) -> Option<Instant> {
        (self.stage == Stage::Asking).then(|| self.since + self.silence)
    }

    /// Returns when the connection must be processed even if nothing happens.
    pub(super) fn deadline(&self) -> Option<Instant> {
        self.farewell.due().into_iter().chain(self.window.due(self.silence)).chain(self.patience()).min()
    }

    pub(super) fn reset(self) {
        if let Some(stream) = &self.stream {
            // This fails if the connection is gone, and then nobody needs to be told.
            let _ = sockopt::set_socket_linger(stream, Some(Duration::ZERO));
        }
    }

    fn flush(&mut self) {
        let Some(mut stream) = self.stream.as_ref() else { return };
        self.cover.seal(&mut self.outbound, &mut self.unsent);
        if self.stage == Stage::Closing && !self.finished {
            // It cannot be sent during the handshake.
            self.finished = self.cover.finish(&mut self.unsent);
        }
        while !self.unsent.is_empty() {
            match stream.write(self.unsent.waiting()) {
                Ok(count) => self.unsent.gone(count),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                // A socket that is not connected yet also ends up here.
                Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                Err(error) => {
                    self.broken.get_or_insert(error);
                    break;
                }
            }
        }
        if self.finished && self.waiting() == 0 {
            // If this fails, the other side has the end already, or has gone.
            let _ = stream.shutdown(Shutdown::Write);
        }
    }

    /// Sends and receives what it can. Returns whether the connection goes on, and if so, whether
    /// there may be more to read at once.
    pub(super) fn progress(&mut self, happened: &mut Vec<Indication>) -> Progress {
        if let Stage::Over(why) = self.stage {
            happened.push(Indication::Disconnected(why));
            return Progress::Over;
        }
        self.flush();
        if let Some(stream) =
            self.stream.as_ref().filter(|_| matches!(self.stage, Stage::Up | Stage::Closing))
        {
            self.window.look(stream, self.silence, Instant::now());
        }
        if self.full && self.waiting() == 0 {
            self.full = false;
            if self.stage == Stage::Up {
                happened.push(Indication::On);
            }
        }
        if !self.wanted && self.stage != Stage::Closing {
            return self.look(happened);
        }
        // Read first: messages that arrived before the end are delivered before it is reported.
        let filled = self.fill();
        let uncovered = self.uncover();
        let end = match (uncovered, self.broken.take()) {
            // Nothing behind this can be trusted. The exception is the server's answer that it does
            // not accept this client.
            (Err(Failed::Forged), _) => Some(DisconnectReason::Unreachable),
            (Err(Failed::TurnedAway), _) => Some(DisconnectReason::Reset),
            (Ok(()), Some(error)) => Some(self.cover.break_of_stream(&error)),
            (Ok(()), None) => (filled == Filled::End).then(|| self.cover.end_of_stream()),
        };
        let end = self.messages(happened).or(end);
        let says_too_much =
            self.stage == Stage::Unknown && self.read.len() + self.inbound.len() >= INTRODUCTION_OCTETS;
        let end = end.or(says_too_much.then_some(DisconnectReason::Reset));
        let is_late = self.patience().is_some_and(|due| due <= Instant::now());
        let end = end.or(is_late.then_some(DisconnectReason::Unreachable));
        match end {
            Some(_) if self.stage == Stage::Closing || self.stage == Stage::Unknown => Progress::Over,
            Some(why) => {
                happened.push(Indication::Disconnected(why));
                Progress::Over
            }
            None if self.stage == Stage::Closing && self.is_left() => Progress::Over,
            None if filled == Filled::More => Progress::Hurries,
            None => Progress::Waits,
        }
    }

    /// Checks for a broken connection while the user wants no messages. The end of a stream can
    /// wait, because it is behind messages. A break is reported at once and loses the messages that
    /// wait, as with every carrier.
    fn look(&mut self, happened: &mut Vec<Indication>) -> Progress {
        let stream = self.stream.as_ref();
        let told = || stream.and_then(|stream| stream.take_error().ok().flatten());
        let Some(error) = self.broken.take().or_else(told) else { return Progress::Waits };
        happened.push(Indication::Disconnected(self.cover.break_of_stream(&error)));
        Progress::Over
    }

    /// Returns whether our user has closed the connection and the other side has had its time to
    /// end it too.
    ///
    /// If the other side's kernel has everything, the connection is forgotten without a reset,
    /// because its user may not have read everything yet.
    fn is_left(&mut self) -> bool {
        let Some(stream) = &self.stream else { return true };
        let left = self.waiting() as u64 + info::unacknowledged(stream);
        let is_over = self.farewell.is_over(left, Instant::now(), self.silence);
        if is_over && left > 0 {
            let _ = sockopt::set_socket_linger(stream, Some(Duration::ZERO));
        }
        is_over
    }

    /// Returns whether a client's first message has arrived and may not be processed yet.
    pub(super) fn is_to_be_reckoned(&self) -> bool {
        self.cover.is_listening() && self.read.len() >= FIRST && !self.reckons
    }

    fn uncover(&mut self) -> Result<(), Failed> {
        if self.cover.is_listening() && !self.reckons {
            return Ok(());
        }
        let mut said = Vec::new();
        let outcome = self.cover.open(&mut self.read, &mut self.inbound, &mut said);
        self.unsent.behind().extend(said);
        // The answer of the handshake goes first, then what waited for it, and both before a failed
        // connection is dropped.
        self.flush();
        outcome
    }

    /// Reads what there is, up to the limit of what is buffered.
    pub(super) fn fill(&mut self) -> Filled {
        let Some(mut stream) = self.stream.as_ref() else { return Filled::All };
        let room = if self.stage == Stage::Unknown { INTRODUCTION_OCTETS } else { READ };
        while self.read.len() < room {
            let gulp = GULP.min(room);
            let buffer = self.read.behind();
            let begin = buffer.len();
            buffer.resize(begin + gulp, 0);
            let outcome = stream.read(&mut buffer[begin..]);
            buffer.truncate(begin + outcome.as_ref().map_or(0, |count| *count));
            match outcome {
                Ok(0) => return Filled::End,
                Ok(_) => {}
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Filled::All,
                Err(error) => {
                    self.broken.get_or_insert(error);
                    return Filled::End;
                }
            }
        }
        Filled::More
    }

    /// Delivers the complete messages. A length that is too long ends the connection, because
    /// nothing behind it can be trusted.
    fn messages(&mut self, happened: &mut Vec<Indication>) -> Option<DisconnectReason> {
        loop {
            let message = match framing::next(&mut self.inbound) {
                Ok(Some(message)) => message,
                Ok(None) => return None,
                Err(NoLength) => return Some(DisconnectReason::Reset),
            };
            match self.stage {
                Stage::Unknown => {
                    self.stage = Stage::Offered;
                    let proved = self.cover.client().map(|key| key.0.to_vec());
                    happened.push(Indication::Connect { identity: Identity(proved.unwrap_or(message)) });
                }
                Stage::Asking => {
                    self.stage = Stage::Up;
                    happened.push(Indication::Connected);
                }
                Stage::Offered | Stage::Up => happened.push(Indication::Data(message)),
                Stage::Closing | Stage::Over(_) | Stage::Gone => {}
            }
        }
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

/// Prepares a socket: messages are sent without delay, and both sides detect an outage, whether or
/// not they have data to send.
fn prepare(stream: &TcpStream, keep_alive: KeepAlive) -> io::Result<()> {
    let KeepAlive { interval, questions } = keep_alive;
    sockopt::set_tcp_nodelay(stream, true)?;
    sockopt::set_socket_keepalive(stream, true)?;
    sockopt::set_tcp_keepidle(stream, interval)?;
    sockopt::set_tcp_keepintvl(stream, interval)?;
    sockopt::set_tcp_keepcnt(stream, questions)?;
    Ok(sockopt::set_tcp_user_timeout(stream, (interval * questions).as_millis() as u32)?)
}
