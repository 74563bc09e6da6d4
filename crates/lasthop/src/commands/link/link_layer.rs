//! What is written of a link layer with retransmissions: its records beside the event log, and
//! `--rlpdump`.
//!
//! An RLP trace is of one entity, and both ends of an emulated link can be asked:
//! `--rlpdump call.rlp` writes `call-mobile.rlp` and `call-network.rlp`. They are made of the
//! records when the run has ended.

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

/// The files.
#[derive(Debug, Default)]
pub struct Wanted {
    /// The table of the records.
    pub records: Option<PathBuf>,
    /// Where the table lies if it was not asked for, but only what is made of it.
    folder: Option<TempDir>,
    /// The capture of blocks.
    pub blocks: Option<PathBuf>,
    /// The RLP traces as they were asked for.
    traces: Option<PathBuf>,
}

impl Wanted {
    /// What is asked for of this link.
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
            // Not beside the traces: a file of that name may be there.
            let folder = tempfile::Builder::new().prefix("lasthop-records-").tempdir()?;
            wanted.records = Some(folder.path().join("records.parquet"));
            wanted.folder = Some(folder);
        }
        Ok(wanted)
    }

    /// The files by their names, of a link with a link layer.
    pub fn named(arguments: &LinkArguments) -> Self {
        let is_capture = |path: &&PathBuf| path.extension().is_some_and(|extension| extension == "pcapng");
        let blocks = arguments.rlpdump.as_ref().filter(is_capture).cloned();
        let traces = arguments.rlpdump.as_ref().filter(|path| !is_capture(path)).cloned();
        let records = arguments.events.as_ref().map(|path| link_layer::beside(path));
        Self { records, folder: None, blocks, traces }
    }

    /// What the link has to show for it.
    pub fn watch(&self) -> Watch {
        Watch { records: self.records.is_some(), blocks: self.blocks.is_some() }
    }

    /// The files that there are when the run has ended, with a word for each.
    pub fn files(&self) -> Vec<(PathBuf, &'static str)> {
        let asked_for = |_: &PathBuf| self.folder.is_none();
        let records = self.records.clone().filter(asked_for).map(|path| (path, "link-layer"));
        let blocks = self.blocks.clone().map(|path| (path, "blocks"));
        let traces =
            self.traces.iter().flat_map(|path| Direction::BOTH.map(|end| (of_end(path, end), end_name(end))));
        records.into_iter().chain(blocks).chain(traces).collect()
    }

    /// The recorder is closed: makes the RLP traces, and says what there is.
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

/// The trace of an end: `call-mobile.rlp` for `call.rlp`.
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
