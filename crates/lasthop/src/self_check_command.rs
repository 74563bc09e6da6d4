//! `lasthop self-check`: the emulator measured against what it was asked for.
//!
//! Each measurement is a link of its own between two private namespaces ([`bench_link`]), over which UDP is sent
//! ([`flow`]). What comes out is measured from outside, at the sockets, wherever it can be seen there; only what was done
//! to bytes and how late packets left is watched from inside ([`watch`]). Randomness comes from the seed alone; the times
//! of packets are those of this machine.

mod bench_link;
mod flow;
mod measurements;
mod row;
mod sojourns;
mod statistics;
mod watch;

use crate::arguments::SelfCheckArguments;
use crate::link_command::Failure;
use crate::notice::Notice;
use bench_link::{BenchLink, Remains};
use comfy_table::presets::{NOTHING, UTF8_FULL_CONDENSED};
use comfy_table::{CellAlignment, Table};
use indicatif::{ProgressBar, ProgressStyle};
use link::spec::{DirectionSpec, StageSpec};
use link::{Direction, Seed};
use row::{HEADINGS, Row};
use serde_json::json;
use std::io::IsTerminal;
use std::time::Duration;
use watch::{Look, Watch};

/// What measurements share.
pub struct Bench {
    seed: Seed,
    /// How long a measurement sends.
    length: Duration,
    precise: bool,
    /// Links made so far: each draws from streams of its own.
    links: u64,
    /// Of packets that waited in a link, in seconds.
    lateness: Vec<f64>,
    /// The measurement that is being made.
    measuring: &'static str,
    /// Which measurements were overloaded, and why.
    overloads: Vec<String>,
    lost_by_machine: u64,
}

impl Bench {
    /// Makes a link of one stage up and one down, does something with it, and takes it down.
    fn with_link<T>(
        &mut self,
        [up, down]: [Option<StageSpec>; 2],
        look: Look,
        work: impl FnOnce(&BenchLink<Watch>) -> Result<T, Failure>,
    ) -> Result<(T, Watch), Failure> {
        let seed = self.seed.run(self.links).link("self-check");
        self.links += 1;
        let pipeline = |stage: Option<StageSpec>, direction| {
            let mut spec = DirectionSpec::default();
            if let Some(stage) = stage {
                spec.put(stage);
            }
            spec.build(&seed.direction(direction))
        };
        let (up, down) = (pipeline(up, Direction::Up)?, pipeline(down, Direction::Down)?);
        let watch = Watch::new(look, std::mem::take(&mut self.lateness));
        let link = BenchLink::set_up(up, down, self.precise, watch)?;
        let result = work(&link)?;
        let Remains { mut observer, overload, lost_by_machine } = link.take_down()?;
        self.lateness = std::mem::take(&mut observer.lateness);
        self.overloads.extend(overload.map(|why| format!("{}: {why}", self.measuring)));
        self.lost_by_machine += lost_by_machine;
        Ok((result, observer))
    }
}

/// Measures everything, prints the table, and returns the exit status: 0 if all is as configured.
pub fn run(arguments: &SelfCheckArguments) -> Result<i32, Failure> {
    let mut bench = Bench {
        seed: Seed::campaign(arguments.seed),
        length: Duration::from_secs(arguments.seconds),
        precise: arguments.precise,
        links: 0,
        lateness: Vec::new(),
        measuring: "",
        overloads: Vec::new(),
        lost_by_machine: 0,
    };
    let mut rows = Vec::new();
    let progress = progress(arguments.seconds);
    for (place, (name, measure)) in measurements::ALL.iter().enumerate() {
        progress.set_position(place as u64);
        progress.set_message(*name);
        bench.measuring = name;
        rows.extend(measure(&mut bench).map_err(|error| format!("{name}: {error}"))?);
    }
    progress.finish_and_clear();
    rows.extend(measurements::of_the_run(&mut bench));

    anstream::println!("{}", table(&rows, std::io::stdout().is_terminal()));
    for why in &bench.overloads {
        Notice::new(false).warn(format_args!("overloaded while measuring {why}"));
    }
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
        std::fs::write(file, format!("{object:#}\n"))
            .map_err(|error| format!("{} cannot be written: {error}", file.display()))?;
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

/// The rows for people: with lines on a terminal, plain in a pipe.
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

/// One line on standard error: what is measured, and how long it will still take. Nothing where that is no terminal.
fn progress(seconds: u64) -> ProgressBar {
    let count = measurements::ALL.len() as u64;
    let bar = ProgressBar::new(count);
    let style = ProgressStyle::with_template("self-check: {msg} ({pos} of {len} done, about {left} s left)")
        .unwrap_or_else(|_| ProgressStyle::default_spinner())
        .with_key("left", move |state: &indicatif::ProgressState, out: &mut dyn std::fmt::Write| {
            let left = (count * seconds).saturating_sub(state.elapsed().as_secs());
            // A progress line that cannot be written is not shown.
            let _ = write!(out, "{left}");
        });
    bar.set_style(style);
    bar.enable_steady_tick(Duration::from_millis(500));
    bar
}
