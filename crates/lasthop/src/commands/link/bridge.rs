//! The option `--bridge`: a link between two interfaces of this host, which carries every Ethernet
//! frame and serves nothing.

use super::answering::Remote;
use super::assemble::Assembled;
use super::link_layer::Wanted;
use super::summary::Outcome;
use super::{Emulated, Planning, announce, emulator, link_info, link_seed, seed, stop};
use crate::arguments::LinkArguments;
use crate::failure::Failure;
use crate::notice::Notice;
use crate::remote::{self, Listener};
use emulator::host::Planned;
use netlab::{BridgedLink, BridgedLinkOptions, HostLinkOptions, Registry, rights};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use std::os::fd::AsFd;
use std::thread;

/// Runs the link until Ctrl-C or a request to end, and returns the exit status.
pub fn run(
    arguments: &LinkArguments,
    assembled: &Assembled,
    wanted: &Wanted,
    [inside, outside]: [&String; 2],
) -> Result<i32, Failure> {
    let notice = Notice::new(arguments.quiet);
    let seed = seed(arguments);
    let planned = Planned::build(assembled.link.spec()?, link_seed(seed), wanted.watch())?;
    let whole_segments = !planned.link.changes_bytes() && !arguments.split;
    let registry = Registry::open()?;
    notice.swept(&registry.sweep()?);
    let mut run = registry.begin()?;
    let rights = rights::acquire(&mut run, &rights::RightsOptions::default())?;
    // Before anything is made, so that an early Ctrl-C takes the link down like a later one.
    let mut signals = Signals::new([SIGINT, SIGTERM, SIGHUP])?;
    let options = BridgedLinkOptions {
        interfaces: [inside.clone(), outside.clone()],
        whole_segments,
        queue_length: HostLinkOptions::default().queue_length,
    };
    let link = BridgedLink::create(run, &rights, &options)?;
    let mtu = u16::try_from(link.mtu()).unwrap_or(u16::MAX);
    let info = link_info(arguments, assembled, &planned.link, mtu);
    let [up, down] = link.ends();
    let Emulated { emulator, control, live } = emulator(
        arguments,
        wanted,
        Planning { planned, info, whole_segments, seed },
        [up.as_fd(), down.as_fd()],
    )?;
    announce(notice, assembled, link.id(), seed, mtu);
    let emulating = thread::Builder::new().name("emulator".into()).spawn(move || emulator.run())?;
    let id = link.id().to_owned();
    let shown = format!("{inside} - {outside}");
    let remote = Remote::new(id.clone(), shown, &assembled.link, seed, control.clone(), live, None);
    let listener =
        Listener::start(link.directory().join(remote::SOCKET), move |request| remote.answer(request))?;
    notice.say(format_args!("  {inside} and {outside} are the two ends of the link"));

    signals.forever().next();
    drop(listener);
    let dropped = link.dropped_by_kernel()?;
    let ended = stop(&control, emulating);
    // The link is taken down first, so that an error in a file cannot keep it up.
    let taken_down = link.end();
    let outcome = Outcome::new(ended?, dropped, seed)?;
    outcome.report(notice, arguments, &id)?;
    wanted.write(notice)?;
    taken_down?;
    Ok(0)
}
