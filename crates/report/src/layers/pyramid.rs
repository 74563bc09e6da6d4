//! Levels of a graph: every point is in one level, from which on drawings need it.
//!
//! A drawing whose pixels are as large as cells of level *k* needs the points of all levels from
//! the top down to *k*. No point is stored twice, so the page can draw any window quickly without
//! being larger.
//!
//! A window of *W* x *H* pixels needs a limited number of points. For dots it is one per cell, and
//! a pixel has at most four cells if both axes need the same level. For steps it is four, and for
//! marks one, per stretch of time, of which a column has at most two. Levels with few points are
//! merged with the next coarser one, which adds less than [`TILE`] per level.

use super::grid::Grid;
use super::thin::thin;
use super::whole::Points;
use capture_analysis::layers::graph::Shape;

/// Maximum number of points in a tile, which is read as a whole; a graph with no more points is not
/// divided into levels.
pub(super) const TILE: usize = 4096;

/// Points that appear together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Level {
    /// Drawings of this level and finer ones need them; `None`: all drawings do.
    pub(super) level: Option<i32>,
    /// Indices of the points, in their order.
    pub(super) places: Vec<u32>,
}

/// Returns all levels of a graph, the coarsest one first. Points that equal another one in time and
/// value are left out.
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
