//! Progress of a campaign.

use experiment::campaign::Progress;
use indicatif::{HumanDuration, ProgressBar, ProgressStyle};
use results::RunVerdict;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::io::IsTerminal;
use std::time::Duration;
use virtual_time::Advance;

/// A progress line at the bottom of a terminal; without a terminal, a line for each run that is not
/// good.
pub struct Bar {
    line: ProgressBar,
    running: usize,
    bad: usize,
    quiet: bool,
    /// Whether the campaign uses the virtual clock.
    is_virtual: bool,
    /// Total virtual time of the runs that have ended.
    through: Duration,
    /// Virtual time of the runs in progress, by cell and repetition.
    advanced: BTreeMap<(u32, u32), Duration>,
}

impl Bar {
    /// Creates the display for this number of runs.
    pub fn new(runs: usize, is_virtual: bool, quiet: bool) -> Self {
        let line = if quiet || !std::io::stderr().is_terminal() {
            ProgressBar::hidden()
        } else {
            ProgressBar::new(runs as u64)
        };
        let style =
            ProgressStyle::with_template("{bar:30} {pos}/{len} runs, {msg}{elapsed} so far, {eta} to go");
        line.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
        line.enable_steady_tick(Duration::from_millis(500));
        let (through, advanced) = (Duration::ZERO, BTreeMap::new());
        Self { line, running: 0, bad: 0, quiet, is_virtual, through, advanced }
    }

    /// Shows a progress event.
    pub fn tell(&mut self, progress: &Progress<'_>) {
        match progress {
            Progress::Began { .. } => self.running += 1,
            Progress::Advanced { cell, repetition, advance } => {
                let time = match advance {
                    Advance::To(time) => *time,
                    Advance::Slowly(slow) => {
                        self.say(&format!("cell {cell}, repetition {repetition}: {slow}"));
                        slow.at
                    }
                };
                self.advanced.insert((*cell, *repetition), time);
            }
            Progress::Attached { nodes } => {
                for node in *nodes {
                    node.attached.iter().for_each(|one| self.say(&one.describe(&node.name)));
                }
            }
            Progress::Ended { cell, run } => {
                self.running -= 1;
                self.advanced.remove(&(run.run.cell, run.run.repetition));
                self.through += Duration::from_secs_f64(run.run.seconds);
                self.line.inc(1);
                if run.run.verdict != RunVerdict::Good {
                    self.bad += 1;
                    let what = match run.run.verdict {
                        RunVerdict::Failed => "failed",
                        RunVerdict::DroppedCall => "dropped call",
                        RunVerdict::Good | RunVerdict::Overloaded => "overloaded",
                    };
                    let reasons = run.run.reasons.join("; ");
                    self.say(&format!(
                        "{}, repetition {}: {what}: {reasons}",
                        cell.label(),
                        run.run.repetition
                    ));
                }
            }
        }
        let bad = if self.bad > 0 { format!("{} not good, ", self.bad) } else { String::new() };
        let mut message = format!("{} running, {bad}", self.running);
        if self.is_virtual {
            let time = self.advanced.values().fold(self.through, |sum, time| sum + *time);
            // Whole seconds, because smaller units change faster than they can be read.
            let time = HumanDuration(Duration::from_secs(time.as_secs()));
            let _ = write!(message, "{time:#} of virtual time, ");
        }
        self.line.set_message(message);
    }

    fn say(&self, words: &str) {
        if !self.quiet {
            self.line.suspend(|| anstream::eprintln!("lasthop: {words}"));
        }
    }

    /// Removes the progress line.
    pub fn finish(&self) {
        self.line.finish_and_clear();
    }
}
