//! What far hosts have acknowledged: looked at by a timer, since it causes no event of its own (see `stream`), and told to clients, of few octets late.

use super::Host;
use resoa_carrier::Carrier;
use std::time::Duration;

/// Between two looks at what was acknowledged, while something changes: small against a round trip across the backbone.
const SHORTEST: Duration = Duration::from_millis(2);
/// The same while nothing does.
const LONGEST: Duration = Duration::from_millis(16);
/// Between two reminders of room that clients were not told of: so it is told at the latest when a TCP would have acknowledged (`TCP_DELACK_MAX`, 200 ms).
const REMINDER: Duration = Duration::from_millis(100);

/// When something is to be done about them.
#[derive(Debug)]
pub(super) struct Acknowledgements {
    /// They are looked at then, so long after the last time.
    look: Duration,
    pause: Duration,
    /// The server is reminded of what it has not told, if there is such.
    reminder: Option<Duration>,
}

impl Default for Acknowledgements {
    fn default() -> Self {
        Self { look: Duration::ZERO, pause: SHORTEST, reminder: None }
    }
}

impl<C: Carrier> Host<C> {
    /// When [`look_at_acknowledgements`](Self::look_at_acknowledgements) has something to do.
    pub(super) fn acknowledgements_due(&self) -> Option<Duration> {
        let look = self.tcp.awaits_acknowledgements().then_some(self.acknowledgements.look);
        look.into_iter().chain(self.acknowledgements.reminder).min()
    }

    pub(super) fn look_at_acknowledgements(&mut self, now: Duration) {
        if self.acknowledgements.look <= now {
            let mut events = Vec::new();
            self.tcp.acknowledgements(&mut events);
            let pause =
                if events.is_empty() { (self.acknowledgements.pause * 2).min(LONGEST) } else { SHORTEST };
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
