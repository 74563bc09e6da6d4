//! A link layer with retransmissions in one line, as `lasthop link --arq rlp:n2=6` takes it, and
//! what it makes of a link.
//!
//! A link with one is, in each direction, a row of stages with the hop in it: the queue above,
//! which gives the hop one packet ahead of the one that it sends (M15), and whatever else the
//! profile has behind. The rate is the hop's. The error processes and outages go beneath it, on the
//! air, where they hit blocks or frames; so does the delay of a link with LLP, while RLP's circuit
//! has one of its own and the link's delay comes on top.

use super::hop::{HopSpec, LlpHopSpec, Protocol, RlpHopSpec};
use super::rlp::{Parameters, Recovery, Throttle};
use super::{Order, Persistency, Then};
use crate::spec::{BuildError, DirectionSpec, StageSpec};
use crate::stage::bottleneck::{BottleneckSpec, RateSpec};
use crate::stage::delay::{DelaySpec, Law};
use crate::stage::errors::ErrorSpec;
use crate::stage::outage::{OutagePlace, OutageSpec};
use crate::units::{BitRate, Span};
use serde::{Deserialize, Deserializer};
use std::fmt;
use std::str::FromStr;
use vocabulary::Direction;

/// What of the user's data RLP carries: 24 octets every 20 ms, 1200 octets/s (Ludwig 3.2.5).
const RLP_RATE: u64 = 9600;
/// One tick of RLP.
const TICK: Span = Span::from_millis(20);
/// Most frames of RLP outstanding (GSM 04.22).
const RLP_WINDOW: u16 = 61;
/// Most frames of LLP outstanding (ReSoA thesis, Table 10.3).
const LLP_WINDOW: u16 = 32;

/// The protocol and its parameters.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum ArqSpec {
    /// The Radio Link Protocol of GSM data calls.
    Rlp(RlpSpec),
    /// The link layer protocol of the ReSoA thesis.
    Llp(LlpSpec),
}

/// RLP over a circuit.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RlpSpec {
    /// Of both ends.
    pub parameters: Parameters,
    /// From the end of a block's transmission until it is decoded.
    pub delay: Span,
    /// The lines behind both ends, in octets a second, where they are slower than the circuit.
    pub throttle: Option<u32>,
}

/// LLP over a link, whose rates and delays are the link's.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LlpSpec {
    /// Most frames outstanding.
    pub window: u16,
    /// When to stop, and how.
    pub persistency: Persistency,
    /// In which order packets are delivered.
    pub order: Order,
}

/// A link layer that cannot be had as it was written.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct ArqError(String);

/// What a link layer makes of the two directions of a link.
#[derive(Debug, Clone, PartialEq)]
pub struct Rows {
    /// The stages up, the hop among them.
    pub up: DirectionSpec,
    /// The stages down.
    pub down: DirectionSpec,
    /// The hop, with what is on the air.
    pub hop: HopSpec,
}

impl Default for RlpSpec {
    fn default() -> Self {
        let RlpHopSpec { parameters, delay, .. } = RlpHopSpec::default();
        Self { parameters, delay, throttle: None }
    }
}

impl Default for LlpSpec {
    /// Tables 10.3 and 8.2 of the ReSoA thesis.
    fn default() -> Self {
        let persistency = Persistency { retransmissions: Some(255), then: Then::Disconnect };
        Self { window: LLP_WINDOW, persistency, order: Order::InSequence }
    }
}

