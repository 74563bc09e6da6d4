//! Draws the view of a link.

use super::history::{Charts, History, Recent, SHOWN, key};
use super::view::{Chosen, Input, Shown, View};
use crate::remote::{Status, WayStatus};
use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Color, Modifier, Style};
use ratatui::symbols::Marker;
use ratatui::text::{Line, Span};
use ratatui::widgets::{Axis, Block, Chart, Clear, Dataset, GraphType, Paragraph, Row, Table, Wrap};
use std::collections::{BTreeMap, VecDeque};

/// Keys and what they do, for the last line.
const KEYS: &str =
    "Tab up/down  o O outage  + - rate  < > delay  : set  p profile  c capture  v devices  q quit";

/// Width of the labels of charts: that of the longest rate.
const LABEL: usize = "1.00 Mbit/s".len();

/// Draws everything.
pub fn draw(frame: &mut Frame, history: &History, view: &View) {
    let status = history.newest();
    let [head, ways, table, foot] = Layout::vertical([
        Constraint::Length(1),
        Constraint::Min(14),
        Constraint::Length(7),
        Constraint::Length(1),
    ])
    .areas(frame.area());
    head_line(frame, head, status);
    let sides = Layout::horizontal([Constraint::Fill(1), Constraint::Fill(1)]).areas::<2>(ways);
    let parts = [
        ("up", Chosen::Up, &status.up, &status.link.up),
        ("down", Chosen::Down, &status.down, &status.link.down),
    ];
    let (charts, recent) = (history.charts(), history.recent());
    for (place, (name, way, now, parameters)) in parts.into_iter().enumerate() {
        let is_chosen = view.chosen == Chosen::Both || view.chosen == way;
        let style = if is_chosen { Style::new().add_modifier(Modifier::BOLD) } else { Style::new() };
        let block = Block::bordered().title(Span::styled(format!(" {name} "), style)).border_style(style);
        let inner = block.inner(sides[place]);
        frame.render_widget(block, sides[place]);
        direction(frame, inner, status, now, parameters, charts[place], &recent[place]);
    }
    match view.shown {
        Shown::Flows => flows(frame, table, history),
        Shown::Devices => devices(frame, table, history),
    }
    last_line(frame, foot, view);
    if let Some(Input::Profile { names, chosen, .. }) = &view.input {
        profiles(frame, names, *chosen);
    }
}

fn head_line(frame: &mut Frame, area: Rect, status: &Status) {
    let link = &status.link;
    let seconds = link.seconds;
    let text = format!("link {}  {}  {}:{:02}", link.id, link.command, seconds / 60, seconds % 60);
    let mut parts = vec![Span::raw(text)];
    if let Some(file) = &status.capture {
        parts.push(Span::styled(format!("  capture {}", file.display()), Style::new().fg(Color::Red)));
    }
    frame.render_widget(Line::from(parts), area);
}

fn direction(
    frame: &mut Frame,
    area: Rect,
    status: &Status,
    now: &WayStatus,
    parameters: &str,
    charts: &Charts,
    recent: &Recent,
) {
    let [described, numbers, rate, delay] = Layout::vertical([
        Constraint::Length(2),
        Constraint::Length(4),
        Constraint::Fill(1),
        Constraint::Fill(1),
    ])
    .areas(area);
    frame.render_widget(Paragraph::new(parameters).wrap(Wrap { trim: true }), described);
    frame.render_widget(Paragraph::new(numbers_of(now, recent)), numbers);
    let end = status.at_ns as f64 / 1e9;
    chart(frame, rate, "rate", end, &charts.rate, now.rate.map(|rate| rate as f64), bit_rate);
    chart(frame, delay, "delay", end, &charts.delay, None, |delay| format!("{} ms", three_digits(delay)));
}

/// Returns the four lines of numbers of a direction.
fn numbers_of(now: &WayStatus, recent: &Recent) -> Vec<Line<'static>> {
    let ms = |value: Option<f64>| value.map_or("–".to_owned(), |value| format!("{value:.1} ms"));
    let inside = (now.packets + now.duplicated).saturating_sub(now.delivered + now.lost);
    let mut causes: Vec<String> =
        now.lost_by_reason.iter().map(|(cause, count)| format!("{count} {cause}")).collect();
    for (what, count) in [
        ("damaged", now.damaged),
        ("reordered", now.reordered),
        ("duplicated", now.duplicated),
        ("marked", now.congestion_marked),
    ] {
        if count > 0 {
            causes.push(format!("{count} {what}"));
        }
    }
    let mut third = vec![Span::raw(format!("lost    {}", now.lost))];
    if recent.lost > 0 {
        third.push(Span::styled(format!(" (+{} in 1 s)", recent.lost), Style::new().fg(Color::Red)));
    }
    if !causes.is_empty() {
        third.push(Span::raw(format!(": {}", causes.join(", "))));
    }
    let channel = now.channel.as_deref().map_or(String::new(), |state| format!(", channel {state}"));
    vec![
        Line::from(format!("rate    {}, {:.0} packets/s", bit_rate(recent.rate), recent.packets)),
        Line::from(format!("delay   {}, {} of it in the queue", ms(recent.delay), ms(recent.queueing))),
        Line::from(third),
        Line::from(format!("inside  {inside} packets, {} waiting{channel}", now.waiting)),
    ]
}

