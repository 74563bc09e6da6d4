//! The local socket that a remote socket must be indistinguishable from: the same programs at both
//! ends and the same TCP, with nothing between the client's program and its TCP.
//!
//! It is written from the definition of a socket (7.4.3, 7.4.5), not from the two halves, and is as
//! small as possible. Its TCP acknowledges a FIN by itself, or only on request of the socket, which
//! asks at once (TCP*). V4 of the thesis demands that this makes no difference (C98).

use super::far::Connection;
use super::program::{Doing, Program, READ};
use super::world::Buffers;
use crate::Errno;
use crate::calls::Value;
use crate::tcp::{TcpAction, TcpEvent};
use std::collections::VecDeque;

/// The TCP of the socket.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Stack {
    /// It acknowledges a FIN on arrival.
    Plain,
    /// It acknowledges a FIN on request (TCP*, 6.3).
    Star,
}

/// A local socket, its program, and the far host.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a state variable of its own, as in a kernel's socket"
)]
pub(super) struct Local {
    pub(super) connection: Connection,
    pub(super) program: Program,
    stack: Stack,
    send_buffer: u32,
    unread: VecDeque<u8>,
    eof: bool,
    error: Option<Errno>,
    /// The connection was reset or closed, so TCP gets no more requests.
    over: bool,
    fin_acknowledged: bool,
    lingers: bool,
}

impl Local {
    pub(super) fn new(buffers: Buffers, stack: Stack, lingers: bool) -> Self {
        Self {
            connection: Connection::new(buffers.receive, buffers.far),
            program: Program::default(),
            stack,
            send_buffer: buffers.send,
            unread: VecDeque::new(),
            eof: false,
            error: None,
            over: false,
            fin_acknowledged: false,
            lingers,
        }
    }

    /// Begins a call of the program.
    pub(super) fn call(&mut self, doing: Doing) {
        self.program.start(doing);
        match doing {
            Doing::Shut if self.over => self.program.returned(Err(Errno::ENOTCONN)),
            Doing::Shut => {
                self.connection.act(TcpAction::ShutdownWrite);
                self.program.returned(Ok(Value::Done));
            }
            Doing::Close => self.close(),
            _ => {}
        }
        self.attempt();
    }

    fn close(&mut self) {
        if self.over {
            self.program.returned(Ok(Value::Done));
            return;
        }
        if !self.unread.is_empty() {
            self.over = true;
            self.connection.act(TcpAction::Abort);
            self.program.returned(Ok(Value::Done));
            return;
        }
        if !self.program.shut {
            self.connection.act(TcpAction::ShutdownWrite);
        }
        self.connection.act(TcpAction::Close);
        if !self.lingers {
            self.program.returned(Ok(Value::Done));
        }
    }

    /// Delivers a segment to this host.
    pub(super) fn arrive(&mut self) {
        match self.connection.arrive_near() {
            Some(TcpEvent::Received(bytes)) => self.unread.extend(bytes),
            Some(TcpEvent::FinReceived) => {
                self.eof = true;
                // After `close`, the stack acknowledges the FIN by itself.
                if !self.program.is_closing() {
                    match self.stack {
                        Stack::Plain => self.connection.acknowledge_fin(),
                        Stack::Star => self.connection.act(TcpAction::ReleaseFin),
                    }
                }
            }
            Some(TcpEvent::FinAcknowledged) => self.fin_acknowledged = true,
            Some(TcpEvent::Failed(error)) => {
                self.error = Some(error);
                self.over = true;
            }
            _ => {}
        }
        self.over |= self.connection.near.reset;
    }

    /// Returns whether the call that the program waits in may return now. It returns some time
    /// later, because the process still needs a processor after it is woken.
    pub(super) fn can_return(&self) -> bool {
        let mut later = self.clone();
        later.attempt();
        !self.program.is_free() && later.program.is_free()
    }

    /// Attempts the call that the program waits in.
    pub(super) fn attempt(&mut self) {
        match self.program.doing() {
            Doing::Write => {
                let used = u32::from(self.program.written) - self.connection.near.acknowledged;
                if let Some(error) = self.error.take() {
                    self.program.returned(Err(error));
                } else if self.over {
                    self.program.returned(Err(Errno::EPIPE));
                } else if used < self.send_buffer {
                    let bytes = vec![self.program.written];
                    self.program.returned(Ok(Value::Count(1)));
                    self.connection.act(TcpAction::Send { bytes, urgent: false });
                }
            }
            Doing::Read => {
                let count = self.unread.len().min(READ);
                if count > 0 {
                    let bytes = self.unread.drain(..count).collect();
                    if !self.over {
                        self.connection.act(TcpAction::Consume(count as u32));
                    }
                    self.program.returned(Ok(Value::Bytes(bytes)));
                } else if let Some(error) = self.error.take() {
                    self.program.returned(Err(error));
                } else if self.eof || self.over {
                    self.program.returned(Ok(Value::Bytes(Vec::new())));
                }
            }
            Doing::Close if self.fin_acknowledged || self.over => self.program.returned(Ok(Value::Done)),
            _ => {}
        }
    }
}
