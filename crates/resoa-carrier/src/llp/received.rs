//! Packets that were received: each is processed once, and reported to the other side.

use super::wire::{ACK_RANGES, Ack};
use crate::ranges::Ranges;
use std::time::Duration;

/// Ranges that are kept. Everything before them counts as received.
const KEPT: usize = 512;
/// Most bytes of a range in an acknowledgement, and of everything else in a packet that has
/// something to say.
const RANGE: usize = 16;
const BESIDE: usize = 128;
/// Number of packets after which an acknowledgement is sent at once.
const EVERY: u32 = 4;
/// Longest delay of an acknowledgement.
pub(super) const DELAY: Duration = Duration::from_millis(2);

/// Received packets; see the [module](self).
#[derive(Debug, Default)]
pub(super) struct Received {
    packets: Ranges,
    /// Packets before this one are neither accepted nor reported.
    forgotten: u64,
    /// When the last packet arrived.
    last_at: Duration,
    /// Packets that must still be acknowledged, and by when.
    unsaid: u32,
    due: Option<Duration>,
}

impl Received {
    /// Returns whether a packet with this number can still be accepted.
    pub(super) fn is_new(&self, number: u64) -> bool {
        number >= self.forgotten && !self.packets.contains(number)
    }

    /// Returns the number after the highest one received.
    pub(super) fn next(&self) -> u64 {
        self.packets.last_first().next().map_or(0, |last| last.end)
    }

    /// Notes the arrival of a new packet.
    pub(super) fn add(&mut self, number: u64, is_to_be_acknowledged: bool, now: Duration) {
        let in_sequence = number == self.next();
        self.packets.add(number..number + 1);
        self.last_at = now;
        while self.packets.count() > KEPT {
            self.forgotten = self.packets.forget_first().unwrap_or(self.forgotten);
        }
        if is_to_be_acknowledged {
            self.unsaid += 1;
            let at_once = !in_sequence || self.unsaid >= EVERY;
            let due = if at_once { now } else { now + DELAY };
            self.due = Some(self.due.map_or(due, |earlier| earlier.min(due)));
        }
    }

    /// Notes that all packets before this one are settled. They need no report and are no longer
    /// accepted, because their contents have arrived in other packets, or will.
    pub(super) fn settled(&mut self, oldest: u64) {
        self.forgotten = self.forgotten.max(oldest.min(self.next()));
        self.packets.forget_before(self.forgotten);
    }

    /// Makes an acknowledgement due at once.
    pub(super) fn hurry(&mut self, now: Duration) {
        self.due = Some(now);
    }

    /// Returns when an acknowledgement is due.
    pub(super) fn due(&self) -> Option<Duration> {
        self.due
    }

    /// Returns whether there is something to report to the other side.
    pub(super) fn has_news(&self) -> bool {
        self.due.is_some()
    }

    /// Returns an acknowledgement that fits a packet with `room` bytes, and notes that it is sent.
    pub(super) fn say(&mut self, limit: u64, room: usize, now: Duration) -> Option<Ack> {
        let fit = (room.saturating_sub(BESIDE) / RANGE).clamp(1, ACK_RANGES);
        let ranges: Vec<_> = self.packets.last_first().take(fit).collect();
        if ranges.is_empty() {
            return None;
        }
        self.unsaid = 0;
        self.due = None;
        Some(Ack { delay_us: now.saturating_sub(self.last_at).as_micros() as u64, limit, ranges })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::llp::wire::Frame;

    const NOW: Duration = Duration::from_secs(1);
    const ROOM: usize = 8973;

    /// A packet is accepted once, and not at all if it is settled or too old. So nobody can replay
    /// packets.
    #[test]
    fn each_packet_once() {
        let mut received = Received::default();
        for number in [0, 1, 4] {
            assert!(received.is_new(number));
            received.add(number, true, NOW);
            assert!(!received.is_new(number));
        }
        assert!(received.is_new(2));
        received.settled(4);
        assert!((0..=4).all(|number| !received.is_new(number)));
        assert!(received.is_new(5));
        // Each is followed by a gap.
        for number in 0..2 * KEPT as u64 {
            received.add(10 + 2 * number, true, NOW);
        }
        assert!(!received.is_new(11) && received.packets.count() <= KEPT);
        assert!(received.is_new(received.next() - 2));
        // The other side cannot make us refuse packets that it has not sent yet.
        received.settled(u64::MAX);
        assert!(received.is_new(received.next()));
    }

    /// An acknowledgement lists the last range first, has a limited number of ranges, and is sent
    /// once.
    #[test]
    fn what_is_said() {
        let mut received = Received::default();
        assert_eq!(received.say(7, ROOM, NOW), None);
        received.add(0, false, NOW);
        assert!(!received.has_news());
        received.add(1, true, NOW);
        assert_eq!(received.due(), Some(NOW + DELAY));
        received.add(3, true, NOW);
        assert_eq!(received.due(), Some(NOW), "something is missing");
        let said = received.say(7, ROOM, NOW + DELAY).expect("news");
        assert_eq!((said.limit, said.delay_us), (7, 2000));
        assert_eq!(said.ranges, [3..4, 0..2]);
        assert!(!received.has_news());
        for number in 0..2 * ACK_RANGES as u64 {
            received.add(10 + 2 * number, true, NOW);
        }
        assert_eq!(received.say(7, ROOM, NOW).map(|said| said.ranges.len()), Some(ACK_RANGES));
    }

    /// An acknowledgement fits its packet, whatever the number of gaps and the size of the numbers,
    /// and leaves room for other frames.
    #[test]
    fn what_is_said_fits() {
        for (room, ranges) in [(229, 6), (1150, 63), (1447, ACK_RANGES), (8973, ACK_RANGES)] {
            let mut received = Received::default();
            let far = 1 << 40;
            for number in 1..2 * ACK_RANGES as u64 {
                received.packets.add(number * far..number * far + far / 2);
            }
            let mut octets = Vec::new();
            let ack = received.say(u64::MAX >> 2, room, NOW + Duration::from_hours(1000)).expect("news");
            assert_eq!(ack.ranges.len(), ranges);
            Frame::Ack(ack).write(&mut octets);
            Frame::Oldest(far).write(&mut octets);
            Frame::Close { messages: far }.write(&mut octets);
            assert!(octets.len() <= room, "{} of {room}", octets.len());
        }
    }

    /// Every few packets are acknowledged at once.
    #[test]
    fn every_few_packets() {
        let mut received = Received::default();
        for number in 0..u64::from(EVERY) {
            assert_ne!(received.due(), Some(NOW));
            received.add(number, true, NOW);
        }
        assert_eq!(received.due(), Some(NOW));
    }
}
