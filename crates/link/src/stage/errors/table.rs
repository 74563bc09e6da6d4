//! Notation of a process in a profile: one flat table whose fields determine the process.

use super::extent::{Extent, Packets};
use super::list::PacketList;
use super::process::{ProcessSpec, StateErrors};
use super::two_state::{Form, Sojourn, Start, TwoState};
use crate::stage::spec::{FromFile, SpecError};
use crate::units::{BitErrorRatio, ByteCount, Probability, Span};
use serde::{Deserialize, Serialize};

/// All fields of all processes.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct Table {
    #[serde(skip_serializing_if = "Option::is_none")]
    evolves_in: Option<Axis>,
    #[serde(skip_serializing_if = "Option::is_none")]
    loss: Option<Probability>,
    #[serde(skip_serializing_if = "Option::is_none")]
    burst: Option<Amount>,
    #[serde(skip_serializing_if = "Option::is_none")]
    good: Option<Amount>,
    #[serde(skip_serializing_if = "Option::is_none")]
    bad: Option<Amount>,
    #[serde(skip_serializing_if = "Option::is_none")]
    p: Option<Probability>,
    #[serde(skip_serializing_if = "Option::is_none")]
    q: Option<Probability>,
    #[serde(skip_serializing_if = "Option::is_none")]
    sojourn: Option<Sojourn>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tick: Option<Amount>,
    #[serde(skip_serializing_if = "Option::is_none")]
    start: Option<Start>,
    #[serde(skip_serializing_if = "Option::is_none")]
    ber: Option<BitErrorRatio>,
    #[serde(skip_serializing_if = "Option::is_none")]
    ber_good: Option<BitErrorRatio>,
    #[serde(skip_serializing_if = "Option::is_none")]
    ber_bad: Option<BitErrorRatio>,
    #[serde(skip_serializing_if = "Option::is_none")]
    packets: Option<PacketList>,
    #[serde(skip_serializing_if = "Option::is_none")]
    trace: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    blocks: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    repeat: Option<Span>,
}

/// Quantity in which two states evolve.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Axis {
    Time,
    Bytes,
    Packets,
}

/// A time, a number of bytes or a number of packets. The quantity is known only with the whole
/// table.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(untagged, expecting = "a text such as \"30ms\", \"1500B\" or \"2.5\"")]
enum Amount {
    Text(String),
    Number(f64),
}

impl Amount {
    fn text(&self) -> String {
        match self {
            Self::Text(text) => text.clone(),
            Self::Number(number) => number.to_string(),
        }
    }

    fn read<U: Extent>(&self, field: &'static str) -> Result<U, TableError> {
        self.text().parse().map_err(|error: U::Err| TableError::Amount { field, error: error.to_string() })
    }
}

/// Error of a table that is not a process.
#[derive(Debug, thiserror::Error)]
pub(super) enum TableError {
    #[error("{field}: {error}")]
    Amount { field: &'static str, error: String },
    #[error("{field} cannot be combined with {other}: {}", FORMS)]
    Mixed { field: &'static str, other: &'static str },
    #[error("{field} needs {other}: {}", FORMS)]
    Lonely { field: &'static str, other: &'static str },
    #[error("no field selects packets: {}", FORMS)]
    Empty,
    #[error(transparent)]
    Spec(#[from] SpecError),
}

const FORMS: &str = "give `loss`, `ber`, `packets`, `trace` or `blocks`; or, for two states, `good` and `bad`, `loss` and `burst`, or \
                     `p` and `q`";

impl Table {
    /// Returns the names of the fields that are present.
    fn present(&self) -> Vec<&'static str> {
        let all = [
            ("evolves-in", self.evolves_in.is_some()),
            ("loss", self.loss.is_some()),
            ("burst", self.burst.is_some()),
            ("good", self.good.is_some()),
            ("bad", self.bad.is_some()),
            ("p", self.p.is_some()),
            ("q", self.q.is_some()),
            ("sojourn", self.sojourn.is_some()),
            ("tick", self.tick.is_some()),
            ("start", self.start.is_some()),
            ("ber", self.ber.is_some()),
            ("ber-good", self.ber_good.is_some()),
            ("ber-bad", self.ber_bad.is_some()),
            ("packets", self.packets.is_some()),
            ("trace", self.trace.is_some()),
            ("blocks", self.blocks.is_some()),
            ("repeat", self.repeat.is_some()),
        ];
        all.into_iter().filter(|field| field.1).map(|field| field.0).collect()
    }

    /// Refuses every field that is neither `field` nor in `with`.
    fn only(&self, field: &'static str, with: &[&'static str]) -> Result<(), TableError> {
        match self.present().into_iter().find(|other| *other != field && !with.contains(other)) {
            Some(other) => Err(TableError::Mixed { field: other, other: field }),
            None => Ok(()),
        }
    }

