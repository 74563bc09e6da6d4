//! What a server gives up once everything is open: it reads octets of others and talks to whom they say, so that a mistake in it should not be worth the host.
//!
//! 1. another user, and of the capabilities those that the policy needs;
//! 2. no new privileges by executing anything;
//! 3. files: only what the C library's resolver reads, and what is named (Landlock);
//! 4. system calls: a list, the rest fails with EPERM (seccomp).
//!
//! All of it holds for the calling thread and for those that it makes later. So it is to be entered before there are others.

mod calls;

use landlock::{
    ABI, Access, AccessFs, CompatLevel, Compatible, Ruleset, RulesetAttr, RulesetCreatedAttr, RulesetStatus,
};
use rustix::process::{Gid, Uid};
use rustix::thread::{self, CapabilitySet, CapabilitySets};
use std::fmt;
use std::fs;
use std::io;
use std::path::PathBuf;

/// What is to be kept.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Needs {
    /// Ports below 1024 are bound (CAP_NET_BIND_SERVICE).
    pub low_ports: bool,
    /// Addresses are used that are not this host's (CAP_NET_ADMIN).
    pub foreign_addresses: bool,
    /// Maps of eBPF are read and written, by bpf(2): for the hold of a FIN, which needs no capability once it is attached.
    pub fin_hold: bool,
    /// Files that are read again later.
    pub readable: Vec<PathBuf>,
    /// Folders from which files are removed at the end.
    pub removable_from: Vec<PathBuf>,
}

/// What is in force.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Confinement {
    user: String,
    capabilities: CapabilitySet,
    landlock: &'static str,
    seccomp: bool,
}

/// Why it could not be entered.
#[derive(Debug, thiserror::Error)]
pub enum ConfinementError {
    /// No such user.
    #[error("--user {0}: there is no such user in /etc/passwd; useradd --system {0} makes one")]
    NoUser(String),
    /// Somebody else may not become another.
    #[error("--user {user}: {error}; only root can become another user")]
    User {
        /// Whom.
        user: String,
        /// The kernel's reason.
        error: io::Error,
    },
    /// There are threads already, which would keep what this one gives up.
    #[error(
        "{0} threads are running: rights are given up by each, so that it has to be done before there are others"
    )]
    Threads(usize),
    /// The kernel has refused something else.
    #[error("{what}: {error}; --no-sandbox does without")]
    Kernel {
        /// What.
        what: &'static str,
        /// The kernel's reason.
        error: io::Error,
    },
}

/// What the C library's resolver and its plug-ins read.
const RESOLVER: &[&str] = &[
    "/etc/resolv.conf",
    "/etc/hosts",
    "/etc/host.conf",
    "/etc/gai.conf",
    "/etc/nsswitch.conf",
    "/etc/services",
    "/etc/protocols",
    "/etc/ld.so.cache",
    "/run/systemd/resolve",
    "/run/resolvconf",
    "/lib",
    "/lib64",
    "/usr/lib",
    "/usr/lib64",
];

impl Confinement {
    /// Gives up everything but what is needed, as another user if one is named; with `filters` files and system calls, too.
    ///
    /// # Errors
    /// If there is no such user, or the kernel refuses.
    pub fn enter(user: Option<&str>, filters: bool, needs: &Needs) -> Result<Self, ConfinementError> {
        let kernel = |what| move |error: io::Error| ConfinementError::Kernel { what, error };
        let threads = fs::read_dir("/proc/self/task").map_or(1, Iterator::count);
        if threads > 1 {
            return Err(ConfinementError::Threads(threads));
        }
        Self::enter_thread(user, filters, needs, kernel)
    }

    /// The same for this thread alone, whatever others there are: for tests.
    ///
    /// # Errors
    /// As [`enter`](Self::enter).
    pub fn enter_here(needs: &Needs, filters: bool) -> Result<Self, ConfinementError> {
        Self::enter_thread(None, filters, needs, |what| move |error| ConfinementError::Kernel { what, error })
    }

