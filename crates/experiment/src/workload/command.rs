//! A program on one of the nodes, given as a shell command line.

use super::ground::Ground;
use netlab::{Namespace, listening, process};
use results::{Connection, Protocol, figure};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, pidfd_open};
use std::collections::BTreeMap;
use std::fs::File;
use std::io::BufReader;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

/// Time within which a server must listen.
const LISTENING: Duration = Duration::from_secs(30);
/// Time between SIGTERM and SIGKILL.
const GRACE: Duration = Duration::from_secs(2);
/// Interval at which a state is polled.
const LOOK: Duration = Duration::from_millis(10);
/// Interval at which a waiting thread checks whether the run is over; the end of the program itself
/// is noticed at once.
///
/// With the virtual clock, hours pass quickly, and each check costs time.
const LOOK_FOR_THE_END: Timespec = Timespec { tv_sec: 0, tv_nsec: 50_000_000 };

/// A running program.
#[derive(Debug)]
pub struct Program {
    name: String,
    node: String,
    start: u64,
    child: Child,
    log: PathBuf,
}

impl Program {
    /// Starts the command line `line` on `node`, with its output in a log file.
    ///
    /// # Errors
    /// If there is no shell, or the log cannot be written.
    pub fn start(ground: &Ground<'_>, name: &str, node: usize, line: &str) -> Result<Self, String> {
        let log = ground.logs.join(format!("{}-{name}.log", ground.stem));
        let output =
            File::create(&log).map_err(|error| format!("cannot write {}: {error}", log.display()))?;
        let errors =
            output.try_clone().map_err(|error| format!("cannot write {}: {error}", log.display()))?;
        let node_name = ground.name(node);
        let start = ground.now();
        let mut command = match ground.roles.sockets(node) {
            None => Command::new("/bin/sh"),
            Some(agent) => {
                let mut command = agent.command().map_err(|error| error.to_string())?;
                command.arg("/bin/sh");
                command
            }
        };
        let spawned = ground.namespace(node).enter(|| {
            command
                .args(["-c", line])
                .current_dir(ground.scratch)
                .env("LASTHOP_NODE", &node_name)
                .stdin(Stdio::null())
                .stdout(output)
                .stderr(errors)
                .process_group(0);
            Ok(command.spawn())
        });
        let child = spawned
            .map_err(|error| error.to_string())?
            .map_err(|error| format!("workload `{name}`: cannot start /bin/sh: {error}"))?;
        Ok(Self { name: name.to_owned(), node: node_name, start, child, log })
    }

    /// Waits until a TCP server listens on `port` of its node.
    ///
    /// # Errors
    /// If the program ends before that, or it takes too long.
    pub fn wait_until_it_listens(&mut self, namespace: &Namespace, port: u16) -> Result<(), String> {
        let end = Instant::now() + LISTENING;
        while Instant::now() < end {
            let listeners = listening::listeners(namespace).map_err(|error| error.to_string())?;
            if listeners.iter().any(|listener| listener.list.starts_with("tcp") && listener.port == port) {
                return Ok(());
            }
            if let Some(status) = self.child.try_wait().map_err(|error| error.to_string())? {
                return Err(format!("workload `{}`: {}; {}", self.name, ended(status), self.tail()));
            }
            thread::sleep(LOOK);
        }
        let seconds = LISTENING.as_secs();
        Err(format!(
            "workload `{}`: no server listens at port {port} after {seconds} s; {}",
            self.name,
            self.tail()
        ))
    }

