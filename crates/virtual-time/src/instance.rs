//! A guest as seen from the host: booting it, watching its clock, and detecting that it crashed or
//! that its time stands still.

use crate::boot::{self, Parameters};
use crate::order::{Clock, GuestEnded, Order};
use crate::pace::{Pace, Seen, Slow};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, pidfd_open};
use std::collections::VecDeque;
use std::ffi::OsString;
use std::io::{self, BufRead, BufReader, Read};
use std::path::PathBuf;
use std::process::{Child, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// A guest to boot.
#[derive(Debug, Clone)]
pub struct Boot {
    /// The kernel.
    pub kernel: PathBuf,
    /// The library with the guest's links (crate `guest-link`).
    pub library: PathBuf,
    /// The directory that the guest can write to, mounted there at
    /// [`order::WORK`](crate::order::WORK). It must exist.
    pub work: PathBuf,
    /// The guest's order.
    pub order: Order,
    /// Seed of its entropy: initial sequence numbers, ports that it chooses, addresses of its
    /// programs.
    pub seed: u64,
    /// Its memory in MiB. Unused memory costs nothing.
    pub memory_mib: u32,
    /// The processor to which the guest is bound.
    pub processor: Option<u32>,
    /// How long the guest's clock may stand still, by the host's clock.
    pub patience: Duration,
}

/// Default memory of a guest in MiB.
pub const MEMORY_MIB: u32 = 512;

/// Default of how long virtual time may stand still before the guest is ended.
pub const PATIENCE: Duration = Duration::from_mins(1);

/// Interval at which the host checks a guest.
const LOOK: Duration = Duration::from_millis(10);

/// Number of console lines that are kept.
const CONSOLE_LINES: usize = 60;

/// A running guest. It ends when this value is dropped, or when the thread that started it ends.
#[derive(Debug)]
pub struct Instance {
    child: Child,
    console: Option<JoinHandle<VecDeque<String>>>,
    work: PathBuf,
    started: Instant,
    patience: Duration,
}

/// Progress of a guest's clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Advance {
    /// The clock has advanced to this time since boot.
    To(Duration),
    /// The clock advances, but slowly. Reported once.
    Slowly(Slow),
}

/// A guest that ended regularly.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EndedGuest {
    /// How its program ended.
    pub guest: GuestEnded,
    /// Time from boot to power-off by the host's clock.
    pub wall_time: Duration,
}

/// Why a guest gave no result.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The order could not be written, or the process could not be started.
    #[error("cannot {doing}: {source}")]
    Start {
        /// The operation that failed.
        doing: String,
        /// The reason.
        source: io::Error,
    },
    /// The outer process could not be set up.
    #[error(transparent)]
    Netlab(#[from] netlab::Error),
    /// The guest's clock stands still.
    #[error(
        "virtual time stands still at {virtual_seconds:.6} s, for {wall_seconds:.0} s: a program computes without making system \
         calls (docs/virtual-time.md, \"What cannot work\")"
    )]
    StandsStill {
        /// Virtual time in seconds.
        virtual_seconds: f64,
        /// For how long, in seconds of the host's clock.
        wall_seconds: f64,
    },
    /// The kernel ended without a result.
    #[error("the guest's kernel ended without a result ({status}); its console: {}", console_text(console))]
    Crashed {
        /// The exit status.
        status: String,
        /// The last lines of the console.
        console: Vec<String>,
    },
}

fn console_text(console: &[String]) -> String {
    let lines: Vec<_> = console.iter().map(|line| line.trim()).filter(|line| !line.is_empty()).collect();
    if lines.is_empty() { "no output".into() } else { lines.join(" | ") }
}

