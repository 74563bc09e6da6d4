//! Starting the kernel in a process of the host.
//!
//! This is a hidden subcommand of this program, started as the first process of its own namespaces
//! ([`netlab::isolation`]). It enters the guest's file system ([`crate::root`]). It fixes
//! what differs between hosts and runs: address layout, environment, working directory, processor
//! and capabilities. It gives up system calls that could reach the host (`filter`), and starts the
//! kernel.
//!
//! So ending this process ends the guest. The kernel is a child of this process, because a crashed
//! kernel aborts, and the first process of a namespace cannot.

use crate::filter;
use crate::order::{Clock, PROGRAM, WORK};
use crate::root::{self, KERNEL, LIBRARY, MEMORY};
use nix::sys::personality::{self, Persona};
use rustix::fs::Mode;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit, umask};
use rustix::thread::{CapabilitySet, CpuSet, sched_setaffinity};
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, ExitStatus, Stdio};

/// First argument of the process that boots a guest.
pub const SUBCOMMAND: &str = "__boot";

/// The guest's wall-clock time at boot: 2026-01-01 00:00 UTC, so that certificates of today are
/// valid in it.
pub const START_UNIX_NS: u64 = 1_767_225_600_000_000_000;

/// Largest number of files that a guest's kernel may have open on the host: one for each of the
/// host's files that it has in memory.
const MANY_FILES: u64 = 65_536;
/// Smallest limit of open files. With less, programs in the guest soon fail, with messages that do
/// not tell whose limit it is.
const FILES: u64 = 256;

/// Parameters of the process that boots a guest.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Parameters {
    /// Absolute path of the kernel.
    pub kernel: PathBuf,
    /// Absolute path of this program.
    pub program: PathBuf,
    /// Absolute path of the library with the guest's links.
    pub library: PathBuf,
    /// Absolute path of the directory shared with the guest.
    pub work: PathBuf,
    /// Seed of the guest's entropy.
    pub seed: u64,
    /// Its memory in MiB.
    pub memory_mib: u32,
    /// The processor to which the guest is bound.
    pub processor: Option<u32>,
}

/// Returns the kernel's command line.
///
/// It affects the kernel's random generator, so it contains nothing that differs between hosts.
#[must_use]
pub fn command_line(parameters: &Parameters) -> Vec<String> {
    let Parameters { seed, memory_mib, .. } = parameters;
    let words = [
        format!("mem={memory_mib}M"),
        "time-travel=inf-cpu".into(),
        format!("time-travel-start={START_UNIX_NS}"),
        format!("um_seed={seed}"),
        format!("clock_file={}", Clock::file(Path::new(WORK)).display()),
        format!("lasthop_link={LIBRARY}"),
        "umid=lasthop".into(),
        format!("uml_dir={MEMORY}"),
        // Without ptrace where the host supports it: the guest's system calls cost less.
        "seccomp=auto".into(),
        // No input from outside while it runs.
        "con=null".into(),
        "ssl=null".into(),
        // Until the end, the kernel's messages go to its standard error.
        "stderr=1".into(),
        "console=stderr0".into(),
        "loglevel=5".into(),
        // A guest that reboots has ended.
        "noreboot".into(),
        "root=/dev/root".into(),
        "rootfstype=hostfs".into(),
        "rootflags=/".into(),
        "ro".into(),
        format!("init={PROGRAM}"),
        "--".into(),
        crate::guest::SUBCOMMAND.into(),
    ];
    words.into()
}

/// Boots a guest if this process was started to do so.
///
/// Call it in `main` beside [`netlab::isolation::entry`]. Returns the exit code when the guest has
/// ended, or `None` at once in any other process.
#[must_use]
pub fn entry() -> Option<ExitCode> {
    let mut arguments = std::env::args().skip(1);
    if arguments.next()? != SUBCOMMAND {
        return None;
    }
    let parameters = arguments.next().unwrap_or_default();
    let ended = match serde_json::from_str(&parameters) {
        Ok(parameters) => boot(&parameters),
        Err(error) => Err(format!("invalid parameters of a guest: {error}")),
    };
    Some(match ended {
        Ok(status) if status.success() => ExitCode::SUCCESS,
        Ok(status) => {
            eprintln!("lasthop: the kernel ended with {status}");
            ExitCode::FAILURE
        }
        Err(error) => {
            eprintln!("lasthop: {error}");
            ExitCode::FAILURE
        }
    })
}

fn boot(parameters: &Parameters) -> Result<ExitStatus, String> {
    let mut kernel = prepare(parameters)?;
    kernel
        .status()
        .map_err(|error| format!("cannot start the kernel {}: {error}", parameters.kernel.display()))
}

