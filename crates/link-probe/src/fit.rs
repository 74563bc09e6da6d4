//! The link profile that fits a recording.
//!
//! | parameter | found from |
//! |---|---|
//! | `rate` | median rate of ten parts of the last two thirds of the heavy phase, divided by the share of packets that the light phase did not lose |
//! | `queue` | median queueing delay of heavy packets whose successor was lost, in transmission times; none if few were lost |
//! | `delay` | round-trip time of small packets, less their transmission times: half of the least one each way, and what exceeds it down |
//! | `errors` | packets lost in the light phase, independently or by two states if a test says so ([`link::fit`]) |

use crate::recording::{Probe, Recording};
use link::fit::{ErasureTrace, two_state};
use link::units::{BitRate, ByteCount, Span, Time};
use std::fmt::Write;

/// Parts of a heavy phase that give a value of the rate each. With more parts, each would have too
/// few packets for its share of losses to be that of the link.
const PARTS: usize = 10;
/// Heavy losses beyond those of the light phase that show a full queue.
const FULL: f64 = 0.05;
/// A direction is saturated if packets wait for this many transmission times.
const BUSY: f64 = 3.0;
/// Independent losses are given up below this probability.
const UNLIKELY: f64 = 0.01;
/// Percentiles of a delay that varies.
const PERCENTS: [u8; 9] = [0, 5, 10, 25, 50, 75, 90, 95, 100];

/// Link profile that fits a recording.
#[derive(Debug, Clone, PartialEq)]
pub struct Fitted {
    /// Uplink and downlink.
    pub ways: [Way; 2],
    /// Delay of a round trip without transmission times.
    pub delay: Delay,
}

/// Parameters that fit one direction.
#[derive(Debug, Clone, PartialEq)]
pub struct Way {
    /// Rate of IP packets.
    pub rate: BitRate,
    /// Whether the link was saturated. If not, it may be faster than `rate`.
    pub saturated: bool,
    /// Packets that the queue holds; `None` if it was never seen to overflow.
    pub queue: Option<u64>,
    /// Losses of the light phase.
    pub losses: Losses,
    /// Packets sent and lost in the heavy phase.
    pub heavy: Counts,
}

/// Numbers of packets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counts {
    /// Packets sent.
    pub sent: u64,
    /// Packets lost.
    pub lost: u64,
}

/// Losses of a direction.
#[derive(Debug, Clone, PartialEq)]
pub struct Losses {
    /// Packets of the light phase.
    pub counts: Counts,
    /// Mean stays in the good and in the bad state, if two states explain the losses better than
    /// independent ones.
    pub two_state: Option<(Span, Span)>,
}

/// Delay of a round trip, in order of the percentiles that it is given for.
#[derive(Debug, Clone, PartialEq)]
pub struct Delay {
    /// Percentage, and the round-trip time that it does not exceed.
    pub percentiles: Vec<(u8, Span)>,
    /// Number of round trips.
    pub count: usize,
    /// Time in which the delay loses half of its correlation; `None` if the delay is constant.
    pub correlation: Option<Span>,
}

/// Error of a recording that says too little.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum FitError {
    /// No small packet came back.
    #[error("no small packet came back: measure longer (--light)")]
    NoRoundTrip,
    /// Too few packets arrived in a heavy phase.
    #[error("{0}link: only {1} packets arrived while it was saturated: measure longer (--heavy)")]
    TooFew(&'static str, usize),
}

/// Names of the two directions.
pub(crate) const WAYS: [&str; 2] = ["up", "down"];

/// Fits a profile.
///
/// # Errors
/// If too few packets arrived.
pub fn fit(recording: &Recording) -> Result<Fitted, FitError> {
    let way = |place: usize| way(WAYS[place], &recording.light[place], &recording.heavy[place]);
    let ways = [way(0)?, way(1)?];
    let delay = delay(recording, &ways).ok_or(FitError::NoRoundTrip)?;
    Ok(Fitted { ways, delay })
}

fn way(name: &'static str, light: &[Probe], heavy: &[Probe]) -> Result<Way, FitError> {
    let counts = counts(light);
    let arrived = steady(heavy);
    let delivered = median_rate(&arrived).ok_or(FitError::TooFew(name, arrived.len()))?;
    let limit = delivered / (1.0 - counts.share()).max(0.01);
    let waits = waits(light, heavy);
    let bits = heavy.first().map_or(1.0, |probe| probe.bytes as f64 * 8.0);
    let transmission = bits / limit * 1e9;
    let in_transmissions = |nanos: f64| nanos / transmission;
    let heavy_counts = self::counts(heavy);
    let overflows = heavy_counts.share() > counts.share() + FULL;
    let busy = median(waits.iter().map(|(_, wait)| *wait).collect()).map_or(0.0, in_transmissions);
    let full: Vec<f64> = waits.iter().filter(|(last, _)| *last).map(|(_, wait)| *wait).collect();
    // The packet that fills the queue waits for the packets ahead of it and for the one being sent,
    // of which a part is left.
    let queue = median(full).filter(|_| overflows).map(|wait| in_transmissions(wait).ceil().max(1.0) as u64);
    Ok(Way {
        rate: BitRate::from_bits_per_second(significant(limit))
            .ok_or(FitError::TooFew(name, arrived.len()))?,
        saturated: overflows || busy >= BUSY,
        queue,
        losses: losses(light, counts, limit),
        heavy: heavy_counts,
    })
}

