//! How long packets are: short ones first, and the longest that there could be as soon as one of
//! them has arrived (RFC 8899, with two lengths).

use std::time::Duration;

/// Between two tries; after so many it is not tried for as long as [`REST`].
const PAUSE: Duration = Duration::from_secs(1);
const TRIES: u32 = 3;
const REST: Duration = Duration::from_mins(5);
/// So many times in a row longer ones were found to be lost, while none of them has arrived, before
/// they are short again. Losses that are found together count once.
const SUSPICIONS: u32 = 6;

/// See the [module](self).
#[derive(Debug)]
pub(super) struct Length {
    short: usize,
    long: usize,
    arrives: bool,
    /// One is on its way.
    tries: u32,
    under_way: bool,
    next: Duration,
    suspicions: u32,
}

impl Length {
    pub(super) fn new(short: usize, long: usize, now: Duration) -> Self {
        let long = long.max(short);
        Self { short, long, arrives: false, tries: 0, under_way: false, next: now, suspicions: 0 }
    }

    /// Octets of frames in a packet.
    pub(super) fn octets(&self) -> usize {
        if self.arrives { self.long } else { self.short }
    }

    /// When a longer one is to be tried.
    pub(super) fn due(&self) -> Option<Duration> {
        (self.long > self.short && !self.arrives && !self.under_way).then_some(self.next)
    }

    /// One is tried now, of so many octets.
    pub(super) fn tried(&mut self) -> usize {
        self.under_way = true;
        self.long
    }

    /// What was tried has arrived.
    pub(super) fn arrived(&mut self) {
        self.arrives = true;
        self.under_way = false;
    }

    /// It is lost; at random, or because it is too long.
    pub(super) fn lost(&mut self, now: Duration) {
        self.under_way = false;
        self.tries += 1;
        self.next = now + PAUSE;
        if self.tries >= TRIES {
            self.tries = 0;
            self.next = now + REST;
        }
    }

    /// A packet of so many octets of frames has arrived.
    pub(super) fn has_carried(&mut self, octets: usize) {
        if octets > self.short {
            self.suspicions = 0;
        }
    }

    /// Packets are lost, the longest of which has so many octets of frames. If only long ones are,
    /// others go on arriving, and nothing else would tell.
    pub(super) fn has_missed(&mut self, longest: usize, now: Duration) {
        if self.arrives && longest > self.short {
            self.suspicions += 1;
            if self.suspicions >= SUSPICIONS {
                self.doubt(now);
            }
        }
    }

    /// Nothing arrives any more, or nothing that is long: the path may be another.
    pub(super) fn doubt(&mut self, now: Duration) {
        self.arrives = false;
        self.suspicions = 0;
        self.next = now + PAUSE;
        self.tries = 0;
    }
}
