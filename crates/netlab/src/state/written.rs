//! The file in which a run is written down, and what tells it from files of others.

use super::folder::{Folder, Foreign};
use super::{MOST_RUNS, State};
use crate::error::Result;
use serde::{Deserialize, Serialize};

/// Name of the file in the folder of a run.
const FILE: &str = "state.json";
/// What our files say, and nobody else's.
const MARKER: &str = "state of a run";

/// The file: the state, and the marker.
#[derive(Serialize, Deserialize)]
struct Written<S> {
    lasthop: String,
    #[serde(flatten)]
    state: S,
}

/// What stands in the state directory under a name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Entry {
    /// A run of ours.
    Run(Box<State>),
    /// The empty folder of a run that was killed before it made anything.
    Empty,
    /// Something that is not ours: nothing of it is used or removed.
    Foreign(Foreign),
}

/// Whether `name` is one that [`begin`](super::Registry::begin) gives: a decimal number, without
/// zeros in front.
fn is_id(name: &str) -> bool {
    name.parse::<u32>().is_ok_and(|number| (1..MOST_RUNS).contains(&number) && number.to_string() == name)
}

/// Reads what stands in `folder` under `name`.
pub(super) fn read(folder: &Folder, name: &str) -> Entry {
    let foreign = |why: &str| Entry::Foreign(Foreign(why.to_owned()));
    if !is_id(name) {
        return foreign("it is not named like a run");
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
        Ok(Written { lasthop, .. }) if lasthop != MARKER => foreign("state.json: it is not of a run"),
        Ok(Written { state, .. }) if state.id != name => {
            Entry::Foreign(Foreign(format!("state.json: its id is {:?}, not the folder's name", state.id)))
        }
        Ok(Written { state, .. }) => Entry::Run(Box::new(state)),
        Err(error) => Entry::Foreign(Foreign(format!("state.json: {error}"))),
    }
}

/// Writes `state` into its folder in `folder`.
pub(super) fn write(folder: &Folder, state: &State) -> Result<()> {
    let run = folder.folder(&state.id).map_err(|Foreign(why)| {
        crate::Error::missing(
            format!("the folder of run {} is gone or changed: {why}", state.id),
            "start it again",
        )
    })?;
    let written = Written { lasthop: MARKER.to_owned(), state };
    let json = serde_json::to_vec_pretty(&written).expect("a state has no maps with odd keys");
    run.write(FILE, &json)
}
