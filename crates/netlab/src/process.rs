//! Processes, identified by pid *and* start time.
//!
//! The kernel reuses pids, but the combination is unique until the next boot.

use crate::error::{Result, Trying};
use crate::state::NamespaceId;
use crate::{Namespace, signals};
use rustix::process::{Pid, PidfdFlags, Signal, kill_process_group, pidfd_open, pidfd_send_signal};
use serde::{Deserialize, Serialize};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command};
use std::time::{Duration, Instant};

/// A process of this boot.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProcessId {
    /// Its pid.
    pub pid: u32,
    /// Its start time in clock ticks since boot (field 22 of proc_pid_stat(5)).
    pub start_time: u64,
}

/// Fields of /proc/PID/stat.
struct Stat {
    zombie: bool,
    parent: u32,
    start_time: u64,
}

impl ProcessId {
    /// Returns the process with this pid, if it exists.
    #[must_use]
    pub fn of(pid: u32) -> Option<Self> {
        stat(pid).map(|stat| Self { pid, start_time: stat.start_time })
    }

    /// Returns this process.
    pub fn own() -> Result<Self> {
        Self::of(std::process::id())
            .ok_or(std::io::Error::from(std::io::ErrorKind::NotFound))
            .trying(|| "read /proc/self/stat (is /proc mounted?)".into())
    }

    /// Returns whether the process still runs; a zombie does not.
    #[must_use]
    pub fn is_alive(self) -> bool {
        stat(self.pid).is_some_and(|stat| stat.start_time == self.start_time && !stat.zombie)
    }

    /// Sends a signal to the process; returns whether it was there to receive it.
    ///
    /// Never hits another process that has the same pid by now.
    #[must_use]
    pub fn signal(self, signal: Signal) -> bool {
        let Some(pid) = i32::try_from(self.pid).ok().and_then(Pid::from_raw) else { return false };
        let Ok(descriptor) = pidfd_open(pid, PidfdFlags::empty()) else { return false };
        self.is_alive() && pidfd_send_signal(descriptor, signal).is_ok()
    }

    /// Kills the process and waits up to `patience` until it is gone; returns whether it was there.
    #[must_use]
    pub fn kill(self, patience: Duration) -> bool {
        let was_there = self.signal(Signal::KILL);
        let deadline = Instant::now() + patience;
        while self.is_alive() && Instant::now() < deadline {
            std::thread::sleep(Duration::from_millis(5));
        }
        was_there
    }
}

fn stat(pid: u32) -> Option<Stat> {
    parse(&std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?)
}

/// Parses a stat line. The name in parentheses may contain anything, so fields are counted from the
/// last parenthesis.
fn parse(text: &str) -> Option<Stat> {
    let fields: Vec<&str> = text.rsplit_once(") ")?.1.split_whitespace().collect();
    Some(Stat {
        zombie: matches!(*fields.first()?, "Z" | "X"),
        parent: fields.get(1)?.parse().ok()?,
        start_time: fields.get(19)?.parse().ok()?,
    })
}

/// Returns the pids of all processes in /proc.
fn all() -> Vec<u32> {
    let entries = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect()
}

/// Returns the children of `ancestor`, their children, and so on.
#[must_use]
pub fn descendants(ancestor: u32) -> Vec<u32> {
    let parents: Vec<(u32, u32)> =
        all().into_iter().filter_map(|pid| Some((pid, stat(pid)?.parent))).collect();
    let mut found = vec![ancestor];
    let mut next = 0;
    while let Some(&parent) = found.get(next) {
        found.extend(parents.iter().filter(|(_, its)| *its == parent).map(|(pid, _)| *pid));
        next += 1;
    }
    found.split_off(1)
}

/// Returns the processes of run `id`: those with `LASTHOP=id` in their environment that are in the
/// network namespace `inside`.
///
/// The namespace alone is not enough, because a program behind the link may let other processes in.
/// The environment alone is not enough either: a desktop passes it on to its services, and two
/// users' runs may have the same id.
#[must_use]
pub fn of_run(id: &str, inside: NamespaceId) -> Vec<ProcessId> {
    let mark = format!("LASTHOP={id}").into_bytes();
    all()
        .into_iter()
        .filter(|pid| {
            let environment = std::fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
            environment.split(|byte| *byte == 0).any(|entry| entry == mark)
        })
        .filter(|pid| namespace_inode(*pid) == Some(inside.inode))
        // Inode numbers are reused once a namespace is gone; cookies are not.
        .filter(|pid| Namespace::at(&format!("/proc/{pid}/ns/net")).is_ok_and(|its| inside.is(&its)))
        .filter_map(ProcessId::of)
        .collect()
}

/// Returns a path to the network namespace with inode number `inode`, through a process in it.
pub(crate) fn namespace_path(inode: u64) -> Option<String> {
    all()
        .into_iter()
        .find(|pid| namespace_inode(*pid) == Some(inode))
        .map(|pid| format!("/proc/{pid}/ns/net"))
}

