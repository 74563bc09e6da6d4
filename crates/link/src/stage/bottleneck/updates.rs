//! Periodic updates of a controller, made up for when something happens.
//!
//! What a controller reads changes only when a packet arrives or leaves. So it need not act in
//! between, and a link without packets needs no events.

use crate::units::{Span, Time};

/// The time of the next update.
#[derive(Debug)]
pub(super) struct Updates {
    next: Time,
}

impl Updates {
    /// Schedules the first update one `period` after `start`.
    pub fn new(start: Time, period: Span) -> Self {
        Self { next: start + period }
    }

    /// Makes all updates up to `now`, inclusive. `update` gets the time of the update.
    ///
    /// An update that changes nothing ends the loop, if all later ones would not change anything
    /// either: `update` must not read the time unless it changes the state with it.
    pub fn catch_up<S: Clone + PartialEq>(
        &mut self,
        now: Time,
        period: Span,
        state: &mut S,
        mut update: impl FnMut(&mut S, Time),
    ) {
        while self.next <= now {
            let before = state.clone();
            update(state, self.next);
            self.next += period;
            if *state == before && self.next <= now {
                let missed = now.since(self.next).as_nanos() / period.as_nanos() + 1;
                self.next += period * missed;
            }
        }
    }
}
