//! `lasthop link --clock virtual`: runs the same command in a guest whose clock jumps over idle
//! time.
//!
//! The guest reads its arguments from a file in the directory that it shares with the host. Its
//! standard output and standard error are passed on while it runs. The requested files are copied
//! out when it has ended.

use crate::arguments::LinkArguments;
use crate::clock::{Clock, guest_kernel, processors};
use crate::commands::link::link_layer;
use crate::failure::Failure;
use crate::notice::Notice;
use capture::output::Pending;
use link::Seed;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;
use virtual_time::order::{self, Order};
use virtual_time::{Advance, Boot, instance};

/// Exit status after Ctrl-C, as in a shell.
const INTERRUPTED: i32 = 130;
/// Added to a signal's number, this is the exit status of a command that the signal ended, as in a
/// shell.
const BY_SIGNAL: i32 = 128;
/// Hidden subcommand that runs `lasthop link` with arguments from a file.
pub const SUBCOMMAND: &str = "__link";
/// Name of that file.
const ARGUMENTS: &str = "link.json";
/// Environment variable with the directory in which COMMAND can leave files.
const KEEP_VARIABLE: &str = "LASTHOP_KEEP";
/// Name of that directory beside the guest's other files.
const KEEP: &str = "keep";

/// Runs the command in a guest and returns the exit status.
pub fn run(arguments: &LinkArguments) -> Result<i32, Failure> {
    if !arguments.inside.is_empty() {
        return Err("--inside needs --clock real: devices live by the real clock".into());
    }
    if !arguments.bridge.is_empty() {
        return Err("--bridge needs --clock real: devices live by the real clock".into());
    }
    if arguments.command.is_empty() {
        return Err("--clock virtual needs a COMMAND: a shell there has no terminal".into());
    }
    if !arguments.publish.is_empty() {
        return Err("--publish needs --clock real: nothing outside can reach into a guest; start a server there with --serve".into());
    }
    let kernel = guest_kernel(arguments.guest_memory, false)?;
    if let Some(folder) = &arguments.keep {
        fs::create_dir_all(folder).map_err(|error| format!("cannot create {}: {error}", folder.display()))?;
    }
    let seed = arguments.seed.unwrap_or_else(|| u64::from(rand::random::<u32>()));
    let notice = Notice::new(arguments.quiet);
    let work = tempfile::Builder::new().prefix("lasthop-guest-").tempdir()?;
    fs::create_dir(work.path().join(KEEP))?;
    let directory = std::env::current_dir()?;
    let wanted = wanted(arguments, &directory);
    let inside = LinkArguments {
        clock: Clock::Real,
        seed: Some(seed),
        keep: None,
        guest_memory: None,
        ..arguments.clone()
    };
    fs::write(work.path().join(ARGUMENTS), serde_json::to_vec(&inside)?)?;
    let order = Order {
        command: vec![order::PROGRAM.into(), SUBCOMMAND.into(), format!("{}/{ARGUMENTS}", order::WORK)],
        environment: environment(),
        directory,
        in_memory: Vec::new(),
        bring: wanted.iter().map(|file| (file.inside.clone(), file.name.to_owned())).collect(),
    };
    let boot = Boot {
        kernel: kernel.path,
        library: kernel.library,
        work: work.path().to_owned(),
        order,
        seed: Seed::campaign(seed).run(0).guest(),
        memory_mib: kernel.about.memory_mib,
        processor: processors().last().copied(),
        patience: instance::PATIENCE,
    };
    let interrupted = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM, SIGHUP] {
        signal_hook::flag::register(signal, Arc::clone(&interrupted))?;
    }
    let mut said = [
        Said::new(order::output(work.path()), Box::new(io::stdout())),
        Said::new(order::errors(work.path()), Box::new(io::stderr())),
    ];
    let ended = boot.start()?.wait(&interrupted, &mut |advance| {
        for said in &mut said {
            said.pass_on();
        }
        if let Advance::Slowly(slow) = advance {
            notice.warn(slow);
        }
    })?;
    for said in &mut said {
        said.pass_on();
    }
    let Some(ended) = ended else { return Ok(INTERRUPTED) };
    if ended.guest.killed_for_memory > 0 {
        return Err("the guest ran out of memory: give it more with --guest-memory".into());
    }
    for file in wanted {
        let from = work.path().join(file.name);
        // The command itself has reported why a file is missing.
        if from.exists() {
            bring(&from, &file.outside)
                .map_err(|error| format!("cannot write {}: {error}", file.outside.display()))?;
        }
    }
    keep(&work.path().join(KEEP), arguments.keep.as_deref(), notice)?;
    let virtual_seconds = Duration::from_nanos(ended.guest.at).as_secs_f64();
    notice.say(format_args!(
        "{virtual_seconds:.3} s of virtual time in {:.3} s",
        ended.wall_time.as_secs_f64()
    ));
    if let Some(message) = &ended.guest.message {
        notice.warn(message);
    }
    Ok(ended.guest.status.unwrap_or(BY_SIGNAL))
}

