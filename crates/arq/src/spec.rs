//! A link layer with retransmissions in one line, as for `lasthop link --arq rlp:n2=6`.

use super::hop::RlpHopSpec;
use super::rlp::{Parameters, Recovery};
use super::{Order, Persistency, Then};
use serde::{Deserialize, Deserializer};
use std::fmt;
use std::str::FromStr;
use vocabulary::units::Span;

/// Length of a tick of RLP.
const TICK: Span = Span::from_millis(20);
/// Maximum number of outstanding RLP frames (GSM 04.22).
const RLP_WINDOW: u16 = 61;
/// Maximum number of outstanding LLP frames (ReSoA thesis, Table 10.3).
const LLP_WINDOW: u16 = 32;

/// A protocol with its parameters.
#[derive(Debug, Clone, Copy, PartialEq, borsh::BorshSerialize, borsh::BorshDeserialize)]
pub enum ArqSpec {
    /// The Radio Link Protocol of GSM data calls.
    Rlp(RlpSpec),
    /// The link layer protocol of the ReSoA thesis.
    Llp(LlpSpec),
}

/// RLP over a circuit.
#[derive(Debug, Clone, Copy, PartialEq, borsh::BorshSerialize, borsh::BorshDeserialize)]
pub struct RlpSpec {
    /// Parameters of both ends.
    pub parameters: Parameters,
    /// Time from the end of a block's transmission until it is decoded.
    pub delay: Span,
    /// Rate of the lines behind both ends, in octets a second. `None` if they are as fast as the
    /// circuit.
    pub throttle: Option<u32>,
}

/// LLP over a link. Rates and delays are those of the link.
#[derive(Debug, Clone, Copy, PartialEq, borsh::BorshSerialize, borsh::BorshDeserialize)]
pub struct LlpSpec {
    /// Maximum number of outstanding frames.
    pub window: u16,
    /// Limit of retransmissions, and the action when it is reached.
    pub persistency: Persistency,
    /// Order in which packets are delivered.
    pub order: Order,
}

/// Why a text specifies no link layer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct ArqError(String);

impl Default for RlpSpec {
    fn default() -> Self {
        let RlpHopSpec { parameters, delay, .. } = RlpHopSpec::default();
        Self { parameters, delay, throttle: None }
    }
}

impl Default for LlpSpec {
    /// Returns the values of Tables 10.3 and 8.2 of the ReSoA thesis.
    fn default() -> Self {
        let persistency = Persistency { retransmissions: Some(255), then: Then::Disconnect };
        Self { window: LLP_WINDOW, persistency, order: Order::InSequence }
    }
}

/// All valid forms, for errors.
const FORMS: &str = "rlp[:n2=6,t1=480ms,t2=80ms,window=61,delay=100ms,reset|give-up|disconnect,go-back,throttle=960] or llp[:window=32,retries=255,reset|give-up|disconnect,out-of-order]";

impl FromStr for ArqSpec {
    type Err = ArqError;

    fn from_str(text: &str) -> Result<Self, ArqError> {
        let text = text.trim();
        let (protocol, rest) = text.split_once(':').unwrap_or((text, ""));
        let words: Vec<_> = rest.split(',').map(str::trim).filter(|word| !word.is_empty()).collect();
        for (place, word) in words.iter().enumerate() {
            if let Some(former) = words[..place].iter().find(|former| subject(former) == subject(word)) {
                return Err(wrong(text, &format!("`{former}` and `{word}` exclude each other: remove one")));
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
            other => Err(ArqError(format!("there is no link layer `{other}`: use {FORMS}"))),
        }
    }
}

/// Returns the subject of a parameter. A specification may have one parameter of each subject.
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
    /// Returns the longest time that a packet of 40 octets takes from the end of the queue to the
    /// other end without errors: it waits for a block, and needs two.
    #[must_use]
    pub fn least_way(&self) -> Span {
        TICK * 3 + self.delay
    }

    /// Parses one parameter.
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
                let rate = rate.ok_or_else(|| {
                    format!("throttle={value}: expected 10 to 100000 octets per second, such as 960")
                })?;
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
    /// Parses one parameter.
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
    times
        .map(Some)
        .ok_or_else(|| format!("{name}={value}: expected a number of retransmissions, 1 to 255 or inf"))
}

fn window(value: &str, most: u16) -> Result<u16, String> {
    let window = value.parse().ok().filter(|window| (1..=most).contains(window));
    window.ok_or_else(|| format!("window={value}: expected 1 to {most} outstanding frames"))
}

/// Parses a time of RLP, which must be a whole number of ticks.
fn ticks(name: &str, value: &str) -> Result<u16, String> {
    let span: Span = value.parse().map_err(|error| format!("{name}: {error}"))?;
    let ticks = span.as_nanos() / TICK.as_nanos();
    let whole = span.as_nanos().is_multiple_of(TICK.as_nanos()) && (1..=1000).contains(&ticks);
    if whole {
        Ok(ticks as u16)
    } else {
        Err(format!("{name}={value}: expected a multiple of 20ms, up to 20s"))
    }
}

fn finite(value: &str) -> Result<Span, String> {
    let span: Span = value.parse().map_err(|error| format!("delay: {error}"))?;
    let usable = span <= Span::from_secs(60);
    if usable { Ok(span) } else { Err(format!("delay={value}: expected at most 60s")) }
}

fn then(word: &str) -> Result<Then, String> {
    match word {
        "reset" => Ok(Then::Reset),
        "give-up" => Ok(Then::GiveUp),
        "disconnect" => Ok(Then::Disconnect),
        _ => Err(format!("there is no parameter `{word}`: use {FORMS}")),
    }
}

/// Returns the word for an action.
const fn word(then: Then) -> &'static str {
    match then {
        Then::Reset => "reset",
        Then::GiveUp => "give-up",
        Then::Disconnect => "disconnect",
    }
}

impl fmt::Display for Persistency {
    /// Writes the part after `=` in `n2=6,reset`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.retransmissions {
            Some(times) => write!(f, "{times},{}", word(self.then)),
            None => write!(f, "inf,{}", word(self.then)),
        }
    }
}

impl fmt::Display for ArqSpec {
    /// Writes all parameters. The text reads back as the same value.
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
