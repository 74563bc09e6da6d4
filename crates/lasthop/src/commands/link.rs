//! `lasthop link -- COMMAND`: runs a program behind an emulated wireless link.

mod answering;
mod assemble;
mod bridge;
mod inside;
mod link_layer;
pub mod running;
mod serving;
mod summary;
mod virtually;

pub use running::{exec, list, set};
pub use virtually::{SUBCOMMAND, read_arguments};

use crate::arguments::LinkArguments;
use crate::clock::Clock;
use crate::failure::Failure;
use crate::notice::Notice;
use crate::outputs;
use crate::remote::{self, Listener};
use answering::Remote;
use assemble::{Assembled, assemble};
use capture::{CaptureTo, Header, LinkId, LinkInfo, Live, Recorder, WallTime, WayInfo};
use emulator::guest::Form;
use emulator::host::{Host, Planned, Unusable};
use emulator::kernel::Segments;
use emulator::{Command, Control, Ending, control};
use experiment::capacity;
use experiment::recording::Recording;
use link::profile::LinkProfile;
use link::units::BitRate;
use link::{Direction, Link, Seed};
use link_layer::Wanted;
use netlab::keeper::Exit;
use netlab::route::Metrics;
use netlab::{
    Attachment, CommandEnd, CommandLine, HostLink, HostLinkOptions, Namespace, Registry, rights, tcp, tun,
};
use packet::Layer;
use serving::Serving;
use std::ffi::OsString;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::thread;
use std::time::{Duration, Instant};
use summary::Outcome;
use virtual_time::guest;

/// Result of the emulator thread.
type Ended = io::Result<Ending<Unusable, Recording>>;

/// A planned link, with its description for recordings.
struct Planning {
    planned: Planned,
    info: LinkInfo,
    whole_segments: bool,
    seed: u64,
}

/// An event loop with the link, which is ready to run.
struct Emulated {
    emulator: Host<Recording>,
    control: Control,
    live: Live,
}

/// Runs the program and returns the exit status.
pub fn run(arguments: &LinkArguments) -> Result<i32, Failure> {
    let notice = Notice::new(arguments.quiet);
    // First of all, so that errors in the link's description are reported here and not in a guest.
    let assembled = assemble(arguments)?;
    let wanted = Wanted::of(arguments, &assembled)?;
    check_outputs(arguments, &wanted)?;
    if arguments.clock == Clock::Virtual {
        return virtually::run(arguments);
    }
    if arguments.keep.is_some() || arguments.guest_memory.is_some() {
        let option = if arguments.keep.is_some() { "--keep" } else { "--guest-memory" };
        return Err(format!("{option} needs --clock virtual").into());
    }
    match &arguments.bridge[..] {
        [] => {}
        [inside, outside] => return bridge::run(arguments, &assembled, &wanted, [inside, outside]),
        _ => return Err("--bridge is given twice: a link has two ends".into()),
    }
    let seed = seed(arguments);
    let planned = Planned::build(assembled.link.spec()?, link_seed(seed), wanted.watch())?;
    let whole_segments = !planned.link.changes_bytes() && !arguments.split;
    let info = link_info(arguments, &assembled, &planned.link, assembled.mtu);

    let attachments = inside::attachments(&arguments.inside)?;

    // Nothing has been created and no thread started so far. Acquiring the rights of an ordinary
    // user requires that.
    let registry = Registry::open()?;
    notice.swept(&registry.sweep()?);
    let mut run = registry.begin()?;
    let rights = rights::acquire(&mut run, &rights::RightsOptions::default())?;
    let mut link = HostLink::create(
        run,
        &rights,
        &host_link_options(arguments, &assembled, whole_segments, attachments),
    )?;
    guest::align();
    let ends = [link.inside().as_fd(), link.outside().as_fd()];
    let Emulated { emulator, control, live } =
        emulator(arguments, &wanted, Planning { planned, info, whole_segments, seed }, ends)?;
    announce(notice, &assembled, link.id(), seed, assembled.mtu);
    // No network leads out of a guest, which is no news there.
    for note in link.notes().iter().filter(|_| !guest::is_here()) {
        notice.say(format_args!("  note: {note}"));
    }
    guest::align();
    let emulating = thread::Builder::new().name("emulator".into()).spawn(move || emulator.run())?;
    let command = if has_no_program(arguments) {
        CommandLine::new("sleep", ["infinity"])
    } else {
        command_line(&arguments.command)
    };
    let remote = Remote::new(
        link.id().to_owned(),
        shown(arguments),
        &assembled.link,
        seed,
        control.clone(),
        live,
        Some(link.entrance()?),
    );
    let listener =
        Listener::start(link.directory().join(remote::SOCKET), move |request| remote.answer(request))?;

    let served = inside::serve(&link, assembled.mtu)?;
    for line in inside::describe(&link) {
        notice.say(format_args!("  {line}"));
    }
    let serving = arguments.serve.as_deref().map(|line| Serving::start(line, link.host())).transpose()?;
    link.start(&command)?;
    let ended = link.wait();
    let_connections_close(link.inside_namespace(), &assembled.link);
    drop((serving, served));
    drop(listener);
    let dropped = link.inside().statistics()?.tx_dropped + link.outside().statistics()?.tx_dropped;
    let emulated = stop(&control, emulating);
    let id = link.id().to_owned();
    // The link is taken down first, so that an error in a file cannot keep it up.
    let taken_down = link.end();
    let outcome = Outcome::new(emulated?, dropped, seed)?;
    outcome.report(notice, arguments, &id)?;
    wanted.write(notice)?;
    taken_down?;
    let ended = ended?;
    if let Some(message) = ended.message() {
        notice.warn(message);
    }
    // Without a program, Ctrl-C is the usual end.
    let is_stopped = has_no_program(arguments) && matches!(ended, CommandEnd::Exited(Exit::Signal(_)));
    Ok(if is_stopped { 0 } else { ended.status().into() })
}

