//! `[[require]]` of a plan: its fields, checked against the plan's factors and workloads.

use super::error::{PlanError, Source};
use super::expectations::workloads_of;
use super::file::RequireFile;
use super::text::Text;
use super::{Plan, build};
use results::requirement::{Bound, CONFIDENCE, RequirementError, Statistic};
use results::{Cell, Levels, Metric, Requirement, Selection};
use serde_spanned::Spanned;
use std::collections::BTreeMap;
use std::ops::Range;

/// Reads all requirements.
pub fn read(source: Source<'_>, all: &[Spanned<RequireFile>]) -> Result<Vec<Requirement>, PlanError> {
    all.iter().map(|written| requirement(source, written)).collect()
}

/// Checks all requirements of a plan. `workloads` has the names of each cell's workloads.
pub fn check(
    source: Source<'_>,
    all: &[Spanned<RequireFile>],
    plan: &Plan,
    workloads: &[(Cell, Vec<String>)],
) -> Result<(), PlanError> {
    let cells = plan.cells();
    for (written, requirement) in all.iter().zip(&plan.requirements) {
        let names = workloads_of(&requirement.of, workloads);
        requirement.check(&plan.factors, &names, &cells).map_err(|error| wrong(source, written, &error))?;
    }
    Ok(())
}

fn requirement(source: Source<'_>, written: &Spanned<RequireFile>) -> Result<Requirement, PlanError> {
    let file = written.get_ref();
    let fail = |error: RequirementError| wrong(source, written, &error);
    let metric: Metric = file.metric.value.parse().map_err(|error| fail(RequirementError::Metric(error)))?;
    let bound = |field: &'static str, text: &Option<Text>| {
        let parse = |text: &Text| Bound::parse(field, &text.value, metric, file.against.is_some());
        text.as_ref().map(parse).transpose().map_err(fail)
    };
    let statistic = match &file.statistic {
        None => Statistic::MEDIAN,
        Some(word) => word.value.parse().map_err(fail)?,
    };
    let confidence = match &file.confidence {
        None => CONFIDENCE,
        Some(_) if !statistic.estimates() => {
            return Err(fail(RequirementError::ConfidenceOfExtreme { statistic: statistic.to_string() }));
        }
        Some(text) => text
            .value
            .parse()
            .map_err(|_| fail(RequirementError::Confidence { confidence: text.value.clone() }))?,
    };
    Ok(Requirement {
        title: file.title.value.clone(),
        line: source.line(written.span().start),
        metric,
        workload: file.workload.as_ref().map(|text| text.value.clone()),
        of: selection(source, &file.of)?,
        against: file.against.as_ref().map(|levels| selection(source, levels)).transpose()?,
        statistic,
        at_least: bound("at-least", &file.at_least)?,
        at_most: bound("at-most", &file.at_most)?,
        confidence,
    })
}

/// Reads the levels of factors.
pub(super) fn selection(
    source: Source<'_>,
    written: &BTreeMap<String, Spanned<toml::Value>>,
) -> Result<Selection, PlanError> {
    let level = |value: &toml::Value, place: &Range<usize>| {
        build::scalar(value).ok_or_else(|| {
            source.error(place, "a level must be a string, a number or a list of them, such as `\"lite-1\"`")
        })
    };
    let levels = |written: &Spanned<toml::Value>| match written.get_ref() {
        toml::Value::Array(several) => {
            let several = several.iter().map(|value| level(value, &written.span()));
            several.collect::<Result<_, _>>().map(Levels::Any)
        }
        one => level(one, &written.span()).map(Levels::One),
    };
    written.iter().map(|(factor, of)| Ok((factor.clone(), levels(of)?))).collect()
}

/// Returns the error with the place of the field that is wrong.
fn wrong(source: Source<'_>, written: &Spanned<RequireFile>, error: &RequirementError) -> PlanError {
    let file = written.get_ref();
    let text = |text: Option<&Text>| text.map(|text| text.place.clone());
    let levels = |levels: Option<&BTreeMap<String, Spanned<toml::Value>>>| {
        levels.and_then(|levels| levels.values().next()).map(Spanned::span)
    };
    let place = match error.field() {
        "metric" => Some(file.metric.place.clone()),
        "workload" => text(file.workload.as_ref()),
        "where" => levels(Some(&file.of)),
        "against" => levels(file.against.as_ref()),
        "statistic" => text(file.statistic.as_ref()),
        "at-least" => text(file.at_least.as_ref()),
        "at-most" => text(file.at_most.as_ref()),
        "confidence" => text(file.confidence.as_ref()),
        _ => None,
    };
    let message = format!("`require` with the title `{}`: `{}`: {error}", file.title.value, error.field());
    source.error(&place.unwrap_or_else(|| written.span()), message)
}

#[cfg(test)]
mod tests;
