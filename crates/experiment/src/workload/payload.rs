//! The payload of bulk connections, and its comparison at the receiver.
//!
//! Each connection has its own stream. All streams read the same long sequence of incompressible
//! bytes cyclically, from different starts. The length of the sequence is a prime. So a segment
//! delivered at another place of its stream, however many segments away, or to another connection,
//! differs in nearly all of its bytes. Bit errors spoil only a few bytes, which tells the two
//! apart.

use borsh::{BorshDeserialize, BorshSerialize};

/// Number of bytes that are read and written at a time.
pub const PIECE: usize = 64 * 1024;
/// Length of the sequence: the first prime above 2^20. Within any TCP window, no multiple of a
/// segment's size is a multiple of it.
const PERIOD: usize = 1_048_583;
/// Distance between the starts of two connections' streams.
const STRIDE: usize = 104_729;
/// Bytes of a block: few enough that a segment has several, and so many that bit errors do not
/// spoil half of them (at a bit error ratio of 1e-2 they would with a probability of 1e-17).
const BLOCK: u64 = 64;
/// Number of wrong bytes from which a block counts as misplaced.
const MOST: u64 = BLOCK / 2;

/// The sequence of bytes, which is the same in every run.
#[derive(Debug)]
pub struct Pattern {
    /// The sequence, with its first bytes repeated at the end.
    bytes: Vec<u8>,
}

impl Pattern {
    /// Generates the sequence.
    #[must_use]
    pub fn new() -> Self {
        let mut state = 1_u32;
        let next = || {
            // xorshift32 (Marsaglia 2003).
            state ^= state << 13;
            state ^= state >> 17;
            state ^= state << 5;
            state as u8
        };
        let mut bytes: Vec<u8> = std::iter::repeat_with(next).take(PERIOD).collect();
        bytes.extend_from_within(..PIECE);
        Self { bytes }
    }

    /// Returns the stream of the connection from this port, of the workload with this index in the
    /// plan.
    #[must_use]
    pub fn stream(&self, workload: u16, port: u16) -> Stream<'_> {
        let number = (usize::from(workload) << 16) + usize::from(port);
        Stream { bytes: &self.bytes, start: number % PERIOD * STRIDE % PERIOD }
    }
}

/// The bytes that one connection carries.
#[derive(Debug, Clone, Copy)]
pub struct Stream<'a> {
    bytes: &'a [u8],
    start: usize,
}

impl<'a> Stream<'a> {
    /// Returns `length` bytes from `offset` on, at most [`PIECE`].
    #[must_use]
    pub fn at(self, offset: u64, length: usize) -> &'a [u8] {
        let from = (self.start + (offset % PERIOD as u64) as usize) % PERIOD;
        &self.bytes[from..from + length]
    }
}

/// Comparison of what arrives of a stream with what was sent, in stream order.
#[derive(Debug)]
pub struct Comparison<'a> {
    stream: Stream<'a>,
    offset: u64,
    /// Wrong bytes in the block that is not complete yet.
    wrong_in_block: u64,
    wrong: Wrong,
}

/// Errors in what arrived.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, BorshSerialize, BorshDeserialize)]
pub struct Wrong {
    /// Number of bytes that differ from those sent.
    pub bytes: u64,
    /// Number of blocks of 64 bytes, counted from the start of the stream, with at least 32 wrong
    /// bytes.
    pub misplaced: u64,
}

impl<'a> Comparison<'a> {
    /// Starts a comparison at the beginning of `stream`.
    #[must_use]
    pub fn new(stream: Stream<'a>) -> Self {
        Self { stream, offset: 0, wrong_in_block: 0, wrong: Wrong::default() }
    }

    /// Compares the next bytes that have arrived, at most [`PIECE`].
    ///
    /// Costs little more than one comparison of slices unless they differ.
    pub fn add(&mut self, arrived: &[u8]) {
        let sent = self.stream.at(self.offset, arrived.len());
        if arrived == sent && self.wrong_in_block == 0 {
            self.offset += arrived.len() as u64;
            return;
        }
        let (mut arrived, mut sent) = (arrived, sent);
        while !arrived.is_empty() {
            let left = BLOCK - self.offset % BLOCK;
            let length = arrived.len().min(left as usize);
            let ((ours, more), (theirs, more_sent)) = (arrived.split_at(length), sent.split_at(length));
            if ours != theirs {
                let wrong = ours.iter().zip(theirs).filter(|(one, other)| one != other).count() as u64;
                self.wrong.bytes += wrong;
                // Each block is counted as misplaced only once.
                let before = self.wrong_in_block;
                self.wrong_in_block += wrong;
                self.wrong.misplaced += u64::from(before < MOST && self.wrong_in_block >= MOST);
            }
            self.offset += length as u64;
            if self.offset.is_multiple_of(BLOCK) {
                self.wrong_in_block = 0;
            }
            (arrived, sent) = (more, more_sent);
        }
    }

