//! Thinning: reduces a graph of any length to a bounded number of points without changing its look.
//!
//! Important points (retransmissions, filled holes, probes, third duplicates, closed windows, lost
//! data) stay, as long as they are at most half of the limit. For the other points, time is cut
//! into slices; the first, the last, the lowest and the highest point of each slice stay. A line
//! through these points covers the same pixels as a line through all points (M4; Jugel, Jerzak,
//! Hackenbroich and Markl, VLDB 2014). If there are too many important points, they are thinned in
//! the same way, on their own. Slices are widened until the points are within the limit.

/// Smallest limit.
pub const LEAST: usize = 16;

/// A point that can be left out.
pub trait Point: Clone {
    /// Returns its time, in nanoseconds.
    fn time(&self) -> u64;
    /// Returns its height in the graph.
    fn value(&self) -> u64;
    /// Returns whether it is important, so that it stays if possible.
    fn matters(&self) -> bool;
}

/// Points in the order of their times, thinned to a limit.
#[derive(Debug, Clone)]
pub struct Thinned<T> {
    points: Vec<T>,
    limit: usize,
    /// Width of a slice in nanoseconds.
    width: u64,
    total: u64,
}

impl<T: Point> Thinned<T> {
    /// Creates an empty series that ends up with at most `limit` points.
    #[must_use]
    pub fn new(limit: usize) -> Self {
        Self { points: Vec::new(), limit: limit.max(LEAST), width: 1, total: 0 }
    }

    /// Adds a point.
    pub fn add(&mut self, point: T) {
        self.total += 1;
        self.points.push(point);
        if self.points.len() >= self.limit.saturating_mul(2) {
            self.thin();
        }
    }

    /// Returns the points that are left, and the number of points that were added.
    #[must_use]
    pub fn finish(mut self) -> (Vec<T>, u64) {
        if self.points.len() > self.limit {
            self.thin();
        }
        (self.points, self.total)
    }

    fn thin(&mut self) {
        let times = self.points.iter().map(Point::time);
        let (first, last) = (times.clone().min().unwrap_or(0), times.max().unwrap_or(0));
        let count = self.points.iter().filter(|point| point.matters()).count();
        let spare = count <= self.limit / 2;
        self.width = self.width.max((last - first) / self.limit as u64).max(1);
        loop {
            let kept = keep(&self.points, first, self.width, spare);
            let mut kept = kept.iter();
            self.points.retain(|_| *kept.next().expect("one for each point"));
            if self.points.len() <= self.limit {
                return;
            }
            self.width = self.width.saturating_mul(2);
        }
    }
}

/// Returns which points stay, with slices of `width` that start at `start`.
fn keep<T: Point>(points: &[T], start: u64, width: u64, spare: bool) -> Vec<bool> {
    /// Slice, first, last, lowest and highest point.
    type Slice = (u64, [usize; 4]);
    let mut kept = vec![false; points.len()];
    // Important points are thinned on their own.
    let mut slices: [Option<Slice>; 2] = [None, None];
    let close = |slice: &Option<Slice>, kept: &mut Vec<bool>| {
        for index in slice.iter().flat_map(|slice| slice.1) {
            kept[index] = true;
        }
    };
    for (index, point) in points.iter().enumerate() {
        if point.matters() && spare {
            kept[index] = true;
            continue;
        }
        let number = point.time().saturating_sub(start) / width;
        let slice = &mut slices[usize::from(point.matters())];
        match slice {
            Some((current, [_, last, low, high])) if *current == number => {
                *last = index;
                if point.value() < points[*low].value() {
                    *low = index;
                }
                if point.value() > points[*high].value() {
                    *high = index;
                }
            }
            _ => {
                close(slice, &mut kept);
                *slice = Some((number, [index; 4]));
            }
        }
    }
    for slice in &slices {
        close(slice, &mut kept);
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[derive(Debug, Clone, Copy, PartialEq)]
    struct Dot(u64, u64, bool);

    impl Point for Dot {
        fn time(&self) -> u64 {
            self.0
        }

        fn value(&self) -> u64 {
            self.1
        }

        fn matters(&self) -> bool {
            self.2
        }
    }

    proptest! {
        #[test]
        fn first_last_lowest_and_highest_stay(
            steps in prop::collection::vec((0_u64..1_000_000, 0_u64..1000, 0_u8..20), 1..2000),
            limit in 0_usize..200,
        ) {
            let mut time = 0;
            let dots: Vec<_> = steps.iter().map(|(step, value, dice)| { time += step; Dot(time, *value, *dice == 0) }).collect();
            let mut thinned = Thinned::new(limit);
            for dot in &dots {
                thinned.add(*dot);
            }
            let (left, total) = thinned.finish();
            prop_assert_eq!(total, dots.len() as u64);
            prop_assert!(left.len() <= limit.max(LEAST));
            prop_assert!(left.windows(2).all(|pair| pair[0].0 <= pair[1].0));
            let plain = |dots: &[Dot]| dots.iter().filter(|dot| !dot.2).copied().collect::<Vec<_>>();
            let (all, left_plain) = (plain(&dots), plain(&left));
            prop_assert_eq!(all.first().map(|dot| dot.0), left_plain.first().map(|dot| dot.0));
            prop_assert_eq!(all.last().map(|dot| dot.0), left_plain.last().map(|dot| dot.0));
            for extreme in [|dots: &[Dot]| dots.iter().map(|dot| dot.1).min(), |dots: &[Dot]| dots.iter().map(|dot| dot.1).max()] {
                prop_assert_eq!(extreme(&all), extreme(&left_plain));
            }
            let important = dots.iter().filter(|dot| dot.2).count();
            if important <= limit / 2 {
                prop_assert_eq!(left.iter().filter(|dot| dot.2).count(), important);
            }
        }
    }
}
