//! Length of packets: short at first, and the greatest possible length as soon as a packet of that
//! length has arrived (RFC 8899, with two lengths).

use std::time::Duration;

/// Pause between two probes. After `TRIES` lost probes, the pause is [`REST`].
const PAUSE: Duration = Duration::from_secs(1);
const TRIES: u32 = 3;
const REST: Duration = Duration::from_mins(5);
/// Number of losses of long packets in a row, without a long packet arriving in between, after
/// which packets are short again. Losses that are detected together count once.
const SUSPICIONS: u32 = 6;

/// Current packet length; see the [module](self).
#[derive(Debug)]
pub(super) struct Length {
    short: usize,
    long: usize,
    arrives: bool,
    /// Lost probes, and whether one is in flight.
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

    /// Returns the bytes of frames in a packet.
    pub(super) fn octets(&self) -> usize {
        if self.arrives { self.long } else { self.short }
    }

    /// Returns when a probe is due.
    pub(super) fn due(&self) -> Option<Duration> {
        (self.long > self.short && !self.arrives && !self.under_way).then_some(self.next)
    }

    /// Notes that a probe is sent now, and returns its length in bytes.
    pub(super) fn tried(&mut self) -> usize {
        self.under_way = true;
        self.long
    }

    /// Notes that the probe has arrived.
    pub(super) fn arrived(&mut self) {
        self.arrives = true;
        self.under_way = false;
    }

    /// Notes that the probe is lost: by chance, or because it is too long.
    pub(super) fn lost(&mut self, now: Duration) {
        self.under_way = false;
        self.tries += 1;
        self.next = now + PAUSE;
        if self.tries >= TRIES {
            self.tries = 0;
            self.next = now + REST;
        }
    }

    /// Notes that a packet with this many bytes of frames has arrived.
    pub(super) fn has_carried(&mut self, octets: usize) {
        if octets > self.short {
            self.suspicions = 0;
        }
    }

    /// Notes that packets are lost, of which the longest has this many bytes of frames. If only
    /// long packets are lost, short ones still arrive, so nothing else would reveal it.
    pub(super) fn has_missed(&mut self, longest: usize, now: Duration) {
        if self.arrives && longest > self.short {
            self.suspicions += 1;
            if self.suspicions >= SUSPICIONS {
                self.doubt(now);
            }
        }
    }

    /// Returns to short packets, because no packets or no long ones arrive any more: the path may
    /// have changed.
    pub(super) fn doubt(&mut self, now: Duration) {
        self.arrives = false;
        self.suspicions = 0;
        self.next = now + PAUSE;
        self.tries = 0;
    }
}
