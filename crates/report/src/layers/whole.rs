//! Points as whole numbers: nanoseconds, and bytes or 256ths of a byte. They are in the order of
//! time, without those that cannot be drawn.

use capture_analysis::layers::graph::Point;

/// Values of a graph that has fractions of bytes are rounded to 2^`FRACTION` bytes.
const FRACTION: i32 = -8;

/// A point.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Whole {
    /// Nanoseconds since time zero.
    pub(super) time: i64,
    /// Value in units of the graph.
    pub(super) value: i64,
}

/// The points of a graph.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Points {
    /// A value's unit is 2^`unit` bytes.
    pub(super) unit: i32,
    pub(super) points: Vec<Whole>,
}

impl Points {
    /// Converts points; those whose value is not finite are left out, since they have no place.
    pub(super) fn of(points: &[Point]) -> Self {
        let finite = || points.iter().filter(|point| point.bytes.is_finite());
        let whole = finite().all(|point| point.bytes.fract() == 0.0);
        let unit = if whole { 0 } else { FRACTION };
        let scale = f64::from(-unit).exp2();
        let at = |point: &Point| Whole { time: point.time_ns, value: (point.bytes * scale).round() as i64 };
        let mut points: Vec<Whole> = finite().map(at).collect();
        if !points.is_sorted_by_key(|point| point.time) {
            points.sort_by_key(|point| point.time);
        }
        Self { unit, points }
    }

    /// Returns the bytes in one unit.
    pub(super) fn bytes(&self) -> f64 {
        f64::from(self.unit).exp2()
    }
}

/// First and last time, lowest and highest value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Extent {
    pub(super) from: i64,
    pub(super) to: i64,
    pub(super) low: i64,
    pub(super) high: i64,
}

impl Extent {
    /// Returns the extent of points in the order of time; `None` without any.
    pub(super) fn of(points: impl IntoIterator<Item = Whole>) -> Option<Self> {
        let one = |Whole { time, value }| Self { from: time, to: time, low: value, high: value };
        points.into_iter().map(one).reduce(|all, next| Self {
            from: all.from,
            to: next.to,
            low: all.low.min(next.low),
            high: all.high.max(next.high),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn points(all: &[(i64, f64)]) -> Points {
        Points::of(&all.iter().map(|&(time_ns, bytes)| Point { time_ns, bytes }).collect::<Vec<_>>())
    }

    #[test]
    fn whole_bytes_stay_whole_and_fractions_are_rounded_to_256ths() {
        let whole = points(&[(0, 460.0), (5, -1.0)]);
        assert_eq!((whole.unit, whole.points[1]), (0, Whole { time: 5, value: -1 }));
        let parts = points(&[(0, 0.5), (5, 1.0)]);
        assert_eq!((parts.unit, parts.points[0].value, parts.points[1].value), (-8, 128, 256));
        assert!((parts.bytes() * 128.0 - 0.5).abs() < f64::EPSILON);
    }

    #[test]
    fn what_has_no_place_is_left_out_and_times_are_put_in_order() {
        let kept = points(&[(9, 3.0), (1, f64::INFINITY), (4, f64::NAN), (2, 7.0)]);
        assert_eq!(kept.points, [Whole { time: 2, value: 7 }, Whole { time: 9, value: 3 }]);
    }

    #[test]
    fn an_extent_holds_all() {
        let all = points(&[(1, 5.0), (2, -3.0), (8, 4.0)]);
        assert_eq!(Extent::of(all.points), Some(Extent { from: 1, to: 8, low: -3, high: 5 }));
        assert_eq!(Extent::of([]), None);
    }
}
