//! Descriptors that nobody has any more, of sockets that have no end here by which that would be
//! seen: fresh, bound, refused, failed. A name of AF_UNIX is gone when the last descriptor of its
//! socket is.

use crate::agent::Agent;
use crate::socket::Form;
use resoa_calls::{SocketId, SocketName};
use rustc_hash::FxHashSet;
use rustix::net::{AddressFamily, SocketFlags, SocketType, bind, socket_with};
use std::io::{Read, Seek};
use std::time::Duration;

/// Between two looks.
const PAUSE: Duration = Duration::from_secs(1);
/// What lists the sockets of AF_UNIX of this network namespace, where programs' descriptors were
/// made.
pub(crate) const LIST: &str = "/proc/self/net/unix";

/// Whether somebody has the socket of this name: then it cannot be given to another.
pub(crate) fn is_held(name: &SocketName, kind: SocketType) -> bool {
    match socket_with(AddressFamily::UNIX, kind, SocketFlags::CLOEXEC, None) {
        Ok(probe) => bind(probe, &name.address()).is_err(),
        Err(_) => true,
    }
}

impl Agent {
    /// When the next look is due.
    pub(crate) fn sweep_at(&self) -> Option<Duration> {
        (!self.loose.is_empty()).then_some(self.swept + PAUSE)
    }

    /// As it is now.
    fn read_list(&mut self) -> Option<String> {
        let mut text = String::new();
        self.list.rewind().ok()?;
        self.list.read_to_string(&mut text).ok()?;
        Some(text)
    }

    /// Closes those that nobody has.
    pub(crate) fn sweep(&mut self, now: Duration) {
        self.swept = now;
        let Some(list) = self.read_list() else { return };
        let prefix = SocketName { agent: self.number, socket: SocketId(0) }.to_string();
        let prefix = prefix.trim_end_matches('0');
        let names = list.lines().filter_map(|line| line.rsplit_once('@')?.1.strip_prefix(prefix));
        let held: FxHashSet<u64> = names.filter_map(|number| u64::from_str_radix(number, 16).ok()).collect();
        // The list is read piece by piece, and passes over names if others are closed meanwhile: it
        // says who may be gone, and no more.
        let is_gone = |socket: &SocketId| {
            !held.contains(&socket.0) && !is_held(&self.name(*socket), SocketType::STREAM)
        };
        let gone: Vec<SocketId> = self.loose.iter().copied().filter(is_gone).collect();
        for socket in gone {
            self.loose.remove(&socket);
            if let Some(Form::Loose { .. }) = self.sockets.get(&socket).map(|socket| &socket.form) {
                self.close(socket, now);
            }
        }
    }
}