    /// Waits for its end, or ends it when the run is over.
    ///
    /// # Errors
    /// If it cannot be waited for, or reported a figure that is no number.
    pub fn wait(
        mut self,
        ground: &Ground<'_>,
        wanted_until_the_end: bool,
    ) -> Result<Vec<Connection>, String> {
        let pid = Pid::from_raw(self.child.id().cast_signed()).ok_or("the program has no process id")?;
        let ending = pidfd_open(pid, PidfdFlags::empty()).map_err(|error| error.to_string())?;
        let status = loop {
            match self.child.try_wait().map_err(|error| error.to_string())? {
                Some(status) => break Some(status),
                None if ground.stop.is_over() => break None,
                // A signal may end the wait early; then the loop checks again.
                None => drop(poll(&mut [PollFd::new(&ending, PollFlags::IN)], Some(&LOOK_FOR_THE_END))),
            }
        };
        let end = ground.now();
        process::end_group(&mut self.child, GRACE);
        let figures = self.figures()?;
        let error = match status {
            Some(status) if status.success() => None,
            // A server that is ended with the run has done its job.
            None if wanted_until_the_end => None,
            None => Some("ended when the run was over".to_owned()),
            Some(status) => Some(format!("{}; {}", ended(status), self.tail())),
        };
        Ok(vec![Connection {
            workload: self.name.clone(),
            protocol: Protocol::Program,
            from: self.node.clone(),
            to: self.node.clone(),
            complete: error.is_none(),
            error,
            start_ns: self.start,
            end_ns: end,
            figures,
            ..Connection::default()
        }])
    }

    /// Returns the figures that it reported.
    fn figures(&self) -> Result<BTreeMap<String, f64>, String> {
        let output = File::open(&self.log).map_err(figure::FigureError::from);
        output
            .and_then(|output| figure::of_output(BufReader::new(output)))
            .map_err(|error| format!("{}: {error}", self.log.display()))
    }

    /// Returns the last line of its output, for an error message.
    fn tail(&self) -> String {
        let text = std::fs::read_to_string(&self.log).unwrap_or_default();
        match text.lines().rfind(|line| !line.trim().is_empty()) {
            Some(line) => format!("it said: {line}"),
            None => "it said nothing".to_owned(),
        }
    }
}

fn ended(status: ExitStatus) -> String {
    match status.code() {
        Some(code) => format!("ended with status {code}"),
        None => format!("ended by a signal ({status})"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::process::ExitStatusExt;

    #[test]
    fn how_a_program_ended() {
        assert_eq!(ended(ExitStatus::from_raw(3 << 8)), "ended with status 3");
        assert!(ended(ExitStatus::from_raw(9)).starts_with("ended by a signal (signal: 9"));
    }

    /// Returns the rows of a program on node `a`, which is waited for.
    fn rows(line: &str, background: bool, over: bool) -> Vec<Connection> {
        super::super::ground::tests::without_network(|ground| {
            let log = ground.logs.join("log");
            let output = File::create(&log).expect("a log");
            let mut command = Command::new("/bin/sh");
            command.args(["-c", line]).stdout(output).process_group(0);
            let child = command.spawn().expect("started");
            let (name, node) = ("w".to_owned(), "a".to_owned());
            if over {
                ground.stop.tell();
            }
            let program = Program { name, node, start: 5, child, log };
            program.wait(ground, background).expect("waited for")
        })
    }

    #[test]
    fn a_program_is_a_row_with_its_status_and_last_words() {
        let good = rows("echo well", false, false);
        assert_eq!(good.len(), 1);
        let Connection { workload, protocol, from, to, complete, error, start_ns, end_ns, .. } = &good[0];
        assert_eq!([workload, from, to], ["w", "a", "a"]);
        assert_eq!((*protocol, *complete, error, *start_ns), (Protocol::Program, true, &None, 5));
        assert!(*end_ns > 0);
        let bad = rows("echo first; echo 'no such host'; echo; exit 4", true, false);
        assert_eq!(bad[0].error.as_deref(), Some("ended with status 4; it said: no such host"));
        assert!(!bad[0].complete);
        assert_eq!(
            rows("exit 1", false, false)[0].error.as_deref(),
            Some("ended with status 1; it said nothing")
        );
    }

    #[test]
    fn a_program_reports_figures() {
        let row = &rows("echo lasthop: load_s=1.25; echo lasthop: stalls=3", false, false)[0];
        let figures = [("load_s".to_owned(), 1.25), ("stalls".to_owned(), 3.0)];
        assert_eq!(row.figures, BTreeMap::from(figures));
        assert!(row.complete);
    }

    /// A server runs until the end; any other program that does was not fast enough.
    #[test]
    fn a_program_that_the_run_does_not_wait_for_is_ended() {
        assert_eq!(rows("sleep 600", true, true)[0].error, None);
        assert_eq!(rows("sleep 600", false, true)[0].error.as_deref(), Some("ended when the run was over"));
    }
}
