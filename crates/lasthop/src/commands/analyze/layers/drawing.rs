//! A view as SVG: every graph by its label, the requested window, slopes, and the sender's times
//! below.
//!
//! Of points that cover each other only one is drawn, so the file stays small for connections of
//! any length.

use crate::failure::Failure;
use crate::figure::{COLOURS, label};
use capture_analysis::layers::Tracing;
use capture_analysis::layers::graph::{Graph, Layer, Shape};
use capture_analysis::layers::sender::Timing;
use plotters::coord::Shift;
use plotters::coord::types::RangedCoordf64;
use plotters::prelude::*;
use rustc_hash::FxHashSet;
use std::error::Error;
use std::ops::Range;
use std::path::Path;

type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;
type Chart<'a> = ChartContext<'a, SVGBackend<'a>, Cartesian2d<RangedCoordf64, RangedCoordf64>>;

const WIDTH: u32 = 1100;
/// Heights of the graphs over bytes, and of the times below them, in pixels.
const HEIGHTS: [u32; 2] = [600, 220];
/// Width of the area right of the axes for labels and slopes, in pixels.
const LEGEND: u32 = 210;
/// Distance between two labels of a legend, in pixels.
const ROW: i32 = 22;
/// Graphs with fewer points have larger dots.
const FEW: usize = 150;
/// Half the size of a cross, in pixels.
const CROSS: i32 = 3;

/// Writes the figure. `span` is the time span to show, in nanoseconds since time zero.
pub fn write(path: &Path, tracing: &Tracing, span: Option<(i64, i64)>) -> Result<(), Failure> {
    let text = svg(tracing, span).map_err(|error| format!("cannot draw the figure: {error}"))?;
    capture::output::write(path, text)
        .map_err(|error| format!("cannot write {}: {error}", path.display()).into())
}

fn svg(tracing: &Tracing, span: Option<(i64, i64)>) -> Result<String, Box<dyn Error>> {
    let across = horizontal(tracing, span);
    let timings = &tracing.timings;
    let times = [("RTT", &timings.rtt, false), ("SRTT", &timings.srtt, true), ("RTO", &timings.rto, true)];
    let has_times = times.iter().any(|(_, times, _)| !times.is_empty());
    let height = if has_times { HEIGHTS[0] + HEIGHTS[1] } else { HEIGHTS[0] };
    let mut text = String::new();
    {
        let area = SVGBackend::with_string(&mut text, (WIDTH, height)).into_drawing_area();
        area.fill(&WHITE)?;
        let (upper, lower) = area.split_vertically(HEIGHTS[0]);
        bytes(&upper, tracing, &across, span.is_some_and(|span| span.0 > 0))?;
        if has_times {
            seconds(&lower, &times, &across)?;
        }
        area.present()?;
    }
    // Both are SVG's defaults.
    Ok(text.replace(" opacity=\"1\"", "").replace(" stroke-width=\"1\"", ""))
}

/// Draws the graphs over bytes, without the sender's windows if the span starts after time zero.
fn bytes(
    area: &Area<'_>,
    tracing: &Tracing,
    across: &Range<f64>,
    zoomed: bool,
) -> Result<(), Box<dyn Error>> {
    let view = &tracing.view;
    let shown = |graph: &Graph| -> Vec<(f64, f64)> {
        let points =
            graph.points.iter().map(|point| (point.time_ns as f64 / 1e9, point.bytes + graph.offset));
        within(points, across, graph.shape == Shape::Steps)
    };
    let mut graphs: Vec<(&Graph, Vec<(f64, f64)>)> =
        view.graphs.iter().map(|graph| (graph, shown(graph))).collect();
    if zoomed {
        // By then windows are far below the stream.
        graphs.retain(|(graph, _)| graph.layer != Layer::SenderState);
    }
    let is_value = |graph: &Graph| graph.shape != Shape::Marks;
    let heights = graphs
        .iter()
        .filter(|(graph, _)| is_value(graph))
        .flat_map(|(_, points)| points)
        .map(|point| point.1);
    let up = heights
        .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), height| (low.min(height), high.max(height)));
    let air = ((up.1 - up.0) * 0.03).max(1.0);
    let up = if up.0 > up.1 { 0.0..1.0 } else { (up.0 - air).min(up.0)..up.1 + air };
    let (left, legend) = area.split_horizontally(WIDTH - LEGEND);
    let mut chart = axes(&left, Some(&view.title), across, up.clone(), "bytes")?;
    // Slopes are drawn behind the points.
    let below = graphs.iter().fold(60, |row, _| row + ROW);
    slopes(&mut chart, &legend, tracing, below)?;
    let mut row = 46;
    for (graph, points) in &graphs {
        let colour = colour(&graph.label);
        let pixels = if graph.shape == Shape::Crosses { CROSS as u32 } else { 2 };
        let points = apart(points, across, &up, coarse(left.dim_in_pixel(), pixels));
        match graph.shape {
            Shape::Dots => {
                let radius = if points.len() < FEW { 2 } else { 1 };
                chart.draw_series(points.iter().map(|&point| Circle::new(point, radius, colour.filled())))?;
                legend.draw(&Circle::new((14, row), 3, colour.filled()))?;
            }
            Shape::Crosses => {
                chart.draw_series(points.iter().map(|&point| Cross::new(point, CROSS, colour)))?;
                legend.draw(&Cross::new((14, row), CROSS + 1, colour.stroke_width(2)))?;
            }
            Shape::Steps => {
                chart.draw_series(LineSeries::new(stairs(&points), colour.stroke_width(1)))?;
                legend.draw(&PathElement::new([(4, row), (24, row)], colour.stroke_width(2)))?;
            }
            Shape::Marks => {
                let bar = |point: &(f64, f64)| {
                    PathElement::new([(point.0, up.start), (point.0, up.end)], colour.mix(0.5))
                };
                chart.draw_series(points.iter().map(bar))?;
                legend.draw(&PathElement::new([(14, row - 7), (14, row + 7)], colour.stroke_width(2)))?;
            }
        }
        legend.draw(&Text::new(graph.label.as_str(), (32, row - 7), ("sans-serif", 13)))?;
        row += ROW;
    }
    Ok(())
}

