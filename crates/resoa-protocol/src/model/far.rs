//! A TCP connection between the server and a far host, the far host's socket, and its program: a
//! reference that is independent of the rest.
//!
//! As in the thesis's model (7.4.3) there is no loss: bytes are acknowledged as they arrive, and
//! windows are announced in steps. The server's side is a TCP that meets the two additional
//! requirements (`tcp.rs`).

use crate::Errno;
use crate::tcp::{TcpAction, TcpEvent};
use std::collections::VecDeque;

/// Both sides of a connection, and the segments between them.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Connection {
    pub(super) near: Side,
    pub(super) far: Side,
    to_near: VecDeque<Segment>,
    to_far: VecDeque<Segment>,
    pub(super) program: Program,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum Segment {
    Data(Vec<u8>),
    Fin,
    Acknowledgement(u32),
    FinAcknowledgement,
    Window(u32),
    Rst,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Fin {
    None,
    Wanted,
    Sent,
    Acknowledged,
}

/// TCP of one side.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
#[expect(clippy::struct_excessive_bools, reason = "each is a state variable of its own")]
pub(super) struct Side {
    queue: VecDeque<u8>,
    /// Bytes for which the other side's window still has room.
    window: u32,
    /// Number of bytes that were sent, and of those that were acknowledged.
    pub(super) sent: u32,
    pub(super) acknowledged: u32,
    fin: Fin,
    /// Whether the other side's FIN has arrived, and whether it was acknowledged.
    fin_received: bool,
    fin_released: bool,
    /// The socket is closed.
    closed: bool,
    /// There was an RST in either direction.
    pub(super) reset: bool,
}

/// The far host's program, and the data that its socket has for it.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub(super) struct Program {
    /// The first byte that it writes; each further byte is one more.
    pub(super) first: u8,
    /// Number of bytes written.
    pub(super) written: u8,
    unread: VecDeque<u8>,
    pub(super) read: Vec<u8>,
    pub(super) eof: bool,
    pub(super) close: FarClose,
}

/// State of the far host's lingering `close`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub(super) enum FarClose {
    #[default]
    No,
    Waits,
    /// Everything was acknowledged, FIN included.
    Done,
    Reset,
}

impl Side {
    fn new(window: u32) -> Self {
        Self {
            queue: VecDeque::new(),
            window,
            sent: 0,
            acknowledged: 0,
            fin: Fin::None,
            fin_received: false,
            fin_released: false,
            closed: false,
            reset: false,
        }
    }

    /// Sends as much as the window has room for, and FIN behind the last byte.
    fn flush(&mut self, wire: &mut VecDeque<Segment>) {
        let count = self.queue.len().min(self.window as usize);
        if count > 0 {
            self.window -= count as u32;
            self.sent += count as u32;
            wire.push_back(Segment::Data(self.queue.drain(..count).collect()));
        }
        if self.queue.is_empty() && self.fin == Fin::Wanted {
            self.fin = Fin::Sent;
            wire.push_back(Segment::Fin);
        }
    }

    fn abort(&mut self, wire: &mut VecDeque<Segment>) {
        // After both FINs there is nothing left to reset (I13).
        if !(self.reset || self.fin == Fin::Acknowledged && self.fin_released) {
            wire.push_back(Segment::Rst);
            self.reset = true;
        }
        self.queue.clear();
        self.closed = true;
    }
}

impl Connection {
    /// Creates an established connection; the arguments are the receive buffers of both sides.
    pub(super) fn new(near_buffer: u32, far_buffer: u32) -> Self {
        Self {
            near: Side::new(far_buffer),
            far: Side::new(near_buffer),
            to_near: VecDeque::new(),
            to_far: VecDeque::new(),
            program: Program { first: 0x80, ..Program::default() },
        }
    }

    /// Executes a request of the server's half.
    pub(super) fn act(&mut self, action: TcpAction) {
        match action {
            TcpAction::Send { bytes, .. } => {
                self.near.queue.extend(bytes);
                self.near.flush(&mut self.to_far);
            }
            TcpAction::Consume(count) => self.to_far.push_back(Segment::Window(count)),
            TcpAction::ShutdownWrite => {
                self.near.fin = Fin::Wanted;
                self.near.flush(&mut self.to_far);
            }
            TcpAction::ReleaseFin => self.acknowledge_fin(),
            TcpAction::Close => self.near.closed = true,
            TcpAction::Abort => self.near.abort(&mut self.to_far),
            other => panic!("{other:?} on a connection"),
        }
    }

    /// Acknowledges the far host's FIN, as the near host's stack does by itself.
    pub(super) fn acknowledge_fin(&mut self) {
        self.near.fin_released = true;
        self.to_far.push_back(Segment::FinAcknowledgement);
    }

