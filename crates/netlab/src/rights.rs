//! The right to create network objects: root has it, ordinary users get it in a user namespace.
//!
//! In the user namespace, the user keeps its user and group id (an identity map of one user and one
//! group), so that files and terminals work as before. The keeper and `nft` need the rights over
//! the namespace, so these are kept across `exec` as ambient capabilities; COMMAND gets none of
//! them. "The caller's network" is then a private namespace: empty, or connected to the caller's
//! network by pasta (of passt) if it is installed.
//!
//! The kernel lets only a single-threaded process enter a new user namespace: call [`acquire`]
//! before starting threads.

mod pasta;

use crate::error::{Error, Result, Trying};
use crate::state::Run;
use crate::{Namespace, interface};
use rustix::thread::{CapabilitySet, CapabilitySets, UnshareFlags};
use std::net::IpAddr;

/// How to acquire the rights.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RightsOptions {
    /// Whether an ordinary user's link may reach the network through pasta.
    pub pasta: bool,
}

impl Default for RightsOptions {
    fn default() -> Self {
        Self { pasta: true }
    }
}

/// Proof that network objects can be created, and the state of the connection to the network.
#[derive(Debug)]
pub struct Rights {
    outside: Outside,
    notes: Vec<String>,
}

/// Which namespace "the caller's namespace" is.
#[derive(Debug)]
enum Outside {
    /// The one in which the process was started.
    Own,
    /// A private one without a connection to the network.
    Empty,
    /// A private one connected by pasta.
    Pasta(pasta::Pasta),
}

impl Rights {
    /// Returns whether the caller's end is in a namespace of our own.
    #[must_use]
    pub fn outside_is_private(&self) -> bool {
        !matches!(self.outside, Outside::Own)
    }

    /// Returns what is not possible with these rights, one line each.
    #[must_use]
    pub fn notes(&self) -> &[String] {
        &self.notes
    }

    /// Returns the address of the caller's host if it is not the outside end itself: pasta's
    /// gateway.
    pub(crate) fn host(&self) -> Option<IpAddr> {
        match &self.outside {
            Outside::Pasta(pasta) => Some(pasta.gateway()),
            _ => None,
        }
    }

    /// Returns the name server to use behind the link if the caller's cannot be reached directly.
    pub(crate) fn name_server(&self) -> Option<IpAddr> {
        match &self.outside {
            Outside::Pasta(pasta) => pasta.name_server(),
            _ => None,
        }
    }
}

/// Acquires the rights as the [module](self) describes; processes that it starts are recorded in
/// `run`.
pub fn acquire(run: &mut Run, options: &RightsOptions) -> Result<Rights> {
    if suffice()? {
        return Ok(Rights { outside: Outside::Own, notes: Vec::new() });
    }
    let mut notes = Vec::new();
    let ping = pasta::without_ping();
    // pasta attaches from outside the namespace: it must be started before, and released
    // afterwards.
    let waiting = match (options.pasta, crate::nat::program("pasta")) {
        (true, Some(program)) => Some(pasta::Waiting::start(run, &program)?),
        (true, None) => {
            notes.push("no network beyond the link: pasta is not installed (apt-get install passt)".into());
            None
        }
        (false, _) => None,
    };
    enter_user_namespace()?;
    interface::loopback_up(&Namespace::current()?)?;
    let outside = match waiting.map(pasta::Waiting::attach) {
        None => Outside::Empty,
        Some(Ok(pasta)) => {
            notes.extend(ping);
            Outside::Pasta(pasta)
        }
        Some(Err(error)) => {
            notes.push(format!("no network beyond the link: {error}"));
            Outside::Empty
        }
    };
    Ok(Rights { outside, notes })
}

/// Returns the capabilities that lasthop needs: for devices and routes, and for namespaces and
/// mounts.
fn needed() -> CapabilitySet {
    CapabilitySet::NET_ADMIN | CapabilitySet::SYS_ADMIN
}

/// Returns the capabilities kept across `exec` in a user namespace: also those for name service
/// (ports below 1024) and ping.
fn kept() -> CapabilitySet {
    needed() | CapabilitySet::NET_BIND_SERVICE | CapabilitySet::NET_RAW | CapabilitySet::SYS_PTRACE
}

