//! What a [`LastHop`] needs beyond its primitives to be driven by a loop: something to wait for, a way to ask what has happened, and a place for messages
//! that were decided on before it said stop.

use crate::order::may_be_lost;
use resoa_protocol::lhp::{Connection, Handed, Indication, LastHop};
use rustix::fd::BorrowedFd;
use std::collections::VecDeque;
use std::time::Instant;

/// A carrier that a loop can wait for.
pub trait Carrier: LastHop {
    /// Readable whenever [`poll`](Self::poll) has something to tell.
    fn descriptor(&self) -> BorrowedFd<'_>;

    /// What has happened since this was last asked, in order. Does not block.
    fn poll(&mut self, happened: &mut Vec<(Connection, Indication)>);

    /// What is handed over from now on may wait for [`flush`](Self::flush), and goes together then: one segment, record or packet for what a pass of a loop says,
    /// and not one for each message (C107). It does not wait for a time, and a pass that says much is not held up by that.
    fn gather(&mut self) {}

    /// Sends what has waited, and nothing waits any more.
    fn flush(&mut self) {}
}

/// Octets that wait for [`flush`](Carrier::flush) at most: what is longer fills segments, records and packets in any case.
pub(crate) const GATHERED: usize = 32 << 10;

/// The messages of one connection that the carrier does not take at the moment. A machine is told to stop when one message was the last that is
/// taken; those that it had written behind that one are here. Those that may be lost are handed over as such, with the time that they have waited.
#[derive(Debug, Default)]
pub struct Outbox {
    off: bool,
    waiting: VecDeque<Waiting>,
}

/// A message, and since when it waits if it may be lost.
#[derive(Debug)]
struct Waiting {
    message: Vec<u8>,
    since: Option<Instant>,
}

impl Waiting {
    fn new(message: Vec<u8>) -> Self {
        let since = may_be_lost(&message).then(Instant::now);
        Self { message, since }
    }

    fn hand_over(&self, carrier: &mut (impl LastHop + ?Sized), connection: Connection) -> Handed {
        match self.since {
            Some(since) => carrier.send_or_lose(connection, &self.message, since.elapsed()),
            None => carrier.send(connection, &self.message),
        }
    }
}

impl Outbox {
    /// Hands over a message, or keeps it. Whether the machine is to be told to stop.
    #[must_use = "the machine would write messages that are kept here without a bound"]
    pub fn send(
        &mut self,
        carrier: &mut (impl LastHop + ?Sized),
        connection: Connection,
        message: Vec<u8>,
    ) -> bool {
        let message = Waiting::new(message);
        if self.off {
            self.waiting.push_back(message);
            return false;
        }
        self.off = message.hand_over(carrier, connection) == Handed::TakenLast;
        self.off
    }

    /// The carrier takes messages again. Whether the machine may go on: not if those that were kept have filled it.
    #[must_use = "the machine is still stopped"]
    pub fn on(&mut self, carrier: &mut (impl LastHop + ?Sized), connection: Connection) -> bool {
        self.off = false;
        while !self.off
            && let Some(message) = self.waiting.pop_front()
        {
            self.off = message.hand_over(carrier, connection) == Handed::TakenLast;
        }
        !self.off
    }
}
