//! `[[analysis.factorial]]` of a plan: its fields, checked against the plan's factors and
//! workloads.

use super::error::{PlanError, Source};
use super::expectations::workloads_of;
use super::file::FactorialFile;
use super::requirements::selection;
use super::text::Text;
use results::factorial::{DesignError, Request};
use results::selection::SelectionError;
use results::{Cell, Factor, FactorialDesign};
use serde_spanned::Spanned;
use std::collections::BTreeMap;

/// Reads all factorial analyses of a plan with these factors.
pub fn read(
    source: Source<'_>,
    all: &[Spanned<FactorialFile>],
    factors: &[Factor],
) -> Result<Vec<FactorialDesign>, PlanError> {
    let design = |written: &Spanned<FactorialFile>| {
        request(source, written.get_ref())?.design(factors).map_err(|error| wrong(source, written, &error))
    };
    all.iter().map(design).collect()
}

/// Checks the workloads that they name. `workloads` has the names of each cell's workloads.
pub fn check(
    source: Source<'_>,
    all: &[Spanned<FactorialFile>],
    workloads: &[(Cell, Vec<String>)],
) -> Result<(), PlanError> {
    for written in all {
        let file = written.get_ref();
        let known = workloads_of(&selection(source, &file.of)?, workloads);
        if let Some(name) = value(file.workload.as_ref()).filter(|name| !known.contains(name)) {
            let error = SelectionError::Workload { name, known };
            return Err(wrong(source, written, &error.into()));
        }
    }
    Ok(())
}

fn request(source: Source<'_>, file: &FactorialFile) -> Result<Request, PlanError> {
    let levels = |levels: Option<&BTreeMap<_, _>>| levels.map(|of| selection(source, of)).transpose();
    Ok(Request {
        title: file.title.value.clone(),
        metric: value(file.metric.as_ref()),
        workload: value(file.workload.as_ref()),
        levels: selection(source, &file.levels)?,
        of: selection(source, &file.of)?,
        difference: levels(file.difference.as_ref())?,
        ratio: levels(file.ratio.as_ref())?,
        response: value(file.response.as_ref()),
    })
}

fn value(text: Option<&Text>) -> Option<String> {
    text.map(|text| text.value.clone())
}

/// Returns the error with the place of the field that is wrong.
fn wrong(source: Source<'_>, written: &Spanned<FactorialFile>, error: &DesignError) -> PlanError {
    let file = written.get_ref();
    let text = |text: Option<&Text>| text.map(|text| text.place.clone());
    let levels = |levels: &BTreeMap<String, Spanned<toml::Value>>| {
        let named = error.factor().and_then(|factor| levels.get(factor));
        named.or_else(|| levels.values().next()).map(Spanned::span)
    };
    let place = match error.field() {
        "metric" => text(file.metric.as_ref()),
        "workload" => text(file.workload.as_ref()),
        "response" => text(file.response.as_ref()),
        "levels" => levels(&file.levels),
        "where" => levels(&file.of),
        "difference" => file.difference.as_ref().and_then(levels),
        "ratio" => file.ratio.as_ref().and_then(levels),
        _ => None,
    };
    let title = &file.title.value;
    let message = match error.field() {
        "" => format!("`factorial` with the title `{title}`: {error}"),
        field => format!("`factorial` with the title `{title}`: `{field}`: {error}"),
    };
    source.error(&place.unwrap_or_else(|| written.span()), message)
}

#[cfg(test)]
mod tests;
