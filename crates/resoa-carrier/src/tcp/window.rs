//! A window that the other side has closed, because its user wants nothing at the moment, is no
//! outage, however long that takes. The kernel, which is to notice outages (TCP_USER_TIMEOUT), does
//! not tell the two apart (tcp(7); `tcp_probe_timer` of Linux since 5.11): while the other side
//! answers what asks for its window, the kernel is given more time.

use super::info;
use rustix::net::sockopt;
use std::net::TcpStream;
use std::time::{Duration, Instant};

/// Looks in the time that is an outage.
const LOOKS: u32 = 4;

/// See the [module](self).
#[derive(Debug, Default)]
pub(super) struct Window {
    looked: Option<Instant>,
    /// Since when it is known to be closed.
    closed: Option<Instant>,
}

impl Window {
    /// Looks at it, if it is time to. `silence` is an outage.
    pub(super) fn look(&mut self, stream: &TcpStream, silence: Duration, now: Instant) {
        if self.due(silence).is_some_and(|due| now < due) {
            return;
        }
        self.looked = Some(now);
        let Ok(info) = info::of(stream) else { return };
        // Nothing is under way, and something is to be.
        let is_closed = info.tcpi_unacked == 0 && info::unacknowledged(stream) > 0;
        let bound = if is_closed {
            let closed = *self.closed.get_or_insert(now);
            if Duration::from_millis(info.tcpi_last_ack_recv.into()) >= silence {
                // It does not answer: what was granted last is all that it gets.
                return;
            }
            // The kernel counts from its first question, which was before we knew.
            now - closed + silence * 2
        } else if self.closed.take().is_some() {
            silence
        } else {
            return;
        };
        // It was set before, so that it can be.
        let _ = sockopt::set_tcp_user_timeout(stream, bound.as_millis() as u32);
    }

    #[cfg(test)]
    pub(super) fn is_closed(&self) -> bool {
        self.closed.is_some()
    }

    /// When it is time to look again.
    pub(super) fn due(&self, silence: Duration) -> Option<Instant> {
        self.looked.map(|looked| looked + silence / LOOKS)
    }
}
