//! How much risk an application takes (TL-41; P II-B c: some of these choices may have to be the application's).

use crate::place::{Bases, Place};

/// Positions that a bold socket compares a damaged sequence number with.
pub const BOLD_POSITIONS: u32 = 32;
/// Wrong bits that a bold socket bears in a sequence number.
pub const BOLD_BITS: u32 = 2;

/// Set per socket. The numbers are those of the socket option.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Policy {
    /// Right ports and in order, or not at all.
    Strict = 0,
    /// Damaged ports and segments behind holes as well.
    #[default]
    Normal = 1,
    /// Damaged sequence numbers too, if there is one nearest place.
    Bold = 2,
}

impl Policy {
    /// All of them, from careful to bold.
    pub const ALL: [Self; 3] = [Self::Strict, Self::Normal, Self::Bold];

    /// Its name in options and plans.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Strict => "strict",
            Self::Normal => "normal",
            Self::Bold => "bold",
        }
    }

    /// The one called so.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|policy| policy.name() == name)
    }

    /// The policy of a number; `None` above 2.
    #[must_use]
    pub const fn from_number(number: u8) -> Option<Self> {
        Some(match number {
            0 => Self::Strict,
            1 => Self::Normal,
            2 => Self::Bold,
            _ => return None,
        })
    }

    /// Whether a segment that was found in this way, at this place, may be accepted.
    #[must_use]
    pub fn permits(self, is_approximate: bool, place: Place) -> bool {
        self != Self::Strict || (!is_approximate && place == Place::InOrder)
    }
}

/// The one position that a damaged sequence number is nearest to, in wrong bits; `None` if there are several, or none
/// within [`BOLD_BITS`]. The work does not depend on the damage.
///
/// It is a bold guess in three cases more, because the true place is not among those compared: an old duplicate, a flight of
/// more than [`BOLD_POSITIONS`] segments, and a connection of which no right segment was seen yet (S = 0).
#[must_use]
pub fn nearest(seq: u32, bases: &Bases) -> Option<u32> {
    let count = if bases.payload == 0 { 1 } else { BOLD_POSITIONS };
    let positions = (0..count).map(|k| bases.contiguous.wrapping_add(k * u32::from(bases.payload)));
    let mut best: Option<(u32, u32)> = None;
    let mut is_only = true;
    for position in positions.chain([bases.rcv_nxt]) {
        let bits = (seq ^ position).count_ones();
        match best {
            Some((least, _)) if bits > least => {}
            Some((least, held)) if bits == least => is_only &= held == position,
            _ => (best, is_only) = (Some((bits, position)), true),
        }
    }
    best.filter(|(bits, _)| is_only && *bits <= BOLD_BITS).map(|(_, position)| position)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bases(contiguous: u32, payload: u16) -> Bases {
        Bases { rcv_nxt: contiguous, contiguous, highest: contiguous, payload, window: 1 << 20 }
    }

    #[test]
    fn numbers_are_those_of_the_socket_option() {
        for policy in [Policy::Strict, Policy::Normal, Policy::Bold] {
            assert_eq!(Policy::from_number(policy as u8), Some(policy));
        }
        assert_eq!(Policy::from_number(3), None);
    }

    #[test]
    fn strict_wants_right_ports_and_order() {
        for (approximate, place, strict) in [
            (false, Place::InOrder, true),
            (true, Place::InOrder, false),
            (false, Place::OutOfOrder, false),
            (true, Place::OutOfOrder, false),
        ] {
            assert_eq!(Policy::Strict.permits(approximate, place), strict);
            assert!(Policy::Normal.permits(approximate, place) && Policy::Bold.permits(approximate, place));
        }
    }

    #[test]
    fn one_or_two_wrong_bits_find_their_way_home_and_three_do_not() {
        let bases = bases(0x1234_5678, 1448);
        assert_eq!(nearest(0x1234_5678 ^ 0x8000_0000, &bases), Some(0x1234_5678));
        assert_eq!(nearest(0x1234_5678 ^ 0xc000_0000, &bases), Some(0x1234_5678));
        assert_eq!(nearest(0x1234_5678 ^ 0xe000_0000, &bases), None);
        let third = 0x1234_5678 + 3 * 1448;
        assert_eq!(nearest(third ^ 0x4000_0000, &bases), Some(third));
    }

    #[test]
    fn between_two_equally_near_places_there_is_no_choice() {
        // Places 0 and 3: 1 is one bit from both.
        assert_eq!(nearest(1, &bases(0, 3)), None);
    }

    #[test]
    fn the_same_place_twice_counts_once() {
        // rcv_nxt and contiguous are the same here; later they differ, and the bit leads to rcv_nxt.
        assert_eq!(nearest(1 << 31, &bases(0, 1448)), Some(0));
        let behind = Bases { rcv_nxt: 0x0001_8000, contiguous: 0x0003_0000, ..bases(0, 1448) };
        assert_eq!(nearest(0x8001_8000, &behind), Some(0x0001_8000));
    }

    #[test]
    fn the_last_position_is_the_32nd_and_without_a_size_there_is_one() {
        let bit = 1 << 31;
        assert_eq!(nearest((31 << 14) ^ bit, &bases(0, 1 << 14)), Some(31 << 14));
        let far = 0x0155_0000;
        assert_eq!(nearest(far ^ bit, &Bases { contiguous: far - 32 * 1448, ..bases(0, 1448) }), None);
        assert_eq!(nearest(0x5a8 ^ bit, &bases(0, 0)), None);
    }
}