/// Draws straight lines through graphs, and their rates in the legend.
fn slopes(
    chart: &mut Chart<'_>,
    legend: &Area<'_>,
    tracing: &Tracing,
    mut row: i32,
) -> Result<(), Box<dyn Error>> {
    for line in &tracing.view.regressions {
        let graph = tracing.view.graphs.iter().find(|graph| graph.label == line.label);
        let offset = graph.map_or(0.0, |graph| graph.offset);
        let seconds = |nanos: i64| nanos as f64 / 1e9;
        let rise = line.slope * seconds(line.to_ns - line.from_ns);
        let ends =
            [(seconds(line.from_ns), line.bytes + offset), (seconds(line.to_ns), line.bytes + rise + offset)];
        chart.draw_series([PathElement::new(ends, BLACK.mix(0.45).stroke_width(1))])?;
        legend.draw(&Text::new(line.label.as_str(), (4, row), ("sans-serif", 13)))?;
        legend.draw(&Text::new(format!("{:.1} bytes/s", line.slope), (100, row), ("sans-serif", 13)))?;
        row += 18;
    }
    Ok(())
}

/// Draws the sender's times.
fn seconds(
    area: &Area<'_>,
    times: &[(&str, &Vec<Timing>, bool)],
    across: &Range<f64>,
) -> Result<(), Box<dyn Error>> {
    let shown = |times: &[Timing], holds: bool| -> Vec<(f64, f64)> {
        let points = times.iter().map(|timing| (timing.time_ns as f64 / 1e9, timing.us as f64 / 1e6));
        within(points, across, holds)
    };
    let lines: Vec<Vec<(f64, f64)>> = times.iter().map(|(_, times, holds)| shown(times, *holds)).collect();
    let highest = lines.iter().flatten().map(|point| point.1).fold(0.0, f64::max);
    let up = 0.0..(highest * 1.05).max(1e-6);
    let (left, legend) = area.split_horizontally(WIDTH - LEGEND);
    let mut chart = axes(&left, None, across, up.clone(), "seconds")?;
    let mut row = 20;
    for (((name, _, holds), points), colour) in times.iter().zip(&lines).zip(COLOURS) {
        if points.is_empty() {
            continue;
        }
        let points = apart(points, across, &up, coarse(left.dim_in_pixel(), 2));
        if *holds {
            chart.draw_series(LineSeries::new(stairs(&points), colour.stroke_width(1)))?;
            legend.draw(&PathElement::new([(4, row), (24, row)], colour.stroke_width(2)))?;
        } else {
            chart.draw_series(points.iter().map(|&point| Circle::new(point, 1, colour.filled())))?;
            legend.draw(&Circle::new((14, row), 3, colour.filled()))?;
        }
        legend.draw(&Text::new(*name, (32, row - 7), ("sans-serif", 13)))?;
        row += ROW;
    }
    Ok(())
}

fn axes<'a>(
    area: &Area<'a>,
    title: Option<&str>,
    across: &Range<f64>,
    up: Range<f64>,
    unit: &str,
) -> Result<Chart<'a>, Box<dyn Error>> {
    let mut chart = ChartBuilder::on(area);
    chart.margin(10).x_label_area_size(40).y_label_area_size(70);
    if let Some(title) = title {
        chart.caption(title, ("sans-serif", 13));
    }
    let mut chart = chart.build_cartesian_2d(across.clone(), up)?;
    chart
        .configure_mesh()
        .light_line_style(TRANSPARENT)
        .bold_line_style(RGBColor(225, 225, 225))
        .x_desc("seconds since time zero")
        .y_desc(unit)
        .x_label_formatter(&label)
        .y_label_formatter(&label)
        .label_style(("sans-serif", 13))
        .axis_desc_style(("sans-serif", 14))
        .draw()?;
    Ok(chart)
}