impl ArqSpec {
    /// The rows of a link with this link layer, whose directions are `up` and `down` without it.
    ///
    /// # Errors
    /// If a direction has what a link layer cannot have beneath it.
    pub fn rows(&self, up: &DirectionSpec, down: &DirectionSpec) -> Result<Rows, BuildError> {
        let split = |direction: Direction, spec: &DirectionSpec| {
            self.split(spec)
                .map_err(|why| BuildError { stage: "arq".to_owned(), why: format!("{direction}: {why}") })
        };
        let ((up, air_up), (down, air_down)) = (split(Direction::Up, up)?, split(Direction::Down, down)?);
        let protocol = match *self {
            Self::Rlp(RlpSpec { parameters, delay, throttle }) => {
                let throttle = throttle.map(|rate| Throttle {
                    rate,
                    // The marks of 960 octets a second, in proportion.
                    low: rate / 2,
                    high: rate / 10 * 13,
                });
                let (throttle_down, throttle_up) = (throttle, throttle);
                Protocol::Rlp(RlpHopSpec { parameters, delay, throttle_down, throttle_up })
            }
            Self::Llp(LlpSpec { window, persistency, order }) => Protocol::Llp(LlpHopSpec {
                rate_up: air_up.rate,
                rate_down: air_down.rate,
                delay_up: air_up.delay,
                delay_down: air_down.delay,
                window,
                persistency,
                order,
            }),
        };
        let hop = HopSpec {
            protocol,
            errors_up: air_up.errors,
            errors_down: air_down.errors,
            outages_up: air_up.outages,
            outages_down: air_down.outages,
        };
        Ok(Rows { up, down, hop })
    }

    /// A direction's row, and what goes on the air.
    fn split(&self, spec: &DirectionSpec) -> Result<(DirectionSpec, Air), String> {
        let mut row = spec.clone();
        let (rate, delay) = match self {
            Self::Rlp(RlpSpec { throttle, .. }) => {
                let octets = throttle.map_or(RLP_RATE, |octets| RLP_RATE.min(u64::from(octets) * 8));
                let rate = BitRate::from_bits_per_second(octets).ok_or("throttle: it must be above 0")?;
                (rate, Span::ZERO)
            }
            Self::Llp(_) => {
                let wanted =
                    "LLP runs at the link's rate: give this direction a constant one, such as rate=9600bit";
                let rate = spec.rate().ok_or(wanted)?;
                let delay = match spec.find("delay") {
                    None => Span::ZERO,
                    Some(StageSpec::Delay(DelaySpec { law: Law::Constant { delay }, .. })) => *delay,
                    Some(_) => {
                        let wanted = "LLP's timers need a constant delay: give this direction one, such as delay=40ms, and no jitter";
                        return Err(wanted.to_owned());
                    }
                };
                row.remove("delay");
                (rate, delay)
            }
        };
        let errors = errors(&row)?;
        row.remove("errors");
        let outages = outages(&mut row);
        let queue = row.stages.iter_mut().find_map(|(_, stage)| match stage {
            StageSpec::Bottleneck(spec) => Some(spec),
            _ => None,
        });
        match queue {
            Some(BottleneckSpec { rate: RateSpec::Mahimahi(..) | RateSpec::Theaterq(..), .. }) => {
                return Err(
                    "a trace of rates and a link layer do not go together: leave one of them out".to_owned()
                );
            }
            Some(spec) => spec.rate = RateSpec::LinkLayer(rate),
            None => {
                let rate = RateSpec::LinkLayer(rate);
                row.put(StageSpec::Bottleneck(BottleneckSpec { rate, ..BottleneckSpec::default() }));
            }
        }
        let queue = row.stages.iter().position(|(_, stage)| stage.kind() == "bottleneck");
        row.stages.insert(queue.map_or(0, |queue| queue + 1), ("arq".to_owned(), StageSpec::Arq(*self)));
        Ok((row, Air { rate, delay, errors, outages }))
    }
}

/// What a direction has beneath its link layer.
struct Air {
    rate: BitRate,
    delay: Span,
    errors: Option<ErrorSpec>,
    outages: Vec<(String, OutageSpec)>,
}

/// Takes the outages out of a row that are on the air. One on command is there without a stage.
fn outages(row: &mut DirectionSpec) -> Vec<(String, OutageSpec)> {
    let mut outages = Vec::new();
    row.stages.retain(|(name, stage)| match stage {
        StageSpec::Outage(spec) if spec.place == OutagePlace::Air => {
            outages.extend((!spec.is_on_command()).then(|| (name.clone(), spec.clone())));
            false
        }
        _ => true,
    });
    outages
}

