//! An end of a workload as a program, whose sockets are remote.
//!
//! ```text
//! run ──── task, then `f` when the clients have finished, `s` when the run is over ────▶ program
//!     ◀─── `r` when clients can reach the server, then the outcome, and the end ───────
//! ```
//!
//! Both ways are pipes: the program's standard input and output.

use super::super::ground::{Ground, Stop};
use super::{ClientEnd, RunClock, ServerEnd, Site, Task};
use crate::roles::remote_sockets::Agent;
use borsh::BorshDeserialize;
use netlab::process;
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::Duration;

/// First argument of the program.
pub const SUBCOMMAND: &str = "__end";
/// Time between SIGTERM and SIGKILL.
const GRACE: Duration = Duration::from_secs(2);
/// Interval at which a waiting thread checks whether the run is over.
const LOOK: Duration = Duration::from_millis(50);
/// To the program: the clients have finished.
const FINISHED: u8 = b'f';
/// To the program: the run is over.
const OVER: u8 = b's';
/// From the program: clients can reach the server.
const READY: u8 = b'r';

/// A running program.
pub struct Program {
    name: String,
    child: Child,
    orders: io::PipeWriter,
    reports: ChildStdout,
    log: PathBuf,
}

impl Program {
    /// Starts the program with its task, on `node`, whose sockets are those of `agent`.
    pub fn start(
        ground: &Ground<'_>,
        name: &str,
        node: usize,
        agent: &Agent,
        task: Task,
    ) -> Result<Self, String> {
        let failed =
            |error: io::Error| format!("cannot start the program on `{}`: {error}", ground.name(node));
        let log = ground.logs.join(format!("{}-{name}-{}.log", ground.stem, ground.name(node)));
        let errors =
            File::create(&log).map_err(|error| format!("cannot write {}: {error}", log.display()))?;
        let (input, mut orders) = io::pipe().map_err(failed)?;
        let mut command = agent.command().map_err(failed)?;
        command
            .arg(std::env::current_exe().map_err(failed)?)
            .arg(SUBCOMMAND)
            .current_dir(ground.scratch)
            .stdin(input)
            .stdout(Stdio::piped())
            .stderr(errors)
            .process_group(0);
        let mut child = spawn(ground, node, command)?.map_err(failed)?;
        let bytes = borsh::to_vec(&(ground.clock, task)).map_err(failed)?;
        orders.write_all(&(bytes.len() as u64).to_be_bytes()).map_err(failed)?;
        orders.write_all(&bytes).map_err(failed)?;
        let reports = child.stdout.take().expect("it was piped");
        Ok(Self { name: name.to_owned(), child, orders, reports, log })
    }

    /// Waits until clients can reach the server.
    pub fn wait_until_ready(&mut self) -> Result<(), String> {
        let mut word = [0];
        match self.reports.read_exact(&mut word) {
            Ok(()) if word == [READY] => Ok(()),
            Ok(()) | Err(_) => Err(self.failure()),
        }
    }

    /// Tells a server that nobody connects any more.
    pub fn tell_that_clients_have_finished(&mut self) {
        // A program that has ended needs no order.
        let _ = self.orders.write_all(&[FINISHED]);
    }

    /// Waits for the outcome. When the run is over, the program is told.
    pub fn outcome<T: BorshDeserialize>(mut self, stop: &Stop) -> Result<T, String> {
        let ended = AtomicBool::new(false);
        let mut bytes = Vec::new();
        let (orders, reports) = (&mut self.orders, &mut self.reports);
        let read = thread::scope(|scope| {
            let watch = scope.spawn(|| {
                while !ended.load(Ordering::Acquire) {
                    if stop.is_over() {
                        let _ = orders.write_all(&[OVER]);
                        break;
                    }
                    thread::park_timeout(LOOK);
                }
            });
            let read = reports.read_to_end(&mut bytes);
            ended.store(true, Ordering::Release);
            watch.thread().unpark();
            read
        });
        read.map_err(|error| error.to_string())?;
        borsh::from_slice::<Result<T, String>>(&bytes).map_err(|_| self.failure())?
    }

    /// Says why the program ended without an outcome.
    fn failure(&mut self) -> String {
        process::end_group(&mut self.child, GRACE);
        let said = std::fs::read_to_string(&self.log).unwrap_or_default();
        let said = said.lines().rfind(|line| !line.trim().is_empty()).unwrap_or("nothing");
        format!("the program of `{}` with remote sockets ended early; it said: {said}", self.name)
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        process::end_group(&mut self.child, GRACE);
    }
}

/// Starts a command in the namespace of a node.
fn spawn(ground: &Ground<'_>, node: usize, mut command: Command) -> Result<io::Result<Child>, String> {
    ground.namespace(node).enter(|| Ok(command.spawn())).map_err(|error| error.to_string())
}

/// Acts as the program: reads its task, does it, and writes the outcome.
///
/// # Errors
/// If the task cannot be read or the outcome cannot be written.
pub fn execute() -> io::Result<()> {
    let mut length = [0; 8];
    io::stdin().read_exact(&mut length)?;
    let mut bytes = vec![0; u64::from_be_bytes(length) as usize];
    io::stdin().read_exact(&mut bytes)?;
    let (clock, task): (RunClock, Task) = borsh::from_slice(&bytes)?;
    let stop = Stop::default();
    let site = Site { clock, stop: &stop };
    let (tell, finished) = channel();
    thread::scope(|scope| {
        scope.spawn(|| {
            let tell = tell;
            let mut order = [0];
            // The end of the pipe is the end of the run, too.
            while io::stdin().read(&mut order).is_ok_and(|count| count > 0) && order != [OVER] {
                let _ = tell.send(());
            }
            stop.tell();
        });
        let outcome = match task {
            Task::BulkSender(end) => connecting(&end, site),
            Task::BulkReceiver(end) => serving(&end, site, finished),
            Task::RequestClient(end) => connecting(&end, site),
            Task::RequestServer(end) => serving(&end, site, finished),
            Task::SessionSources(end) => connecting(&end, site),
            Task::SessionSink(end) => serving(&end, site, finished),
            Task::DatagramSender(end) => connecting(&end, site),
            Task::DatagramReceiver(end) => serving(&end, site, finished),
        };
        let mut output = io::stdout().lock();
        output.write_all(&outcome?)?;
        output.flush()?;
        // The other thread waits for orders that never come.
        std::process::exit(0)
    })
}

fn connecting<C: ClientEnd>(end: &C, site: Site<'_>) -> io::Result<Vec<u8>> {
    borsh::to_vec(&Ok::<_, String>(end.run(site)))
}

fn serving<S: ServerEnd>(end: &S, site: Site<'_>, finished: Receiver<()>) -> io::Result<Vec<u8>> {
    let clients = move || {
        let mut output = io::stdout().lock();
        output.write_all(&[READY])?;
        output.flush()?;
        // The channel closes when the run is over.
        let _ = finished.recv();
        io::Result::Ok(())
    };
    let outcome = end.serve(site, clients).map(|(_, outcome)| outcome);
    borsh::to_vec(&outcome)
}
