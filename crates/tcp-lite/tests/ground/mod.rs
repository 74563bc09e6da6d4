//! Common ground of the tests: a control group and a network namespace of their own.
#![allow(dead_code, reason = "each test file uses a part of it")]

pub mod objects;
pub mod peer;
pub mod raw_option;

use netlab::cgroup::Enclosure;
use netlab::{Namespace, Registry, interface};
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};
use tempfile::TempDir;

/// A process is in one control group, so tests that change it take turns.
static TURN: Mutex<()> = Mutex::new(());

/// A control group that contains this process, and a namespace.
pub struct Ground {
    enclosure: Enclosure,
    pub namespace: Namespace,
    _states: TempDir,
    _turn: MutexGuard<'static, ()>,
}

impl Ground {
    /// Enters a control group; returns `None` and prints why if that is impossible here.
    pub fn new() -> Option<Self> {
        let turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
        if !rustix::process::geteuid().is_root() {
            skip::skip!("eBPF programs and namespaces need root");
            return None;
        }
        let states = tempfile::tempdir().expect("a directory");
        let registry = Registry::at(states.path().join("states")).expect("a registry");
        let enclosure = match Enclosure::enter(&registry) {
            Ok(enclosure) => enclosure,
            Err(error) => {
                skip::skip!("{error}");
                return None;
            }
        };
        let namespace = Namespace::new().expect("a namespace");
        interface::loopback_up(&namespace).expect("loopback");
        Some(Self { enclosure, namespace, _states: states, _turn: turn })
    }

    /// Returns the directory of the control group.
    pub fn group(&self) -> &Path {
        self.enclosure.group().path()
    }
}

/// Returns a TCP counter of the namespace, as `nstat` shows it.
pub fn counter(namespace: &Namespace, name: &str) -> u64 {
    let text = namespace
        .enter(|| Ok(std::fs::read_to_string("/proc/thread-self/net/snmp").expect("the kernel counts")))
        .expect("the namespace is there");
    let mut lines = text.lines().filter_map(|line| line.strip_prefix("Tcp: "));
    let (names, values) = (lines.next().expect("names"), lines.next().expect("values"));
    let place = names.split(' ').position(|its| its == name).expect("the kernel has this counter");
    values.split(' ').nth(place).and_then(|value| value.parse().ok()).expect("a number")
}
