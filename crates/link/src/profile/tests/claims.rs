//! Tests that the stages of each built-in profile reproduce the statements of its source.
//!
//! `profiles/README.md` defines the quantities. Each is measured on the built pipelines alone, from
//! packets that were delivered or lost. A measurement has a sampling error. A claim holds if its
//! value, plus or minus its tolerance, meets the interval of four standard errors around the
//! measured value. The interval must be short, and twice the claimed value must fail; otherwise the
//! test could not detect an error.

use super::*;
use crate::link::LinkSink;
use crate::packet::Packet;
use crate::pipeline::{Pipeline, Sink};
use crate::seed::Seed;
use crate::units::{Span, Time, UnitError};
use ::packet::{Frame, Layer};
use std::collections::BTreeSet;
use std::path::Path;
use std::str::FromStr;
use vocabulary::{ChannelState, Loss};

/// Defines one test for each profile, and the list of all of them.
macro_rules! profiles {
    ($($test:ident $name:literal)*) => {
        const TESTED: &[&str] = &[$($name,)*];
        $(#[test] fn $test() { claims_of($name); })*
    };
}

profiles! {
    geo "geo" gsm "gsm" gsm_rlp "gsm-rlp" lite_0 "lite-0" lite_1 "lite-1" lite_2 "lite-2" lite_3 "lite-3" lite_4 "lite-4" lite_5 "lite-5"
    lite_6 "lite-6" lora "lora" lossy_wifi "lossy-wifi" lte "lte" ltcp "ltcp" ltcp_lossy "ltcp-lossy"
    starlink "starlink" umts "umts" wifi_b "wifi-b"
}

/// Number of packets in a long measurement.
const MANY: u64 = 1_000_000;
/// Gap at which no packet waits for another; not a multiple of any tick.
const WIDE: Span = Span::from_millis(997);
/// Gap at which delays are independent: more than four times any correlation time.
const INDEPENDENT: Span = Span::from_millis(60_997);
/// Number of bursts for a mean.
const BURSTS: usize = 10_000;
/// Standard errors on each side. 1 in 16 000 measurements lies outside, and the seed is fixed.
const SIGMAS: f64 = 4.0;

#[test]
fn every_file_is_built_in_and_tested() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../profiles");
    let files: BTreeSet<String> = std::fs::read_dir(folder)
        .expect("the profiles")
        .map(|entry| entry.expect("an entry").file_name().into_string().expect("UTF-8"))
        .filter(|name| Path::new(name).extension().is_some_and(|ending| ending == "toml"))
        .collect();
    let built_in: Vec<String> = builtin().map(|(name, _)| name.to_owned()).collect();
    assert_eq!(built_in.iter().cloned().collect::<BTreeSet<_>>(), files);
    assert_eq!(built_in.len(), files.len(), "one of them twice");
    let tested: BTreeSet<String> = TESTED.iter().map(|name| format!("{name}.toml")).collect();
    assert_eq!(tested, files);
}

#[test]
fn the_readme_lists_every_profile() {
    let readme = include_str!("../../../../../profiles/README.md");
    for (file, _) in builtin() {
        let row = format!("| `{}` |", file.trim_end_matches(".toml"));
        assert!(readme.contains(&row), "profiles/README.md has no row {row}");
    }
}

#[test]
fn a_quantity_that_nobody_knows_fails() {
    let claim = Claim {
        quantity: "colour".to_owned(),
        direction: Some("down".to_owned()),
        percentile: None,
        bytes: None,
        value: "1ms".to_owned(),
        tolerance: None,
        source: "nowhere".to_owned(),
    };
    assert_eq!(measure(&named("umts"), &claim).map(|_| ()), Err("unknown quantity `colour`".to_owned()));
}

