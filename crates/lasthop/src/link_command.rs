//! `lasthop link -- COMMAND`: a program behind an emulated wireless link.

mod assemble;
mod running;
mod summary;

pub use running::{list, set};

use crate::arguments::LinkArguments;
use crate::notice::Notice;
use crate::recording::Recording;
use crate::remote::{self, Listener};
use assemble::{Assembled, assemble};
use capture::{CaptureTo, Header, LinkId, LinkInfo, Recorder, WallTime, WayInfo};
use emulator::kernel::{Kernel, Port, Segments};
use emulator::{Command, Control, Emulator, Ending, Way, WayId, control};
use link::{Direction, Seed};
use netlab::{End, HostLink, HostLinkOptions, Keeper, Program};
use packet::Layer;
use running::Remote;
use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM};
use std::ffi::OsString;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::thread;
use summary::Outcome;

/// The error of a subcommand: said to the user as it is.
pub type Failure = Box<dyn std::error::Error + Send + Sync>;

/// What the emulator thread ends with.
type Ended = io::Result<Ending<Kernel, Recording>>;

/// Runs the program and returns the exit status to leave with.
pub fn run(arguments: LinkArguments) -> Result<i32, Failure> {
    let notice = Notice::new(arguments.quiet);
    let assembled = assemble(&arguments)?;
    let seed = arguments.seed.unwrap_or_else(|| u64::from(rand::random::<u32>()));
    let command = program_words(&arguments.command);
    let shown = command.iter().map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" ");

    let layer = if arguments.ethernet { Layer::Ethernet } else { Layer::Ip };
    let direction_seed = |direction| Seed::campaign(seed).run(0).link("link").direction(direction);
    let up = assembled.link.up.build(&direction_seed(Direction::Up))?;
    let down = assembled.link.down.build(&direction_seed(Direction::Down))?;
    let damages = up.changes_bytes() || down.changes_bytes();
    let whole_segments = !damages && !arguments.split;

    let recorder = start_recorder(&arguments, &assembled, seed, layer)?;
    let mut host_link = HostLink::set_up(&HostLinkOptions {
        layer,
        whole_segments,
        mtu: assembled.mtu,
        congestion_control: arguments.cc.clone(),
        publish: arguments.publish.clone(),
        bandwidth_delay_product: assembled.link.bandwidth_delay_product().get(),
        command: shown.clone(),
    })?;

    // From here on what was made is taken down again, whatever happens.
    let result = (|| {
        let program = program(&host_link, command)?;
        let (control, controls) = control()?;
        let segments = if whole_segments { Segments::Whole } else { Segments::Split };
        let mut kernel = Kernel::new(&controls)?;
        if arguments.precise {
            kernel = kernel.precise();
        }
        let (inside, outside) = host_link.take_ends();
        let mut port = |end: End| kernel.add(Port::new(end.fd, layer, segments, assembled.mtu.into()));
        let (inside, outside) = (port(inside)?, port(outside)?);
        let wants_bytes = arguments.capture.is_some() || arguments.events.is_some();
        let mut emulator = Emulator::new(kernel, Recording::new(recorder, wants_bytes), controls);
        let up = emulator.add(Way { from: inside, pipeline: up, to: outside });
        let down = emulator.add(Way { from: outside, pipeline: down, to: inside });

        notice.say(format_args!("link {}, seed {seed}, MTU {}", host_link.id(), assembled.mtu));
        for direction in Direction::BOTH {
            notice.say(format_args!("  {direction:<4} {}", assembled.link.direction(direction)));
        }
        let emulating = thread::Builder::new().name("emulator".into()).spawn(move || emulator.run())?;
        let remote =
            Remote::new(host_link.id(), shown.clone(), &assembled.link, seed, control.clone(), [up, down]);
        let listener = Listener::start(host_link.claim().folder().join(remote::SOCKET), move |request| {
            remote.answer(request)
        })?;

        let status = run_program(&mut host_link, &program);
        let dropped = host_link.dropped_by_kernel();
        drop(listener);
        let ended = stop(&control, emulating);
        let status = status?;
        if let netlab::Status::NotStarted(_, why) = &status {
            notice.warn(format_args!("`{}` cannot be run: {why}", program.command[0].to_string_lossy()));
        }
        let outcome = Outcome::new(ended?, dropped?, seed)?;
        outcome.report(notice, &arguments, host_link.id())?;
        Ok::<_, Failure>(status.code())
    })();
    let torn_down = host_link.tear_down();
    let status = result?;
    torn_down?;
    Ok(status)
}

