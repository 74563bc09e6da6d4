//! Runs a program behind a link that copies packets unchanged; the smallest program that does so.
//!
//! `behind [--publish PORT]... [--mtu BYTES] [--congestion-control NAME] [--whole] [--ethernet]
//! [--no-pasta] COMMAND [ARGUMENT]...`, `behind --sweep` or `behind --check`. It prints what it
//! swept and the link's notes on standard error. The integration tests use it in place of
//! `lasthop`.

use netlab::{CommandLine, HostLink, HostLinkOptions, Registry, checks, keeper, rights};
use std::error::Error;
use std::os::fd::{AsRawFd, OwnedFd};
use std::process::ExitCode;

fn main() -> ExitCode {
    if let Some(code) = keeper::entry() {
        return code;
    }
    run().unwrap_or_else(|error| {
        eprintln!("behind: {error}");
        ExitCode::from(125)
    })
}

fn run() -> Result<ExitCode, Box<dyn Error>> {
    let mut options = HostLinkOptions::default();
    let mut way_out = rights::RightsOptions::default();
    let mut arguments = std::env::args_os().skip(1).peekable();
    let registry = Registry::open()?;
    while let Some(option) = arguments.next_if(|argument| argument.to_string_lossy().starts_with("--")) {
        let mut value =
            || arguments.next().map(|value| value.to_string_lossy().into_owned()).ok_or("a value is missing");
        match &*option.to_string_lossy() {
            "--sweep" => {
                registry.sweep()?.undone.iter().for_each(|line| println!("{line}"));
                return Ok(ExitCode::SUCCESS);
            }
            "--publish" => options.publish.push(value()?.parse()?),
            "--mtu" => options.mtu = value()?.parse()?,
            "--congestion-control" => options.metrics.congestion_control = value()?,
            "--whole" => options.whole_segments = true,
            "--ethernet" => options.layer = packet::Layer::Ethernet,
            "--no-pasta" => way_out.pasta = false,
            "--check" => {
                println!("{}", serde_json::to_string(&checks::all(&checks::Places::default()))?);
                return Ok(ExitCode::SUCCESS);
            }
            other => return Err(format!("unknown option {other}").into()),
        }
    }
    let program = arguments.next().ok_or("behind COMMAND [ARGUMENT]...")?;
    registry.sweep()?.undone.iter().for_each(|line| eprintln!("swept: {line}"));
    let mut run = registry.begin()?;
    let rights = rights::acquire(&mut run, &way_out)?;
    let mut link = HostLink::create(run, &rights, &options)?;
    link.notes().iter().for_each(|note| eprintln!("note: {note}"));
    let (inside, outside) = (link.inside().descriptor()?, link.outside().descriptor()?);
    std::thread::spawn(move || copy(&inside, &outside));
    link.start(&CommandLine::new(program, arguments))?;
    let ended = link.wait()?;
    if let Some(message) = ended.message() {
        eprintln!("behind: {message}");
    }
    link.end()?;
    Ok(ended.code())
}

/// Copies packets in both directions, blocking while there are none, until the devices disappear.
fn copy(inside: &OwnedFd, outside: &OwnedFd) {
    let mut packet = vec![0; 70_000];
    loop {
        let mut ready =
            [inside, outside].map(|fd| libc::pollfd { fd: fd.as_raw_fd(), events: libc::POLLIN, revents: 0 });
        // SAFETY: `ready` has two entries and outlives the call.
        if unsafe { libc::poll(ready.as_mut_ptr(), 2, -1) } < 0 {
            return;
        }
        for (from, to) in [(inside, outside), (outside, inside)] {
            while let Ok(length) = rustix::io::read(from, &mut packet) {
                // A packet for which the kernel has no room is lost, as on any link.
                let _ = rustix::io::write(to, &packet[..length]);
            }
        }
    }
}
