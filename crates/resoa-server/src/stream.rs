//! A TCP connection of the kernel: data to send, data that was peeked at, and acknowledgements of
//! the far host.
//!
//! * *Receiving.* Data is peeked at as soon as it arrives (SO_PEEK_OFF), and discarded (MSG_TRUNC)
//!   when the program has read it. Until then it stays in the socket's buffer. So the kernel
//!   advertises the window of a program that does not read (3.18). If data is left when the socket
//!   closes, the kernel sends RST, as it should.
//! * *Window.* It grows with its [reader], as that of a program on this host would.
//! * *Acknowledgements.* They are read with SIOCOUTQ whenever the socket has an event, and by a
//!   timer of the loop, since an acknowledgement alone causes no event. Time stamps of
//!   acknowledgements (SO_TIMESTAMPING) would cause one, but they use the socket's receive buffer.
//!   They would reduce the window, and would stop when the buffer is full, which is when they are
//!   needed.

mod reader;

use crate::{errors, options, sys, urgent};
use reader::Reader;
use resoa_protocol::{Errno, TcpEvent};
use rustix::fd::AsFd;
use rustix::net::{self, RecvFlags, SendFlags, Shutdown, sockopt};
use std::collections::VecDeque;
use std::time::Instant;

/// State of our own FIN.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fin {
    None,
    /// To be sent behind the data that the kernel has not taken yet.
    Wanted,
    Sent,
    Acknowledged,
}

/// Bytes that wait for room in the kernel's send buffer.
#[derive(Debug)]
struct Waiting {
    bytes: Vec<u8>,
    /// Number of these bytes that were sent.
    sent: usize,
    /// The last byte is urgent.
    urgent: bool,
}

/// A connection; see the [module](self).
#[derive(Debug)]
pub(crate) struct Stream {
    outgoing: VecDeque<Waiting>,
    fin: Fin,
    /// Bytes that the kernel has taken and that were not reported as acknowledged.
    unacknowledged: u64,
    /// Bytes that were reported, and those of them that the program has read.
    seen: u64,
    consumed: u64,
    reader: Reader,
    /// Position of the urgent byte that was reported last.
    mark: Option<u64>,
    /// The far host's FIN was reported.
    ended: bool,
    /// The FIN is not acknowledged before its release, and while it is held our own FIN waits (rule
    /// b of 8.3). The kernel believes that it has acknowledged the FIN. So it would end the
    /// connection when our FIN is acknowledged, and refuse the far host's FIN when that comes
    /// again.
    holds: bool,
    /// The connection is lost, and this was reported.
    failed: bool,
}

/// Outcome of sending to the kernel or receiving from it.
type Attempt = Result<(), Errno>;

impl Stream {
    /// Creates the state of a new connection. With `holds`, the far host's FIN is acknowledged at
    /// its [release](Self::release) and not on arrival.
    pub(crate) fn new(holds: bool) -> Self {
        Self {
            holds,
            outgoing: VecDeque::new(),
            fin: Fin::None,
            unacknowledged: 0,
            seen: 0,
            consumed: 0,
            reader: Reader::new(),
            mark: None,
            ended: false,
            failed: false,
        }
    }

    /// Records that the far host's FIN is acknowledged, or will be on arrival.
    pub(crate) fn release(&mut self) {
        self.holds = false;
    }

    /// Whether the connection was lost.
    pub(crate) fn has_failed(&self) -> bool {
        self.failed
    }

    /// Whether the next look sends FIN, unless data arrives before it. There may be no edge for
    /// that look, because the data that arrived has used it up.
    pub(crate) fn may_end(&self) -> bool {
        self.fin == Fin::Wanted && self.outgoing.is_empty() && !self.failed && !(self.ended && self.holds)
    }

    /// Whether an acknowledgement is still expected.
    pub(crate) fn awaits_acknowledgement(&self) -> bool {
        !self.failed && (self.unacknowledged > 0 || self.fin == Fin::Sent)
    }

