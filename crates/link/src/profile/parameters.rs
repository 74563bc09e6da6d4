//! Parameters of a direction in one line, the argument in
//! `lasthop link --down rate=2mbit,delay=40ms,loss=1%`.

use super::losses::errors;
use crate::nearest::nearest;
use crate::spec::{DirectionSpec, StageSpec};
use crate::stage::StageCommand;
use crate::stage::bottleneck::mahimahi::Playback;
use crate::stage::bottleneck::theaterq::AtEnd;
use crate::stage::bottleneck::{BottleneckSpec, RateSpec};
use crate::stage::delay::{Correlation, DelaySpec, LEOCC_INTERVAL, Law};
use crate::stage::duplicate::DuplicateSpec;
use crate::stage::errors::ErrorSpec;
use crate::stage::outage::{OutageAfter, OutageCommand, OutageSpec, ScheduledOutage};
use crate::stage::spec::FromFile;
use crate::units::Span;
use std::io;
use std::str::FromStr;

/// A list of parameters that change a direction. Only `outage` may occur more than once.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Parameters {
    list: Vec<(Key, String)>,
}

/// Error of a parameter that cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{parameter}: {why}")]
pub struct ParameterError {
    /// The parameter as given.
    pub parameter: String,
    /// The cause and the remedy.
    pub why: String,
}

macro_rules! keys {
    ($($variant:ident $name:literal $help:literal,)*) => {
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub(super) enum Key { $($variant,)* }

        impl Key {
            const NAMES: &'static [&'static str] = &[$($name,)*];

            fn named(name: &str) -> Option<Self> {
                match name { $($name => Some(Self::$variant),)* _ => None }
            }

            const fn name(self) -> &'static str {
                match self { $(Self::$variant => $name,)* }
            }
        }

        /// Each parameter with an example and its meaning.
        pub const HELP: &[(&str, &str)] = &[$(($name, $help),)*];
    };
}

keys! {
    Rate "rate" "2mbit, inf: rate of the limiter",
    Trace "trace" "FILE: a mahimahi or TheaterQ trace of the rate",
    Queue "queue" "50p, 64kB, 200ms, inf, codel, red, fq-codel, pie, dualpi2, sfq: what the limiter's queue holds, or its discipline",
    Counted "counted" "ip, ethernet, wire, or bytes added to a packet: what the rate counts",
    Delay "delay" "40ms, or leocc:FILE with a delay trace of LeoCC: propagation delay",
    Jitter "jitter" "5ms: standard deviation of the delay, which keeps packets in order",
    Correlation "correlation" "50ms, none: time in which a delay that varies changes; none draws it for each packet",
    Loss "loss" "1%, none, or a loss profile by name or path: packets lost",
    Burst "burst" "100ms: mean length of a burst of losses, with loss=SHARE",
    Ber "ber" "1e-5: bits flipped",
    Damage "damage" "lose, checksum, or flip: what an error does",
    Duplicate "duplicate" "1%: packets delivered twice",
    Outage "outage" "10s+2s, 25kB+2s: from 10 s on, or after 25 kB were sent, for 2 s",
}

/// Access to the profiles and files that parameters name.
pub trait Resolve {
    /// Returns the errors of the loss profile `name`.
    fn losses(&mut self, name: &str) -> Result<ErrorSpec, String>;
    /// Returns the text of a trace file.
    fn file(&mut self, name: &str) -> io::Result<String>;
}

impl FromStr for Parameters {
    type Err = ParameterError;

    fn from_str(text: &str) -> Result<Self, ParameterError> {
        let mut list: Vec<(Key, String)> = Vec::new();
        for part in text.split(',').map(str::trim).filter(|part| !part.is_empty()) {
            let wrong = |why: String| ParameterError { parameter: part.to_owned(), why };
            let Some((name, value)) = part.split_once('=') else {
                return Err(wrong("expected NAME=VALUE, such as rate=2mbit".to_owned()));
            };
            let name = name.trim();
            let Some(key) = Key::named(name) else {
                return Err(wrong(match nearest(name, Key::NAMES.iter().copied()) {
                    Some(known) => format!("there is no `{name}`: did you mean `{known}`?"),
                    None => format!("there is no `{name}`: there are {}", Key::NAMES.join(", ")),
                }));
            };
            if let Some((_, former)) = list.iter().find(|(known, _)| *known == key && !key.repeats()) {
                return Err(wrong(format!("`{name}` is given twice, first as {name}={former}: remove one")));
            }
            if let Some((other, former)) = list.iter().find(|(known, _)| key.excludes(*known)) {
                let other = other.name();
                return Err(wrong(format!(
                    "`{name}` and {other}={former} both set the limiter's rate: remove one"
                )));
            }
            list.push((key, value.trim().to_owned()));
        }
        // In any order of the parameters, jitter applies to the delay given with it, and
        // correlation to both.
        list.sort_by_key(|(key, _)| match key {
            Key::Correlation => 2,
            Key::Jitter => 1,
            _ => 0,
        });
        Ok(Self { list })
    }
}

impl Key {
    /// Returns whether the parameter may be repeated: each outage is an additional one.
    fn repeats(self) -> bool {
        self == Self::Outage
    }