fn claims_of(name: &str) {
    let profile = named(name);
    assert_eq!(profile.name, name);
    assert!(!profile.title.trim().is_empty(), "no title");
    // Author or organisation, title and place need more than a few characters.
    assert!(profile.source.trim().len() > 40, "source: {}", profile.source);
    assert!(!profile.claims.is_empty(), "no claims: no source, no profile");
    for claim in &profile.claims {
        assert!(!claim.source.trim().is_empty(), "{claim:?} does not say where");
        let measured = measure(&profile, claim).unwrap_or_else(|why| panic!("{claim:?}: {why}"));
        let (value, tolerance) = claimed(claim).unwrap_or_else(|error| panic!("{claim:?}: {error}"));
        assert!(
            measured.holds(value, tolerance),
            "{claim:?}: claimed {value} ± {tolerance}, found {measured:?}"
        );
        let wrong = if value == 0.0 { 0.01 } else { 2.0 * value };
        assert!(!measured.holds(wrong, tolerance), "{claim:?} holds whatever is claimed: {measured:?}");
        assert!(
            measured.high - measured.low <= 0.3 * value,
            "{claim:?} is not measured well enough: {measured:?}"
        );
    }
}

/// An interval that contains the quantity, in its base unit: bit/s, s or a share.
#[derive(Debug, Clone, Copy)]
struct Measured {
    low: f64,
    high: f64,
}

impl Measured {
    fn exactly(value: f64) -> Self {
        Self { low: value, high: value }
    }

    fn mean(values: &[f64]) -> Self {
        let count = values.len() as f64;
        let mean = values.iter().sum::<f64>() / count;
        let variance = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / (count - 1.0);
        let error = SIGMAS * (variance / count).sqrt();
        Self { low: mean - error, high: mean + error }
    }

    /// Returns the order statistics that enclose the percentile, for any distribution.
    fn percentile(mut values: Vec<f64>, percentile: f64) -> Self {
        values.sort_by(f64::total_cmp);
        let (count, share) = (values.len() as f64, percentile / 100.0);
        let error = SIGMAS * (count * share * (1.0 - share)).sqrt();
        let at = |rank: f64| values[rank.clamp(0.0, count - 1.0) as usize];
        Self { low: at(count * share - error), high: at(count * share + error) }
    }

    fn holds(self, value: f64, tolerance: f64) -> bool {
        // A value computed from exact times may have a rounding error.
        let tolerance = tolerance + 1e-9 * value;
        value + tolerance >= self.low && value - tolerance <= self.high
    }
}

/// Returns the value of a claim and its tolerance, in the base unit.
fn claimed(claim: &Claim) -> Result<(f64, f64), UnitError> {
    let read = |text: &str| match claim.quantity.as_str() {
        "rate" | "goodput" => BitRate::from_str(text).map(|rate| rate.as_bits_per_second() as f64),
        "loss" => Probability::from_str(text).map(Probability::get),
        _ => Span::from_str(text).map(Span::as_secs_f64),
    };
    let value = read(&claim.value)?;
    if value == 0.0 {
        // Zero is exact: half a unit of tolerance does not apply.
        return Ok((0.0, 0.0));
    }
    let tolerance = if let Some(share) = claim.tolerance {
        share.get() * value
    } else {
        let unit = claim.value.trim_start_matches(|c: char| c.is_ascii_digit() || c == '.');
        let number = claim.value.strip_suffix(unit).unwrap_or_default();
        let places = number.split_once('.').map_or(0, |(_, places)| places.len());
        0.5 * 10_f64.powf(-(places as f64)) * read(&format!("1{unit}"))?
    };
    Ok((value, tolerance))
}

