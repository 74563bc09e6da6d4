//! Properties for any window of any graph: the levels give the same picture as all points, to a
//! pixel, with a bounded number of points.

use super::super::grid::Grid;
use super::super::whole::{Points, Whole};
use super::{Level, TILE, levels};
use capture_analysis::layers::graph::Shape;
use proptest::prelude::*;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use std::collections::HashSet;

/// Kind of a graph.
#[derive(Debug, Clone, Copy)]
enum GraphShape {
    /// Points anywhere.
    Plane,
    /// Bytes grow with time, and sometimes go back.
    Ramp,
    /// Clumps far apart, with many points at one instant.
    Clumps,
}

fn graph(kind: GraphShape, count: usize, seed: u64) -> Points {
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let (mut time, mut value) = (-5_000_000_i64, 0_i64);
    let point = |_| {
        match kind {
            GraphShape::Plane => {
                time += random.random_range(0..2_000_000);
                value = random.random_range(-500_000..500_000);
            }
            GraphShape::Ramp => {
                time += random.random_range(1_000..1_000_000);
                value += if random.random_bool(0.01) { -4_600 } else { 460 };
            }
            GraphShape::Clumps => {
                time += if random.random_bool(0.002) { 1_000_000_000 } else { random.random_range(0..3) };
                value += random.random_range(-3..4);
            }
        }
        Whole { time, value }
    };
    Points { unit: 0, points: (0..count).map(point).collect() }
}

/// A window and the size of its pixels.
#[derive(Debug, Clone, Copy)]
struct Window {
    from: f64,
    low: f64,
    pixel_ns: f64,
    pixel_bytes: f64,
    columns: i64,
    rows: i64,
}

impl Window {
    /// Returns a part of the whole: where it begins and its size are shares of the whole.
    fn of(
        points: &Points,
        (x, y): (f64, f64),
        (wide, high): (f64, f64),
        (columns, rows): (i64, i64),
    ) -> Self {
        let span = |of: fn(&Whole) -> i64| {
            let all = || points.points.iter().map(of);
            let (low, high) = (all().min().unwrap_or(0) as f64, all().max().unwrap_or(0) as f64);
            (low, (high - low).max(1.0))
        };
        let (time, value) = (span(|point| point.time), span(|point| point.value));
        Self {
            from: time.0 + x * time.1,
            low: value.0 + y * value.1,
            pixel_ns: time.1 * wide / columns as f64,
            pixel_bytes: value.1 * high / rows as f64,
            columns,
            rows,
        }
    }

    fn pixel(&self, point: Whole) -> (i64, i64) {
        let column = (point.time as f64 - self.from) / self.pixel_ns;
        (column.floor() as i64, ((point.value as f64 - self.low) / self.pixel_bytes).floor() as i64)
    }

    fn holds(&self, (column, row): (i64, i64)) -> bool {
        (0..self.columns).contains(&column) && (0..self.rows).contains(&row)
    }
}

/// Returns the points of all levels that a drawing of `level` needs, in order.
fn needed(points: &Points, levels: &[Level], level: i32) -> Vec<Whole> {
    let chosen = levels.iter().filter(|known| known.level.is_none_or(|known| known >= level));
    let mut places: Vec<u32> = chosen.flat_map(|level| level.places.iter().copied()).collect();
    places.sort_unstable();
    places.into_iter().map(|place| points.points[place as usize]).collect()
}

/// Returns the lowest and the highest value of a line in each column from -1 to `columns`: of the
/// value that it has at the left edge, and of the points there.
fn columns(window: &Window, points: &[Whole]) -> Vec<Option<(i64, i64)>> {
    let mut columns: Vec<Option<(i64, i64)>> = vec![None; window.columns as usize + 2];
    let mut next = 0;
    let mut level: Option<i64> = None;
    for (column, range) in (-1..).zip(&mut columns) {
        while next < points.len() && window.pixel(points[next]).0 < column {
            level = Some(points[next].value);
            next += 1;
        }
        *range = level.map(|level| (level, level));
        while next < points.len() && window.pixel(points[next]).0 == column {
            let value = points[next].value;
            *range = Some(range.map_or((value, value), |(low, high)| (low.min(value), high.max(value))));
            level = Some(value);
            next += 1;
        }
    }
    columns
}

/// Checks that each column of `one` is within `other`'s columns beside it.
fn within(one: &[Option<(i64, i64)>], other: &[Option<(i64, i64)>]) -> Result<(), TestCaseError> {
    for place in 1..one.len() - 1 {
        let Some((low, high)) = one[place] else { continue };
        let beside: Vec<_> = other[place - 1..=place + 1].iter().flatten().collect();
        let lowest = beside.iter().map(|range| range.0).min();
        let highest = beside.iter().map(|range| range.1).max();
        prop_assert!(
            lowest <= Some(low) && highest >= Some(high),
            "column {}: {:?} beside {:?}",
            place,
            one[place],
            beside
        );
    }
    Ok(())
}

fn kinds() -> impl Strategy<Value = GraphShape> {
    prop::sample::select(vec![GraphShape::Plane, GraphShape::Ramp, GraphShape::Clumps])
}

