//! Runs contenders in turns, and prints the results.

use crate::contender::{Contender, OUTER_ADDRESS, Programs};
use crate::experiment::{EXPERIMENTS, Experiment, Figure, Target};
use crate::many;
use crate::measure::measure;
use crate::namespace::{allow_large_buffers, ip, leave_for_new_namespace};
use crate::results::{Outcome, Results};
use comfy_table::{CellAlignment, Table, presets};
use nix::mount::{MsFlags, mount};
use nix::sched::{CloneFlags, unshare};
use std::io;
use std::path::PathBuf;
use std::time::Duration;

/// How much to measure.
#[derive(Debug, Clone, Copy)]
pub struct Effort {
    /// Number of turns of each contender.
    pub rounds: usize,
    /// Length of the measured part of a turn.
    pub length: Duration,
}

/// Returns the experiments whose title contains `words`.
fn chosen(words: &str) -> impl Iterator<Item = &'static Experiment> {
    EXPERIMENTS
        .iter()
        .filter(move |experiment| experiment.title.to_lowercase().contains(&words.to_lowercase()))
}

/// Contenders to which ratios are printed.
const PEERS: [Contender; 4] = [Contender::Bare, Contender::Rattan, Contender::Mahimahi, Contender::Links(1)];

/// Runs the experiments whose title contains `only`, and prints a table for each. First moves the
/// process into a network namespace of its own.
///
/// Returns whether `lasthop` and the lower bounds could all be measured. The tables show whether
/// targets were met.
///
/// # Errors
/// If no title matches, or nothing can be measured here.
pub fn compare(lasthop: PathBuf, effort: Effort, only: &str) -> io::Result<bool> {
    if chosen(only).next().is_none() {
        let titles: Vec<_> = EXPERIMENTS.iter().map(|experiment| experiment.title).collect();
        return Err(io::Error::other(format!(
            "no experiment has a title with `{only}`; the titles are\n  {}",
            titles.join("\n  ")
        )));
    }
    go_private()?;
    let scratch = std::env::temp_dir().join(format!("lasthop-bench-{}", std::process::id()));
    std::fs::create_dir(&scratch)?;
    let programs = Programs { lasthop, scratch };
    let mut sound = true;
    for experiment in chosen(only) {
        let results = take_turns(experiment, &programs, effort);
        sound &= results.sound();
        println!("\n## {}", experiment.title);
        for figure in experiment.figures {
            println!("\n{}", table(experiment, figure, &results));
        }
        if results.failures().next().is_some() {
            println!();
        }
        for (contender, reason) in results.failures() {
            println!("not measured: {}: {reason}", contender.name());
        }
    }
    std::fs::remove_dir_all(&programs.scratch)?;
    Ok(sound)
}

/// Enters a private network namespace and a private directory of named namespaces. The kernel
/// removes everything that a contender leaves there when this process ends.
fn go_private() -> io::Result<()> {
    leave_for_new_namespace()?;
    ip(&format!("addr add {OUTER_ADDRESS}/32 dev lo"))?;
    allow_large_buffers()?;
    // mahimahi needs this.
    std::fs::write("/proc/sys/net/ipv4/ip_forward", "1")?;
    unshare(CloneFlags::CLONE_NEWNS)?;
    let none: Option<&str> = None;
    mount(none, "/", none, MsFlags::MS_REC | MsFlags::MS_PRIVATE, none)?;
    std::fs::create_dir_all("/run/netns")?;
    mount(Some("tmpfs"), "/run/netns", Some("tmpfs"), MsFlags::empty(), none)?;
    Ok(())
}

/// Measures A B C, A B C, …; a contender that fails is out.
fn take_turns(experiment: &Experiment, programs: &Programs, effort: Effort) -> Results {
    let mut results = Results::new(experiment.contenders);
    for round in 0..effort.rounds {
        for &contender in experiment.contenders {
            if results.failed(contender) {
                continue;
            }
            eprintln!("{}, round {} of {}: {}", experiment.title, round + 1, effort.rounds, contender.name());
            let task = experiment.task_of(contender);
            let window = experiment.window(effort.length);
            let outcome = match contender {
                Contender::Links(count) => many::measure(count, window).map_err(|error| error.to_string()),
                _ => {
                    programs.link(contender, task).and_then(|link| measure(link, experiment.traffic, window))
                }
            };
            results.add(contender, outcome.map(|measured| Outcome { measured, task }));
        }
    }
    results
}

/// Returns the table of one figure for all contenders.
fn table(experiment: &Experiment, figure: &Figure, results: &Results) -> Table {
    let peers: Vec<Contender> =
        PEERS.into_iter().filter(|peer| figure.ratios && experiment.contenders.contains(peer)).collect();
    let mut table = Table::new();
    table.load_style(presets::ASCII_MARKDOWN);
    let mut header = vec![figure.title.to_owned(), "median".into(), "lowest – highest".into()];
    header.extend(peers.iter().map(|peer| format!("× {}", peer.name())));
    header.push("target".into());
    table.set_header(header);
    let rows = experiment.contenders.iter().filter(|&&contender| figure.above != Some(contender));
    for &contender in rows {
        let mut row = vec![contender.name().into_owned()];
        let digits = figure.digits;
        if let Some(spread) = results.spread(figure, contender) {
            row.push(format!("{:.digits$}", spread.median));
            row.push(format!("{:.digits$} – {:.digits$}", spread.lowest, spread.highest));
        } else {
            row.extend(["not measured".to_owned(), String::new()]);
        }
        row.extend(peers.iter().map(|&peer| match results.ratio(figure, contender, peer) {
            Some(ratio) if peer != contender => format!("{ratio:.2}"),
            _ => String::new(),
        }));
        let targets = figure.targets.iter().filter(|(whose, _)| *whose == contender);
        let verdicts: Vec<String> =
            targets.map(|&(_, target)| verdict(results, figure, contender, target)).collect();
        row.push(verdicts.join("; "));
        table.add_row(row);
    }
    for column in table.column_iter_mut().skip(1).take(2 + peers.len()) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    table
}

/// Returns the target and whether it is met, in words.
fn verdict(results: &Results, figure: &Figure, contender: Contender, target: Target) -> String {
    let median = results.spread(figure, contender).map(|spread| spread.median);
    let (wanted, met) = match target {
        Target::AtLeast(least) => (format!("≥ {least}"), median.map(|median| median >= least)),
        Target::AtMost(most) => (format!("≤ {most}"), median.map(|median| median <= most)),
        Target::AtLeastTimes(factor, other) => {
            let ratio = results.ratio(figure, contender, other);
            (format!("≥ {factor} × {}", other.name()), ratio.map(|ratio| ratio >= factor))
        }
    };
    match met {
        Some(true) => format!("{wanted}: met"),
        Some(false) => format!("{wanted}: MISSED"),
        None => format!("{wanted}: not measured"),
    }
}
