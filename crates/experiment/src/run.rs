//! One run: one repetition of one cell, from an empty namespace to its result.
//!
//! The first process of namespaces made for this run alone ([`netlab::isolation`]) calls
//! [`execute`], on the host or in a kernel of its own ([`virtual_time`]). Of the campaign it knows
//! only the [`Job`], and it leaves only files below the run directory.

mod accepting;
mod files;
pub mod losses;
mod network;
mod observed;
mod points;
mod senders;
mod traffic;

use crate::attached::AttachedNode;
use crate::plan::{Experiment, Plan};
use crate::recording::{Recording, overload};
use crate::workload::Traffic;
use crate::workload::end::RunClock;
use accepting::Accepting;
use capture::output;
use emulator::host::{Host, Unusable};
use emulator::{Command, Ending, WayId, control};
pub use files::Files;
use files::Kept;
use link::arq::hop::Counters;
use link::units::Span;
use link::{Direction, Seed};
use netlab::mesh::Mesh;
use netlab::{isolation, tcp, tun};
use results::{
    Cell, Connection, Lateness, LinkCounters, LinkLayerCounters, LiteTotals, RunEnded, RunRecord, RunVerdict,
};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use serde::{Deserialize, Serialize};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant, UNIX_EPOCH};
use virtual_time::guest;

/// Parameters of a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Job {
    /// The plan's file: relative file names in the plan start from its directory.
    pub plan_file: String,
    /// The plan's text.
    pub plan_text: String,
    /// The cell.
    pub cell: Cell,
    /// The repetition, from 0.
    pub repetition: u32,
    /// Seed of the campaign.
    pub seed: u64,
    /// The run directory.
    pub directory: PathBuf,
    /// Directory of the control group made for the run, if it needs one that others have to remove.
    #[serde(default)]
    pub control_group: Option<PathBuf>,
    /// The nodes with interfaces or namespaces of the host attached to them.
    #[serde(default)]
    pub attached: Vec<AttachedNode>,
    /// Path of the library by which programs use remote sockets; if `None`, `lasthop resoa run`
    /// finds its own.
    #[serde(default)]
    pub preload: Option<PathBuf>,
}

/// Longest time for which links stay up so that closed connections can finish.
const CLOSING: Duration = Duration::from_secs(2);

impl Job {
    /// Returns the prefix of the names of this run's files: `c003-r02`.
    #[must_use]
    pub fn stem(&self) -> String {
        stem(self.cell.number, self.repetition)
    }

    /// Returns the path of the file to which the result is written.
    #[must_use]
    pub fn result(&self) -> PathBuf {
        self.directory.join(SCRATCH).join(format!("{}.json", self.stem()))
    }

    /// Returns the path of an empty directory for the run's programs.
    #[must_use]
    pub fn scratch(&self) -> PathBuf {
        self.directory.join(SCRATCH).join(self.stem())
    }
}

/// Returns the prefix of the names of a run's files.
#[must_use]
pub fn stem(cell: u32, repetition: u32) -> String {
    format!("c{cell:03}-r{repetition:02}")
}

/// Subdirectory of the run directory with files that are removed when the campaign closes.
pub const SCRATCH: &str = "unfinished";
/// Subdirectories of a run directory into which runs write.
pub const FOLDERS: [&str; 3] = ["captures", "events", "logs"];

/// Runs a job and writes its result. A run with an error is a failed run, which is a result, too.
///
/// # Errors
/// If the result cannot be written.
pub fn execute(job: &Job) -> io::Result<()> {
    let started = Instant::now();
    let started_unix_ns = UNIX_EPOCH.elapsed().unwrap_or_default().as_nanos() as u64;
    let mut ended = run(job).unwrap_or_else(|reason| RunEnded {
        run: RunRecord::failed(job.cell.number, job.repetition, reason),
        connections: Vec::new(),
    });
    ended.run.started_unix_ns = started_unix_ns;
    ended.run.wall_seconds = started.elapsed().as_secs_f64();
    output::write(&job.result(), serde_json::to_vec(&ended)?)
}

