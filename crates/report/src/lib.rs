//! The report of a campaign: everything that was found, in one HTML file without access to a
//! network.
//!
//! ```text
//! results::Directory ──► Page::of ──► html::file ──► report.html
//!                          │ every number is computed here     │ assets/: the built bundle of web/, which draws
//! ```
//!
//! * [`Page`]: the numbers, as the page reads them; serialised as JSON into the file.
//! * [`side_by_side`]: two campaigns as one, with a factor `run` that tells them apart.
//! * [`difference`]: two campaigns, cell by cell, as `lasthop compare` prints them.
//! * [`layers`]: the multi-layer view, a page of its own that has millions of points.
//! * [`single`]: what `lasthop link` leaves, as a campaign of one run.
//!
//! Nothing is run and nothing is measured here.
#![forbid(unsafe_code)]

mod about;
pub mod difference;
#[cfg(test)]
mod example;
mod foreign;
pub mod html;
pub mod layers;
mod links;
mod literature;
mod losses;
mod measure;
mod open;
mod page;
mod scatter;
mod sequence;
pub mod side_by_side;
pub mod single;
mod strata;

pub use open::{OpenError, open};
pub use page::{Options, Page};
