//! Comparison of two runs byte by byte, and their first difference.

use crate::run::{FOLDERS, SCRATCH};
use capture::packets::{Packet, Reader};
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

/// Returns the first difference between the runs in `first` and `second`; `None` if they are
/// identical.
pub fn difference(first: &Path, second: &Path, stem: &str) -> Option<String> {
    // Captures first: they show the most.
    for folder in FOLDERS {
        let names: BTreeSet<_> = [first, second]
            .iter()
            .flat_map(|run| fs::read_dir(run.join(folder)).into_iter().flatten().flatten())
            .map(|entry| entry.file_name())
            .collect();
        for name in names {
            let name = Path::new(folder).join(name);
            if let Some(difference) = file(&first.join(&name), &second.join(&name)) {
                return Some(format!("{}: {difference}", name.display()));
            }
        }
    }
    let name = Path::new(SCRATCH).join(format!("{stem}.json"));
    file(&first.join(&name), &second.join(&name)).map(|difference| format!("results: {difference}"))
}

fn file(first: &Path, second: &Path) -> Option<String> {
    let (one, other) = match (fs::read(first), fs::read(second)) {
        (Ok(one), Ok(other)) => (one, other),
        (Err(error), _) => return Some(format!("first run: {error}")),
        (_, Err(error)) => return Some(format!("second run: {error}")),
    };
    if one == other {
        return None;
    }
    if first.extension().is_some_and(|extension| extension == "pcapng") {
        return Some(packets(&one, &other));
    }
    let at = one.iter().zip(&other).take_while(|(one, other)| one == other).count();
    Some(format!("byte {} differs (the files have {} and {} bytes)", at + 1, one.len(), other.len()))
}

/// Returns the first packet that differs between two captures that are not identical.
fn packets(one: &[u8], other: &[u8]) -> String {
    let (mut one, mut other) = match (Reader::new(one), Reader::new(other)) {
        (Ok(one), Ok(other)) => (one, other),
        (Err(error), _) | (_, Err(error)) => return error.to_string(),
    };
    for number in 1_u64.. {
        match (one.next(), other.next()) {
            (Some(Ok(one)), Some(Ok(other))) => {
                if let Some(what) = packet(&one, &other) {
                    return format!("packet {number} {what}");
                }
            }
            (None, None) => break,
            (Some(_), None) => return format!("packet {number} is missing in the second run"),
            (None, Some(_)) => return format!("packet {number} is only in the second run"),
            (Some(Err(error)), _) | (_, Some(Err(error))) => return format!("packet {number}: {error}"),
        }
    }
    "the packets are equal, but not the other blocks".to_owned()
}

/// Returns how two packets differ.
fn packet(one: &Packet, other: &Packet) -> Option<String> {
    if one.time != other.time {
        let (one, other) = (one.time.as_nanos(), other.time.as_nanos());
        return Some(format!(
            "is {} ns {}",
            one.abs_diff(other),
            if one < other { "later" } else { "earlier" }
        ));
    }
    if one.interface != other.interface {
        return Some(format!("is on interface {} instead of {}", other.interface, one.interface));
    }
    if one.bytes != other.bytes || one.length != other.length {
        let same = one.bytes.iter().zip(&other.bytes).take_while(|(one, other)| one == other).count();
        return Some(format!("differs from byte {} on", same + 1));
    }
    (one.comments != other.comments)
        .then(|| format!("has the comments {:?} instead of {:?}", other.comments, one.comments))
}

#[cfg(test)]
mod tests;
