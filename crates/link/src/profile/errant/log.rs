//! Logs of ERRANT: the conditions that it imposed, and when.

use super::Conditions;
use super::speed_tests::{fields, header, positive};
use crate::stage::spec::{Line, TraceError};
use crate::units::Span;

/// Columns of a log, in its only order.
const COLUMNS: [&str; 8] =
    ["time", "operator", "country", "technology", "quality", "download", "upload", "rtt"];

/// A log: `time,operator,country,technology,quality,download,upload,rtt` as CSV with this heading.
/// Times are whole seconds, rates kbit/s and the round-trip time milliseconds.
#[derive(Debug, Clone, PartialEq)]
pub struct Log {
    /// Not empty. Times in seconds, increasing.
    rows: Vec<(u64, Conditions)>,
}

impl Log {
    /// Reads a log; `file` is its name in errors.
    pub fn parse(file: &str, text: &str) -> Result<Self, TraceError> {
        let mut lines = Line::of(file, text);
        header(file, lines.next(), &COLUMNS)?;
        let mut rows: Vec<(u64, Conditions)> = Vec::new();
        for line in lines {
            let fields = fields(&line, &COLUMNS)?;
            let time = fields[0].parse::<u64>().ok();
            let time =
                time.ok_or_else(|| line.wrong("time", fields[0], "must be a whole number of seconds"))?;
            if rows.last().is_some_and(|&(before, _)| time <= before) {
                return Err(line.wrong("time", fields[0], "must be later than in the line above"));
            }
            let conditions = Conditions {
                download: positive(&line, "download", fields[5])?,
                upload: positive(&line, "upload", fields[6])?,
                rtt: positive(&line, "rtt", fields[7])?,
            };
            rows.push((time, conditions));
        }
        if rows.is_empty() {
            let line = Line { file, number: 1, text: "" };
            return Err(line.wrong("line", "", "there must be at least one line behind the heading"));
        }
        Ok(Self { rows })
    }

    /// Returns how long each line applies, and its conditions. The log does not say when the last
    /// line ends: it applies as long as the one before it, or for a second.
    pub fn course(&self) -> impl Iterator<Item = (Span, Conditions)> {
        let last = match self.rows[..] {
            [.., (before, _), (time, _)] => time - before,
            _ => 1,
        };
        let nexts = self.rows.iter().skip(1).map(|&(time, _)| Some(time)).chain([None]);
        self.rows.iter().zip(nexts).map(move |(&(time, conditions), next)| {
            (Span::from_secs(next.map_or(last, |next| next - time)), conditions)
        })
    }
}
