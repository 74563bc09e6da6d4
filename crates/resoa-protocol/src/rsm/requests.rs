//! Requests, which the stack executes and whose results go back to the client (6.1.3).

use super::{Effects, Rsm, State};
use crate::message::{Body, Control, Fault, Message, Operation, Reply, RsockType, Update};
use crate::tcp::TcpAction;
use crate::{Errno, Xid};

/// A request that the stack has not answered yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Pending {
    Connect(Xid),
    /// LISTEN, by REQUEST or by CALL.
    Listen(Option<Xid>),
    /// An option, by REQUEST or by CALL, and whether it is SO_RCVBUF.
    Option(Option<Xid>, bool),
    Other(Xid),
}

impl Pending {
    fn xid(self) -> Option<Xid> {
        match self {
            Self::Connect(xid) | Self::Other(xid) => Some(xid),
            Self::Listen(xid) | Self::Option(xid, _) => xid,
        }
    }
}

/// Most requests that wait for the stack. A client sends one request per socket at a time. Requests
/// behind a `connect` wait as long as it does, so their number must be bounded.
const PENDING: usize = 256;

const SOL_SOCKET: i32 = 1;
const SO_RCVBUF: i32 = 8;

impl Rsm {
    /// Processes a call that waits for its answer.
    pub(crate) fn request(&mut self, xid: Xid, operation: Operation, out: &mut Effects) {
        let is_datagram = self.kind != RsockType::Stream;
        let is_new = self.state == State::Created;
        let is_allowed = match operation {
            Operation::Bind(_) | Operation::Connect(_) => is_new || is_datagram,
            Operation::Disconnect => is_datagram,
            // Processes that share a socket may call `listen` at the same time. The second one
            // changes the backlog.
            Operation::Listen { .. } => is_new || self.state == State::Listening,
            Operation::SetOption { .. } | Operation::GetOption { .. } | Operation::Ioctl { .. } => true,
        };
        // After our RST, TCP no longer has it, so only we can answer.
        if !is_allowed || self.state == State::Reset {
            self.respond(xid, Err(Errno::EINVAL), out);
            return;
        }
        if self.pending.len() >= PENDING {
            self.respond(xid, Err(Errno::ENOBUFS), out);
            return;
        }
        let pending = match &operation {
            Operation::Listen { backlog } => return self.listen(Some(xid), *backlog, out),
            Operation::Connect(_) if !is_datagram => {
                self.state = State::Connecting;
                Pending::Connect(xid)
            }
            Operation::SetOption { level, name, .. } => {
                Pending::Option(Some(xid), (*level, *name) == (SOL_SOCKET, SO_RCVBUF))
            }
            _ => Pending::Other(xid),
        };
        self.pending.push_back(pending);
        out.tcp.push(TcpAction::Execute(operation));
    }

    pub(super) fn set_option(&mut self, level: i32, name: i32, value: Vec<u8>, out: &mut Effects) {
        // Nobody waits for the result.
        if self.pending.len() >= PENDING {
            return;
        }
        self.pending.push_back(Pending::Option(None, (level, name) == (SOL_SOCKET, SO_RCVBUF)));
        out.tcp.push(TcpAction::Execute(Operation::SetOption { level, name, value }));
    }

    /// Processes the result of the oldest request to the stack.
    pub(super) fn done(&mut self, outcome: Result<Reply, Errno>, out: &mut Effects) {
        let Some(pending) = self.pending.pop_front() else { return };
        match (pending, &outcome) {
            (Pending::Connect(_), outcome) if self.state == State::Connecting => {
                self.state = if outcome.is_ok() { State::Open } else { State::Created };
                self.held_back(outcome.is_ok(), out);
            }
            (Pending::Listen(xid), Ok(_)) => {
                if xid.is_some() {
                    self.state = State::Listening;
                }
                // A larger backlog may have room for connections that wait, even if nothing is
                // accepted.
                self.admit_waiting(out);
            }
            // Nobody waits for this answer, so the next call reports the error (A8).
            (Pending::Listen(None), Err(error)) => {
                self.state = State::Created;
                self.tell(Update::SocketError(*error), out);
            }
            (Pending::Option(_, true), Ok(Reply::Value(value))) => {
                if let Some(size) = value.first_chunk() {
                    self.receiving.make_room(u32::from_ne_bytes(*size));
                }
            }
            _ => {}
        }
        if let Some(xid) = pending.xid() {
            self.respond(xid, outcome, out);
        }
    }

    /// Fails everything that was requested, because the stack could not create the end point, and
    /// ends the socket (6.5.2, A21).
    pub(super) fn not_created(&mut self, out: &mut Effects) {
        self.state = State::Gone;
        let pending = std::mem::take(&mut self.pending);
        let xids: Vec<_> = pending.into_iter().filter_map(Pending::xid).collect();
        if xids.is_empty() {
            let body = Body::Control(Control::Error(Fault::NoBuffers));
            out.messages.push(Message { target: self.target, body });
        }
        for xid in xids {
            self.respond(xid, Err(Errno::ENOBUFS), out);
        }
    }

    /// Returns whether the stack is busy with this request.
    pub(crate) fn is_pending(&self, xid: Xid) -> bool {
        self.pending.iter().any(|pending| pending.xid() == Some(xid))
    }

    fn respond(&self, xid: Xid, outcome: Result<Reply, Errno>, out: &mut Effects) {
        out.messages.push(Message { target: self.target, body: Body::Response { xid, outcome } });
    }
}
