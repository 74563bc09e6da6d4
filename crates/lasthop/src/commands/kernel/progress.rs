//! Progress of a kernel build.

use indicatif::{ProgressBar, ProgressStyle};
use std::io::IsTerminal;
use std::time::Duration;
use virtual_time::kernel::{Progress, Step};

/// Length of the bar, in thousandths of a step.
const WHOLE: u64 = 1000;
/// Without a terminal, a long step reports its progress this many times.
const PARTS: f64 = 4.0;

/// A progress line at the bottom of a terminal; without a terminal, a line for each step.
pub struct Lines {
    line: Option<ProgressBar>,
    part: f64,
}

impl Lines {
    /// Creates the progress display on standard error.
    pub fn new() -> Self {
        let line = std::io::stderr().is_terminal().then(|| {
            let line = ProgressBar::no_length();
            line.enable_steady_tick(Duration::from_millis(500));
            line
        });
        Self { line, part: 0.0 }
    }

    /// Shows a progress event.
    pub fn tell(&mut self, progress: &Progress) {
        match progress {
            Progress::Note(said) => self.say(said),
            Progress::Began(step) => self.begin(*step),
            Progress::At(step, share) => self.at(*step, *share),
            Progress::Ended(step, took) => self.say(&format!("{}: {:.1} s", step.name(), took.as_secs_f64())),
        }
    }

    fn begin(&mut self, step: Step) {
        self.part = 0.0;
        let Some(line) = &self.line else { return };
        // The time estimate is for this step alone.
        let (template, length) = if matches!(step, Step::Download | Step::Compile) {
            ("{msg} {bar:30} {percent}%, {elapsed} so far, {eta} to go", Some(WHOLE))
        } else {
            ("{spinner} {msg}, {elapsed} so far", None)
        };
        line.set_style(
            ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar()),
        );
        line.unset_length();
        if let Some(length) = length {
            line.set_length(length);
        }
        line.reset();
        line.set_message(step.name());
    }

    fn at(&mut self, step: Step, share: f64) {
        if let Some(line) = &self.line {
            line.set_position((share * WHOLE as f64) as u64);
        } else if share * PARTS >= self.part + 1.0 && share < 1.0 {
            self.part = (share * PARTS).floor();
            anstream::eprintln!("lasthop: {}: {:.0}%", step.name(), share * 100.0);
        }
    }

    fn say(&self, words: &str) {
        let print = || anstream::eprintln!("lasthop: {words}");
        self.line.as_ref().map_or_else(print, |line| line.suspend(print));
    }

    /// Removes the progress line.
    pub fn finish(&self) {
        if let Some(line) = &self.line {
            line.finish_and_clear();
        }
    }
}