    fn enter_thread<K: FnOnce(io::Error) -> ConfinementError>(
        user: Option<&str>,
        filters: bool,
        needs: &Needs,
        kernel: impl Fn(&'static str) -> K,
    ) -> Result<Self, ConfinementError> {
        let capabilities = give_up(user, needs)?;
        thread::set_no_new_privs(true).map_err(|error| kernel("no_new_privs")(error.into()))?;
        let mut landlock = "any file";
        if filters {
            landlock = restrict_files(needs).map_err(kernel("Landlock"))?;
            calls::restrict(needs.fin_hold).map_err(kernel("seccomp"))?;
        }
        let user = match user {
            Some(user) => user.to_owned(),
            None => format!("uid {}", rustix::process::geteuid().as_raw()),
        };
        Ok(Self { user, capabilities, landlock, seccomp: filters })
    }
}

/// Another user and fewer capabilities; those that are left.
fn give_up(user: Option<&str>, needs: &Needs) -> Result<CapabilitySet, ConfinementError> {
    let mut wanted = CapabilitySet::empty();
    wanted.set(CapabilitySet::NET_BIND_SERVICE, needs.low_ports);
    wanted.set(CapabilitySet::NET_ADMIN, needs.foreign_addresses);
    let has = thread::capabilities(None).map_or(CapabilitySet::empty(), |sets| sets.permitted);
    let kept = wanted & has;
    let kernel =
        |error: rustix::io::Errno| ConfinementError::Kernel { what: "capabilities", error: error.into() };
    for capability in CapabilitySet::all().difference(kept).iter() {
        // Who may not, has no way to get it back either: there is nothing that it executes.
        let _ = thread::remove_capability_from_bounding_set(capability);
    }
    if let Some(name) = user {
        let (uid, gid) = find_user(name)?;
        become_user(uid, gid)
            .map_err(|error| ConfinementError::User { user: name.to_owned(), error: error.into() })?;
    }
    let sets = CapabilitySets { effective: kept, permitted: kept, inheritable: CapabilitySet::empty() };
    thread::set_capabilities(None, sets).map_err(kernel)?;
    Ok(kept)
}

/// By name or by number. The name service is not asked: it may be what the server is for.
fn find_user(name: &str) -> Result<(Uid, Gid), ConfinementError> {
    let users = fs::read_to_string("/etc/passwd").unwrap_or_default();
    let found = users.lines().find_map(|line| {
        let fields: Vec<_> = line.split(':').collect();
        let [user, _, uid, gid, ..] = fields[..] else { return None };
        let is_meant = user == name || uid == name;
        is_meant.then(|| Some((uid.parse().ok()?, gid.parse().ok()?))).flatten()
    });
    let (uid, gid) = found.ok_or_else(|| ConfinementError::NoUser(name.to_owned()))?;
    Ok((Uid::from_raw(uid), Gid::from_raw(gid)))
}

fn become_user(uid: Uid, gid: Gid) -> Result<(), rustix::io::Errno> {
    thread::set_keep_capabilities(true)?;
    thread::set_thread_groups(&[])?;
    thread::set_thread_res_gid(gid, gid, gid)?;
    thread::set_thread_res_uid(uid, uid, uid)?;
    thread::set_keep_capabilities(false)
}

fn restrict_files(needs: &Needs) -> io::Result<&'static str> {
    let abi = ABI::V5;
    let read = AccessFs::from_read(abi) & !AccessFs::Execute;
    let rules = |paths: Vec<PathBuf>, access| landlock::path_beneath_rules(paths, access);
    let readable = RESOLVER.iter().map(PathBuf::from).chain(needs.readable.iter().cloned()).collect();
    let restricted = Ruleset::default()
        .set_compatibility(CompatLevel::BestEffort)
        .handle_access(AccessFs::from_all(abi))
        .and_then(Ruleset::create)
        .and_then(|set| set.add_rules(rules(readable, read)))
        .and_then(|set| set.add_rules(rules(needs.removable_from.clone(), AccessFs::RemoveFile.into())))
        .and_then(landlock::RulesetCreated::restrict_self);
    match restricted.map_err(io::Error::other)?.ruleset {
        RulesetStatus::FullyEnforced => Ok("files of the resolver alone"),
        RulesetStatus::PartiallyEnforced => Ok("files of the resolver alone, as far as this kernel can tell"),
        RulesetStatus::NotEnforced => Ok("any file (this kernel has no Landlock)"),
    }
}

