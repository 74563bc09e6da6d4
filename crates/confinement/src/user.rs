//! Who a confined process is: never root. Root that names nobody becomes `nobody`, as with other
//! daemons of the network.

use super::ConfinementError;
use rustix::fs::{AtFlags, FileType, Mode, OFlags};
use rustix::process::{Gid, Uid, getegid, geteuid, getuid};
use rustix::thread;
use std::fmt;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// The user that has nothing (`linux/highuid.h`, DEFAULT_OVERFLOWUID), where /etc/passwd does not
/// have it.
const NOBODY: u32 = 65534;

/// A process's user.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Identity {
    /// The one that it has.
    Same,
    /// Another, to be [assumed](Self::assume).
    Other { name: String, uid: Uid, gid: Gid },
}

impl Identity {
    /// Whom to become: the user of this name or number; else `nobody` for root.
    ///
    /// # Errors
    /// If there is none, or it is root.
    pub(super) fn chosen(name: Option<&str>) -> Result<Self, ConfinementError> {
        let is_root = geteuid().is_root() || getuid().is_root();
        let (name, (uid, gid)) = match name {
            Some(name) => (name, find(name).ok_or_else(|| ConfinementError::NoUser(name.to_owned()))?),
            None if is_root && !is_root_of_its_own() => ("nobody", find("nobody").unwrap_or_else(nobody)),
            None => return Ok(Self::Same),
        };
        if uid.is_root() {
            return Err(ConfinementError::Root(name.to_owned()));
        }
        Ok(Self::Other { name: name.to_owned(), uid, gid })
    }

    /// Gives UNIX sockets to the user: connecting takes the right to write to them.
    ///
    /// # Errors
    /// If one is no socket, or may not be given away.
    pub(super) fn own(&self, sockets: &[PathBuf]) -> io::Result<()> {
        let Self::Other { uid, gid, .. } = *self else { return Ok(()) };
        sockets.iter().try_for_each(|path| give(path, uid, gid))
    }

    /// Becomes the user. Capabilities stay, those in effect do not.
    ///
    /// # Errors
    /// If the kernel does not let it.
    pub(super) fn assume(&self) -> Result<(), ConfinementError> {
        let Self::Other { name, uid, gid } = self else { return Ok(()) };
        let (uid, gid) = (*uid, *gid);
        let assumed = thread::set_keep_capabilities(true)
            .and_then(|()| thread::set_thread_groups(&[]))
            .and_then(|()| thread::set_thread_res_gid(gid, gid, gid))
            .and_then(|()| thread::set_thread_res_uid(uid, uid, uid))
            .and_then(|()| thread::set_keep_capabilities(false));
        assumed.map_err(|error| ConfinementError::User { user: name.clone(), error: error.into() })
    }
}

impl fmt::Display for Identity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            // Outside of its user namespace it is an ordinary user.
            Self::Same if geteuid().is_root() => f.write_str("root of a user namespace"),
            Self::Same => write!(f, "uid {}", geteuid().as_raw()),
            Self::Other { name, .. } => write!(f, "{name}"),
        }
    }
}

fn nobody() -> (Uid, Gid) {
    (Uid::from_raw(NOBODY), Gid::from_raw(NOBODY))
}

/// Whether root is root of a user namespace that has no other user: outside it is an ordinary user,
/// and it can become nobody else.
fn is_root_of_its_own() -> bool {
    let map = fs::read_to_string("/proc/self/uid_map").unwrap_or_default();
    outside(&map, NOBODY).is_none() && outside(&map, 0) != Some(0)
}

/// The number outside of a user namespace, by a map of user_namespaces(7): lines with the first
/// number inside, the first one outside, and how many.
pub(super) fn outside(map: &str, inside: u32) -> Option<u32> {
    map.lines().find_map(|line| {
        let mut numbers = line.split_whitespace().map_while(|number| number.parse::<u32>().ok());
        let (first, outside, count) = (numbers.next()?, numbers.next()?, numbers.next()?);
        let place = inside.checked_sub(first)?;
        (place < count).then(|| outside.wrapping_add(place))
    })
}

/// By name or by number. The name service is not asked: looking up names may be what the process is
/// for.
pub(super) fn find(name: &str) -> Option<(Uid, Gid)> {
    let users = fs::read_to_string("/etc/passwd").unwrap_or_default();
    users.lines().find_map(|line| {
        let fields: Vec<_> = line.split(':').collect();
        let [user, _, uid, gid, ..] = fields[..] else { return None };
        if user != name && uid != name {
            return None;
        }
        Some((Uid::from_raw(uid.parse().ok()?), Gid::from_raw(gid.parse().ok()?)))
    })
}

/// Nothing but a socket is given away, whatever its directory's owner has put in its place.
fn give(path: &Path, uid: Uid, gid: Gid) -> io::Result<()> {
    if (geteuid(), getegid()) == (uid, gid) {
        return Ok(());
    }
    let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let socket = rustix::fs::open(path, flags, Mode::empty())?;
    if !FileType::from_raw_mode(rustix::fs::fstat(&socket)?.st_mode).is_socket() {
        return Err(io::Error::other(format!("{} is no socket", path.display())));
    }
    Ok(rustix::fs::chownat(&socket, c"", Some(uid), Some(gid), AtFlags::EMPTY_PATH)?)
}
