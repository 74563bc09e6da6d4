//! Selections of cells by the levels of factors, as `[[expect]]` and `[[require]]` write them.

use crate::manifest::selects;
use crate::{Cell, Directory, Factor, Level, Selection, instead};

/// Error in a selection, or in the name of a workload of the selected cells.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SelectionError {
    /// There is no such workload.
    #[error("there is no workload `{name}`{}", instead(.name, known))]
    Workload {
        /// The wrong name.
        name: String,
        /// Workloads of the selected cells.
        known: Vec<String>,
    },
    /// There is no such factor.
    #[error("the plan has no factor `{factor}`{}", instead(factor, known))]
    Factor {
        /// `where` or `against`.
        field: &'static str,
        /// The wrong name.
        factor: String,
        /// The plan's factors.
        known: Vec<String>,
    },
    /// There is no such level.
    #[error("factor `{factor}` has no level `{level}`{}", instead(level, known))]
    Level {
        /// `where` or `against`.
        field: &'static str,
        /// The wrong name.
        level: String,
        /// Its factor.
        factor: String,
        /// The factor's levels.
        known: Vec<String>,
    },
    /// No cell is selected, apart from those to compare with.
    #[error("`where` selects no cell{}", if *.without { " besides those of `against`" } else { "" })]
    NoCell {
        /// Whether `against` takes cells away.
        without: bool,
    },
    /// A cell has no cell to compare with, or more than one.
    #[error(
        "`against` selects {found} cells to compare {cell} with: expected one; name one level of each factor that differs"
    )]
    References {
        /// Label of the cell.
        cell: String,
        /// Number of reference cells.
        found: usize,
    },
}

impl SelectionError {
    /// Returns the field that is wrong.
    #[must_use]
    pub fn field(&self) -> &'static str {
        match self {
            Self::Workload { .. } => "workload",
            Self::Factor { field, .. } | Self::Level { field, .. } => field,
            Self::NoCell { .. } => "where",
            Self::References { .. } => "against",
        }
    }
}

/// Checks the selected cells (`where`), the cells to compare with (`against`) and the workload.
///
/// The campaign has these `factors`, and its selected cells have these `workloads`.
pub fn check(
    of: &Selection,
    against: Option<&Selection>,
    workload: Option<&String>,
    factors: &[Factor],
    workloads: &[String],
) -> Result<(), SelectionError> {
    let known: Vec<String> = factors.iter().map(|factor| factor.name.clone()).collect();
    let of = of.iter().map(|levels| ("where", levels));
    let against = against.into_iter().flatten().map(|levels| ("against", levels));
    for (field, (factor, levels)) in of.chain(against) {
        let Some(found) = factors.iter().find(|known| known.name == *factor) else {
            return Err(SelectionError::Factor { field, factor: factor.clone(), known });
        };
        if let Some(level) = levels.iter().find(|level| !found.levels.contains(level)) {
            let (level, factor, known) = (level.clone(), factor.clone(), found.levels.clone());
            return Err(SelectionError::Level { field, level, factor, known });
        }
    }
    if let Some(name) = workload.filter(|name| !workloads.contains(name)) {
        return Err(SelectionError::Workload { name: name.clone(), known: workloads.to_vec() });
    }
    Ok(())
}

/// Returns the workload that a figure is about: the named one, or the one that all figures of the
/// campaign are about.
///
/// # Errors
/// If the campaign has no workload of this name.
pub fn workload<'a>(directory: &'a Directory, named: Option<&'a str>) -> Result<&'a str, SelectionError> {
    let workload = named.unwrap_or(directory.measured());
    let known = directory.workloads();
    if !known.is_empty() && !known.contains(&workload) {
        let known = known.into_iter().map(str::to_owned).collect();
        return Err(SelectionError::Workload { name: workload.to_owned(), known });
    }
    Ok(workload)
}

/// Returns the cells that `of` selects, each with the cell that it is compared with: the one that
/// `against` selects and that has the same levels of all factors which `against` does not name.
/// Cells that `against` selects are not compared with themselves.
///
/// # Errors
/// If there is not exactly one cell to compare with.
pub fn pairs<'a>(
    of: &Selection,
    against: Option<&Selection>,
    cells: &'a [Cell],
) -> Result<Vec<(&'a Cell, Option<&'a Cell>)>, SelectionError> {
    let selected = cells.iter().filter(|cell| selects(of, cell));
    let Some(against) = against else {
        return Ok(selected.map(|cell| (cell, None)).collect());
    };
    let compared = selected.filter(|cell| !selects(against, cell));
    compared
        .map(|cell| {
            let references = cells.iter().filter(|other| selects(against, other));
            let references: Vec<_> = references.filter(|other| counterpart(cell, other, against)).collect();
            match references[..] {
                [one] => Ok((cell, Some(one))),
                _ => Err(SelectionError::References { cell: cell.label(), found: references.len() }),
            }
        })
        .collect()
}

/// Returns whether two cells have the same levels of all factors that `against` does not name.
#[must_use]
pub fn counterpart(cell: &Cell, other: &Cell, against: &Selection) -> bool {
    let kept = |level: &&Level| !against.contains_key(&level.factor);
    cell.levels.iter().filter(kept).eq(other.levels.iter().filter(kept))
}
