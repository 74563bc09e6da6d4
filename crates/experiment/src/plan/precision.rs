//! `[precision]` of a plan: its fields, checked against the plan's factors and workloads.

use super::Plan;
use super::error::{PlanError, Source};
use super::expectations::workloads_of;
use super::file::PrecisionFile;
use super::requirements::selection;
use super::text::Text;
use results::metric::Metric;
use results::precision::{CONFIDENCE, PrecisionError, within};
use results::{Cell, Precision};
use serde_spanned::Spanned;
use std::collections::BTreeMap;

/// Reads the rule.
pub fn read(
    source: Source<'_>,
    written: Option<&Spanned<PrecisionFile>>,
) -> Result<Option<Precision>, PlanError> {
    written.map(|written| precision(source, written)).transpose()
}

/// Checks the rule of a plan. `workloads` has the names of each cell's workloads.
pub fn check(source: Source<'_>, plan: &Plan, workloads: &[(Cell, Vec<String>)]) -> Result<(), PlanError> {
    let (Some(written), Some(precision)) = (&plan.file.precision, &plan.precision) else { return Ok(()) };
    let names = workloads_of(&precision.of, workloads);
    let checked = precision.check(&plan.factors, &names, &plan.cells());
    let looks = checked.and_then(|()| precision.looks(plan.repetitions, plan.max_repetitions));
    looks.map(drop).map_err(|error| wrong(source, written, &error))
}

fn precision(source: Source<'_>, written: &Spanned<PrecisionFile>) -> Result<Precision, PlanError> {
    let file = written.get_ref();
    let fail = |error: PrecisionError| wrong(source, written, &error);
    let metric = file.metric.as_ref().map_or(Ok(Metric::Goodput), |text| text.value.parse());
    let confidence = file.confidence.as_ref().map_or(Ok(CONFIDENCE), |text| {
        let wrong = |_| PrecisionError::Confidence { confidence: text.value.clone() };
        text.value.parse().map_err(wrong)
    });
    let looks = file.looks.as_ref().map(|text| text.value.parse()).transpose().map_err(fail)?;
    Ok(Precision {
        metric: metric.map_err(|error| fail(error.into()))?,
        workload: file.workload.as_ref().map(|text| text.value.clone()),
        of: selection(source, &file.of)?,
        against: file.against.as_ref().map(|levels| selection(source, levels)).transpose()?,
        within: within(&file.within.value).map_err(fail)?,
        confidence: confidence.map_err(fail)?,
        looks: looks.unwrap_or_default(),
    })
}

/// Returns the error with the place of the field that is wrong.
fn wrong(source: Source<'_>, written: &Spanned<PrecisionFile>, error: &PrecisionError) -> PlanError {
    let file = written.get_ref();
    let text = |text: Option<&Text>| text.map(|text| text.place.clone());
    let levels = |levels: Option<&BTreeMap<String, Spanned<toml::Value>>>| {
        levels.and_then(|levels| levels.values().next()).map(Spanned::span)
    };
    let place = match error.field() {
        "metric" => text(file.metric.as_ref()),
        "workload" => text(file.workload.as_ref()),
        "where" => levels(Some(&file.of)),
        "against" => levels(file.against.as_ref()),
        "within" => text(Some(&file.within)),
        "confidence" => text(file.confidence.as_ref()),
        "looks" => text(file.looks.as_ref()),
        _ => None,
    };
    let message = match error.field() {
        "" => format!("`precision`: {error}"),
        field => format!("`precision`: `{field}`: {error}"),
    };
    source.error(&place.unwrap_or_else(|| written.span()), message)
}

#[cfg(test)]
mod tests;
