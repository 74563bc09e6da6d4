//! The plan of `scripts/results/lite-media`.

use serde::{Deserialize, Serialize};
use std::fs;
use std::path::Path;

/// Content of `plan.json`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    /// Options of `lasthop link` for all runs.
    pub link: String,
    /// The kinds of damage.
    pub losses: Vec<Loss>,
    /// The seeds. With the same seed, each loss does the same, whether Lite is on or off.
    pub seeds: Vec<u64>,
}

/// One kind of damage.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Loss {
    /// Name, as in folder names.
    pub name: String,
    /// Title for readers.
    pub title: String,
    /// Additional options of `lasthop link`.
    pub options: String,
}

impl Plan {
    /// Reads a plan.
    ///
    /// # Errors
    /// If the file is missing or invalid; the error names it.
    pub fn read(path: &Path) -> Result<Self, String> {
        let text = fs::read(path).map_err(|error| format!("{}: {error}", path.display()))?;
        serde_json::from_slice(&text).map_err(|error| format!("{}: {error}", path.display()))
    }
}
