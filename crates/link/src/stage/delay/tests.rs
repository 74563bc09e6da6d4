//! The delay against the formulas of its laws, and who may overtake whom. This file: how the tests
//! drive it.

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

/// A delay whose packets each draw their own.
pub(crate) fn made(law: Law, reorder: bool) -> Delay {
    let correlation = law.draws().then_some(Correlation::None);
    built(DelaySpec { law, reorder, correlation })
}

/// A delay that is a process in time.
fn correlated(law: Law, reorder: bool, time: Span) -> Delay {
    built(DelaySpec { law, reorder, correlation: Some(Correlation::Time(time)) })
}

fn built(spec: DelaySpec) -> Delay {
    Delay::new(spec, &Seed::campaign(3).stage("delay")).expect("a spec that can be")
}

/// The delays in nanoseconds of `count` packets that come this many nanoseconds apart, in the order
/// in which they came.
fn delays(stage: &mut Delay, count: u64, gap: u64) -> Vec<u64> {
    let mut fates = drive(stage, (0..count).map(|number| (number * gap, 0)));
    fates.sort_by_key(|fate| fate.number);
    fates.iter().map(|fate| (fate.at - fate.arrived).as_nanos()).collect()
}
