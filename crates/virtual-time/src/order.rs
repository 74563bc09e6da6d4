//! Orders to a guest, and how the guest ended: files in the directory that host and guest share.

use serde::{Deserialize, Serialize};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Path of the shared directory in the guest.
pub const WORK: &str = "/lasthop/work";

/// Path of this program in the guest.
pub const PROGRAM: &str = "/lasthop/program";

const ORDER: &str = "order.json";
const ENDED: &str = "ended.json";
const CLOCK: &str = "clock";
const OUTPUT: &str = "stdout";
const ERRORS: &str = "stderr";

/// A program to run in the guest.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Order {
    /// The program and its arguments, as paths of the guest.
    pub command: Vec<String>,
    /// Its whole environment.
    pub environment: Vec<(String, String)>,
    /// Its working directory.
    pub directory: PathBuf,
    /// Directories that must be in the guest's memory: files of the host have times that differ
    /// from run to run.
    pub in_memory: Vec<PathBuf>,
    /// Files of the guest to copy out when the program has ended, and their names in the shared
    /// directory.
    pub bring: Vec<(PathBuf, String)>,
}

/// How the guest's program ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct GuestEnded {
    /// Its exit status; `None` if a signal ended it or it could not be started.
    pub status: Option<i32>,
    /// Additional information, such as an error.
    pub message: Option<String>,
    /// Time of the end, in virtual nanoseconds since boot.
    pub at: u64,
    /// Number of programs that the guest's kernel killed because memory ran out. If it is not zero,
    /// the results are not valid.
    pub killed_for_memory: u64,
}

impl Order {
    /// Returns an environment that is the same on every host, without any of the caller's
    /// variables.
    #[must_use]
    pub fn environment() -> Vec<(String, String)> {
        [
            ("PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"),
            ("HOME", "/root"),
            ("USER", "root"),
            ("SHELL", "/bin/sh"),
            ("LANG", "C.UTF-8"),
            ("TZ", "UTC"),
        ]
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .to_vec()
    }

    /// Writes the order into the shared directory.
    pub fn write(&self, work: &Path) -> io::Result<()> {
        fs::write(work.join(ORDER), serde_json::to_vec(self)?)
    }

    /// Reads the order in the guest.
    pub fn read(work: &Path) -> io::Result<Self> {
        Ok(serde_json::from_slice(&fs::read(work.join(ORDER))?)?)
    }
}

impl GuestEnded {
    /// Writes the file into the shared directory atomically.
    pub fn write(&self, work: &Path) -> io::Result<()> {
        let new = work.join("ended.new");
        fs::write(&new, serde_json::to_vec(self)?)?;
        fs::rename(new, work.join(ENDED))
    }

    /// Returns what the guest wrote; `None` if it did not get so far.
    #[must_use]
    pub fn read(work: &Path) -> Option<Self> {
        serde_json::from_slice(&fs::read(work.join(ENDED)).ok()?).ok()
    }
}

/// Clock of a running guest, which its kernel writes to a file of 16 bytes
/// (`kernel/patches/11-clock-file.patch`).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Clock {
    /// Virtual time since boot.
    pub now: Duration,
    /// Number of system calls that took virtual time because they did not wait.
    pub charged: u64,
}

impl Clock {
    /// Returns the path of the clock file in the shared directory.
    #[must_use]
    pub fn file(work: &Path) -> PathBuf {
        work.join(CLOCK)
    }

    /// Creates the file for the kernel, with zeros.
    ///
    /// # Errors
    /// If the directory cannot be written to.
    pub fn create(work: &Path) -> io::Result<()> {
        fs::write(Self::file(work), [0; 16])
    }

    /// Reads the file; zeros if it does not exist.
    #[must_use]
    pub fn read(work: &Path) -> Self {
        let bytes = fs::read(Self::file(work)).unwrap_or_default();
        let Ok(bytes) = <[u8; 16]>::try_from(bytes) else { return Self::default() };
        let [now, charged] = [0, 8].map(|at| {
            let mut number = [0; 8];
            number.copy_from_slice(&bytes[at..at + 8]);
            u64::from_le_bytes(number)
        });
        Self { now: Duration::from_nanos(now), charged }
    }
}

/// Returns the path of the program's standard output.
#[must_use]
pub fn output(work: &Path) -> PathBuf {
    work.join(OUTPUT)
}

/// Returns the path of the program's standard error.
#[must_use]
pub fn errors(work: &Path) -> PathBuf {
    work.join(ERRORS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read() {
        let folder = tempfile::tempdir().expect("a folder");
        let order = Order {
            command: vec!["true".into()],
            environment: Order::environment(),
            directory: "/".into(),
            in_memory: vec!["/scratch".into()],
            bring: vec![("/a/b".into(), "b".into())],
        };
        order.write(folder.path()).expect("written");
        assert_eq!(Order::read(folder.path()).expect("read"), order);
        assert_eq!(GuestEnded::read(folder.path()), None, "it has not ended");
        let ended = GuestEnded { status: Some(3), message: None, at: 17, killed_for_memory: 0 };
        ended.write(folder.path()).expect("written");
        assert_eq!(GuestEnded::read(folder.path()), Some(ended));
        assert_eq!(Clock::read(folder.path()), Clock::default(), "there is none");
        Clock::create(folder.path()).expect("written");
        assert_eq!(Clock::read(folder.path()), Clock::default());
        let bytes = [1_500_000_000, 7_u64].map(u64::to_le_bytes).concat();
        fs::write(Clock::file(folder.path()), bytes).expect("written");
        let shown = Clock { now: Duration::from_millis(1500), charged: 7 };
        assert_eq!(Clock::read(folder.path()), shown);
    }
}
