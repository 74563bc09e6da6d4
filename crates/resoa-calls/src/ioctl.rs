//! Who answers an `ioctl` of a remote socket.

use crate::descriptor::Kind;

/// Octets that can be read, which SIOCINQ is, too (`asm-generic/ioctls.h`).
pub const FIONREAD: u32 = 0x541b;
/// Octets that were not acknowledged, which SIOCOUTQ is, too.
pub const TIOCOUTQ: u32 = 0x5411;
/// At the mark of urgent data? (`asm-generic/sockios.h`)
const SIOCATMARK: u32 = 0x8905;
/// When the last datagram came, as a `struct timeval` and as a `struct timespec`; of each an older
/// and a newer request (`asm-generic/sockios.h`, `linux/sockios.h`), which are the same where
/// `long` has 64 bits.
pub const SIOCGSTAMP: [u32; 2] = [0x8906, 0x8010_8906];
/// See [`SIOCGSTAMP`].
pub const SIOCGSTAMPNS: [u32; 2] = [0x8907, 0x8010_8907];
/// Octets of either.
const STAMP: usize = 16;
/// The first and the last question about interfaces and routes (`linux/sockios.h`).
const INTERFACES: std::ops::RangeInclusive<u32> = 0x8910..=0x89ff;
/// One of them whose argument has a pointer.
const SIOCGIFCONF: u32 = 0x8912;
/// Octets of an `int`.
const NUMBER: usize = 4;
/// Octets of a `struct ifreq`.
const INTERFACE: usize = 40;

/// Who answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Answerer {
    /// The kernel, of the descriptor: what lies there is what can be read of a stream, and where
    /// its mark is only that kernel knows; who gets its signals; and what is no affair of sockets.
    Kernel,
    /// The next datagram, by its length; 0 if there is none.
    Datagram,
    /// The agent.
    Agent {
        /// Octets of the argument that it is told.
        given: usize,
        /// Octets that it leaves there at most.
        taken: usize,
    },
    /// Nobody: it fails with this number.
    Nobody(i32),
}

/// Whether a request is anybody's but the kernel's, of a socket of some kind.
#[must_use]
pub fn concerns(command: u32) -> bool {
    matches!(command, FIONREAD | TIOCOUTQ | SIOCATMARK)
        || is_about_time(command)
        || INTERFACES.contains(&command) && command != SIOCGIFCONF
}

/// Whether a request asks when the last datagram came.
#[must_use]
pub fn is_about_time(command: u32) -> bool {
    SIOCGSTAMP.contains(&command) || SIOCGSTAMPNS.contains(&command)
}

/// Who answers this request of a socket of this kind.
#[must_use]
pub fn answerer(command: u32, kind: Kind) -> Answerer {
    match (command, kind) {
        (FIONREAD | SIOCATMARK, Kind::Stream) => Answerer::Kernel,
        (FIONREAD, Kind::Datagram) => Answerer::Datagram,
        (FIONREAD | TIOCOUTQ, Kind::Listener) => Answerer::Nobody(libc::EINVAL),
        // UDP has no urgent data, and says that it is no request of its own.
        (SIOCATMARK, Kind::Datagram) => Answerer::Nobody(libc::ENOTTY),
        (TIOCOUTQ | SIOCATMARK, _) => Answerer::Agent { given: 0, taken: NUMBER },
        (_, Kind::Datagram) if is_about_time(command) => Answerer::Agent { given: 0, taken: STAMP },
        // A stream never has one.
        _ if is_about_time(command) => Answerer::Nobody(libc::ENOENT),
        _ if concerns(command) => Answerer::Agent { given: INTERFACE, taken: INTERFACE },
        _ => Answerer::Kernel,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// C39, C44: what of an `ioctl` is the descriptor's, and what the agent's; a pointer in an
    /// argument leads nowhere but here.
    #[test]
    fn who_answers() {
        let number = Answerer::Agent { given: 0, taken: 4 };
        for (command, stream, listener, datagram) in [
            (FIONREAD, Answerer::Kernel, Answerer::Nobody(libc::EINVAL), Answerer::Datagram),
            (TIOCOUTQ, number, Answerer::Nobody(libc::EINVAL), number),
            (SIOCATMARK, Answerer::Kernel, number, Answerer::Nobody(libc::ENOTTY)),
            (
                SIOCGSTAMP[0],
                Answerer::Nobody(libc::ENOENT),
                Answerer::Nobody(libc::ENOENT),
                Answerer::Agent { given: 0, taken: 16 },
            ),
            (
                SIOCGSTAMPNS[1],
                Answerer::Nobody(libc::ENOENT),
                Answerer::Nobody(libc::ENOENT),
                Answerer::Agent { given: 0, taken: 16 },
            ),
        ] {
            assert!(concerns(command));
            let all = [Kind::Stream, Kind::Listener, Kind::Datagram].map(|kind| answerer(command, kind));
            assert_eq!(all, [stream, listener, datagram], "{command:x}");
        }
        for (command, is_asked) in [
            (0x8901, false),
            (0x8904, false),
            (0x890f, false),
            (0x8910, true),
            (SIOCGIFCONF, false),
            (0x89ff, true),
            (0x8a00, false),
            (0x5421, false),
        ] {
            assert_eq!(concerns(command), is_asked, "{command:x}");
            let expected = if is_asked { Answerer::Agent { given: 40, taken: 40 } } else { Answerer::Kernel };
            assert_eq!(answerer(command, Kind::Stream), expected, "{command:x}");
        }
    }
}
