//! The report of a campaign: all results in one HTML file that needs no network.
//!
//! ```text
//! results::Directory ──► Page::of ──► html::file ──► report.html
//!                          │ every number is computed here     │ assets/: the built bundle of web/, which draws
//! ```
//!
//! * [`Page`]: the numbers as the page reads them, serialised as JSON into the file.
//! * [`side_by_side`]: two campaigns as one, with a factor `run` that distinguishes them.
//! * [`difference`]: two campaigns, cell by cell, as `lasthop compare` prints them.
//! * [`layers`]: the multi-layer view, a separate page with millions of points.
//! * [`single`]: the files of one `lasthop link`, as a campaign of one run.
//!
//! This crate runs and measures nothing.
#![forbid(unsafe_code)]

mod about;
pub mod difference;
#[cfg(test)]
mod example;
mod factorial;
mod foreign;
pub mod html;
pub mod layers;
mod links;
mod literature;
mod losses;
mod measure;
mod open;
mod page;
mod precision;
mod scatter;
mod sequence;
pub mod side_by_side;
pub mod single;
mod strata;

pub use open::{OpenError, open};
pub use page::{Page, PageOptions};
