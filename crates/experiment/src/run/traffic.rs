//! The workloads of a run: servers first, then each at its start time, until those in the
//! foreground have ended.

use super::{Files, Job};
use crate::plan::Experiment;
use crate::roles::Roles;
use crate::workload::bulk::Bulk;
use crate::workload::command::Program;
use crate::workload::datagrams::Datagrams;
use crate::workload::end::RunClock;
use crate::workload::ground::{Ground, Stop};
use crate::workload::ping::Ping;
use crate::workload::request::Requests;
use crate::workload::sessions::Sessions;
use crate::workload::{Traffic, Workload};
use link::Seed;
use netlab::mesh::Mesh;
use results::Connection;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::{Duration, Instant};
use virtual_time::guest;

/// Runs all workloads; returns the rows of all, and the reasons why the run failed, if it did.
pub fn run(
    experiment: &Experiment,
    mesh: &Mesh,
    clock: RunClock,
    job: &Job,
    seed: Seed,
    files: &Files,
) -> Result<(Vec<Connection>, Vec<String>), String> {
    let stop = Stop::default();
    let (scratch, logs) = (files.scratch(), files.logs_folder());
    let mut roles = Roles::start(&experiment.scenario, mesh, &scratch, &logs, files.stem(), job)?;
    let ground = Ground {
        scenario: &experiment.scenario,
        mesh,
        clock,
        seed,
        stop: &stop,
        scratch: &scratch,
        logs: &logs,
        stem: files.stem(),
        roles: &roles,
    };
    let mut servers = start_servers(&ground, &experiment.workloads)?;
    // Start times count from here: the traffic does not depend on how long the servers took.
    guest::align();
    let begin = Instant::now();
    let mut failures = Vec::new();
    let (ended, endings) = channel();
    let rows = thread::scope(|scope| {
        let threads: Vec<_> = experiment
            .workloads
            .iter()
            .enumerate()
            .map(|(place, workload)| {
                let (ended, ground) = (ended.clone(), &ground);
                let server = servers[place].take();
                scope.spawn(move || {
                    let result = one(ground, place, workload, server, begin);
                    let _ = ended.send((place, workload.background));
                    result
                })
            })
            .collect();
        drop(ended);
        if !wait_for_foreground(experiment, &endings) {
            let limit = experiment.limit;
            failures.push(format!("time limit exceeded: workloads were still running after {limit}"));
        }
        stop.tell();
        threads.into_iter().map(crate::workload::join).collect::<Vec<_>>()
    });
    let mut connections = Vec::new();
    for (workload, rows) in experiment.workloads.iter().zip(rows) {
        match rows {
            Ok(rows) => {
                for row in rows {
                    if let Some(error) = row.error.as_ref().filter(|_| !workload.background) {
                        failures
                            .push(format!("workload `{}`, connection {}: {error}", row.workload, row.number));
                    }
                    connections.push(row);
                }
            }
            Err(reason) => failures.push(format!("workload `{}`: {reason}", workload.name)),
        }
    }
    failures.extend(roles.ended());
    Ok((connections, failures))
}

/// Starts the programs that others need as servers, and waits until they listen.
fn start_servers(ground: &Ground<'_>, workloads: &[Workload]) -> Result<Vec<Option<Program>>, String> {
    let mut servers = Vec::new();
    for workload in workloads {
        let Traffic::Command { node, line, listens: Some(port) } = &workload.kind else {
            servers.push(None);
            continue;
        };
        let mut program = Program::start(ground, &workload.name, *node, line)?;
        program.wait_until_it_listens(ground.namespace(ground.scenario.tcp_at(*node)), *port)?;
        servers.push(Some(program));
    }
    Ok(servers)
}

