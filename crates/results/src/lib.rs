//! Run directories, which campaigns write: reading and writing them, and computing figures from
//! them.
//!
//! ```text
//! runs/NAME/TIME-SEED/
//!     manifest.json     what was run, on what, with which seeds, and the verdict on each run   [`Manifest`]
//!     runs.jsonl        one line for each run that ended, appended as it ends                   [`journal`]
//!     results.parquet   a row per connection, written when the campaign closes                  [`Connection`]
//!     losses.parquet    a row per loss event of a TCP connection, where the plan asks for them   [`LossEvent`]
//!     points.parquet    a row per flow and end of a link, where the plan asks for them           [`points`]
//!     series.csv        the order of the runs and the gaps between them, of a series              [`series`]
//!     captures/*.pcapng, events/*.parquet, events/*-senders.parquet, events/*-link-layer.parquet, logs/*
//!     report.html
//! ```
//!
//! While a campaign runs, only `runs.jsonl` grows. A campaign that was killed is resumed from it,
//! and [`Directory::open`] reads a directory in either state.
//!
//! The figures are one number per run ([`metric`]), statistics over the repetitions
//! ([`statistics`]), the comparison with the literature ([`expectation`]), the share of each factor
//! in the variation ([`factorial`]), and the table for other programs ([`table`]).
#![forbid(unsafe_code)]

mod campaign_table;
pub mod confusion;
pub mod connection;
pub mod directory;
pub mod expectation;
pub mod factorial;
pub mod figure;
pub mod journal;
pub mod links;
pub mod loss_event;
pub mod loss_table;
pub mod manifest;
pub mod merge;
pub mod metric;
pub mod paired;
pub mod points;
pub mod precision;
pub mod requirement;
pub mod selection;
pub mod series;
pub mod shard;
pub mod statistics;
pub mod table;
pub mod tcp_lite;
mod unit;

pub use confusion::{Confusion, Taken};
pub use connection::{Connection, Protocol, RoundTrips, SessionCounts};
pub use directory::{Besides, Directory, DirectoryError};
pub use expectation::{Comparison, ExpectationError, Range, compare};
pub use factorial::FactorialDesign;
pub use figure::FigureName;
pub use journal::RunEnded;
pub use links::{LinkCounters, LinkLayerCounters};
pub use loss_event::{LossEvent, LossKind};
pub use manifest::{
    At, Cell, Clock, Expectation, Factor, Guest, Lateness, Level, Levels, Machine, Manifest, Part, PlanText,
    PlannedWorkload, RunRecord, RunVerdict, Selection,
};
pub use metric::{Metric, cell_values, values_by_cell};
pub use precision::{Precision, RunControl, Stop};
pub use requirement::{Judgement, Requirement, Verdict};
pub use series::Series;
pub use shard::Shard;
pub use statistics::Distribution;
pub use tcp_lite::LiteTotals;

/// Returns the end of an error message about an unknown word: the known words, and the one that was
/// most likely meant, if any is similar (by the rule of `link::nearest`).
fn instead(wrong: &str, known: &[impl AsRef<str>]) -> String {
    let words: Vec<&str> = known.iter().map(AsRef::as_ref).collect();
    let near = words.iter().map(|word| (strsim::damerau_levenshtein(wrong, word), word)).min();
    let most = wrong.chars().count().div_ceil(3).min(2);
    let hint = near.filter(|(distance, word)| *distance <= most && most < word.chars().count());
    let hint = hint.map_or_else(String::new, |(_, word)| format!(": did you mean `{word}`?"));
    format!("{hint} (expected one of {})", words.join(", "))
}

#[cfg(test)]
mod example;