/// Measures the quantity of a claim.
fn measure(profile: &Profile, claim: &Claim) -> Result<Measured, String> {
    let link = link_of(profile);
    let direction = match (claim.direction.as_deref(), claim.quantity.as_str()) {
        (Some(_), "round-trip") => return Err("a round trip has both directions".to_owned()),
        (None, "round-trip") | (Some("down"), _) => Direction::Down,
        (Some("up"), _) => Direction::Up,
        (other, _) => return Err(format!("direction {other:?} is none")),
    };
    match (claim.quantity.as_str(), claim.bytes) {
        ("transmission", Some(_)) | ("goodput", _) | (_, None) => {}
        _ => return Err("`bytes` belong to transmission and goodput, and to nothing else".to_owned()),
    }
    let of = |direction: Direction| {
        let seed = Seed::campaign(4).link(&profile.name).direction(direction);
        let pipeline = link.direction(direction).build(&seed).unwrap_or_else(|error| panic!("{error}"));
        Flow { pipeline, seen: Seen::default() }
    };
    let mtu = usize::from(link.mtu.unwrap_or(1500));
    let distribution = |values: Vec<f64>| match claim.percentile {
        Some(percentile) => Measured::percentile(values, percentile),
        None => Measured::mean(&values),
    };
    if claim.percentile.is_some() && !matches!(claim.quantity.as_str(), "delay" | "round-trip") {
        return Err(format!("there is no percentile of `{}`", claim.quantity));
    }
    match claim.quantity.as_str() {
        "rate" if link.arq.is_some() => Ok(Measured::exactly(rate_of_hop(&link, direction, mtu))),
        "rate" => Ok(Measured::exactly(rate(|| of(direction), mtu))),
        "goodput" if direction == Direction::Up => Err("goodput is that of a transfer down".to_owned()),
        "goodput" => {
            let got = super::goodput::measured(&link, &profile.name, claim.bytes);
            println!(
                "{}: {:.5} Mbit/s, mean delay {:.1} ms, {} timeouts",
                profile.name,
                got.goodput / 1e6,
                got.delay * 1e3,
                got.timeouts
            );
            Ok(Measured::exactly(got.goodput))
        }
        "transmission" => {
            let bytes = claim.bytes.ok_or("of how many bytes?")?;
            Ok(Measured::exactly(of(direction).sending_time(1, bytes as usize)))
        }
        "delay" => Ok(distribution(of(direction).delays())),
        "round-trip" => {
            let (down, up) = (of(Direction::Down).delays(), of(Direction::Up).delays());
            Ok(distribution(down.iter().zip(&up).map(|(down, up)| down + up).collect()))
        }
        "loss" => Ok(of(direction).losses()),
        "burst" => Ok(of(direction).bursts()),
        other => Err(format!("unknown quantity `{other}`")),
    }
}

/// Returns the rate at which bytes leave. The limiter's overhead for each packet cancels out
/// between long and short packets.
fn rate(flow: impl Fn() -> Flow, mtu: usize) -> f64 {
    const IN_A_ROW: usize = 8;
    let (long, short) = (mtu, 40);
    let seconds = flow().sending_time(IN_A_ROW, long) - flow().sending_time(IN_A_ROW, short);
    (8 * IN_A_ROW * (long - short)) as f64 / seconds
}

/// Returns the same for a link with a link layer, which must be driven in both directions. Packets
/// arrive one second after the start of the link.
fn rate_of_hop(link: &LinkProfile, direction: Direction, mtu: usize) -> f64 {
    const IN_A_ROW: usize = 8;
    let seconds = |bytes: usize| {
        let mut link = link.build(&Seed::campaign(4)).expect("a link");
        let (mut seen, start) = (Both::default(), Time::ZERO + Span::from_secs(1));
        for _ in 0..IN_A_ROW {
            link.accept(direction, Frame::owned(Layer::Ip, vec![0; bytes]), start, &mut seen);
        }
        link.advance(start + Span::from_secs(60), &mut seen);
        assert_eq!(seen.0.len(), IN_A_ROW);
        seen.0.last().expect("packets").since(start).as_secs_f64()
    };
    (8 * IN_A_ROW * (mtu - 40)) as f64 / (seconds(mtu) - seconds(40))
}

/// Times of delivery, of both directions.
#[derive(Default)]
struct Both(Vec<Time>);

