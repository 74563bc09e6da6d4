//! A listener: connections are taken only as far as the backlog goes, counting those that the
//! program has not accepted (6.2.3).
//!
//! A stack frees its place as soon as the server takes a connection, long before the program does.
//! So the server takes one only while fewer than half of the backlog wait at the client, and makes
//! the stack's own queue shorter by those that do (8.3 of the specification). The other half stays
//! in the stack: as many handshakes as its queue is long are remembered by it, and what is behind
//! them Linux answers by cookies, of which it remembers nothing. If there is no room when such a
//! handshake ends, the far host takes itself for connected and is not told otherwise.
//!
//! A program that accepts all the time is not to lose connections by that: natively each `accept`
//! takes the next one from the stack at once, and here it is on the last hop meanwhile. So once
//! [`PROMPT`] connections were accepted all are taken, [`SURPLUS`] at most beyond the backlog, and
//! the stack's queue is as long as the stack lets it be. As soon as the backlog was filled without
//! any being accepted, it counts again.

use super::requests::Pending;
use super::{Effects, Rsm, State};
use crate::message::{Kind, Operation, Update};
use crate::tcp::{Endpoint, TcpAction};
use crate::{Incarnation, RsockId, Target, Xid};
use std::net::SocketAddr;

/// Connections that are accepted before the program counts as one that accepts.
const PROMPT: u32 = 8;
/// Connections that are taken for such a program beyond its backlog: the longest queue of a Linux
/// as it comes (`net.core.somaxconn`).
const SURPLUS: u32 = 4096;

/// Connections of a listener that the program has not accepted.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub(super) struct Backlog {
    /// As in `listen`.
    most: u32,
    held: u32,
    incarnation: u32,
    /// Accepted since the program has let as many wait as its backlog is long; [`PROMPT`] are as
    /// good as more.
    accepted: u32,
    /// Came since one was accepted.
    arrived: u32,
}

impl Backlog {
    /// Whether another connection is taken, and how many may wait in the stack.
    fn admits(&self) -> (bool, u32) {
        if self.accepted >= PROMPT {
            return (self.held < self.most.saturating_add(SURPLUS), u32::MAX);
        }
        // One has to come here for the program to accept it.
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
        let incarnation = self.backlog.arrive();
        let mut child = Rsm::new(endpoint, Target::Child { listener, incarnation }, Kind::Stream, self.sizes);
        child.state = State::Open;
        child.tell(Update::NewConnection { local, peer }, out);
        self.admit(out);
        Some(child)
    }

    /// The program has accepted a connection, or the client has turned it away.
    pub(crate) fn slot_freed(&mut self, out: &mut Effects) {
        self.backlog.free();
        if self.state == State::Listening {
            self.admit(out);
        }
    }
}
