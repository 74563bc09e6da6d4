//! Directories of runs as a table: a line for each run with its link utilization, which marks
//! inefficient runs (LL-16).

use super::inputs::Inputs;
use super::json::Utilization;
use super::{name, text, trace};
use crate::commands::analyze::arguments::AnalyzeArguments;
use crate::failure::Failure;
use capture_analysis::layers::Tracing;
use serde::Serialize;
use std::io::{self, BufWriter, StdoutLock, Write};
use std::path::{Path, PathBuf};

#[derive(Serialize)]
struct Line<'a> {
    run: &'a str,
    from: std::net::SocketAddr,
    to: std::net::SocketAddr,
    below: Option<&'a str>,
    /// Bytes per second: the slope of `TcpRcv_Data`.
    throughput: Option<f64>,
    link: Option<Utilization>,
}

/// Prints the table, or an object for each run.
pub fn print(
    arguments: &AnalyzeArguments,
    output: &mut BufWriter<StdoutLock<'static>>,
) -> Result<(), Failure> {
    let mut captures = Vec::new();
    for folder in &arguments.files {
        let found = captures_of(folder)?;
        if found.is_empty() {
            return Err(format!(
                "no captures in `{0}` or `{0}/captures`: give --layers captures, or the run directory of a campaign that kept its captures \
                 (`[capture] keep = \"all\"`)",
                folder.display()
            )
            .into());
        }
        captures.extend(found);
    }
    if !arguments.json {
        writeln!(
            output,
            "{:<24} {:<14} {:>10} {:>9} {:>8} {:>9}  {:>9}  inefficient",
            "run", "link", "T [s]", "U [%]", "idle [%]", "spur. [%]", "TCP [B/s]"
        )?;
    }
    let (mut counted, mut flagged) = (0, 0);
    for path in &captures {
        let tracing = match Inputs::read(arguments, std::slice::from_ref(path))
            .and_then(|inputs| trace(arguments, &inputs))
        {
            Ok((tracing, _)) => tracing,
            // A run without a connection does not prevent the others from being shown.
            Err(error) => {
                anstream::eprintln!("lasthop: {error}");
                continue;
            }
        };
        if arguments.json {
            json(output, path, &tracing)?;
        } else {
            line(output, path, &tracing)?;
        }
        let used = tracing.used.as_ref();
        counted += usize::from(used.is_some());
        flagged += usize::from(used.is_some_and(|used| used.period.flagged().is_some()));
    }
    if !arguments.json {
        writeln!(output, "{flagged} of {counted} with a utilization of 95 % or less")?;
    }
    Ok(())
}

fn line(output: &mut impl Write, path: &Path, tracing: &Tracing) -> io::Result<()> {
    let run = name(path);
    let run = run.strip_suffix(".pcapng").unwrap_or(&run);
    let below = tracing.below.as_deref().unwrap_or("-");
    let throughput = throughput(tracing).map_or("-".to_owned(), |slope| format!("{slope:.0}"));
    let known = tracing.used.as_ref().and_then(|used| Some((used, used.period.utilization()?)));
    let Some((used, utilization)) = known else {
        return writeln!(
            output,
            "{run:<24} {below:<14} {:>10} {:>9} {:>8} {:>9}  {throughput:>9}",
            "-", "-", "-", "-"
        );
    };
    let percent = |nanos: u64| 100.0 * nanos as f64 / used.period.length_ns as f64;
    writeln!(
        output,
        "{run:<24} {below:<14} {:>10.3} {:>9.2} {:>8.2} {:>9.2}  {throughput:>9}  {}",
        used.period.length_ns as f64 / 1e9,
        100.0 * utilization,
        percent(used.period.idle_ns),
        percent(used.period.spurious_ns),
        text::flag(used).unwrap_or_default()
    )
}

fn json(output: &mut impl Write, path: &Path, tracing: &Tracing) -> io::Result<()> {
    let line = Line {
        run: &path.display().to_string(),
        from: tracing.examined.ends.from,
        to: tracing.examined.ends.to,
        below: tracing.below.as_deref(),
        throughput: throughput(tracing),
        link: tracing.used.as_ref().map(Utilization::from),
    };
    serde_json::to_writer(&mut *output, &line).map_err(io::Error::from)?;
    output.write_all(b"\n")
}

fn throughput(tracing: &Tracing) -> Option<f64> {
    let line = tracing.view.regressions.iter().find(|line| line.label == "TcpRcv_Data")?;
    Some(line.slope)
}

/// Returns the captures of a directory or of its subdirectory `captures`, in the order of their
/// names.
fn captures_of(folder: &Path) -> Result<Vec<PathBuf>, Failure> {
    let inner = folder.join("captures");
    let folder = if inner.is_dir() { &inner } else { folder };
    let failed = |error: io::Error| format!("cannot read {}: {error}", folder.display());
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(failed)? {
        let path = entry.map_err(failed)?.path();
        // A monitor's record of blocks is a capture too, but has no TCP.
        let is_capture =
            path.extension().is_some_and(|extension| extension == "pcapng" || extension == "pcap");
        if is_capture && !name(&path).contains("-rlp") {
            found.push(path);
        }
    }
    found.sort();
    Ok(found)
}
