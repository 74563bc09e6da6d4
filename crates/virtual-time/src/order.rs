//! What a guest is to do, and how it ended: files in the one folder that host and guest can both
//! write.

use serde::{Deserialize, Serialize};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Where the guest has the folder.
pub const WORK: &str = "/lasthop/work";

/// Where the guest has this program.
pub const PROGRAM: &str = "/lasthop/program";

const ORDER: &str = "order.json";
const ENDED: &str = "ended.json";
const CLOCK: &str = "clock";
const OUTPUT: &str = "stdout";
const ERRORS: &str = "stderr";

/// A program for the guest.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Order {
    /// The program and its arguments, as paths of the guest.
    pub command: Vec<String>,
    /// Its whole environment.
    pub environment: Vec<(String, String)>,
    /// Its working directory.
    pub directory: PathBuf,
    /// Folders that shall be in the guest's memory: files of the host's have times that differ from
    /// run to run.
    pub in_memory: Vec<PathBuf>,
    /// Files of the guest to bring out when the program has ended, and their names in the folder.
    pub bring: Vec<(PathBuf, String)>,
}

/// How the guest's program ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct GuestEnded {
    /// Its exit status; `None` if a signal ended it or it could not be started.
    pub status: Option<i32>,
    /// What else there is to say.
    pub message: Option<String>,
    /// Virtual nanoseconds since boot.
    pub at: u64,
    /// Programs that the guest's kernel killed since there was no memory left: whatever came out is
    /// not what would have.
    pub killed_for_memory: u64,
}

impl Order {
    /// The same environment on every host: nothing of the caller's gets in.
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

    /// Writes it into the folder.
    pub fn write(&self, work: &Path) -> io::Result<()> {
        fs::write(work.join(ORDER), serde_json::to_vec(self)?)
    }

    /// Reads it in the guest.
    pub fn read(work: &Path) -> io::Result<Self> {
        Ok(serde_json::from_slice(&fs::read(work.join(ORDER))?)?)
    }
}

impl GuestEnded {
    /// Writes it into the folder, all at once.
    pub fn write(&self, work: &Path) -> io::Result<()> {
        let new = work.join("ended.new");
        fs::write(&new, serde_json::to_vec(self)?)?;
        fs::rename(new, work.join(ENDED))
    }

    /// What the guest wrote; `None` if it did not get so far.
    #[must_use]
    pub fn read(work: &Path) -> Option<Self> {
        serde_json::from_slice(&fs::read(work.join(ENDED)).ok()?).ok()
    }
}

/// What a guest's kernel shows while it runs, in a file of 16 bytes
/// (`kernel/patches/11-clock-file.patch`).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Clock {
    /// Virtual time since boot.
    pub now: Duration,
    /// System calls that were charged because they did not wait.
    pub charged: u64,
}

impl Clock {
    /// Where that file is in the folder.
    #[must_use]
    pub fn file(work: &Path) -> PathBuf {
        work.join(CLOCK)
    }

    /// Creates the file for the kernel to find, showing zero.
    ///
    /// # Errors
    /// If the folder cannot be written.
    pub fn create(work: &Path) -> io::Result<()> {
        fs::write(Self::file(work), [0; 16])
    }

    /// Reads it; zero if the file is not there.
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

/// What the program wrote to its standard output.
#[must_use]
pub fn output(work: &Path) -> PathBuf {
    work.join(OUTPUT)
}

/// What it wrote to its standard error.
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
