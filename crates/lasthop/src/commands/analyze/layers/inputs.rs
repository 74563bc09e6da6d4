//! The inputs of a run: its captures, and, by name or beside them, the states of senders, the
//! records of link layers and the event log.

use super::records::Monitors;
use crate::commands::analyze::arguments::AnalyzeArguments;
use crate::commands::analyze::progress::Progress;
use crate::failure::Failure;
use capture_analysis::Trace;
use capture_analysis::layers::limiter::{self, Limiter};
use capture_analysis::layers::monitor::End;
use capture_analysis::loss_events::Ends;
use capture_analysis::spurious::collect::{Collector, Interface};
use capture_analysis::spurious::pair::Sides;
use capture_analysis::spurious::states::{self, State};
use rustc_hash::FxHashMap;
use std::path::{Path, PathBuf};

/// All inputs of a run.
pub struct Inputs {
    /// Interfaces of all captures.
    pub interfaces: Vec<Interface>,
    /// Maximum windows of each connection's ends at each interface, in bytes.
    windows: FxHashMap<(String, usize, Ends), u64>,
    monitors: Vec<Monitors>,
    /// Rate limiters of the run's links, if there are no monitors.
    pub limiters: Vec<Limiter>,
    /// States of the senders.
    pub states: FxHashMap<Ends, Vec<State>>,
}

impl Inputs {
    /// Reads the captures of one run, and the other tables, which are beside the first capture
    /// unless given.
    pub fn read(arguments: &AnalyzeArguments, captures: &[PathBuf]) -> Result<Self, Failure> {
        let mut inputs = Self {
            interfaces: Vec::new(),
            windows: FxHashMap::default(),
            monitors: Vec::new(),
            limiters: Vec::new(),
            states: FxHashMap::default(),
        };
        for path in captures {
            let mut collector = Collector::new(Progress::new(path));
            let trace = crate::commands::analyze::read(arguments, path, &mut collector)?;
            let interfaces = collector.finish(&path.display().to_string(), &trace);
            inputs.note_windows(&interfaces, &trace);
            inputs.interfaces.extend(interfaces);
        }
        let beside = |given: &Option<PathBuf>, suffix: &str| {
            given.clone().or_else(|| captures.first().and_then(|path| beside(path, suffix)))
        };
        for path in &arguments.rlp {
            inputs.monitors.push(Monitors::of_text(path)?);
        }
        if inputs.monitors.is_empty()
            && let Some(path) = beside(&arguments.link_layer, "-link-layer.parquet")
        {
            inputs.monitors.push(Monitors::of_log(&path)?);
        }
        if inputs.monitors.is_empty()
            && let Some(path) = beside(&arguments.truth, ".parquet")
        {
            inputs.limiters = limiter::read(&path)?;
        }
        if let Some(path) = beside(&arguments.states, "-senders.parquet") {
            inputs.states = states::read(&path)?;
        }
        Ok(inputs)
    }

    fn note_windows(&mut self, interfaces: &[Interface], trace: &Trace) {
        for (interface, analysis) in interfaces.iter().zip(&trace.interfaces) {
            for flow in &interface.flows {
                let connection = &analysis.connections.all()[flow.connection - 1];
                let half = usize::from(connection.end(0) == flow.ends.from);
                let window = connection.halves[half].windows.max;
                self.windows.insert((interface.title.clone(), flow.connection, flow.ends), window);
            }
        }
    }

    /// Returns the maximum window that was advertised to the sender of this flow, in bytes.
    pub fn window(&self, sides: &Sides<'_>) -> Option<u64> {
        let (place, flow) = sides.sender;
        let window = self.windows.get(&(place.title.clone(), flow.connection, flow.ends));
        window.copied().filter(|&bytes| bytes > 0)
    }

    /// Returns the ends of link layers, on the clock of the captures. `began` is the time when the
    /// connection's first packet was sent.
    pub fn ends(&self, began: u64) -> Vec<End> {
        let first = self.monitors.iter().filter(|monitors| !monitors.is_placed()).filter_map(Monitors::first);
        let first = first.min().unwrap_or(0);
        self.monitors.iter().flat_map(|monitors| monitors.placed(first, began)).collect()
    }
}

/// Returns the path of another table of the same run: in the directory of the capture, or in
/// `events` of a campaign's run directory.
fn beside(capture: &Path, suffix: &str) -> Option<PathBuf> {
    let name = format!("{}{suffix}", capture.file_stem()?.to_str()?);
    let folder = capture.parent()?;
    let campaign = folder.parent().map(|run| run.join("events").join(&name));
    [Some(folder.join(&name)), campaign].into_iter().flatten().find(|path| path.is_file())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_are_found_beside_a_capture() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = |name: &str| folder.path().join(name);
        for name in ["captures", "events"] {
            std::fs::create_dir(path(name)).expect("a folder");
        }
        for name in [
            "captures/a.pcapng",
            "events/a.parquet",
            "events/a-senders.parquet",
            "captures/a-senders.parquet",
        ] {
            std::fs::write(path(name), "").expect("a file");
        }
        let capture = path("captures/a.pcapng");
        assert_eq!(beside(&capture, ".parquet"), Some(path("events/a.parquet")));
        assert_eq!(beside(&capture, "-senders.parquet"), Some(path("captures/a-senders.parquet")));
        assert_eq!(beside(&capture, "-link-layer.parquet"), None);
        assert_eq!(beside(Path::new("-"), ".parquet"), None);
    }
}
