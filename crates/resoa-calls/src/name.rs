//! The name of a program's descriptor: the abstract address that the agent has bound it to. Unlike
//! its number, the name stays with the socket across `dup`, `fork`, `exec` and the passing to other
//! processes.

use rustix::fd::AsFd;
use rustix::net::{SocketAddrUnix, getsockname};
use serde::{Deserialize, Serialize};
use std::fmt;

/// Prefix of all names.
const PREFIX: &str = "lasthop-resoa.";

/// Number of a socket. No number is used twice, not even by another agent: an agent's first number
/// is random.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct SocketId(pub u64);

/// A socket, identified by its agent and its number there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct SocketName {
    /// A random number that the agent chose at its start, so that nobody else can predict its
    /// names.
    pub agent: u64,
    /// The socket's number.
    pub socket: SocketId,
}

impl SocketName {
    /// Returns the name of a descriptor; `None` if it does not belong to an agent.
    #[must_use]
    pub fn of(descriptor: impl AsFd) -> Option<Self> {
        let address = SocketAddrUnix::try_from(getsockname(descriptor).ok()?).ok()?;
        Self::read(address.abstract_name()?)
    }

    fn read(name: &[u8]) -> Option<Self> {
        let rest = std::str::from_utf8(name).ok()?.strip_prefix(PREFIX)?;
        let (agent, socket) = rest.split_once('.')?;
        let number = |text| u64::from_str_radix(text, 16).ok();
        Some(Self { agent: number(agent)?, socket: SocketId(number(socket)?) })
    }

    /// Returns the address to bind the socket to.
    ///
    /// # Panics
    /// Never: the name fits.
    #[must_use]
    pub fn address(&self) -> SocketAddrUnix {
        SocketAddrUnix::new_abstract_name(self.to_string().as_bytes()).expect("48 octets at most")
    }
}

impl fmt::Display for SocketName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{PREFIX}{:016x}.{:x}", self.agent, self.socket.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::net::{AddressFamily, SocketFlags, SocketType, bind, socket, socketpair};
    use std::net::TcpListener;

    /// A descriptor is recognised by its name, also one end of a pair, and a copy. Others are not.
    #[test]
    fn descriptors_are_known_by_name() {
        let name = |socket| SocketName { agent: 0xfeed_0000_0000_0001, socket: SocketId(socket) };
        let fresh = socket(AddressFamily::UNIX, SocketType::STREAM, None).expect("descriptors");
        assert_eq!(SocketName::of(&fresh), None);
        bind(&fresh, &name(1).address()).expect("free");
        assert_eq!(SocketName::of(&fresh), Some(name(1)));
        let (program, agent) =
            socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None)
                .expect("descriptors");
        bind(&program, &name(u64::MAX).address()).expect("free");
        let copy = program.try_clone().expect("descriptors");
        assert_eq!(SocketName::of(&copy), Some(name(u64::MAX)));
        assert_eq!(SocketName::of(&agent), None);
        assert_eq!(SocketName::of(TcpListener::bind("127.0.0.1:0").expect("loopback")), None);
    }
}
