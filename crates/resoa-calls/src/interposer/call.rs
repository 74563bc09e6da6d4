//! Calls on a socket, with their arguments as a program passes them: numbers, and addresses in its
//! memory.

use super::{Detour, Program};
use crate::address;
use std::net::SocketAddr;

/// A stretch of a program's memory, laid out as `struct iovec`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(C)]
pub struct Piece {
    /// Where it begins.
    pub address: usize,
    /// Its length in octets.
    pub length: usize,
}

/// The length of all pieces together. A program may claim more than there can be.
#[must_use]
pub fn total(pieces: &[Piece]) -> usize {
    pieces.iter().fold(0, |total, piece| total.saturating_add(piece.length))
}

/// A value that a program gives: an address of a socket, or an option.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Given {
    /// Where it is; 0 is nowhere.
    pub at: usize,
    /// Its length, as the program said it.
    pub length: i32,
}

impl Given {
    /// Its length, of `longest` at most.
    ///
    /// # Errors
    /// EINVAL.
    pub fn within(&self, longest: usize) -> Detour<usize> {
        let length = usize::try_from(self.length).ok().filter(|length| *length <= longest);
        Ok(length.ok_or(libc::EINVAL)?)
    }

    /// Reads it into a place that is as long as it may be.
    ///
    /// # Errors
    /// EINVAL for a length that is none, EFAULT.
    pub fn read<'a>(&self, program: &impl Program, place: &'a mut [u8]) -> Detour<&'a [u8]> {
        let length = self.within(place.len())?;
        let place = &mut place[..length];
        program.read(self.at, place)?;
        Ok(place)
    }

    /// Reads it as the address of a socket; `None` is `AF_UNSPEC`.
    ///
    /// # Errors
    /// As [`Given::read`] and [`address::read`].
    pub fn address(&self, program: &impl Program) -> Detour<Option<SocketAddr>> {
        Ok(address::read(self.read(program, &mut [0; address::LONGEST])?)?)
    }
}

/// Where a program wants a value with its length.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Room {
    /// Where it wants the value; 0 is nowhere.
    pub value: usize,
    /// Where the `socklen_t` is that says how much room there is, and is told the length.
    pub length: usize,
}

impl Room {
    /// How much room there is.
    ///
    /// # Errors
    /// EFAULT; EINVAL if it is negative.
    pub fn octets(&self, program: &impl Program) -> Detour<usize> {
        let mut octets = [0; 4];
        program.read(self.length, &mut octets)?;
        Ok(usize::try_from(i32::from_ne_bytes(octets)).map_err(|_| libc::EINVAL)?)
    }

    /// Gives the program a value, cut to `octets`, and says that its length is `length`.
    fn put(&self, program: &impl Program, value: &[u8], octets: usize, length: usize) -> Detour<()> {
        program.write(self.value, &value[..value.len().min(octets)])?;
        program.write(self.length, &(length as u32).to_ne_bytes())
    }

    /// Gives the program a value, cut to `octets`, and its length after that.
    ///
    /// # Errors
    /// EFAULT.
    pub fn give_cut(&self, program: &impl Program, value: &[u8], octets: usize) -> Detour<()> {
        self.put(program, value, octets, value.len().min(octets))
    }

    /// Gives the program an address: as much as it has room for, and the whole length. Nothing is
    /// done if it wants none.
    ///
    /// # Errors
    /// EFAULT; EINVAL for a negative room.
    pub fn give(&self, program: &impl Program, address: SocketAddr) -> Detour<()> {
        if self.value == 0 {
            return Ok(());
        }
        let octets = address::written(address);
        self.put(program, &octets, self.octets(program)?, octets.len())
    }

    /// Tells the program by the length alone that there is no address, as the kernel does.
    ///
    /// # Errors
    /// As [`Room::give`].
    pub fn give_none(&self, program: &impl Program) -> Detour<()> {
        if self.value == 0 {
            return Ok(());
        }
        self.octets(program)?;
        program.write(self.length, &0_u32.to_ne_bytes())
    }
}

/// What a program asks of one of its sockets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Call {
    /// `bind`
    Bind(Given),
    /// `connect`
    Connect(Given),
    /// `listen`
    Listen {
        /// As the program said it.
        backlog: i32,
    },
    /// `accept`, `accept4`
    Accept {
        /// For the address of the far host.
        peer: Room,
        /// `SOCK_NONBLOCK`, `SOCK_CLOEXEC`.
        flags: i32,
    },
    /// `getsockname`
    LocalName(Room),
    /// `getpeername`
    PeerName(Room),
    /// `getsockopt`
    GetOption {
        /// `SOL_…`
        level: i32,
        /// `SO_…`, `TCP_…`
        name: i32,
        /// For the value.
        value: Room,
    },
    /// `setsockopt`
    SetOption {
        /// `SOL_…`
        level: i32,
        /// `SO_…`, `TCP_…`
        name: i32,
        /// The value.
        value: Given,
    },
    /// `shutdown`
    Shutdown {
        /// `SHUT_…`
        how: i32,
    },
    /// `send`, `sendto`, `write`
    Send {
        /// The data.
        data: Piece,
        /// `MSG_…`
        flags: i32,
        /// The destination.
        to: Given,
    },
    /// `recv`, `recvfrom`, `read`
    Receive {
        /// For the data.
        data: Piece,
        /// `MSG_…`
        flags: i32,
        /// For the address of the sender.
        from: Room,
    },
    /// `sendmsg`
    SendMessage {
        /// Where the `struct msghdr` is.
        message: usize,
        /// `MSG_…`
        flags: i32,
    },
    /// `recvmsg`
    ReceiveMessage {
        /// Where the `struct msghdr` is.
        message: usize,
        /// `MSG_…`
        flags: i32,
    },
    /// `sendmmsg`
    SendMessages {
        /// Where the `struct mmsghdr` are.
        messages: usize,
        /// How many of them.
        count: u32,
        /// `MSG_…`
        flags: i32,
    },
    /// `recvmmsg`
    ReceiveMessages {
        /// Where the `struct mmsghdr` are.
        messages: usize,
        /// How many of them.
        count: u32,
        /// `MSG_…`
        flags: i32,
        /// Where the `struct timespec` of the limit is; 0 is nowhere.
        timeout: usize,
    },
    /// `ioctl`
    Ioctl {
        /// Which request.
        command: u32,
        /// Where its argument is.
        argument: usize,
    },
}
