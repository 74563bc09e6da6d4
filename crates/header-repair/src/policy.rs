//! How much risk an application takes (TL-41; P II-B c: some of these choices may have to be left
//! to the application).

use crate::place::{Bases, StreamPosition};
use crate::sequence::distance;

/// Number of positions ahead, and as many behind, that bold compares a damaged number with.
pub const BOLD_POSITIONS: u32 = 32;
/// Length of a hole, in segments up to the furthest one received, from which on bold does not
/// guess. It is less than the number of positions compared, because the damaged segment lies behind
/// the furthest one and may itself be some segments ahead.
pub const BOLD_HOLE: u32 = 16;
/// Most wrong bits of a sequence number that bold repairs.
pub const BOLD_BITS: u32 = 2;

/// How much risk a socket takes. The numbers are those of the socket option.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Policy {
    /// Only undamaged ports, and only the next bytes of the stream.
    Strict = 0,
    /// Also damaged ports, and segments behind holes.
    #[default]
    Normal = 1,
    /// Also damaged sequence numbers, if exactly one place is nearest.
    Bold = 2,
}

impl Policy {
    /// All policies, from careful to bold.
    pub const ALL: [Self; 3] = [Self::Strict, Self::Normal, Self::Bold];

    /// Returns the policy's name in options and plans.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Strict => "strict",
            Self::Normal => "normal",
            Self::Bold => "bold",
        }
    }

    /// Returns the policy of this name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|policy| policy.name() == name)
    }

    /// Returns the policy of this number; `None` above 2.
    #[must_use]
    pub const fn from_number(number: u8) -> Option<Self> {
        Some(match number {
            0 => Self::Strict,
            1 => Self::Normal,
            2 => Self::Bold,
            _ => return None,
        })
    }

    /// Returns whether to accept a segment that was found in this way, at this place.
    #[must_use]
    pub fn permits(self, is_approximate: bool, place: StreamPosition) -> bool {
        self != Self::Strict || (!is_approximate && place == StreamPosition::InOrder)
    }
}

