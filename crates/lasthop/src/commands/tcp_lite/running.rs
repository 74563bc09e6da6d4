//! `lasthop tcp-lite run`: runs a program whose connections accept damaged segments, all of them or
//! those for which it asks.

use super::arguments::RunArguments;
use super::summary::lines;
use crate::failure::Failure;
use crate::notice::Notice;
use crate::status::NotStarted;
use netlab::cgroup::Enclosure;
use netlab::{Namespace, Registry, interface};
use rustix::process::{Pid, Signal, kill_process};
use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM};
use signal_hook::iterator::Signals;
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, ExitStatus};
use std::thread;
use tcp_lite::{Lite, Settings};

/// Added to a signal's number, this is a shell's exit status for a program that the signal ended.
const BY_SIGNAL: i32 = 128;

/// Runs the program and returns the exit status.
pub fn run(arguments: &RunArguments) -> Result<i32, Failure> {
    let notice = Notice::new(arguments.quiet);
    let registry = Registry::open()?;
    notice.swept(&registry.sweep()?);
    let interfaces = interfaces(&arguments.interface)?;
    // From here on signals are caught, so that nothing is left behind.
    let mut signals = Signals::new([SIGINT, SIGQUIT, SIGTERM, SIGHUP])?;
    let enclosure = Enclosure::enter(&registry).map_err(|error| {
        let way_out = if rustix::process::geteuid().is_root() {
            ""
        } else {
            ": run as root, or with CAP_BPF, CAP_NET_ADMIN and CAP_SYS_ADMIN"
        };
        format!("{error}{way_out}")
    })?;
    let settings = Settings {
        every_connection: (!arguments.on_request).then(|| arguments.rule.policy()),
        parameters: arguments.rule.parameters(),
    };
    let mut lite = Lite::attach(enclosure.group().path(), &settings)?;
    for interface in &interfaces {
        lite.add_interface(interface)?;
    }

    let (program, rest) = arguments.command.split_first().expect("clap demands it");
    let mut child = Command::new(program)
        .args(rest)
        .spawn()
        .map_err(|error| NotStarted::new(&program.to_string_lossy(), &error))?;
    let pid = Pid::from_child(&child);
    let ending = signals.handle();
    let passing_on = thread::spawn(move || {
        for signal in &mut signals {
            // The terminal sends Ctrl-C and Ctrl-\ to the program as well.
            let signal = match signal {
                SIGTERM => Signal::TERM,
                SIGHUP => Signal::HUP,
                _ => continue,
            };
            let _ = kill_process(pid, signal);
        }
    });
    let status = child.wait();
    ending.close();
    let _ = passing_on.join();
    let totals = lite.totals()?;
    drop(lite);
    drop(enclosure);
    for line in lines(&totals) {
        notice.say(format_args!("{line}"));
    }
    Ok(exit_status(status?))
}

fn exit_status(status: ExitStatus) -> i32 {
    status.code().unwrap_or_else(|| BY_SIGNAL + status.signal().unwrap_or_default())
}

/// Returns the named interfaces, or all that are up.
fn interfaces(named: &[String]) -> Result<Vec<String>, Failure> {
    if !named.is_empty() {
        super::check_interfaces(named)?;
        return Ok(named.to_vec());
    }
    let all = interface::list(&Namespace::current()?)?;
    let up: Vec<_> = all.into_iter().filter(|one| one.up && !one.loopback).map(|one| one.name).collect();
    if up.is_empty() {
        return Err(
            "no interface is up except loopback, whose packets are never damaged: name one with --interface"
                .into(),
        );
    }
    Ok(up)
}
