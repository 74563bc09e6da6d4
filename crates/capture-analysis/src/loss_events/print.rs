//! Loss events as a text table, one line per event.

use super::{Ends, LossEvent};
use capture::senders::INFINITE_SSTHRESH;
use std::fmt::Write;

const HEADINGS: [&str; 9] =
    ["time [s]", "event", "n", "lost", "cause", "verdict", "reason", "cwnd", "ssthresh"];
/// Columns of numbers, which are right-aligned.
const NUMBERS: [bool; 9] = [true, false, true, true, false, false, false, true, true];

/// Formats the events of a sender as a table.
///
/// The columns are: time (for a timeout that of the last segment before it), event, lost segments
/// by the sender's count and in truth, true cause, verdict and its reason, window before and
/// threshold after the event. `-` marks what is not known.
#[must_use]
pub fn events(ends: Ends, events: &[LossEvent]) -> String {
    let mut text = format!("{} -> {}: {}\n", ends.from, ends.to, counted(events.len(), "loss event"));
    if !events.is_empty() {
        let rows: Vec<[String; 9]> = events.iter().map(row).collect();
        table(&mut text, &rows);
    }
    text
}

fn row(event: &LossEvent) -> [String; 9] {
    let or_dash = |text: Option<String>| text.unwrap_or_else(|| "-".to_owned());
    let judged = event.judged();
    let time = event.change.at.as_nanos() / 1000;
    let threshold = event.change.ssthresh[1].map(|segments| match segments {
        INFINITE_SSTHRESH => "infinite".to_owned(),
        _ => segments.to_string(),
    });
    [
        format!("{}.{:06}", time / 1_000_000, time % 1_000_000),
        event.change.kind.name().to_owned(),
        or_dash(judged.map(|judged| judged.n.to_string())),
        event.truth.segments.to_string(),
        event.truth.cause.name().to_owned(),
        or_dash(judged.and_then(|judged| judged.verdict).map(|verdict| verdict.name().to_owned())),
        or_dash(judged.and_then(|judged| judged.reason).map(|reason| reason.name().to_owned())),
        event.change.cwnd[0].to_string(),
        or_dash(threshold),
    ]
}

/// Appends the table, with columns two blanks apart, each as wide as its widest cell.
fn table(text: &mut String, rows: &[[String; 9]]) {
    let headings = HEADINGS.map(ToOwned::to_owned);
    let lines = || std::iter::once(&headings).chain(rows);
    let widths: [usize; 9] =
        std::array::from_fn(|column| lines().map(|line| line[column].len()).max().unwrap_or(0));
    for line in lines() {
        let mut written = String::new();
        for (column, cell) in line.iter().enumerate() {
            let width = widths[column];
            let _ = if NUMBERS[column] {
                write!(written, "  {cell:>width$}")
            } else {
                write!(written, "  {cell:<width$}")
            };
        }
        let _ = writeln!(text, "{}", written.trim_end());
    }
}

fn counted(count: usize, what: &str) -> String {
    match (count, what.strip_suffix('y')) {
        (1, _) => format!("1 {what}"),
        (_, Some(stem)) => format!("{count} {stem}ies"),
        (_, None) => format!("{count} {what}s"),
    }
}

#[cfg(test)]
mod tests;
