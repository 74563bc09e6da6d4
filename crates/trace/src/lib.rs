//! Analysis of captures.
pub mod layer2;
