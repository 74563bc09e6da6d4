//! A run whose undoing is left to a keeper.

use super::Keeper;
use crate::Namespace;
use crate::error::{Error, Result};
use crate::state::Run;

/// A run and its keeper. Dropping it makes the keeper undo the run; if the keeper is gone, this
/// process does it.
#[derive(Debug)]
pub(crate) struct KeptRun {
    keeper: Option<Keeper>,
    pub run: Run,
}

impl KeptRun {
    /// Starts a keeper, which keeps the namespaces open and will run COMMAND in the first one. From
    /// here on it cleans up, whatever happens.
    pub fn start(mut run: Run, held: &[&Namespace]) -> Result<Self> {
        let keeper = Keeper::start(run.registry(), run.id(), held)?;
        run.leave_to_keeper();
        let process = keeper.process();
        let mut kept = Self { keeper: Some(keeper), run };
        kept.run.update(|state| state.keeper = process)?;
        Ok(kept)
    }

    /// Returns the keeper.
    pub fn keeper(&self) -> Result<&Keeper> {
        self.keeper.as_ref().ok_or_else(|| Error::Keeper("the link has ended".into()))
    }

    /// Makes the keeper end COMMAND and undo the run; returns one line for each object that was
    /// removed or restored.
    pub fn end(mut self) -> Result<Vec<String>> {
        self.undo()
    }

    fn undo(&mut self) -> Result<Vec<String>> {
        match self.keeper.take() {
            Some(keeper) => keeper.end().inspect_err(|_| self.run.take_back()),
            None => Ok(Vec::new()),
        }
    }
}

impl Drop for KeptRun {
    fn drop(&mut self) {
        // If it fails, the run undoes itself when it is dropped.
        let _ = self.undo();
    }
}