/// Checks that the output files can be written when the program has ended.
fn check_outputs(arguments: &LinkArguments, wanted: &Wanted) -> Result<(), Failure> {
    outputs::check([&arguments.capture, &arguments.events, &arguments.json].map(Option::as_ref))?;
    outputs::check(wanted.files().iter().map(|(path, _)| Some(path)))
}

/// Returns the seed of the run: the given one, or a random one.
fn seed(arguments: &LinkArguments) -> u64 {
    arguments.seed.unwrap_or_else(|| u64::from(rand::random::<u32>()))
}

/// Starts the recorder, and makes an event loop with the link between two file descriptors.
fn emulator(
    arguments: &LinkArguments,
    wanted: &Wanted,
    Planning { planned, info, whole_segments, seed }: Planning,
    ends: [BorrowedFd<'_>; 2],
) -> Result<Emulated, Failure> {
    let recorder = start_recorder(arguments, wanted, &info, seed)?;
    let (control, controls) = control()?;
    let wants_bytes = arguments.capture.is_some() || arguments.events.is_some();
    let live = recorder.live();
    let (layer, mtu) = (info.layer, info.mtu as u16);
    let recording = Recording::new(recorder, vec![info], wants_bytes).watching(wanted.watch());
    let mut emulator = Host::new(tun::guest_loop()?, recording, controls, arguments.precise)?;
    let segments = if whole_segments { Segments::Whole } else { Segments::Split };
    emulator.add_link(planned, ends, Form { layer, segments }, mtu)?;
    Ok(Emulated { emulator, control, live })
}

/// Says what the link is.
fn announce(notice: Notice, assembled: &Assembled, id: &str, seed: u64, mtu: u16) {
    notice.say(format_args!("link {id}, seed {seed}, MTU {mtu}"));
    for direction in Direction::BOTH {
        notice.say(format_args!("  {direction:<4} {}", assembled.link.described(direction)));
    }
}

/// Returns the seed of the only link of `lasthop link`.
fn link_seed(seed: u64) -> Seed {
    Seed::campaign(seed).run(0).link("link")
}

/// Returns the layer of the packets on the link.
fn layer(arguments: &LinkArguments) -> Layer {
    if arguments.ethernet || !arguments.bridge.is_empty() { Layer::Ethernet } else { Layer::Ip }
}

/// Returns the command to run: the given one, or the user's shell.
fn command_line(given: &[OsString]) -> CommandLine {
    match given.split_first() {
        Some((program, arguments)) => CommandLine::new(program, arguments.iter().cloned()),
        None => CommandLine::new(shell(), [] as [OsString; 0]),
    }
}

/// Whether only attachments are behind the link.
fn has_no_program(arguments: &LinkArguments) -> bool {
    arguments.command.is_empty() && !arguments.inside.is_empty()
}

fn shell() -> OsString {
    std::env::var_os("SHELL").unwrap_or_else(|| "/bin/sh".into())
}

fn shown(arguments: &LinkArguments) -> String {
    if has_no_program(arguments) {
        return arguments.inside.join(", ");
    }
    if arguments.command.is_empty() {
        return shell().to_string_lossy().into_owned();
    }
    arguments.command.iter().map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" ")
}

