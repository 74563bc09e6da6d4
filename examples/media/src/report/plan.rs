//! What `scripts/lite-media` ran.

use serde::{Deserialize, Serialize};
use std::fs;
use std::path::Path;

/// `plan.json`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    /// Options of `lasthop link` that all runs have.
    pub link: String,
    /// What the link did to bits.
    pub losses: Vec<Loss>,
    /// Seeds: each loss did the same with the same seed, whether Lite was on or off.
    pub seeds: Vec<u64>,
}

/// One kind of damage.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Loss {
    /// As folders are called.
    pub name: String,
    /// As readers see it.
    pub title: String,
    /// Its options of `lasthop link`.
    pub options: String,
}

impl Plan {
    /// Reads it.
    ///
    /// # Errors
    /// With the file's name, if it is not there or is none.
    pub fn read(path: &Path) -> Result<Self, String> {
        let text = fs::read(path).map_err(|error| format!("{}: {error}", path.display()))?;
        serde_json::from_slice(&text).map_err(|error| format!("{}: {error}", path.display()))
    }
}
