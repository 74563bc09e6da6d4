//! Cells of time and bytes, one size per level: points in one cell cannot be distinguished on a
//! screen.
//!
//! A cell of level *k* is 2^*k* ns long and 2^(*k* + ratio) bytes high. It lies in one cell of the
//! next coarser level, so the first point of a cell is also the first one of the finer cell that it
//! is in. All graphs of a view have the same cells. `web/src/layers/window.ts` chooses levels as
//! [`Grid::level`] does.

/// The cells of all levels.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Grid {
    /// The height of a cell in bytes is 2^`ratio` times its length in nanoseconds.
    pub(super) ratio: i32,
}

impl Grid {
    /// Creates the grid for a view of so many nanoseconds and bytes on a drawing twice as wide as
    /// high.
    ///
    /// If the whole view is drawn, neither axis needs finer cells than the other.
    pub(super) fn of(nanoseconds: f64, bytes: f64) -> Self {
        let ratio = (2.0 * bytes.max(1.0) / nanoseconds.max(1.0)).log2().round();
        Self { ratio: ratio as i32 }
    }

    /// Returns the coarsest level whose cells are no larger than a pixel of this size.
    ///
    /// `pixel_bytes` is `None` for graphs in which only time matters. Only tests need this
    /// function, since the page does the drawing.
    #[cfg(test)]
    pub(super) fn level(self, pixel_ns: f64, pixel_bytes: Option<f64>) -> i32 {
        let time = pixel_ns.log2().floor() as i32;
        pixel_bytes.map_or(time, |bytes| time.min(bytes.log2().floor() as i32 - self.ratio))
    }

    /// Returns by how many bits to shift nanoseconds, and values in units of 2^`unit` bytes, to get
    /// the numbers of their cell.
    pub(super) fn shifts(self, level: i32, unit: i32) -> (u32, u32) {
        let shift = |bits: i32| bits.clamp(0, 63).cast_unsigned();
        (shift(level), shift(level + self.ratio - unit))
    }

    /// Returns the coarsest level at which no cell has two different points.
    pub(super) fn finest(self, unit: i32) -> i32 {
        0.min(unit - self.ratio)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_are_no_larger_than_a_pixel_and_no_smaller_than_half_of_one() {
        let grid = Grid { ratio: -10 };
        assert_eq!(grid.level(1024.0, None), 10);
        assert_eq!(grid.level(2047.0, None), 10);
        assert_eq!(grid.level(1024.0, Some(1.0)), 10, "1024 ns and one byte are the same");
        assert_eq!(grid.level(1024.0, Some(0.5)), 9, "the axis that needs finer cells decides");
        assert_eq!(grid.level(512.0, Some(1.0)), 9);
    }

    #[test]
    fn a_whole_view_needs_the_same_level_for_both_axes() {
        // An hour and 3.4 MB, 1024 x 512 pixels.
        let (ns, bytes) = (3.6e12, 3.4e6);
        let grid = Grid::of(ns, bytes);
        let time = grid.level(ns / 1024.0, None);
        let both = grid.level(ns / 1024.0, Some(bytes / 512.0));
        assert!((time - both).abs() <= 1, "{time} {both}");
    }

    #[test]
    fn at_the_finest_level_a_cell_is_one_nanosecond_and_one_unit() {
        for (ratio, unit) in [(-20, 0), (-20, -8), (3, 0), (3, -8)] {
            let grid = Grid { ratio };
            assert_eq!(grid.shifts(grid.finest(unit), unit), (0, 0));
            assert_ne!(grid.shifts(grid.finest(unit) + 1, unit), (0, 0));
        }
    }
}