fn run(job: &Job) -> Result<RunEnded, String> {
    let plan = Plan::parse(&job.plan_file, &job.plan_text).map_err(|error| error.to_string())?;
    let experiment =
        plan.experiment(&job.cell, job.repetition, job.seed).map_err(|error| error.to_string())?;
    let files = Files::new(job, &experiment)?;
    raise_descriptor_limit(&experiment);
    // Their paths are those of the host's `/proc`.
    let namespaces = job.attached.iter().map(|node| Ok((node.node, node.open()?)));
    let namespaces = namespaces.collect::<Result<_, String>>()?;
    isolation::settle().map_err(|error| error.to_string())?;
    let hosts = job.scratch().join("hosts");
    fs::write(&hosts, experiment.scenario.hosts())
        .map_err(|error| format!("cannot write {}: {error}", hosts.display()))?;
    isolation::lay_over(&hosts, Path::new("/etc/hosts")).map_err(|error| error.to_string())?;
    crate::parameters::set(&experiment.scenario.parameters)?;
    if let Some(tick) = experiment.scenario.clock_tick {
        guest::set_tick(tick.into())?;
    }
    let mut accepting = Accepting::begin(job, &experiment.scenario)?;

    let seed = Seed::campaign(job.seed).run(job.repetition.into());
    let links = network::links(&experiment.scenario, &seed, files.watch())?;
    let mesh = network::build(&experiment.scenario, &links, namespaces)?;
    accepting.watch(&experiment.scenario, &mesh)?;
    guest::align();
    let started = UNIX_EPOCH.elapsed().unwrap_or_default().as_nanos() as u64;
    let recording = network::recording(&experiment, &links, job.seed, &files, started)?;
    let (control, controls) = control().map_err(|error| error.to_string())?;
    let guest = tun::guest_loop().map_err(|error| error.to_string())?;
    let mut emulator = Host::new(guest, recording, controls, false).map_err(|error| error.to_string())?;
    // Beside time zero of the emulator, so that times of senders and of packets can be compared.
    let (origin, clock) = (Instant::now(), RunClock::start());
    let senders = senders::Senders::start(&files, &experiment, &mesh, job.seed, started, origin)?;
    network::connect(&mut emulator, &experiment.scenario, &mesh, links).map_err(|error| error.to_string())?;
    guest::align();
    let emulating = thread::Builder::new()
        .name("emulator".into())
        .spawn(move || emulator.run())
        .map_err(|error| error.to_string())?;

    let traffic = traffic::run(&experiment, &mesh, clock, job, seed, &files);
    let_connections_close(&mesh, &experiment);
    control.tell(Command::Stop);
    let ending = emulating
        .join()
        .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        .map_err(|error| format!("the emulator failed: {error}"))?;
    let missing = senders.stop()?;
    let lite = accepting.totals()?;
    let (connections, failures) = traffic?;
    let outcome = Outcome { started, connections, failures, missing, lite };
    finish(job, &experiment, &mesh, ending, outcome, &files)
}

/// Number of file descriptors that a run has open in addition to those of its scenario.
///
/// They are those of logs, captures, the recorder and the kernel's interfaces, with room to spare.
const DESCRIPTORS: u64 = 256;

/// Raises the limit of file descriptors as far as the scenario needs it.
///
/// With 200 links or some hundred connections, a run needs more than the usual limit of 1024. A
/// link has four file descriptors, a node one or two, a connection two (one for each end); the
/// limit allows twice as many. It is raised no further, since the run's programs inherit it. If the
/// hard limit is lower than needed, the calls that fail report it.
fn raise_descriptor_limit(experiment: &Experiment) {
    let count = |things: usize, each: u64| things as u64 * each;
    let scenario = &experiment.scenario;
    let needed = DESCRIPTORS
        + count(scenario.links.len(), 8)
        + count(scenario.nodes.len(), 4)
        + experiment.workloads.iter().map(|workload| 4 * u64::from(workload.kind.connections())).sum::<u64>();
    let limit = getrlimit(Resource::Nofile);
    let _ = setrlimit(Resource::Nofile, Rlimit { current: enough(limit, needed), ..limit });
}