/// Returns the range of the horizontal axis: the requested span as far as there is data, or all
/// data.
fn horizontal(tracing: &Tracing, span: Option<(i64, i64)>) -> Range<f64> {
    let values = tracing.view.graphs.iter().filter(|graph| graph.shape != Shape::Steps);
    let times = || values.clone().flat_map(|graph| &graph.points).map(|point| point.time_ns);
    let (first, last) = (times().min().unwrap_or(0).min(0), times().max().unwrap_or(1));
    let (from, to) = span.unwrap_or((first, last));
    let (from, to) = (from as f64 / 1e9, to.min(last) as f64 / 1e9);
    if to > from { from..to + (to - from) * 0.01 } else { from..from + 1.0 }
}

/// Returns the points in the range. A value that holds (a step) starts at the range's start if it
/// was set before, and ends at the range's end if it changes afterwards.
fn within(points: impl Iterator<Item = (f64, f64)>, across: &Range<f64>, holds: bool) -> Vec<(f64, f64)> {
    let mut shown: Vec<(f64, f64)> = Vec::new();
    let mut before = None;
    for point in points {
        if across.contains(&point.0) {
            shown.extend(before.take());
            shown.push(point);
        } else if holds && point.0 < across.start {
            before = Some((across.start, point.1));
        } else if holds {
            shown.extend(before.take());
            let last = shown.last().map(|last| (across.end, last.1));
            shown.extend(last);
            break;
        }
    }
    shown.extend(before);
    shown
}

/// Returns the number of cells of this width and height in pixels.
const fn coarse(size: (u32, u32), pixels: u32) -> (u32, u32) {
    (size.0 / pixels, size.1 / pixels)
}

/// Returns points of which each is in a cell of its own, plus the first and the last point.
fn apart(points: &[(f64, f64)], across: &Range<f64>, up: &Range<f64>, cells: (u32, u32)) -> Vec<(f64, f64)> {
    let cell = |value: f64, range: &Range<f64>, count: u32| {
        ((value - range.start) / (range.end - range.start) * f64::from(count)) as i64
    };
    let mut taken = FxHashSet::default();
    let last = points.len().saturating_sub(1);
    let is_new = |(place, point): &(usize, &(f64, f64))| {
        taken.insert((cell(point.0, across, cells.0), cell(point.1, up, cells.1))) || *place == last
    };
    points.iter().enumerate().filter(is_new).map(|(_, point)| *point).collect()
}

/// Returns the corners of a staircase in which each value holds until the next.
fn stairs(points: &[(f64, f64)]) -> Vec<(f64, f64)> {
    let mut corners = Vec::new();
    for &(time, value) in points {
        if let Some(&(_, held)) = corners.last() {
            corners.push((time, held));
        }
        corners.push((time, value));
    }
    corners
}

/// Returns the colour of a label. Labels of the same layer have similar colours; all are from the
/// palette of Okabe and Ito.
fn colour(label: &str) -> RGBColor {
    let [blue, vermilion, green, purple, sky, orange, black] = COLOURS;
    match label {
        "RlpSnd_Data" => vermilion,
        "TcpSnd_Data" => blue,
        "TcpSnd_Ack" => sky,
        "TcpRcv_Data" => green,
        "TcpRcv_Ack" | "RlpRcv_XON" => orange,
        "TcpSnd_cwnd" | "RlpRcv_XOFF" => purple,
        "TcpSnd_ssthresh" => RGBColor(130, 130, 130),
        _ => black,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_point_a_cell_is_drawn_and_the_last() {
        let points: Vec<(f64, f64)> = (0..1000).map(|place| (f64::from(place), 5.0)).collect();
        let kept = apart(&points, &(0.0..1000.0), &(0.0..10.0), (100, 100));
        assert_eq!(kept.len(), 101);
        assert_eq!((kept[0], kept[100]), ((0.0, 5.0), (999.0, 5.0)));
        assert_eq!(apart(&[], &(0.0..1.0), &(0.0..1.0), (9, 9)), []);
    }

    #[test]
    fn what_is_shown_is_within_the_window() {
        let points = || [(0.0, 1.0), (1.0, 2.0), (5.0, 3.0), (9.0, 4.0)].into_iter();
        assert_eq!(within(points(), &(2.0..8.0), false), [(5.0, 3.0)]);
        assert_eq!(within(points(), &(2.0..8.0), true), [(2.0, 2.0), (5.0, 3.0), (8.0, 3.0)]);
        assert_eq!(within(points(), &(6.0..8.0), true), [(6.0, 3.0), (8.0, 3.0)]);
        assert_eq!(within(points(), &(10.0..12.0), true), [(10.0, 4.0)]);
    }

    #[test]
    fn a_value_holds_until_the_next() {
        assert_eq!(stairs(&[(0.0, 1.0), (2.0, 5.0)]), [(0.0, 1.0), (2.0, 1.0), (2.0, 5.0)]);
    }
}
