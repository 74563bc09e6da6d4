//! Listeners: their descriptor is readable while a connection waits, by an octet for each, and
//! never writable.

use super::Shared;
use super::end::End;
use super::socket::Found;
use resoa_calls::{SocketId, SocketName};
use resoa_protocol::{Stage, Stream};
use rustix::event::epoll::EventFlags;
use std::time::Duration;

/// After so long an octet that was read is nobody's: whoever read it was interrupted before it
/// asked, or does not live any more.
const LOST: Duration = Duration::from_millis(500);

/// Our end of a listener; see the [module](self).
#[derive(Debug)]
pub(super) struct ListenerEnd {
    end: End,
    /// Octets that say that a connection waits, and that no `accept` has followed yet.
    announced: usize,
    /// When an `accept` last followed one.
    claimed_at: Duration,
    /// Some were read, and the time runs after which they are written again.
    is_waiting: bool,
}

impl ListenerEnd {
    pub(super) fn new(end: End) -> Self {
        Self { end, announced: 0, claimed_at: Duration::ZERO, is_waiting: false }
    }

    /// Whether the program has closed its last descriptor.
    pub(super) fn is_closed(&self) -> bool {
        self.end.is_closed()
    }

    /// What epoll has said.
    pub(super) fn heard(&mut self, events: EventFlags, name: &SocketName) {
        self.end.heard(events, name);
    }

    /// See [`End::look`].
    pub(super) fn look(&mut self, name: &SocketName) {
        self.end.look(name);
    }

    /// Writes octets for connections that have come; the end if none can come any more.
    pub(super) fn pass(&mut self, id: SocketId, stream: Stream, shared: &mut Shared, now: Duration) -> Found {
        if self.end.is_closed() {
            return Found::Closed;
        }
        let wanted = match stream.stage {
            Stage::Listening => stream.pending,
            // It was shut: who accepts is woken, and told EINVAL, one after the other. With an end
            // it could not listen again.
            Stage::Unconnected => 1,
            _ => {
                self.end.shut();
                return Found::Open;
            }
        };
        while self.announced < wanted && self.end.announce() {
            self.announced += 1;
        }
        let is_read = self.end.announcements(&mut shared.weights) < self.announced;
        if is_read && !std::mem::replace(&mut self.is_waiting, true) {
            shared.line.set(id, Some(now + LOST));
        }
        Found::Open
    }

    /// Octets that were read, and nobody has asked since, are to be written again.
    pub(super) fn give_up_claims(&mut self, shared: &mut Shared, now: Duration) {
        self.is_waiting = false;
        let unread = self.end.announcements(&mut shared.weights);
        // Somebody may be just about to ask.
        if self.announced > unread && self.claimed_at + LOST <= now {
            self.announced = unread;
        }
    }

    /// The program has taken an octet.
    pub(super) fn claim(&mut self, now: Duration) {
        self.announced = self.announced.saturating_sub(1);
        self.claimed_at = now;
    }
}
