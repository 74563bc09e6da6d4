//! Annotations of GitHub Actions: workflow commands on standard output.

use super::Report;
use results::requirement::Verdict;
use std::fmt::Write;

/// Returns an error for each line that fails, and a warning for each that is not decided.
///
/// The annotation is shown at the `[[require]]` of the plan, or at its first line.
pub fn annotations(report: &Report<'_>) -> String {
    let file = property(&report.directory.manifest.plan.file);
    let mut text = String::new();
    for line in &report.lines {
        let level = match line.verdict {
            Verdict::Pass => continue,
            Verdict::Fail => "error",
            Verdict::NotDecided => "warning",
        };
        let (place, title) = (line.place.unwrap_or(1), format!("{}: {}", line.verdict, line.name()));
        let (title, message) = (property(&title), data(&line.explanation()));
        let _ = writeln!(text, "::{level} file={file},line={place},title={title}::{message}");
    }
    text
}

/// Escapes the message of a workflow command (`escapeData` of the runner's toolkit).
fn data(text: &str) -> String {
    text.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A")
}

/// Escapes the value of a property (`escapeProperty`).
fn property(text: &str) -> String {
    data(text).replace(':', "%3A").replace(',', "%2C")
}
