//! Building an experiment from the text of a plan and the levels of a cell.

mod scenario;
mod workloads;

use super::error::{PlanError, Source, unknown};
use super::file::PlanFile;
use super::text::{self, Text, is_name};
use super::{Capture, Experiment, Keep, Plan};
use crate::scenario::Scenario;
use crate::workload::{Traffic, Workload};
use link::units::Span;
use results::{Cell, Factor, Level};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Display;
use std::path::PathBuf;
use std::str::FromStr;

/// Variables of each level.
type Variables = BTreeMap<Level, BTreeMap<String, Text>>;

/// Default of the time after which a run has failed.
const LIMIT: Span = Span::from_secs(3600);
/// Default of the number of bytes captured per packet: enough for all headers.
const SNAP_LENGTH: u32 = 96;

/// Returns the factors of a plan and the variables of their levels.
pub fn factors(source: Source<'_>, plan: &PlanFile) -> Result<(Vec<Factor>, Variables), PlanError> {
    let mut variables = Variables::new();
    let mut factors: Vec<Factor> = Vec::new();
    for factor in &plan.factors {
        let name = factor.name.value.clone();
        let wrong = |message: String| Err(source.error(&factor.name.place, message));
        if !is_name(&name) {
            return wrong(format!(
                "`{name}` is not a valid factor name: start with a letter, and use letters, digits and `-`, such as `loss`"
            ));
        }
        if factors.iter().any(|known| known.name == name) {
            return wrong(format!("there are two factors `{name}`"));
        }
        if factor.levels.is_empty() {
            return wrong(format!("factor `{name}` has no levels"));
        }
        let mut levels = Vec::new();
        for level in &factor.levels {
            let (level_name, its) = read_level(source, level)?;
            if levels.contains(&level_name) {
                return Err(
                    source.error(&level.span(), format!("factor `{name}` has two levels `{level_name}`"))
                );
            }
            variables.insert(Level { factor: name.clone(), level: level_name.clone() }, its);
            levels.push(level_name);
        }
        let title = if factor.title.is_empty() { name.clone() } else { factor.title.clone() };
        factors.push(Factor { name, title, levels });
    }
    Ok((factors, variables))
}

/// Reads a level: a scalar, or a table with a name.
fn read_level(
    source: Source<'_>,
    level: &serde_spanned::Spanned<toml::Value>,
) -> Result<(String, BTreeMap<String, Text>), PlanError> {
    let wrong = |message: &str| source.error(&level.span(), message);
    if let toml::Value::Table(table) = level.get_ref() {
        let mut variables = BTreeMap::new();
        for (name, value) in table {
            let value = scalar(value)
                .ok_or_else(|| wrong(&format!("variable `{name}` is not a string, number or boolean")))?;
            variables.insert(name.clone(), Text { value, place: level.span() });
        }
        let name = variables.remove("name").ok_or_else(|| wrong("a level that is a table needs a `name`"))?;
        return Ok((name.value, variables));
    }
    let name = scalar(level.get_ref())
        .ok_or_else(|| wrong("a level must be a string, a number or a table with a `name`"))?;
    Ok((name, BTreeMap::new()))
}

/// Returns a string, number or boolean as the name of a level.
pub(super) fn scalar(value: &toml::Value) -> Option<String> {
    match value {
        toml::Value::String(text) => Some(text.clone()),
        toml::Value::Table(_) | toml::Value::Array(_) | toml::Value::Datetime(_) => None,
        other => Some(other.to_string()),
    }
}

/// Builds the experiment of one cell.
pub fn experiment(
    plan: &Plan,
    source: Source<'_>,
    cell: &Cell,
    repetition: u32,
    seed: u64,
) -> Result<Experiment, PlanError> {
    let mut variables = BTreeMap::new();
    for level in &cell.levels {
        variables.insert(level.factor.clone(), level.level.clone());
        for (name, value) in plan.variables.get(level).into_iter().flatten() {
            variables.insert(name.clone(), value.value.clone());
        }
    }
    variables.insert("repetition".to_owned(), repetition.to_string());
    variables.insert("seed".to_owned(), seed.to_string());
    // A variable may name others, so that two factors can determine a value together.
    let named = variables.clone();
    for value in variables.values_mut().filter(|value| value.contains('{')) {
        if let Ok(filled) = text::fill(value, &|name| named.get(name).cloned()) {
            *value = filled;
        }
    }
    let fields = Fields { source, variables };
    let file = &plan.file;
    let scenario = scenario::build(&fields, &file.scenario, &plan.catalogue)?;
    let workloads = workloads::build(&fields, &file.workloads, &scenario)?;
    let measure = measured(&fields, file, &workloads)?;
    if workloads.iter().all(|workload| workload.background) {
        return Err(source.error_somewhere(
            "all workloads are in the background, so nothing determines when a run is over: remove `background` from one of them",
        ));
    }
    let capture = capture(&fields, file, &scenario)?;
    let limit = fields.parsed_or(file.stop.after.as_ref(), LIMIT)?;
    Ok(Experiment { scenario, workloads, measure, capture, limit })
}

