//! `lasthop rto capture`: runs retransmission timers over measured round-trip times.

use super::arguments::{CaptureArguments, settings};
use super::model::digits;
use super::overlay::Overlay;
use super::{line, table};
use crate::commands::analyze::progress::Progress;
use crate::failure::Failure;
use crate::figure::Figure;
use crate::outputs;
use capture_analysis::analysis::{self, Analysis, AnalysisOptions, Watch};
use capture_analysis::connection::Seen;
use packet::Segment;
use serde_json::json;
use std::collections::BTreeMap;
use std::io::Write;
use timers::{Followed, Sample, follow};

/// Number of the interface, connection counted from 0, and half.
type Place = (usize, usize, usize);

/// Collects samples while a capture is read.
struct Gathering<'a> {
    progress: Progress,
    arguments: &'a CaptureArguments,
    found: BTreeMap<Place, Vec<Sample>>,
    /// Time of the first sample of each direction, in nanoseconds since 1970.
    begun: BTreeMap<Place, u64>,
}

/// One direction of a connection, with the estimates of the timers.
struct Direction {
    interface: String,
    connection: usize,
    name: &'static str,
    from: String,
    to: String,
    samples: Vec<Sample>,
    timers: Vec<Followed>,
}

impl Watch for Gathering<'_> {
    fn segment(&mut self, interface: &Analysis, connection: usize, _: &Segment, time: u64, seen: &Seen) {
        let wanted = self.arguments.connection.is_none_or(|number| number as usize == connection + 1);
        let Some(trip) = seen.ack.and_then(|ack| ack.round_trip).filter(|_| wanted) else { return };
        // The other half sends the data that is acknowledged.
        let place = (interface.number, connection, 1 - seen.half);
        let begun = *self.begun.entry(place).or_insert(time);
        self.found.entry(place).or_default().push(Sample {
            at_s: time.saturating_sub(begun) as f64 / 1e9,
            rtt_s: trip.nanos as f64 / 1e9,
            flight: trip.outstanding as f64,
        });
    }

    fn progress(&mut self, at: u64, packets: u64) -> bool {
        self.progress.progress(at, packets)
    }
}

/// Reads the capture and prints the requested output.
pub fn run(arguments: &CaptureArguments, output: &mut impl Write) -> Result<(), Failure> {
    outputs::check([arguments.plot.as_ref()])?;
    let directions = read(arguments)?;
    if directions.is_empty() {
        let name = arguments.file.display();
        return Err(format!(
            "{name}: no round-trip time found: the capture needs TCP data and its acknowledgments, taken at the sending end"
        )
        .into());
    }
    if arguments.csv {
        rows(&directions, output)?;
    } else if arguments.json {
        objects(arguments, &directions, output)?;
    } else {
        text(arguments, &directions, output)?;
    }
    let Some((path, direction)) = arguments.plot.as_ref().zip(most(&directions)) else { return Ok(()) };
    match direction.overlay(arguments)? {
        Some(overlay) => overlay.figure(direction.title()).write(path),
        None => figure(direction).write(path),
    }
}

/// Returns the direction with the most round-trip times.
fn most(directions: &[Direction]) -> Option<&Direction> {
    directions.iter().max_by_key(|direction| direction.samples.len())
}

fn read(arguments: &CaptureArguments) -> Result<Vec<Direction>, Failure> {
    let options = AnalysisOptions { interface: arguments.interface.clone(), ..AnalysisOptions::default() };
    let progress = Progress::new(&arguments.file);
    let mut gathering = Gathering { progress, arguments, found: BTreeMap::new(), begun: BTreeMap::new() };
    let trace = analysis::read(&arguments.file, &options, &mut gathering)?;
    let set = settings(arguments.timers.tick);
    let mut directions = Vec::new();
    for ((interface, connection, half), samples) in gathering.found {
        let Some(analysis) = trace.interfaces.iter().find(|analysis| analysis.number == interface) else {
            continue;
        };
        let of = &analysis.connections.all()[connection];
        let timers = arguments.timers.kinds.iter().filter_map(|kind| follow(*kind, set, &samples));
        directions.push(Direction {
            interface: analysis.title(),
            connection: connection + 1,
            name: if half == 0 { "a2b" } else { "b2a" },
            from: of.end(half).to_string(),
            to: of.end(1 - half).to_string(),
            timers: timers.collect(),
            samples,
        });
    }
    Ok(directions)
}