fn prepare(parameters: &Parameters) -> Result<Command, String> {
    // The caller's umask would show in the modes of directories made here, and could lock out the
    // guest's other users.
    umask(Mode::from_raw_mode(0o022));
    root::enter(parameters)?;
    let tried = |what: &str, error: &dyn std::fmt::Display| format!("cannot {what}: {error}");
    personality::set(Persona::ADDR_NO_RANDOMIZE)
        .map_err(|error| tried("turn off address space randomization", &error))?;
    if let Some(processor) = parameters.processor {
        let mut set = CpuSet::new();
        set.set(processor as usize);
        sched_setaffinity(None, &set).map_err(|error| tried("pin the kernel to one processor", &error))?;
    }
    limit()?;
    drop_capabilities();
    filter::enter().map_err(|error| tried("filter the system calls of the kernel", &error))?;
    let mut command = Command::new(KERNEL);
    command
        .args(command_line(parameters))
        .env_clear()
        .env("TMPDIR", MEMORY)
        .env("HOME", MEMORY)
        .current_dir("/")
        .stdin(Stdio::null())
        // A kernel that panics writes its last messages to its standard output.
        .stdout(std::io::stderr());
    Ok(command)
}

/// Sets limits like those of any shell, whatever the caller's are.
fn limit() -> Result<(), String> {
    let lower = |resource, wanted: u64| {
        let maximum = getrlimit(resource).maximum;
        let limit = maximum.map_or(wanted, |maximum| maximum.min(wanted));
        setrlimit(resource, Rlimit { current: Some(limit), maximum })
            .map_err(|error| format!("cannot set the limit {resource:?}: {error}"))?;
        Ok::<_, String>(limit)
    };
    // Addresses depend on this limit only above 128 MiB, so a lower limit makes no difference.
    lower(Resource::Stack, 8 << 20)?;
    let files = lower(Resource::Nofile, MANY_FILES)?;
    if files < FILES {
        return Err(format!(
            "the limit of open files is {files} (ulimit -Hn), but a guest needs {FILES}: raise it"
        ));
    }
    Ok(())
}

/// Drops all capabilities, because the kernel is an ordinary program that needs no rights on the
/// host.
///
/// A capability that this host does not know cannot be dropped, and need not be.
fn drop_capabilities() {
    for capability in CapabilitySet::all() {
        let _ = rustix::thread::remove_capability_from_bounding_set(capability);
    }
    let _ = rustix::thread::clear_ambient_capability_set();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_has_nothing_of_the_host() {
        let parameters = Parameters {
            kernel: "/home/somebody/kernel".into(),
            program: "/home/somebody/lasthop".into(),
            library: "/home/somebody/link.so".into(),
            work: "/home/somebody/runs".into(),
            seed: 7,
            memory_mib: 512,
            processor: Some(1),
        };
        let line = command_line(&parameters).join(" ");
        assert!(line.contains("um_seed=7 ") && line.contains("mem=512M "), "{line}");
        assert!(!line.contains("somebody"), "{line}");
        let elsewhere = Parameters { work: "/other".into(), processor: None, ..parameters };
        assert_eq!(command_line(&elsewhere).join(" "), line);
    }

    /// Every word, in its order: the line goes into the kernel's random numbers, so another one is
    /// another run.
    #[test]
    fn the_command_line_word_by_word() {
        let path = PathBuf::from("/x");
        let parameters = Parameters {
            kernel: path.clone(),
            program: path.clone(),
            library: path.clone(),
            work: path,
            seed: u64::MAX,
            memory_mib: 64,
            processor: None,
        };
        let expected = [
            "mem=64M",
            "time-travel=inf-cpu",
            "time-travel-start=1767225600000000000",
            "um_seed=18446744073709551615",
            "clock_file=/lasthop/work/clock",
            "lasthop_link=/lasthop/link",
            "umid=lasthop",
            "uml_dir=/lasthop/memory",
            "seccomp=auto",
            "con=null",
            "ssl=null",
            "stderr=1",
            "console=stderr0",
            "loglevel=5",
            "noreboot",
            "root=/dev/root",
            "rootfstype=hostfs",
            "rootflags=/",
            "ro",
            "init=/lasthop/program",
            "--",
            "__guest",
        ];
        assert_eq!(command_line(&parameters), expected);
        let text = serde_json::to_string(&parameters).expect("JSON");
        assert_eq!(serde_json::from_str::<Parameters>(&text).expect("parameters"), parameters);
    }
}
