//! A listener: connections are taken only as far as the backlog goes, counting those that the program has not accepted (6.2.3).
//!
//! A stack frees its place as soon as the server takes a connection, long before the program does. So the server takes one only while fewer than half of the
//! backlog wait at the client, and makes the stack's own queue shorter by those that do (8.3 of the specification). The other half stays in the stack: as many handshakes as its queue is
//! long are remembered by it, and what is behind them Linux answers by cookies, of which it remembers nothing. If there is no room when such a handshake ends, the far host takes itself
//! for connected and is not told otherwise.

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

impl Rsm {
    pub(super) fn listen(&mut self, xid: Option<Xid>, backlog: u32, out: &mut Effects) {
        self.backlog.most = backlog;
        if xid.is_none() {
            self.state = State::Listening;
        }
        self.pending.push_back(Pending::Listen(xid));
        let backlog = self.backlog.most.saturating_sub(self.backlog.held);
        out.tcp.push(TcpAction::Execute(Operation::Listen { backlog }));
    }

    fn admit(&self, out: &mut Effects) {
        let Backlog { most, held, .. } = self.backlog;
        // One has to come here for the program to accept it.
        let taken = most.div_ceil(2).max(1);
        out.tcp.push(TcpAction::Admit { accept: held < taken, backlog: most.saturating_sub(held) });
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
