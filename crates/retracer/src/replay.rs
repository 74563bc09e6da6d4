//! The replay: sends units of a number of blocks over a trace, back to back, until enough have
//! arrived.
//!
//! A unit is a frame of the link layer or, without recovery there, a packet. It is lost if any of
//! its blocks is erased, and is retransmitted later; the time of the retransmission does not change
//! how many are sent. After its last block, the trace starts again (LL-13).
//!
//! With n blocks and units of m, the units meet the same blocks again after n / gcd(n, m) units. So
//! even a long transfer walks at most two rounds with a constant cost per unit, and the mean over
//! all n start blocks costs n steps instead of n transfers.

use crate::RetraceError;
use crate::sweep::Link;
use serde::Serialize;

/// A block erasure trace, ready to be replayed.
#[derive(Debug, Clone)]
pub struct Channel {
    /// Number of erased blocks before each place, and before the end.
    before: Vec<u32>,
}

/// What is lost as a whole: a frame or a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Unit {
    /// Number of blocks that it takes, 1 or more.
    pub blocks: u32,
    /// Octets of data that it carries, 1 or more.
    pub payload: u64,
}

/// Where in the trace a transfer starts (ambiguity 5 of the specification).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Start {
    /// At this block, from 0.
    Block(usize),
    /// At every block, one transfer each; results are means over these.
    Every,
}

/// A transfer, replayed to its end.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Transfer {
    /// The units in which it was sent.
    pub unit: Unit,
    /// Octets of data.
    pub size: u64,
    /// Number of units that had to arrive.
    pub needed: u64,
    /// Number of units that were sent; a mean over start blocks may be fractional.
    pub sent: f64,
}

impl Channel {
    /// Creates a channel that repeats these erasures for ever.
    pub fn new(erased: &[bool]) -> Result<Self, RetraceError> {
        if erased.is_empty() {
            return Err(RetraceError::NoBlocks);
        }
        if erased.len() >= u32::MAX as usize {
            return Err(RetraceError::TooLong(erased.len()));
        }
        let mut sum = 0;
        let sums = erased.iter().map(|&erased| {
            sum += u32::from(erased);
            sum
        });
        Ok(Self { before: std::iter::once(0).chain(sums).collect() })
    }

    /// Returns the number of blocks of the trace.
    #[must_use]
    pub fn blocks(&self) -> usize {
        self.before.len() - 1
    }

    /// Returns the number of erased blocks of the trace.
    #[must_use]
    pub fn erasures(&self) -> usize {
        self.before[self.blocks()] as usize
    }

    /// Returns whether a unit of `blocks` blocks that starts at block `start` is lost.
    #[must_use]
    pub fn loses(&self, start: usize, blocks: u32) -> bool {
        let (count, blocks) = (self.blocks(), blocks as usize);
        if blocks >= count {
            return self.erasures() > 0;
        }
        let end = start + blocks;
        if end <= count {
            self.before[end] > self.before[start]
        } else {
            self.before[count] > self.before[start] || self.before[end - count] > 0
        }
    }

    /// Replays a transfer of `size` octets in `unit`s. Returns `None` if no unit ever arrives.
    pub fn transfer(&self, unit: Unit, size: u64, start: Start) -> Result<Option<Transfer>, RetraceError> {
        let needed = size.div_ceil(unit.payload);
        if needed == 0 {
            return Err(RetraceError::NoData);
        }
        let sent = match start {
            Start::Block(block) if block >= self.blocks() => {
                return Err(RetraceError::NoSuchBlock { block, blocks: self.blocks() });
            }
            Start::Block(block) => self.sent_from(block, unit.blocks, needed).map(|sent| sent as f64),
            Start::Every => self.mean_sent(unit.blocks, needed),
        };
        Ok(sent.map(|sent| Transfer { unit, size, needed, sent }))
    }

