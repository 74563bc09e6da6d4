//! Compares the results of the same cases in several worlds: a table of the cases that differ,
//! their observations, and waivers. Every difference needs a waiver, and every waiver a difference.
//! Differences without a waiver are printed first.

use crate::outcome::Outcome;
use crate::worlds::World;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// A known difference, its reason, and the row of the specification that documents it.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Waiver {
    /// Names of cases; `.*` at the end stands for both IP versions.
    pub cases: Vec<String>,
    /// Worlds in which they differ.
    pub worlds: Vec<World>,
    /// Reason for the difference, and for keeping it.
    pub why: String,
    /// Rows of the specification.
    pub rows: String,
}

/// A file of waivers.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Waivers {
    #[serde(default)]
    pub waiver: Vec<Waiver>,
}

impl Waivers {
    /// Returns the index of the waiver for a difference.
    fn of(&self, case: &str, world: World) -> Option<usize> {
        let names = |pattern: &String| {
            pattern == case
                || pattern
                    .strip_suffix(".*")
                    .is_some_and(|stem| case.rsplit_once('.').is_some_and(|(name, _)| name == stem))
        };
        self.waiver.iter().position(|waiver| waiver.worlds.contains(&world) && waiver.cases.iter().any(names))
    }

    /// Describes the waivers of cases and worlds that do not differ.
    fn unneeded(&self, differing: &[(String, World)], worlds: &[World], cases: &[String]) -> Vec<String> {
        let mut unneeded = Vec::new();
        for waiver in &self.waiver {
            for pattern in &waiver.cases {
                for world in waiver.worlds.iter().filter(|world| worlds.contains(world)) {
                    let one = Self {
                        waiver: vec![Waiver {
                            cases: vec![pattern.clone()],
                            worlds: vec![*world],
                            ..waiver.clone()
                        }],
                    };
                    let tried = cases.iter().any(|case| one.of(case, *world).is_some());
                    if tried && !differing.iter().any(|(case, differing)| one.of(case, *differing).is_some())
                    {
                        unneeded.push(format!(
                            "unneeded waiver: {pattern} in {} is the same as native",
                            world.name()
                        ));
                    }
                }
            }
        }
        unneeded
    }
}

/// Result of a comparison.
pub struct Comparison {
    /// Text to print.
    pub text: String,
    /// Number of differences without a waiver, of unneeded waivers, and of cases that do not
    /// complete natively.
    pub faults: usize,
}

/// Compares outcomes with the native ones.
pub fn compare(outcomes: &BTreeMap<World, Vec<Outcome>>, waivers: &Waivers) -> Comparison {
    let (mut text, mut faults) = (String::new(), 0);
    let Some(native) = outcomes.get(&World::Native) else {
        return Comparison { text: "there are no native outcomes\n".into(), faults: 1 };
    };
    let worlds: Vec<World> = outcomes.keys().copied().filter(|world| *world != World::Native).collect();
    let mut table = comfy_table::Table::new();
    table.set_header(["case", "rows", "native"].into_iter().chain(worlds.iter().map(|world| world.name())));
    let (mut differing, mut details) = (Vec::new(), String::new());
    for outcome in native.iter().filter(|outcome| !outcome.is_whole) {
        faults += 1;
        let _ = writeln!(
            text,
            "{} does not finish natively: {}",
            outcome.case,
            outcome.observations.last().map_or("no observations", String::as_str)
        );
    }
    let mut counts: BTreeMap<World, [usize; 3]> = BTreeMap::new();
    for outcome in native {
        let mut row =
            vec![outcome.case.clone(), outcome.rows.clone(), format!("{}", outcome.observations.len())];
        let known = differing.len();
        for world in &worlds {
            let other = outcomes[world].iter().find(|other| other.case == outcome.case);
            let count = counts.entry(*world).or_default();
            let same = other.is_some_and(|other| outcome.agrees(other));
            if same {
                count[0] += 1;
                row.push("same".into());
                continue;
            }
            differing.push((outcome.case.clone(), *world));
            let waived = waivers.of(&outcome.case, *world);
            count[if waived.is_some() { 1 } else { 2 }] += 1;
            row.push(if waived.is_some() { "waived".into() } else { "DIFFERS".into() });
            let reason = waived.map_or(String::new(), |number| {
                format!(" (waived, {}: {})", waivers.waiver[number].rows, waivers.waiver[number].why)
            });
            let text = if waived.is_some() { &mut details } else { &mut text };
            let _ = writeln!(text, "{} in {}{reason}", outcome.case, world.name());
            side_by_side(text, &outcome.observations, other.map_or(&[], |other| &other.observations));
        }
        if differing.len() > known {
            table.add_row(row);
        }
    }
    let _ = writeln!(text, "\n{table}\n\n{details}");
    let unneeded = waivers.unneeded(
        &differing,
        &worlds,
        &native.iter().map(|outcome| outcome.case.clone()).collect::<Vec<_>>(),
    );
    for line in &unneeded {
        let _ = writeln!(text, "{line}");
    }
    faults += unneeded.len();
    for (world, [same, waived, differ]) in counts {
        let _ = writeln!(
            text,
            "{}: {} cases, {same} same as native, {waived} waived, {differ} differ",
            world.name(),
            native.len()
        );
        faults += differ;
    }
    Comparison { text, faults }
}

