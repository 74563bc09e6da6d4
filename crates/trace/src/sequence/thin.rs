//! Points left out so that a graph of any length has a bounded number of them, and looks the same.
//!
//! Points that matter (retransmissions, holes filled, probes, third duplicates, closed windows,
//! lost data) stay, as long as they are no more than half of the limit. Of the others, and of those
//! that matter when they are more, time is cut into slices, and of each slice the first, the last,
//! the lowest and the highest stay: where a line is drawn through them, it goes through the same
//! pixels as with all of them (M4; Jugel, Jerzak, Hackenbroich and Markl, VLDB 2014). Slices are
//! made wider until the rest fits.

/// Fewest points that a limit can ask for.
pub const LEAST: usize = 16;

/// A point that can be left out.
pub trait Point: Clone {
    /// When, in nanoseconds.
    fn time(&self) -> u64;
    /// How high in the graph.
    fn value(&self) -> u64;
    /// Whether it stays if possible.
    fn matters(&self) -> bool;
}

/// Points, in the order of their times, of which only so many are kept.
#[derive(Debug, Clone)]
pub struct Thinned<T> {
    points: Vec<T>,
    limit: usize,
    /// Width of a slice in nanoseconds.
    width: u64,
    total: u64,
}

impl<T: Point> Thinned<T> {
    /// None yet, and at most `limit` in the end.
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

    /// What is left, and how many there were.
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

/// Which points stay with slices of `width` that start at `start`.
fn keep<T: Point>(points: &[T], start: u64, width: u64, spare: bool) -> Vec<bool> {
    /// Slice, first, last, lowest and highest point.
    type Slice = (u64, [usize; 4]);
    let mut kept = vec![false; points.len()];
    // Those that matter are thinned on their own.
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