    fn process(self) -> Result<ProcessSpec, TableError> {
        if let Some(packets) = self.packets.clone() {
            self.only("packets", &[])?;
            return Ok(ProcessSpec::Listed { packets });
        }
        if let Some(file) = self.trace.clone() {
            self.only("trace", &["repeat"])?;
            return Ok(ProcessSpec::Trace { file: FromFile::named(file), repeat: self.repeat });
        }
        if let Some(file) = self.blocks.clone() {
            self.only("blocks", &["tick"])?;
            let tick = self.tick.as_ref().map(|tick| tick.read("tick")).transpose()?;
            return Ok(ProcessSpec::Blocks { file: FromFile::named(file), tick });
        }
        if self.repeat.is_some() {
            return Err(TableError::Lonely { field: "repeat", other: "trace" });
        }
        if let Some(ber) = self.ber {
            self.only("ber", &[])?;
            return Ok(ProcessSpec::Bits { ber });
        }
        if let (Some(loss), ["loss"]) = (self.loss, &self.present()[..]) {
            return Ok(ProcessSpec::Packets { loss });
        }
        match self.evolves_in.unwrap_or(Axis::Time) {
            Axis::Time => Ok(ProcessSpec::InTime { channel: self.channel()?, errors: self.errors()? }),
            Axis::Bytes => Ok(ProcessSpec::InBytes { channel: self.channel()?, errors: self.errors()? }),
            Axis::Packets => match self.errors()? {
                None => Ok(ProcessSpec::InPackets { channel: self.channel()? }),
                Some(_) => Err(TableError::Mixed { field: "ber-bad", other: "evolves-in = \"packets\"" }),
            },
        }
    }

    fn channel<U: Extent>(&self) -> Result<TwoState<U>, TableError> {
        let common = ["evolves-in", "sojourn", "tick", "start", "ber-good", "ber-bad"];
        let only = |field, other| {
            self.only(field, &[&common[..], &[other]].concat())?;
            if self.present().contains(&other) { Ok(()) } else { Err(TableError::Lonely { field, other }) }
        };
        let form = if let Some(burst) = &self.burst {
            only("burst", "loss")?;
            Form::Bursts { loss: self.loss.unwrap_or_default(), burst: burst.read("burst")? }
        } else if let Some(good) = &self.good {
            only("good", "bad")?;
            let bad = self.bad.as_ref().map_or_else(|| Ok(U::from_units(0.0)), |bad| bad.read("bad"))?;
            Form::Sojourns { good: good.read("good")?, bad }
        } else if let Some(p) = self.p {
            only("p", "q")?;
            Form::Transitions { p, q: self.q.unwrap_or_default() }
        } else {
            let lonely = |field, other| Err(TableError::Lonely { field, other });
            return match self.present().first() {
                Some(&"bad") => lonely("bad", "good"),
                Some(&"q") => lonely("q", "p"),
                Some(_) if self.loss.is_some() => {
                    only("loss", "burst")?;
                    lonely("loss", "burst")
                }
                Some(&field) => lonely(field, "two states"),
                None => Err(TableError::Empty),
            };
        };
        let tick = self.tick.as_ref().map(|tick| tick.read("tick")).transpose()?;
        let sojourn = self.sojourn.unwrap_or(U::SOJOURN);
        Ok(TwoState::with(form, sojourn, tick, self.start.unwrap_or_default())?)
    }

    fn errors(&self) -> Result<Option<StateErrors>, TableError> {
        match (self.ber_good, self.ber_bad) {
            (None, None) => Ok(None),
            (good, Some(bad)) => Ok(Some(StateErrors { good: good.unwrap_or_default(), bad })),
            (Some(_), None) => Err(TableError::Lonely { field: "ber-good", other: "ber-bad" }),
        }
    }

    fn states<U: Extent>(axis: Axis, channel: &TwoState<U>, errors: Option<StateErrors>) -> Self {
        let text = |amount: U| Some(Amount::Text(amount.to_string()));
        let mut table = Self {
            evolves_in: (axis != Axis::Time).then_some(axis),
            sojourn: U::CHOICE.then_some(channel.sojourn()),
            tick: channel.tick().filter(|_| U::CHOICE).and_then(text),
            start: (channel.start() != Start::default()).then_some(channel.start()),
            ber_good: errors.map(|errors| errors.good),
            ber_bad: errors.map(|errors| errors.bad),
            ..Self::default()
        };
        match channel.form() {
            Form::Sojourns { good, bad } => (table.good, table.bad) = (text(good), text(bad)),
            Form::Bursts { loss, burst } => (table.loss, table.burst) = (Some(loss), text(burst)),
            Form::Transitions { p, q } => (table.p, table.q) = (Some(p), Some(q)),
        }
        table
    }
}

impl TryFrom<Table> for ProcessSpec {
    type Error = TableError;

    fn try_from(table: Table) -> Result<Self, TableError> {
        table.process()
    }
}

impl From<ProcessSpec> for Table {
    fn from(process: ProcessSpec) -> Self {
        match process {
            ProcessSpec::Packets { loss } => Self { loss: Some(loss), ..Self::default() },
            ProcessSpec::Bits { ber } => Self { ber: Some(ber), ..Self::default() },
            ProcessSpec::InTime { channel, errors } => Self::states::<Span>(Axis::Time, &channel, errors),
            ProcessSpec::InBytes { channel, errors } => {
                Self::states::<ByteCount>(Axis::Bytes, &channel, errors)
            }
            ProcessSpec::InPackets { channel } => Self::states::<Packets>(Axis::Packets, &channel, None),
            ProcessSpec::Listed { packets } => Self { packets: Some(packets), ..Self::default() },
            ProcessSpec::Blocks { file, tick } => Self {
                blocks: Some(file.name().to_owned()),
                tick: tick.map(|tick| Amount::Text(tick.to_string())),
                ..Self::default()
            },
            ProcessSpec::Trace { file, repeat } => {
                Self { trace: Some(file.name().to_owned()), repeat, ..Self::default() }
            }
        }
    }
}