/// Returns the current limit, or a higher one if it is too low; `None` means no limit.
fn enough(limit: Rlimit, needed: u64) -> Option<u64> {
    let most = limit.maximum.unwrap_or(u64::MAX);
    limit.current.map(|current| current.max(needed.min(most)))
}

/// Result of the workloads and of the recordings beside them.
struct Outcome {
    /// Start of the run, in nanoseconds since 1970.
    started: u64,
    connections: Vec<Connection>,
    failures: Vec<String>,
    /// What is missing in the recordings, as sentences.
    missing: Vec<String>,
    /// Counters of TCP Lite, if a node uses it.
    lite: Option<LiteTotals>,
}

/// Closes the recorder and judges the run.
fn finish(
    job: &Job,
    experiment: &Experiment,
    mesh: &Mesh,
    ending: Ending<Unusable, Recording>,
    outcome: Outcome,
    files: &Files,
) -> Result<RunEnded, String> {
    let Ending { driver, observer, punctuality, pauses, refused, counted, at } = ending;
    let recorded = observer.into_recorder().close(at).map_err(|error| error.to_string())?;
    let Outcome { started, mut connections, failures: mut reasons, missing, lite } = outcome;
    let programs =
        experiment.workloads.iter().any(|workload| matches!(workload.kind, Traffic::Command { .. }));
    if let Some(capture) = files.capture().filter(|_| programs) {
        observed::add(&mut connections, experiment, &capture, started)?;
    }
    if let (true, Some(senders), Some(events)) = (files.losses(), files.senders(), files.events()) {
        // Without the states of senders (on a kernel that does not show them) there is nothing to
        // analyse; `missing` says so.
        if senders.exists() {
            let scenario = &experiment.scenario;
            losses::add(&mut connections, &senders, &events, |address| scenario.node_at(address))?;
        }
    }
    let points = match files.capture().filter(|_| files.points()) {
        None => None,
        Some(capture) => Some(points::of(experiment, &capture, &connections)?),
    };
    let dropped = mesh.dropped_by_kernel().map_err(|error| error.to_string())? + driver.0;
    let late = overload(&punctuality, &pauses, dropped, recorded.stalls);
    let links = counters(experiment, &recorded.summary, &counted);
    let dropped_calls = dropped_calls(&links);
    let verdict = verdict(!dropped_calls.is_empty(), !reasons.is_empty(), !late.is_empty());
    let wanted = experiment.capture.points.keeps(job.repetition, verdict == RunVerdict::Failed);
    let points = points.filter(|_| wanted);
    reasons.splice(0..0, dropped_calls);
    reasons.extend(late.iter().map(ToString::to_string));
    reasons.extend(refused.map(|(count, error)| format!("{count} packets could not be delivered: {error}")));
    reasons.extend(missing);
    let Kept { captures, events, senders, link_layers } = files.keep(verdict == RunVerdict::Failed);
    Ok(RunEnded {
        run: RunRecord {
            cell: job.cell.number,
            repetition: job.repetition,
            verdict,
            reasons,
            started_unix_ns: 0,
            seconds: at.as_secs_f64(),
            wall_seconds: 0.0,
            verified: None,
            lateness: Some(Lateness {
                packets: punctuality.total(),
                median_ns: punctuality.quantile(0.5).as_nanos(),
                p99_ns: punctuality.quantile(0.99).as_nanos(),
                worst_ns: punctuality.worst().as_nanos(),
                paused_ns: pauses.total.as_nanos(),
                mean_ns: Some(punctuality.off().by.as_nanos()),
                link_mean_ns: Some(punctuality.off().of.as_nanos()),
            }),
            links,
            lite,
            captures,
            events,
            senders,
            link_layers,
            logs: files.logs(),
            points,
        },
        connections,
    })
}

