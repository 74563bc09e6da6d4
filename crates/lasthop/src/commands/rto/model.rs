//! `lasthop rto model`: runs retransmission timers over a model of a bulk transfer.

use super::arguments::{ModelArguments, settings};
use super::{line, table};
use crate::failure::Failure;
use crate::figure::Figure;
use crate::outputs;
use link::units::{ByteCount, Span};
use serde_json::json;
use std::io::Write;
use timers::Estimate;
use timers::bulk::{Bulk, Regime, check_pipe};

/// The name of a timer, and its estimates at each row.
type Said = (&'static str, Vec<Estimate>);

/// Runs the model and prints the requested output.
pub fn run(arguments: &ModelArguments, output: &mut impl Write) -> Result<(), Failure> {
    outputs::check([arguments.plot.as_ref()])?;
    let service = match (arguments.service_time, arguments.rate, arguments.segment) {
        (_, Some(rate), Some(segment)) => rate.time_for(ByteCount::new(segment.into())),
        (service, ..) => service.unwrap_or(Span::from_secs(1)),
    };
    let regime = if arguments.receiver_limited { Regime::ReceiverLimited } else { Regime::NetworkLimited };
    check_pipe(arguments.load, arguments.pipe)?;
    let bulk = Bulk::new(arguments.load, service.as_secs_f64(), arguments.cycles, regime)?;
    let set = settings(arguments.timers.tick);
    let said: Vec<Said> =
        arguments.timers.kinds.iter().map(|kind| (kind.name(), bulk.run(*kind, set))).collect();
    if arguments.csv {
        rows(&bulk, &said, output)?;
    } else if arguments.json {
        object(arguments, service, &bulk, &said, output)?;
    } else {
        summary(arguments, service, &bulk, &said, output)?;
    }
    match &arguments.plot {
        Some(path) => figure(arguments, service, &bulk, &said).write(path),
        None => Ok(()),
    }
}

fn summary(
    arguments: &ModelArguments,
    service: Span,
    bulk: &Bulk,
    said: &[Said],
    output: &mut impl Write,
) -> Result<(), Failure> {
    let load = arguments.load;
    let loads =
        if arguments.receiver_limited { format!("{load}") } else { format!("{} to {load}", load / 2) };
    let Some(first) = said.first().map(|timer| bulk.last_cycle(&timer.1)) else { return Ok(()) };
    writeln!(
        output,
        "{loads} segments outstanding, service time {service}; cycle {} of {0}: {} acknowledgments,",
        arguments.cycles, first.rows
    )?;
    writeln!(output, "round-trip times {} to {} s", digits(first.least_rtt_s), digits(first.greatest_rtt_s))?;
    let header =
        ["timer", "max RTO", "at load", "min RTO/RTT", "at load", "mean RTO/RTT", "last RTO", "RTO < RTT"];
    let rows = said.iter().map(|(name, estimates)| {
        let of = bulk.last_cycle(estimates);
        vec![
            (*name).to_owned(),
            format!("{} s", digits(of.greatest_rto_s)),
            of.greatest_rto_load.to_string(),
            format!("{:.3}", of.least_ratio),
            of.least_ratio_load.to_string(),
            format!("{:.3}", of.mean_ratio),
            format!("{} s", digits(of.last_rto_s)),
            of.spurious.to_string(),
        ]
    });
    writeln!(output, "{}", table(header.map(str::to_owned).to_vec(), rows.collect()))?;
    Ok(())
}

/// Formats seconds with two decimals, or more if the first of them are zeros.
pub fn digits(seconds: f64) -> String {
    let places = (1.0 - seconds.abs().max(1e-9).log10().floor()).clamp(2.0, 9.0) as usize;
    format!("{seconds:.places$}")
}

fn object(
    arguments: &ModelArguments,
    service: Span,
    bulk: &Bulk,
    said: &[Said],
    output: &mut impl Write,
) -> Result<(), Failure> {
    let timers: Vec<_> = said
        .iter()
        .map(|(name, estimates)| json!({ "timer": name, "last_cycle": bulk.last_cycle(estimates) }))
        .collect();
    let object = json!({
        "load": arguments.load,
        "service_s": service.as_secs_f64(),
        "cycles": arguments.cycles,
        "limited_by": if arguments.receiver_limited { "receiver" } else { "network" },
        "timers": timers,
    });
    writeln!(output, "{object}")?;
    Ok(())
}

/// Prints Ludwig's spreadsheet: a row for each acknowledgment, a block of columns for each timer.
fn rows(bulk: &Bulk, said: &[Said], output: &mut impl Write) -> Result<(), Failure> {
    let mut table = csv::Writer::from_writer(output);
    let mut header = ["row", "time_s", "cycle", "flight", "load", "rtt_s"].map(str::to_owned).to_vec();
    let columns = [
        "delta_s",
        "srtt_s",
        "rttvar_s",
        "rto_unrounded_s",
        "rto_minimum_s",
        "rto_ticks",
        "rto_s",
        "rto_minus_rtt_s",
        "rexmt_s",
    ];
    header.extend(said.iter().flat_map(|(name, _)| columns.map(|column| format!("{name}_{column}"))));
    table.write_record(&header)?;
    for (place, row) in bulk.rows.iter().enumerate() {
        let mut record = vec![row.row.to_string(), row.sample.at_s.to_string()];
        record.extend([row.cycle.to_string(), row.flight.to_string(), row.load.to_string()]);
        record.push(row.sample.rtt_s.to_string());
        for (_, estimates) in said {
            let of = &estimates[place];
            let ticks = of.ticks.map_or_else(String::new, |ticks| ticks.to_string());
            record.extend(
                [of.delta_s, of.srtt_s, of.rttvar_s, of.unrounded_s, of.floored_s].map(|s| s.to_string()),
            );
            record.push(ticks);
            record.extend([of.rto_s, of.rto_s - row.sample.rtt_s, of.rexmt_s].map(|s| s.to_string()));
        }
        table.write_record(&record)?;
    }
    table.flush()?;
    Ok(())
}

fn figure(arguments: &ModelArguments, service: Span, bulk: &Bulk, said: &[Said]) -> Figure {
    let last = bulk.rows.last().map_or(0, |row| row.cycle);
    let first = bulk.rows.partition_point(|row| row.cycle + 1 < last);
    let rows = &bulk.rows[first..];
    let mut lines = vec![line("RTT", true, rows.iter().map(|row| (row.sample.at_s, row.sample.rtt_s)))];
    for (name, estimates) in said {
        let points = rows.iter().zip(&estimates[first..]).map(|(row, of)| (row.sample.at_s, of.rto_s));
        lines.push(line(&format!("RTO, {name}"), true, points));
    }
    Figure {
        title: format!("Load of {} segments, service time {service}: the last two cycles", arguments.load),
        horizontal: "time (s)".to_owned(),
        vertical: "round-trip time, timeout (s)".to_owned(),
        lines,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seconds_have_digits() {
        let cases = [
            (74.889, "74.89"),
            (3937.5, "3937.50"),
            (0.012_345, "0.012"),
            (0.5, "0.50"),
            (0.0, "0.000000000"),
        ];
        for (seconds, text) in cases {
            assert_eq!(digits(seconds), text);
        }
    }
}
