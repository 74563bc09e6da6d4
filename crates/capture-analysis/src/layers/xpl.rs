//! A view as a file for xplot, whose graphs have their labels as titles; times in seconds since
//! time zero.

use super::graph::{Graph, Layer, Shape, View};
use crate::TraceError;
use capture::output;
use std::io::{self, BufWriter, Write};
use std::path::Path;

/// Writes the view to `path`, with the graphs' offsets.
///
/// # Errors
/// If the file cannot be written.
pub fn write(path: &Path, view: &View) -> Result<(), TraceError> {
    let draw = || {
        let mut output = BufWriter::new(output::create(path)?);
        draw(&mut output, view)?;
        output.flush()
    };
    draw().map_err(TraceError::write(path))
}

fn draw(output: &mut impl Write, view: &View) -> io::Result<()> {
    // Times before zero, which occur with other clocks, need a sign.
    writeln!(output, "dtime signed\ntitle\n{}\nxlabel\nseconds\nylabel\nbytes", view.title)?;
    for graph in &view.graphs {
        one(output, graph)?;
    }
    for line in &view.regressions {
        let offset =
            view.graphs.iter().find(|graph| graph.label == line.label).map_or(0.0, |graph| graph.offset);
        let end = line.bytes + line.slope * (line.to_ns - line.from_ns) as f64 / 1e9;
        let (from, to) = (seconds(line.from_ns), seconds(line.to_ns));
        writeln!(output, "white\nline {from} {:.0} {to} {:.0}", line.bytes + offset, end + offset)?;
        writeln!(output, "rtext {to} {:.0}\n{} {:.1} bytes/s", end + offset, line.label, line.slope)?;
    }
    writeln!(output, "go")
}

fn one(output: &mut impl Write, graph: &Graph) -> io::Result<()> {
    let colour = match (graph.layer, graph.shape) {
        (Layer::LinkSender | Layer::LinkReceiver, Shape::Dots) => "yellow",
        (Layer::LinkSender | Layer::LinkReceiver | Layer::Lost, _) => "red",
        (Layer::TcpSender, Shape::Dots) => "blue",
        (Layer::TcpSender, _) => "green",
        (Layer::TcpReceiver, Shape::Dots) => "magenta",
        (Layer::TcpReceiver, _) => "orange",
        (Layer::SenderState, _) => "purple",
    };
    writeln!(output, "{colour}")?;
    let at = |place: usize| {
        let point = graph.points[place];
        (seconds(point.time_ns), format!("{:.0}", point.bytes + graph.offset))
    };
    for place in 0..graph.points.len() {
        let (time, bytes) = at(place);
        match graph.shape {
            _ if graph.layer == Layer::Lost => writeln!(output, "x {time} {bytes}")?,
            Shape::Dots => writeln!(output, "dot {time} {bytes}")?,
            Shape::Crosses => writeln!(output, "plus {time} {bytes}")?,
            Shape::Marks => writeln!(output, "x {time} {bytes}")?,
            Shape::Steps if place > 0 => {
                let (before, held) = at(place - 1);
                writeln!(output, "line {before} {held} {time} {held}\nline {time} {held} {time} {bytes}")?;
            }
            Shape::Steps => {}
        }
    }
    if let Some(last) = graph.points.len().checked_sub(1) {
        let (time, bytes) = at(last);
        writeln!(output, "rtext {time} {bytes}\n{}", graph.label)?;
    }
    Ok(())
}

fn seconds(nanos: i64) -> String {
    let sign = if nanos < 0 { "-" } else { "" };
    let micros = nanos.unsigned_abs() / 1000;
    format!("{sign}{}.{:06}", micros / 1_000_000, micros % 1_000_000)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::layers::graph::{Point, Regression};

    #[test]
    fn graphs_are_drawn_with_their_offsets() {
        let graph = |label: &str, shape, points: &[(i64, f64)]| Graph {
            label: label.to_owned(),
            layer: Layer::TcpSender,
            shape,
            offset: 10.0,
            points: points.iter().map(|&(time_ns, bytes)| Point { time_ns, bytes }).collect(),
        };
        let view = View {
            title: "t".to_owned(),
            graphs: vec![
                graph("d", Shape::Dots, &[(-1_500_000_000, 1.0), (2_000_000_000, 2.0)]),
                graph("s", Shape::Steps, &[(0, 1.0), (1000, 5.0)]),
            ],
            regressions: vec![Regression {
                label: "d".to_owned(),
                from_ns: 0,
                to_ns: 2_000_000_000,
                bytes: 1.0,
                slope: 3.0,
            }],
            notes: Vec::new(),
        };
        let mut text = Vec::new();
        draw(&mut text, &view).expect("memory");
        let text = String::from_utf8(text).expect("text");
        let expected = "dtime signed\ntitle\nt\nxlabel\nseconds\nylabel\nbytes\n\
            blue\ndot -1.500000 11\ndot 2.000000 12\nrtext 2.000000 12\nd\n\
            green\nline 0.000000 11 0.000001 11\nline 0.000001 11 0.000001 15\nrtext 0.000001 15\ns\n\
            white\nline 0.000000 11 2.000000 17\nrtext 2.000000 17\nd 3.0 bytes/s\ngo\n";
        assert_eq!(text, expected);
    }
}
