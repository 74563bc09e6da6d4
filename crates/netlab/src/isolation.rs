//! Processes in namespaces of their own, which vanish with everything that the processes made.
//!
//! [`command`] starts this binary again below a small outer process, as the first process (PID 1)
//! of new PID, mount, network, IPC and host name namespaces:
//!
//! ```text
//! caller ── __isolated (waits) ── SUBCOMMAND (PID 1 of its own) ── whatever it starts
//! ```
//!
//! When PID 1 ends, for whatever reason, the kernel ends every process in its namespace. Their
//! network namespaces and devices vanish too, since only file descriptors hold them. PID 1 is
//! killed when the outer process dies, and the outer process when the thread that started it does.
//! So nothing is recorded and nothing needs sweeping, even after `kill -9`. For an ordinary user,
//! the outer process enters a user namespace first.

use crate::error::{Result, Trying};
use crate::rights;
use rustix::mount::{MountFlags, MountPropagationFlags, mount, mount_bind, mount_change};
use rustix::process::Signal;
use rustix::thread::UnshareFlags;
use std::ffi::OsString;
use std::io;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, ExitCode};

/// First argument of the outer process.
pub const SUBCOMMAND: &str = "__isolated";

/// Returns a command that runs this binary with `arguments` as PID 1 of its own namespaces.
///
/// The command has its own process group, so that Ctrl-C reaches only the caller. Spawn it from a
/// thread that lives longer: when this thread ends, the command is killed.
///
/// # Errors
/// If the path of this binary cannot be determined.
pub fn command(arguments: impl IntoIterator<Item = OsString>) -> Result<Command> {
    let program = std::env::current_exe().trying(|| "find the path of this program".into())?;
    let mut command = Command::new(program);
    command.arg(SUBCOMMAND).args(arguments).process_group(0);
    dies_with_parent(&mut command);
    Ok(command)
}

/// Acts as the outer process if this process was started as one.
///
/// Call it in `main` beside [`keeper::entry`](crate::keeper::entry). The outer process waits for
/// the inner one, and this returns its exit code. In any other process it returns `None`.
#[must_use]
pub fn entry() -> Option<ExitCode> {
    let mut arguments = std::env::args_os().skip(1);
    if arguments.next()? != SUBCOMMAND {
        return None;
    }
    Some(match wait_for_inner(arguments) {
        Ok(code) => code,
        Err(error) => {
            eprintln!("lasthop: {error}");
            ExitCode::FAILURE
        }
    })
}

fn wait_for_inner(arguments: impl Iterator<Item = OsString>) -> Result<ExitCode> {
    if !rights::suffice()? {
        rights::enter_user_namespace()?;
    }
    let own = UnshareFlags::NEWPID
        | UnshareFlags::NEWNS
        | UnshareFlags::NEWNET
        | UnshareFlags::NEWIPC
        | UnshareFlags::NEWUTS;
    // SAFETY: this process has one thread, and the file descriptor table stays as it is.
    unsafe { rustix::thread::unshare_unsafe(own) }.trying(|| "create namespaces for a run".into())?;
    let mut inner = Command::new("/proc/self/exe");
    inner.args(arguments);
    dies_with_parent(&mut inner);
    let status = inner.status().trying(|| "start the first process of a run".into())?;
    Ok(status.code().map_or(ExitCode::FAILURE, |code| ExitCode::from(code as u8)))
}

/// Makes the kernel kill `command` when the thread that spawns it ends.
fn dies_with_parent(command: &mut Command) {
    let parent = rustix::process::getpid();
    // SAFETY: only system calls run between fork and exec; nothing is allocated.
    unsafe {
        command.pre_exec(move || {
            rustix::process::set_parent_process_death_signal(Some(Signal::KILL))?;
            // The parent may have died before. PID 1 of a namespace sees its parent as 0.
            match rustix::process::getppid() {
                Some(now) if now != parent => Err(io::Error::other("the parent process has died")),
                _ => Ok(()),
            }
        });
    }
}

/// Prepares PID 1: private mounts, and a `/proc` that shows the processes of its namespace.
///
/// # Errors
/// If the kernel refuses. In a user namespace, it does so where parts of the caller's `/proc` are
/// covered, as in containers.
pub fn settle() -> Result<()> {
    mount_change("/", MountPropagationFlags::DOWNSTREAM | MountPropagationFlags::REC)
        .trying(|| "make all mounts private".into())?;
    mount("proc", "/proc", "proc", MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC, None)
        .trying(|| "mount /proc for a run".into())
}

/// Directories that are usually empty, in the order in which [`short_folder`] tries them.
const USUALLY_EMPTY: [&str; 6] = ["/mnt", "/media", "/srv", "/var/opt", "/var/local", "/opt"];

/// Mounts an empty file system over an empty directory, visible to the processes of this run only,
/// and returns its path.
///
/// The path is short and every user can search it, which neither holds for a run directory. UNIX
/// sockets need both: their paths have 107 bytes at most (unix(7)).
///
/// # Errors
/// If none of some usual directories is empty, or the kernel refuses.
pub fn short_folder() -> Result<&'static Path> {
    let is_empty = |path: &&&str| std::fs::read_dir(path).is_ok_and(|mut all| all.next().is_none());
    let path = USUALLY_EMPTY.iter().find(is_empty).ok_or_else(|| {
        io::Error::other(format!("none of these directories is empty: {}", USUALLY_EMPTY.join(" ")))
    });
    let path = path.trying(|| "find a directory for the sockets of a run".into())?;
    mount("sockets", *path, "tmpfs", MountFlags::NOSUID | MountFlags::NODEV, Some(c"mode=755"))
        .trying(|| format!("mount a file system over {path}"))?;
    Ok(Path::new(*path))
}

/// Bind-mounts `file` over another, visible to the processes of this run only.
///
/// # Errors
/// If one of the two files does not exist.
pub fn lay_over(file: &Path, over: &Path) -> Result<()> {
    mount_bind(file, over).trying(|| format!("mount {} over {}", file.display(), over.display()))
}