impl Counts {
    /// Returns the share of packets that were lost.
    #[must_use]
    pub fn share(self) -> f64 {
        if self.sent == 0 { 0.0 } else { self.lost as f64 / self.sent as f64 }
    }
}

fn counts(probes: &[Probe]) -> Counts {
    let lost = probes.iter().filter(|probe| probe.received.is_none()).count();
    Counts { sent: probes.len() as u64, lost: lost as u64 }
}

/// Returns the arrivals of the last two thirds of a heavy phase in order of time: the time and the
/// bytes of each. The first third is left out, in which the flow grows.
pub(crate) fn steady(heavy: &[Probe]) -> Vec<(u64, u64)> {
    let mut arrived: Vec<_> = heavy.iter().filter_map(|probe| Some((probe.received?, probe.bytes))).collect();
    arrived.sort_unstable();
    if let (Some(first), Some(last)) = (arrived.first(), arrived.last()) {
        let from = first.0 + (last.0 - first.0) / 3;
        arrived.retain(|(time, _)| *time >= from);
    }
    arrived
}

/// Returns the median of the rates of the parts of a flow, in bit/s.
fn median_rate(arrived: &[(u64, u64)]) -> Option<f64> {
    let group = arrived.len().saturating_sub(1).div_ceil(PARTS);
    if group == 0 {
        return None;
    }
    let rate = |packets: &[(u64, u64)]| {
        let time = packets[packets.len() - 1].0 - packets[0].0;
        let bytes: u64 = packets[1..].iter().map(|(_, bytes)| bytes).sum();
        (time > 0).then(|| bytes as f64 * 8e9 / time as f64)
    };
    median(arrived.windows(group + 1).step_by(group).filter_map(rate).collect())
}

/// Returns the rate at which trains arrive, in bit/s.
pub(crate) fn train_rate(light: &[Probe]) -> Option<f64> {
    let arrived = |probe: &&Probe| probe.received.is_some() && probe.place.is_some();
    let arrived: Vec<_> = light.iter().filter(arrived).collect();
    let trains =
        arrived.chunk_by(|one, two| one.place.map(|place| place.0) == two.place.map(|place| place.0));
    let rate = |train: &[&Probe]| {
        let (first, last) = (train.first()?.received?, train.last()?.received?);
        let bytes: u64 = train[1..].iter().map(|probe| probe.bytes).sum();
        let time = last.checked_sub(first).filter(|&time| time > 0)?;
        Some(bytes as f64 * 8e9 / time as f64)
    };
    median(trains.filter_map(rate).collect())
}

/// Returns the queueing delay of each heavy packet that arrived, in nanoseconds beyond the least
/// delay of a packet of its size, and whether the packet behind it was lost.
fn waits(light: &[Probe], heavy: &[Probe]) -> Vec<(bool, f64)> {
    // The clocks of the two ends have different origins.
    let late = |probe: &Probe| probe.received.map(|received| i128::from(received) - i128::from(probe.sent));
    let bytes = heavy.first().map_or(0, |probe| probe.bytes);
    let alone =
        light.iter().filter(|probe| probe.bytes == bytes && probe.place.is_some_and(|place| place.1 == 0));
    let Some(least) = alone.chain(heavy).filter_map(late).min() else { return Vec::new() };
    let followers = heavy.iter().skip(1).map(|probe| probe.received.is_none()).chain([false]);
    let waits = heavy.iter().zip(followers);
    waits.filter_map(|(probe, lost)| Some((lost, (late(probe)? - least) as f64))).collect()
}

/// Returns the losses of the light phase. `rate` is that of the limiter, in bit/s.
fn losses(light: &[Probe], counts: Counts, rate: f64) -> Losses {
    // A packet meets the errors when its transmission ends.
    let mut end = 0_u64;
    let start = light.first().map_or(0, |probe| probe.sent);
    let packets = light.iter().map(|probe| {
        let transmission = ((probe.bytes as f64 * 8e9 / rate) as u64).max(1);
        end = end.max(probe.sent.saturating_sub(start)) + transmission;
        (Time::from_nanos(end), probe.received.is_none())
    });
    let found = two_state(&ErasureTrace::Packets(packets.collect())).ok();
    let found = found.filter(|fit| fit.independence.p_value < UNLIKELY);
    Losses { counts, two_state: found.map(|fit| (fit.good.value, fit.bad.value)) }
}