/// The error process of a direction.
fn errors(spec: &DirectionSpec) -> Result<Option<ErrorSpec>, String> {
    let mut all = spec.stages.iter().filter_map(|(_, stage)| match stage {
        StageSpec::Errors(errors) => Some(errors),
        _ => None,
    });
    let (errors, another) = (all.next(), all.next());
    if another.is_some() {
        return Err("two error processes: a link layer has one of them beneath it".to_owned());
    }
    if let Some(errors) = errors
        && (errors.only.is_some() || !errors.exempt.is_none())
    {
        let why = "the errors choose packets by `only` or `exempt`: beneath a link layer there are none, only blocks";
        return Err(why.to_owned());
    }
    Ok(errors.cloned())
}

/// What all forms are, for errors.
const FORMS: &str = "rlp[:n2=6,t1=480ms,t2=80ms,window=61,delay=100ms,reset|give-up|disconnect,go-back,throttle=960] or llp[:window=32,retries=255,reset|give-up|disconnect,out-of-order]";

impl FromStr for ArqSpec {
    type Err = ArqError;

    fn from_str(text: &str) -> Result<Self, ArqError> {
        let text = text.trim();
        let (protocol, rest) = text.split_once(':').unwrap_or((text, ""));
        let words: Vec<_> = rest.split(',').map(str::trim).filter(|word| !word.is_empty()).collect();
        for (place, word) in words.iter().enumerate() {
            if let Some(former) = words[..place].iter().find(|former| subject(former) == subject(word)) {
                return Err(wrong(text, &format!("`{former}` and `{word}`: leave one out")));
            }
        }
        match protocol {
            "rlp" => {
                let mut spec = RlpSpec::default();
                words.into_iter().try_for_each(|word| spec.read(word)).map_err(|why| wrong(text, &why))?;
                Ok(Self::Rlp(spec))
            }
            "llp" => {
                let mut spec = LlpSpec::default();
                words.into_iter().try_for_each(|word| spec.read(word)).map_err(|why| wrong(text, &why))?;
                Ok(Self::Llp(spec))
            }
            other => Err(ArqError(format!("`{other}` is no link layer: say {FORMS}"))),
        }
    }
}

/// What a parameter is about: one of each subject can be given.
fn subject(word: &str) -> &str {
    match word.split_once('=') {
        Some((name, _)) => name.trim(),
        None if matches!(word, "go-back" | "selective") => "recovery",
        None if matches!(word, "out-of-order" | "in-order") => "order",
        None => "then",
    }
}

fn wrong(text: &str, why: &str) -> ArqError {
    ArqError(format!("`{text}`: {why}"))
}

impl RlpSpec {
    /// What a packet of 40 octets takes at most from the queue's end to the other end without
    /// errors: it waits for a block, and needs two.
    #[must_use]
    pub fn least_way(&self) -> Span {
        TICK * 3 + self.delay
    }

    /// Takes one parameter.
    fn read(&mut self, word: &str) -> Result<(), String> {
        let parameters = &mut self.parameters;
        match word.split_once('=') {
            Some(("n2", value)) => parameters.persistency.retransmissions = times("n2", value)?,
            Some(("t1", value)) => parameters.t1_ticks = ticks("t1", value)?,
            Some(("t2", value)) => parameters.t2_ticks = ticks("t2", value)?,
            Some(("window", value)) => {
                let window = window(value, RLP_WINDOW)?;
                (parameters.send_window, parameters.receive_window) = (window, window);
            }
            Some(("delay", value)) => self.delay = finite(value)?,
            Some(("throttle", value)) => {
                let rate = value.parse().ok().filter(|rate| (10..=100_000).contains(rate));
                let rate = rate
                    .ok_or_else(|| format!("throttle={value}: octets a second, 10 to 100000, such as 960"))?;
                self.throttle = Some(rate);
            }
            None if word == "go-back" => parameters.recovery = Recovery::GoBack,
            None if word == "selective" => parameters.recovery = Recovery::Selective,
            _ => parameters.persistency.then = then(word)?,
        }
        Ok(())
    }
}

