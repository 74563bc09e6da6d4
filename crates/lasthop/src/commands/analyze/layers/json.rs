//! A view and the utilization of its link as one JSON object.

use super::text;
use capture_analysis::layers::Tracing;
use capture_analysis::layers::cause::Waiting;
use capture_analysis::layers::graph::View;
use capture_analysis::layers::idle::Hold;
use capture_analysis::layers::sender::Timings;
use capture_analysis::layers::utilization::Use;
use capture_analysis::spurious::utilization::Period;
use serde::Serialize;
use std::io::{self, Write};
use std::net::SocketAddr;

#[derive(Serialize)]
struct Line<'a> {
    from: SocketAddr,
    to: SocketAddr,
    connection: usize,
    sender_side: &'a str,
    receiver_side: Option<&'a str>,
    below: Option<&'a str>,
    syn_delay_ns: Option<i64>,
    clocks: Option<Clocks>,
    link: Option<Utilization>,
    timings: &'a Timings,
    view: &'a View,
}

#[derive(Serialize)]
struct Clocks {
    offset_ns: f64,
    drift: f64,
    error_ns: f64,
}

/// Utilization of a link.
#[derive(Serialize)]
pub struct Utilization {
    #[serde(flatten)]
    period: Period,
    #[serde(rename = "utilization")]
    share: Option<f64>,
    /// Main cause if the utilization is 95 % or less.
    flagged: Option<String>,
    octets: u64,
    spurious_octets: u64,
    /// Idle phases, in times since the connection's first packet.
    idle: Vec<Phase>,
    held: Vec<Gap>,
}

#[derive(Serialize)]
struct Phase {
    from_ns: u64,
    to_ns: u64,
    /// Length of the part within the period.
    length_ns: u64,
    waiting: Waiting,
}

#[derive(Serialize)]
struct Gap {
    from_ns: u64,
    to_ns: u64,
    hold: Option<Hold>,
}

/// Prints the object.
pub fn print(output: &mut impl Write, tracing: &Tracing) -> io::Result<()> {
    let examined = &tracing.examined;
    let line = Line {
        from: examined.ends.from,
        to: examined.ends.to,
        connection: examined.connection,
        sender_side: &examined.sender,
        receiver_side: examined.receiver.as_deref(),
        below: tracing.below.as_deref(),
        syn_delay_ns: tracing.syn_delay_ns,
        clocks: tracing.clocks.map(|clocks| Clocks {
            offset_ns: clocks.offset_ns,
            drift: clocks.drift,
            error_ns: clocks.error_ns,
        }),
        link: tracing.used.as_ref().map(Utilization::from),
        timings: &tracing.timings,
        view: &tracing.view,
    };
    serde_json::to_writer(&mut *output, &line).map_err(io::Error::from)?;
    output.write_all(b"\n")
}

impl From<&Use> for Utilization {
    fn from(used: &Use) -> Self {
        let since = |time: u64| time.saturating_sub(used.from);
        Self {
            period: used.period,
            share: used.period.utilization(),
            flagged: text::flag(used),
            octets: used.octets,
            spurious_octets: used.spurious_octets,
            idle: used
                .idle
                .iter()
                .map(|phase| Phase {
                    from_ns: since(phase.from),
                    to_ns: since(phase.to),
                    length_ns: phase.length_ns,
                    waiting: phase.waiting,
                })
                .collect(),
            held: used
                .held
                .iter()
                .map(|gap| Gap { from_ns: since(gap.from), to_ns: since(gap.to), hold: gap.held })
                .collect(),
        }
    }
}
