//! Checks `[[expect]]` against the plan's factors and workloads.
//!
//! Errors name the field and the line.

use super::error::{PlanError, Source};
use super::file::PlanFile;
use results::manifest::selects;
use results::{Cell, Factor, Selection, expectation};
use serde::Deserialize;
use serde_spanned::Spanned;
use std::collections::BTreeMap;
use std::ops::Range;

/// Places of the fields of each `[[expect]]`.
///
/// [`results::Expectation`] does not have them: it is also the type in manifests, which have no
/// lines.
#[derive(Deserialize)]
struct Places {
    #[serde(default)]
    expect: Vec<BTreeMap<String, Spanned<toml::Value>>>,
}

/// Checks all expectations. `workloads` has the names of each cell's workloads.
pub fn check(
    source: Source<'_>,
    plan: &PlanFile,
    factors: &[Factor],
    workloads: &[(Cell, Vec<String>)],
) -> Result<(), PlanError> {
    for (place, expected) in plan.expect.iter().enumerate() {
        let names = workloads_of(&expected.of, workloads);
        expectation::check(expected, factors, &names).map_err(|error| {
            let message = format!("`expect` with the title `{}`: {error}", expected.title);
            match field(source.text, place, error.field()) {
                Some(at) => source.error(&at, message),
                None => source.error_somewhere(message),
            }
        })?;
    }
    Ok(())
}

/// Returns the names of the workloads of the selected cells.
pub(super) fn workloads_of(of: &Selection, workloads: &[(Cell, Vec<String>)]) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for name in workloads.iter().filter(|(cell, _)| selects(of, cell)).flat_map(|(_, names)| names) {
        if !names.contains(name) {
            names.push(name.clone());
        }
    }
    names
}

/// Returns the byte range of a field of the expectation with this number.
fn field(text: &str, number: usize, name: &str) -> Option<Range<usize>> {
    let places: Places = toml::from_str(text).ok()?;
    Some(places.expect.get(number)?.get(name)?.span())
}
