//! Outcome of a case, and the comparison of two outcomes.

use serde::{Deserialize, Serialize};

/// Observations of a case, line by line, and the end of its process.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Outcome {
    /// Name of the case.
    pub case: String,
    /// Rows of the specification.
    pub rows: String,
    /// Lines `what: value`, or `what (within FACTOR): number`.
    pub observations: Vec<String>,
    /// Whether the process reached the end of the case. Natively every case must: if it gives up at
    /// the same point in two worlds, nothing after that point is compared.
    pub is_whole: bool,
}

impl Outcome {
    /// Returns whether two outcomes are equal, except that sizes may differ by their factor.
    pub fn agrees(&self, other: &Self) -> bool {
        self.observations.len() == other.observations.len()
            && self
                .observations
                .iter()
                .zip(&other.observations)
                .all(|(one, other)| one == other || near_enough(one, other))
    }
}

fn near_enough(one: &str, other: &str) -> bool {
    let parse = |line: &str| {
        let (what, rest) = line.split_once(" (within ")?;
        let (factor, value) = rest.split_once("): ")?;
        Some((what.to_owned(), factor.parse::<f64>().ok()?, value.parse::<f64>().ok()?))
    };
    match (parse(one), parse(other)) {
        (Some((what, factor, value)), Some((what_other, _, other))) => {
            what == what_other && value <= other * factor && other <= value * factor
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outcome(lines: &[&str]) -> Outcome {
        Outcome {
            case: "a".into(),
            rows: String::new(),
            observations: lines.iter().map(|&line| line.into()).collect(),
            is_whole: true,
        }
    }

    /// Sizes may differ, all other values may not.
    #[test]
    fn sizes_may_differ_by_their_factor() {
        assert!(outcome(&["a: 1"]).agrees(&outcome(&["a: 1"])));
        assert!(!outcome(&["a: 1"]).agrees(&outcome(&["a: 2"])));
        assert!(!outcome(&["a: 1"]).agrees(&outcome(&["a: 1", "b: 1"])));
        assert!(outcome(&["a (within 2): 100"]).agrees(&outcome(&["a (within 2): 199"])));
        assert!(outcome(&["a (within 2): 199"]).agrees(&outcome(&["a (within 2): 100"])));
        assert!(!outcome(&["a (within 2): 100"]).agrees(&outcome(&["a (within 2): 201"])));
        assert!(!outcome(&["a (within 2): 100"]).agrees(&outcome(&["b (within 2): 100"])));
    }
}
