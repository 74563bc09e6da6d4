//! The verdicts as a Markdown table, for the summary of a job or a comment.

use super::Report;
use std::fmt::Write;

/// Returns a heading with the whole verdict and a row for each line.
pub fn table(report: &Report<'_>) -> String {
    let manifest = &report.directory.manifest;
    let mut text = format!(
        "### {}: {}\n\n{}, seed {}\n\n",
        cell(&manifest.plan.name),
        report.in_words(),
        cell(&manifest.plan.title),
        manifest.seed
    );
    text.push_str("| verdict | requirement | cell | figure | bound | runs |\n");
    text.push_str("|---|---|---|---|---|---:|\n");
    for line in &report.lines {
        let notes = line.notes.iter().fold(String::new(), |text, note| text + "<br>" + &cell(note));
        let _ = writeln!(
            text,
            "| **{}** | {} | {} | {}{notes} | {} | {} |",
            line.verdict,
            cell(&line.title),
            cell(line.cell.as_deref().unwrap_or("all")),
            cell(&line.figure),
            cell(&line.bound),
            line.runs
        );
    }
    for note in &report.notes {
        let _ = write!(text, "\n{}\n", cell(note));
    }
    text
}

/// Escapes a text for the cell of a table.
fn cell(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '|' | '\\' | '`' | '*' | '_' | '[' | ']' | '#' => escaped.extend(['\\', character]),
            '<' => escaped.push_str("&lt;"),
            '&' => escaped.push_str("&amp;"),
            '\n' | '\r' => escaped.push(' '),
            _ => escaped.push(character),
        }
    }
    escaped
}