/// Returns the position nearest to a damaged sequence number, in wrong bits. `None` if several are
/// equally near, or none within [`BOLD_BITS`]. The amount of work does not depend on the damage.
///
/// A number behind what the socket has received is not moved: it most likely is that of an old
/// duplicate, whose true place may be in no list. Damage may also bring an old duplicate's number
/// forward. It is then nearest to its old place. So places before the contiguous part are compared
/// as well, although nothing is ever moved there.
///
/// If the true place may be none of those compared, there is no guess: before S is known, and while
/// the furthest segment lies [`BOLD_HOLE`] segments or more behind the contiguous part.
///
/// The remaining risk of this policy is that the true place is not among those compared:
///
/// * a segment [`BOLD_POSITIONS`] or more segments ahead
/// * a duplicate that damage brought forward, from further behind than the places compared, or from
///   before a segment that was not whole (segments are counted back from the contiguous part)
#[must_use]
pub fn nearest(seq: u32, bases: &Bases) -> Option<u32> {
    let size = u32::from(bases.payload);
    let is_behind = (1..=bases.window).contains(&distance(seq, bases.rcv_nxt));
    if is_behind || size == 0 || distance(bases.contiguous, bases.highest) >= BOLD_HOLE * size {
        return None;
    }
    let ahead = (0..BOLD_POSITIONS).map(|k| bases.contiguous.wrapping_add(k * size));
    let behind = (1..=BOLD_POSITIONS).map(|k| bases.contiguous.wrapping_sub(k * size));
    let positions = ahead.chain([bases.rcv_nxt, bases.highest]);

    let bits = |at: u32| (seq ^ at).count_ones();
    let best = positions.clone().min_by_key(|at| bits(*at))?;
    let is_only = positions.chain(behind).all(|at| at == best || bits(at) > bits(best));
    (is_only && bits(best) <= BOLD_BITS).then_some(best)
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
            (false, StreamPosition::InOrder, true),
            (true, StreamPosition::InOrder, false),
            (false, StreamPosition::OutOfOrder, false),
            (true, StreamPosition::OutOfOrder, false),
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
        // 1 is one bit from place 0 and from place 3.
        assert_eq!(nearest(1, &bases(0, 3)), None);
    }

    #[test]
    fn the_same_place_twice_counts_once() {
        // Here rcv_nxt and contiguous are equal. Below they differ, and the wrong bit leads to
        // rcv_nxt.
        assert_eq!(nearest(1 << 31, &bases(0, 1448)), Some(0));
        let behind = Bases { rcv_nxt: 0x0001_8000, ..bases(0x0003_0000, 1448) };
        assert_eq!(nearest(0x8001_8000, &behind), Some(0x0001_8000));
    }

    #[test]
    fn the_last_position_is_the_32nd_and_without_a_size_there_is_none() {
        let bit = 1 << 31;
        let far = 0x0155_0000;
        let before = |segments: u32| bases(far - segments * 1448, 1448);
        assert_eq!(nearest(far ^ bit, &before(31)), Some(far));
        assert_eq!(nearest(far ^ bit, &before(32)), None);
        assert_eq!(nearest(bit, &bases(0, 0)), None);
    }

    #[test]
    fn behind_holes_of_16_segments_nothing_is_guessed() {
        let with_hole = |highest| Bases { highest, ..bases(0, 1448) };
        assert_eq!(nearest(1 << 31, &with_hole(16 * 1448 - 1)), Some(0));
        assert_eq!(nearest(1 << 31, &with_hole(16 * 1448)), None);
    }

    #[test]
    fn the_end_of_the_furthest_segment_is_a_position() {
        // Half a segment off the whole segments, as after a short one.
        let highest = 5 * 1448 + 724;
        assert_eq!(nearest(highest ^ 1 << 31, &Bases { highest, ..bases(0, 1448) }), Some(highest));
        assert_eq!(nearest(highest ^ 1 << 31, &bases(0, 1448)), None);
    }

    #[test]
    fn an_old_duplicate_is_nearest_to_its_old_place_and_goes_nowhere() {
        let here = 0x1357_9bdfu32;
        let mut lured = 0;
        for k in 1..=32 {
            let old = here - k * 1448;
            for bit in 0..32 {
                assert_eq!(nearest(old ^ 1 << bit, &bases(here, 1448)), None, "{k} behind, bit {bit}");
                // With the contiguous part elsewhere, the old places would not be compared.
                let ahead = (0..BOLD_POSITIONS).map(|k| here + k * 1448);
                lured += ahead.filter(|at| (at ^ old ^ 1 << bit).count_ones() <= BOLD_BITS).count();
            }
        }
        assert!(lured > 0, "or no old place was needed");
    }

    #[test]
    fn a_number_behind_the_socket_is_not_moved_however_near_a_place_is() {
        let here = 0x1357_9bdf;
        let bases = |window| Bases { window, ..bases(here, 1448) };
        // One bit from the next byte, and from no other place.
        assert_eq!(
            (nearest(here ^ 1, &bases(1 << 20)), nearest(here ^ 1 << 11, &bases(1 << 20))),
            (None, None)
        );
        assert_eq!(nearest(here ^ 1 << 5, &bases(1 << 20)), Some(here), "ahead");
        // Further behind than the window, it is not a duplicate.
        assert_eq!(here & 0x100, 0x100);
        assert_eq!(
            (nearest(here ^ 0x100, &bases(0x100)), nearest(here ^ 0x100, &bases(0xff))),
            (None, Some(here))
        );
    }

    #[test]
    fn an_old_place_as_near_as_a_position_is_a_tie() {
        // 20 is one bit from 21, and from 16, an old place.
        assert_eq!(nearest(20, &bases(21, 5)), None);
        // A place that is both old and a position counts as a position.
        assert_eq!(nearest(3 ^ 1 << 31, &Bases { rcv_nxt: 3, ..bases(6, 3) }), Some(3));
        assert_eq!(nearest(3 ^ 1 << 31, &bases(6, 3)), None, "only old");
    }
}
