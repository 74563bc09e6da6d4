//! Output files of a link layer with retransmissions: its records beside the event log, and the
//! files of `--rlpdump`.
//!
//! An RLP trace describes one end, and both ends of an emulated link are available:
//! `--rlpdump call.rlp` writes `call-mobile.rlp` and `call-network.rlp`. They are created from the
//! records after the run.

use super::Failure;
use super::assemble::Assembled;
use crate::arguments::LinkArguments;
use crate::notice::Notice;
use capture::Direction;
use capture::link_layer::{self, Row};
use capture::output;
use experiment::rlp_trace::{end_name, link_of, rlp_trace};
use link::arq::ArqSpec;
use link::arq::hop::Watch;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

/// The requested files.
#[derive(Debug, Default)]
pub struct Wanted {
    /// Path of the table of records.
    pub records: Option<PathBuf>,
    /// Temporary directory of the table, if only files derived from it were requested.
    folder: Option<TempDir>,
    /// Path of the capture of blocks.
    pub blocks: Option<PathBuf>,
    /// Path of the RLP traces as given on the command line.
    traces: Option<PathBuf>,
}

impl Wanted {
    /// Returns the files requested for this link.
    pub fn of(arguments: &LinkArguments, assembled: &Assembled) -> Result<Self, Failure> {
        let Some(arq) = &assembled.link.arq else {
            return match arguments.rlpdump {
                None => Ok(Self::default()),
                Some(_) => {
                    Err("--rlpdump needs RLP, and this link has none: add --arq rlp or --profile gsm-rlp"
                        .into())
                }
            };
        };
        if matches!(arq, ArqSpec::Llp(_)) && arguments.rlpdump.is_some() {
            return Err(
                "--rlpdump needs RLP, and the frames of LLP have no bytes: write the records of its ends with --events FILE".into()
            );
        }
        let mut wanted = Self::named(arguments);
        if wanted.traces.is_some() && wanted.records.is_none() {
            // Not beside the traces, where a file of that name may exist.
            let folder = tempfile::Builder::new().prefix("lasthop-records-").tempdir()?;
            wanted.records = Some(folder.path().join("records.parquet"));
            wanted.folder = Some(folder);
        }
        Ok(wanted)
    }

    /// Returns the files by the names on the command line, for a link with a link layer.
    pub fn named(arguments: &LinkArguments) -> Self {
        let is_capture = |path: &&PathBuf| path.extension().is_some_and(|extension| extension == "pcapng");
        let blocks = arguments.rlpdump.as_ref().filter(is_capture).cloned();
        let traces = arguments.rlpdump.as_ref().filter(|path| !is_capture(path)).cloned();
        let records = arguments.events.as_ref().map(|path| link_layer::beside(path));
        Self { records, folder: None, blocks, traces }
    }

    /// Returns what the link must record for these files.
    pub fn watch(&self) -> Watch {
        Watch { records: self.records.is_some(), blocks: self.blocks.is_some() }
    }

    /// Returns the files that exist after the run, with a short name for each.
    pub fn files(&self) -> Vec<(PathBuf, &'static str)> {
        let asked_for = |_: &PathBuf| self.folder.is_none();
        let records = self.records.clone().filter(asked_for).map(|path| (path, "link-layer"));
        let blocks = self.blocks.clone().map(|path| (path, "blocks"));
        let traces =
            self.traces.iter().flat_map(|path| Direction::BOTH.map(|end| (of_end(path, end), end_name(end))));
        records.into_iter().chain(blocks).chain(traces).collect()
    }

    /// Writes the RLP traces and prints the paths of all files. The recorder must be closed.
    pub fn write(&self, notice: Notice) -> Result<(), Failure> {
        if let (Some(traces), Some(records)) = (&self.traces, &self.records) {
            let reader = link_layer::Reader::open(records)?;
            let header = reader.header().clone();
            let rows: Vec<Row> = reader.collect::<Result<_, _>>()?;
            let link = link_of(&rows, &header, None)?;
            for end in Direction::BOTH {
                let path = of_end(traces, end);
                let trace = rlp_trace(&rows, &header, link, end)?;
                output::write(&path, trace.to_string())
                    .map_err(|error| format!("cannot write {}: {error}", path.display()))?;
            }
        }
        for (path, _) in self.files() {
            notice.say(format_args!("link layer: {}", path.display()));
        }
        Ok(())
    }
}

/// Returns the path of an end's trace: `call-mobile.rlp` for `call.rlp`.
fn of_end(path: &Path, end: Direction) -> PathBuf {
    let stem = path.file_stem().unwrap_or_default().to_string_lossy();
    let extension =
        path.extension().map_or_else(String::new, |extension| format!(".{}", extension.to_string_lossy()));
    path.with_file_name(format!("{stem}-{}{extension}", end_name(end)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_rlp_trace_for_each_end() {
        let names = Direction::BOTH.map(|end| of_end(Path::new("a.b/call.rlp"), end));
        assert_eq!(names, ["a.b/call-mobile.rlp", "a.b/call-network.rlp"].map(PathBuf::from));
        assert_eq!(of_end(Path::new("call"), Direction::Up), Path::new("call-mobile"));
    }
}
