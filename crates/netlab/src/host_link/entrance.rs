//! A further program behind a link that is up, started by any process of the same user.
//!
//! The process that starts it becomes the program: it enters the link's namespaces and executes the
//! program in its own place. So the program has the caller's terminal, process group, file
//! descriptors and parent, and its exit status needs no one to pass it on. `LASTHOP` in its
//! environment marks it as a program of the link, which ends it when the link ends.

use super::{CommandEnd, CommandLine};
use crate::error::{Error, Result, Trying};
use crate::names::Overlays;
use crate::{Namespace, keeper};
use rustix::fs::{Mode, OFlags, Stat};
use rustix::thread::{LinkNameSpaceType, UnshareFlags, move_into_link_name_space};
use serde::{Deserialize, Serialize};
use std::net::IpAddr;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::Command;

/// What a process needs to enter a link; see the [module](self).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[expect(clippy::unsafe_derive_deserialize, reason = "no unsafe call relies on the fields")]
pub struct Entrance {
    /// Id of the link.
    pub(super) id: String,
    /// The process that moves the packets.
    pub(super) pid: u32,
    /// Number of that process's file descriptor for the wireless host's network namespace.
    pub(super) network: i32,
    /// Inode number of that namespace. It tells whether `network` is still what it was.
    pub(super) inode: u64,
    pub(super) overlays: Overlays,
    pub(super) host: IpAddr,
    pub(super) cgroup: Option<PathBuf>,
}

impl Entrance {
    /// Turns this process into `command` behind the link. Returns only if the program could not be
    /// executed, with status 126 or 127 and the reason.
    ///
    /// Call it in a process with a single thread: the kernel refuses a user namespace to others.
    ///
    /// # Errors
    /// If the link has ended, or if this process may not enter its namespaces.
    pub fn execute(&self, command: &CommandLine) -> Result<CommandEnd> {
        let path = format!("/proc/{}/fd/{}", self.pid, self.network);
        let network = Namespace::at(&path).map_err(|_| self.ended())?;
        if network.inode()? != self.inode {
            return Err(self.ended());
        }
        self.enter_user_namespace()?;
        // SAFETY: CLONE_FS and CLONE_NEWNS leave the file descriptor table shared; this process has
        // one thread, and becomes the program.
        unsafe { rustix::thread::unshare_unsafe(UnshareFlags::FS | UnshareFlags::NEWNS) }
            .trying(|| "create a mount namespace".into())?;
        self.overlays.apply()?;
        network.enter_this_thread()?;
        if let Some(group) = &self.cgroup {
            // "0" stands for the writing process. The program runs even if it may not join.
            let _ = std::fs::write(group.join("cgroup.procs"), "0");
        }
        let error = Command::new(&command.program)
            .args(&command.arguments)
            .envs(command.environment.iter().map(|(name, value)| (name, value)))
            .env("LASTHOP", &self.id)
            .env("LASTHOP_HOST", self.host.to_string())
            .exec();
        let (code, message) = keeper::not_executed(&command.program, &error);
        Ok(CommandEnd::NotStarted { code, message })
    }

    /// Enters the user namespace of an ordinary user's link; root's link has none of its own.
    fn enter_user_namespace(&self) -> Result<()> {
        let path = format!("/proc/{}/ns/user", self.pid);
        let theirs =
            rustix::fs::open(path, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty()).map_err(|errno| {
                match errno {
                    rustix::io::Errno::ACCESS | rustix::io::Errno::PERM => Error::missing(
                        format!("cannot enter link {}: it is another user's", self.id),
                        "run this as that user",
                    ),
                    _ => self.ended(),
                }
            })?;
        let same = |a: &Stat, b: &Stat| (a.st_dev, a.st_ino) == (b.st_dev, b.st_ino);
        let ours = rustix::fs::stat("/proc/self/ns/user").trying(|| "stat /proc/self/ns/user".into())?;
        if rustix::fs::fstat(&theirs).is_ok_and(|theirs| same(&ours, &theirs)) {
            return Ok(());
        }
        move_into_link_name_space(rustix::fd::AsFd::as_fd(&theirs), Some(LinkNameSpaceType::User))
            .trying(|| format!("enter the user namespace of link {}", self.id))
    }

    fn ended(&self) -> Error {
        Error::missing(format!("link {} has ended", self.id), "lasthop link list shows the running links")
    }
}