impl fmt::Display for Confinement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let capabilities: Vec<_> =
            self.capabilities.iter_names().map(|(name, _)| format!("CAP_{name}")).collect();
        let capabilities =
            if capabilities.is_empty() { "no capability".to_owned() } else { capabilities.join(" ") };
        let calls = if self.seccomp {
            format!("{} system calls", calls::count())
        } else {
            "any system call".to_owned()
        };
        write!(f, "confined to {}, {capabilities}, {}, {calls}", self.user, self.landlock)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::UdpSocket;
    use std::os::unix::process::CommandExt;
    use std::process::Command;

    /// In a thread of its own, which takes what is given up with it.
    fn confined(needs: Needs, filters: bool, work: impl FnOnce(Confinement) + Send + 'static) {
        let thread = std::thread::spawn(move || {
            work(Confinement::enter_here(&needs, filters).expect("the kernel can"));
        });
        thread.join().expect("what is left works");
    }

    /// Files that are nobody's business are not read, those of the resolver are; nothing is executed or written.
    #[test]
    fn files_and_programs_are_out_of_reach() {
        let folder = tempfile::tempdir().expect("a folder");
        let (inside, outside) = (folder.path().join("policy"), folder.path().join("secret"));
        fs::write(&inside, "a").expect("written");
        fs::write(&outside, "b").expect("written");
        let needs = Needs { readable: vec![inside.clone()], ..Needs::default() };
        confined(needs, true, move |_| {
            let refused = |error: io::Error| {
                matches!(error.kind(), io::ErrorKind::PermissionDenied)
                    .then_some(())
                    .expect("refused, not absent");
            };
            fs::read("/etc/hosts").expect("the resolver reads it");
            fs::read(&inside).expect("it is named");
            refused(fs::read(&outside).expect_err("it is not"));
            refused(fs::read("/etc/passwd").expect_err("not for the resolver"));
            refused(fs::write(outside.with_extension("new"), "x").expect_err("nothing is written"));
            // If it were, it would be in the place of this test, which would fail as it does.
            refused(Command::new("/bin/false").exec());
        });
    }

    /// System calls that the server does not need do not work: another's memory, other families of sockets, namespaces.
    #[test]
    fn system_calls_are_out_of_reach() {
        confined(Needs::default(), true, |_| {
            let pid = rustix::process::getpid();
            assert_eq!(
                rustix::process::pidfd_open(pid, rustix::process::PidfdFlags::empty()).err(),
                Some(rustix::io::Errno::PERM)
            );
            let packet =
                rustix::net::socket(rustix::net::AddressFamily::PACKET, rustix::net::SocketType::RAW, None);
            assert_eq!(packet.err(), Some(rustix::io::Errno::PERM));
            let raw =
                rustix::net::socket(rustix::net::AddressFamily::INET, rustix::net::SocketType::RAW, None);
            assert!(raw.is_err());
            let changed = rustix::process::chroot("/");
            assert_eq!(changed.err(), Some(rustix::io::Errno::PERM));
            UdpSocket::bind("127.0.0.1:0").expect("what it is for");
        });
    }

    /// Threads are made, processes and namespaces are not. The kernel refuses these as well, for flags that do not go together, and by another number: that they have
    /// EPERM and ENOSYS is the filter's doing.
    #[test]
    fn what_is_cloned_is_a_thread() {
        #[expect(unsafe_code, reason = "flags that no safe library makes")]
        fn refusal(call: i64, flags: i32) -> Option<i32> {
            // SAFETY: none of these is valid, so that nothing is made; clone3's structure would be of no length.
            let result = unsafe { libc::syscall(call, flags.cast_unsigned() as libc::c_ulong, 0, 0, 0, 0) };
            (result == -1).then(|| io::Error::last_os_error().raw_os_error()).flatten()
        }
        // Neither of them with CLONE_VM, as the kernel demands.
        let (process, thread) = (libc::CLONE_SIGHAND, libc::CLONE_SIGHAND | libc::CLONE_THREAD);
        let spaces = [
            libc::CLONE_NEWNS,
            libc::CLONE_NEWCGROUP,
            libc::CLONE_NEWUTS,
            libc::CLONE_NEWIPC,
            libc::CLONE_NEWUSER,
            libc::CLONE_NEWPID,
            libc::CLONE_NEWNET,
        ];
        let refused = move || {
            let spaces = spaces.map(|space| refusal(libc::SYS_clone, thread | space));
            (
                spaces.into_iter().collect::<std::collections::BTreeSet<_>>(),
                refusal(libc::SYS_clone, process),
                refusal(libc::SYS_clone, thread),
                refusal(libc::SYS_clone3, 0),
            )
        };
        let invalid = Some(libc::EINVAL);
        assert_eq!(refused(), ([invalid].into(), invalid, invalid, invalid), "by the kernel alone");
        confined(Needs::default(), true, move |_| {
            let denied = Some(libc::EPERM);
            assert_eq!(refused(), ([denied].into(), denied, invalid, Some(libc::ENOSYS)));
            std::thread::spawn(|| ()).join().expect("threads are made");
        });
    }

    /// Capabilities are those that are needed and no others, and are said.
    #[test]
    fn capabilities_are_those_needed() {
        for (needs, expected) in [
            (Needs::default(), CapabilitySet::empty()),
            (Needs { low_ports: true, ..Needs::default() }, CapabilitySet::NET_BIND_SERVICE),
            (Needs { foreign_addresses: true, ..Needs::default() }, CapabilitySet::NET_ADMIN),
        ] {
            let had = thread::capabilities(None).expect("the kernel says").permitted;
            confined(needs, false, move |confinement| {
                let sets = thread::capabilities(None).expect("the kernel says");
                assert_eq!((sets.permitted, sets.effective), (expected & had, expected & had));
                let said = confinement.to_string();
                assert!(
                    expected.iter_names().all(|(name, _)| had.is_empty() || said.contains(name)),
                    "{said}"
                );
            });
        }
    }

    /// Users are those of the file; one that is not there is said.
    #[test]
    fn users_are_found() {
        assert_eq!(find_user("root").expect("there is one"), (Uid::ROOT, Gid::ROOT));
        assert_eq!(find_user("0").expect("there is one").0, Uid::ROOT);
        let error = find_user("nobody-of-that-name").expect_err("none").to_string();
        assert!(error.contains("useradd --system nobody-of-that-name"), "{error}");
    }
}