    /// Returns whether segments are in flight to the server, and to the far host.
    pub(super) fn under_way(&self) -> [bool; 2] {
        [!self.to_near.is_empty(), !self.to_far.is_empty()]
    }

    /// Delivers a segment to the server, and returns the event for its half.
    pub(super) fn arrive_near(&mut self) -> Option<TcpEvent> {
        let segment = self.to_near.pop_front()?;
        if self.near.reset {
            return None;
        }
        Some(match segment {
            Segment::Data(_) if self.near.closed => {
                self.near.abort(&mut self.to_far);
                return None;
            }
            Segment::Data(bytes) => {
                self.to_far.push_back(Segment::Acknowledgement(bytes.len() as u32));
                TcpEvent::Received(bytes)
            }
            Segment::Fin => {
                self.near.fin_received = true;
                if self.near.closed {
                    self.acknowledge_fin();
                }
                TcpEvent::FinReceived
            }
            Segment::Acknowledgement(count) => {
                self.near.acknowledged += count;
                TcpEvent::Acknowledged(count)
            }
            Segment::FinAcknowledgement => {
                self.near.fin = Fin::Acknowledged;
                TcpEvent::FinAcknowledged
            }
            Segment::Window(count) => {
                self.near.window += count;
                self.near.flush(&mut self.to_far);
                return None;
            }
            Segment::Rst => {
                self.near.reset = true;
                TcpEvent::Failed(Errno::ECONNRESET)
            }
        })
    }

    /// A segment arrives at the far host.
    pub(super) fn arrive_far(&mut self) {
        let Some(segment) = self.to_far.pop_front() else { return };
        if self.far.reset {
            return;
        }
        match segment {
            Segment::Data(_) if self.far.closed => self.far.abort(&mut self.to_near),
            Segment::Data(bytes) => {
                self.to_near.push_back(Segment::Acknowledgement(bytes.len() as u32));
                self.program.unread.extend(bytes);
            }
            Segment::Fin => {
                self.far.fin_received = true;
                self.far.fin_released = true;
                self.to_near.push_back(Segment::FinAcknowledgement);
            }
            Segment::Acknowledgement(count) => self.far.acknowledged += count,
            Segment::FinAcknowledgement => {
                self.far.fin = Fin::Acknowledged;
                if self.program.close == FarClose::Waits {
                    self.program.close = FarClose::Done;
                }
            }
            Segment::Window(count) => {
                self.far.window += count;
                self.far.flush(&mut self.to_near);
            }
            Segment::Rst => self.far.reset = true,
        }
        if self.far.reset && self.program.close == FarClose::Waits {
            self.program.close = FarClose::Reset;
        }
    }

    /// Returns whether the program has not closed its socket.
    pub(super) fn is_open(&self) -> bool {
        self.program.close == FarClose::No
    }

    pub(super) fn can_read(&self) -> bool {
        self.is_open() && !self.program.eof && (!self.program.unread.is_empty() || self.far.fin_received)
    }

    pub(super) fn write(&mut self) {
        self.far.queue.push_back(self.program.first + self.program.written);
        self.program.written += 1;
        self.far.flush(&mut self.to_near);
    }

    pub(super) fn read(&mut self) {
        let count = self.program.unread.len();
        self.program.read.extend(self.program.unread.drain(..));
        if count == 0 {
            self.program.eof = true;
        } else if !self.far.reset {
            self.to_near.push_back(Segment::Window(count as u32));
        }
    }

    /// Closes with SO_LINGER. Without it, the segments would be the same; the thesis assumes
    /// SO_LINGER.
    pub(super) fn close(&mut self) {
        self.far.closed = true;
        if self.far.reset {
            self.program.close = FarClose::Reset;
        } else if !self.program.unread.is_empty() {
            self.far.abort(&mut self.to_near);
            self.program.close = FarClose::Reset;
        } else if self.far.fin == Fin::Acknowledged {
            self.program.close = FarClose::Done;
        } else {
            self.program.close = FarClose::Waits;
            self.shut();
        }
    }

    /// Shuts down the sending half.
    pub(super) fn shut(&mut self) {
        if self.far.fin == Fin::None && !self.far.reset {
            self.far.fin = Fin::Wanted;
            self.far.flush(&mut self.to_near);
        }
    }

    /// Returns whether each FIN was acknowledged by the other side.
    pub(super) fn both_closed(&self) -> bool {
        self.near.fin == Fin::Acknowledged && self.near.fin_released
    }

    pub(super) fn is_shut(&self) -> bool {
        self.far.fin != Fin::None
    }
}
