//! Shapes of TCP options: what a connection's data segments carry, as far as it can be restored.
//!
//! Linux puts two NOPs in front of time stamps; RFC 7323 allows the option at other places in the
//! 12 bytes. SACK blocks come from hosts that also receive data.
//!
//! Time stamps advance in small steps (RFC 7323 section 5.4: a clock of 1 ms to 1 s). Time stamps
//! of consecutive segments are near each other; see [`PLAUSIBLE_STAMPS`].

use crate::sequence::distance;

/// Bytes that time stamps and their two bytes of padding take in a header.
pub const TIME_STAMPS: usize = 12;
/// The NOP option.
pub const NOP: u8 = 1;
/// Kind of the SACK option.
pub const SACK: u8 = 5;

/// Most ticks that a time stamp may be ahead of a recent one: about a minute of a 1 ms clock.
pub const PLAUSIBLE_STAMPS: u32 = 1 << 16;

const END: u8 = 0;
const KIND_TIME_STAMPS: u8 = 8;
/// Value of the time stamp option's own length field.
const TIME_STAMPS_LENGTH: u8 = 10;

/// Shape of a segment's options.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shape {
    /// None.
    Plain,
    /// Time stamps and two bytes of padding, nothing else.
    TimeStamps,
    /// Time stamps behind two NOPs, then up to three SACK blocks behind two NOPs.
    TimeStampsAndSack,
    /// Up to four SACK blocks behind two NOPs.
    Sack,
    /// Anything else, including damaged options.
    Other,
}

/// Classifies the bytes between the fixed header and the payload.
#[must_use]
pub fn shape(options: &[u8]) -> Shape {
    if options.is_empty() {
        return Shape::Plain;
    }
    if options
        .first_chunk()
        .is_some_and(|first| options.len() == TIME_STAMPS && time_stamps_at(first).is_some())
    {
        return Shape::TimeStamps;
    }
    match options {
        [NOP, NOP, KIND_TIME_STAMPS, TIME_STAMPS_LENGTH, _, _, _, _, _, _, _, _, sack @ ..]
            if is_sack(sack, 3) =>
        {
            Shape::TimeStampsAndSack
        }
        sack if is_sack(sack, 4) => Shape::Sack,
        _ => Shape::Other,
    }
}

/// Returns where the time stamp option starts in 12 bytes that hold it and padding; `None` if they
/// do not.
#[must_use]
pub fn time_stamps_at(options: &[u8; TIME_STAMPS]) -> Option<usize> {
    (0..=2).find(|&at| {
        let option = at..at + usize::from(TIME_STAMPS_LENGTH);
        options[at..].starts_with(&[KIND_TIME_STAMPS, TIME_STAMPS_LENGTH])
            && options.iter().enumerate().all(|(at, byte)| option.contains(&at) || matches!(*byte, NOP | END))
    })
}

/// Returns `TSval` from 12 bytes of time stamps and padding; `None` if they hold something else.
#[must_use]
pub fn value(options: &[u8; TIME_STAMPS]) -> Option<u32> {
    number_at(options, time_stamps_at(options)? + 2)
}

/// Returns `TSecr` from 12 bytes of time stamps and padding; `None` if they hold something else.
#[must_use]
pub fn echo(options: &[u8; TIME_STAMPS]) -> Option<u32> {
    number_at(options, time_stamps_at(options)? + 6)
}

fn number_at(options: &[u8; TIME_STAMPS], at: usize) -> Option<u32> {
    options[at..].first_chunk().copied().map(u32::from_be_bytes)
}

/// Returns whether the next segment of a connection whose newest time stamps are `held` may carry
/// `options`: the time stamps are at the same place, and neither goes back or is far ahead.
#[must_use]
pub fn is_plausible(options: &[u8; TIME_STAMPS], held: &[u8; TIME_STAMPS]) -> bool {
    let is_near = |number: Option<u32>, held: Option<u32>| {
        number.zip(held).is_some_and(|(number, held)| distance(held, number) <= PLAUSIBLE_STAMPS)
    };
    time_stamps_at(options) == time_stamps_at(held)
        && is_near(value(options), value(held))
        && is_near(echo(options), echo(held))
}

/// Returns whether these options start with the two NOPs and the time stamp option, as Linux writes
/// them.
#[must_use]
pub fn starts_with_padded_time_stamps(options: &[u8]) -> bool {
    options.starts_with(&[NOP, NOP, KIND_TIME_STAMPS, TIME_STAMPS_LENGTH])
}