impl Direction {
    /// Returns the overlay of the model, if requested.
    fn overlay(&self, arguments: &CaptureArguments) -> Result<Option<Overlay<'_>>, Failure> {
        let set = settings(arguments.timers.tick);
        arguments.model.then(|| Overlay::new(&self.samples, &self.timers, set)).transpose()
    }

    fn title(&self) -> String {
        let Self { connection, name, from, to, .. } = self;
        format!("Connection {connection} {name}, {from} to {to}")
    }

    /// Returns the minimum, mean and maximum round-trip time, in seconds.
    fn round_trips(&self) -> [f64; 3] {
        let rtts = || self.samples.iter().map(|sample| sample.rtt_s);
        let mean = rtts().sum::<f64>() / self.samples.len() as f64;
        [rtts().fold(f64::INFINITY, f64::min), mean, rtts().fold(0.0, f64::max)]
    }
}

fn text(
    arguments: &CaptureArguments,
    directions: &[Direction],
    output: &mut impl Write,
) -> Result<(), Failure> {
    for (place, direction) in directions.iter().enumerate() {
        let Direction { interface, connection, name, from, to, samples, timers } = direction;
        if place > 0 {
            writeln!(output)?;
        }
        let [least, mean, greatest] = direction.round_trips().map(digits);
        writeln!(output, "interface {interface}, connection {connection} {name}: {from} to {to}")?;
        writeln!(
            output,
            "{} round-trip times: min {least} s, mean {mean} s, max {greatest} s",
            samples.len()
        )?;
        let header = ["timer", "max RTO", "mean RTO", "min RTO/RTT", "mean RTO/RTT", "RTO < RTT", "share"];
        let rows = timers.iter().map(|of| {
            let ratio =
                |ratio: Option<f64>| ratio.map_or_else(|| "–".to_owned(), |ratio| format!("{ratio:.3}"));
            vec![
                of.timer.name().to_owned(),
                format!("{} s", digits(of.greatest_rto_s)),
                format!("{} s", digits(of.mean_rto_s)),
                ratio(of.least_ratio),
                ratio(of.mean_ratio),
                of.spurious.to_string(),
                format!("{:.2} %", 100.0 * of.spurious as f64 / of.samples as f64),
            ]
        });
        writeln!(output, "{}", table(header.map(str::to_owned).to_vec(), rows.collect()))?;
    }
    if let Some(overlay) = most(directions).and_then(|direction| direction.overlay(arguments).transpose()) {
        overlay?.text(output)?;
    }
    Ok(())
}

fn objects(
    arguments: &CaptureArguments,
    directions: &[Direction],
    output: &mut impl Write,
) -> Result<(), Failure> {
    for direction in directions {
        let [least, mean, greatest] = direction.round_trips();
        let mut object = json!({
            "file": arguments.file.display().to_string(),
            "interface": direction.interface,
            "connection": direction.connection,
            "direction": direction.name,
            "from": direction.from,
            "to": direction.to,
            "samples": direction.samples.len(),
            "least_rtt_s": least,
            "mean_rtt_s": mean,
            "greatest_rtt_s": greatest,
            "timers": direction.timers,
        });
        if most(directions).is_some_and(|of| std::ptr::eq(of, direction))
            && let Some(overlay) = direction.overlay(arguments)?
        {
            object["model"] = overlay.object();
        }
        writeln!(output, "{object}")?;
    }
    Ok(())
}

fn rows(directions: &[Direction], output: &mut impl Write) -> Result<(), Failure> {
    let mut table = csv::Writer::from_writer(output);
    let mut header: Vec<String> =
        ["interface", "connection", "direction", "time_s", "rtt_s", "flight"].map(str::to_owned).to_vec();
    if let Some(direction) = directions.first() {
        header.extend(direction.timers.iter().map(|of| format!("{}_rto_s", of.timer.name())));
    }
    table.write_record(&header)?;
    for direction in directions {
        for (place, sample) in direction.samples.iter().enumerate() {
            let mut record = vec![direction.interface.clone(), direction.connection.to_string()];
            record.push(direction.name.to_owned());
            record.extend([sample.at_s, sample.rtt_s, sample.flight].map(|value| value.to_string()));
            record.extend(direction.timers.iter().map(|of| of.estimates[place].rto_s.to_string()));
            table.write_record(&record)?;
        }
    }
    table.flush()?;
    Ok(())
}

fn figure(direction: &Direction) -> Figure {
    let Direction { samples, timers, .. } = direction;
    let mut lines = vec![line("RTT", false, samples.iter().map(|sample| (sample.at_s, sample.rtt_s)))];
    for of in timers {
        let points = samples.iter().zip(&of.estimates).map(|(sample, of)| (sample.at_s, of.rto_s));
        lines.push(line(&format!("RTO, {}", of.timer.name()), true, points));
    }
    Figure {
        title: direction.title(),
        horizontal: "time since the first round-trip time (s)".to_owned(),
        vertical: "round-trip time, timeout (s)".to_owned(),
        lines,
    }
}
