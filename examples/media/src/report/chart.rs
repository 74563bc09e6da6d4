//! The figure of a medium: time to the last byte against quality, one panel for each kind of
//! damage. Inline SVG without scripts.

mod scale;

use super::statistics::median;
use super::{Collection, Outcome, Sent};
use scale::{Decibels, Seconds};
use std::fmt::Write as _;

/// Orange and blue by Okabe and Ito, as in the report of a campaign.
const OFF: &str = "#e69f00";
const ON: &str = "#0072b2";

/// Most panels in a row.
const ROW: usize = 3;
const PANEL: f64 = 230.0;
const GAP: f64 = 20.0;
const LEFT: f64 = 58.0;
const RIGHT: f64 = 14.0;
/// Space for the key and the titles of the panels.
const TOP: f64 = 56.0;
const HEIGHT: f64 = 210.0;
const BOTTOM: f64 = 44.0;
/// Space between two rows, for times and titles.
const BETWEEN: f64 = 48.0;

/// Returns the figure for a page, in the colour of the surrounding text.
#[must_use]
pub fn svg(collection: &Collection, sent: Sent) -> String {
    let (width, height) = size(collection);
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" viewBox=\"0 0 {width} {height}\" \
         font-size=\"12\" role=\"img\" aria-label=\"{}\">{}</svg>",
        label(sent),
        drawing(collection, sent)
    )
}

/// Returns the figure as a separate file, black on white.
#[must_use]
pub fn file(collection: &Collection, sent: Sent) -> String {
    const MARGIN: f64 = 16.0;
    let (width, height) = size(collection);
    let (outer_width, outer_height) = (width + 2.0 * MARGIN, height + 2.0 * MARGIN);
    format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n\
         <svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{outer_width}\" height=\"{outer_height}\" \
         viewBox=\"0 0 {outer_width} {outer_height}\" color=\"black\" font-family=\"Helvetica, Arial, sans-serif\" font-size=\"12\">\
         <title>{}</title><rect width=\"100%\" height=\"100%\" fill=\"white\"/><g transform=\"translate({MARGIN},{MARGIN})\">{}</g></svg>\n",
        label(sent),
        drawing(collection, sent)
    )
}

/// Returns the figure's text for readers who cannot see it.
fn label(sent: Sent) -> String {
    format!("Time to the last byte against {} of the {}, TCP Lite off and on", sent.measure(), sent.name())
}

fn size(collection: &Collection) -> (f64, f64) {
    let panels = collection.plan.losses.len();
    let (columns, rows) = (panels.min(ROW) as f64, panels.div_ceil(ROW) as f64);
    let height = TOP + rows * (HEIGHT + BETWEEN) - BETWEEN + BOTTOM;
    (LEFT + columns * (PANEL + GAP) - GAP + RIGHT, height)
}

fn outcomes(collection: &Collection, sent: Sent) -> impl Iterator<Item = &Outcome> {
    collection.runs.iter().filter(move |run| run.sent == sent).filter_map(|run| run.outcome.as_ref())
}

fn drawing(collection: &Collection, sent: Sent) -> String {
    let seconds = Seconds::over(outcomes(collection, sent).map(Outcome::seconds), PANEL);
    let best = (sent == Sent::Picture).then_some(collection.sent_picture.0);
    let values = outcomes(collection, sent).map(|outcome| outcome.decibels).chain(best);
    let decibels = Decibels::over(values, HEIGHT);
    let mut out = key(collection.plan.seeds.len());
    let (width, height) = size(collection);
    let _ = write!(
        out,
        "<text transform=\"translate(12,{}) rotate(-90)\" text-anchor=\"middle\" fill=\"currentColor\">{}</text>\
         <text x=\"{}\" y=\"{}\" text-anchor=\"middle\" fill=\"currentColor\">Time to the last byte (s)</text>",
        f64::midpoint(TOP, height - BOTTOM),
        sent.measure(),
        f64::midpoint(LEFT, width - RIGHT),
        height - 4.0
    );
    for (place, loss) in collection.plan.losses.iter().enumerate() {
        let (row, column) = (place / ROW, place % ROW);
        let left = LEFT + column as f64 * (PANEL + GAP);
        let top = TOP + row as f64 * (HEIGHT + BETWEEN);
        let _ = write!(
            out,
            "<g transform=\"translate({left},{top})\"><text y=\"-8\" font-weight=\"bold\" fill=\"currentColor\">{}</text>",
            super::page::escaped(&loss.title)
        );
        axes(&mut out, &seconds, &decibels, column == 0);
        if let Some(best) = best {
            let y = decibels.place(best);
            let _ = write!(
                out,
                "<path d=\"M0,{y:.2}H{PANEL}\" stroke=\"currentColor\" stroke-opacity=\"0.6\" stroke-dasharray=\"4 3\"/>"
            );
        }
        dots(&mut out, collection, sent, place, &seconds, &decibels);
        out.push_str("</g>");
    }
    out
}