    /// Returns the errors so far.
    #[must_use]
    pub fn wrong(&self) -> Wrong {
        self.wrong
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Compares a stream, modified by `change`, that arrives in pieces of `piece` bytes.
    fn compared(length: usize, piece: usize, change: impl Fn(&mut [u8])) -> Wrong {
        let pattern = Pattern::new();
        let stream = pattern.stream(0, 10_000);
        let mut bytes: Vec<u8> = (0..length).step_by(PIECE).flat_map(|at| part(stream, at, length)).collect();
        change(&mut bytes);
        let mut comparison = Comparison::new(stream);
        bytes.chunks(piece).for_each(|piece| comparison.add(piece));
        comparison.wrong()
    }

    fn part(stream: Stream<'_>, at: usize, length: usize) -> Vec<u8> {
        stream.at(at as u64, PIECE.min(length - at)).to_vec()
    }

    #[test]
    fn nothing_is_wrong_with_what_was_sent_however_it_arrives() {
        // Longer than the sequence.
        for piece in [1, 63, 64, 524, 1448, PIECE] {
            assert_eq!(compared(PERIOD + 100_000, piece, |_| {}), Wrong::default(), "{piece}");
        }
    }

    /// One bit in a thousand, which is one byte in 125.
    #[test]
    fn bit_errors_are_wrong_bytes_and_not_misplaced() {
        let flip = |bytes: &mut [u8]| bytes.iter_mut().step_by(125).for_each(|byte| *byte ^= 0x10);
        for piece in [1, 100, 524, PIECE] {
            assert_eq!(compared(1_000_000, piece, flip), Wrong { bytes: 8000, misplaced: 0 }, "{piece}");
        }
    }

    #[test]
    fn half_a_block_is_misplaced_wherever_pieces_end() {
        let spoil = |count: usize| {
            move |bytes: &mut [u8]| bytes[640..640 + count].iter_mut().for_each(|byte| *byte ^= 1)
        };
        for piece in [1, 7, 33, 64, 65, 524, PIECE] {
            assert_eq!(compared(2000, piece, spoil(31)), Wrong { bytes: 31, misplaced: 0 }, "{piece}");
            assert_eq!(compared(2000, piece, spoil(32)), Wrong { bytes: 32, misplaced: 1 }, "{piece}");
            assert_eq!(compared(2000, piece, spoil(64)), Wrong { bytes: 64, misplaced: 1 }, "{piece}");
            // Part of it belongs to the next block, and is less than half of that block.
            let shifted = |bytes: &mut [u8]| bytes[660..660 + 62].iter_mut().for_each(|byte| *byte ^= 1);
            assert_eq!(compared(2000, piece, shifted), Wrong { bytes: 62, misplaced: 1 }, "{piece}");
        }
    }

    #[test]
    fn a_segment_in_the_wrong_place_is_misplaced_whatever_the_distance() {
        for size in [524, 536, 1448, 1460] {
            for distance in [1, 2, 3, 64, 128] {
                let (to, from) = (size, size * (1 + distance));
                let wrong = compared(size * 140, 1000, |bytes| bytes.copy_within(from..from + size, to));
                let blocks = (to + size) as u64 / BLOCK - (to as u64).div_ceil(BLOCK);
                assert!(wrong.misplaced >= blocks, "{size} x {distance}: {wrong:?}");
                assert!(wrong.bytes as usize > size * 95 / 100 && wrong.bytes as usize <= size);
            }
        }
    }

    #[test]
    fn a_segment_of_another_connection_is_misplaced() {
        let pattern = Pattern::new();
        let ours = pattern.stream(0, 10_000);
        let others = (10_001..11_000).map(|port| (0, port)).chain((1..13).map(|place| (place, 10_000)));
        for (place, port) in others {
            let theirs = pattern.stream(place, port);
            let mut comparison = Comparison::new(ours);
            comparison.add(ours.at(0, 640));
            comparison.add(theirs.at(640, 1280));
            comparison.add(ours.at(1920, 640));
            assert_eq!(comparison.wrong().misplaced, 20, "workload {place}, port {port}");
        }
    }
}
