//! Building the workloads of a cell.

use super::{Fields, PlanError};
use crate::plan::error::unknown;
use crate::plan::file::WorkloadFile;
use crate::plan::text::Text;
use crate::scenario::Scenario;
use crate::workload::sessions::Law;
use crate::workload::{Amount, Traffic, Workload, ping};
use link::nearest::nearest;
use link::units::{BitRate, ByteCount, Span};

/// Default size of a request (resoa-evaluation 2.6).
const REQUEST: ByteCount = ByteCount::new(100);
/// Default spread of the lengths of sessions, and the largest: with more, few sessions carry
/// everything (resoa-evaluation 9, item 16).
const SIGMA: (f64, f64) = (1.5, 5.0);
/// Default application data of a datagram.
const DATAGRAM: ByteCount = ByteCount::new(1000);
/// Default data and interval of echo requests: those of the program `ping`.
const ECHO: (ByteCount, Span) = (ByteCount::new(56), Span::from_secs(1));

pub fn build(
    fields: &Fields<'_>,
    files: &[WorkloadFile],
    scenario: &Scenario,
) -> Result<Vec<Workload>, PlanError> {
    let mut workloads: Vec<Workload> = Vec::new();
    for file in files {
        let name = fields.text(&file.name)?;
        if name.is_empty() || name.contains(['/', '\0']) {
            return Err(fields.wrong(
                &file.name,
                format!("`{name}` is not a valid workload name: it becomes a part of file names, so it must not be empty or contain `/`"),
            ));
        }
        if workloads.iter().any(|known| known.name == name) {
            return Err(fields.wrong(&file.name, format!("there are two workloads `{name}`")));
        }
        let kind = One { fields, file, scenario }.kind()?;
        let crosses = matches!(kind, Traffic::Sessions { .. });
        workloads.push(Workload {
            name,
            start: fields.parsed_or(file.start.as_ref(), Span::ZERO)?,
            background: fields.parsed_or(file.background.as_ref(), crosses)?,
            kind,
        });
    }
    if workloads.is_empty() {
        return Err(fields.wrong_somewhere("there are no workloads: add `[[workloads]]`"));
    }
    Ok(workloads)
}

/// One workload of the plan file.
struct One<'a> {
    fields: &'a Fields<'a>,
    file: &'a WorkloadFile,
    scenario: &'a Scenario,
}

