//! `[[analysis.factorial]]` as it is written, and the design that it gives with a plan's factors.

use super::{Compared, Comparison, DesignError, FactorialDesign, MOST_FACTORS, TwoLevels};
use crate::manifest::Levels;
use crate::{Factor, Level, Metric, Selection};

/// Valid values of `response`.
pub(super) const RESPONSES: [&str; 2] = ["value", "log"];

/// A factorial analysis as a plan has it.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Request {
    /// What it is, in a line; the response in words if empty.
    pub title: String,
    /// Name of the metric; goodput if absent.
    pub metric: Option<String>,
    /// The workload.
    pub workload: Option<String>,
    /// The two levels of each factor that has more.
    pub levels: Selection,
    /// The level of each factor that is not analysed.
    pub of: Selection,
    /// The factor between whose levels the response is the difference.
    pub difference: Option<Selection>,
    /// The factor between whose levels the response is the ratio.
    pub ratio: Option<Selection>,
    /// `value` or `log`.
    pub response: Option<String>,
}

impl Request {
    /// Returns the design for a plan with these factors.
    ///
    /// All factors with two levels are analysed that have no other role; those with a single level
    /// do not vary.
    ///
    /// # Errors
    /// If a field names what the plan does not have, or if a factor has no two levels.
    pub fn design(&self, factors: &[Factor]) -> Result<FactorialDesign, DesignError> {
        let metric: Metric = self.metric.as_deref().map_or(Ok(Metric::Goodput), str::parse)?;
        let log = match self.response.as_deref() {
            None | Some("value") => false,
            Some("log") => true,
            Some(other) => return Err(DesignError::Response { name: other.to_owned() }),
        };
        self.check_roles(factors)?;
        let compared = self.compared(factors)?;
        if log && compared.as_ref().is_some_and(|compared| compared.by == Comparison::Difference) {
            return Err(DesignError::LogOfDifference);
        }
        let mut fixed = Vec::new();
        let mut analysed = Vec::new();
        for factor in factors {
            if compared.as_ref().is_some_and(|compared| compared.levels.factor == factor.name) {
                continue;
            }
            if let Some(level) = self.of.get(&factor.name) {
                fixed.push(one(factor, level)?);
            } else if let Some(levels) = self.levels.get(&factor.name) {
                analysed.push(two("levels", factor, levels)?);
            } else {
                match &factor.levels[..] {
                    [] => {}
                    [only] => fixed.push(Level { factor: factor.name.clone(), level: only.clone() }),
                    [first, second] => {
                        let levels = [first.clone(), second.clone()];
                        analysed.push(TwoLevels { factor: factor.name.clone(), levels });
                    }
                    more => {
                        let (factor, count) = (factor.name.clone(), more.len());
                        let example = [more[0].clone(), more[count - 1].clone()];
                        return Err(DesignError::TooManyLevels { factor, count, example });
                    }
                }
            }
        }
        match analysed.len() {
            0 => return Err(DesignError::NoFactor),
            count if count > MOST_FACTORS => return Err(DesignError::TooManyFactors { count }),
            _ => {}
        }
        let (title, workload) = (self.title.clone(), self.workload.clone());
        Ok(FactorialDesign { title, metric, workload, factors: analysed, fixed, compared, log })
    }

    /// Returns all fields that name factors.
    fn roles(&self) -> impl Iterator<Item = (&'static str, &Selection)> {
        let compared = [("difference", &self.difference), ("ratio", &self.ratio)];
        let compared = compared.into_iter().filter_map(|(field, levels)| Some((field, levels.as_ref()?)));
        [("levels", &self.levels), ("where", &self.of)].into_iter().chain(compared)
    }

    /// Checks that all factors and levels exist, and that no factor has two roles.
    fn check_roles(&self, factors: &[Factor]) -> Result<(), DesignError> {
        let mut taken: Vec<(&str, &'static str)> = Vec::new();
        for (field, selection) in self.roles() {
            for (name, levels) in selection {
                let factor = name.clone();
                let Some(found) = factors.iter().find(|known| known.name == *name) else {
                    let known = factors.iter().map(|factor| factor.name.clone()).collect();
                    return Err(DesignError::Factor { field, factor, known });
                };
                if let Some(level) = levels.iter().find(|level| !found.levels.contains(level)) {
                    let (level, known) = (level.clone(), found.levels.clone());
                    return Err(DesignError::Level { field, level, factor, known });
                }
                if let Some((_, other)) = taken.iter().find(|(known, _)| known == name) {
                    return Err(DesignError::Twice { field, factor, other });
                }
                taken.push((name, field));
            }
        }
        Ok(())
    }

    /// Returns the two levels that the response compares.
    fn compared(&self, factors: &[Factor]) -> Result<Option<Compared>, DesignError> {
        let (field, by, selection) = match (&self.difference, &self.ratio) {
            (None, None) => return Ok(None),
            (Some(levels), None) => ("difference", Comparison::Difference, levels),
            (None, Some(levels)) => ("ratio", Comparison::Ratio, levels),
            (Some(_), Some(_)) => return Err(DesignError::Compared { field: "ratio" }),
        };
        let mut named = selection.iter();
        let (Some((name, levels)), None) = (named.next(), named.next()) else {
            return Err(DesignError::Compared { field });
        };
        let factor = factors.iter().find(|factor| factor.name == *name);
        let factor = factor.ok_or(DesignError::Compared { field })?;
        Ok(Some(Compared { levels: two(field, factor, levels)?, by }))
    }
}

/// Returns the two different levels that a field names.
fn two(field: &'static str, factor: &Factor, levels: &Levels) -> Result<TwoLevels, DesignError> {
    let named: Vec<&String> = levels.iter().collect();
    match named[..] {
        [first, second] if first != second => {
            Ok(TwoLevels { factor: factor.name.clone(), levels: [first.clone(), second.clone()] })
        }
        _ => {
            let first = factor.levels.first().cloned().unwrap_or_default();
            let example = [first, factor.levels.last().cloned().unwrap_or_default()];
            Err(DesignError::NotTwo { field, factor: factor.name.clone(), example })
        }
    }
}

/// Returns the only level that `where` names.
fn one(factor: &Factor, levels: &Levels) -> Result<Level, DesignError> {
    let mut named = levels.iter();
    if let (Some(level), None) = (named.next(), named.next()) {
        return Ok(Level { factor: factor.name.clone(), level: level.clone() });
    }
    let example = factor.levels.first().cloned().unwrap_or_default();
    Err(DesignError::NotOne { factor: factor.name.clone(), example })
}
