//! Links of ERRANT: rates and round-trip times that are drawn from measured ones, and change from
//! time to time.
//!
//! ERRANT groups speed tests by operator, country, technology and signal quality ([`SpeedTests`]).
//! For a group it draws a download rate, an upload rate and a round-trip time together, imposes
//! them with `tc`, and draws again after each `period`. A scenario is a list of groups with their
//! durations ([`Scenario`]). Its log has the drawn values ([`Log`]).
//!
//! The draws become a TheaterQ trace for each direction, as ERRANT's commands to `tc` would apply
//! them on the wireless host:
//!
//! * up: the upload rate, 1000 packets of queue (netem's limit), then the whole round-trip time as
//!   delay
//! * down: the download rate, 32 packets of queue (the length of an `ifb` device's queue), no delay
//!
//! There are no losses. The trace repeats at its end. Draws depend on the `seed` of the table
//! alone, not on that of the link.
//!
//! Differences to ERRANT: a change takes no time and loses no packets, while ERRANT removes all
//! queues for a moment. Its published models are Python pickles of pandas and scipy objects, which
//! are not read: read the speed tests, which the repository also publishes.
//!
//! Source: Trevisan, Safari Khatouni, Giordano, "ERRANT: Realistic emulation of radio access
//! networks", Computer Networks 176 (2020) 107289; `errant`, `trace_run`,
//! `sample_from_distribution.py` and `model_creation/` of the repository marty90/errant.

mod log;
mod scenario;
mod speed_tests;

pub use log::Log;
pub use scenario::{Scenario, Step};
pub use speed_tests::{Group, SpeedTests};

use super::LinkProfile;
use crate::seed::{Seed, Stream};
use crate::spec::{DirectionSpec, StageSpec};
use crate::stage::bottleneck::theaterq::{AtEnd, Entry, EntryRate, TheaterqTrace};
use crate::stage::bottleneck::{BottleneckSpec, Counted, Limit, QueueSpec, RateSpec};
use crate::stage::delay::{DelaySpec, Law};
use crate::stage::spec::{FromFile, Read, SpecError};
use crate::units::{BitRate, Span};
use serde::Deserialize;

/// Conditions of both directions, drawn together.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Conditions {
    /// Download rate in kbit/s.
    pub download: f64,
    /// Upload rate in kbit/s.
    pub upload: f64,
    /// Round-trip time in milliseconds.
    pub rtt: f64,
}

/// The table `[errant]` of a link profile.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ErrantSpec {
    /// Log to replay, instead of drawing.
    log: Option<String>,
    /// Speed tests to draw from.
    tests: Option<String>,
    /// Scenario of groups, instead of a single one.
    scenario: Option<String>,
    operator: Option<String>,
    country: Option<String>,
    technology: Option<String>,
    quality: Option<String>,
    /// Time after which new conditions are drawn; never if absent.
    period: Option<Span>,
    /// Length of the trace of a single group.
    length: Option<Span>,
    #[serde(default = "first")]
    seed: u64,
}

fn first() -> u64 {
    1
}

/// Length of the trace of a single group, unless the profile says otherwise.
const LENGTH: Span = Span::from_secs(3600);
/// Longest list of draws, a million.
const MOST_DRAWS: usize = 1_000_000;

impl ErrantSpec {
    /// Reads the files, draws the conditions, and puts them into both directions of `link`.
    pub fn apply(&self, link: &mut LinkProfile, read: &mut Read<'_>) -> Result<(), SpecError> {
        let mut text =
            |file: &str| read(file).map_err(|reason| SpecError::Unreadable { file: file.to_owned(), reason });
        let (name, course) = match (&self.log, &self.tests) {
            (Some(file), None) => (file, Log::parse(file, &text(file)?)?.course().collect()),
            (None, Some(file)) => {
                let tests = SpeedTests::parse(file, &text(file)?)?;
                let steps = match &self.scenario {
                    Some(file) => Scenario::parse(file, &text(file)?)?.steps,
                    None => vec![self.single()?],
                };
                let mut stream = Seed::campaign(self.seed).stage("errant").stream();
                (file, drawn(file, &tests, &steps, &mut stream)?)
            }
            _ => return Err(SpecError::value("errant", "[errant]", "give either `tests` or `log`")),
        };
        let up = |at: &Conditions| (at.upload, at.rtt);
        let down = |at: &Conditions| (at.download, 0.0);
        put(&mut link.up, name, &course, up, 1000)?;
        put(&mut link.down, name, &course, down, 32)
    }

    /// Returns the only step of a profile without a scenario.
    fn single(&self) -> Result<Step, SpecError> {
        let field = |name: &'static str, value: &Option<String>| {
            value.clone().ok_or_else(|| {
                SpecError::value(
                    name,
                    "",
                    "must be given, or `scenario`: operator, country, technology, quality",
                )
            })
        };
        let group = Group {
            operator: field("operator", &self.operator)?,
            country: field("country", &self.country)?,
            technology: field("technology", &self.technology)?,
            quality: field("quality", &self.quality)?,
        };
        Ok(Step { group, duration: self.length.unwrap_or(LENGTH), period: self.period })
    }
}

/// A course of conditions: how long each applies.
type Course = Vec<(Span, Conditions)>;

/// Draws the conditions of all steps.
fn drawn(file: &str, tests: &SpeedTests, steps: &[Step], stream: &mut Stream) -> Result<Course, SpecError> {
    let mut course = Course::new();
    for step in steps {
        let model = tests.model(file, &step.group)?;
        let period = step.period.unwrap_or(step.duration);
        if period == Span::ZERO || step.duration == Span::ZERO {
            return Err(SpecError::value("period", period, "periods and durations must be above 0"));
        }
        let mut left = step.duration;
        while left > Span::ZERO {
            if course.len() == MOST_DRAWS {
                return Err(SpecError::value("period", period, "must not make more than a million draws"));
            }
            let keep = period.min(left);
            course.push((keep, model.draw(stream)));
            left = left - keep;
        }
    }
    Ok(course)
}

/// Puts a course into a direction; `of` gives its rate in kbit/s and its delay in milliseconds.
fn put(
    direction: &mut DirectionSpec,
    file: &str,
    course: &[(Span, Conditions)],
    of: impl Fn(&Conditions) -> (f64, f64),
    queue: u64,
) -> Result<(), SpecError> {
    let lines = course.iter().map(|(keep, conditions)| {
        let (kilobits, milliseconds) = of(conditions);
        let rate = BitRate::from_bits_per_second((kilobits * 1e3).round().max(1.0) as u64);
        let rate = rate.map_or(EntryRate::Stopped, EntryRate::Limited);
        (*keep, Entry { rate, latency: Span::from_secs_f64(milliseconds / 1e3), ..Entry::CLEAR })
    });
    let trace = TheaterqTrace::of(lines)
        .ok_or_else(|| SpecError::value("errant", file, "must be a course of at most 580 years"))?;
    let trace = FromFile::with(file, trace);
    direction.put(StageSpec::Bottleneck(BottleneckSpec {
        rate: RateSpec::Theaterq(trace.clone(), AtEnd::Loop),
        queue: QueueSpec::drop_tail(Limit::Packets(queue)),
        counted: Counted::default(),
    }));
    direction.put(StageSpec::Delay(DelaySpec::in_order(Law::Theaterq { file: trace, at_end: AtEnd::Loop })));
    Ok(())
}

#[cfg(test)]
mod tests;