/// Draws the last minute of a value, with a line at `limit`.
fn chart(
    frame: &mut Frame,
    area: Rect,
    title: &str,
    end: f64,
    points: &VecDeque<(f64, f64)>,
    limit: Option<f64>,
    shown: impl Fn(f64) -> String,
) {
    let points: Vec<(f64, f64)> = points.iter().copied().collect();
    let greatest = points.iter().map(|&(_, value)| value).fold(0.0, f64::max);
    // A limit far above what is used would flatten the line.
    let limit = limit.filter(|&limit| limit <= greatest * 3.0);
    let top = round_up(greatest.max(limit.unwrap_or(0.0)));
    let bounds = [end - SHOWN, end];
    let of_limit = limit.map(|limit| [(bounds[0], limit), (bounds[1], limit)]);
    let mut sets = Vec::new();
    if let Some(line) = &of_limit {
        sets.push(dataset(line, Color::DarkGray));
    }
    sets.push(dataset(&points, Color::Cyan));
    let chart = Chart::new(sets).x_axis(Axis::default().bounds(bounds)).y_axis(
        Axis::default().bounds([0.0, top]).labels([title.to_owned(), format!("{:<LABEL$}", shown(top))]),
    );
    frame.render_widget(chart, area);
}

fn dataset(points: &[(f64, f64)], color: Color) -> Dataset<'_> {
    let dataset = Dataset::default().data(points).marker(Marker::Braille).graph_type(GraphType::Line);
    dataset.style(Style::new().fg(color))
}

/// Returns the next number with one digit, or with 15 in front.
fn round_up(value: f64) -> f64 {
    if value <= 0.0 {
        return 1.0;
    }
    let power = 10_f64.powf(value.log10().floor());
    let steps = [1.0, 1.5, 2.0, 3.0, 4.0, 5.0, 6.0, 8.0, 10.0];
    steps.into_iter().map(|step| step * power).find(|&top| top >= value).unwrap_or(10.0 * power)
}

fn flows(frame: &mut Frame, area: Rect, history: &History) {
    let rates = history.flow_rates();
    let mut all: Vec<_> = history.newest().flows.iter().map(|flow| (flow, rates[&key(flow)])).collect();
    // Those that send now come first, then those that have sent most.
    all.sort_by(|(a, [up_a, down_a]), (b, [up_b, down_b])| {
        (up_b + down_b).total_cmp(&(up_a + down_a)).then(b.bytes().cmp(&a.bytes()))
    });
    let rows = all.into_iter().map(|(flow, [up, down])| {
        Row::new([
            flow.protocol.clone(),
            flow.inside.clone(),
            flow.outside.clone(),
            bit_rate(up),
            bit_rate(down),
            (flow.up.lost + flow.down.lost).to_string(),
        ])
    });
    let head = Row::new(["", "inside", "outside", "up", "down", "lost"]);
    let widths = [4, 24, 24, 11, 11, 6].map(Constraint::Max);
    frame.render_widget(Table::new(rows, widths).header(head.style(Modifier::DIM)), area);
}

fn devices(frame: &mut Frame, area: Rect, history: &History) {
    let rates = history.flow_rates();
    let mut sums: BTreeMap<&str, (usize, [f64; 2], u64)> = BTreeMap::new();
    for flow in &history.newest().flows {
        let address = match flow.inside.rsplit_once(':') {
            Some((address, _)) if flow.protocol == "tcp" || flow.protocol == "udp" => address,
            _ => &flow.inside,
        };
        let (flows, rate, lost) = sums.entry(address).or_default();
        *flows += 1;
        let [up, down] = rates[&key(flow)];
        *rate = [rate[0] + up, rate[1] + down];
        *lost += flow.up.lost + flow.down.lost;
    }
    let rows = sums.into_iter().map(|(address, (flows, [up, down], lost))| {
        Row::new([address.to_owned(), flows.to_string(), bit_rate(up), bit_rate(down), lost.to_string()])
    });
    let head = Row::new(["device", "flows", "up", "down", "lost"]);
    let widths = [40, 6, 11, 11, 6].map(Constraint::Max);
    frame.render_widget(Table::new(rows, widths).header(head.style(Modifier::DIM)), area);
}

