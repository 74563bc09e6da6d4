//! `lasthop fit`: derives a loss profile from a loss trace.

use crate::commands::retracer::reading;
use crate::failure::Failure;
use clap::Args;
use link::blocks::Format;
use link::fit::{self, ErasureTrace, Fit};
use link::units::Span;
use std::path::PathBuf;

/// Arguments of `lasthop fit`.
#[derive(Debug, Args)]
#[command(after_help = "\
FILE is text, or the event log of a link (FILE.parquet). Each line of text has a time and 0
(arrived) or 1 (lost). With --block the text is a sequence of such digits, one for each block of
that duration. A trace with a header, as `lasthop retracer` makes and reads it, needs no --block.

The profile goes to standard output. Its confidence intervals, and whether a two-state model fits,
go to standard error.

Examples:
  lasthop fit --block 20ms frames.txt > mine.toml
  lasthop link --loss ./mine.toml --profile umts -- bash
  lasthop fit A.blocks > a.toml
  lasthop fit --direction down x.parquet")]
pub struct FitArguments {
    /// Loss trace or event log; `-` is standard input
    pub file: PathBuf,
    /// Duration of each block, if FILE is a sequence of blocks without gaps
    #[arg(long, value_name = "TIME")]
    pub block: Option<Span>,
    /// Direction of an event log
    #[arg(long, value_name = "up|down", default_value = "down", value_parser = ["up", "down"])]
    pub direction: String,
}

/// Reads the trace, fits a profile and prints it.
pub fn run(arguments: &FitArguments) -> Result<i32, Failure> {
    let name = arguments.file.display().to_string();
    let trace = if arguments.file.extension().is_some_and(|ending| ending == "parquet") {
        from_events(arguments)?
    } else {
        let text = reading::text(&arguments.file)?;
        match (arguments.block, Format::of(&text)) {
            (None, None) => ErasureTrace::parse_packets(&name, &text)?,
            (block, _) => reading::of_text(&name, &text, block)?.into(),
        }
    };
    let block = match &trace {
        ErasureTrace::Blocks { block, .. } => Some(*block),
        ErasureTrace::Packets(_) => None,
    };
    let fit = fit::two_state(&trace).map_err(|error| format!("{name}: {error}"))?;
    anstream::eprintln!("{fit}");
    anstream::print!("{}", profile(&name, &fit, block));
    Ok(0)
}

/// Reads the packets that reached the error stage, at the time when they left the limiter. Packets
/// lost to a queue or an outage are left out, because they say nothing about errors.
fn from_events(arguments: &FitArguments) -> Result<ErasureTrace, Failure> {
    let mut packets = Vec::new();
    for fate in capture::fates::Reader::open(&arguments.file)? {
        let fate = fate?;
        let lost = match fate.lost {
            None => false,
            Some(capture::Reason::Known(capture::Loss::Error | capture::Loss::Listed)) => true,
            Some(_) => continue,
        };
        if fate.direction.name() == arguments.direction && !fate.copy {
            packets.push((fate.sending.end, lost));
        }
    }
    packets.sort_unstable();
    // Two packets at the same time meet the same state.
    packets.dedup_by_key(|(time, _)| *time);
    Ok(ErasureTrace::Packets(packets))
}

/// Returns the profile as TOML; `block` is the duration of the trace's blocks, if it has blocks.
fn profile(name: &str, fit: &Fit, block: Option<Span>) -> String {
    let sojourn = match block {
        Some(tick) => format!("sojourn = \"geometric\", tick = \"{tick}\""),
        None => "sojourn = \"exponential\"".to_owned(),
    };
    let Fit { lost, count, good, bad, .. } = fit;
    format!(
        "kind = \"loss\"\n\
         title = {title:?}\n\
         source = \"lasthop fit: {lost} of {count} lost\"\n\n\
         [errors]\n\
         process = {{ good = \"{}\", bad = \"{}\", {sojourn} }}\n\
         effect = \"lose\"\n",
        good.value,
        bad.value,
        title = format!("Fitted to {name}"),
    )
}
