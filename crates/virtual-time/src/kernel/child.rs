//! Running the programs of a build.
//!
//! Everything that they print goes to the log, and they end when the build is interrupted.

use super::error::KernelError;
use rustix::process::{Pid, Signal, kill_process_group};
use std::fs::File;
use std::io::{self, BufRead, BufReader, Write};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

/// Interval at which an interruption is noticed.
const TICK: Duration = Duration::from_millis(200);
/// Time for a program to end after SIGTERM.
const GRACE: Duration = Duration::from_secs(3);
/// Number of last lines that an error shows.
const TAIL: usize = 12;

/// An event of a running program.
#[derive(Debug)]
pub enum Sign<'a> {
    /// It printed a line, on either output.
    Line(&'a str),
    /// It printed nothing for one interval.
    Tick,
}

/// How a program ended.
#[derive(Debug)]
pub struct Outcome {
    /// Whether its exit status is 0.
    pub success: bool,
    /// All lines that it printed.
    pub lines: Vec<String>,
}

impl Outcome {
    /// Returns the last lines, for an error message.
    #[must_use]
    pub fn tail(&self) -> String {
        self.lines[self.lines.len().saturating_sub(TAIL)..].join("\n")
    }

    /// Returns the lines that apt marks as errors, or the last lines if there are none.
    #[must_use]
    pub fn errors(&self) -> String {
        let errors: Vec<_> = self.lines.iter().filter_map(|line| line.strip_prefix("E: ")).collect();
        if errors.is_empty() { self.tail() } else { errors.join("\n") }
    }
}

/// Runs programs one after another.
#[derive(Debug)]
pub struct Programs<'a> {
    log: File,
    interrupted: &'a AtomicBool,
}

impl<'a> Programs<'a> {
    /// Programs that print into `log` and run until `interrupted`.
    pub const fn new(log: File, interrupted: &'a AtomicBool) -> Self {
        Self { log, interrupted }
    }

    /// Runs a program to its end.
    ///
    /// # Errors
    /// If it cannot be started, or on interruption, which also ends the program and all that it
    /// started. A nonzero exit status is no error.
    pub fn run(
        &mut self,
        command: &mut Command,
        watch: &mut dyn FnMut(Sign<'_>),
    ) -> Result<Outcome, KernelError> {
        let program = command.get_program().to_owned();
        let cannot = |source| KernelError::File { doing: "run", path: program.into(), source };
        let _ = writeln!(self.log, "+ {command:?}");
        let (output, ours) = start(command).map_err(cannot)?;
        // It has its own process group: Ctrl-C reaches only this process, and the children of make
        // can be ended with make.
        let (mut child, reader) = (Group(ours), output);
        let (sender, lines) = mpsc::channel();
        thread::spawn(move || {
            for line in BufReader::new(reader).split(b'\n').map_while(Result::ok) {
                if sender.send(String::from_utf8_lossy(&line).into_owned()).is_err() {
                    break;
                }
            }
        });
        let mut printed = Vec::new();
        loop {
            if self.interrupted.load(Ordering::Relaxed) {
                return Err(KernelError::Interrupted);
            }
            match lines.recv_timeout(TICK) {
                Ok(line) => {
                    let _ = writeln!(self.log, "{line}");
                    watch(Sign::Line(&line));
                    printed.push(line);
                }
                Err(RecvTimeoutError::Timeout) => watch(Sign::Tick),
                Err(RecvTimeoutError::Disconnected) => break,
            }
        }
        let status = child.0.wait().map_err(KernelError::file("wait for", "a program".as_ref()))?;
        Ok(Outcome { success: status.success(), lines: printed })
    }
}

/// Starts the program with both outputs in one pipe, so that lines keep their order.
fn start(command: &mut Command) -> io::Result<(io::PipeReader, Child)> {
    let (reader, writer) = io::pipe()?;
    let child =
        command.stdin(Stdio::null()).stdout(writer.try_clone()?).stderr(writer).process_group(0).spawn()?;
    // The command holds the writing ends of the pipe; while these are open, the pipe does not end.
    command.stdout(Stdio::null()).stderr(Stdio::null());
    Ok((reader, child))
}

/// A program and all that it started. When dropped, ends what still runs of them.
#[derive(Debug)]
struct Group(Child);

impl Drop for Group {
    fn drop(&mut self) {
        let Some(group) = i32::try_from(self.0.id()).ok().and_then(Pid::from_raw) else { return };
        if !matches!(self.0.try_wait(), Ok(None)) {
            return;
        }
        let _ = kill_process_group(group, Signal::TERM);
        let told = Instant::now();
        while matches!(self.0.try_wait(), Ok(None)) && told.elapsed() < GRACE {
            thread::sleep(TICK / 10);
        }
        let _ = kill_process_group(group, Signal::KILL);
        let _ = self.0.wait();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str) -> Command {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        command
    }

