//! The user of a confined process, which is never root. Without a user name, root becomes `nobody`,
//! as with other network daemons.

use super::ConfinementError;
use rustix::fs::{AtFlags, FileType, Mode, OFlags};
use rustix::process::{Gid, Uid, getegid, geteuid, getuid};
use rustix::thread;
use std::fmt;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// Number of the user without rights if /etc/passwd does not list it (`linux/highuid.h`,
/// DEFAULT_OVERFLOWUID).
const NOBODY: u32 = 65534;

/// A process's user.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Identity {
    /// The current user.
    Same,
    /// Another user, to be [assumed](Self::assume).
    Other { name: String, uid: Uid, gid: Gid },
}

impl Identity {
    /// Chooses the user of this name or number. Without a name, root becomes `nobody` and any other
    /// user stays.
    ///
    /// # Errors
    /// If there is no such user, or it is root.
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

    /// Gives UNIX sockets to the user, because connecting to one needs the right to write to it.
    ///
    /// # Errors
    /// If a path is not a socket, or its owner may not be changed.
    pub(super) fn own(&self, sockets: &[PathBuf]) -> io::Result<()> {
        let Self::Other { uid, gid, .. } = *self else { return Ok(()) };
        sockets.iter().try_for_each(|path| give(path, uid, gid))
    }

    /// Becomes the user. Permitted capabilities stay; the effective set is cleared.
    ///
    /// # Errors
    /// If the kernel refuses.
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
            // Outside its user namespace it is an ordinary user.
            Self::Same if geteuid().is_root() => f.write_str("root of a user namespace"),
            Self::Same => write!(f, "uid {}", geteuid().as_raw()),
            Self::Other { name, .. } => write!(f, "{name}"),
        }
    }
}

fn nobody() -> (Uid, Gid) {
    (Uid::from_raw(NOBODY), Gid::from_raw(NOBODY))
}

/// Returns whether root is the root of a user namespace without other users. Outside it is an
/// ordinary user, and it cannot become another user.
fn is_root_of_its_own() -> bool {
    let map = fs::read_to_string("/proc/self/uid_map").unwrap_or_default();
    outside(&map, NOBODY).is_none() && outside(&map, 0) != Some(0)
}

/// Returns the number of a user outside a user namespace, by a map of user_namespaces(7). Its lines
/// have the first number inside, the first number outside, and the count.
pub(super) fn outside(map: &str, inside: u32) -> Option<u32> {
    map.lines().find_map(|line| {
        let mut numbers = line.split_whitespace().map_while(|number| number.parse::<u32>().ok());
        let (first, outside, count) = (numbers.next()?, numbers.next()?, numbers.next()?);
        let place = inside.checked_sub(first)?;
        (place < count).then(|| outside.wrapping_add(place))
    })
}

/// Finds a user by name or number in /etc/passwd. The name service is not used, because name
/// look-ups may be the very task of this process.
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

/// Changes the owner of a socket. Refuses any other file, in case the directory's owner has
/// replaced the socket.
fn give(path: &Path, uid: Uid, gid: Gid) -> io::Result<()> {
    if (geteuid(), getegid()) == (uid, gid) {
        return Ok(());
    }
    let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let socket = rustix::fs::open(path, flags, Mode::empty())?;
    if !FileType::from_raw_mode(rustix::fs::fstat(&socket)?.st_mode).is_socket() {
        return Err(io::Error::other(format!("{} is not a socket", path.display())));
    }
    Ok(rustix::fs::chownat(&socket, c"", Some(uid), Some(gid), AtFlags::EMPTY_PATH)?)
}