impl Boot {
    /// Boots the guest.
    ///
    /// # Errors
    /// If the order cannot be written or the process cannot be started.
    pub fn start(&self) -> Result<Instance, Error> {
        let absolute = |path: &PathBuf| {
            path.canonicalize()
                .map_err(|source| Error::Start { doing: format!("find {}", path.display()), source })
        };
        let work = absolute(&self.work)?;
        let doing = || format!("write the guest's order in {}", work.display());
        let written = self.order.write(&work).and_then(|()| Clock::create(&work));
        written.map_err(|source| Error::Start { doing: doing(), source })?;
        let program = std::env::current_exe()
            .map_err(|source| Error::Start { doing: "find the path of this program".into(), source })?;
        let parameters = Parameters {
            kernel: absolute(&self.kernel)?,
            program,
            library: absolute(&self.library)?,
            work: work.clone(),
            seed: self.seed,
            memory_mib: self.memory_mib,
            processor: self.processor,
        };
        let text = serde_json::to_string(&parameters).map_err(|error| Error::Start {
            doing: "encode the parameters of the guest".into(),
            source: error.into(),
        })?;
        let mut command =
            netlab::isolation::command([OsString::from(boot::SUBCOMMAND), OsString::from(text)])?;
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
        let mut child = command
            .spawn()
            .map_err(|source| Error::Start { doing: "start the process of the guest".into(), source })?;
        let console = child.stderr.take().map(|console| thread::spawn(move || last_lines(console)));
        Ok(Instance { child, console, work, started: Instant::now(), patience: self.patience })
    }
}

/// Reads the console to its end and returns the last lines; the guest never blocks on a full pipe.
fn last_lines(console: impl Read) -> VecDeque<String> {
    let mut lines = VecDeque::new();
    let mut reader = BufReader::new(console);
    let mut line = Vec::new();
    while matches!(reader.read_until(b'\n', &mut line), Ok(count) if count > 0) {
        if lines.len() == CONSOLE_LINES {
            lines.pop_front();
        }
        lines.push_back(String::from_utf8_lossy(&line).trim_end().to_owned());
        line.clear();
    }
    lines
}

impl Instance {
    /// Waits for the end of the guest, and reports to `progress` how its clock advances.
    ///
    /// When `interrupted` becomes true, it ends the guest and returns `None`.
    ///
    /// # Errors
    /// If the kernel ends without a result, virtual time stands still, or the guest cannot be
    /// watched.
    pub fn wait(
        mut self,
        interrupted: &AtomicBool,
        progress: &mut dyn FnMut(Advance),
    ) -> Result<Option<EndedGuest>, Error> {
        let mut pace = Pace::new(self.patience);
        let process = pidfd_open(Pid::from_child(&self.child), PidfdFlags::empty())
            .map_err(|error| Error::Start { doing: "watch the guest".into(), source: error.into() })?;
        let look = Timespec::try_from(LOOK).ok();
        let status = loop {
            if interrupted.load(Ordering::Acquire) {
                return Ok(None);
            }
            match self.child.try_wait() {
                Ok(Some(status)) => break status.to_string(),
                Ok(None) => {}
                Err(error) => break error.to_string(),
            }
            // Ends at once when the guest ends, and early by a signal.
            let _ = poll(&mut [PollFd::new(&process, PollFlags::IN)], look.as_ref());
            match pace.look(self.started.elapsed(), Clock::read(&self.work)) {
                Seen::Same => {}
                Seen::Moved(time) => progress(Advance::To(time)),
                Seen::Slow(slow) => progress(Advance::Slowly(slow)),
                Seen::StandsStill { at, wall } => {
                    return Err(Error::StandsStill {
                        virtual_seconds: at.as_secs_f64(),
                        wall_seconds: wall.as_secs_f64(),
                    });
                }
            }
        };
        match GuestEnded::read(&self.work) {
            Some(guest) => Ok(Some(EndedGuest { guest, wall_time: self.started.elapsed() })),
            None => Err(Error::Crashed { status, console: self.console() }),
        }
    }

    /// Returns the last lines of the console.
    fn console(&mut self) -> Vec<String> {
        let lines = self.console.take().map(|console| console.join().unwrap_or_default());
        lines.unwrap_or_default().into()
    }
}

impl Drop for Instance {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        // The guest itself is killed a moment later, because its parent has died. Only the guest
        // writes to the console: when the console ends, the guest is gone.
        let _ = self.console();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use netlab::process::ProcessId;

    #[test]
    fn the_last_lines_of_a_console() {
        let lines: Vec<_> = (0..100).map(|number| format!("line {number}\r\n")).collect();
        let text = lines.concat();
        let lines = last_lines(text.as_bytes());
        assert_eq!(lines.len(), CONSOLE_LINES);
        assert_eq!(lines.front().map(String::as_str), Some("line 40"));
        assert_eq!(console_text(&[String::new(), " a ".into(), "b".into()]), "a | b");
        assert_eq!(console_text(&[]), "no output");
    }

