//! Calls on a socket, with the arguments as a program passes them: numbers, and addresses in its
//! memory.

use super::{Detour, Program};
use crate::address;
use std::net::SocketAddr;

/// A range of a program's memory, laid out as `struct iovec`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(C)]
pub struct Piece {
    /// Its first address.
    pub address: usize,
    /// Its length in bytes.
    pub length: usize,
}

/// Returns the total length of pieces. It saturates, since a program may claim more than there can
/// be.
#[must_use]
pub fn total(pieces: &[Piece]) -> usize {
    pieces.iter().fold(0, |total, piece| total.saturating_add(piece.length))
}

/// A value that a program gives: the address of a socket, or an option.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Given {
    /// Its address in memory; 0 means none.
    pub at: usize,
    /// Its length as the program gave it.
    pub length: i32,
}

impl Given {
    /// Returns its length, if that is at most `longest`.
    ///
    /// # Errors
    /// EINVAL.
    pub fn within(&self, longest: usize) -> Detour<usize> {
        let length = usize::try_from(self.length).ok().filter(|length| *length <= longest);
        Ok(length.ok_or(libc::EINVAL)?)
    }

    /// Reads it into `place`, whose length is the maximum.
    ///
    /// # Errors
    /// EINVAL for an invalid length, EFAULT.
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

/// The place where a program wants a value and its length.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Room {
    /// Address of the value; 0 means none.
    pub value: usize,
    /// Address of a `socklen_t`: the size of the room, and on return the length of the value.
    pub length: usize,
}

impl Room {
    /// Returns the size of the room, in bytes.
    ///
    /// # Errors
    /// EFAULT; EINVAL if it is negative.
    pub fn octets(&self, program: &impl Program) -> Detour<usize> {
        let mut octets = [0; 4];
        program.read(self.length, &mut octets)?;
        Ok(usize::try_from(i32::from_ne_bytes(octets)).map_err(|_| libc::EINVAL)?)
    }

    /// Writes a value, truncated to `octets` bytes, and `length` as its length.
    fn put(&self, program: &impl Program, value: &[u8], octets: usize, length: usize) -> Detour<()> {
        program.write(self.value, &value[..value.len().min(octets)])?;
        program.write(self.length, &(length as u32).to_ne_bytes())
    }

    /// Writes a value, truncated to `octets` bytes, and its truncated length.
    ///
    /// # Errors
    /// EFAULT.
    pub fn give_cut(&self, program: &impl Program, value: &[u8], octets: usize) -> Detour<()> {
        self.put(program, value, octets, value.len().min(octets))
    }

    /// Writes an address, truncated to the room, and its full length. Does nothing if the program
    /// wants none.
    ///
    /// # Errors
    /// EFAULT; EINVAL for a negative size of the room.
    pub fn give(&self, program: &impl Program, address: SocketAddr) -> Detour<()> {
        if self.value == 0 {
            return Ok(());
        }
        let octets = address::written(address);
        self.put(program, &octets, self.octets(program)?, octets.len())
    }

    /// Reports that there is no address, by a length of 0, as the kernel does.
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

/// A call of a program on one of its sockets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Call {
    /// `bind`
    Bind(Given),
    /// `connect`
    Connect(Given),
    /// `listen`
    Listen {
        /// The backlog as the program gave it.
        backlog: i32,
    },
    /// `accept`, `accept4`
    Accept {
        /// Room for the address of the far host.
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
        /// Room for the value.
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
        /// Room for the data.
        data: Piece,
        /// `MSG_…`
        flags: i32,
        /// Room for the address of the sender.
        from: Room,
    },
    /// `sendmsg`
    SendMessage {
        /// Address of the `struct msghdr`.
        message: usize,
        /// `MSG_…`
        flags: i32,
    },
    /// `recvmsg`
    ReceiveMessage {
        /// Address of the `struct msghdr`.
        message: usize,
        /// `MSG_…`
        flags: i32,
    },
    /// `sendmmsg`
    SendMessages {
        /// Address of the `struct mmsghdr` array.
        messages: usize,
        /// Number of its elements.
        count: u32,
        /// `MSG_…`
        flags: i32,
    },
    /// `recvmmsg`
    ReceiveMessages {
        /// Address of the `struct mmsghdr` array.
        messages: usize,
        /// Number of its elements.
        count: u32,
        /// `MSG_…`
        flags: i32,
        /// Address of the `struct timespec` with the timeout; 0 means none.
        timeout: usize,
    },
    /// `ioctl`
    Ioctl {
        /// The request.
        command: u32,
        /// Address of its argument.
        argument: usize,
    },
}
