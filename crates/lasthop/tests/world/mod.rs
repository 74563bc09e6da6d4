//! A caller's network for tests of `lasthop` as a user runs it from a shell: the built binary, real
//! programs, the kernel's TCP.
//!
//! Each script has a network namespace of its own, so the machine's network is never touched, and a
//! state directory of its own.

#![allow(dead_code, reason = "each test binary uses a part")]

pub mod device;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// A directory, and a network namespace for each script that runs in it.
pub struct World {
    folder: tempfile::TempDir,
}

impl World {
    /// Creates a world, or skips the test and returns `None`.
    pub fn new() -> Option<Self> {
        let possible = Command::new("unshare").args(["--net", "--mount", "true"]).output();
        if !possible.is_ok_and(|output| output.status.success()) {
            skip::skip!("making network namespaces needs root");
            return None;
        }
        Some(Self { folder: tempfile::tempdir().expect("a folder") })
    }

    /// Returns the directory.
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
    }

    /// Runs a bash script with `lasthop` in its path and the directory as `$FOLDER`. One that waits
    /// in vain is ended after five minutes.
    pub fn run(&self, script: &str) -> Output {
        let binary = Path::new(env!("CARGO_BIN_EXE_lasthop")).parent().expect("a folder").display();
        let path = format!("{binary}:{}:/usr/sbin:/sbin", std::env::var("PATH").unwrap_or_default());
        Command::new("timeout")
            .args(["300", "unshare", "--net", "--mount", "bash", "-c", script])
            .env("PATH", path)
            .env("FOLDER", self.folder())
            .env("LASTHOP_STATE_DIR", self.path("state"))
            .output()
            .expect("timeout runs")
    }
}

pub fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}
