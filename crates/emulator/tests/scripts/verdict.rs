//! Compares a run with its script. There is no tolerance.

use crate::script::{Arrival, End, Script};
use crate::world::Account;
use std::fmt;

/// A line of a script that does not hold.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mismatch {
    file: String,
    line: usize,
    expected: String,
    actual: String,
}

/// Returns all differences between `account` and `script`, in the order of the script's lines.
pub fn mismatches(script: &Script, account: &Account) -> Vec<Mismatch> {
    let mut found = Vec::new();
    let mut say = |line: usize, expected: String, actual: String| {
        found.push(Mismatch { file: script.file.clone(), line, expected, actual });
    };
    for (line, arrival) in &script.arrivals {
        let packet = |one: &&Arrival| (one.direction, one.number) == (arrival.direction, arrival.number);
        match account.arrivals.iter().find(packet) {
            Some(actual) if actual == arrival => {}
            actual => say(*line, arrival.to_string(), shown(actual)),
        }
    }
    let mut happened: Vec<&End> = account.left.iter().chain(&account.lost).collect();
    for (line, end) in &script.ends {
        let place = happened.iter().position(|actual| actual.packet() == end.packet());
        match place.map(|place| happened.remove(place)) {
            Some(actual) if actual == end => {}
            actual => say(*line, end.to_string(), shown(actual)),
        }
    }
    for unsaid in happened {
        let is_its = |(_, arrival): &&(usize, _)| is_of(arrival, unsaid);
        let line = script.arrivals.iter().find(is_its).map_or(1, |(line, _)| *line);
        say(line, "nothing more of this packet".to_owned(), unsaid.to_string());
    }
    for (line, arrival) in &script.arrivals {
        if !script.ends.iter().any(|(_, end)| is_of(arrival, end)) && !account.has_end_of(arrival) {
            say(*line, "an end of this packet".to_owned(), "nothing".to_owned());
        }
    }
    if found.is_empty() {
        found.extend(first_out_of_order(script, account));
    }
    found.sort_by_key(|mismatch| mismatch.line);
    found
}

/// Finds the first packet that leaves out of order. Packets that leave at one instant must leave in
/// the order of the script's lines.
fn first_out_of_order(script: &Script, account: &Account) -> Option<Mismatch> {
    let said = script.ends.iter().filter(|(_, end)| !end.lost);
    let (line, expected, actual) = said
        .zip(&account.left)
        .find(|((_, end), actual)| end != *actual)
        .map(|((line, end), actual)| (*line, end, actual))?;
    let (expected, actual) = (format!("{expected} next"), format!("{actual} before it"));
    Some(Mismatch { file: script.file.clone(), line, expected, actual })
}

fn is_of(arrival: &Arrival, end: &End) -> bool {
    (arrival.direction, arrival.number) == (end.direction, end.number)
}

impl Account {
    fn has_end_of(&self, arrival: &Arrival) -> bool {
        self.left.iter().chain(&self.lost).any(|end| is_of(arrival, end))
    }
}

fn shown(actual: Option<&impl fmt::Display>) -> String {
    actual.map_or_else(|| "nothing".to_owned(), ToString::to_string)
}

impl fmt::Display for Mismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { file, line, expected, actual } = self;
        write!(f, "{file}:{line}: expected: {expected}\n{file}:{line}:   actual: {actual}")
    }
}