impl LlpSpec {
    /// Takes one parameter.
    fn read(&mut self, word: &str) -> Result<(), String> {
        match word.split_once('=') {
            Some(("window", value)) => self.window = window(value, LLP_WINDOW)?,
            Some(("retries", value)) => self.persistency.retransmissions = times("retries", value)?,
            None if word == "out-of-order" => self.order = Order::AsReceived,
            None if word == "in-order" => self.order = Order::InSequence,
            _ => self.persistency.then = then(word)?,
        }
        Ok(())
    }
}

fn times(name: &str, value: &str) -> Result<Option<u16>, String> {
    if value == "inf" {
        return Ok(None);
    }
    let times = value.parse().ok().filter(|times| (1..=255).contains(times));
    times.map(Some).ok_or_else(|| format!("{name}={value}: how often a frame is sent again, 1 to 255 or inf"))
}

fn window(value: &str, most: u16) -> Result<u16, String> {
    let window = value.parse().ok().filter(|window| (1..=most).contains(window));
    window.ok_or_else(|| format!("window={value}: frames outstanding, 1 to {most}"))
}

/// A time of RLP, which counts in blocks.
fn ticks(name: &str, value: &str) -> Result<u16, String> {
    let span: Span = value.parse().map_err(|error| format!("{name}: {error}"))?;
    let ticks = span.as_nanos() / TICK.as_nanos();
    let whole = span.as_nanos().is_multiple_of(TICK.as_nanos()) && (1..=1000).contains(&ticks);
    if whole { Ok(ticks as u16) } else { Err(format!("{name}={value}: a multiple of 20ms, up to 20s")) }
}

fn finite(value: &str) -> Result<Span, String> {
    let span: Span = value.parse().map_err(|error| format!("delay: {error}"))?;
    let usable = span <= Span::from_secs(60);
    if usable { Ok(span) } else { Err(format!("delay={value}: at most 60s")) }
}

fn then(word: &str) -> Result<Then, String> {
    match word {
        "reset" => Ok(Then::Reset),
        "give-up" => Ok(Then::GiveUp),
        "disconnect" => Ok(Then::Disconnect),
        _ => Err(format!("`{word}` is no parameter: say {FORMS}")),
    }
}

/// The word of what happens after the last retransmission.
const fn word(then: Then) -> &'static str {
    match then {
        Then::Reset => "reset",
        Then::GiveUp => "give-up",
        Then::Disconnect => "disconnect",
    }
}

impl fmt::Display for Persistency {
    /// As in `n2=6,reset`, from behind the `=`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.retransmissions {
            Some(times) => write!(f, "{times},{}", word(self.then)),
            None => write!(f, "inf,{}", word(self.then)),
        }
    }
}

impl fmt::Display for ArqSpec {
    /// In full, and such that it reads back the same.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Rlp(RlpSpec { parameters, delay, throttle }) => {
                let Parameters { send_window, t1_ticks, t2_ticks, persistency, recovery, .. } = parameters;
                let (t1, t2) = (TICK * u64::from(*t1_ticks), TICK * u64::from(*t2_ticks));
                write!(f, "rlp:n2={persistency},t1={t1},t2={t2},window={send_window},delay={delay}")?;
                if *recovery == Recovery::GoBack {
                    f.write_str(",go-back")?;
                }
                if let Some(throttle) = throttle {
                    write!(f, ",throttle={throttle}")?;
                }
                Ok(())
            }
            Self::Llp(LlpSpec { window, persistency, order }) => {
                write!(f, "llp:window={window},retries={persistency}")?;
                if *order == Order::AsReceived { f.write_str(",out-of-order") } else { Ok(()) }
            }
        }
    }
}

impl<'de> Deserialize<'de> for ArqSpec {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests;