/// Returns whether this process already has all rights.
pub(crate) fn suffice() -> Result<bool> {
    let own = rustix::thread::capabilities(None).trying(|| "read the capabilities of this process".into())?;
    if !own.effective.contains(needed()) {
        return Ok(false);
    }
    // In a user namespace that somebody else created, capabilities may not extend to the network
    // namespace.
    Ok(owns_network())
}

/// Returns whether the capabilities extend to this network namespace.
///
/// Tries a change of the loopback device that changes nothing but requires them.
fn owns_network() -> bool {
    Namespace::current().is_ok_and(|here| {
        interface::find(&here, "lo").is_ok_and(|loopback| {
            let nothing = interface::Change { mtu: Some(loopback.mtu), ..interface::Change::default() };
            interface::change(&here, loopback.index, &nothing).is_ok()
        })
    })
}

/// Enters a new user namespace, in which this user keeps its ids, and a network namespace owned by
/// it.
pub(crate) fn enter_user_namespace() -> Result<()> {
    let (user, group) = (rustix::process::geteuid().as_raw(), rustix::process::getegid().as_raw());
    // SAFETY: neither flag unshares the file descriptor table.
    unsafe { rustix::thread::unshare_unsafe(UnshareFlags::NEWUSER | UnshareFlags::NEWNET) }
        .map_err(explain)?;
    let write = |path: &str, text: String| {
        std::fs::write(path, &text).map_err(|error| match error.raw_os_error() {
            Some(libc::EPERM | libc::EACCES) => explain(rustix::io::Errno::PERM),
            _ => Error::System { what: format!("write {text:?} to {path}"), source: error },
        })
    };
    // A user may write a group map only after giving up setgroups (user_namespaces(7)).
    write("/proc/self/setgroups", "deny".into())?;
    write("/proc/self/uid_map", format!("{user} {user} 1"))?;
    write("/proc/self/gid_map", format!("{group} {group} 1"))?;
    let what = || "keep capabilities across exec".to_owned();
    let all = rustix::thread::capabilities(None).trying(what)?;
    let sets = CapabilitySets { inheritable: all.inheritable | kept(), ..all };
    rustix::thread::set_capabilities(None, sets).trying(what)?;
    for capability in kept() {
        rustix::thread::configure_capability_in_ambient_set(capability, true).trying(what)?;
    }
    Ok(())
}

/// Returns an error that says what keeps a user from creating a user namespace, and what to do.
fn explain(errno: rustix::io::Errno) -> Error {
    let is = |path: &str, value: &str| std::fs::read_to_string(path).is_ok_and(|text| text.trim() == value);
    let refused = |name: &str, remedy: &str| {
        Error::missing(
            format!("user namespaces are forbidden here ({name})"),
            format!("as root: sysctl -w {remedy}"),
        )
    };
    if is("/proc/sys/kernel/unprivileged_userns_clone", "0") {
        refused("kernel.unprivileged_userns_clone = 0", "kernel.unprivileged_userns_clone=1")
    } else if is("/proc/sys/user/max_user_namespaces", "0") || errno == rustix::io::Errno::NOSPC {
        refused("user.max_user_namespaces is used up", "user.max_user_namespaces=10000")
    } else if is("/proc/sys/user/max_net_namespaces", "0") {
        refused("user.max_net_namespaces = 0", "user.max_net_namespaces=10000")
    } else if is("/proc/sys/kernel/apparmor_restrict_unprivileged_userns", "1") {
        refused(
            "kernel.apparmor_restrict_unprivileged_userns = 1",
            "kernel.apparmor_restrict_unprivileged_userns=0",
        )
    } else if errno == rustix::io::Errno::INVAL {
        Error::missing(
            "cannot create a user namespace: the kernel lacks CONFIG_USER_NS, or this process already has several threads",
            "run as root",
        )
    } else {
        Error::missing(
            format!("cannot create a user namespace: {}", std::io::Error::from(errno)),
            "run as root",
        )
    }
}