/// Judges a run: whether calls were dropped, whether workloads failed, and whether it was
/// overloaded.
const fn verdict(dropped_calls: bool, failed: bool, late: bool) -> RunVerdict {
    match (dropped_calls, failed, late) {
        // Failures in such a run are consequences of the disconnection.
        (true, ..) => RunVerdict::DroppedCall,
        (false, true, _) => RunVerdict::Failed,
        (false, false, true) => RunVerdict::Overloaded,
        (false, false, false) => RunVerdict::Good,
    }
}

/// Returns the reasons of a run with dropped calls (LL-35).
fn dropped_calls(links: &[LinkCounters]) -> Vec<String> {
    let mut dropped: Vec<_> =
        links.iter().filter(|link| link.was_disconnected()).map(|link| link.link.as_str()).collect();
    dropped.dedup();
    dropped
        .iter()
        .map(|link| {
            format!(
                "the link layer of `{link}` reached the limit of retransmissions of a frame, and disconnected"
            )
        })
        .collect()
}

fn counters(
    experiment: &Experiment,
    summary: &capture::Summary,
    link_layers: &[(WayId, Counters)],
) -> Vec<LinkCounters> {
    let mut all = Vec::new();
    for (place, link) in experiment.scenario.links.iter().enumerate() {
        for (direction, its) in
            [(capture::Direction::Up, &link.profile.up), (capture::Direction::Down, &link.profile.down)]
        {
            let counted = summary.way(capture::LinkId(place as u16), direction);
            let way = WayId(2 * place + direction as usize);
            let link_layer =
                link_layers.iter().find(|(of, _)| *of == way).map(|(_, counted)| link_layer(counted));
            let lost = counted.lost_by_reason.iter().filter(|(_, count)| *count > 0);
            all.push(LinkCounters {
                link: link.name.clone(),
                direction: direction.name().to_owned(),
                profile: its.to_string(),
                packets: counted.packets,
                lost: lost.map(|(reason, count)| (reason.name().to_owned(), count)).collect(),
                damaged: counted.damaged,
                duplicated: counted.duplicated,
                reordered: counted.reordered,
                bytes: counted.bytes,
                delivered_bytes: counted.delivered_bytes,
                delay_mean_ns: counted.delay.mean().map(capture::Span::as_nanos),
                waiting_mean_ns: counted.waiting.mean().map(capture::Span::as_nanos),
                link_layer,
            });
        }
    }
    all
}

/// Converts the counters of one end of a link layer for the results.
const fn link_layer(counted: &Counters) -> LinkLayerCounters {
    let Counters { first, again, erased, rejects, resets, stalls } = *counted;
    LinkLayerCounters { frames: first, again, erased, rejects, resets, stalls }
}

/// Keeps the links up until closed connections have finished.
///
/// Their last segments are still inside the links, and captures must contain them.
fn let_connections_close(mesh: &Mesh, experiment: &Experiment) {
    let given_up = Instant::now() + CLOSING;
    let nodes = 0..experiment.scenario.nodes.len();
    let closing = || nodes.clone().any(|node| tcp::closing(mesh.node(node)).is_ok_and(|count| count > 0));
    while closing() && Instant::now() < given_up {
        thread::sleep(Duration::from_millis(5));
    }
    let delays = experiment.scenario.links.iter().map(|link| {
        Direction::BOTH.map(|direction| link.profile.one_way(direction)).into_iter().max().unwrap_or_default()
    });
    let through = delays.fold(Span::ZERO, |sum, delay| sum + delay);
    let through = Duration::from(through) + Duration::from_millis(5);
    thread::sleep(through.min(CLOSING));
}

#[cfg(test)]
mod tests;
