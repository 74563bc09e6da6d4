//! Whether two campaigns can be paired.

use crate::{Cell, Clock, Directory, Manifest, instead};

/// Why the runs of two campaigns cannot be paired.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PairingError {
    /// The seeds differ, so the runs met different errors.
    #[error("its seed is {theirs}, not {ours}: pairs need the same seed")]
    Seed {
        /// The seed of the other campaign.
        theirs: u64,
        /// The seed of this one.
        ours: u64,
    },
    /// The clocks differ.
    #[error("it was run with the {theirs} clock, not the {ours} one: their times are not comparable")]
    Clock {
        /// The clock of the other campaign.
        theirs: &'static str,
        /// The clock of this one.
        ours: &'static str,
    },
    /// A cell has no counterpart.
    #[error("it has no cell `{label}`{}", instead(.label, known))]
    Cell {
        /// The label of the cell.
        label: String,
        /// Labels of the other campaign's cells.
        known: Vec<String>,
    },
    /// A workload has no counterpart.
    #[error("it has no workload `{name}`{}", instead(.name, known))]
    Workload {
        /// The name.
        name: String,
        /// The other campaign's workloads.
        known: Vec<String>,
    },
    /// No run of a cell has ended in both campaigns.
    #[error("cell `{0}` has no repetition in both")]
    NoPairs(String),
}

/// Checks that a campaign with this seed, clock and these cells can be paired with the other one.
///
/// # Errors
/// If the seed, the clock or a cell differs.
pub fn check(theirs: &Manifest, seed: u64, clock: Option<Clock>, cells: &[Cell]) -> Result<(), PairingError> {
    if theirs.seed != seed {
        return Err(PairingError::Seed { theirs: theirs.seed, ours: seed });
    }
    if theirs.clock != clock {
        let [theirs, ours] = [theirs.clock, clock].map(|clock| match clock {
            Some(Clock::Real) => "real",
            Some(Clock::Virtual) => "virtual",
            None => "unknown",
        });
        return Err(PairingError::Clock { theirs, ours });
    }
    for cell in cells {
        if !theirs.cells.iter().any(|other| other.levels == cell.levels) {
            let known = theirs.cells.iter().map(Cell::label).collect();
            return Err(PairingError::Cell { label: cell.label(), known });
        }
    }
    Ok(())
}

/// Checks that both campaigns have runs of each cell of `second`, and the workload.
///
/// # Errors
/// If the first repetition of a cell or the workload is missing.
pub fn check_runs(first: &Directory, second: &Directory, workload: &str) -> Result<(), PairingError> {
    let has = |directory: &Directory, cell: &Cell| {
        let cells = &directory.manifest.cells;
        let number = cells.iter().find(|other| other.levels == cell.levels).map(|cell| cell.number);
        directory.manifest.runs.iter().any(|run| Some(run.cell) == number && run.repetition == 0)
    };
    for cell in &second.manifest.cells {
        if !has(first, cell) || !has(second, cell) {
            return Err(PairingError::NoPairs(cell.label()));
        }
    }
    let known = first.workloads();
    if !known.contains(&workload) {
        let known = known.into_iter().map(str::to_owned).collect();
        return Err(PairingError::Workload { name: workload.to_owned(), known });
    }
    Ok(())
}

/// Returns what else differs between two campaigns and may explain a change: version, kernel, and
/// machine where the clock is the machine's.
#[must_use]
pub fn notes(theirs: &Manifest, ours: &Manifest) -> Vec<String> {
    let mut notes = Vec::new();
    let mut compare = |what: &str, theirs: &str, ours: &str| {
        if theirs != ours {
            notes.push(format!("{what} differs: {theirs} before, {ours} now"));
        }
    };
    compare("lasthop", &theirs.lasthop, &ours.lasthop);
    compare("the kernel", &theirs.kernel, &ours.kernel);
    if let (Some(theirs), Some(ours)) = (&theirs.guest, &ours.guest) {
        compare("the virtual-time kernel", &format!("{:.12}", theirs.key), &format!("{:.12}", ours.key));
        compare("the C library of lasthop", &theirs.c_library, &ours.c_library);
    }
    if ours.clock != Some(Clock::Virtual) {
        compare("the processor", &theirs.machine.processor, &ours.machine.processor);
    }
    notes
}
