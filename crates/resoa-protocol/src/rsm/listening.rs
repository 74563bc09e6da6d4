//! A listener: connections are taken only as far as the backlog goes, counting those that the program has not accepted (6.2.3).
//!
//! A stack frees its place as soon as the server takes a connection, long before the program does. So the backlog is divided (8.3 of the specification): the server takes connections while
//! fewer than half of it wait at the client, and the other half is the length of the stack's own queue, always: one that became shorter with each connection that is taken would be too
//! long for as long as that takes. As many handshakes as the queue is long are remembered by the stack, and what is behind them Linux answers by cookies, of which it remembers nothing. If
//! there is no room when such a handshake ends, the far host takes itself for connected and is not told otherwise.

use super::requests::Pending;
use super::{Effects, Rsm, State};
use crate::message::{Kind, Operation, Update};
use crate::tcp::{Endpoint, TcpAction};
use crate::{Incarnation, RsockId, Target, Xid};
use std::net::SocketAddr;

/// Connections of a listener that the program has not accepted.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub(super) struct Backlog {
    /// As in `listen`.
    most: u32,
    held: u32,
    incarnation: u32,
}

impl Backlog {
    /// So many wait at the client: one has to come there for the program to accept it.
    fn at_client(&self) -> u32 {
        self.most.div_ceil(2).max(1)
    }

    /// And so many in the stack; fewer if there are more at the client, by a larger backlog before.
    fn in_stack(&self) -> u32 {
        self.most.saturating_sub(self.at_client().max(self.held))
    }
}

impl Rsm {
    pub(super) fn listen(&mut self, xid: Option<Xid>, backlog: u32, out: &mut Effects) {
        self.backlog.most = backlog;
        if xid.is_none() {
            self.state = State::Listening;
        }
        self.pending.push_back(Pending::Listen(xid));
        out.tcp.push(TcpAction::Execute(Operation::Listen { backlog: self.backlog.in_stack() }));
    }

    fn admit(&self, out: &mut Effects) {
        out.tcp.push(TcpAction::Admit { accept: self.backlog.held < self.backlog.at_client() });
    }

    /// If connections wait at the client, the stack learns anew whether to take more.
    pub(super) fn admit_waiting(&self, out: &mut Effects) {
        if self.backlog.held > 0 && self.state == State::Listening {
            self.admit(out);
        }
    }

    /// A half for a connection that the stack has accepted; `None` if it came too late.
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
        self.backlog.held += 1;
        self.backlog.incarnation += 1;
        let incarnation = Incarnation(self.backlog.incarnation);
        let mut child = Rsm::new(endpoint, Target::Child { listener, incarnation }, Kind::Stream, self.sizes);
        child.state = State::Open;
        child.tell(Update::NewConnection { local, peer }, out);
        self.admit(out);
        Some(child)
    }

    /// The program has accepted a connection, or the client has turned it away.
    pub(crate) fn slot_freed(&mut self, out: &mut Effects) {
        self.backlog.held = self.backlog.held.saturating_sub(1);
        if self.state == State::Listening {
            self.admit(out);
        }
    }
}