    /// Returns whether the two parameters contradict each other.
    fn excludes(self, other: Self) -> bool {
        matches!((self, other), (Self::Rate, Self::Trace) | (Self::Trace, Self::Rate))
    }
}

impl Parameters {
    /// Applies the parameters to `direction`.
    ///
    /// # Errors
    /// If one of them cannot be used. `direction` is then unchanged.
    pub fn apply(
        &self,
        direction: &mut DirectionSpec,
        resolve: &mut dyn Resolve,
    ) -> Result<(), ParameterError> {
        let mut changed = direction.clone();
        for (key, value) in &self.list {
            put(&mut changed, *key, value, &self.list, resolve)
                .map_err(|why| ParameterError { parameter: format!("{}={value}", key.name()), why })?;
        }
        *direction = changed;
        Ok(())
    }

    /// Returns the commands for stages of a running link among the parameters: `outage=now+5s`.
    #[must_use]
    pub fn commands(&self) -> Vec<(&'static str, StageCommand)> {
        let outage = |value: &str| {
            let length = value.strip_prefix("now+")?.parse().ok()?;
            Some(("outage", StageCommand::Outage(OutageCommand::DownFor(length))))
        };
        self.list
            .iter()
            .filter(|(key, _)| *key == Key::Outage)
            .filter_map(|(_, value)| outage(value))
            .collect()
    }
}

fn put(
    direction: &mut DirectionSpec,
    key: Key,
    value: &str,
    all: &[(Key, String)],
    resolve: &mut dyn Resolve,
) -> Result<(), String> {
    match key {
        Key::Rate | Key::Trace | Key::Queue | Key::Counted => {
            let mut spec = match direction.find("bottleneck") {
                Some(StageSpec::Bottleneck(spec)) => spec.clone(),
                _ => BottleneckSpec::default(),
            };
            match key {
                Key::Rate => spec.rate = value.parse().map_err(said)?,
                Key::Trace => {
                    spec.rate = trace(value, resolve)?;
                    spec.load(&mut |file| resolve.file(file)).map_err(said)?;
                }
                Key::Queue => spec.queue = value.parse().map_err(said)?,
                _ => spec.counted = value.parse().map_err(said)?,
            }
            direction.put(StageSpec::Bottleneck(spec));
        }
        Key::Delay => {
            let mut spec = match value.strip_prefix("leocc:") {
                Some(file) => DelaySpec {
                    reorder: true,
                    ..DelaySpec::in_order(Law::Leocc {
                        file: FromFile::named(file),
                        interval: LEOCC_INTERVAL,
                    })
                },
                None => DelaySpec::constant(value.parse().map_err(said)?),
            };
            spec.load(&mut |file| resolve.file(file)).map_err(said)?;
            direction.put(StageSpec::Delay(spec));
        }
        Key::Jitter => {
            let sd: Span = value.parse().map_err(said)?;
            let mean = direction.delay();
            if mean == Span::ZERO {
                return Err("jitter needs a delay: give delay=... as well".to_owned());
            }
            direction.put(StageSpec::Delay(DelaySpec::in_order(Law::Normal { mean, sd })));
        }
        Key::Correlation => {
            let correlation: Correlation = value.parse()?;
            match direction.find("delay") {
                Some(StageSpec::Delay(spec)) if spec.law.draws() => {
                    let spec = DelaySpec { correlation: Some(correlation), ..spec.clone() };
                    direction.put(StageSpec::Delay(spec));
                }
                _ => {
                    return Err(
                        "correlation needs a varying delay: give delay=...,jitter=... as well".to_owned()
                    );
                }
            }
        }
        Key::Loss | Key::Burst | Key::Ber | Key::Damage => {
            // They depend on each other, so the call for any of them applies all.
            errors(direction, all, resolve)?;
        }
        Key::Duplicate => {
            let probability = value.parse().map_err(said)?;
            direction.put(StageSpec::Duplicate(DuplicateSpec { probability }));
        }
        Key::Outage => {
            let (start, length) =
                value.split_once('+').ok_or("expected START+LENGTH, such as 10s+2s or 25kB+2s")?;
            let length: Span = length.parse().map_err(said)?;
            let mut spec = match direction.find("outage") {
                Some(StageSpec::Outage(spec)) => spec.clone(),
                _ => OutageSpec::default(),
            };
            if start.ends_with('B') {
                spec.after.push(OutageAfter { bytes: start.parse().map_err(said)?, length });
            } else if start != "now" {
                spec.schedule.push(ScheduledOutage { start: start.parse().map_err(said)?, length });
            }
            direction.put(StageSpec::Outage(spec));
        }
    }
    Ok(())
}

/// Returns the rate of a trace file. The format follows from the text: only TheaterQ's has commas.
fn trace(name: &str, resolve: &mut dyn Resolve) -> Result<RateSpec, String> {
    let text = resolve.file(name).map_err(|error| format!("cannot read {name}: {error}"))?;
    let is_theaterq = text.lines().any(|line| line.contains(','));
    Ok(if is_theaterq {
        RateSpec::Theaterq(FromFile::named(name), AtEnd::default())
    } else {
        RateSpec::Mahimahi(FromFile::named(name), Playback::USUAL)
    })
}

/// Returns the text of an error.
pub(super) fn said(error: impl std::fmt::Display) -> String {
    error.to_string()
}
