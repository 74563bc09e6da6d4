//! Which party answers an `ioctl` on a remote socket.

use crate::descriptor::DescriptorType;

/// Number of bytes that can be read; also SIOCINQ (`asm-generic/ioctls.h`).
pub const FIONREAD: u32 = 0x541b;
/// Number of bytes not yet acknowledged; also SIOCOUTQ.
pub const TIOCOUTQ: u32 = 0x5411;
/// Whether the socket is at the mark of urgent data (`asm-generic/sockios.h`).
const SIOCATMARK: u32 = 0x8905;
/// Time of the last datagram as a `struct timeval`: the older and the newer request
/// (`asm-generic/sockios.h`, `linux/sockios.h`). Both are the same where `long` has 64 bits.
pub const SIOCGSTAMP: [u32; 2] = [0x8906, 0x8010_8906];
/// As [`SIOCGSTAMP`], as a `struct timespec`.
pub const SIOCGSTAMPNS: [u32; 2] = [0x8907, 0x8010_8907];
/// Size of either structure, in bytes.
const STAMP: usize = 16;
/// The range of requests about interfaces and routes (`linux/sockios.h`).
const INTERFACES: std::ops::RangeInclusive<u32> = 0x8910..=0x89ff;
/// A request of that range whose argument contains a pointer.
const SIOCGIFCONF: u32 = 0x8912;
/// Size of an `int`, in bytes.
const NUMBER: usize = 4;
/// Size of a `struct ifreq`, in bytes.
const INTERFACE: usize = 40;

/// The party that answers a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Answerer {
    /// The kernel, from the descriptor. It alone knows the readable bytes of a stream, the mark in
    /// them, and the receiver of the signals. Requests that do not concern sockets are also the
    /// kernel's.
    Kernel,
    /// The interposer, with the length of the next datagram; 0 if there is none.
    Datagram,
    /// The agent.
    Agent {
        /// Bytes of the argument that the request carries.
        given: usize,
        /// Maximum number of bytes that the agent returns in the argument.
        taken: usize,
    },
    /// None: the call fails with this error.
    Nobody(i32),
}

/// Returns whether the kernel does not answer a request for some kind of socket.
#[must_use]
pub fn concerns(command: u32) -> bool {
    matches!(command, FIONREAD | TIOCOUTQ | SIOCATMARK)
        || is_about_time(command)
        || INTERFACES.contains(&command) && command != SIOCGIFCONF
}

/// Returns whether a request asks for the time of the last datagram.
#[must_use]
pub fn is_about_time(command: u32) -> bool {
    SIOCGSTAMP.contains(&command) || SIOCGSTAMPNS.contains(&command)
}

/// Returns the party that answers this request on a socket of this kind.
#[must_use]
pub fn answerer(command: u32, kind: DescriptorType) -> Answerer {
    match (command, kind) {
        (FIONREAD | SIOCATMARK, DescriptorType::Stream) => Answerer::Kernel,
        (FIONREAD, DescriptorType::Datagram) => Answerer::Datagram,
        (FIONREAD | TIOCOUTQ, DescriptorType::Listener) => Answerer::Nobody(libc::EINVAL),
        // UDP has no urgent data, and reports that it does not know the request.
        (SIOCATMARK, DescriptorType::Datagram) => Answerer::Nobody(libc::ENOTTY),
        (TIOCOUTQ | SIOCATMARK, _) => Answerer::Agent { given: 0, taken: NUMBER },
        (_, DescriptorType::Datagram) if is_about_time(command) => Answerer::Agent { given: 0, taken: STAMP },
        // A stream never has a time stamp.
        _ if is_about_time(command) => Answerer::Nobody(libc::ENOENT),
        _ if concerns(command) => Answerer::Agent { given: INTERFACE, taken: INTERFACE },
        _ => Answerer::Kernel,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// C39, C44: which requests the descriptor answers, and which the agent. The agent gets no
    /// argument that contains a pointer.
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
            let all = [DescriptorType::Stream, DescriptorType::Listener, DescriptorType::Datagram]
                .map(|kind| answerer(command, kind));
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
            assert_eq!(answerer(command, DescriptorType::Stream), expected, "{command:x}");
        }
    }
}