    /// Sends bytes of the program. Everything else has an edge of its own; acknowledgements are
    /// read at the next event or by the timer.
    pub(crate) fn send(
        &mut self,
        (bytes, urgent): (Vec<u8>, bool),
        fd: impl AsFd,
        buffer: &mut [u8],
        events: &mut Vec<TcpEvent>,
    ) {
        self.outgoing.push_back(Waiting { bytes, sent: 0, urgent });
        if !self.failed {
            let outcome = self.hand_over(fd, buffer, false, events);
            self.note(outcome, events);
        }
    }

    pub(crate) fn finish(&mut self) {
        if self.fin == Fin::None {
            self.fin = Fin::Wanted;
        }
    }

    /// Does everything that can be done at the moment, in an order that loses nothing: data that
    /// arrived before an error is reported before it.
    pub(crate) fn progress(&mut self, fd: impl AsFd, buffer: &mut [u8], events: &mut Vec<TcpEvent>) {
        if self.failed {
            return;
        }
        // A call that returns an error clears it. After that, the end of the available data looks
        // like a FIN. So nothing is read again after an error.
        let seen = events.len();
        let received = self.receive(&fd, buffer, true, events);
        // If data has arrived for a program that has closed, the answer has to be RST alone, and
        // not FIN and then RST. If FIN is right, [another look](Self::may_end) sends it.
        let nothing_came = events.len() == seen;
        let outcome = received.and_then(|()| self.hand_over(&fd, buffer, nothing_came, events));
        self.acknowledgements(&fd, events);
        // After a FIN no read takes place that could return the error.
        let outcome = match outcome {
            Ok(()) if self.ended => sockopt::socket_error(&fd).unwrap_or(Ok(())).map_err(errors::of),
            outcome => outcome,
        };
        self.note(outcome, events);
    }

    /// Passes data to the kernel. If the connection is lost, data that arrived before that is
    /// reported first.
    fn hand_over(
        &mut self,
        fd: impl AsFd,
        buffer: &mut [u8],
        may_end: bool,
        events: &mut Vec<TcpEvent>,
    ) -> Attempt {
        let flushed = self.flush(&fd, may_end);
        if flushed.is_err() {
            let _ = self.receive(&fd, buffer, false, events);
        }
        flushed
    }

    fn note(&mut self, outcome: Attempt, events: &mut Vec<TcpEvent>) {
        if let Err(error) = outcome {
            self.failed = true;
            // The data will not be sent any more, and the program may keep its descriptor for long.
            self.outgoing.clear();
            events.push(TcpEvent::Failed(error));
        }
    }

    fn receive(
        &mut self,
        fd: impl AsFd,
        buffer: &mut [u8],
        tells_end: bool,
        events: &mut Vec<TcpEvent>,
    ) -> Attempt {
        while !self.ended {
            match net::recv(&fd, &mut *buffer, RecvFlags::PEEK | RecvFlags::DONTWAIT) {
                Ok((0, _)) => {
                    if tells_end {
                        self.ended = true;
                        events.push(TcpEvent::FinReceived);
                    }
                    break;
                }
                Ok((count, _)) => self.tell(&fd, &buffer[..count], events),
                Err(rustix::io::Errno::AGAIN) => break,
                Err(rustix::io::Errno::INTR) => {}
                Err(error) => return Err(errors::of(error)),
            }
        }
        Ok(())
    }

