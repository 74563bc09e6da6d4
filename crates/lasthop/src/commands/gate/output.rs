//! The verdicts in the forms that people and other programs read.

use super::line::Line;
use crate::failure::Failure;
use results::Directory;
use results::requirement::Verdict;
use serde_json::{Value, json};
use std::fmt::Write;
use std::path::Path;

pub mod github;
pub mod junit;
pub mod markdown;

/// Everything that a gate found.
pub struct Report<'a> {
    /// The campaign.
    pub directory: &'a Directory,
    /// The verdicts.
    pub lines: Vec<Line>,
    /// Remarks on the comparison with another campaign.
    pub notes: Vec<String>,
}

impl Report<'_> {
    /// Returns the verdict on everything: the worst one.
    pub fn verdict(&self) -> Verdict {
        self.lines.iter().map(|line| line.verdict).max().unwrap_or(Verdict::NotDecided)
    }

    /// Returns how many lines have each verdict: pass, fail, not decided.
    pub fn counts(&self) -> [usize; 3] {
        [Verdict::Pass, Verdict::Fail, Verdict::NotDecided]
            .map(|verdict| self.lines.iter().filter(|line| line.verdict == verdict).count())
    }

    /// Returns the whole verdict in words: `fail: 3 pass, 1 fail, 0 not decided`.
    pub fn in_words(&self) -> String {
        let [pass, fail, open] = self.counts();
        format!("{}: {pass} pass, {fail} fail, {open} not decided", self.verdict())
    }

    /// Returns the text for standard output, a line for each verdict.
    pub fn text(&self) -> String {
        let mut text = String::new();
        for line in &self.lines {
            let _ = writeln!(text, "{:<11}  {}: {}", line.verdict, line.name(), line.explanation());
        }
        text
    }

    /// Returns the object of `--json`.
    pub fn json(&self) -> Value {
        let line = |line: &Line| {
            let mut object = json!({
                "title": line.title,
                "cell": line.cell,
                "verdict": line.verdict,
                "explanation": line.explanation(),
                "runs": line.runs,
                "notes": line.notes,
                "line": line.place,
            });
            if let (Value::Object(object), Value::Object(numbers)) = (&mut object, line.numbers.clone()) {
                object.extend(numbers);
            }
            object
        };
        json!({
            "run_directory": self.directory.path,
            "verdict": self.verdict(),
            "lines": self.lines.iter().map(line).collect::<Vec<_>>(),
            "notes": self.notes,
        })
    }
}

/// Writes a file, completely or not at all.
pub fn write(path: &Path, text: String) -> Result<(), Failure> {
    capture::output::write(path, text)
        .map_err(|error| format!("cannot write {}: {error}", path.display()).into())
}