impl One<'_> {
    fn kind(&self) -> Result<Traffic, PlanError> {
        let (fields, file) = (self.fields, self.file);
        let kind = fields.text(&file.kind)?;
        match kind.as_str() {
            "bulk" => {
                self.takes(&kind, &["from", "to", "bytes", "duration", "connections", "congestion-control"])?;
                Ok(Traffic::Bulk {
                    from: self.node("from", file.from.as_ref())?,
                    to: self.node("to", file.to.as_ref())?,
                    amount: self.amount()?,
                    connections: self.connections()?,
                    congestion_control: self.congestion_control()?,
                })
            }
            "request" => {
                let own = [
                    "from",
                    "to",
                    "request",
                    "response",
                    "times",
                    "pause",
                    "connections",
                    "congestion-control",
                    "fast-open",
                ];
                self.takes(&kind, &own)?;
                Ok(Traffic::Request {
                    client: self.node("from", file.from.as_ref())?,
                    server: self.node("to", file.to.as_ref())?,
                    request: fields.parsed_or(file.request.as_ref(), REQUEST)?,
                    response: fields.parsed(self.needed("response", file.response.as_ref())?)?,
                    times: fields.parsed_or(file.times.as_ref(), 1)?,
                    pause: fields.parsed_or(file.pause.as_ref(), Span::ZERO)?,
                    connections: self.connections()?,
                    congestion_control: self.congestion_control()?,
                    fast_open: fields.parsed_or(file.fast_open.as_ref(), false)?,
                })
            }
            "sessions" => {
                let own = [
                    "from",
                    "to",
                    "sources",
                    "rate",
                    "interval",
                    "bytes",
                    "sigma",
                    "duration",
                    "congestion-control",
                ];
                self.takes(&kind, &own)?;
                let sources = fields.parsed_or(file.sources.as_ref(), 1)?;
                Ok(Traffic::Sessions {
                    from: self.node("from", file.from.as_ref())?,
                    to: self.node("to", file.to.as_ref())?,
                    sources,
                    law: self.law(sources)?,
                    duration: file.duration.as_ref().map(|text| fields.parsed(text)).transpose()?,
                    congestion_control: self.congestion_control()?,
                })
            }
            "datagrams" => {
                self.takes(&kind, &["from", "to", "rate", "size", "duration", "on", "off"])?;
                Ok(Traffic::Datagrams {
                    from: self.node("from", file.from.as_ref())?,
                    to: self.node("to", file.to.as_ref())?,
                    rate: fields.parsed(self.needed("rate", file.rate.as_ref())?)?,
                    size: self.datagram()?,
                    duration: file.duration.as_ref().map(|text| fields.parsed(text)).transpose()?,
                    on_off: self.on_off()?,
                })
            }
            "ping" => {
                self.takes(&kind, &["from", "to", "size", "interval", "duration"])?;
                Ok(Traffic::Ping {
                    from: self.node("from", file.from.as_ref())?,
                    to: self.node("to", file.to.as_ref())?,
                    size: self.echo()?,
                    interval: self.interval()?,
                    duration: file.duration.as_ref().map(|text| fields.parsed(text)).transpose()?,
                })
            }
            "command" => {
                self.takes(&kind, &["node", "command", "listens"])?;
                Ok(Traffic::Command {
                    node: self.node("node", file.node.as_ref())?,
                    line: self.command()?,
                    listens: file.listens.as_ref().map(|text| fields.parsed(text)).transpose()?,
                })
            }
            other => Err(fields.wrong(&file.kind, unknown("kind of workload", other, Traffic::NAMES))),
        }
    }

    /// Refuses fields of the file that this kind of workload does not have.
    fn takes(&self, kind: &str, own: &[&str]) -> Result<(), PlanError> {
        let file = self.file;
        let all = [
            ("from", &file.from),
            ("to", &file.to),
            ("bytes", &file.bytes),
            ("duration", &file.duration),
            ("connections", &file.connections),
            ("congestion-control", &file.congestion_control),
            ("request", &file.request),
            ("response", &file.response),
            ("times", &file.times),
            ("pause", &file.pause),
            ("sources", &file.sources),
            ("sigma", &file.sigma),
            ("rate", &file.rate),
            ("size", &file.size),
            ("on", &file.on),
            ("off", &file.off),
            ("interval", &file.interval),
            ("node", &file.node),
            ("command", &file.command),
            ("listens", &file.listens),
        ];
        for (name, text) in all {
            if let Some(text) = text.as_ref().filter(|_| !own.contains(&name)) {
                let hint =
                    nearest(name, own.iter().copied()).map(|word| format!(" (did you mean `{word}`?)"));
                let own = own.join("`, `");
                let hint = hint.unwrap_or_default();
                return Err(self.fields.wrong(
                    text,
                    format!("a {kind} workload has no field `{name}`{hint}: its fields are `{own}`"),
                ));
            }
        }
        Ok(())
    }

    fn needed<'b>(&self, name: &str, text: Option<&'b Text>) -> Result<&'b Text, PlanError> {
        text.ok_or_else(|| {
            let kind = &self.file.kind;
            self.fields.wrong(kind, format!("a {} workload needs `{name}`", kind.value))
        })
    }

    fn node(&self, field: &str, text: Option<&Text>) -> Result<usize, PlanError> {
        let text = self.needed(field, text)?;
        let name = self.fields.text(text)?;
        let known = self.scenario.nodes.iter().map(|node| node.name.as_str());
        self.scenario.node(&name).ok_or_else(|| self.fields.wrong(text, unknown("node", &name, known)))
    }

    fn amount(&self) -> Result<Amount, PlanError> {
        match (&self.file.bytes, &self.file.duration) {
            (Some(bytes), None) => Ok(Amount::Bytes(self.fields.parsed(bytes)?)),
            (None, Some(time)) => Ok(Amount::Time(self.fields.parsed(time)?)),
            (Some(bytes), Some(_)) => {
                Err(self.fields.wrong(bytes, "`bytes` and `duration` exclude each other: remove one of them"))
            }
            (None, None) => self.needed("bytes", None).map(|_| unreachable!("there is none")),
        }
    }

    fn connections(&self) -> Result<u32, PlanError> {
        let Some(text) = &self.file.connections else { return Ok(1) };
        match self.fields.parsed(text)? {
            0 => Err(self.fields.wrong(text, "`connections` is 0: use at least 1")),
            more => Ok(more),
        }
    }

    fn congestion_control(&self) -> Result<Option<String>, PlanError> {
        self.file.congestion_control.as_ref().map(|text| self.fields.text(text)).transpose()
    }

    /// Reads the law of the sessions of each source.
    fn law(&self, sources: u32) -> Result<Law, PlanError> {
        let (fields, file) = (self.fields, self.file);
        let bytes = self.needed("bytes", file.bytes.as_ref())?;
        let mean: ByteCount = fields.parsed(bytes)?;
        if mean.get() == 0 {
            return Err(fields.wrong(bytes, "`bytes` is 0: a session has a mean length of at least 1B"));
        }
        let interval = match (&file.rate, &file.interval) {
            (Some(rate), Some(_)) => {
                let message = "`rate` and `interval` exclude each other: remove one of them";
                return Err(fields.wrong(rate, message));
            }
            (None, Some(interval)) => fields.parsed(interval)?,
            (rate, None) => {
                let rate: BitRate = fields.parsed(self.needed("rate", rate.as_ref())?)?;
                rate.time_for(mean) * u64::from(sources)
            }
        };
        if let (Some(text), Span::ZERO) = (&file.interval, interval) {
            return Err(fields.wrong(text, "`interval` is 0: use at least 1ns, usually 1s"));
        }
        let (usual, most) = SIGMA;
        let sigma: f64 = fields.parsed_or(file.sigma.as_ref(), usual)?;
        match &file.sigma {
            Some(text) if !(0.0..=most).contains(&sigma) => {
                Err(fields.wrong(text, format!("invalid `sigma` {sigma}: expected 0 to {most}")))
            }
            _ => Ok(Law { interval, mean, sigma }),
        }
    }

    fn datagram(&self) -> Result<ByteCount, PlanError> {
        let size = self.fields.parsed_or(self.file.size.as_ref(), DATAGRAM)?;
        match &self.file.size {
            // From the size of a number and a time to what fits into a UDP datagram over IPv4.
            Some(text) if !(16..=65_507).contains(&size.get()) => Err(self
                .fields
                .wrong(text, format!("invalid datagram size {size}: expected 16 to 65507 bytes"))),
            _ => Ok(size),
        }
    }

    fn echo(&self) -> Result<ByteCount, PlanError> {
        let size = self.fields.parsed_or(self.file.size.as_ref(), ECHO.0)?;
        match &self.file.size {
            Some(text) if !(ping::LEAST..=ping::MOST).contains(&size.get()) => {
                let (least, most) = (ping::LEAST, ping::MOST);
                Err(self.fields.wrong(
                    text,
                    format!("invalid size {size} of echo requests: expected {least} to {most} bytes of data"),
                ))
            }
            _ => Ok(size),
        }
    }

    fn interval(&self) -> Result<Span, PlanError> {
        let Some(text) = &self.file.interval else { return Ok(ECHO.1) };
        match self.fields.parsed(text)? {
            Span::ZERO => Err(self.fields.wrong(text, "`interval` is 0: use at least 1ns, usually 1s")),
            interval => Ok(interval),
        }
    }

    fn on_off(&self) -> Result<Option<(Span, Span)>, PlanError> {
        match (&self.file.on, &self.file.off) {
            (None, None) => Ok(None),
            (Some(on), Some(off)) => match self.fields.parsed(on)? {
                Span::ZERO => {
                    Err(self.fields.wrong(on, "`on` is 0, so nothing would be sent: use at least 1ns"))
                }
                mean => Ok(Some((mean, self.fields.parsed(off)?))),
            },
            (Some(one), None) | (None, Some(one)) => Err(self.fields.wrong(
                one,
                "`on` and `off` must be given together: they are the mean times of sending and of silence",
            )),
        }
    }

    fn command(&self) -> Result<String, PlanError> {
        let text = self.needed("command", self.file.command.as_ref())?;
        let fields = self.fields;
        fields.text_with(text, &|name| {
            let scenario = self.scenario;
            let node = |name: &str| scenario.node(name);
            if name == "plan-folder" {
                return Some(fields.folder().to_string_lossy().into_owned());
            }
            let address = name.strip_prefix("address.").and_then(node);
            address.map(|node| scenario.tcp_address(node).to_string()).or_else(|| {
                let node = name.strip_prefix("address6.").and_then(node)?;
                Some(scenario.nodes[scenario.tcp_at(node)].address6().to_string())
            })
        })
    }
}