    /// Returns the start places of consecutive units of `blocks` blocks, from `start` on, for one
    /// round.
    fn round(&self, start: usize, blocks: u32) -> impl Iterator<Item = usize> {
        let (count, step) = (self.blocks(), blocks as usize % self.blocks());
        let length = count / gcd(count, blocks as usize);
        let mut next = start;
        (0..length).map(move |_| {
            let place = next;
            next += step;
            if next >= count {
                next -= count;
            }
            place
        })
    }

    fn sent_from(&self, start: usize, blocks: u32, needed: u64) -> Option<u128> {
        let (mut sent, mut good) = (0_u64, 0);
        for place in self.round(start, blocks) {
            sent += 1;
            good += u64::from(!self.loses(place, blocks));
            if good == needed {
                return Some(u128::from(sent));
            }
        }
        // One round was not enough. The last unit that is needed arrives within the last round, not
        // at the end of the previous one.
        let rounds = (needed - 1).checked_div(good)?;
        let mut left = needed - rounds * good;
        let mut last = 0;
        for place in self.round(start, blocks) {
            last += 1;
            left -= u64::from(!self.loses(place, blocks));
            if left == 0 {
                break;
            }
        }
        Some(u128::from(rounds) * u128::from(sent) + last)
    }

    /// Returns the mean of [`Self::sent_from`] over all start blocks. `None` if no unit ever
    /// arrives from some of them.
    fn mean_sent(&self, blocks: u32, needed: u64) -> Option<f64> {
        let mut total: u128 = 0;
        // The start blocks divide into this many rounds, each with its places in the order of the
        // units.
        for first in 0..gcd(self.blocks(), blocks as usize) {
            let places: Vec<usize> = self.round(first, blocks).collect();
            let good: Vec<u64> =
                (0..places.len() as u64).filter(|&unit| !self.loses(places[unit as usize], blocks)).collect();
            let length = places.len() as u64;
            let rounds = (needed - 1).checked_div(good.len() as u64)?;
            let left = needed - rounds * good.len() as u64;
            // Index in `good` of the first unit at or after the start that arrives.
            let mut next = 0;
            for start in 0..length {
                while next < good.len() && good[next] < start {
                    next += 1;
                }
                let last = next as u64 + left - 1;
                let (again, place) = (last / good.len() as u64, last % good.len() as u64);
                let end = again * length + good[place as usize];
                total += u128::from(rounds) * u128::from(length) + u128::from(end - start + 1);
            }
        }
        Some(total as f64 / self.blocks() as f64)
    }
}

fn gcd(one: usize, other: usize) -> usize {
    if other == 0 { one } else { gcd(other, one % other) }
}

impl Transfer {
    /// Returns the number of units that were sent and lost.
    #[must_use]
    pub fn retransmissions(&self) -> f64 {
        self.sent - self.needed as f64
    }

    /// Returns the number of blocks that were sent: the radio resource that the transfer used.
    #[must_use]
    pub fn blocks(&self) -> f64 {
        self.sent * f64::from(self.unit.blocks)
    }

    /// Returns the duration on `link`, in seconds.
    #[must_use]
    pub fn seconds(&self, link: &Link) -> f64 {
        self.blocks() * link.period.as_secs_f64()
    }

