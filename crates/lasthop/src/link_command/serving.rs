//! `--serve`: a program at the other end of the link, there when COMMAND starts and gone when the link is.

use crate::link_command::Failure;
use rustix::process::{Pid, Signal, kill_process_group};
use std::collections::BTreeSet;
use std::fs;
use std::net::IpAddr;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

/// How long it may take until it listens. After that COMMAND starts anyway: some servers only send.
const LISTENING: Duration = Duration::from_secs(5);
/// How often it is looked whether it does.
const LOOK: Duration = Duration::from_millis(10);
/// Between SIGTERM and SIGKILL.
const GRACE: Duration = Duration::from_secs(2);

/// A program that runs until this is dropped.
pub struct Serving {
    child: Child,
}

impl Serving {
    /// Starts `line` with the shell and waits until something listens that did not before. `host` is the address of this end.
    ///
    /// # Errors
    /// If it cannot be started, or ends at once.
    pub fn start(line: &str, host: IpAddr) -> Result<Self, Failure> {
        Self::start_among(line, host, &listening)
    }

    /// The same, with `listening` to tell what listens.
    fn start_among(
        line: &str,
        host: IpAddr,
        listening: &dyn Fn() -> BTreeSet<String>,
    ) -> Result<Self, Failure> {
        let before = listening();
        let child = Command::new("/bin/sh")
            .args(["-c", line])
            .env("LASTHOP_HOST", host.to_string())
            .stdin(Stdio::null())
            .process_group(0)
            .spawn()
            .map_err(|error| format!("--serve: start /bin/sh: {error}"))?;
        let mut serving = Self { child };
        let end = Instant::now() + LISTENING;
        while listening().is_subset(&before) && Instant::now() < end {
            if let Some(status) = serving.child.try_wait()? {
                return Err(format!("--serve `{line}`: it has ended before anything came ({status})").into());
            }
            thread::sleep(LOOK);
        }
        Ok(serving)
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        let Some(group) = Pid::from_raw(self.child.id().cast_signed()) else { return };
        let _ = kill_process_group(group, Signal::TERM);
        let end = Instant::now() + GRACE;
        while matches!(self.child.try_wait(), Ok(None)) && Instant::now() < end {
            thread::sleep(LOOK);
        }
        let _ = kill_process_group(group, Signal::KILL);
        let _ = self.child.wait();
    }
}

/// Addresses that something listens at: TCP sockets in state LISTEN, and UDP sockets that are bound.
fn listening() -> BTreeSet<String> {
    let mut all = BTreeSet::new();
    for (file, state) in [("tcp", "0A"), ("tcp6", "0A"), ("udp", "07"), ("udp6", "07")] {
        let list = fs::read_to_string(format!("/proc/thread-self/net/{file}")).unwrap_or_default();
        all.extend(in_state(&list, state).map(|address| format!("{file} {address}")));
    }
    all
}

/// In `/proc/net/tcp` the second word of a line is the local address, the fourth the state (`include/net/tcp_states.h`).
fn in_state<'a>(list: &'a str, state: &'a str) -> impl Iterator<Item = &'a str> {
    list.lines().skip(1).filter_map(move |line| {
        let mut words = line.split_whitespace().skip(1);
        let address = words.next()?;
        (words.nth(1) == Some(state)).then_some(address)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sockets_that_listen() {
        let list = "  sl  local_address rem_address   st\n   \
                    0: 00000000:0015 00000000:0000 0A 00000000:00000000\n   \
                    1: 0100007F:1F90 0100007F:0016 01 00000000:00000000\n";
        assert_eq!(in_state(list, "0A").collect::<Vec<_>>(), ["00000000:0015"]);
    }

    #[test]
    fn a_server_that_ends_at_once() {
        // What other programs of this machine begin to listen at meanwhile is not looked at.
        let started = Serving::start_among("exit 3", IpAddr::from([127, 0, 0, 1]), &BTreeSet::new);
        let error = started.err().expect("an error");
        assert!(error.to_string().contains("exit status: 3"), "{error}");
    }
}
