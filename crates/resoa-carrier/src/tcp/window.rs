//! Keeps a connection alive while the other side's window is closed, however long its user takes no
//! data.
//!
//! TCP_USER_TIMEOUT, by which the kernel detects outages, also counts a closed window as an outage
//! (tcp(7); `tcp_probe_timer` of Linux since 5.11). So while the other side answers window probes,
//! this module extends the kernel's timeout.

use super::info;
use rustix::net::sockopt;
use std::net::TcpStream;
use std::time::{Duration, Instant};

/// Checks within the time that counts as an outage.
const LOOKS: u32 = 4;

/// What is known of the other side's window; see the [module](self).
#[derive(Debug, Default)]
pub(super) struct Window {
    looked: Option<Instant>,
    /// Since when it is known to be closed.
    closed: Option<Instant>,
}

impl Window {
    /// Checks the window, if it is time to. `silence` is the time that counts as an outage.
    pub(super) fn look(&mut self, stream: &TcpStream, silence: Duration, now: Instant) {
        if self.due(silence).is_some_and(|due| now < due) {
            return;
        }
        self.looked = Some(now);
        let Ok(info) = info::of(stream) else { return };
        // Nothing is in flight, although data waits to be sent.
        let is_closed = info.tcpi_unacked == 0 && info::unacknowledged(stream) > 0;
        let bound = if is_closed {
            let closed = *self.closed.get_or_insert(now);
            if Duration::from_millis(info.tcpi_last_ack_recv.into()) >= silence {
                // The other side does not answer, so it gets no more than the last extension.
                return;
            }
            // The kernel counts from its first probe, which was before we knew.
            now - closed + silence * 2
        } else if self.closed.take().is_some() {
            silence
        } else {
            return;
        };
        // This cannot fail: the option was set before.
        let _ = sockopt::set_tcp_user_timeout(stream, bound.as_millis() as u32);
    }

    #[cfg(test)]
    pub(super) fn is_closed(&self) -> bool {
        self.closed.is_some()
    }

    /// Returns when the next check is due.
    pub(super) fn due(&self, silence: Duration) -> Option<Instant> {
        self.looked.map(|looked| looked + silence / LOOKS)
    }
}
