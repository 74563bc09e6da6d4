//! Medians of a few runs.

/// Returns the median: for an even number of values, the mean of the middle two; `None` without
/// values. Infinite values are allowed.
pub fn median(values: impl IntoIterator<Item = f64>) -> Option<f64> {
    let mut values: Vec<f64> = values.into_iter().collect();
    values.sort_by(f64::total_cmp);
    let upper = *values.get(values.len() / 2)?;
    if values.len() % 2 == 1 {
        return Some(upper);
    }
    Some(f64::midpoint(values[values.len() / 2 - 1], upper))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_middle() {
        assert_eq!(median([]), None);
        assert_eq!(median([3.0, 1.0, f64::INFINITY]), Some(3.0));
        assert_eq!(median([3.0, 1.0]), Some(2.0));
        assert_eq!(median([f64::INFINITY; 2]), Some(f64::INFINITY));
    }
}
