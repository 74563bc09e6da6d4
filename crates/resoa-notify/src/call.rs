//! Notified system calls, decoded from their number and arguments.

use libc::seccomp_data;
use resoa_calls::interposer::{Call, Given, Piece, Room};
use rustix::fd::RawFd;

/// A notified system call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Notified {
    /// `socket`
    Socket { family: i32, kind: i32, protocol: i32 },
    /// `close`
    Close(RawFd),
    /// A call on a descriptor.
    On(RawFd, Call),
    /// A call that the filter should not have sent.
    Other,
}

impl Notified {
    pub(crate) fn of(data: &seccomp_data) -> Self {
        let int = |argument: usize| (argument as u32).cast_signed();
        let room = |value, length| Room { value, length };
        let given = |at, length| Given { at, length: int(length) };
        let [first, second, third, fourth, fifth, sixth] = data.args.map(|argument| argument as usize);
        let data_of = Piece { address: second, length: third };
        let call = match data.nr.into() {
            libc::SYS_socket => {
                return Self::Socket { family: int(first), kind: int(second), protocol: int(third) };
            }
            libc::SYS_close => return Self::Close(int(first)),
            libc::SYS_bind => Call::Bind(given(second, third)),
            libc::SYS_connect => Call::Connect(given(second, third)),
            libc::SYS_listen => Call::Listen { backlog: int(second) },
            libc::SYS_accept => Call::Accept { peer: room(second, third), flags: 0 },
            libc::SYS_accept4 => Call::Accept { peer: room(second, third), flags: int(fourth) },
            libc::SYS_getsockname => Call::LocalName(room(second, third)),
            libc::SYS_getpeername => Call::PeerName(room(second, third)),
            libc::SYS_getsockopt => {
                Call::GetOption { level: int(second), name: int(third), value: room(fourth, fifth) }
            }
            libc::SYS_setsockopt => {
                Call::SetOption { level: int(second), name: int(third), value: given(fourth, fifth) }
            }
            libc::SYS_shutdown => Call::Shutdown { how: int(second) },
            libc::SYS_sendto => Call::Send { data: data_of, flags: int(fourth), to: given(fifth, sixth) },
            libc::SYS_recvfrom => {
                Call::Receive { data: data_of, flags: int(fourth), from: room(fifth, sixth) }
            }
            libc::SYS_sendmsg => Call::SendMessage { message: second, flags: int(third) },
            libc::SYS_recvmsg => Call::ReceiveMessage { message: second, flags: int(third) },
            libc::SYS_sendmmsg => {
                Call::SendMessages { messages: second, count: third as u32, flags: int(fourth) }
            }
            libc::SYS_recvmmsg => Call::ReceiveMessages {
                messages: second,
                count: third as u32,
                flags: int(fourth),
                timeout: fifth,
            },
            libc::SYS_ioctl => Call::Ioctl { command: second as u32, argument: third },
            _ => return Self::Other,
        };
        Self::On(int(first), call)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::filter::{Closing, notified};

    fn of(number: i64, args: [u64; 6]) -> Notified {
        Notified::of(&seccomp_data { nr: number as i32, arch: 0, instruction_pointer: 0, args })
    }

    /// This module knows exactly the calls that the filter notifies. An unknown call would continue
    /// in the kernel, where nothing is behind the descriptor.
    #[test]
    fn whatever_is_notified_is_known() {
        let mut notified = notified(Closing::Lingers);
        notified.sort_unstable();
        let known: Vec<i64> = (0..600).filter(|number| of(*number, [0; 6]) != Notified::Other).collect();
        assert_eq!(known, notified);
        assert_eq!(known.len(), 19);
    }

    /// Arguments are in the places that the manual pages give, and numbers are truncated to an
    /// `int`.
    #[test]
    fn arguments_have_their_places() {
        assert_eq!(
            of(libc::SYS_sendto, [1 << 32 | 3, 0x10, 20, 0x40, 0x50, 16]),
            Notified::On(
                3,
                Call::Send {
                    data: Piece { address: 0x10, length: 20 },
                    flags: 0x40,
                    to: Given { at: 0x50, length: 16 }
                }
            )
        );
        assert_eq!(
            of(libc::SYS_getsockopt, [4, 6, 11, 0x30, 0x40, 0]),
            Notified::On(
                4,
                Call::GetOption { level: 6, name: 11, value: Room { value: 0x30, length: 0x40 } }
            )
        );
        assert_eq!(of(libc::SYS_read, [0; 6]), Notified::Other);
    }
}
