//! Identifies restart markers. Their numbers repeat from 0 to 7; damage hides some, creates false
//! ones, and changes numbers.
//!
//! The likeliest explanation is the one with the fewest such events: an edit distance between the
//! received and the sent numbers, computed by dynamic programming as for any two sequences (R. A.
//! Wagner and M. J. Fischer, *The String-to-String Correction Problem*, 1974).

use super::scan::RestartMarker;
use std::ops::Range;

/// Length of a marker in bytes.
const MARKER: usize = 2;

/// Most cells of the table, one byte each.
const MOST: usize = 1 << 26;

/// The step that leads to a cell of the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Step {
    /// A sent marker was received, with its number or another.
    Came,
    /// A marker was lost.
    Lost,
    /// A marker was received that was never sent.
    False,
}

/// Returns where each of `stretches` lies in `len` bytes of data with these markers, or `None` for
/// stretches whose start was lost. A stretch whose end was lost extends to the next marker. Returns
/// `None` if there are too many markers to match, or no stretches.
#[must_use]
pub fn align(markers: &[RestartMarker], stretches: usize, len: usize) -> Option<Vec<Option<Range<usize>>>> {
    let sent = stretches.checked_sub(1)?;
    let width = markers.len() + 1;
    (sent + 1).checked_mul(width).filter(|cells| *cells <= MOST)?;

    // One row per sent marker, one column per received marker.
    let mut steps = vec![Step::False; (sent + 1) * width];
    let mut costs: Vec<u32> = (0..width as u32).collect();
    for row in 1..=sent {
        let expected = ((row - 1) % 8) as u8;
        let mut diagonal = costs[0];
        costs[0] = row as u32;
        steps[row * width] = Step::Lost;
        for column in 1..width {
            let came = diagonal + u32::from(markers[column - 1].number != expected);
            let (lost, invented) = (costs[column] + 1, costs[column - 1] + 1);
            diagonal = costs[column];
            // Of equally likely explanations, take the first: it loses markers as late as possible,
            // like a picture that ends early.
            let (cost, step) = [(lost, Step::Lost), (came, Step::Came), (invented, Step::False)]
                .into_iter()
                .min_by_key(|(cost, _)| *cost)
                .unwrap_or((came, Step::Came));
            costs[column] = cost;
            steps[row * width + column] = step;
        }
    }

    // From the end back: find the marker that starts each stretch except the first.
    let mut beginnings = vec![None; stretches];
    let (mut row, mut column) = (sent, markers.len());
    while row > 0 || column > 0 {
        match steps[row * width + column] {
            Step::Came => {
                beginnings[row] = Some(markers[column - 1].at + MARKER);
                row -= 1;
                column -= 1;
            }
            Step::Lost => row -= 1,
            Step::False => column -= 1,
        }
    }
    beginnings[0] = Some(0);
    let mut end = len;
    let mut places: Vec<_> = beginnings
        .into_iter()
        .rev()
        .map(|beginning| {
            let beginning = beginning?;
            let place = beginning..end;
            end = beginning.saturating_sub(MARKER);
            Some(place)
        })
        .collect();
    places.reverse();
    Some(places)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Returns markers every ten bytes.
    fn markers(numbers: &[u8]) -> Vec<RestartMarker> {
        let marker = |(place, &number): (usize, &u8)| RestartMarker { at: 10 * place + 8, number };
        numbers.iter().enumerate().map(marker).collect()
    }

    #[test]
    fn all_are_there() {
        let places = align(&markers(&[0, 1, 2]), 4, 40).expect("few");
        assert_eq!(places, [Some(0..8), Some(10..18), Some(20..28), Some(30..40)]);
        assert_eq!(align(&[], 1, 7), Some(vec![Some(0..7)]));
    }

    #[test]
    fn a_lost_one_takes_its_stretch_with_it_and_no_other() {
        let places = align(&markers(&[0, 2, 3]), 5, 40).expect("few");
        assert_eq!(places, [Some(0..8), Some(10..18), None, Some(20..28), Some(30..40)]);
    }

    #[test]
    fn one_with_a_wrong_number_is_where_it_should_be() {
        let places = align(&markers(&[0, 5, 2, 3]), 5, 50).expect("few");
        assert_eq!(places, [Some(0..8), Some(10..18), Some(20..28), Some(30..38), Some(40..50)]);
    }

    #[test]
    fn a_false_one_is_part_of_a_stretch() {
        let places = align(&markers(&[0, 1, 6, 2, 3]), 5, 60).expect("few");
        assert_eq!(places, [Some(0..8), Some(10..18), Some(20..38), Some(40..48), Some(50..60)]);
    }

    #[test]
    fn seven_in_a_row_may_be_missing() {
        let numbers: Vec<u8> = (0..32).map(|number| number % 8).collect();
        let left = [&numbers[..10], &numbers[17..]].concat();
        let places = align(&markers(&left), 33, 1000).expect("few");
        assert_eq!(places.iter().filter(|place| place.is_none()).count(), 7);
        assert_eq!(places[32], Some(250..1000), "the last is found");
    }

    #[test]
    fn what_ends_early_is_where_it_began() {
        let places = align(&markers(&[0, 1, 2, 3]), 21, 50).expect("few");
        let there = |place: &Option<_>| place.is_some();
        assert!(places[..5].iter().all(there) && !places[5..].iter().any(there), "{places:?}");
    }

    #[test]
    fn too_many_are_refused() {
        assert_eq!(align(&markers(&[1; 1000]), 1 << 20, 10_000), None);
        assert_eq!(align(&[], 0, 0), None);
    }

    proptest! {
        #[test]
        fn places_are_in_order_and_apart(numbers in proptest::collection::vec(0_u8..8, 0..60), stretches in 1_usize..60) {
            let len = 10 * numbers.len() + 10;
            let places = align(&markers(&numbers), stretches, len).expect("few");
            prop_assert_eq!(places.len(), stretches);
            let mut before = 0;
            for place in places.into_iter().flatten() {
                prop_assert!(before <= place.start && place.start <= place.end && place.end <= len);
                before = place.end;
            }
        }
    }
}