fn namespace_inode(pid: u32) -> Option<u64> {
    rustix::fs::stat(format!("/proc/{pid}/ns/net")).ok().map(|stat| stat.st_ino)
}

/// Starts `command` in a process group of its own, with no signal blocked: this process may block
/// those that [`end_group`] sends.
///
/// # Errors
/// If the program cannot be started.
pub fn spawn_group(command: &mut Command) -> std::io::Result<Child> {
    // SAFETY: only a system call on existing data runs between fork and exec.
    unsafe { command.process_group(0).pre_exec(|| signals::block_only(&[])) }.spawn()
}

/// Ends `leader` and the process group that it leads.
///
/// The group gets SIGTERM. When `leader` has ended, or after `grace`, the rest of the group is
/// killed.
pub fn end_group(leader: &mut Child, grace: Duration) {
    let Some(group) = Pid::from_raw(leader.id().cast_signed()) else { return };
    // Both calls can fail only if no process is left.
    let _ = kill_process_group(group, Signal::TERM);
    let end = Instant::now() + grace;
    while matches!(leader.try_wait(), Ok(None)) && Instant::now() < end {
        std::thread::sleep(Duration::from_millis(10));
    }
    let _ = kill_process_group(group, Signal::KILL);
    let _ = leader.wait();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_may_hold_blanks_and_parentheses() {
        let text = "7 (a) b) S 3 7 7 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 4711 0 0";
        let stat = parse(text).expect("a stat line");
        assert_eq!((stat.parent, stat.start_time, stat.zombie), (3, 4711, false));
    }

    #[test]
    fn a_process_that_ended_is_not_alive_and_gets_no_signal() {
        let mut child = std::process::Command::new("sleep").arg("60").spawn().expect("sleep");
        let process = ProcessId::of(child.id()).expect("it runs");
        assert!(process.is_alive());
        assert!(descendants(std::process::id()).contains(&child.id()));
        let other = ProcessId { start_time: process.start_time + 1, ..process };
        assert!(!other.signal(Signal::KILL), "another process with this number");
        assert!(process.kill(Duration::from_secs(5)));
        assert!(!process.is_alive());
        child.wait().expect("reaped");
    }

    #[test]
    fn a_line_that_is_cut_short_is_none() {
        let text = "7 (a) S 3 7 7 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0";
        assert!(parse(text).is_none());
        assert!(parse("").is_none());
        let zombie = format!("{} 4711", text.replace(" S ", " Z "));
        assert!(parse(&zombie).expect("a stat line").zombie);
    }

    /// Processes of another run, and those with the mark in another variable, are not its own.
    #[test]
    fn processes_of_a_run_are_in_its_namespace_and_have_its_mark() {
        let own = Namespace::current().expect("a namespace");
        let inside = NamespaceId::of(&own).expect("an identity");
        let id = format!("test-{}", std::process::id());
        let start = |name: &str, value: &str| {
            std::process::Command::new("sleep").arg("60").env(name, value).spawn().expect("sleep")
        };
        let mut children =
            [start("LASTHOP", &id), start("LASTHOP", &format!("{id}0")), start("OTHER_LASTHOP", &id)];
        let found: Vec<_> = of_run(&id, inside).into_iter().map(|process| process.pid).collect();
        let elsewhere = NamespaceId { inode: inside.inode + 1, ..inside };
        let reused = NamespaceId { cookie: inside.cookie + 1, ..inside };
        let others = [of_run(&id, elsewhere), of_run(&id, reused)];
        for child in &mut children {
            child.kill().expect("killed");
            child.wait().expect("reaped");
        }
        assert_eq!(found, [children[0].id()]);
        assert_eq!(others, [Vec::new(), Vec::new()]);
    }

    /// The rest of the group dies with its leader, and a deaf leader after the grace time.
    #[test]
    fn a_group_is_ended_with_its_leader() {
        use std::io::{BufRead, BufReader};
        let ended = |script: &str| {
            let mut command = std::process::Command::new("/bin/sh");
            command.args(["-c", script]).stdout(std::process::Stdio::piped()).process_group(0);
            let mut leader = command.spawn().expect("started");
            let mut line = String::new();
            BufReader::new(leader.stdout.take().expect("piped")).read_line(&mut line).expect("its child");
            let child = ProcessId::of(line.trim().parse().expect("a pid"));
            end_group(&mut leader, Duration::from_millis(100));
            let deadline = Instant::now() + Duration::from_secs(10);
            let is_alive = || child.is_some_and(ProcessId::is_alive);
            while is_alive() && Instant::now() < deadline {
                std::thread::sleep(Duration::from_millis(5));
            }
            assert!(!is_alive(), "{script}");
            leader.wait().expect("reaped").to_string()
        };
        assert_eq!(ended("(trap '' TERM; sleep 60) & echo $!; wait"), "signal: 15 (SIGTERM)");
        assert_eq!(ended("trap '' TERM; sleep 60 & echo $!; while :; do wait; done"), "signal: 9 (SIGKILL)");
    }
}
