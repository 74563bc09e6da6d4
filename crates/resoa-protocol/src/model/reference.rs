//! The local socket that a remote one must not be told from: the same programs at both ends and the
//! same TCP, with nothing between the client's program and it.
//!
//! It is written from what a socket is (7.4.3, 7.4.5), not from the two halves, and is as small as
//! possible. Its TCP acknowledges a FIN by itself, or only when the socket says so, which it does
//! at once (TCP*): V4 of the thesis asks that this makes no difference (C98).

use super::far::Connection;
use super::program::{Doing, Program, READ};
use super::world::Buffers;
use crate::Errno;
use crate::calls::Value;
use crate::tcp::{TcpAction, TcpEvent};
use std::collections::VecDeque;

/// Which TCP the socket has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Stack {
    /// It acknowledges a FIN when it comes.
    Plain,
    /// It waits to be told to (TCP*, 6.3).
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
    /// A connection that was reset, or closed: TCP is asked nothing more.
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

    /// The program begins a call.
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

    /// A segment arrives at this host.
    pub(super) fn arrive(&mut self) {
        match self.connection.arrive_near() {
            Some(TcpEvent::Received(bytes)) => self.unread.extend(bytes),
            Some(TcpEvent::FinReceived) => {
                self.eof = true;
                // A stack that nobody has a socket of any more does it by itself.
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

    /// Whether the call that the program waits in may return now. It does so a while later: a
    /// process that is woken has still to be given a processor.
    pub(super) fn can_return(&self) -> bool {
        let mut later = self.clone();
        later.attempt();
        !self.program.is_free() && later.program.is_free()
    }

    /// Whatever the program waits for.
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
