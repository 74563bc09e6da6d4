//! A notified system call, by its number and its arguments.

use crate::target::Piece;
use libc::seccomp_data;
use rustix::fd::RawFd;

/// Where a program wants something with a length: the address of a buffer, and of the `socklen_t`
/// that says its room and is told the length.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Room {
    pub(crate) value: u64,
    pub(crate) length: u64,
}

/// Data with an address: `sendto`, `recvfrom`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Transfer {
    pub(crate) data: Piece,
    pub(crate) flags: i32,
}

/// What a program asks of one of its descriptors.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Call {
    Bind { address: u64, length: i32 },
    Connect { address: u64, length: i32 },
    Listen { backlog: i32 },
    Close,
    Accept { peer: Room, flags: i32 },
    LocalName(Room),
    PeerName(Room),
    GetOption { level: i32, name: i32, value: Room },
    SetOption { level: i32, name: i32, value: u64, length: i32 },
    Shutdown { how: i32 },
    Send { transfer: Transfer, address: u64, length: i32 },
    Receive { transfer: Transfer, from: Room },
    SendMessage { message: u64, flags: i32 },
    ReceiveMessage { message: u64, flags: i32 },
    SendMessages { messages: u64, count: u32, flags: i32 },
    ReceiveMessages { messages: u64, count: u32, flags: i32, timeout: u64 },
    Ioctl { command: u32, argument: u64 },
}

/// What was called.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Notified {
    /// `socket`
    Socket { family: i32, kind: i32, protocol: i32 },
    /// A call on a descriptor.
    On(RawFd, Call),
    /// Nothing that the filter should have sent.
    Other,
}

impl Notified {
    pub(crate) fn of(data: &seccomp_data) -> Self {
        let [first, second, third, fourth, fifth, sixth] = data.args;
        let int = |argument: u64| argument as i32;
        let room = |value, length| Room { value, length };
        let transfer =
            Transfer { data: Piece { address: second, length: third as usize }, flags: int(fourth) };
        let call = match data.nr.into() {
            libc::SYS_socket => {
                return Self::Socket { family: int(first), kind: int(second), protocol: int(third) };
            }
            libc::SYS_bind => Call::Bind { address: second, length: int(third) },
            libc::SYS_connect => Call::Connect { address: second, length: int(third) },
            libc::SYS_listen => Call::Listen { backlog: int(second) },
            libc::SYS_close => Call::Close,
            libc::SYS_accept => Call::Accept { peer: room(second, third), flags: 0 },
            libc::SYS_accept4 => Call::Accept { peer: room(second, third), flags: int(fourth) },
            libc::SYS_getsockname => Call::LocalName(room(second, third)),
            libc::SYS_getpeername => Call::PeerName(room(second, third)),
            libc::SYS_getsockopt => {
                Call::GetOption { level: int(second), name: int(third), value: room(fourth, fifth) }
            }
            libc::SYS_setsockopt => {
                Call::SetOption { level: int(second), name: int(third), value: fourth, length: int(fifth) }
            }
            libc::SYS_shutdown => Call::Shutdown { how: int(second) },
            libc::SYS_sendto => Call::Send { transfer, address: fifth, length: int(sixth) },
            libc::SYS_recvfrom => Call::Receive { transfer, from: room(fifth, sixth) },
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

    /// Every call that the filter notifies is known here, and none that it does not: one that is
    /// not known would go on to the kernel, which has nothing behind the descriptor.
    #[test]
    fn whatever_is_notified_is_known() {
        let mut notified = notified(Closing::Lingers);
        notified.sort_unstable();
        let known: Vec<i64> = (0..600).filter(|number| of(*number, [0; 6]) != Notified::Other).collect();
        assert_eq!(known, notified);
        assert_eq!(known.len(), 19);
    }

    /// Arguments are in the places of the kernel's manual, and numbers are cut to an `int`.
    #[test]
    fn arguments_have_their_places() {
        assert_eq!(
            of(libc::SYS_sendto, [1 << 32 | 3, 0x10, 20, 0x40, 0x50, 16]),
            Notified::On(
                3,
                Call::Send {
                    transfer: Transfer { data: Piece { address: 0x10, length: 20 }, flags: 0x40 },
                    address: 0x50,
                    length: 16
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