/// Appends the lines that differ, native ones with `-` and the others with `+`.
fn side_by_side(text: &mut String, native: &[String], other: &[String]) {
    for place in 0..native.len().max(other.len()) {
        match (native.get(place), other.get(place)) {
            (Some(one), Some(other)) if one == other => {}
            (one, other) => {
                for (sign, line) in [('-', one), ('+', other)] {
                    if let Some(line) = line {
                        let _ = writeln!(text, "    {sign} {line}");
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outcomes(native: &str, preload: &str) -> BTreeMap<World, Vec<Outcome>> {
        let outcome = |line: &str| {
            vec![Outcome {
                case: "a/b.4".into(),
                rows: "C1".into(),
                observations: vec![line.into()],
                is_whole: !line.starts_with("gives up"),
            }]
        };
        BTreeMap::from([(World::Native, outcome(native)), (World::Preload, outcome(preload))])
    }

    fn waiver(case: &str) -> Waivers {
        Waivers {
            waiver: vec![Waiver {
                cases: vec![case.into()],
                worlds: vec![World::Preload],
                why: "because".into(),
                rows: "C109".into(),
            }],
        }
    }

    /// A difference fails unless it is waived, and a waiver fails unless there is a difference.
    #[test]
    fn waivers_are_exactly_those_that_are_needed() {
        assert_eq!(compare(&outcomes("x: 1", "x: 1"), &Waivers::default()).faults, 0);
        assert_eq!(compare(&outcomes("x: 1", "x: 2"), &Waivers::default()).faults, 1);
        assert_eq!(compare(&outcomes("x: 1", "x: 2"), &waiver("a/b.4")).faults, 0);
        assert_eq!(compare(&outcomes("x: 1", "x: 2"), &waiver("a/b.*")).faults, 0);
        assert_eq!(compare(&outcomes("x: 1", "x: 1"), &waiver("a/b.*")).faults, 1);
        assert_eq!(compare(&outcomes("x: 1", "x: 2"), &waiver("a/c.*")).faults, 1);
    }

    /// A case that does not complete natively is a fault of the case, whatever its outcome is
    /// elsewhere. In another world, that is a difference like any other.
    #[test]
    fn cases_come_to_their_end_natively() {
        assert_eq!(compare(&outcomes("gives up: x", "gives up: x"), &Waivers::default()).faults, 1);
        assert_eq!(compare(&outcomes("x: 1", "gives up: x"), &waiver("a/b.4")).faults, 0);
    }

    /// Nothing else would detect a waiver for a case that does not exist.
    #[test]
    fn waivers_name_cases() {
        let waivers: Waivers = toml::from_str(include_str!("../waivers.toml")).expect("waivers");
        let all = crate::cases::all();
        for waiver in waivers.waiver {
            for pattern in &waiver.cases {
                let one = Waivers { waiver: vec![Waiver { cases: vec![pattern.clone()], ..waiver.clone() }] };
                let is_named = all.iter().any(|case| one.of(&case.name, waiver.worlds[0]).is_some());
                assert!(is_named, "{pattern}");
            }
        }
    }
}
