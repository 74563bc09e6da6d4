//! Wrong bits in a packet (TL-14).
//!
//! A bit that is wrong with probability p has the *hazard* `−ln(1 − p)`. Hazards of independent
//! bits add up. The next wrong bit is the one in which their sum since the last wrong bit exceeds
//! an exponential variable with mean 1. If p is constant, the gaps are geometric. The cost is
//! therefore proportional to the wrong bits, not to all bits, and p = 1 is no special case.
//!
//! Bit 0 is the most significant bit of the first byte, the first on the wire.

use crate::seed::Stream;
use crate::units::BitErrorRatio;
use rand::RngExt;
use rand_distr::Exp1;
use std::ops::Range;

/// A sequence of bits with the same hazard, from the end of the previous piece.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Piece {
    /// The first bit behind the piece.
    pub end: u64,
    /// Hazard of each bit.
    pub hazard: f64,
}

impl Piece {
    /// Returns the hazard of all bits of `pieces`.
    pub fn total(pieces: &[Self]) -> f64 {
        let mut start = 0;
        let mut total = 0.0;
        for piece in pieces {
            // An empty piece of infinite hazard adds nothing; the product would be NaN.
            if piece.end > start {
                total += (piece.end - start) as f64 * piece.hazard;
                start = piece.end;
            }
        }
        total
    }
}

/// Returns the hazard of a bit.
pub(super) fn hazard(ratio: BitErrorRatio) -> f64 {
    -(-ratio.get()).ln_1p()
}

/// Flips bits in the bytes of `region`, each independently with the hazard in `pieces`; returns how
/// many.
///
/// `pieces` count bits from the start of `bytes`. The first flipped bit is the one in which the
/// hazard since the start of the region exceeds `first`.
pub(super) fn flip_by_hazard(
    bytes: &mut [u8],
    region: Range<usize>,
    pieces: &[Piece],
    first: f64,
    stream: &mut Stream,
) -> u32 {
    let region = bits(region);
    let mut bit = region.start;
    let mut left = first;
    let mut flipped = 0;
    for piece in pieces {
        let end = piece.end.min(region.end);
        while bit < end {
            let here = (end - bit) as f64 * piece.hazard;
            if left >= here {
                left -= here;
                bit = end;
                break;
            }
            // Rounding may give the first bit behind the piece.
            bit = (bit + (left / piece.hazard) as u64).min(end - 1);
            flip(bytes, bit);
            flipped += 1;
            bit += 1;
            left = stream.sample(Exp1);
        }
    }
    flipped
}

/// Flips bits in the bytes of `region`, each with probability `ratio`, given that at least one is
/// flipped; returns how many.
pub(super) fn flip_some(
    bytes: &mut [u8],
    region: Range<usize>,
    ratio: BitErrorRatio,
    stream: &mut Stream,
) -> u32 {
    let range = bits(region.clone());
    if range.is_empty() {
        return 0;
    }
    // The first gap is geometric under the condition that it ends in the region.
    let hit = ratio.hits(range.end - range.start).get();
    let first = -(-stream.random::<f64>() * hit).ln_1p();
    let pieces = [Piece { end: range.end, hazard: hazard(ratio) }];
    let first = first.min(((range.end - range.start) as f64 * pieces[0].hazard).next_down());
    flip_by_hazard(bytes, region, &pieces, first, stream)
}

/// Flips `count` bits in the bytes of `region`, or all if there are no more; returns how many.
pub(super) fn flip_count(bytes: &mut [u8], region: Range<usize>, count: u32, stream: &mut Stream) -> u32 {
    let range = bits(region);
    let length = range.end - range.start;
    let count = u64::from(count).min(length);
    for place in rand::seq::index::sample(stream, length as usize, count as usize) {
        flip(bytes, range.start + place as u64);
    }
    count as u32
}

fn bits(bytes: Range<usize>) -> Range<u64> {
    bytes.start as u64 * 8..bytes.end as u64 * 8
}

fn flip(bytes: &mut [u8], bit: u64) {
    bytes[(bit / 8) as usize] ^= 0x80 >> (bit % 8);
}
