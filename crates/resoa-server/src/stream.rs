//! A connection of the kernel's: what is to be sent, what was seen of what arrived, and what the
//! far host has acknowledged.
//!
//! * *Receiving.* Each octet is peeked at once (SO_PEEK_OFF) and thrown away (MSG_TRUNC) when the
//!   program has read it. Until then it is in the socket's buffer, and the kernel advertises the
//!   window that a program which does not read would cause (3.18). If it is still there when the
//!   socket closes, the kernel sends RST, as it should.
//! * *Acknowledgements.* They are read off SIOCOUTQ: whenever the socket has an event, and by the
//!   loop's timer, since an acknowledgement alone causes none. Time stamps of acknowledgements
//!   (SO_TIMESTAMPING) would cause one, but they lie in the socket's receive buffer: they would
//!   take from the window, and none come when the buffer is full, which is when one waits for them.

use crate::{errors, sys, urgent};
use resoa_protocol::{Errno, TcpEvent};
use rustix::fd::AsFd;
use rustix::net::{self, RecvFlags, SendFlags, Shutdown, sockopt};
use std::collections::VecDeque;

/// Our FIN.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fin {
    None,
    /// Behind what the kernel has not taken yet.
    Wanted,
    Sent,
    Acknowledged,
}

/// Octets that wait for room in the kernel's buffer.
#[derive(Debug)]
struct Waiting {
    bytes: Vec<u8>,
    /// So many of them are gone.
    sent: usize,
    /// The last is urgent.
    urgent: bool,
}

/// A connection; see the [module](self).
#[derive(Debug)]
pub(crate) struct Stream {
    outgoing: VecDeque<Waiting>,
    fin: Fin,
    /// Octets that the kernel has taken and nobody was told to be acknowledged.
    unacknowledged: u64,
    /// Octets that were told, and of those that the program has read.
    seen: u64,
    consumed: u64,
    /// Where the urgent octet is that was told last.
    mark: Option<u64>,
    /// The far host's FIN was told.
    ended: bool,
    /// It is not acknowledged before it is released: while it is held, our own FIN waits (rule b of
    /// 8.3). The kernel believes it acknowledged, and would end the connection when ours is, and
    /// refuse the far host's when that comes again.
    holds: bool,
    /// The connection is lost, which was told.
    failed: bool,
}

/// What came of handing octets to the kernel or taking them from it.
type Attempt = Result<(), Errno>;

impl Stream {
    /// `holds`: the far host's FIN is acknowledged when it is [released](Self::release), and not
    /// when it comes.
    pub(crate) fn new(holds: bool) -> Self {
        Self {
            holds,
            outgoing: VecDeque::new(),
            fin: Fin::None,
            unacknowledged: 0,
            seen: 0,
            consumed: 0,
            mark: None,
            ended: false,
            failed: false,
        }
    }

    /// The far host's FIN is acknowledged, or will be as soon as it comes.
    pub(crate) fn release(&mut self) {
        self.holds = false;
    }

    /// Whether the connection was lost.
    pub(crate) fn has_failed(&self) -> bool {
        self.failed
    }

    /// Whether the next look sends FIN, if nothing has arrived by then. There need not be an edge
    /// that brings it about: that of what arrived may be used up.
    pub(crate) fn may_end(&self) -> bool {
        self.fin == Fin::Wanted && self.outgoing.is_empty() && !self.failed && !(self.ended && self.holds)
    }

    /// Whether an acknowledgement will change something.
    pub(crate) fn awaits_acknowledgement(&self) -> bool {
        !self.failed && (self.unacknowledged > 0 || self.fin == Fin::Sent)
    }

    /// Octets of the program. What else there is to be done shows in an edge of its own, and what
    /// is acknowledged when something comes or by the timer.
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

    /// Everything that can be done at the moment, in an order that loses nothing: what arrived
    /// before an error is told before it.
    pub(crate) fn progress(&mut self, fd: impl AsFd, buffer: &mut [u8], events: &mut Vec<TcpEvent>) {
        if self.failed {
            return;
        }
        // A call that is told of an error clears it, and then the end of what can be read looks
        // like a FIN: so nothing is read twice after one.
        let seen = events.len();
        let received = self.receive(&fd, buffer, true, events);
        // A program that has closed will read nothing more, and then RST is the answer: not FIN and
        // then RST. If it is to be FIN, [another look](Self::may_end) sends it.
        let nothing_came = events.len() == seen;
        let outcome = received.and_then(|()| self.hand_over(&fd, buffer, nothing_came, events));
        self.acknowledgements(&fd, events);
        // Behind a FIN nothing is read that could say so.
        let outcome = match outcome {
            Ok(()) if self.ended => sockopt::socket_error(&fd).unwrap_or(Ok(())).map_err(errors::of),
            outcome => outcome,
        };
        self.note(outcome, events);
    }

    /// Hands the kernel what it takes. If the connection is lost, what arrived before that is told
    /// before it.
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
            // Nobody takes it any more, and the program may keep its descriptor.
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

    /// Hands the kernel what it takes, and behind everything FIN.
    fn flush(&mut self, fd: impl AsFd, may_end: bool) -> Attempt {
        while let Some(waiting) = self.outgoing.front_mut() {
            let rest = &waiting.bytes[waiting.sent..];
            // The kernel marks the last octet that it takes, which need not be the last that it is
            // given.
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

    /// Tells what has been acknowledged since this was last asked.
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

    /// The program has read so many octets: they leave the socket, and the window may open.
    pub(crate) fn consume(&mut self, fd: impl AsFd, mut count: usize, buffer: &mut [u8]) {
        while count > 0 {
            let part = count.min(buffer.len());
            // The octets themselves are not copied.
            match net::recv(&fd, &mut buffer[..part], RecvFlags::TRUNC | RecvFlags::DONTWAIT) {
                Ok((_, 0)) => break,
                Ok((_, gone)) => {
                    count -= gone.min(count);
                    self.consumed += gone as u64;
                }
                Err(rustix::io::Errno::INTR) => {}
                // The connection is lost; that it is will be told by the next look at it.
                Err(_) => break,
            }
        }
    }

    /// Tells octets that were peeked at, and in front of the urgent one that it is. The kernel
    /// knows of it before it has it, so it is known by now even if it is among them.
    fn tell(&mut self, fd: impl AsFd, bytes: &[u8], events: &mut Vec<TcpEvent>) {
        let begin = self.seen;
        self.seen += bytes.len() as u64;
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