    /// Returns a guest whose outer process is this script of the shell, in the shared folder.
    fn guest(folder: &tempfile::TempDir, script: &str, patience: Duration) -> Instance {
        let work = folder.path().to_owned();
        Clock::create(&work).expect("a clock");
        let mut command = std::process::Command::new("/bin/sh");
        command.args(["-c", script]).current_dir(&work).stdout(Stdio::null()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("started");
        let console = child.stderr.take().map(|console| thread::spawn(move || last_lines(console)));
        Instance { child, console, work, started: Instant::now(), patience }
    }

    static GO_ON: AtomicBool = AtomicBool::new(false);

    #[test]
    fn a_guest_that_ends_gives_its_result() {
        let folder = tempfile::tempdir().expect("a folder");
        let ended = GuestEnded { status: Some(3), message: None, at: 17, killed_for_memory: 1 };
        ended.write(folder.path()).expect("written");
        let guest = guest(&folder, "exit 1", PATIENCE);
        let result = guest.wait(&GO_ON, &mut |_| {}).expect("no error").expect("not interrupted");
        assert_eq!(result.guest, ended, "whatever the outer process says");
    }

    /// The console tells why a kernel crashed.
    #[test]
    fn a_guest_that_crashes_shows_its_console() {
        let folder = tempfile::tempdir().expect("a folder");
        let guest = guest(&folder, "echo one >&2; printf 'Kernel panic' >&2; exit 4", PATIENCE);
        let Err(Error::Crashed { status, console }) = guest.wait(&GO_ON, &mut |_| {}) else {
            panic!("no crash");
        };
        assert_eq!((status.as_str(), console.join("|").as_str()), ("exit status: 4", "one|Kernel panic"));
        let said = Error::Crashed { status, console }.to_string();
        assert!(said.ends_with("(exit status: 4); its console: one | Kernel panic"), "{said}");
    }

    /// Its process ends with the value, so that nothing of it is left.
    #[test]
    fn a_guest_that_is_interrupted_or_stands_still_is_ended() {
        let is_alive = |pid| ProcessId::of(pid).is_some_and(ProcessId::is_alive);
        let folder = tempfile::tempdir().expect("a folder");
        let interrupted = guest(&folder, "exec sleep 600", PATIENCE);
        let pid = interrupted.child.id();
        assert!(is_alive(pid));
        let result = interrupted.wait(&AtomicBool::new(true), &mut |_| {});
        assert!(matches!(result, Ok(None)) && !is_alive(pid), "{result:?}");
        let standing = guest(&folder, "exec sleep 600", Duration::from_millis(50));
        let pid = standing.child.id();
        let result = standing.wait(&GO_ON, &mut |advance| panic!("{advance:?}"));
        let Err(Error::StandsStill { virtual_seconds, wall_seconds }) = result else { panic!("{result:?}") };
        assert!(virtual_seconds.abs() < f64::EPSILON && wall_seconds >= 0.05 && !is_alive(pid));
    }

    #[test]
    fn the_advance_of_the_clock_is_reported() {
        let folder = tempfile::tempdir().expect("a folder");
        // The clock shows 2^8 ns. Whoever sees it creates the file that the process waits for.
        let script = "printf '\\0\\1\\0\\0\\0\\0\\0\\0\\0\\0\\0\\0\\0\\0\\0\\0' >clock; \
                      while ! [ -e seen ]; do sleep 0.01; done";
        let guest = guest(&folder, script, PATIENCE);
        let (seen, mut advances) = (folder.path().join("seen"), Vec::new());
        let result = guest.wait(&GO_ON, &mut |advance| {
            advances.push(advance);
            std::fs::write(&seen, "").expect("written");
        });
        assert!(matches!(result, Err(Error::Crashed { .. })), "{result:?}");
        assert_eq!(advances, [Advance::To(Duration::from_nanos(256))]);
    }

    #[test]
    fn a_console_is_any_bytes() {
        let lines = last_lines(&b"one\n\xff\xfe\n\nlast"[..]);
        assert_eq!(lines, ["one", "\u{fffd}\u{fffd}", "", "last"]);
    }
}