impl LinkSink for Both {
    fn delivered(&mut self, _: Direction, packet: Packet) {
        self.0.push(packet.at);
    }

    fn lost(&mut self, _: Direction, packet: Packet) {
        panic!("{packet:?} is lost");
    }
}

/// Packets sent through one direction.
struct Flow {
    pipeline: Pipeline,
    seen: Seen,
}

/// Packets that left the direction.
#[derive(Default)]
struct Seen {
    delivered: Vec<Packet>,
    lost: Vec<Packet>,
}

impl Sink for Seen {
    fn delivered(&mut self, packet: Packet) {
        self.delivered.push(packet);
    }

    fn lost(&mut self, packet: Packet) {
        self.lost.push(packet);
    }
}

impl Flow {
    fn send(&mut self, bytes: usize, now: Time) {
        self.pipeline.accept(Frame::owned(Layer::Ip, vec![0; bytes]), now, &mut self.seen);
    }

    /// Returns the seconds that the limiter needs for `count` packets that arrive together.
    fn sending_time(mut self, count: usize, bytes: usize) -> f64 {
        for _ in 0..count {
            self.send(bytes, Time::ZERO);
        }
        self.pipeline.advance(Time::ZERO + Span::from_secs(3600), &mut self.seen);
        // Errors are behind the limiter, so it has also sent the lost packets.
        let packets = || self.seen.delivered.iter().chain(&self.seen.lost);
        assert_eq!(packets().count(), count);
        let start = packets().map(|packet| packet.sending.start).min().expect("packets");
        let end = packets().map(|packet| packet.sending.end).max().expect("packets");
        assert_eq!(start, Time::ZERO);
        end.since(start).as_secs_f64()
    }

    /// Returns the seconds from the end of the transmission to the far end, for packets far apart.
    fn delays(mut self) -> Vec<f64> {
        let mut delays = Vec::new();
        let mut now = Time::ZERO;
        for _ in 0..MANY {
            now += INDEPENDENT;
            self.send(40, now);
            let delivered = self.seen.delivered.drain(..);
            delays.extend(delivered.map(|packet| packet.at.since(packet.sending.end).as_secs_f64()));
        }
        delays
    }

    /// Returns the loss rate of a constant flow. Neighbours depend on each other, so the error is
    /// computed from parts of the flow.
    fn losses(mut self) -> Measured {
        const PARTS: u64 = 100;
        let mut now = Time::ZERO;
        let shares: Vec<f64> = (0..PARTS)
            .map(|_| {
                for _ in 0..MANY / PARTS {
                    now += WIDE;
                    self.send(40, now);
                    self.seen.delivered.clear();
                }
                let lost = std::mem::take(&mut self.seen.lost);
                assert!(lost.iter().all(|packet| packet.loss() != Some(Loss::QueueFull)));
                lost.len() as f64 / (MANY / PARTS) as f64
            })
            .collect();
        Measured::mean(&shares)
    }

    /// Returns the mean time in the bad state, in steps of half a tick of TCP Lite's processes.
    fn bursts(mut self) -> Measured {
        const STEP: Span = Span::from_millis(5);
        let mut now = Time::from_nanos(STEP.as_nanos() / 2);
        let (mut bursts, mut length, mut since_good) = (Vec::new(), 0_u64, false);
        while bursts.len() < BURSTS {
            self.send(0, now);
            now += STEP;
            let packet = self.seen.delivered.pop().or_else(|| self.seen.lost.pop()).expect("passes at once");
            match packet.channel.expect("an error process") {
                ChannelState::Bad => length += 1,
                ChannelState::Good => {
                    // The first burst may have begun before the flow.
                    if length > 0 && since_good {
                        bursts.push((STEP * length).as_secs_f64());
                    }
                    (length, since_good) = (0, true);
                }
            }
        }
        Measured::mean(&bursts)
    }
}
