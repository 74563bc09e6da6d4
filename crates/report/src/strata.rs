//! Sets of cells that differ in one factor only: they are compared with each other, and a line goes
//! through them.

use results::{Cell, Directory, Level};
use std::collections::HashMap;

/// Cells that differ in one factor only.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Stratum {
    /// Index of the factor.
    pub(crate) factor: usize,
    /// Indices of the cells, in the order of the factor's levels; cells without a level of it come
    /// last.
    pub(crate) cells: Vec<usize>,
}

/// Returns all strata, by factor and in the order of their first cells. Every cell is in one for
/// each factor.
pub(crate) fn strata(directory: &Directory) -> Vec<Stratum> {
    let cells = &directory.manifest.cells;
    let mut strata = Vec::new();
    for (place, factor) in directory.manifest.factors.iter().enumerate() {
        let rank = |cell: &usize| {
            let level = cells[*cell].level(&factor.name);
            level
                .and_then(|level| factor.levels.iter().position(|known| known == level))
                .unwrap_or(usize::MAX)
        };
        let start = strata.len();
        let mut known: HashMap<Vec<&Level>, usize> = HashMap::new();
        for (cell, levels) in cells.iter().enumerate() {
            let stratum = *known.entry(others(levels, &factor.name)).or_insert_with(|| {
                strata.push(Stratum { factor: place, cells: Vec::new() });
                strata.len() - 1
            });
            strata[stratum].cells.push(cell);
        }
        for stratum in &mut strata[start..] {
            stratum.cells.sort_by_key(rank);
        }
    }
    strata
}

/// Returns the levels of all other factors.
fn others<'a>(cell: &'a Cell, factor: &str) -> Vec<&'a Level> {
    cell.levels.iter().filter(|level| level.factor != factor).collect()
}