/// Returns the delay of round trips; `None` if there is none.
fn delay(recording: &Recording, ways: &[Way; 2]) -> Option<Delay> {
    let small: Vec<_> = recording.round_trips.iter().filter(|trip| trip.small).collect();
    let bytes = ByteCount::new(recording.plan.ip_bytes(crate::message::LEAST_DATA));
    let sending: u64 = ways.iter().map(|way| way.rate.time_for(bytes).as_nanos()).sum();
    let times: Vec<f64> = small.iter().map(|trip| trip.time.saturating_sub(sending) as f64).collect();
    let mut sorted = times.clone();
    sorted.sort_by(f64::total_cmp);
    let (&least, end) = (sorted.first()?, sorted.len() - 1);
    let at = |percent: u8| sorted[(end * usize::from(percent)).div_ceil(100)];
    let percentiles =
        PERCENTS.map(|percent| (percent, Span::from_micros((at(percent) / 1e3).round() as u64)));
    let varies = at(95) - least > (least * 0.1).max(1e6);
    let span = (small.last()?.sent - small.first()?.sent) as f64;
    let interval = span / end.max(1) as f64;
    let correlation =
        varies.then(|| Span::from_micros((interval * half_life(&times) / 1e3).round().max(1.0) as u64));
    Some(Delay { percentiles: percentiles.to_vec(), count: times.len(), correlation })
}

/// Returns the distance of values, at least 1, from which on their correlation is below one half.
fn half_life(values: &[f64]) -> f64 {
    let mean = values.iter().sum::<f64>() / values.len() as f64;
    let variance: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    let correlation = |lag: usize| {
        let pairs = values.iter().zip(&values[lag..]);
        pairs.map(|(one, two)| (one - mean) * (two - mean)).sum::<f64>() / variance
    };
    let lags = 1..(values.len() / 2).max(2);
    lags.clone().find(|&lag| correlation(lag) < 0.5).unwrap_or(lags.end - 1) as f64
}

fn median(mut values: Vec<f64>) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied()
}

/// Returns a number with four significant digits.
fn significant(number: f64) -> u64 {
    let step = 10_f64.powi((number.max(1.0).log10().floor() as i32 - 3).max(0));
    ((number / step).round() * step) as u64
}

impl Fitted {
    /// Returns the one-way delay up, and the percentiles of the one-way delay down.
    fn one_way(&self) -> (Span, Vec<(u8, Span)>) {
        let least = self.delay.percentiles.first().map_or(Span::ZERO, |(_, time)| *time);
        let up = Span::from_micros(least.as_nanos() / 2000);
        (up, self.delay.percentiles.iter().map(|(percent, time)| (*percent, *time - up)).collect())
    }

    /// Returns the delay of a direction (0 is up) as a line of a profile.
    fn delay_line(&self, place: usize) -> String {
        let (up, down) = self.one_way();
        let least = down.first().map_or(Span::ZERO, |(_, time)| *time);
        match self.delay.correlation {
            Some(correlation) if place == 1 => {
                let points: Vec<_> =
                    down.iter().map(|(percent, time)| format!("[{percent}, \"{time}\"]")).collect();
                format!(
                    "delay = {{ kind = \"empirical\", correlation = \"{correlation}\", percentiles = [{}] }}\n",
                    points.join(", ")
                )
            }
            _ => format!("delay = \"{}\"\n", if place == 0 { up } else { least }),
        }
    }

    /// Returns the losses of a direction as a line of a profile, which is empty if there are none.
    pub(crate) fn errors_line(&self, place: usize) -> String {
        let Losses { counts, two_state } = &self.ways[place].losses;
        let process = match two_state {
            Some((good, bad)) => {
                format!("{{ good = \"{good}\", bad = \"{bad}\", sojourn = \"exponential\" }}")
            }
            None if counts.lost == 0 => return String::new(),
            None => format!("{{ loss = \"{:.3}%\" }}", counts.share() * 100.0),
        };
        format!("errors = {{ process = {process}, effect = \"lose\" }}\n")
    }

    /// Returns the head of a profile. `source` says which link was recorded, and when.
    pub(crate) fn head(&self, title: &str, source: &str) -> String {
        let mut note = String::new();
        for (name, way) in WAYS.into_iter().zip(&self.ways) {
            let Counts { sent, lost } = way.losses.counts;
            let _ = write!(note, "{name}: {lost} of {sent} packets lost on the idle link");
            if !way.saturated {
                note += ", never saturated: the rate is a lower bound";
            }
            note += "; ";
        }
        let _ = write!(
            note,
            "{} round trips. The delay is split evenly between the directions.",
            self.delay.count
        );
        format!("kind = \"link\"\ntitle = {title:?}\nsource = {source:?}\nnote = {note:?}\n")
    }

    /// Returns the profile as TOML.
    #[must_use]
    pub fn to_profile(&self, title: &str, source: &str) -> String {
        let mut text = self.head(title, source);
        for (place, way) in self.ways.iter().enumerate() {
            let queue = way.queue.map_or("inf".to_owned(), |packets| format!("{packets}p"));
            let _ = write!(text, "\n[{}]\nrate = \"{}\"\nqueue = \"{queue}\"\n", WAYS[place], way.rate);
            text += &self.delay_line(place);
            text += &self.errors_line(place);
        }
        text
    }
}
