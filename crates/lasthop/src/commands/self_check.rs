//! `lasthop self-check`: compares the emulator's measured behaviour with the requested values.
//!
//! Each measurement has a link of its own between two private namespaces ([`bench_link`]) and sends
//! UDP over it ([`flow`]). Results are measured from outside, at the sockets, wherever possible.
//! Only changes to bytes and the lateness of packets are observed from inside ([`watch`]).
//! Randomness comes from the seed alone; the times of packets depend on this machine.

mod bench_link;
mod flow;
mod measurements;
mod row;
mod sojourns;
mod statistics;
mod watch;

use crate::arguments::SelfCheckArguments;
use crate::failure::Failure;
use crate::notice::Notice;
use crate::outputs;
use bench_link::{BenchLink, Remains};
use comfy_table::presets::{NOTHING, UTF8_FULL_CONDENSED};
use comfy_table::{CellAlignment, Table};
use emulator::punctuality::Overload;
use indicatif::{ProgressBar, ProgressStyle};
use link::spec::{DirectionSpec, StageSpec};
use link::{LinkSpec, Seed};
use row::{HEADINGS, Row};
use serde_json::json;
use std::io::IsTerminal;
use std::time::Duration;
use watch::{Look, Watch};

/// Maximum number of attempts at a measurement until the emulator keeps up. A machine that is busy
/// with something else says nothing about the emulator. The last attempt always counts, and
/// lateness is judged over all measurements.
const ATTEMPTS: u32 = 3;

/// Environment of one measurement.
pub struct Bench {
    seed: Seed,
    /// Duration of sending.
    length: Duration,
    precise: bool,
    /// Lateness of packets that waited in a link, in seconds.
    lateness: Vec<f64>,
    /// The reason why this machine did not keep up, if it did not.
    overload: Option<Overload>,
}

impl Bench {
    /// Creates a link with one stage up and one down, runs `work` on it, and takes it down.
    fn with_link<T>(
        &mut self,
        [up, down]: [Option<StageSpec>; 2],
        look: Look,
        work: impl FnOnce(&BenchLink<Watch>) -> Result<T, Failure>,
    ) -> Result<(T, Watch), Failure> {
        let of = |stage: Option<StageSpec>| {
            let mut spec = DirectionSpec::default();
            if let Some(stage) = stage {
                spec.put(stage);
            }
            spec
        };
        let link = LinkSpec::new(of(up), of(down)).build(&self.seed)?;
        let link = BenchLink::set_up(link, self.precise, Watch::new(look))?;
        let result = work(&link)?;
        let Remains { mut observer, overload } = link.take_down()?;
        self.lateness.append(&mut observer.lateness);
        self.overload = overload;
        Ok((result, observer))
    }
}

/// Results of all measurements.
#[derive(Default)]
struct Measured {
    rows: Vec<Row>,
    lateness: Vec<f64>,
    /// Number of measurements in which this machine lost packets outside the link at every attempt.
    lossy: u64,
}

impl Measured {
    /// Runs the measurements one after the other.
    fn make(arguments: &SelfCheckArguments) -> Result<Self, Failure> {
        let mut all = Self::default();
        let progress = progress(arguments.seconds);
        for ((name, measure), place) in measurements::ALL.iter().zip(0..) {
            progress.set_position(place);
            progress.set_message(*name);
            for attempt in 1..=ATTEMPTS {
                let mut bench = Bench {
                    // Each measurement has its own number, and the same errors at each attempt.
                    seed: Seed::campaign(arguments.seed).run(place).link("self-check"),
                    length: Duration::from_secs(arguments.seconds),
                    precise: arguments.precise,
                    lateness: Vec::new(),
                    overload: None,
                };
                let rows = measure(&mut bench).map_err(|error| format!("{name}: {error}"))?;
                if let Some(why) = bench.overload {
                    let again = if attempt < ATTEMPTS { "; measured again" } else { "" };
                    let notice = Notice::new(false);
                    progress.suspend(|| {
                        notice.warn(format_args!("{name}: this machine did not keep up: {why}{again}"));
                    });
                    if attempt < ATTEMPTS {
                        continue;
                    }
                    all.lossy += u64::from(matches!(why, Overload::DroppedByKernel { .. }));
                }
                all.rows.extend(rows);
                all.lateness.append(&mut bench.lateness);
                break;
            }
        }
        progress.finish_and_clear();
        all.rows.extend(measurements::punctuality(&mut all.lateness, all.lossy));
        Ok(all)
    }
}

/// Measures everything, prints the table, and returns the exit status: 0 if every value is as
/// configured.
pub fn run(arguments: &SelfCheckArguments) -> Result<i32, Failure> {
    outputs::check([arguments.json.as_ref()])?;
    let Measured { rows, .. } = Measured::make(arguments)?;
    anstream::println!("{}", table(&rows, std::io::stdout().is_terminal()));
    let off: Vec<_> = rows.iter().filter(|row| !row.is_ok()).collect();
    if let Some(file) = &arguments.json {
        let object = json!({
            "version": env!("CARGO_PKG_VERSION"),
            "seed": arguments.seed,
            "seconds": arguments.seconds,
            "precise": arguments.precise,
            "ok": off.is_empty(),
            "rows": rows.iter().map(Row::to_json).collect::<Vec<_>>(),
        });
        capture::output::write(file, format!("{object:#}\n"))
            .map_err(|error| format!("cannot write {}: {error}", file.display()))?;
    }
    if off.is_empty() {
        anstream::println!("\nall {} rows are ok", rows.len());
        return Ok(0);
    }
    anstream::println!("\n{} of {} rows are off:", off.len(), rows.len());
    for row in off {
        let [quantity, configured, measured, interval, accepted, _] = row.cells();
        anstream::println!(
            "  {quantity}: {measured} ({interval}), configured {configured}, accepted {accepted}"
        );
    }
    Ok(1)
}

/// Returns the rows as a table, with lines on a terminal and plain in a pipe.
fn table(rows: &[Row], lines: bool) -> Table {
    let mut table = Table::new();
    table.load_style(if lines { UTF8_FULL_CONDENSED } else { NOTHING });
    table.set_header(HEADINGS);
    table.add_rows(rows.iter().map(Row::cells));
    for column in 1..=3 {
        if let Some(column) = table.column_mut(column) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    table
}

/// Creates the progress line on standard error: the current measurement and the remaining time.
/// Nothing is shown without a terminal.
fn progress(seconds: u64) -> ProgressBar {
    let count = measurements::ALL.len() as u64;
    let bar = ProgressBar::new(count);
    let style = ProgressStyle::with_template("self-check: {msg} ({pos} of {len} done, about {left} s left)")
        .unwrap_or_else(|_| ProgressStyle::default_spinner())
        .with_key("left", move |state: &indicatif::ProgressState, out: &mut dyn std::fmt::Write| {
            let left = (count * seconds).saturating_sub(state.elapsed().as_secs());
            // An error in writing the progress line only hides it.
            let _ = write!(out, "{left}");
        });
    bar.set_style(style);
    bar.enable_steady_tick(Duration::from_millis(500));
    bar
}
