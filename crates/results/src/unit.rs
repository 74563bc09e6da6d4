//! Units of published figures and of bounds.

/// Units by quantity, each with its size in the first unit of the quantity.
const QUANTITIES: &[&[(&str, f64)]] = &[
    &[("bit/s", 1.0), ("kbit/s", 1e3), ("Mbit/s", 1e6), ("Gbit/s", 1e9), ("byte/s", 8.0), ("kB/s", 8e3)],
    &[("s", 1.0), ("ms", 1e-3), ("us", 1e-6), ("min", 60.0)],
    &[("bytes", 1.0), ("kB", 1e3), ("MB", 1e6), ("KiB", 1024.0), ("MiB", 1_048_576.0)],
];

/// Returns the factor that converts a number from unit `from` to unit `to`; `None` if their
/// quantities differ.
pub(crate) fn factor(from: &str, to: &str) -> Option<f64> {
    if from == to {
        return Some(1.0);
    }
    QUANTITIES.iter().find_map(|units| {
        let size = |unit| units.iter().find(|(name, _)| *name == unit).map(|(_, size)| size);
        Some(size(from)? / size(to)?)
    })
}

/// Returns all units of the quantity of `unit`, that one first.
pub(crate) fn of_quantity(unit: &'static str) -> Vec<&'static str> {
    let units = QUANTITIES.iter().find(|units| units.iter().any(|(name, _)| *name == unit));
    let others = units.into_iter().copied().flatten().map(|(name, _)| *name).filter(|name| *name != unit);
    std::iter::once(unit).chain(others).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_of_one_quantity_convert() {
        assert_eq!(factor("bit/s", "kbit/s"), Some(1e-3));
        assert_eq!(factor("ms", "s"), Some(1e-3));
        assert_eq!(factor("s", "ms"), Some(1e3));
        assert_eq!(factor("%", "%"), Some(1.0));
        assert_eq!(factor("%", "s"), None);
        assert_eq!(factor("segments", "bytes"), None);
    }

    #[test]
    fn units_of_one_quantity_are_listed() {
        assert_eq!(of_quantity("ms"), ["ms", "s", "us", "min"]);
        assert_eq!(of_quantity("%"), ["%"]);
    }
}
