//! The file that records a run, and how it is told from other files.

use super::folder::{Folder, Foreign};
use super::{MOST_RUNS, State};
use crate::error::Result;
use serde::{Deserialize, Serialize};

/// Name of the file in a run's directory.
const FILE: &str = "state.json";
/// Marker that only our files contain.
const MARKER: &str = "state of a run";

/// Contents of the file: the marker and the state.
#[derive(Serialize, Deserialize)]
struct Written<S> {
    lasthop: String,
    #[serde(flatten)]
    state: S,
}

/// An entry of the state directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Entry {
    /// A run of ours.
    Run(Box<State>),
    /// The empty directory of a run that was killed before it made anything.
    Empty,
    /// Something that is not ours; it is neither used nor removed.
    Foreign(Foreign),
}

/// Returns whether `name` can come from [`begin`](super::Registry::begin): a decimal number without
/// leading zeros.
fn is_id(name: &str) -> bool {
    name.parse::<u32>().is_ok_and(|number| (1..MOST_RUNS).contains(&number) && number.to_string() == name)
}

/// Reads the entry `name` of `folder`.
pub(super) fn read(folder: &Folder, name: &str) -> Entry {
    let foreign = |why: &str| Entry::Foreign(Foreign(why.to_owned()));
    if !is_id(name) {
        return foreign("the name is not a run number");
    }
    let run = match folder.folder(name) {
        Ok(run) => run,
        Err(why) => return Entry::Foreign(why),
    };
    if run.names().is_ok_and(|names| names.is_empty()) {
        return Entry::Empty;
    }
    let bytes = match run.read(FILE) {
        Ok(bytes) => bytes,
        Err(why) => return Entry::Foreign(why),
    };
    match serde_json::from_slice::<Written<State>>(&bytes) {
        Ok(Written { lasthop, .. }) if lasthop != MARKER => foreign("state.json: not the state of a run"),
        Ok(Written { state, .. }) if state.id != name => Entry::Foreign(Foreign(format!(
            "state.json: the id {:?} differs from the directory's name",
            state.id
        ))),
        Ok(Written { state, .. }) => Entry::Run(Box::new(state)),
        Err(error) => Entry::Foreign(Foreign(format!("state.json: {error}"))),
    }
}

/// Writes `state` into its directory in `folder`.
pub(super) fn write(folder: &Folder, state: &State) -> Result<()> {
    let run = folder.folder(&state.id).map_err(|Foreign(why)| {
        crate::Error::missing(
            format!("the directory of run {} is gone or changed: {why}", state.id),
            "start the run again",
        )
    })?;
    let written = Written { lasthop: MARKER.to_owned(), state };
    let json = serde_json::to_vec_pretty(&written).expect("a state has no maps with odd keys");
    run.write(FILE, &json)
}