/// Returns whether two NOPs and 1 to `most` SACK blocks fill `options` exactly.
fn is_sack(options: &[u8], most: usize) -> bool {
    let [NOP, NOP, SACK, length, blocks @ ..] = options else { return false };
    usize::from(*length) == 2 + blocks.len()
        && blocks.len() % 8 == 0
        && (1..=most).contains(&(blocks.len() / 8))
}

#[cfg(test)]
mod tests {
    use super::*;

    const STAMPS: [u8; 12] = [1, 1, 8, 10, 0, 0, 1, 0, 0, 0, 0, 9];

    fn sack(blocks: u8) -> Vec<u8> {
        let mut options = vec![1, 1, 5, 2 + 8 * blocks];
        options.extend((0..8 * blocks).map(|n| n + 100));
        options
    }

    #[test]
    fn each_shape_is_told() {
        assert_eq!(shape(&[]), Shape::Plain);
        assert_eq!(shape(&STAMPS), Shape::TimeStamps);
        for blocks in 1..=4 {
            assert_eq!(shape(&sack(blocks)), Shape::Sack);
            let both = [&STAMPS[..], &sack(blocks)].concat();
            assert_eq!(shape(&both), if blocks < 4 { Shape::TimeStampsAndSack } else { Shape::Other });
        }
        for other in [&[1u8, 1, 1, 1][..], &[2, 4, 5, 180], &[30; 12], &sack(0), &sack(5), &STAMPS[..8]] {
            assert_eq!(shape(other), Shape::Other, "{other:?}");
        }
    }

    #[test]
    fn time_stamps_may_stand_at_three_places() {
        let option = [8, 10, 0xff, 0xff, 0xff, 0xff, 1, 2, 3, 4];
        for (before, after) in [(&[][..], &[1u8, 0][..]), (&[1], &[0]), (&[1, 1], &[]), (&[0, 1], &[])] {
            let options: [u8; 12] = [before, &option, after].concat().try_into().expect("12");
            assert_eq!(time_stamps_at(&options), Some(before.len()));
            assert_eq!((value(&options), echo(&options)), (Some(u32::MAX), Some(0x0102_0304)));
        }
        assert_eq!(shape(&[&option[..], &[2, 1]].concat()), Shape::Other, "2 is no padding");
    }

    #[test]
    fn any_damage_to_kind_length_or_padding_is_another_shape_or_none() {
        for at in 0..4 {
            for bit in 0..8 {
                let mut damaged = STAMPS;
                damaged[at] ^= 1 << bit;
                // The flip 1 to 0 turns a NOP into an end option, which is padding too.
                let expected = if at < 2 && bit == 0 { Shape::TimeStamps } else { Shape::Other };
                assert_eq!(shape(&damaged), expected, "byte {at} bit {bit}");
            }
        }
    }

    fn stamped(value: u32, echo: u32) -> [u8; 12] {
        let mut options = STAMPS;
        options[4..8].copy_from_slice(&value.to_be_bytes());
        options[8..].copy_from_slice(&echo.to_be_bytes());
        options
    }

    #[test]
    fn both_time_stamps_go_forward_and_not_far() {
        let held = stamped(u32::MAX - 5, 70);
        let plausible = |ahead: i32, echo: u32| {
            is_plausible(&stamped((u32::MAX - 5).wrapping_add_signed(ahead), echo), &held)
        };
        assert!(plausible(0, 70) && plausible(1, 70) && plausible(0, 71));
        assert!(plausible(1 << 16, 70 + (1 << 16)), "across the end of the numbers");
        assert!(!plausible((1 << 16) + 1, 70) && !plausible(-1, 70));
        assert!(!plausible(0, 71 + (1 << 16)) && !plausible(0, 69));
    }

    #[test]
    fn plausible_options_lie_where_those_held_do() {
        let mut moved = STAMPS;
        moved.rotate_left(2);
        assert!(is_plausible(&moved, &moved) && !is_plausible(&moved, &STAMPS));
        assert!(!is_plausible(&[1; 12], &STAMPS) && !is_plausible(&[1; 12], &[1; 12]));
        // Different padding around the same place does not matter.
        assert!(is_plausible(&[&[0, 1], &STAMPS[2..]].concat().try_into().expect("12"), &STAMPS));
    }
}
