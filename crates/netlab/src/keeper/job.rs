//! What the keeper process does.

use super::{Orders, Report, Status, Word, inherited, send};
use crate::errors::{Attempt, NetlabError};
use crate::namespace::Namespace;
use crate::state::{Claim, Process, pids};
use rustix::io::{FdFlags, fcntl_setfd};
use rustix::mount::{MountPropagationFlags, mount_bind, mount_change};
use rustix::process::{Pid, Signal, WaitOptions, getpid, kill_process, set_child_subreaper, wait};
use rustix::thread::{LinkNameSpaceType, UnshareFlags, move_into_link_name_space, unshare_unsafe};
use std::collections::HashMap;
use std::ffi::OsString;
use std::fs;
use std::io::{self, BufRead, BufReader};
use std::os::fd::AsFd;
use std::os::unix::ffi::OsStringExt;
use std::os::unix::net::UnixStream;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Command};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::thread;
use std::time::{Duration, Instant};

/// Environment variable with the number of the socket's descriptor.
pub(super) const SOCKET: &str = "LASTHOP_KEEPER_SOCKET";

/// How long what the program left behind may take to end by itself.
const GRACE: Duration = Duration::from_secs(2);

/// Runs the keeper; the main program calls this for [`super::SUBCOMMAND`] before anything else.
pub fn run() -> Result<(), NetlabError> {
    let number = std::env::var(SOCKET).ok().and_then(|number| number.parse().ok());
    let number = number.ok_or_else(|| NetlabError::new("run the keeper", "only lasthop starts it"))?;
    // SAFETY: the main process has left this descriptor for us, and we are called once.
    let socket = UnixStream::from(unsafe { inherited(number) });
    fcntl_setfd(&socket, FdFlags::CLOEXEC).attempt("set a descriptor to close on exec")?;
    let mut words = BufReader::new(socket.try_clone().attempt("duplicate a descriptor")?);
    let orders: Orders = next(&mut words)
        .attempt("read the orders")?
        .ok_or_else(|| NetlabError::new("read the orders", "the main process has gone"))?;
    // SAFETY: as above; the orders name each descriptor once.
    let (inside, outside) = unsafe { (inherited(orders.inside), inherited(orders.outside)) };
    for fd in [&inside, &outside] {
        fcntl_setfd(fd, FdFlags::CLOEXEC).attempt("set a descriptor to close on exec")?;
    }
    let (inside, outside) = (Namespace::from(inside), Namespace::from(outside));

    // A handler that does nothing, unlike ignoring, is not inherited by the program.
    for signal in [libc::SIGINT, libc::SIGQUIT, libc::SIGTERM, libc::SIGHUP] {
        signal_hook::flag::register(signal, Arc::new(AtomicBool::new(false))).attempt("catch a signal")?;
    }
    // None: as many as there are; any value switches it on.
    set_child_subreaper(Some(getpid())).attempt("adopt orphans")?;

    let mut reports = socket;
    let mut program = match start(&orders, &inside) {
        Ok(program) => program,
        Err(error) => {
            let code = if error.kind() == io::ErrorKind::NotFound { 127 } else { 126 };
            let status = Status::NotStarted(code, error.to_string());
            return send(&mut reports, &Report::Ended(status)).attempt("report to the main process");
        }
    };
    let pid = program.id().cast_signed();
    // The main process may be gone already; the watch below sees that too.
    let _ = send(&mut reports, &Report::Started(pid));
    let folder = orders.folder;
    thread::Builder::new()
        .name("watch".into())
        .spawn(move || {
            watch(&mut words, pid);
            kill_below(Signal::KILL);
            if let Ok(claim) = Claim::adopt(&folder) {
                // Nobody is there to be told; the next run sweeps what is left.
                let _ = claim.release(&outside);
            }
            std::process::exit(1);
        })
        .attempt("start a thread")?;

    let status = wait_for(&mut program)?;
    end_what_is_left();
    send(&mut reports, &Report::Ended(status)).attempt("report to the main process")
}

/// Does what it is told until the main process is gone.
fn watch(words: &mut BufReader<UnixStream>, program: i32) {
    while let Ok(Some(Word::Signal(signal))) = next(words) {
        // The number is the program's and nobody else's until it is reaped, and the watch ends soon after that.
        if let (Some(pid), Some(signal)) = (Pid::from_raw(program), Signal::from_named_raw(signal)) {
            let _ = kill_process(pid, signal);
        }
    }
}

fn next<T: serde::de::DeserializeOwned>(from: &mut BufReader<UnixStream>) -> io::Result<Option<T>> {
    let mut line = String::new();
    if from.read_line(&mut line)? == 0 {
        return Ok(None);
    }
    Ok(Some(serde_json::from_str(&line)?))
}

fn start(orders: &Orders, inside: &Namespace) -> io::Result<Child> {
    let mut words = orders.command.iter().map(|word| OsString::from_vec(word.clone()));
    let program = words.next().ok_or_else(|| io::Error::other("no program given"))?;
    let mut command = Command::new(program);
    command.args(words).env_remove(SOCKET).envs(orders.environment.iter().cloned());
    let namespace = inside.as_fd().try_clone_to_owned()?;
    let files = orders.files.clone();
    // SAFETY: between fork and exec only system calls are made; the paths were allocated before. Only this process, which
    // has one thread, changes its namespaces.
    unsafe {
        command.pre_exec(move || {
            move_into_link_name_space(namespace.as_fd(), Some(LinkNameSpaceType::Network))?;
            unshare_unsafe(UnshareFlags::NEWNS)?;
            let private = MountPropagationFlags::DOWNSTREAM | MountPropagationFlags::REC;
            mount_change("/", private)?;
            for (stand_in, path) in &files {
                mount_bind(stand_in, path)?;
            }
            Ok(())
        });
    }
    command.spawn()
}

fn wait_for(program: &mut Child) -> Result<Status, NetlabError> {
    let status = program.wait().attempt("wait for the program")?;
    Ok(match (status.code(), status.signal()) {
        (Some(code), _) => Status::Exited(code),
        (None, signal) => Status::Signalled(signal.unwrap_or(0)),
    })
}

/// Ends what the program has started and left: politely, then by force.
fn end_what_is_left() {
    kill_below(Signal::TERM);
    let until = Instant::now() + GRACE;
    loop {
        // Orphans are ours now, and vanish only when somebody waits for them.
        while let Ok(Some(_)) = wait(WaitOptions::NOHANG) {}
        if below().is_empty() {
            return;
        }
        if Instant::now() >= until {
            kill_below(Signal::KILL);
        }
        thread::sleep(Duration::from_millis(10));
    }
}

fn kill_below(signal: Signal) {
    for pid in below() {
        if let Some(pid) = Pid::from_raw(pid) {
            // It may have ended in between.
            let _ = kill_process(pid, signal);
        }
    }
}

/// All processes below this one.
fn below() -> Vec<i32> {
    let mut children: HashMap<i32, Vec<i32>> = HashMap::new();
    for pid in pids().filter(|&pid| Process::find(pid).is_some()) {
        if let Some(parent) = parent_of(pid) {
            children.entry(parent).or_default().push(pid);
        }
    }
    let mut found = Vec::new();
    let mut next = vec![std::process::id().cast_signed()];
    while let Some(pid) = next.pop() {
        let below = children.remove(&pid).unwrap_or_default();
        found.extend(&below);
        next.extend(below);
    }
    found
}

fn parent_of(pid: i32) -> Option<i32> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // "pid (name) state parent …", and the name may hold anything.
    stat.rsplit_once(')')?.1.split_whitespace().nth(1)?.parse().ok()
}
