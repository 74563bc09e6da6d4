//! Tests of the delay against the formulas of its laws, and of the order of packets.
//!
//! This file contains the functions that drive the stage.

mod distributions;
mod files;
mod order;
mod process;
mod spec;

use super::*;
use crate::stage::bottleneck::tests::{advance, drive, nanos, packet};
use crate::stage::spec::FromFile;
use crate::units::Span;

const MS: u64 = 1_000_000;

/// Builds a delay for which each packet draws its own.
pub(crate) fn made(law: Law, reorder: bool) -> Delay {
    let correlation = law.draws().then_some(Correlation::None);
    built(DelaySpec { law, reorder, correlation })
}

/// Builds a delay that is a process in time.
fn correlated(law: Law, reorder: bool, time: Span) -> Delay {
    built(DelaySpec { law, reorder, correlation: Some(Correlation::Time(time)) })
}

fn built(spec: DelaySpec) -> Delay {
    Delay::new(spec, &Seed::campaign(3).stage("delay")).expect("a spec that can be")
}

/// Returns the delays in nanoseconds of `count` packets with a constant gap in nanoseconds, in
/// order of arrival.
fn delays(stage: &mut Delay, count: u64, gap: u64) -> Vec<u64> {
    let mut fates = drive(stage, (0..count).map(|number| (number * gap, 0)));
    fates.sort_by_key(|fate| fate.number);
    fates.iter().map(|fate| (fate.at - fate.arrived).as_nanos()).collect()
}