fn last_line(frame: &mut Frame, area: Rect, view: &View) {
    let line = match (&view.input, &view.message) {
        (Some(Input::Parameters(text)), _) => {
            Line::from(format!("{}: {text}_", view.chosen.name())).style(Style::new().fg(Color::Yellow))
        }
        (Some(Input::Profile { .. }), _) => Line::from("↑/↓ or first letters, Enter to switch, Esc to leave"),
        (None, Some(message)) => Line::from(message.clone()).style(Style::new().fg(Color::Yellow)),
        (None, None) => Line::from(KEYS).style(Modifier::DIM),
    };
    frame.render_widget(line, area);
}

/// Draws the list of profiles over everything else.
fn profiles(frame: &mut Frame, names: &[(String, String)], chosen: usize) {
    let area = frame.area();
    let (width, height) = (area.width.min(72), area.height.min(names.len() as u16 + 2));
    let area = Rect { x: (area.width - width) / 2, y: (area.height - height) / 2, width, height };
    // The chosen one stays visible.
    let rows = usize::from(height.saturating_sub(2)).max(1);
    let first = (chosen + 1).saturating_sub(rows);
    let lines: Vec<Line> = names
        .iter()
        .enumerate()
        .skip(first)
        .map(|(place, (name, title))| {
            let style =
                if place == chosen { Style::new().add_modifier(Modifier::REVERSED) } else { Style::new() };
            Line::from(format!("{name:<12} {title}")).style(style)
        })
        .collect();
    frame.render_widget(Clear, area);
    frame.render_widget(Paragraph::new(lines).block(Block::bordered().title(" profile ")), area);
}

/// Writes a rate with three digits.
fn bit_rate(bits: f64) -> String {
    let (value, unit) = match bits {
        bits if bits >= 1e9 => (bits / 1e9, "Gbit/s"),
        bits if bits >= 1e6 => (bits / 1e6, "Mbit/s"),
        bits if bits >= 1e3 => (bits / 1e3, "kbit/s"),
        bits => (bits, "bit/s"),
    };
    if unit == "bit/s" { format!("{value:.0} {unit}") } else { format!("{} {unit}", three_digits(value)) }
}

fn three_digits(value: f64) -> String {
    let digits = if value >= 100.0 {
        0
    } else if value >= 10.0 {
        1
    } else {
        2
    };
    format!("{value:.digits$}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::commands::watch::example;
    use ratatui::Terminal;
    use ratatui::backend::TestBackend;

    fn drawn(view: &View) -> String {
        let mut history = History::default();
        for tenth in 0..400 {
            history.add(example::status(tenth));
        }
        let mut terminal = Terminal::new(TestBackend::new(100, 30)).expect("a terminal");
        terminal.draw(|frame| draw(frame, &history, view)).expect("drawn");
        terminal.backend().to_string()
    }

    #[test]
    fn the_whole_screen() {
        insta::assert_snapshot!(drawn(&View::default()));
    }

    #[test]
    fn devices_and_a_parameter_that_is_being_written() {
        let input = Some(Input::Parameters("loss=1%".to_owned()));
        insta::assert_snapshot!(drawn(&View { shown: Shown::Devices, input, ..View::default() }));
    }

    #[test]
    fn profiles_are_a_list_over_the_rest() {
        let names = ["geo", "lte"].map(|name| (name.to_owned(), format!("Title of {name}"))).into();
        let input = Some(Input::Profile { names, chosen: 1, typed: String::new() });
        insta::assert_snapshot!(drawn(&View { input, ..View::default() }));
    }

    #[test]
    fn rates_have_three_digits() {
        let shown = [0.0, 999.0, 1234.0, 12_345.0, 123_456.0, 5.5e6, 1e9].map(bit_rate);
        let expected = [
            "0 bit/s",
            "999 bit/s",
            "1.23 kbit/s",
            "12.3 kbit/s",
            "123 kbit/s",
            "5.50 Mbit/s",
            "1.00 Gbit/s",
        ];
        assert_eq!(shown, expected);
        let tops = [0.0, 1.0, 1.2, 2.1, 9.5].map(|value| round_up(value).to_string());
        assert_eq!(tops, ["1", "1", "1.5", "3", "10"]);
    }
}
