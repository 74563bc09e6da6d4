//! Progress of reading a capture, on a terminal, if it takes longer than two seconds.

use capture_analysis::analysis::Watch;
use indicatif::{ProgressBar, ProgressStyle};
use std::path::Path;
use std::time::{Duration, Instant};

/// Time after which the progress is shown.
const PATIENCE: Duration = Duration::from_secs(2);

/// Progress display of one capture.
pub struct Progress {
    started: Instant,
    /// Length of the file in bytes; 0 if unknown.
    length: u64,
    bar: Option<ProgressBar>,
}

impl Progress {
    /// Creates the display for `path`, whose reading begins now.
    pub fn new(path: &Path) -> Self {
        let length = std::fs::metadata(path).map_or(0, |metadata| metadata.len());
        Self { started: Instant::now(), length, bar: None }
    }
}

impl Watch for Progress {
    fn progress(&mut self, at: u64, packets: u64) -> bool {
        if self.started.elapsed() > PATIENCE {
            let bar = self.bar.get_or_insert_with(|| begin(self.length));
            bar.set_position(at);
            bar.set_message(format!("{:.1} million packets", packets as f64 / 1e6));
        }
        true
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}

/// Creates the progress bar. indicatif draws on standard error, and only on a terminal.
fn begin(length: u64) -> ProgressBar {
    let (bar, template) = if length > 0 {
        (ProgressBar::new(length), "{bar:40} {bytes} of {total_bytes}, {msg}, {eta} left")
    } else {
        (ProgressBar::no_length(), "{spinner} {bytes}, {msg}")
    };
    bar.with_style(ProgressStyle::with_template(template).expect("a template without mistakes"))
}