/// Returns the name of the workload that the figures describe.
fn measured(fields: &Fields<'_>, file: &PlanFile, workloads: &[Workload]) -> Result<String, PlanError> {
    let Some(name) = &file.measure else {
        // Cross traffic is measured only if the plan says so.
        let crosses = |workload: &Workload| matches!(workload.kind, Traffic::Sessions { .. });
        let foreground = || workloads.iter().filter(|workload| !workload.background);
        let first = foreground().find(|workload| !crosses(workload));
        let first = first.or_else(|| foreground().next()).or(workloads.first());
        return Ok(first.map(|workload| workload.name.clone()).unwrap_or_default());
    };
    let wanted = fields.text(name)?;
    let names = workloads.iter().map(|workload| workload.name.as_str());
    if names.clone().any(|known| known == wanted) {
        return Ok(wanted);
    }
    Err(fields.wrong(name, unknown("workload", &wanted, names)))
}

fn capture(fields: &Fields<'_>, file: &PlanFile, scenario: &Scenario) -> Result<Capture, PlanError> {
    let keep = |text: Option<&Text>, default: Keep| match text {
        None => Ok(default),
        Some(text) => match fields.text(text)?.as_str() {
            "first" => Ok(Keep::First),
            "all" => Ok(Keep::All),
            "failed" => Ok(Keep::Failed),
            "none" => Ok(Keep::None),
            other => Err(fields.wrong(text, unknown("choice", other, ["first", "all", "failed", "none"]))),
        },
    };
    let kept = keep(file.capture.keep.as_ref(), Keep::First)?;
    let links = match &file.capture.links {
        None => (0..scenario.links.len()).collect(),
        Some(names) => names
            .iter()
            .map(|name| {
                let wanted = fields.text(name)?;
                let known = scenario.links.iter().map(|link| link.name.as_str());
                let place = known.clone().position(|known| known == wanted);
                place.ok_or_else(|| fields.wrong(name, unknown("link", &wanted, known)))
            })
            .collect::<Result<_, _>>()?,
    };
    Ok(Capture {
        keep: kept,
        events: keep(file.capture.events.as_ref(), kept)?,
        senders: keep(file.capture.senders.as_ref(), Keep::None)?,
        losses: keep(file.capture.losses.as_ref(), Keep::None)?,
        points: keep(file.capture.points.as_ref(), Keep::None)?,
        link_layer: keep(file.capture.link_layer.as_ref(), Keep::None)?,
        blocks: keep(file.capture.blocks.as_ref(), Keep::None)?,
        links,
        snap_length: fields.parsed_or(file.capture.snap_length.as_ref(), SNAP_LENGTH)?,
    })
}

/// Reader of a plan's fields for one cell.
pub struct Fields<'a> {
    source: Source<'a>,
    variables: BTreeMap<String, String>,
}

impl Fields<'_> {
    /// Returns a text with its variables filled in.
    pub fn text(&self, text: &Text) -> Result<String, PlanError> {
        self.text_with(text, &|_| None)
    }

    /// Does the same with additional variables.
    pub fn text_with(&self, text: &Text, more: &dyn Fn(&str) -> Option<String>) -> Result<String, PlanError> {
        text::fill(&text.value, &|name| self.variables.get(name).cloned().or_else(|| more(name))).map_err(
            |name| {
                let known: BTreeSet<_> = self.variables.keys().map(String::as_str).collect();
                let hint = unknown("variable", &name, known);
                self.wrong(text, format!("{hint} (write {{{{ for a literal brace)"))
            },
        )
    }

    /// Parses a text as a value.
    pub fn parsed<T: FromStr<Err: Display>>(&self, text: &Text) -> Result<T, PlanError> {
        let filled = self.text(text)?;
        filled.parse().map_err(|error: T::Err| {
            let error = error.to_string();
            // Errors of the units name the value; those of the standard library do not.
            let named = error.contains(&filled);
            self.wrong(text, if named { error } else { format!("`{filled}`: {error}") })
        })
    }

    /// Parses a text as a value, or returns a default if there is none.
    pub fn parsed_or<T: FromStr<Err: Display>>(&self, text: Option<&Text>, or: T) -> Result<T, PlanError> {
        text.map_or(Ok(or), |text| self.parsed(text))
    }

    /// Returns the absolute path of the directory of the plan.
    pub fn folder(&self) -> PathBuf {
        self.source.folder()
    }

    /// Returns an error about `text`.
    pub fn wrong(&self, text: &Text, message: impl Into<String>) -> PlanError {
        self.source.error(&text.place, message)
    }

    /// Returns an error about the file as a whole.
    pub fn wrong_somewhere(&self, message: impl Into<String>) -> PlanError {
        self.source.error_somewhere(message)
    }
}

#[cfg(test)]
mod tests;
