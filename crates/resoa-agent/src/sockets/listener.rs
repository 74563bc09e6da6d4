//! Listeners. Their descriptor is readable while connections wait, with one byte for each, and
//! never writable.

use super::Shared;
use super::end::End;
use super::socket::Found;
use resoa_calls::{SocketId, SocketName};
use resoa_protocol::{Stage, Stream};
use rustix::event::epoll::EventFlags;
use std::time::Duration;

/// Time after which a byte that was read counts as lost: its reader was interrupted before it
/// asked, or has ended.
const LOST: Duration = Duration::from_millis(500);

/// Our end of a listener; see the [module](self).
#[derive(Debug)]
pub(super) struct ListenerEnd {
    end: End,
    /// Bytes written for waiting connections that no `accept` has followed yet.
    announced: usize,
    /// When an `accept` last followed such a byte.
    claimed_at: Duration,
    /// Some bytes were read, and the timer runs after which they are written again.
    is_waiting: bool,
}

impl ListenerEnd {
    pub(super) fn new(end: End) -> Self {
        Self { end, announced: 0, claimed_at: Duration::ZERO, is_waiting: false }
    }

    /// Returns whether the program has closed its last descriptor.
    pub(super) fn is_closed(&self) -> bool {
        self.end.is_closed()
    }

    /// Processes an event of epoll.
    pub(super) fn heard(&mut self, events: EventFlags, name: &SocketName) {
        self.end.heard(events, name);
    }

    /// See [`End::look`].
    pub(super) fn look(&mut self, name: &SocketName) {
        self.end.look(name);
    }

    /// Writes bytes for new connections, or the end of the stream if there can be no more.
    pub(super) fn pass(&mut self, id: SocketId, stream: Stream, shared: &mut Shared, now: Duration) -> Found {
        if self.end.is_closed() {
            return Found::Closed;
        }
        let wanted = match stream.stage {
            Stage::Listening => stream.pending,
            // It was shut down: callers of `accept` are woken one after the other and get EINVAL.
            // After an end of stream it could not listen again.
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

    /// Gives up on bytes that were read and not followed by an `accept`, so that they are written
    /// again.
    pub(super) fn give_up_claims(&mut self, shared: &mut Shared, now: Duration) {
        self.is_waiting = false;
        let unread = self.end.announcements(&mut shared.weights);
        // A reader may be about to ask.
        if self.announced > unread && self.claimed_at + LOST <= now {
            self.announced = unread;
        }
    }

    /// Notes that the program has taken a byte.
    pub(super) fn claim(&mut self, now: Duration) {
        self.announced = self.announced.saturating_sub(1);
        self.claimed_at = now;
    }
}
