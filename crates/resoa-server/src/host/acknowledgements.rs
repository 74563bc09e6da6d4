//! Acknowledgements of far hosts. A timer polls for them because they cause no event of their own
//! (see `stream`). Clients are told of small amounts late.

use super::Host;
use resoa_carrier::Carrier;
use std::time::Duration;

/// Interval between polls while something changes: small against a round trip across the backbone.
const SHORTEST: Duration = Duration::from_millis(2);
/// Interval between polls while nothing changes.
const LONGEST: Duration = Duration::from_millis(16);
/// Minimum interval per waiting socket. A poll of one takes some 0.2 us. So all polls together use
/// at most a twentieth of a processor, however many far hosts acknowledge nothing.
const EACH: Duration = Duration::from_micros(4);
/// Interval between reminders of free buffer space that clients were not told of. So they are told
/// at the latest when a TCP would have acknowledged (`TCP_DELACK_MAX`, 200 ms).
const REMINDER: Duration = Duration::from_millis(100);

/// Times of the next poll and of the next reminder.
#[derive(Debug)]
pub(super) struct Acknowledgements {
    /// Time of the next poll, and its distance from the one before.
    look: Duration,
    pause: Duration,
    /// Time at which the server is reminded of space that it has not reported; `None` if there is
    /// none.
    reminder: Option<Duration>,
}

impl Default for Acknowledgements {
    fn default() -> Self {
        Self { look: Duration::ZERO, pause: SHORTEST, reminder: None }
    }
}

/// Returns the time until the next poll of `sockets` sockets, after a poll that has found a change
/// or not.
fn pause(before: Duration, has_changed: bool, sockets: usize) -> Duration {
    let pause = if has_changed { SHORTEST } else { (before * 2).min(LONGEST) };
    pause.max(EACH * u32::try_from(sockets).unwrap_or(u32::MAX))
}

impl<C: Carrier> Host<C> {
    /// Time at which [`look_at_acknowledgements`](Self::look_at_acknowledgements) has something to
    /// do.
    pub(super) fn acknowledgements_due(&self) -> Option<Duration> {
        let look = (self.tcp.awaiting_acknowledgements() > 0).then_some(self.acknowledgements.look);
        look.into_iter().chain(self.acknowledgements.reminder).min()
    }

    pub(super) fn look_at_acknowledgements(&mut self, now: Duration) {
        if self.acknowledgements.look <= now {
            let (mut events, sockets) = (Vec::new(), self.tcp.awaiting_acknowledgements());
            self.tcp.acknowledgements(&mut events);
            let pause = pause(self.acknowledgements.pause, !events.is_empty(), sockets);
            (self.acknowledgements.look, self.acknowledgements.pause) = (now + pause, pause);
            for (endpoint, event) in events {
                self.tell(endpoint, vec![event]);
            }
        }
        if self.acknowledgements.reminder.is_some_and(|reminder| reminder <= now) {
            self.acknowledgements.reminder = None;
            let mut actions = Vec::new();
            self.server.remind(&mut actions);
            self.carry_out(actions);
        }
        if self.acknowledgements.reminder.is_none() && self.server.owes() {
            self.acknowledgements.reminder = Some(now + REMINDER);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Changes of a few sockets are noticed soon. Polls of many sockets do not take the time of
    /// others.
    #[test]
    fn pauses() {
        assert_eq!(pause(LONGEST, true, 1), SHORTEST);
        assert_eq!(pause(SHORTEST, false, 1), SHORTEST * 2);
        assert_eq!(pause(LONGEST, false, 1), LONGEST);
        for has_changed in [true, false] {
            assert_eq!(pause(SHORTEST, has_changed, 10_000), EACH * 10_000);
        }
        assert_eq!(pause(EACH * 10_000, true, 1), SHORTEST, "when they are gone");
    }
}
