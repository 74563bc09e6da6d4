//! The levels of a graph: every point once, at the level from which on a drawing needs it.
//!
//! The points that a drawing needs whose pixels are as large as cells of level *k* are those of all
//! levels from the top down to *k*. No point is kept twice, so that a page is no larger for being
//! able to draw any window quickly.
//!
//! How many points a window of *W* x *H* pixels needs: of dots one a cell, and a pixel has at most
//! four cells where both axes need the same level; of steps four, of marks one for each stretch of
//! time, of which a column has at most two. Levels with few points are put together with the next
//! coarser one, which adds less than [`TILE`] a level.

use super::grid::Grid;
use super::thin::thin;
use super::whole::Points;
use trace::layers::graph::Shape;

/// Most points of a tile, which is read as a whole; a graph with no more is not divided into
/// levels.
pub(super) const TILE: usize = 4096;

/// Points that appear together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Level {
    /// They are needed by drawings of this level and finer ones; `None`: by all.
    pub(super) level: Option<i32>,
    /// Places of points, in their order.
    pub(super) places: Vec<u32>,
}

/// All levels of a graph, the coarsest one first. A point that equals another one in time and value
/// is in none.
pub(super) fn levels(points: &Points, shape: Shape, grid: Grid) -> Vec<Level> {
    let mut level = grid.finest(points.unit);
    let all: Vec<u32> = (0..points.points.len() as u32).collect();
    let (mut needed, _) = thin(points, shape, grid, level, &all);
    let mut levels = Vec::new();
    let mut waiting = Vec::new();
    while needed.len() > TILE {
        let (kept, rest) = thin(points, shape, grid, level + 1, &needed);
        waiting.extend(rest);
        if waiting.len() >= TILE {
            waiting.sort_unstable();
            levels.push(Level { level: Some(level), places: std::mem::take(&mut waiting) });
        }
        needed = kept;
        level += 1;
    }
    needed.extend(waiting);
    needed.sort_unstable();
    levels.push(Level { level: None, places: needed });
    levels.reverse();
    levels
}

#[cfg(test)]
#[path = "pyramid/proofs.rs"]
mod proofs;