    #[test]
    fn both_outputs_come_in_order_into_the_log_too() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("log");
        let go_on = AtomicBool::new(false);
        let mut programs = Programs::new(File::create(&path).expect("a log"), &go_on);
        let outcome = programs
            .run(&mut shell("echo one; echo two >&2; echo three; exit 3"), &mut |_| {})
            .expect("it ran");
        assert!(!outcome.success);
        assert_eq!(outcome.lines, ["one", "two", "three"]);
        assert_eq!(outcome.tail(), "one\ntwo\nthree");
        let log = std::fs::read_to_string(path).expect("the log");
        assert!(log.ends_with("one\ntwo\nthree\n"), "{log}");
    }

    #[test]
    fn interrupting_ends_the_program_and_what_it_started() {
        let folder = tempfile::tempdir().expect("a folder");
        let stop = AtomicBool::new(false);
        let mut programs = Programs::new(File::create(folder.path().join("log")).expect("a log"), &stop);
        let mut grandchild = None;
        let result = programs.run(&mut shell("sleep 1000 & echo $!; wait"), &mut |sign| {
            if let Sign::Line(line) = sign {
                grandchild = line.parse::<i32>().ok().and_then(Pid::from_raw);
                stop.store(true, Ordering::Relaxed);
            }
        });
        assert!(matches!(result, Err(KernelError::Interrupted)), "{result:?}");
        let grandchild = grandchild.expect("its number");
        // Init may take a moment to reap it.
        let gone = (0..500).any(|_| {
            thread::sleep(Duration::from_millis(10));
            let stat = std::fs::read_to_string(format!("/proc/{}/stat", grandchild.as_raw_nonzero()));
            stat.map_or(true, |stat| stat.contains(") Z "))
        });
        assert!(gone, "the grandchild still runs");
    }

    #[test]
    fn a_program_that_is_not_there_is_named() {
        let folder = tempfile::tempdir().expect("a folder");
        let go_on = AtomicBool::new(false);
        let mut programs = Programs::new(File::create(folder.path().join("log")).expect("a log"), &go_on);
        let error =
            programs.run(&mut Command::new("no-such-program"), &mut |_| {}).expect_err("it is not there");
        assert!(error.to_string().starts_with("cannot run no-such-program: "), "{error}");
    }

    #[test]
    fn an_error_shows_the_last_lines_or_what_apt_marks() {
        let outcome = |lines: Vec<String>| Outcome { success: false, lines };
        let many = outcome((0..30).map(|number| number.to_string()).collect());
        let last: Vec<_> = (18..30).map(|number| number.to_string()).collect();
        assert_eq!((many.tail(), many.errors()), (last.join("\n"), last.join("\n")));
        let apt = ["Reading lists", "E: no route", "W: old", "E: gave up", "Done"].map(str::to_owned);
        assert_eq!(outcome(apt.into()).errors(), "no route\ngave up");
        assert_eq!(outcome(Vec::new()).tail(), "");
    }

    /// A silent program shows its progress by other means: the size of a download.
    #[test]
    fn a_silent_program_ticks() {
        let folder = tempfile::tempdir().expect("a folder");
        let go_on = AtomicBool::new(false);
        let mut programs = Programs::new(File::create(folder.path().join("log")).expect("a log"), &go_on);
        let (file, mut ticks) = (folder.path().join("ticked"), 0);
        let script = format!(
            "for _ in $(seq 3000); do [ -e '{}' ] && break; sleep 0.01; done; echo line",
            file.display()
        );
        let outcome = programs.run(&mut shell(&script), &mut |sign| {
            if matches!(sign, Sign::Tick) {
                ticks += 1;
                std::fs::write(&file, "").expect("written");
            }
        });
        assert_eq!(outcome.expect("it ran").lines, ["line"]);
        assert!(ticks >= 1);
    }
}
