//! The numbers behind the figures: one row for each medium and kind of damage, as HTML and as
//! Markdown.

use super::page::escaped;
use super::statistics::median;
use super::{Collection, Outcome, Sent};
use std::fmt::Write as _;

/// Names of the columns.
const COLUMNS: [&str; 9] = [
    "sent",
    "damage",
    "time, off (s)",
    "time, on (s)",
    "times as fast",
    "quality, off (dB)",
    "quality, on (dB)",
    "SSIM off / on",
    "damaged segments accepted",
];

/// Number of text columns, which precede the numbers.
const WORDS: usize = 2;

fn rows(collection: &Collection) -> Vec<[String; COLUMNS.len()]> {
    let row = |sent: Sent, loss: usize| {
        let runs = collection.plan.seeds.len();
        let [off, on] = [false, true].map(|lite| {
            collection.cell(sent, loss, lite).filter_map(|run| run.outcome.as_ref()).collect::<Vec<_>>()
        });
        let times = [&off, &on].map(|came| middle(came, Outcome::seconds));
        let ratio = match times {
            [Some(off), Some(on)] => format!("{:.1}", off / on),
            _ => "–".to_owned(),
        };
        let ssim = [&off, &on].map(|came| {
            let values = came.iter().filter_map(|outcome| outcome.ssim);
            median(values).map_or_else(|| "–".to_owned(), |value| format!("{value:.3}"))
        });
        let (damaged, accepted) = on
            .iter()
            .filter_map(|outcome| outcome.account.segments.as_ref())
            .fold((0, 0), |(damaged, accepted), one| (damaged + one.damaged, accepted + one.accepted));
        [
            sent.name().to_owned(),
            collection.plan.losses[loss].title.clone(),
            spread(&off, runs, Outcome::seconds),
            spread(&on, runs, Outcome::seconds),
            ratio,
            spread(&off, runs, |outcome| outcome.decibels),
            spread(&on, runs, |outcome| outcome.decibels),
            if sent == Sent::Picture { ssim.join(" / ") } else { "–".to_owned() },
            format!("{accepted} of {damaged}"),
        ]
    };
    let losses = 0..collection.plan.losses.len();
    Sent::ALL
        .into_iter()
        .flat_map(|sent| losses.clone().map(move |loss| (sent, loss)))
        .map(|(sent, loss)| row(sent, loss))
        .collect()
}

fn middle(came: &[&Outcome], value: fn(&Outcome) -> f64) -> Option<f64> {
    median(came.iter().map(|outcome| value(outcome)))
}

/// Returns median, minimum and maximum, and how many transfers did not end, if any.
fn spread(came: &[&Outcome], runs: usize, value: fn(&Outcome) -> f64) -> String {
    let Some(median) = middle(came, value) else { return "none ended".to_owned() };
    let values = came.iter().map(|outcome| value(outcome));
    let (least, most) = values
        .fold((f64::INFINITY, f64::NEG_INFINITY), |(least, most), value| (least.min(value), most.max(value)));
    let [median, least, most] = [median, least, most].map(number);
    let mut text = if least == most { median } else { format!("{median} ({least} … {most})") };
    if came.len() < runs {
        let _ = write!(text, ", {} of {runs} did not end", runs - came.len());
    }
    text
}

fn number(value: f64) -> String {
    if value.is_infinite() { "∞".to_owned() } else { format!("{value:.1}") }
}

/// Returns the table as HTML.
#[must_use]
pub fn html(collection: &Collection) -> String {
    let class = |column: usize| if column < WORDS { "" } else { " class=\"number\"" };
    let mut out = "<div class=\"scroll\"><table><thead><tr>".to_owned();
    for (column, name) in COLUMNS.into_iter().enumerate() {
        let _ = write!(out, "<th{}>{name}</th>", class(column));
    }
    out.push_str("</tr></thead><tbody>");
    for row in rows(collection) {
        out.push_str("<tr>");
        for (column, text) in row.iter().enumerate() {
            let _ = write!(out, "<td{}>{}</td>", class(column), escaped(text));
        }
        out.push_str("</tr>");
    }
    out.push_str("</tbody></table></div>");
    out
}

/// Returns the table as Markdown.
#[must_use]
pub fn markdown(collection: &Collection) -> String {
    let mut out = format!("| {} |\n|{}\n", COLUMNS.join(" | "), "---|".repeat(COLUMNS.len()));
    for row in rows(collection) {
        let _ = writeln!(out, "| {} |", row.join(" | "));
    }
    out
}
