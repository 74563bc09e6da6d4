//! Axes: logarithmic for times; linear for decibels, with a separate place for infinity.

/// Times on a logarithmic axis.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Seconds {
    from: f64,
    to: f64,
    width: f64,
}

impl Seconds {
    /// Creates an axis that shows all these values, with margins at both ends.
    pub fn over(values: impl Iterator<Item = f64>, width: f64) -> Self {
        const ROOM: f64 = 1.25;
        let (least, most) = extent(values.filter(|value| *value > 0.0)).unwrap_or((1.0, 10.0));
        Self { from: least / ROOM, to: most * ROOM, width }
    }

    /// Returns the distance from the left.
    pub fn place(&self, seconds: f64) -> f64 {
        self.width * (seconds / self.from).ln() / (self.to / self.from).ln()
    }

    /// Returns 1, 2 and 5 times each power of ten.
    pub fn ticks(&self) -> Vec<f64> {
        let powers = self.from.log10().floor() as i32..=self.to.log10().ceil() as i32;
        let ticks = powers.flat_map(|power| {
            [1.0, 2.0, 5.0].map(|digit| match power {
                // Divides, so that 0.2 is exactly the nearest number to 0.2.
                ..0 => digit / 10_f64.powi(-power),
                _ => digit * 10_f64.powi(power),
            })
        });
        ticks.filter(|tick| (self.from..=self.to).contains(tick)).collect()
    }
}

/// Decibels on a linear axis, upwards.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Decibels {
    from: f64,
    to: f64,
    step: f64,
    /// Position of `to`, from the top.
    top: f64,
    height: f64,
}

/// Height reserved for infinite values.
const INFINITE: f64 = 36.0;

impl Decibels {
    /// Creates an axis that shows all these values.
    pub fn over(values: impl Iterator<Item = f64>, height: f64) -> Self {
        let values: Vec<f64> = values.collect();
        let infinite = values.iter().any(|value| value.is_infinite());
        let (least, most) =
            extent(values.into_iter().filter(|value| value.is_finite())).unwrap_or((0.0, 10.0));
        let step = [1.0, 2.0, 5.0, 10.0, 20.0, 50.0].into_iter().find(|step| (most - least) / step <= 6.0);
        let step = step.unwrap_or(100.0);
        // At least 0.3 steps of margin, so that no mark is cut.
        let [from, to] = [((least / step - 0.3).floor()) * step, ((most / step + 0.3).ceil()) * step];
        Self { from, to, step, top: if infinite { INFINITE } else { 0.0 }, height }
    }

    /// Returns the distance from the top.
    pub fn place(&self, decibels: f64) -> f64 {
        if decibels.is_infinite() {
            return INFINITE / 2.0;
        }
        self.height - (decibels - self.from) / (self.to - self.from) * (self.height - self.top)
    }

    /// Returns whether there is a place for infinity.
    pub fn has_infinite(&self) -> bool {
        self.top > 0.0
    }

    /// Returns the multiples of the step.
    pub fn ticks(&self) -> Vec<f64> {
        let count = ((self.to - self.from) / self.step).round() as usize;
        (0..=count).map(|number| self.from + number as f64 * self.step).collect()
    }
}

fn extent(values: impl Iterator<Item = f64>) -> Option<(f64, f64)> {
    values.fold(None, |extent, value| {
        let (least, most) = extent.unwrap_or((value, value));
        Some((least.min(value), most.max(value)))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_ratios_are_equally_far() {
        let axis = Seconds::over([1.25, 80.0].into_iter(), 200.0);
        assert_eq!(axis.ticks(), [1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0]);
        assert!(axis.place(1.0).abs() < 1e-9 && (axis.place(100.0) - 200.0).abs() < 1e-9);
        assert!((axis.place(10.0) - 100.0).abs() < 1e-9);
        assert!(Seconds::over([0.3].into_iter(), 1.0).ticks().is_empty());
        assert_eq!(Seconds::over([0.2].into_iter(), 1.0).ticks(), [0.2]);
    }

    #[test]
    fn infinity_has_a_place_of_its_own() {
        let axis = Decibels::over([12.0, f64::INFINITY, 38.0].into_iter(), 236.0);
        assert_eq!(axis.ticks(), [10.0, 15.0, 20.0, 25.0, 30.0, 35.0, 40.0]);
        assert!((axis.place(10.0) - 236.0).abs() < 1e-9 && (axis.place(40.0) - 36.0).abs() < 1e-9);
        assert!((axis.place(f64::INFINITY) - 18.0).abs() < 1e-9 && axis.has_infinite());
        let axis = Decibels::over([-3.0, 4.0].into_iter(), 100.0);
        assert_eq!((axis.ticks().first(), axis.has_infinite()), (Some(&-4.0), false));
    }

    #[test]
    fn nothing_has_an_axis_too() {
        assert!(!Seconds::over(std::iter::empty(), 1.0).ticks().is_empty());
        assert!(!Decibels::over(std::iter::empty(), 1.0).ticks().is_empty());
    }
}
