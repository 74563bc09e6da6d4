//! Detection of closed descriptors for sockets without an end at the agent: fresh, bound, refused
//! or failed ones. An AF_UNIX name disappears when the last descriptor of its socket is closed.

use super::names::Names;
use resoa_calls::{SocketId, SocketName};
use rustc_hash::FxHashSet;
use rustix::net::{AddressFamily, SocketFlags, SocketType, bind, socket_with};
use std::fs::File;
use std::io::{self, Read, Seek};
use std::time::Duration;

/// Time between two checks.
const PAUSE: Duration = Duration::from_secs(1);
/// The list of AF_UNIX sockets of this network namespace, in which programs' descriptors were
/// created.
const LIST: &str = "/proc/self/net/unix";

/// Sockets without an end at the agent; see the [module](self).
#[derive(Debug)]
pub(super) struct Loose {
    sockets: FxHashSet<SocketId>,
    looked_at: Duration,
    /// Kept open, because a confined agent cannot open files.
    list: File,
}

/// Returns whether the socket of this name is open: then its name cannot be bound again.
pub(super) fn is_held(name: &SocketName, kind: SocketType) -> bool {
    match socket_with(AddressFamily::UNIX, kind, SocketFlags::CLOEXEC, None) {
        Ok(probe) => bind(probe, &name.address()).is_err(),
        Err(_) => true,
    }
}

impl Loose {
    pub(super) fn new() -> io::Result<Self> {
        Ok(Self { sockets: FxHashSet::default(), looked_at: Duration::ZERO, list: File::open(LIST)? })
    }

    pub(super) fn insert(&mut self, socket: SocketId, now: Duration) {
        if self.sockets.is_empty() {
            self.looked_at = now;
        }
        self.sockets.insert(socket);
    }

    pub(super) fn remove(&mut self, socket: SocketId) {
        self.sockets.remove(&socket);
    }

    /// Returns when the next check is due.
    pub(super) fn deadline(&self) -> Option<Duration> {
        (!self.sockets.is_empty()).then_some(self.looked_at + PAUSE)
    }

    /// Removes and returns the sockets without open descriptors.
    pub(super) fn take_gone(&mut self, names: &Names, now: Duration) -> Vec<SocketId> {
        self.looked_at = now;
        let Some(list) = self.read_list() else { return Vec::new() };
        let prefix = names.of(SocketId(0)).to_string();
        let prefix = prefix.trim_end_matches('0');
        let numbers = list.lines().filter_map(|line| line.rsplit_once('@')?.1.strip_prefix(prefix));
        let held: FxHashSet<u64> =
            numbers.filter_map(|number| u64::from_str_radix(number, 16).ok()).collect();
        // The list is read piece by piece, and misses names if others are closed meanwhile. So it
        // only tells which sockets may be closed.
        let is_gone =
            |socket: &SocketId| !held.contains(&socket.0) && !is_held(&names.of(*socket), SocketType::STREAM);
        self.sockets.extract_if(is_gone).collect()
    }

    /// Reads the current list.
    fn read_list(&mut self) -> Option<String> {
        let mut text = String::new();
        self.list.rewind().ok()?;
        self.list.read_to_string(&mut text).ok()?;
        Some(text)
    }
}
