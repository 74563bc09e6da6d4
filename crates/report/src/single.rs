//! The files of one `lasthop link` (`--json`, `--capture`, `--events`), read as a campaign of one
//! run without factors.

use crate::{foreign, sequence};
use capture::fates;
use capture_analysis::row::ConnectionRow;
use results::manifest::SCHEMA;
use results::{
    Cell, Clock, Connection, Directory, LinkCounters, LinkLayerCounters, Machine, Manifest, PlanText,
    PlannedWorkload, Protocol, RoundTrips, RunRecord, RunVerdict,
};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// Workload name for the connections of the command.
const WORKLOAD: &str = "link";

/// The object of `lasthop link --json`; fields that are not needed here are ignored.
#[derive(Debug, Deserialize)]
struct Summary {
    seed: u64,
    seconds: f64,
    /// Missing in summaries from before it was recorded.
    #[serde(default)]
    clock: Option<Clock>,
    up: Way,
    down: Way,
    overloaded: bool,
    #[serde(default)]
    overload_reasons: Vec<String>,
}

/// One direction of the link.
#[derive(Debug, Deserialize)]
struct Way {
    packets: u64,
    lost_by_reason: BTreeMap<String, u64>,
    damaged: u64,
    duplicated: u64,
    reordered: u64,
    bytes: u64,
    delivered_bytes: u64,
    delay_mean_ns: Option<u64>,
    waiting_mean_ns: Option<u64>,
    #[serde(default)]
    link_layer: Option<LinkLayerCounters>,
}

/// The path is not a single run.
#[derive(Debug, thiserror::Error)]
pub enum SingleError {
    /// The path cannot be read.
    #[error("cannot read {}: {source}", path.display())]
    Read {
        /// The path.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
    /// The file is of a kind that another command reads.
    #[error("{} is {kind}, not a run: {what}", path.display())]
    Foreign {
        /// The file.
        path: PathBuf,
        /// Kind of the file.
        kind: &'static str,
        /// What to do with it.
        what: String,
    },
    /// The file is not a summary.
    #[error("{} is not a summary of `lasthop link --json`: {reason}", path.display())]
    NoSummary {
        /// The file.
        path: PathBuf,
        /// The cause.
        reason: serde_json::Error,
    },
    /// The directory has no run.
    #[error("{} has neither a manifest.json nor a summary of `lasthop link --json FILE.json`", .0.display())]
    NoRun(PathBuf),
    /// The directory has several runs.
    #[error("{} has several summaries ({}): name one of them", path.display(), files.join(", "))]
    Several {
        /// The directory.
        path: PathBuf,
        /// The summaries.
        files: Vec<String>,
    },
}

/// Reads the run whose summary is `path`, or the only one in the directory `path`.
///
/// Its capture and event log are the files of the same name beside it, or else the only ones of
/// their kind.
pub fn open(path: &Path) -> Result<Directory, SingleError> {
    let (file, summary) = if path.is_dir() { only_summary(path)? } else { (path.to_owned(), read(path)?) };
    let folder = file.parent().map_or_else(PathBuf::new, Path::to_owned);
    let capture = beside(&file, &["pcapng", "pcap"]);
    let events = beside(&file, &["parquet"]);
    let header = events
        .as_ref()
        .and_then(|events| fates::Reader::open(&folder.join(events)).ok())
        .map(|reader| reader.header().clone());
    let connections = capture.as_ref().map_or_else(Vec::new, |capture| connections(&folder, capture));
    let manifest = manifest(&file, &summary, header.as_ref(), capture, events);
    Ok(Directory { path: folder, manifest, connections: vec![connections] })
}

fn read(path: &Path) -> Result<Summary, SingleError> {
    let bytes = fs::read(path).map_err(|source| SingleError::Read { path: path.to_owned(), source })?;
    if let Some((kind, what)) = foreign::kind(path, &bytes) {
        return Err(SingleError::Foreign { path: path.to_owned(), kind, what });
    }
    serde_json::from_slice(&bytes).map_err(|reason| SingleError::NoSummary { path: path.to_owned(), reason })
}

fn only_summary(folder: &Path) -> Result<(PathBuf, Summary), SingleError> {
    let failed = |source| SingleError::Read { path: folder.to_owned(), source };
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).map_err(failed)? {
        let path = entry.map_err(failed)?.path();
        if path.extension() == Some(OsStr::new("json"))
            && let Ok(summary) = read(&path)
        {
            found.push((path, summary));
        }
    }
    if found.len() > 1 {
        let mut files: Vec<_> = found.iter().map(|(path, _)| path.display().to_string()).collect();
        files.sort();
        return Err(SingleError::Several { path: folder.to_owned(), files });
    }
    found.pop().ok_or_else(|| SingleError::NoRun(folder.to_owned()))
}

/// Returns the name of the file of one of these kinds that belongs to `summary`.
fn beside(summary: &Path, kinds: &[&str]) -> Option<String> {
    let folder = summary.parent().filter(|folder| !folder.as_os_str().is_empty());
    let entries = fs::read_dir(folder.unwrap_or(Path::new("."))).ok()?;
    let kind = |path: &PathBuf| kinds.iter().any(|kind| path.extension() == Some(OsStr::new(kind)));
    let files: Vec<PathBuf> = entries.filter_map(|entry| Some(entry.ok()?.path())).filter(kind).collect();
    let same = files.iter().find(|path| path.file_stem() == summary.file_stem());
    let only = || files.first().filter(|_| files.len() == 1);
    Some(same.or_else(only)?.file_name()?.to_string_lossy().into_owned())
}

