//! Figures of the command line: lines over two axes, as one SVG file.
//!
//! The report draws its figures in its page; this module is for commands without a report. The
//! colours are those of Okabe and Ito, which readers with colour blindness can tell apart.

use crate::failure::Failure;
use plotters::prelude::*;
use std::ops::Range;
use std::path::Path;

const SIZE: (u32, u32) = (1000, 560);
/// Width of the legend in pixels. It is right of the axes, because inside them it would hide
/// points.
const LEGEND: u32 = 170;
/// Colours of the lines, in the order of the lines.
pub const COLOURS: [RGBColor; 7] = [
    RGBColor(0, 114, 178),
    RGBColor(213, 94, 0),
    RGBColor(0, 158, 115),
    RGBColor(204, 121, 167),
    RGBColor(86, 180, 233),
    RGBColor(230, 159, 0),
    RGBColor(0, 0, 0),
];

/// A figure: a title, two axes and lines.
#[derive(Debug, Clone, PartialEq)]
pub struct Figure {
    /// Title above the figure.
    pub title: String,
    /// Label of the horizontal axis, with its unit.
    pub horizontal: String,
    /// Label of the vertical axis, with its unit.
    pub vertical: String,
    /// Lines of the figure.
    pub lines: Vec<Line>,
}

/// A line, or a series of separate points.
#[derive(Debug, Clone, PartialEq)]
pub struct Line {
    /// Name in the legend.
    pub name: String,
    /// Points, from left to right.
    pub points: Vec<(f64, f64)>,
    /// Whether points are joined.
    pub joined: bool,
}

impl Figure {
    /// Writes the figure to `path` as SVG.
    pub fn write(&self, path: &Path) -> Result<(), Failure> {
        let text = self.svg()?;
        capture::output::write(path, text)
            .map_err(|error| format!("cannot write {}: {error}", path.display()).into())
    }

    /// Returns the SVG text.
    pub fn svg(&self) -> Result<String, Failure> {
        let mut text = String::new();
        // The error names the place of the failure; the backend that writes to memory has no errors
        // of its own.
        self.draw(&mut text).map_err(|error| format!("cannot draw the figure: {error}"))?;
        Ok(text)
    }

    fn draw(&self, text: &mut String) -> Result<(), Box<dyn std::error::Error>> {
        let area = SVGBackend::with_string(text, SIZE).into_drawing_area();
        area.fill(&WHITE)?;
        let alone = self.lines.len() <= 1;
        let (left, legend) = area.split_horizontally(SIZE.0 - if alone { 0 } else { LEGEND });
        let every = || self.lines.iter().flat_map(|line| line.points.iter());
        let (across, up) = (range(every().map(|point| point.0)), range(every().map(|point| point.1)));
        let mut chart = ChartBuilder::on(&left)
            .caption(&self.title, ("sans-serif", 18))
            .margin(12)
            .x_label_area_size(44)
            .y_label_area_size(64)
            .build_cartesian_2d(across, up)?;
        chart
            .configure_mesh()
            .light_line_style(TRANSPARENT)
            .bold_line_style(RGBColor(220, 220, 220))
            .x_desc(&self.horizontal)
            .y_desc(&self.vertical)
            .x_label_formatter(&label)
            .y_label_formatter(&label)
            .label_style(("sans-serif", 13))
            .axis_desc_style(("sans-serif", 14))
            .draw()?;
        // Vertical position in the legend, in pixels from the top.
        let mut row = 56;
        for (place, line) in self.lines.iter().enumerate() {
            let colour = COLOURS[place % COLOURS.len()];
            if line.joined {
                chart.draw_series(LineSeries::new(line.points.iter().copied(), colour.stroke_width(2)))?;
            } else {
                chart.draw_series(line.points.iter().map(|&point| Circle::new(point, 2, colour.filled())))?;
            }
            if !alone {
                legend.draw(&PathElement::new([(4, row), (24, row)], colour.stroke_width(3)))?;
                legend.draw(&Text::new(line.name.as_str(), (30, row - 7), ("sans-serif", 13)))?;
                row += 22;
            }
        }
        area.present()?;
        Ok(())
    }
}

/// Formats a number beside an axis, rounded to six decimals to hide rounding errors of its
/// position.
#[expect(clippy::trivially_copy_pass_by_ref, reason = "plotters asks for a function of a reference")]
pub fn label(value: &f64) -> String {
    ((value * 1e6).round() / 1e6).to_string()
}

/// Returns the range of an axis: all values with a small margin, from 0 if that costs little space.
fn range(values: impl Iterator<Item = f64>) -> Range<f64> {
    let (low, high) = values
        .filter(|value| value.is_finite())
        .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), value| (low.min(value), high.max(value)));
    if low > high {
        return 0.0..1.0;
    }
    let air = if high > low { (high - low) * 0.04 } else { high.abs().max(1.0) * 0.1 };
    let from = if low >= 0.0 && low < high / 2.0 { 0.0 } else { low - air };
    from..high + air
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(points: &[(f64, f64)], joined: bool) -> Line {
        Line { name: "a <b>".to_owned(), points: points.to_vec(), joined }
    }

    fn figure(lines: Vec<Line>) -> Figure {
        Figure { title: "t".to_owned(), horizontal: "x".to_owned(), vertical: "y".to_owned(), lines }
    }

    #[test]
    fn axes_hold_every_point() {
        assert_eq!(range([].into_iter()), 0.0..1.0);
        assert_eq!(range([1.0, 100.0].into_iter()), 0.0..103.96);
        assert_eq!(range([f64::NAN, 90.0, 100.0].into_iter()), 89.6..100.4);
        let one = range([5.0].into_iter());
        assert!(one.contains(&5.0) && one.start < one.end);
        assert!(range([-1.0, 1.0].into_iter()).contains(&-1.0));
    }

    #[test]
    fn a_figure_is_one_svg_with_names_and_lines() {
        let drawn = figure(vec![line(&[(1.0, 2.0), (3.0, 4.0)], true), line(&[(2.0, 3.0)], false)]);
        let text = drawn.svg().expect("it can be drawn");
        assert!(text.starts_with("<svg") && text.trim_end().ends_with("</svg>"));
        assert_eq!((label(&15.0), label(&0.300_000_000_01)), ("15".to_owned(), "0.3".to_owned()));
        assert!(text.contains("a &lt;b&gt;") && text.contains("polyline") && text.contains("circle"));
        assert!(figure(Vec::new()).svg().is_ok());
    }

    #[test]
    fn a_path_that_cannot_be_is_named() {
        let error = figure(Vec::new()).write(Path::new("/no/such/folder/x.svg")).expect_err("no folder");
        assert!(error.to_string().starts_with("cannot write /no/such/folder/x.svg: "));
    }
}
