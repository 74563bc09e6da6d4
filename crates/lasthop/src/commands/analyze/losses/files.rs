//! Finds the two tables of each run from the command line.

use crate::failure::Failure;
use std::path::{Path, PathBuf};

/// Suffix of the stem in the name of the senders' states.
const SENDERS: &str = "-senders.parquet";
/// Suffix of the stem in the name of the event log.
const EVENTS: &str = ".parquet";

/// The tables of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Files {
    /// Name of the run: the stem, or the name of the senders' states.
    pub name: String,
    pub senders: PathBuf,
    pub events: PathBuf,
}

/// Returns the runs that the stems or tables name, each once. Two tables whose names have no common
/// stem are the senders' states and the event log of one run.
pub fn runs(given: &[PathBuf]) -> Result<Vec<Files>, Failure> {
    let mut runs: Vec<Files> = Vec::new();
    for path in given {
        let run = by_stem(path);
        if !runs.contains(&run) {
            runs.push(run);
        }
    }
    let complete = |run: &Files| run.senders.is_file() && run.events.is_file();
    if let [senders, events] = given
        && runs.len() == 2
        && !runs.iter().any(complete)
        && senders.is_file()
        && events.is_file()
    {
        let name = senders.display().to_string();
        return Ok(vec![Files { name, senders: senders.clone(), events: events.clone() }]);
    }
    for run in &runs {
        for table in [&run.senders, &run.events] {
            if !table.is_file() {
                return Err(format!(
                    "`{}` does not exist: --losses needs the states of the senders (STEM{SENDERS}) and the event log (STEM{EVENTS}) of a run; set `senders` and `events` in `[capture]` of the plan to keep both",
                    table.display()
                )
                .into());
            }
        }
    }
    Ok(runs)
}

/// Returns the tables with the stem of `path`.
fn by_stem(path: &Path) -> Files {
    let text = path.to_string_lossy();
    let stem = text.strip_suffix(SENDERS).or_else(|| text.strip_suffix(EVENTS)).unwrap_or(&text);
    Files {
        name: stem.to_owned(),
        senders: format!("{stem}{SENDERS}").into(),
        events: format!("{stem}{EVENTS}").into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(folder: &Path, names: &[&str]) -> Result<Vec<String>, String> {
        let paths: Vec<PathBuf> = names.iter().map(|name| folder.join(name)).collect();
        let name = |path: &Path| path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let both = |run: &Files| format!("{} {}", name(&run.senders), name(&run.events));
        runs(&paths).map(|runs| runs.iter().map(both).collect()).map_err(|error| error.to_string())
    }

    #[test]
    fn a_run_is_meant_by_its_stem_or_by_its_tables() {
        let folder = tempfile::tempdir().expect("a folder");
        for name in
            ["a-senders.parquet", "a.parquet", "b-senders.parquet", "b.parquet", "c.parquet", "x", "y"]
        {
            std::fs::write(folder.path().join(name), "").expect("a file");
        }
        let of = |names: &[&str]| of(folder.path(), names);
        let a = "a-senders.parquet a.parquet".to_owned();
        let b = "b-senders.parquet b.parquet".to_owned();
        for names in [&["a"][..], &["a.parquet"], &["a-senders.parquet", "a.parquet"], &["a.parquet", "a"]] {
            assert_eq!(of(names), Ok(vec![a.clone()]), "{names:?}");
        }
        assert_eq!(of(&["b-senders.parquet", "a-senders.parquet"]), Ok(vec![b, a]));
        assert_eq!(of(&["x", "y"]), Ok(vec!["x y".to_owned()]), "the states first, whatever they are called");
        let error = of(&["c.parquet"]).expect_err("no states");
        assert!(
            error.contains("c-senders.parquet` does not exist") && error.contains("[capture]"),
            "{error}"
        );
        assert!(of(&["x", "a", "y"]).is_err());
        assert!(of(&["x", "z"]).is_err());
    }
}
