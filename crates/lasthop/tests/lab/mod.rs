//! A directory with plans, in which `lasthop run` runs as for a user.

#![allow(dead_code, reason = "each test binary uses a part")]

pub mod plan;

use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

/// A directory with plans; see [`Lab::run`].
pub struct Lab {
    folder: tempfile::TempDir,
}

impl Lab {
    /// Creates a lab, or skips the test and returns `None`.
    pub fn new() -> Option<Self> {
        let possible = Command::new("unshare").args(["--net", "--mount", "--pid", "--fork", "true"]).output();
        if !possible.is_ok_and(|output| output.status.success()) {
            skip::skip!("making namespaces needs root");
            return None;
        }
        Some(Self { folder: tempfile::tempdir().expect("a folder") })
    }

    /// Creates a lab for tests that run nothing, which need no rights.
    pub fn here() -> Self {
        Self { folder: tempfile::tempdir().expect("a folder") }
    }

    /// Creates a lab with the kernel of the virtual clock, or skips the test and returns `None`.
    pub fn with_virtual_clock() -> Option<Self> {
        let lab = Self::new()?;
        if std::env::var_os("LASTHOP_KERNEL").is_none() && shown_kernel()["built"] != true {
            skip::skip!("the kernel of the virtual clock is not built: `lasthop kernel build`");
            return None;
        }
        Some(lab)
    }

    /// Creates a lab with the kernel of the virtual clock and python3, by which programs send at
    /// given times, or skips the test and returns `None`.
    pub fn with_python_in_a_guest() -> Option<Self> {
        let found = Command::new("python3").arg("--version").output();
        if !found.is_ok_and(|output| output.status.success()) {
            skip::skip!("programs send at given times in a guest: there is no python3");
            return None;
        }
        Self::with_virtual_clock()
    }

    /// Returns the directory.
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub fn command(&self, plan: &str, arguments: &[&str]) -> Command {
        fs::write(self.path("plan.toml"), plan).expect("a plan");
        let mut command = self.lasthop(&["run", "plan.toml"]);
        command.args(arguments);
        if !arguments.contains(&"--out") {
            command.args(["--out", "out"]);
        }
        command
    }

    /// Runs the plan, with `out` as run directory unless the arguments name another.
    pub fn run(&self, plan: &str, arguments: &[&str]) -> Output {
        self.command(plan, arguments).output().expect("lasthop runs")
    }

    /// Runs a plan that must succeed.
    pub fn succeed(&self, plan: &str, arguments: &[&str]) -> Output {
        let output = self.run(plan, arguments);
        assert!(output.status.success(), "{}{}", text(&output.stdout), text(&output.stderr));
        output
    }

    /// Returns the command `lasthop` with these arguments, in the directory.
    pub fn lasthop(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_lasthop"));
        command.current_dir(self.folder.path()).args(arguments);
        command
    }

    pub fn spawn(&self, plan: &str) -> Child {
        self.command(plan, &[]).stderr(Stdio::null()).stdout(Stdio::null()).spawn().expect("lasthop runs")
    }

    /// Returns all runs of the journal.
    pub fn journal(&self) -> Vec<Value> {
        let text = fs::read_to_string(self.path("out/runs.jsonl")).expect("a journal");
        text.lines().map(|line| serde_json::from_str(line).expect("a run")).collect()
    }

    /// Returns the command lines that contain the path of the directory, or the marker of the
    /// tests.
    pub fn processes(&self) -> Vec<String> {
        let folder = self.folder.path().to_string_lossy().into_owned();
        command_lines()
            .filter(|line| line.contains(&folder) || line.contains("lasthop-test-marker"))
            .collect()
    }

    pub fn wait_until(&self, what: &str, condition: impl Fn(&Self) -> bool) {
        let end = Instant::now() + Duration::from_mins(1);
        while !condition(self) {
            assert!(Instant::now() < end, "{what} did not happen: {:?}", self.processes());
            std::thread::sleep(Duration::from_millis(50));
        }
    }
}

/// Arguments of a run with the virtual clock.
pub const VIRTUAL: &[&str] = &["--clock", "virtual"];

/// Returns the command lines of all processes.
pub fn command_lines() -> impl Iterator<Item = String> {
    let entries = fs::read_dir("/proc").expect("processes").flatten();
    let lines = entries.filter_map(|entry| fs::read(entry.path().join("cmdline")).ok());
    lines.map(|line| String::from_utf8_lossy(&line).replace('\0', " "))
}

/// Sends a signal, named as for `kill`.
pub fn send(signal: &str, process: u32) {
    let sent = Command::new("kill").args([signal, &process.to_string()]).status();
    assert!(sent.is_ok_and(|status| status.success()), "{signal} to {process}");
}

/// Returns the output of `lasthop kernel show`.
pub fn shown_kernel() -> Value {
    let shown = Command::new(env!("CARGO_BIN_EXE_lasthop")).args(["kernel", "show", "--json"]).output();
    shown.ok().and_then(|output| serde_json::from_slice(&output.stdout).ok()).unwrap_or_default()
}

pub fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

pub fn json(path: &Path) -> Value {
    let text = fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    serde_json::from_str(&text).expect("JSON")
}