/// Draws the key of the marks, above the panels.
fn key(seeds: usize) -> String {
    let mut out = format!("<g transform=\"translate({LEFT},10)\" fill=\"currentColor\">");
    let entries =
        [(false, "Lite off", 0.0), (true, "Lite on", 84.0)].map(|(lite, text, x)| (lite, text.to_owned(), x));
    for (lite, text, x) in entries {
        out.push_str(&dot(lite, x + 6.0, 4.0));
        let _ = write!(out, "<text x=\"{}\" y=\"8\">{text}</text>", x + 18.0);
    }
    out.push_str(&middle(false, 176.0, 4.0));
    out.push_str(&middle(true, 200.0, 4.0));
    let _ = write!(
        out,
        "<text x=\"216\" y=\"8\">medians of {seeds} transfers; up and to the left is better</text></g>"
    );
    out
}

fn axes(out: &mut String, seconds: &Seconds, decibels: &Decibels, labelled: bool) {
    let _ = write!(
        out,
        "<rect width=\"{PANEL}\" height=\"{HEIGHT}\" fill=\"none\" stroke=\"currentColor\" stroke-opacity=\"0.3\"/>"
    );
    for tick in seconds.ticks() {
        let x = seconds.place(tick);
        let _ = write!(
            out,
            "<path d=\"M{x:.2},0V{HEIGHT}\" stroke=\"currentColor\" stroke-opacity=\"0.14\"/>\
             <text x=\"{x:.2}\" y=\"{}\" text-anchor=\"middle\" fill=\"currentColor\">{tick}</text>",
            HEIGHT + 15.0
        );
    }
    let ticks = decibels.ticks().into_iter().map(|tick| (tick, format!("{tick}"), 12));
    let infinite = decibels.has_infinite().then(|| (f64::INFINITY, "∞".to_owned(), 17));
    for (tick, text, font_size) in ticks.chain(infinite) {
        let y = decibels.place(tick);
        let _ =
            write!(out, "<path d=\"M0,{y:.2}H{PANEL}\" stroke=\"currentColor\" stroke-opacity=\"0.14\"/>");
        if labelled {
            let _ = write!(
                out,
                "<text x=\"-7\" y=\"{:.2}\" font-size=\"{font_size}\" text-anchor=\"end\" fill=\"currentColor\">{text}</text>",
                y + 4.0
            );
        }
    }
}

fn dots(
    out: &mut String,
    collection: &Collection,
    sent: Sent,
    loss: usize,
    seconds: &Seconds,
    decibels: &Decibels,
) {
    let cells = [false, true].map(|lite| {
        let came = collection.cell(sent, loss, lite).filter_map(|run| run.outcome.as_ref());
        (lite, came.collect::<Vec<_>>())
    });
    let medians = cells.iter().filter_map(|(lite, came)| {
        let time = median(came.iter().map(|outcome| outcome.seconds()))?;
        let quality = median(came.iter().map(|outcome| outcome.decibels))?;
        Some((*lite, seconds.place(time), decibels.place(quality)))
    });
    let medians: Vec<_> = medians.collect();
    if let [(_, x, y), (_, to_x, to_y)] = medians[..] {
        let _ = write!(
            out,
            "<path d=\"M{x:.2},{y:.2}L{to_x:.2},{to_y:.2}\" stroke=\"currentColor\" stroke-opacity=\"0.45\"/>"
        );
    }
    // First, so that the dots, which may be close, are drawn over them.
    for (lite, x, y) in medians {
        out.push_str(&middle(lite, x, y));
    }
    for (lite, came) in &cells {
        for outcome in came {
            out.push_str(&dot(*lite, seconds.place(outcome.seconds()), decibels.place(outcome.decibels)));
        }
    }
}

/// Draws one transfer: a square without Lite, a circle with Lite.
fn dot(lite: bool, x: f64, y: f64) -> String {
    if lite {
        format!("<circle cx=\"{x:.2}\" cy=\"{y:.2}\" r=\"3.8\" fill=\"{ON}\" fill-opacity=\"0.8\"/>")
    } else {
        let (left, top) = (x - 3.2, y - 3.2);
        format!(
            "<rect x=\"{left:.2}\" y=\"{top:.2}\" width=\"6.4\" height=\"6.4\" fill=\"{OFF}\" fill-opacity=\"0.8\"/>"
        )
    }
}

/// Draws the median of a cell: larger, with an outline.
fn middle(lite: bool, x: f64, y: f64) -> String {
    let edge = "fill-opacity=\"0.3\" stroke=\"currentColor\" stroke-width=\"1.5\"";
    if lite {
        format!("<circle cx=\"{x:.2}\" cy=\"{y:.2}\" r=\"8\" fill=\"{ON}\" {edge}/>")
    } else {
        let (left, top) = (x - 7.0, y - 7.0);
        format!("<rect x=\"{left:.2}\" y=\"{top:.2}\" width=\"14\" height=\"14\" fill=\"{OFF}\" {edge}/>")
    }
}
