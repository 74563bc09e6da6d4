//! From a process of the host to the kernel.
//!
//! A hidden subcommand of this program, as the first process of namespaces of its own
//! ([`netlab::isolation`]): it enters the guest's file system ([`root`](crate::root)), fixes what
//! differs between hosts and runs (address layout, environment, working directory, processor,
//! capabilities), gives up system calls by which it could reach the host (`filter`), and starts the
//! kernel. So whoever ends this process ends the guest. It is not the kernel itself: a kernel that
//! has crashed aborts, which the first process of a namespace cannot.

use crate::filter;
use crate::order::{Clock, PROGRAM, WORK};
use crate::root::{self, KERNEL, MEMORY};
use nix::sys::personality::{self, Persona};
use rustix::fs::Mode;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit, umask};
use rustix::thread::{CapabilitySet, CpuSet, sched_setaffinity};
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, ExitStatus, Stdio};

/// First argument.
pub const SUBCOMMAND: &str = "__boot";

/// The guest's wall clock when it boots: 2026-01-01 00:00 UTC, so that certificates of today are
/// valid in it.
pub const START_UNIX_NS: u64 = 1_767_225_600_000_000_000;

/// Open files that a guest's kernel may have on the host: one for each of the host's files that it
/// has in memory.
const MANY_FILES: u64 = 65_536;
/// With fewer than these programs in the guest soon fail for want of them, with messages that do
/// not tell whose limit it is.
const FILES: u64 = 256;

/// What to boot.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Parameters {
    /// The kernel, absolute.
    pub kernel: PathBuf,
    /// This program, absolute.
    pub program: PathBuf,
    /// The folder, absolute.
    pub work: PathBuf,
    /// Seed of the guest's entropy.
    pub seed: u64,
    /// Its memory in MiB.
    pub memory_mib: u32,
    /// The processor to stay on.
    pub processor: Option<u32>,
}

/// The kernel's command line. Its random generator takes it in, so it has nothing in it but what is
/// meant to make a difference.
#[must_use]
pub fn command_line(parameters: &Parameters) -> Vec<String> {
    let Parameters { seed, memory_mib, .. } = parameters;
    let words = [
        format!("mem={memory_mib}M"),
        "time-travel=inf-cpu".into(),
        format!("time-travel-start={START_UNIX_NS}"),
        format!("um_seed={seed}"),
        format!("clock_file={}", Clock::file(Path::new(WORK)).display()),
        "umid=lasthop".into(),
        format!("uml_dir={MEMORY}"),
        // Without ptrace where the host can: system calls of the guest cost less.
        "seccomp=auto".into(),
        // Nothing may come in from outside while it runs.
        "con=null".into(),
        "ssl=null".into(),
        // What the kernel says goes to its standard error, until the end.
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

/// Call this in `main` beside [`netlab::isolation::entry`]: if this process was started to boot a
/// guest, it does, and the exit code comes back when the guest has ended.
#[must_use]
pub fn entry() -> Option<ExitCode> {
    let mut arguments = std::env::args().skip(1);
    if arguments.next()? != SUBCOMMAND {
        return None;
    }
    let parameters = arguments.next().unwrap_or_default();
    let ended = match serde_json::from_str(&parameters) {
        Ok(parameters) => boot(&parameters),
        Err(error) => Err(format!("parameters of a guest: {error}")),
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
    kernel.status().map_err(|error| format!("start the kernel {}: {error}", parameters.kernel.display()))
}

fn prepare(parameters: &Parameters) -> Result<Command, String> {
    // The caller's would show in the modes of folders that are made here, and so keep the guest's
    // other users out.
    umask(Mode::from_raw_mode(0o022));
    root::enter(&parameters.kernel, &parameters.program, &parameters.work)?;
    let tried = |what: &str, error: &dyn std::fmt::Display| format!("{what}: {error}");
    personality::set(Persona::ADDR_NO_RANDOMIZE).map_err(|error| tried("fix the address layout", &error))?;
    if let Some(processor) = parameters.processor {
        let mut set = CpuSet::new();
        set.set(processor as usize);
        sched_setaffinity(None, &set).map_err(|error| tried("stay on one processor", &error))?;
    }
    limit()?;
    drop_capabilities();
    filter::enter().map_err(|error| tried("filter its system calls", &error))?;
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

/// Limits as of any shell, whatever those of the caller's are.
fn limit() -> Result<(), String> {
    let lower = |resource, wanted: u64| {
        let maximum = getrlimit(resource).maximum;
        let limit = maximum.map_or(wanted, |maximum| maximum.min(wanted));
        setrlimit(resource, Rlimit { current: Some(limit), maximum })
            .map_err(|error| format!("set the limit {resource:?}: {error}"))?;
        Ok::<_, String>(limit)
    };
    // Addresses depend on it above 128 MiB only, so that a lower limit makes no difference.
    lower(Resource::Stack, 8 << 20)?;
    let files = lower(Resource::Nofile, MANY_FILES)?;
    if files < FILES {
        return Err(format!(
            "the limit of open files is {files} (ulimit -Hn), and a guest needs {FILES}: raise it"
        ));
    }
    Ok(())
}

/// The kernel is an ordinary program: it needs no rights on the host. What a host does not know
/// cannot be dropped, and need not.
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
}
