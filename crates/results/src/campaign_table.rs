//! The parts that all tables of a campaign share: the first columns, which tell the cell of a row
//! by its number and levels, and the metadata.

use crate::{Manifest, RunRecord};
use capture::columnar::{Column, Table, Values};
use std::collections::{BTreeMap, HashMap};

/// Name and meaning of the first column.
pub(crate) const CELL: (&str, &str) = ("cell", "number of the cell in the plan, from 0");

/// Builds a table with a row for each of these runs: the cell, the level of each factor, and then
/// `columns`, which have as many rows.
pub(crate) fn of<'a>(
    manifest: &Manifest,
    runs: impl IntoIterator<Item = &'a RunRecord>,
    columns: impl IntoIterator<Item = Column>,
) -> Table {
    let cells: HashMap<_, _> = manifest.cells.iter().map(|cell| (cell.number, cell)).collect();
    let rows: Vec<u32> = runs.into_iter().map(|run| run.cell).collect();
    let cell = number(&rows, CELL.0, CELL.1, |row| Some((*row).into()));
    let factors = manifest.factors.iter().map(|factor| {
        let meaning = format!("level of the factor `{}`: {}", factor.name, factor.title);
        let level = |row: &u32| Some(cells.get(row)?.level(&factor.name)?.to_owned());
        text(&rows, &format!("factor.{}", factor.name), &meaning, level)
    });
    let columns = std::iter::once(cell).chain(factors).chain(columns).collect();
    Table { columns, metadata: metadata(manifest) }
}

/// Returns a column of numbers.
pub(crate) fn number<R>(rows: &[R], name: &str, meaning: &str, get: impl Fn(&R) -> Option<u64>) -> Column {
    let values = Values::Number(rows.iter().map(get).collect());
    Column { name: name.to_owned(), meaning: meaning.to_owned(), values }
}

/// Returns a column of text.
pub(crate) fn text<R>(rows: &[R], name: &str, meaning: &str, get: impl Fn(&R) -> Option<String>) -> Column {
    let values = Values::Text(rows.iter().map(get).collect());
    Column { name: name.to_owned(), meaning: meaning.to_owned(), values }
}

fn metadata(manifest: &Manifest) -> BTreeMap<String, String> {
    let metadata = [
        ("lasthop.schema", manifest.schema.to_string()),
        ("lasthop.version", manifest.lasthop.clone()),
        ("lasthop.seed", manifest.seed.to_string()),
        ("lasthop.started_unix_ns", manifest.start_by_run_clock().to_string()),
        ("lasthop.plan", manifest.plan.name.clone()),
    ];
    metadata.map(|(key, value)| (key.to_owned(), value)).into()
}
