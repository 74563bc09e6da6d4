//! Selection of the points that a drawing needs if a pixel is no smaller than a cell.
//!
//! * Dots and crosses: the first point of each cell. All other points are less than a cell away
//!   from it.
//! * Steps: first, last, lowest and highest point of each stretch of time as long as a cell. They
//!   give the same lines as all points, column by column (M4: Jugel, Jerzak, Hackenbroich and
//!   Markl, VLDB 2014).
//! * Marks: the first one of each stretch of time.
//!
//! A point that is needed with larger cells is also needed with smaller ones.

use super::grid::Grid;
use super::whole::{Points, Whole};
use capture_analysis::layers::graph::Shape;

/// Divides `from`, indices of points in their order, into those needed by a drawing whose pixels
/// are as large as cells of `level`, and the rest.
pub(super) fn thin(
    points: &Points,
    shape: Shape,
    grid: Grid,
    level: i32,
    from: &[u32],
) -> (Vec<u32>, Vec<u32>) {
    let (time, value) = grid.shifts(level, points.unit);
    let at = |place: u32| points.points[place as usize];
    let mut divided = Divided::default();
    for stretch in from.chunk_by(|&one, &other| at(one).time >> time == at(other).time >> time) {
        match (stretch, shape) {
            ([only], _) => divided.kept.push(*only),
            (_, Shape::Dots | Shape::Crosses) => divided.rows(stretch, |place| at(place).value >> value),
            (_, Shape::Steps) => divided.ends(stretch, at),
            ([first, rest @ ..], Shape::Marks) => {
                divided.kept.push(*first);
                divided.rest.extend(rest);
            }
            ([], _) => {}
        }
    }
    (divided.kept, divided.rest)
}

#[derive(Default)]
struct Divided {
    kept: Vec<u32>,
    rest: Vec<u32>,
    /// Row and index of the points of one stretch.
    rows: Vec<(i64, u32)>,
}

impl Divided {
    /// Keeps the first point of each row.
    fn rows(&mut self, stretch: &[u32], row: impl Fn(u32) -> i64) {
        self.rows.clear();
        self.rows.extend(stretch.iter().map(|&place| (row(place), place)));
        // Indices increase with time, so the first point of each row comes first.
        self.rows.sort_unstable();
        let start = self.kept.len();
        let mut before = None;
        for &(row, place) in &self.rows {
            if before == Some(row) {
                self.rest.push(place);
            } else {
                self.kept.push(place);
            }
            before = Some(row);
        }
        self.kept[start..].sort_unstable();
    }

    /// Keeps the first, last, lowest and highest point; of equal ones the first.
    fn ends(&mut self, stretch: &[u32], at: impl Fn(u32) -> Whole) {
        let (Some(&first), Some(&last)) = (stretch.first(), stretch.last()) else { return };
        let (mut low, mut high) = (first, first);
        for &place in stretch {
            if at(place).value < at(low).value {
                low = place;
            }
            if at(place).value > at(high).value {
                high = place;
            }
        }
        for &place in stretch {
            if [first, last, low, high].contains(&place) {
                self.kept.push(place);
            } else {
                self.rest.push(place);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GRID: Grid = Grid { ratio: 0 };

    fn points(all: &[(i64, i64)]) -> Points {
        let points = all.iter().map(|&(time, value)| Whole { time, value }).collect();
        Points { unit: 0, points }
    }

    fn kept(all: &[(i64, i64)], shape: Shape, level: i32) -> Vec<u32> {
        let places: Vec<u32> = (0..all.len() as u32).collect();
        let (kept, mut rest) = thin(&points(all), shape, GRID, level, &places);
        rest.extend(&kept);
        rest.sort_unstable();
        assert_eq!(rest, places, "each is here or there");
        kept
    }

    #[test]
    fn of_dots_the_first_of_each_cell_stays_in_its_order() {
        // Cells of 4 ns and 4 bytes.
        let all = [(0, 9), (1, 1), (2, 2), (3, 10), (4, 2), (7, 3), (7, 4)];
        assert_eq!(kept(&all, Shape::Dots, 2), [0, 1, 4, 6]);
        assert_eq!(kept(&all, Shape::Crosses, 2), [0, 1, 4, 6]);
    }

    #[test]
    fn cells_below_zero_are_as_large_as_others() {
        assert_eq!(kept(&[(-1, 0), (0, 0)], Shape::Dots, 2), [0, 1]);
        assert_eq!(kept(&[(-4, -1), (-1, -4), (-1, 0)], Shape::Dots, 2), [0, 2]);
    }

    #[test]
    fn of_steps_first_last_lowest_and_highest_stay() {
        let all = [(0, 5), (1, 6), (2, 1), (3, 9), (4, 1), (5, 9), (6, 4), (7, 5)];
        assert_eq!(kept(&all, Shape::Steps, 3), [0, 2, 3, 7]);
    }

    #[test]
    fn of_marks_the_first_stays() {
        assert_eq!(kept(&[(0, 0), (1, 0), (3, 5), (4, 0)], Shape::Marks, 2), [0, 3]);
    }
}