/// Returns the TCP connections of the capture, at the interface that saw most of the largest one.
///
/// A capture that cannot be read gives none; the page reports it where it would be drawn.
fn connections(folder: &Path, capture: &str) -> Vec<Connection> {
    let Ok(Some(largest)) = sequence::largest(folder, &[capture.to_owned()]) else { return Vec::new() };
    let rows = sequence::rows(&largest.capture).unwrap_or_default();
    let here = rows.iter().filter(|row| row.interface == largest.row.interface);
    let start = rows.iter().map(|row| row.first_packet_unix_ns).min().unwrap_or(0);
    here.enumerate().map(|(number, row)| connection(row, number as u32, start)).collect()
}

/// Describes a connection by its direction with more data.
///
/// The capture does not show the application's own times, so the connection starts with its first
/// packet and ends with its last one.
fn connection(row: &ConnectionRow, number: u32, start: u64) -> Connection {
    let more = usize::from(row.directions[1].unique_bytes > row.directions[0].unique_bytes);
    let way = &row.directions[more];
    let delays = way.round_trips;
    Connection {
        workload: WORKLOAD.to_owned(),
        number,
        protocol: Protocol::Tcp,
        from: way.from.ip().to_string(),
        to: way.to.ip().to_string(),
        from_port: way.from.port(),
        to_port: way.to.port(),
        congestion_control: String::new(),
        complete: row.complete,
        error: None,
        start_ns: row.first_packet_unix_ns - start,
        established_ns: None,
        end_ns: row.last_packet_unix_ns - start,
        bytes: way.unique_bytes,
        goodput_bps: way.throughput.unwrap_or(0.0) * 8.0,
        segments: way.counts.data_packets,
        retransmissions: way.counts.retransmitted_packets,
        timeouts: way.retransmissions.timeouts,
        lost: 0,
        round_trips: (delays.count > 0).then_some(RoundTrips {
            samples: delays.count,
            min_ns: delays.min_ns,
            mean_ns: delays.mean_ns,
            median_ns: delays.median_ns,
            p95_ns: delays.p95_ns,
            p99_ns: delays.p99_ns,
            max_ns: delays.max_ns,
        }),
        idle_max_ns: way.idle_max_us.unwrap_or(0) * 1000,
        ..Connection::default()
    }
}

fn manifest(
    file: &Path,
    summary: &Summary,
    header: Option<&capture::Header>,
    capture: Option<String>,
    events: Option<String>,
) -> Manifest {
    let link = header.and_then(|header| header.links.first());
    let name = link.map_or("link", |link| link.name.as_str());
    let counters = |direction: &str, way: &Way, profile: Option<&str>| LinkCounters {
        link: name.to_owned(),
        direction: direction.into(),
        profile: profile.unwrap_or("not recorded: `lasthop link --events` records it").to_owned(),
        packets: way.packets,
        lost: way.lost_by_reason.clone(),
        damaged: way.damaged,
        duplicated: way.duplicated,
        reordered: way.reordered,
        bytes: way.bytes,
        delivered_bytes: way.delivered_bytes,
        delay_mean_ns: way.delay_mean_ns,
        waiting_mean_ns: way.waiting_mean_ns,
        link_layer: way.link_layer,
    };
    let started_unix_ns = header.map_or(0, |header| header.started.as_nanos());
    let run = RunRecord {
        cell: 0,
        repetition: 0,
        verdict: if summary.overloaded { RunVerdict::Overloaded } else { RunVerdict::Good },
        reasons: summary.overload_reasons.clone(),
        started_unix_ns,
        seconds: summary.seconds,
        wall_seconds: summary.seconds,
        verified: None,
        lateness: None,
        links: vec![
            counters("up", &summary.up, link.map(|link| link.up.profile.as_str())),
            counters("down", &summary.down, link.map(|link| link.down.profile.as_str())),
        ],
        lite: None,
        captures: capture.into_iter().collect(),
        events: events.into_iter().collect(),
        senders: Vec::new(),
        link_layers: Vec::new(),
        logs: Vec::new(),
        points: None,
    };
    let stem = file.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    Manifest {
        schema: SCHEMA,
        lasthop: header.map(|header| header.lasthop.clone()).unwrap_or_default(),
        plan: PlanText {
            name: stem.clone(),
            title: link.map_or(stem, |link| format!("One run of lasthop link: {}", link.name)),
            description: String::new(),
            file: String::new(),
            text: String::new(),
        },
        started_unix_ns,
        ended_unix_ns: header.map(|header| header.started.as_nanos() + (summary.seconds * 1e9) as u64),
        clock: summary.clock,
        kernel: String::new(),
        guest: None,
        machine: Machine {
            architecture: String::new(),
            processor: String::new(),
            processors: 0,
            memory_bytes: 0,
        },
        seed: summary.seed,
        measure: WORKLOAD.to_owned(),
        workloads: vec![PlannedWorkload { name: WORKLOAD.to_owned(), background: false }],
        factors: Vec::new(),
        cells: vec![Cell { number: 0, levels: Vec::new() }],
        repetitions: 1,
        shard: None,
        merged: Vec::new(),
        looks: Vec::new(),
        precision: None,
        series: None,
        runs: vec![run],
        expectations: Vec::new(),
        factorial: Vec::new(),
        units: BTreeMap::new(),
    }
}