/// Reads the arguments of [`SUBCOMMAND`] from their file.
pub fn read_arguments(path: &Path) -> Result<LinkArguments, Failure> {
    let text = fs::read(path).map_err(|error| format!("cannot read {}: {error}", path.display()))?;
    Ok(serde_json::from_slice(&text)?)
}

/// A requested file.
struct Wanted {
    /// Path in the guest.
    inside: PathBuf,
    /// Path on the host.
    outside: PathBuf,
    /// Name in the shared directory.
    name: &'static str,
}

fn wanted(arguments: &LinkArguments, directory: &Path) -> Vec<Wanted> {
    let files =
        [(&arguments.capture, "capture"), (&arguments.events, "events"), (&arguments.json, "summary")];
    let named = files.into_iter().filter_map(|(path, name)| Some((path.clone()?, name)));
    // Without a link layer its files do not exist, and are not missed.
    let named = named.chain(link_layer::Wanted::named(arguments).files());
    let wanted = |(path, name): (PathBuf, _)| Wanted { inside: directory.join(&path), outside: path, name };
    named.map(wanted).collect()
}

/// Returns the guest's environment, with the directories of the caller's `PATH` after its own, so
/// that programs that are not installed are found as on the host.
fn environment() -> Vec<(String, String)> {
    let mut environment = Order::environment();
    let callers = std::env::var("PATH").unwrap_or_default();
    for (_, value) in environment.iter_mut().filter(|(name, _)| name == "PATH") {
        *value = search_path(value, &callers);
    }
    environment.push((KEEP_VARIABLE.into(), format!("{}/{KEEP}", order::WORK)));
    environment
}

/// Returns the directories of `first`, followed by the absolute directories of `more` that are not
/// among them.
fn search_path(first: &str, more: &str) -> String {
    let mut folders: Vec<_> = first.split(':').collect();
    for folder in more.split(':').filter(|folder| folder.starts_with('/')) {
        if !folders.contains(&folder) {
            folders.push(folder);
        }
    }
    folders.join(":")
}

/// Copies a file of the guest to the requested path.
fn bring(from: &Path, to: &Path) -> io::Result<()> {
    let pending = Pending::begin(to)?;
    io::copy(&mut File::open(from)?, &mut pending.file()?)?;
    pending.finish()
}

/// A growing file of the guest whose content is passed on.
struct Said {
    path: PathBuf,
    from: Option<File>,
    to: Box<dyn Write>,
}

impl Said {
    fn new(path: PathBuf, to: Box<dyn Write>) -> Self {
        Self { path, from: None, to }
    }

    fn pass_on(&mut self) {
        if self.from.is_none() {
            self.from = File::open(&self.path).ok();
        }
        let mut bytes = Vec::new();
        if let Some(from) = &mut self.from
            && matches!(from.read_to_end(&mut bytes), Ok(count) if count > 0)
        {
            // The guest continues if the reader has gone.
            let _ = self.to.write_all(&bytes).and_then(|()| self.to.flush());
        }
    }
}

/// Copies files that COMMAND left to the directory of `--keep`.
fn keep(from: &Path, to: Option<&Path>, notice: Notice) -> Result<(), Failure> {
    let files: Vec<_> = fs::read_dir(from)?.flatten().collect();
    let Some(to) = to else {
        if !files.is_empty() {
            notice.warn(format_args!(
                "{} files in ${KEEP_VARIABLE} are discarded: keep them with --keep DIR",
                files.len()
            ));
        }
        return Ok(());
    };
    for file in files {
        let to = to.join(file.file_name());
        let copied = Command::new("cp").arg("-r").arg(file.path()).arg(&to).status();
        match copied {
            Ok(status) if status.success() => {}
            Ok(status) => {
                return Err(format!("cannot copy to {}: cp ended with {status}", to.display()).into());
            }
            Err(error) => return Err(format!("cannot copy to {}: {error}", to.display()).into()),
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// E: the command of `examples/media` was not found.
    #[test]
    fn programs_of_the_callers_path() {
        let path = search_path("/usr/bin:/bin", "/home/a/bin:/bin::.:relative:/home/a/bin:/usr/games");
        assert_eq!(path, "/usr/bin:/bin:/home/a/bin:/usr/games");
        assert_eq!(search_path("/usr/bin", ""), "/usr/bin");
    }
}