/// Shares from the whole down to a millionth, at the same scale in both axes or not.
fn shares() -> impl Strategy<Value = (f64, f64)> {
    (0.0..6.0_f64, prop_oneof![Just(0.0), -2.0..2.0_f64])
        .prop_map(|(zoom, skew)| (0.1_f64.powf(zoom).min(1.0), 0.1_f64.powf((zoom + skew).max(0.0))))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    /// Each pixel that all points set is at most a pixel away from one that the levels set, and the
    /// number of points is bounded.
    #[test]
    fn dots_are_where_all_points_would_be(
        kind in kinds(), count in 1_usize..40_000, seed: u64, at in (0.0..1.0, 0.0..1.0), shares in shares(), pixels in (20_i64..900, 20_i64..600),
    ) {
        let points = graph(kind, count, seed);
        let window = Window::of(&points, at, shares, pixels);
        let grid = Grid::of(4e10, 4e6);
        let levels = levels(&points, Shape::Dots, grid);
        let level = grid.level(window.pixel_ns, Some(window.pixel_bytes));
        let chosen = needed(&points, &levels, level);
        let set: HashSet<_> = chosen.iter().map(|&point| window.pixel(point)).collect();
        for &point in &points.points {
            let (column, row) = window.pixel(point);
            let near = || (-1..=1).any(|x| (-1..=1).any(|y| set.contains(&(column + x, row + y))));
            prop_assert!(!window.holds((column, row)) || near(), "nothing near {:?}", point);
        }

        let cells = |size: f64, bits: i32| (size / f64::from(bits.max(0)).exp2()).floor() + 2.0;
        let across = cells(window.pixel_ns * window.columns as f64, level);
        let up = cells(window.pixel_bytes * window.rows as f64, level + grid.ratio);
        let inside = chosen.iter().filter(|&&point| window.holds(window.pixel(point))).count();
        prop_assert!(inside as f64 <= across * up + ((levels.len() + 1) * TILE) as f64, "{} of {} x {}", inside, across, up);
    }

    /// In each column a line of steps reaches as far down and up as the line through all points, to
    /// a column.
    #[test]
    fn steps_are_as_high_and_low_as_all_points(
        kind in kinds(), count in 1_usize..40_000, seed: u64, at in 0.0..1.0_f64, share in 0.0..6.0_f64, wide in 20_i64..900,
    ) {
        let points = graph(kind, count, seed);
        let window = Window::of(&points, (at, 0.0), (0.1_f64.powf(share), 1.0), (wide, 100));
        let grid = Grid::of(4e10, 4e6);
        let levels = levels(&points, Shape::Steps, grid);
        let chosen = needed(&points, &levels, grid.level(window.pixel_ns, None));
        let (all, drawn) = (columns(&window, &points.points), columns(&window, &chosen));
        within(&all, &drawn)?;
        within(&drawn, &all)?;
        let inside = chosen.iter().filter(|&&point| (0..wide).contains(&window.pixel(point).0)).count();
        prop_assert!(inside <= 4 * (2 * wide as usize + 2) + (levels.len() + 1) * TILE);
    }

    /// Each mark has a drawn mark within a column.
    #[test]
    fn marks_are_where_all_points_would_be(kind in kinds(), count in 1_usize..20_000, seed: u64, share in 0.0..6.0_f64) {
        let points = graph(kind, count, seed);
        let window = Window::of(&points, (0.3, 0.0), (0.1_f64.powf(share), 1.0), (300, 100));
        let grid = Grid::of(4e10, 4e6);
        let levels = levels(&points, Shape::Marks, grid);
        let chosen = needed(&points, &levels, grid.level(window.pixel_ns, None));
        let set: HashSet<_> = chosen.iter().map(|&point| window.pixel(point).0).collect();
        for &point in &points.points {
            let (column, _) = window.pixel(point);
            let near = (-1..=1).any(|x| set.contains(&(column + x)));
            prop_assert!(!(0..300).contains(&column) || near, "nothing near {:?}", point);
        }
    }

    /// All levels together have all points, each once, for any unit.
    #[test]
    fn all_levels_together_are_all_points(kind in kinds(), count in 1_usize..20_000, seed: u64, unit in prop::sample::select(vec![0, -8]), ratio in -30..6) {
        let points = Points { unit, ..graph(kind, count, seed) };
        let levels = levels(&points, Shape::Dots, Grid { ratio });
        let mut found: Vec<Whole> =
            levels.iter().flat_map(|level| &level.places).map(|&place| points.points[place as usize]).collect();
        found.sort_unstable();
        let mut all = points.points.clone();
        all.sort_unstable();
        all.dedup();
        prop_assert_eq!(found, all);
        for level in &levels {
            prop_assert!(level.places.is_sorted(), "tiles are in order of time");
        }
        // The coarsest level is drawn first, and finer levels follow in order.
        prop_assert!(levels[0].level.is_none() && levels[0].places.len() <= 2 * TILE);
        prop_assert!(levels[1..].is_sorted_by_key(|level| std::cmp::Reverse(level.level)));
        prop_assert!(levels[1..].iter().all(|level| level.places.len() >= TILE));
    }
}
