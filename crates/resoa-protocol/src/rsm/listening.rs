//! A listener: the server accepts connections from the stack only as far as the backlog allows,
//! counting those that the program has not accepted (6.2.3).
//!
//! A stack frees a place in its queue as soon as the server accepts a connection, long before the
//! program does. So the server accepts one only while fewer than half of the backlog wait at the
//! client. It also shortens the stack's queue by the number that wait there (8.3 of the
//! specification). The other half stays in the stack. The stack remembers as many handshakes as its
//! queue is long. Beyond that, Linux answers with SYN cookies, for which it keeps no state. If
//! there is no room when such a handshake ends, the far host believes that it is connected and is
//! not told otherwise.
//!
//! A program that accepts all the time must not lose connections through this. Natively, each
//! `accept` takes the next connection from the stack at once; here that connection still has to
//! cross the last hop. So once [`PROMPT`] connections were accepted, the server accepts all
//! connections, up to [`SURPLUS`] beyond the backlog, and the stack's queue is as long as the stack
//! allows. The backlog counts again as soon as that many connections have arrived without any being
//! accepted.

use super::requests::Pending;
use super::{Effects, Rsm, State};
use crate::message::{Operation, RsockType, Update};
use crate::tcp::{Endpoint, TcpAction};
use crate::{Incarnation, RsockId, Target, Xid};
use std::net::SocketAddr;

/// Connections that a program must accept before it counts as one that accepts all the time.
const PROMPT: u32 = 8;
/// Connections beyond the backlog that are accepted for such a program: the default limit of a
/// queue in Linux (`net.core.somaxconn`).
const SURPLUS: u32 = 4096;

/// Connections of a listener that the program has not accepted.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub(super) struct Backlog {
    /// The backlog, as in `listen`.
    most: u32,
    held: u32,
    incarnation: u32,
    /// Connections accepted since the backlog last filled up without an `accept`; at most
    /// [`PROMPT`].
    accepted: u32,
    /// Connections that arrived since the last `accept`.
    arrived: u32,
}

impl Backlog {
    /// Returns whether to accept another connection, and how many may wait in the stack.
    fn admits(&self) -> (bool, u32) {
        if self.accepted >= PROMPT {
            return (self.held < self.most.saturating_add(SURPLUS), u32::MAX);
        }
        // At least one must be here, so that the program can accept it.
        let share = self.most.div_ceil(2).max(1);
        (self.held < share, self.most.saturating_sub(self.held))
    }

    fn arrive(&mut self) -> Incarnation {
        (self.held, self.incarnation, self.arrived) = (self.held + 1, self.incarnation + 1, self.arrived + 1);
        if self.arrived >= self.most {
            (self.accepted, self.arrived) = (0, 0);
        }
        Incarnation(self.incarnation)
    }

    fn free(&mut self) {
        self.held = self.held.saturating_sub(1);
        (self.accepted, self.arrived) = ((self.accepted + 1).min(PROMPT), 0);
    }
}

impl Rsm {
    pub(super) fn listen(&mut self, xid: Option<Xid>, backlog: u32, out: &mut Effects) {
        self.backlog.most = backlog;
        if xid.is_none() {
            self.state = State::Listening;
        }
        self.pending.push_back(Pending::Listen(xid));
        let (_, backlog) = self.backlog.admits();
        out.tcp.push(TcpAction::Execute(Operation::Listen { backlog }));
    }

    fn admit(&self, out: &mut Effects) {
        let (accept, backlog) = self.backlog.admits();
        out.tcp.push(TcpAction::Admit { accept, backlog });
    }

    /// Updates the stack's limits if connections wait at the client.
    pub(super) fn admit_waiting(&self, out: &mut Effects) {
        if self.backlog.held > 0 && self.state == State::Listening {
            self.admit(out);
        }
    }

    /// Creates the half of a connection that the stack has accepted; `None` if the listener has
    /// stopped.
    pub(crate) fn incoming(
        &mut self,
        listener: RsockId,
        endpoint: Endpoint,
        local: SocketAddr,
        peer: SocketAddr,
        out: &mut Effects,
    ) -> Option<Rsm> {
        if self.state != State::Listening {
            return None;
        }
        let incarnation = self.backlog.arrive();
        let mut child =
            Rsm::new(endpoint, Target::Child { listener, incarnation }, RsockType::Stream, self.sizes);
        child.state = State::Open;
        child.tell(Update::NewConnection { local, peer }, out);
        self.admit(out);
        Some(child)
    }

    /// Notes that the program has accepted a connection, or that a waiting one is gone.
    pub(crate) fn slot_freed(&mut self, out: &mut Effects) {
        self.backlog.free();
        if self.state == State::Listening {
            self.admit(out);
        }
    }
}