/// The program to run: what was given, or the user's shell.
fn program_words(given: &[OsString]) -> Vec<OsString> {
    if given.is_empty() {
        return vec![std::env::var_os("SHELL").unwrap_or_else(|| "/bin/sh".into())];
    }
    given.to_vec()
}

fn program(host_link: &HostLink, command: Vec<OsString>) -> Result<Program, Failure> {
    let environment = vec![
        ("LASTHOP_HOST".to_owned(), host_link.addresses().outside.to_string()),
        ("LASTHOP".to_owned(), host_link.id().to_string()),
    ];
    let files = vec![(host_link.hosts_file()?, PathBuf::from("/etc/hosts"))];
    Ok(Program { command, environment, files })
}

/// Runs the program to its end, passing signals to it.
fn run_program(host_link: &mut HostLink, program: &Program) -> Result<netlab::Status, Failure> {
    // Ctrl-C reaches the program through the terminal; we wait for what it makes of it.
    for signal in [SIGINT, SIGQUIT] {
        signal_hook::flag::register(signal, Arc::new(AtomicBool::new(false)))?;
    }
    let mut signals = signal_hook::iterator::Signals::new([SIGTERM, SIGHUP])?;
    let keeper = Keeper::start(host_link, program)?;
    let mut passing = keeper.signals()?;
    let handle = signals.handle();
    let passer = thread::Builder::new().name("signals".into()).spawn(move || {
        for signal in signals.forever() {
            passing.pass(signal);
        }
    })?;
    let status = keeper.wait();
    handle.close();
    // It has nothing to say.
    let _ = passer.join();
    Ok(status?)
}

/// Ends the event loop and takes what it leaves.
fn stop(control: &Control, emulating: thread::JoinHandle<Ended>) -> Ended {
    control.tell(Command::Stop);
    emulating.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

fn start_recorder(
    arguments: &LinkArguments,
    assembled: &Assembled,
    seed: u64,
    layer: Layer,
) -> Result<Recorder, Failure> {
    let started = std::time::UNIX_EPOCH.elapsed().unwrap_or_default();
    let way = |direction| WayInfo {
        profile: assembled.link.direction(direction).to_string(),
        bits_per_second: assembled.link.direction(direction).rate().map(|rate| rate.as_bits_per_second()),
        stages: assembled.link.direction(direction).stages.iter().map(|(name, _)| name.clone()).collect(),
    };
    let info = LinkInfo {
        id: LinkId(0),
        name: assembled.name.clone(),
        layer: layer.into(),
        mtu: assembled.mtu.into(),
        up: way(Direction::Up),
        down: way(Direction::Down),
    };
    let started = WallTime::from_nanos(started.as_nanos() as u64);
    let header = Header::new(env!("CARGO_PKG_VERSION"), started, seed, vec![info]);
    let options = capture::Options {
        capture: arguments.capture.clone().map(CaptureTo::Path),
        snap_length: arguments.snaplen.unwrap_or(65_535),
        events: arguments.events.clone(),
        ..capture::Options::default()
    };
    Ok(Recorder::start(header, options)?)
}

/// The ways of a link, in the order in which they are added to the event loop.
pub const fn way(direction: Direction) -> WayId {
    match direction {
        Direction::Up => WayId(0),
        Direction::Down => WayId(1),
    }
}
