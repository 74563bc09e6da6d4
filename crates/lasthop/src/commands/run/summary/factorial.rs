//! The factorial analyses of a plan, as text and as JSON.

use super::trimmed;
use comfy_table::{CellAlignment, ContentArrangement, Table, presets};
use results::factorial::{Analysis, FactorialDesign, analyze};
use results::statistics::Interval;
use results::{Besides, Directory};
use serde_json::{Value, json};
use std::fmt::Write;

/// Largest number of effects in the text; `--json` and the report have all.
const ROWS: usize = 20;

/// Returns all analyses, each with its design. `analysis` is null where `note` says why there is
/// none.
pub fn json(directory: &Directory, besides: Besides) -> Vec<Value> {
    let of = |design: &FactorialDesign| {
        let mut object = json!(design);
        match analyze(directory, design, besides) {
            Ok(analysis) => {
                object["analysis"] = json!(analysis);
                object["note"] = analysis.notes.join("; ").into();
            }
            Err(error) => {
                object["analysis"] = Value::Null;
                object["note"] = error.to_string().into();
            }
        }
        object
    };
    directory.manifest.factorial.iter().map(of).collect()
}

/// Returns all analyses as text; empty without any.
pub fn text(directory: &Directory, besides: Besides) -> String {
    let mut text = String::new();
    for design in &directory.manifest.factorial {
        let said = match analyze(directory, design, besides) {
            Ok(analysis) => of(design, &analysis),
            Err(error) => format!(" not analysed: {error}"),
        };
        let _ = write!(text, "\n\nFactorial analysis: {}\n{said}", design.title);
    }
    text.trim_start_matches('\n').to_owned()
}

/// Returns one analysis as text.
fn of(design: &FactorialDesign, analysis: &Analysis) -> String {
    let unit = Shown::of(analysis);
    let fixed = design.fixed_words();
    let fixed = if fixed.is_empty() { String::new() } else { format!(", with {fixed}") };
    let levels = |two: &results::factorial::TwoLevels| {
        format!("{} ({} to {})", two.factor, two.levels[0], two.levels[1])
    };
    let factors: Vec<_> = design.factors.iter().map(levels).collect();
    let mut text =
        format!(" {}{fixed}: {} on average", analysis.response, unit.with_unit(analysis.mean.value));
    if let Some(interval) = analysis.mean.interval {
        let _ = write!(text, " ({})", unit.ends(interval));
    }
    if design.log {
        let mean = 10_f64.powf(analysis.mean.value);
        let unit = Shown::of_largest(design.unit_without_log(), mean);
        let _ = write!(text, ", a geometric mean of {}", unit.with_unit(mean));
    }
    let repetitions = analysis.repetitions;
    let plural = if repetitions == 1 { "" } else { "s" };
    let _ = write!(
        text,
        "\n {} cells of {repetitions} repetition{plural}; factors: {}\n{}",
        design.cells(),
        factors.join(", "),
        trimmed(&table(analysis, &unit))
    );
    if analysis.effects.len() > ROWS {
        let rest: f64 = analysis.effects[ROWS..].iter().map(|effect| effect.share).sum();
        let count = analysis.effects.len() - ROWS;
        let _ = write!(
            text,
            "\n {count} more effects with {} together (--json and the report have them)",
            percent(rest)
        );
    }
    let errors =
        analysis.error_share.map_or_else(String::new, |share| format!(", errors {}", percent(share)));
    let (main, interactions) = (percent(analysis.main_share), percent(analysis.interaction_share));
    let _ = write!(text, "\n single factors {main}, interactions {interactions}{errors}");
    for note in &analysis.notes {
        let _ = write!(text, "\n {note}");
    }
    text
}

/// Returns the effects, the largest share first.
fn table(analysis: &Analysis, unit: &Shown) -> Table {
    let mut table = Table::new();
    table.load_style(presets::NOTHING).set_content_arrangement(ContentArrangement::Dynamic);
    let titled =
        |title: &str| if unit.name.is_empty() { title.to_owned() } else { format!("{title}, {}", unit.name) };
    let log = analysis.effects.iter().any(|effect| effect.factor.is_some());
    let columns = ["effect of".to_owned(), "share".to_owned(), titled("effect"), titled("95 % interval")];
    table.set_header(columns.into_iter().chain(log.then(|| "second/first".to_owned())));
    for effect in analysis.effects.iter().take(ROWS) {
        let interval = effect.interval.map_or_else(|| "-".to_owned(), |interval| unit.ends(interval));
        let mark = if effect.significant == Some(false) { " (has 0)" } else { "" };
        let row = [
            effect.factors.join(" × "),
            percent(effect.share),
            unit.number(effect.effect),
            format!("{interval}{mark}"),
        ];
        table.add_row(row.into_iter().chain(effect.factor.map(|factor| format!("{factor:.3}"))));
    }
    for column in table.column_iter_mut().skip(1) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    table
}

fn percent(share: f64) -> String {
    format!("{:.2} %", 100.0 * share)
}

/// Unit and decimals in which all values of an analysis are shown.
struct Shown {
    name: String,
    scale: f64,
    decimals: usize,
}

impl Shown {
    fn of(analysis: &Analysis) -> Self {
        let all = analysis.effects.iter().map(|effect| effect.effect).chain([analysis.mean.value]);
        Self::of_largest(analysis.unit, all.map(f64::abs).fold(0.0, f64::max))
    }

    /// Returns the unit for values of at most this size.
    fn of_largest(unit: &str, largest: f64) -> Self {
        let (prefix, scale) = match unit {
            "bit/s" if largest >= 1e6 => ("M", 1e6),
            "bit/s" if largest >= 1e3 => ("k", 1e3),
            _ => ("", 1.0),
        };
        let digits = 3.0 - (largest / scale).max(1e-9).log10().floor();
        Self { name: format!("{prefix}{unit}"), scale, decimals: digits.clamp(0.0, 9.0) as usize }
    }

    fn number(&self, value: f64) -> String {
        let Self { scale, decimals, .. } = self;
        format!("{:.decimals$}", value / scale)
    }

    fn with_unit(&self, value: f64) -> String {
        format!("{} {}", self.number(value), self.name).trim_end().to_owned()
    }

    fn ends(&self, interval: Interval) -> String {
        format!("{} … {}", self.number(interval.low), self.number(interval.high))
    }
}

#[cfg(test)]
mod tests;
