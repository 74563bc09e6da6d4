//! The sending side of a heavy phase: a paced flow that stays above what the link delivers.
//!
//! The rate is 1.5 times the rate at which packets arrived between two feedbacks. As long as most
//! packets arrive, it doubles. So the flow fills the queue in front of the bottleneck, but does not
//! exceed the bottleneck by more than a factor of 2 while it grows and 1.5 then. Losses of up to a
//! third cannot hold it back.

use crate::message::Feedback;
use crate::{MILLI, NEVER, SECOND};

/// Share of packets from which on the rate doubles.
const MOST_ARRIVE: f64 = 0.8;
const GROW: f64 = 2.0;
const EXCEED: f64 = 1.5;
/// Feedbacks closer together than this say too little about a rate.
const CLOSEST: u64 = 20 * MILLI;
/// A sender that lags behind its pace sends at most this much at once.
const LAG: u64 = 10 * MILLI;
/// A sender without feedback stops after this time.
const PATIENCE: u64 = 5 * SECOND;

#[derive(Debug)]
pub(crate) struct Saturator {
    /// Bits of an IP packet.
    bits: f64,
    /// Bit/s.
    rate: f64,
    least: f64,
    most: f64,
    next: u64,
    end: u64,
    /// Number of packets sent.
    pub sent: u32,
    /// Packets and time of the feedback that the last rate came from.
    seen: Option<(u32, u64)>,
    heard: u64,
}

impl Saturator {
    /// Creates a flow of packets of `bytes` bytes of IP, from `now` until `end`, at `rate` bit/s
    /// first.
    pub fn new(bytes: u64, rate: u64, most: u64, now: u64, end: u64) -> Self {
        let (bits, most) = (bytes as f64 * 8.0, most as f64);
        // One packet in a second, or as many as are allowed.
        let least = bits.min(most);
        let rate = (rate as f64).clamp(least, most);
        Self { bits, rate, least, most, next: now, end, sent: 0, seen: None, heard: now }
    }

    /// Returns the time of the next packet; [`NEVER`] at the end.
    pub fn due(&self) -> u64 {
        let end = self.end.min(self.heard.saturating_add(PATIENCE));
        if self.next >= end { NEVER } else { self.next }
    }

    /// Returns the number of the packet that is sent at `now`, if one is due.
    pub fn send(&mut self, now: u64) -> Option<u32> {
        if self.due() > now || now >= self.end {
            if now >= self.end {
                self.next = NEVER;
            }
            return None;
        }
        let gap = (self.bits / self.rate * SECOND as f64) as u64;
        self.next = self.next.saturating_add(gap.max(1)).max(now.saturating_sub(LAG));
        self.sent += 1;
        Some(self.sent - 1)
    }

    /// Takes feedback of the receiver, which comes at `now`.
    pub fn feedback(&mut self, feedback: &Feedback, now: u64) {
        self.heard = now;
        let Some((packets, last)) = self.seen else {
            self.seen = Some((feedback.packets, feedback.last));
            return;
        };
        let (Some(more), Some(time)) =
            (feedback.packets.checked_sub(packets), feedback.last.checked_sub(last))
        else {
            return;
        };
        if more < 2 || time < CLOSEST {
            return;
        }
        self.seen = Some((feedback.packets, feedback.last));
        let delivered = f64::from(more) * self.bits * SECOND as f64 / time as f64;
        let factor = if delivered >= MOST_ARRIVE * self.rate { GROW } else { EXCEED };
        self.rate = (delivered * factor).clamp(self.least, self.most);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn feedback(packets: u32, last: u64) -> Feedback {
        Feedback { phase: 1, packets, last, train: 0 }
    }

    #[test]
    fn packets_are_paced_and_end_in_time() {
        // 1000 bytes at 800 kbit/s are one packet in 10 ms.
        let mut flow = Saturator::new(1000, 800_000, 10_000_000, 5, 5 + 35 * MILLI);
        let mut times = Vec::new();
        while flow.due() != NEVER {
            times.push(flow.due());
            assert!(flow.send(flow.due()).is_some());
        }
        assert_eq!(times, [5, 5 + 10 * MILLI, 5 + 20 * MILLI, 5 + 30 * MILLI]);
        assert_eq!((flow.sent, flow.send(5 + 35 * MILLI)), (4, None));
    }

    #[test]
    fn a_late_sender_catches_up_with_10_ms_only() {
        let mut flow = Saturator::new(1000, 8_000_000, 8_000_000, 0, SECOND);
        assert_eq!(flow.send(0), Some(0));
        let now = 500 * MILLI;
        assert!(flow.send(now).is_some());
        let mut count = 0;
        while flow.send(now).is_some() {
            count += 1;
        }
        assert_eq!(count, 11, "one in a millisecond, for 10 ms");
    }

    #[test]
    fn the_rate_doubles_until_less_arrives_and_stays_above_what_arrives() {
        let mut flow = Saturator::new(1000, 800_000, 10_000_000, 0, 100 * SECOND);
        flow.feedback(&feedback(10, 100 * MILLI), 0);
        assert!((flow.rate - 800e3).abs() < 1.0, "the first feedback says nothing about a rate");
        // 10 packets in 100 ms: 800 kbit/s, which is all.
        flow.feedback(&feedback(20, 200 * MILLI), 0);
        assert!((flow.rate - 1.6e6).abs() < 1.0, "{}", flow.rate);
        // 12 in 100 ms are less than 80 % of 1.6 Mbit/s: the link delivers 960 kbit/s.
        flow.feedback(&feedback(32, 300 * MILLI), 0);
        assert!((flow.rate - 1.44e6).abs() < 1.0, "{}", flow.rate);
        // A feedback that overtook another, and one right after the last, change nothing.
        flow.feedback(&feedback(20, 200 * MILLI), 0);
        flow.feedback(&feedback(40, 301 * MILLI), 0);
        assert!((flow.rate - 1.44e6).abs() < 1.0, "{}", flow.rate);
        // The limit.
        flow.feedback(&feedback(332, 400 * MILLI), 0);
        assert!((flow.rate - 10e6).abs() < 1.0, "{}", flow.rate);
    }

    #[test]
    fn without_feedback_it_stops() {
        let mut flow = Saturator::new(1000, 800_000, 800_000, 0, 100 * SECOND);
        while flow.due() != NEVER {
            let due = flow.due();
            assert!(due < PATIENCE);
            flow.send(due);
        }
        assert_eq!(flow.sent, 500);
    }
}