    /// Returns the throughput on `link`, in octets of data per second.
    #[must_use]
    pub fn throughput(&self, link: &Link) -> f64 {
        self.size as f64 / self.seconds(link)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The pseudo code of the specification, section 6, verbatim. Returns `None` after ten rounds
    /// in which nothing arrived.
    fn literal(erased: &[bool], unit: u32, needed: u64, start: usize) -> Option<u64> {
        let (count, blocks) = (erased.len(), unit as usize);
        let (mut place, mut sent, mut good) = (start, 0, 0);
        while good < needed {
            let lost = (0..blocks).any(|block| erased[(place + block) % count]);
            place = (place + blocks) % count;
            sent += 1;
            good += u64::from(!lost);
            if good == 0 && sent > 10 * count as u64 {
                return None;
            }
        }
        Some(sent)
    }

    proptest! {
        /// LL-10, LL-13: the replay matches the pseudo code for every trace, frame, size and start,
        /// including wrap-around.
        #[test]
        fn ll_10_the_replay_is_that_of_the_specification(
            erased in prop::collection::vec(prop::bool::weighted(0.2), 1..60),
            blocks in 1_u32..90,
            needed in 1_u64..200,
        ) {
            let channel = Channel::new(&erased).expect("blocks");
            let unit = Unit { blocks, payload: 1 };
            let mut all = Vec::new();
            for start in 0..erased.len() {
                let sent = literal(&erased, blocks, needed, start);
                let transfer = channel.transfer(unit, needed, Start::Block(start)).expect("can be replayed");
                prop_assert_eq!(transfer.map(|transfer| transfer.sent), sent.map(|sent| sent as f64), "start {}", start);
                all.push(sent);
            }
            let mean = all.iter().copied().sum::<Option<u64>>().map(|sum| sum as f64 / erased.len() as f64);
            let every = channel.transfer(unit, needed, Start::Every).expect("can be replayed");
            prop_assert_eq!(every.map(|transfer| transfer.sent), mean);
        }
    }

    /// LL-10: without erasures, frames of one block give 1200 octets per second, however long the
    /// transfer is (LL-13).
    #[test]
    fn ll_10_without_erasures_1200() {
        let channel = Channel::new(&[false; 7]).expect("blocks");
        for size in [24, 24_000_000_000] {
            let transfer = channel.transfer(Unit { blocks: 1, payload: 24 }, size, Start::Block(3));
            let transfer = transfer.expect("can be replayed").expect("comes through");
            assert!((transfer.throughput(&Link::GSM) - 1200.0).abs() < 1e-9);
            assert!(transfer.retransmissions().abs() < f64::EPSILON);
        }
    }

    /// LL-13: the largest possible size, on a channel that erases nearly everything.
    #[test]
    fn ll_13_the_largest_size() {
        let erased: Vec<bool> = (0..1000).map(|place| place != 7).collect();
        let channel = Channel::new(&erased).expect("blocks");
        for start in [Start::Block(0), Start::Every] {
            let transfer = channel.transfer(Unit { blocks: 1, payload: 1 }, u64::MAX, start);
            let sent = transfer.expect("can be replayed").expect("comes through").sent;
            assert!((sent / (1000.0 * u64::MAX as f64) - 1.0).abs() < 1e-9, "{sent}");
        }
    }

    #[test]
    fn what_cannot_be_is_refused() {
        assert_eq!(Channel::new(&[]).expect_err("no blocks"), RetraceError::NoBlocks);
        let channel = Channel::new(&[false; 7]).expect("blocks");
        let unit = Unit { blocks: 1, payload: 24 };
        assert_eq!(channel.transfer(unit, 0, Start::Every), Err(RetraceError::NoData));
        let behind = channel.transfer(unit, 1, Start::Block(7)).expect_err("behind the end");
        assert_eq!(
            behind.to_string(),
            "start block 7 is out of range: the trace has 7 blocks, counted from 0"
        );
    }

    /// Prints blocks per second: `cargo test -p retracer --release -- --ignored --nocapture speed`.
    #[test]
    #[ignore = "prints a time and asserts nothing about it"]
    fn speed() {
        let erased: Vec<bool> =
            (0..774_000_u32).map(|place| place.wrapping_mul(2_654_435_761) < 1 << 25).collect();
        let begun = std::time::Instant::now();
        let channel = Channel::new(&erased).expect("blocks");
        let mut blocks = 0.0;
        for m in 1..=30 {
            let unit = Unit { blocks: m, payload: u64::from(m) * 30 - 6 };
            let size = erased.len() as u64 * 30;
            blocks +=
                channel.transfer(unit, size, Start::Block(0)).expect("replayed").expect("through").blocks();
        }
        let one = begun.elapsed().as_secs_f64();
        println!("from block 0: {:.0} million blocks a second", blocks / one / 1e6);
        let begun = std::time::Instant::now();
        channel.transfer(Unit { blocks: 4, payload: 114 }, 774_000 * 30, Start::Every).expect("replayed");
        println!("all 774 000 start blocks of one frame size: {:.3} s", begun.elapsed().as_secs_f64());
    }
}
