//! How far a campaign is.

use experiment::campaign::Progress;
use indicatif::{ProgressBar, ProgressStyle};
use results::Verdict;
use std::io::IsTerminal;
use std::time::Duration;

/// A line at the bottom of a terminal; elsewhere a line for each run that ended badly.
pub struct Bar {
    line: ProgressBar,
    running: usize,
    bad: usize,
    quiet: bool,
}

impl Bar {
    /// For so many runs.
    pub fn new(runs: usize, quiet: bool) -> Self {
        let line = if quiet || !std::io::stderr().is_terminal() {
            ProgressBar::hidden()
        } else {
            ProgressBar::new(runs as u64)
        };
        let style =
            ProgressStyle::with_template("{bar:30} {pos}/{len} runs, {msg}{elapsed} so far, {eta} to go");
        line.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
        line.enable_steady_tick(Duration::from_millis(500));
        Self { line, running: 0, bad: 0, quiet }
    }

    /// Takes in what happened.
    pub fn tell(&mut self, progress: &Progress<'_>) {
        match progress {
            Progress::Began { .. } => self.running += 1,
            Progress::Ended { cell, run } => {
                self.running -= 1;
                self.line.inc(1);
                if run.run.verdict != Verdict::Good {
                    self.bad += 1;
                    let what = if run.run.verdict == Verdict::Failed { "failed" } else { "overloaded" };
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
        self.line.set_message(format!("{} running, {bad}", self.running));
    }

    fn say(&self, words: &str) {
        if !self.quiet {
            self.line.suspend(|| anstream::eprintln!("lasthop: {words}"));
        }
    }

    /// Takes the line away.
    pub fn finish(&self) {
        self.line.finish_and_clear();
    }
}