fn host_link_options(
    arguments: &LinkArguments,
    assembled: &Assembled,
    whole_segments: bool,
    attachments: Vec<Attachment>,
) -> HostLinkOptions {
    HostLinkOptions {
        layer: layer(arguments),
        mtu: assembled.mtu,
        whole_segments,
        metrics: Metrics { congestion_control: arguments.cc.clone(), ..Metrics::default() },
        bandwidth_delay_product: assembled.link.bandwidth_delay_product(),
        host_is_outside: arguments.serve.is_some(),
        publish: arguments.publish.clone(),
        attachments,
        ..HostLinkOptions::default()
    }
}

/// Longest time that a link stays up for connections that COMMAND has closed.
const CLOSING: Duration = Duration::from_secs(2);

/// Keeps the link up until the program's connections are closed, for at most [`CLOSING`]. The
/// program has ended, but its last segments are still in the link. If the link went down now, its
/// servers would keep connections that never close.
fn let_connections_close(inside: &Namespace, link: &LinkProfile) {
    let given_up = Instant::now() + CLOSING;
    while tcp::closing(inside).is_ok_and(|count| count > 0) && Instant::now() < given_up {
        thread::sleep(Duration::from_millis(5));
    }
    // The last packet is the acknowledgement of the other side's FIN.
    let one_way = Duration::from_nanos(link.one_way(Direction::Up).as_nanos()) + Duration::from_millis(5);
    thread::sleep(one_way.min(given_up.saturating_duration_since(Instant::now())));
}

/// Stops the event loop and returns its result.
fn stop(control: &Control, emulating: thread::JoinHandle<Ended>) -> Ended {
    control.tell(Command::Stop);
    emulating.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

/// Returns the description of the link for the recorder.
fn link_info(arguments: &LinkArguments, assembled: &Assembled, built: &Link, mtu: u16) -> LinkInfo {
    let way = |direction| {
        let (layer, room) = (layer(arguments), capacity::ROOM / 2);
        let capacity = capacity::of(built, direction, layer, capture::Time::ZERO, room);
        WayInfo {
            profile: assembled.link.described(direction),
            bits_per_second: assembled.link.rate(direction).map(BitRate::as_bits_per_second),
            stages: built.stage_names(direction).to_vec(),
            capacity: capacity.into_iter().collect(),
        }
    };
    LinkInfo {
        id: LinkId(0),
        name: assembled.name.clone(),
        layer: layer(arguments),
        mtu: mtu.into(),
        up: way(Direction::Up),
        down: way(Direction::Down),
    }
}

fn start_recorder(
    arguments: &LinkArguments,
    wanted: &Wanted,
    link: &LinkInfo,
    seed: u64,
) -> Result<Recorder, Failure> {
    let started = std::time::UNIX_EPOCH.elapsed().unwrap_or_default();
    let started = WallTime::from_nanos(started.as_nanos() as u64);
    let header = Header::new(env!("CARGO_PKG_VERSION"), started, seed, vec![link.clone()]);
    let options = capture::RecorderOptions {
        capture: arguments.capture.clone().map(CaptureTo::Path),
        snap_length: arguments.snaplen.unwrap_or(65_535),
        events: arguments.events.clone(),
        link_layer: wanted.records.clone(),
        blocks: wanted.blocks.clone(),
        ..capture::RecorderOptions::default()
    };
    Ok(Recorder::start(header, options)?)
}