/// Waits until all workloads in the foreground have ended; returns false if the time limit came
/// first.
fn wait_for_foreground(experiment: &Experiment, endings: &std::sync::mpsc::Receiver<(usize, bool)>) -> bool {
    let end = Instant::now() + Duration::from(experiment.limit);
    let mut left = experiment.workloads.iter().filter(|workload| !workload.background).count();
    while left > 0 {
        match endings.recv_timeout(end.saturating_duration_since(Instant::now())) {
            Ok((_, background)) => left -= usize::from(!background),
            Err(RecvTimeoutError::Timeout) => return false,
            Err(RecvTimeoutError::Disconnected) => return true,
        }
    }
    true
}

/// Runs one workload to its end.
fn one(
    ground: &Ground<'_>,
    place: usize,
    workload: &Workload,
    server: Option<Program>,
    begin: Instant,
) -> Result<Vec<Connection>, String> {
    let name = &workload.name;
    if let Some(server) = server {
        return server.wait(ground, workload.background);
    }
    ground.stop.sleep_until(begin, Duration::from(workload.start));
    if ground.stop.is_over() {
        return Ok(Vec::new());
    }
    match &workload.kind {
        Traffic::Bulk { from, to, amount, connections, congestion_control } => Bulk {
            name,
            place,
            from: *from,
            to: *to,
            amount: *amount,
            connections: *connections,
            congestion_control: congestion_control.as_deref(),
        }
        .run(ground),
        Traffic::Request {
            client,
            server,
            request,
            response,
            times,
            pause,
            connections,
            congestion_control,
            fast_open,
        } => Requests {
            name,
            place,
            client: *client,
            server: *server,
            request: *request,
            response: *response,
            times: *times,
            pause: *pause,
            clients: *connections,
            congestion_control: congestion_control.as_deref(),
            fast_open: *fast_open,
        }
        .run(ground),
        Traffic::Sessions { from, to, sources, law, duration, congestion_control } => Sessions {
            name,
            place,
            from: *from,
            to: *to,
            sources: *sources,
            law: *law,
            duration: *duration,
            congestion_control: congestion_control.as_deref(),
        }
        .run(ground),
        Traffic::Datagrams { from, to, rate, size, duration, on_off } => Datagrams {
            name,
            place,
            from: *from,
            to: *to,
            rate: *rate,
            size: *size,
            duration: *duration,
            on_off: *on_off,
        }
        .run(ground),
        Traffic::Ping { from, to, size, interval, duration } => {
            let (from, to, size) = (*from, *to, *size);
            Ping { name, place, from, to, size, interval: *interval, duration: *duration }.run(ground)
        }
        Traffic::Command { node, line, .. } => {
            Program::start(ground, name, *node, line)?.wait(ground, workload.background)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::Plan;

    /// Returns whether the run ends by itself after these endings, each of a workload in the
    /// background or not. The plan has two workloads in the foreground and one in the background.
    fn over_by_itself(limit: &str, endings: &[bool]) -> bool {
        let bulk = "[[workloads]]\nkind = \"bulk\"\nfrom = \"a\"\nto = \"b\"\nbytes = \"1kB\"\n";
        let text = format!(
            "[stop]\nafter = \"{limit}\"\n[[scenario.links]]\nbetween = [\"a\", \"b\"]\n\
             {bulk}name = \"1\"\n{bulk}name = \"2\"\nbackground = true\n{bulk}name = \"3\"\n"
        );
        let plan = Plan::parse("plan.toml", &text).unwrap_or_else(|error| panic!("{error}"));
        let experiment = plan.experiment(&plan.cells()[0], 0, 0).expect("an experiment");
        let (tell, words) = channel();
        for (place, &background) in endings.iter().enumerate() {
            tell.send((place, background)).expect("a receiver");
        }
        wait_for_foreground(&experiment, &words)
    }

    #[test]
    fn a_run_waits_for_all_in_the_foreground_and_no_others() {
        assert!(over_by_itself("1h", &[false, false]));
        assert!(over_by_itself("1h", &[true, false, false]));
        assert!(!over_by_itself("10ms", &[true, false]), "one in the foreground goes on");
        assert!(!over_by_itself("10ms", &[]));
    }
}