    /// Passes data to the kernel as far as it takes it, and then FIN.
    fn flush(&mut self, fd: impl AsFd, may_end: bool) -> Attempt {
        while let Some(waiting) = self.outgoing.front_mut() {
            let rest = &waiting.bytes[waiting.sent..];
            // The kernel marks the last byte that it takes as urgent, which need not be the last
            // byte that was passed. So the urgent byte is sent on its own.
            let (part, flags) = match rest {
                [_] if waiting.urgent => (rest, SendFlags::OOB),
                [front @ .., _] if waiting.urgent => (front, SendFlags::empty()),
                _ => (rest, SendFlags::empty()),
            };
            match net::send(&fd, part, flags | SendFlags::NOSIGNAL | SendFlags::DONTWAIT) {
                Ok(count) => {
                    waiting.sent += count;
                    self.unacknowledged += count as u64;
                    if waiting.sent == waiting.bytes.len() {
                        self.outgoing.pop_front();
                    }
                }
                Err(rustix::io::Errno::AGAIN) => return Ok(()),
                Err(rustix::io::Errno::INTR) => {}
                Err(error) => return Err(errors::of(error)),
            }
        }
        if self.fin == Fin::Wanted && may_end && !(self.ended && self.holds) {
            net::shutdown(&fd, Shutdown::Write).map_err(errors::of)?;
            self.fin = Fin::Sent;
        }
        Ok(())
    }

    /// Reports bytes acknowledged since the last call.
    pub(crate) fn acknowledgements(&mut self, fd: impl AsFd, events: &mut Vec<TcpEvent>) {
        if !self.awaits_acknowledgement() {
            return;
        }
        let Ok(left) = sys::unacknowledged(fd.as_fd()) else { return };
        // FIN is the last to be acknowledged.
        let octets = u64::from(left.saturating_sub(u32::from(self.fin == Fin::Sent)));
        let acknowledged = self.unacknowledged.saturating_sub(octets);
        if acknowledged > 0 {
            self.unacknowledged -= acknowledged;
            events.push(TcpEvent::Acknowledged(acknowledged as u32));
        }
        if self.fin == Fin::Sent && left == 0 {
            self.fin = Fin::Acknowledged;
            events.push(TcpEvent::FinAcknowledged);
        }
    }

    /// Discards bytes that the program has read, so that the window may open, and lets it grow if
    /// the program reads as fast as it allows.
    pub(crate) fn consume(&mut self, fd: impl AsFd, mut count: usize, buffer: &mut [u8]) {
        while count > 0 {
            let part = count.min(buffer.len());
            // With MSG_TRUNC the bytes are not copied.
            match net::recv(&fd, &mut buffer[..part], RecvFlags::TRUNC | RecvFlags::DONTWAIT) {
                Ok((_, 0)) => break,
                Ok((_, gone)) => {
                    count -= gone.min(count);
                    self.consumed += gone as u64;
                }
                Err(rustix::io::Errno::INTR) => {}
                // The connection is lost. The next look reports that.
                Err(_) => break,
            }
        }
        let round_trip = || sys::round_trip(fd.as_fd());
        if let Some(window) = self.reader.read(self.consumed, Instant::now(), round_trip) {
            options::make_window(fd.as_fd(), window);
        }
    }

    /// Reports bytes that were peeked at, and the urgent mark in front of the urgent byte. The
    /// kernel knows of the mark before it has the byte, so the mark is known here even if the byte
    /// is among these.
    fn tell(&mut self, fd: impl AsFd, bytes: &[u8], events: &mut Vec<TcpEvent>) {
        let begin = self.seen;
        self.seen += bytes.len() as u64;
        self.reader.arrived(self.seen, Instant::now());
        let mark = urgent::distance(fd).map(|distance| self.consumed + distance);
        let mut rest = bytes;
        if let Some(mark) = mark
            && mark >= begin
            && self.mark.replace(mark) != Some(mark)
        {
            let (front, behind) = bytes.split_at(bytes.len().min((mark - begin) as usize));
            if !front.is_empty() {
                events.push(TcpEvent::Received(front.to_vec()));
            }
            events.push(TcpEvent::Urgent { ahead: mark.saturating_sub(self.seen) as u32 });
            rest = behind;
        }
        if !rest.is_empty() {
            events.push(TcpEvent::Received(rest.to_vec()));
        }
    }
}
