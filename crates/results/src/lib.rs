//! What a campaign leaves behind: a run directory, read and written. No running, no drawing.
//!
//! ```text
//! runs/NAME/TIME-SEED/
//!     manifest.json     what was run, on what, with which seeds, and the verdict on each run   [`Manifest`]
//!     runs.jsonl        one line for each run that ended, appended as it ends                   [`journal`]
//!     results.parquet   a row per connection, written when the campaign closes                  [`Connection`]
//!     captures/*.pcapng, events/*.parquet, logs/*
//!     report.html
//! ```
//!
//! While a campaign goes on only `runs.jsonl` grows; a campaign that was killed is resumed from it, and
//! [`Directory::open`] reads a directory in either state.
#![forbid(unsafe_code)]

pub mod connection;
pub mod directory;
pub mod journal;
pub mod manifest;
pub mod statistics;

pub use connection::{Connection, Protocol, RoundTrips};
pub use directory::{Directory, DirectoryError};
pub use journal::RunEnded;
pub use manifest::{
    Cell, Clock, Expectation, Factor, Level, Levels, LinkCounters, Machine, Manifest, PlanText, RunRecord, Selection,
    Verdict,
};
pub use statistics::Distribution;

#[cfg(test)]
mod example;
