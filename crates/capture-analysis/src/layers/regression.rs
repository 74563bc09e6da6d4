//! Lines through graphs by least squares, whose slopes are rates (Ludwig 3.2.4; LL-18).
//!
//! The slope of `TcpSnd_Ack` is the bandwidth available to the flow, that of `RlpSnd_Data` the rate
//! of RLP, that of `TcpRcv_Data` TCP's throughput.

use super::graph::{Graph, Point, Regression};

/// Fits a line through the points of `graph` from `from_ns` to `to_ns`; `None` if they have fewer
/// than two different times.
///
/// The line runs from the first to the last of these points. Times and bytes are taken relative to
/// their means, so that hours in nanoseconds keep their last digits.
#[must_use]
pub fn through(graph: &Graph, from_ns: i64, to_ns: i64) -> Option<Regression> {
    let first = graph.points.partition_point(|point| point.time_ns < from_ns);
    let behind = graph.points.partition_point(|point| point.time_ns <= to_ns);
    let points = graph.points.get(first..behind)?;
    let (from, to) = (points.first()?.time_ns, points.last()?.time_ns);
    if from == to {
        return None;
    }
    let count = points.len() as f64;
    let seconds = |point: &Point| (point.time_ns - from) as f64 / 1e9;
    let time = points.iter().map(seconds).sum::<f64>() / count;
    let bytes = points.iter().map(|point| point.bytes).sum::<f64>() / count;
    let together = |point: &Point| (seconds(point) - time) * (point.bytes - bytes);
    let apart = |point: &Point| (seconds(point) - time).powi(2);
    let slope = points.iter().map(together).sum::<f64>() / points.iter().map(apart).sum::<f64>();
    Some(Regression {
        label: graph.label.clone(),
        from_ns: from,
        to_ns: to,
        bytes: bytes - slope * time,
        slope,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::layers::graph::{Layer, Shape};
    use proptest::prelude::*;

    fn graph(points: Vec<Point>) -> Graph {
        Graph {
            label: "RlpSnd_Data".to_owned(),
            layer: Layer::LinkSender,
            shape: Shape::Dots,
            offset: 10_000.0,
            points,
        }
    }

    fn point(time_ns: i64, bytes: f64) -> Point {
        Point { time_ns, bytes }
    }

    /// By hand: (0, 0), (1, 1), (2, 5) has means 1 and 2, slope 5/2, and is -1/2 at 0.
    #[test]
    fn least_squares_by_hand() {
        let seconds = [(0, 0.0), (1, 1.0), (2, 5.0), (9, 99.0)];
        let graph = graph(seconds.map(|(time, bytes)| point(time * 1_000_000_000, bytes)).to_vec());
        let line = through(&graph, 0, 2_000_000_000).expect("three points");
        assert_eq!((line.from_ns, line.to_ns), (0, 2_000_000_000));
        assert!((line.slope - 2.5).abs() < 1e-12 && (line.bytes + 0.5).abs() < 1e-12, "{line:?}");
        assert_eq!(through(&graph, 0, 0), None, "one instant");
        assert_eq!(through(&graph, 3_000_000_000, 8_000_000_000), None, "nothing");
        assert_eq!(through(&graph, 8, 2), None, "no span");
    }

    proptest! {
        /// Points on a line give that line, for any start and length.
        #[test]
        fn a_line_is_found_again(start in 0_i64..1 << 50, step in 1_i64..1 << 32, count in 2_i64..200, slope in -1e6_f64..1e6) {
            let at = |place: i64| point(start + place * step, slope * (place * step) as f64 / 1e9);
            let line = through(&graph((0..count).map(at).collect()), i64::MIN, i64::MAX).expect("two points");
            prop_assert!((line.slope - slope).abs() <= 1e-6 * slope.abs().max(1.0), "{} {slope}", line.slope);
        }
    }
}
