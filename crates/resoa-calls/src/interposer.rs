//! The rules of socket calls for every interposer.
//!
//! An interposer stops a program's [`Call`] on a remote [`Socket`] and hands it to [`answer`]. The
//! engine checks the arguments as Linux does, asks the agent, and returns an [`Answer`] or a
//! [`Stop`]. A `Stop` is an error number, or a [`Bypass`] with the reason why the kernel executes
//! the call.
//!
//! Interposers differ in their access to the program: its memory, its signals, and the ways in
//! which a call may wait. The trait [`Program`] covers this.
//!
//! | | preload library | seccomp notification |
//! |---|---|---|
//! | memory | of its own process; messages are read in place | of another process |
//! | waiting | in the C library's functions, which signals interrupt | checks for the caller's signals |
//! | new descriptor | is installed in its own process | the kernel installs it in the caller |
//! | data of streams | the kernel moves it; only failures come to [`streams`] | some calls are executed on a copy |
//!
//! The engine runs within foreign programs, also in signal handlers. So it does not allocate unless
//! the library's documentation says so, and never touches `errno`.

mod call;
mod control;
mod creating;
pub mod datagrams;
mod detour;
pub mod messages;
mod options;
mod socket;
pub mod streams;
#[cfg(test)]
mod tests;

pub use call::{Call, Given, Piece, Room, total};
pub use creating::create;
pub use datagrams::{Beside, Packet};
pub use detour::{Answer, Bypass, Detour, Stop};
pub use messages::Message;
pub use socket::Socket;

use crate::descriptor::DescriptorType;
use crate::{Answered, Request, SHORT};
use rustix::fd::BorrowedFd;
use std::ops::Deref;

/// Access to the program that made a call.
pub trait Program {
    /// Whether the interposer also intercepts calls that only read ([`Request::Socket`]).
    const SEES_DATA: bool;

    /// The pieces of a message.
    type Pieces: Deref<Target = [Piece]>;

    /// Reads the program's memory.
    ///
    /// # Errors
    /// EFAULT; [`Stop::Gone`] if the caller has ended.
    fn read(&self, at: usize, place: &mut [u8]) -> Detour<()>;

    /// Writes to the program's memory.
    ///
    /// # Errors
    /// As [`Program::read`].
    fn write(&self, at: usize, octets: &[u8]) -> Detour<()>;

    /// Asks the agent and waits for its answer, whose bytes are stored in `place`. `descriptor` is
    /// passed along. Signals do not end the wait.
    ///
    /// # Errors
    /// The call's own; ENETDOWN without an agent; EMFILE or ENFILE if there is no descriptor for
    /// the connection to the agent.
    fn ask<'a>(
        &self,
        request: &Request,
        descriptor: Option<BorrowedFd>,
        place: &'a mut [u8],
    ) -> Detour<Answered<'a>>;

    /// Asks the agent to connect, and waits until SO_SNDTIMEO or a signal ends the wait. If a
    /// signal ends it, the attempt continues, and the agent knows that before this returns. Returns
    /// whether the data of the request was sent.
    ///
    /// # Errors
    /// As [`Program::ask`]; EINTR.
    fn connect(&self, socket: &Socket, request: &Request) -> Detour<bool>;

    /// Returns whether the caller has CAP_NET_BIND_SERVICE.
    fn may_bind_any_port(&self) -> bool;

    /// Checks that a descriptor number is free. The connection that `accept` takes from the queue
    /// could not be put back.
    ///
    /// # Errors
    /// EMFILE.
    fn has_number_left(&self, listener: &Socket) -> Detour<()>;

    /// Returns a function that reads one byte from a listener, waiting as the descriptor says. It
    /// returns the number of bytes; 0 is the end. SO_RCVTIMEO may limit all of its calls together.
    fn arrivals(&self, listener: &Socket) -> impl FnMut() -> Detour<usize>;

    /// Tells the agent, once, that errors of this datagram socket will be seen among its datagrams
    /// ([`Request::SeesData`]).
    ///
    /// # Errors
    /// [`Stop::Gone`] if the caller has ended.
    fn sees(&self, socket: &Socket) -> Detour<()>;

    /// Sends `front` and the program's pieces as one packet over a descriptor, waiting as the
    /// descriptor and the flags say.
    ///
    /// # Errors
    /// The kernel's.
    fn send_packet(&self, socket: &Socket, front: &mut [u8], pieces: &[Piece], flags: i32) -> Detour<()>;

    /// Receives a packet into `front` and the program's pieces, waiting as the descriptor and the
    /// flags say.
    ///
    /// # Errors
    /// The kernel's.
    fn receive_packet(
        &self,
        socket: &Socket,
        front: &mut [u8],
        pieces: &[Piece],
        flags: i32,
    ) -> Detour<Packet>;

    /// Reads a `struct msghdr` and the vector of its pieces.
    ///
    /// # Errors
    /// EFAULT; EINVAL if the length of the address or of a piece is negative; EMSGSIZE for more
    /// than 1024 pieces.
    fn message(&self, at: usize) -> Detour<Message<Self::Pieces>>;

    /// Writes the fields of a `struct msghdr` that `recvmsg` sets.
    ///
    /// # Errors
    /// EFAULT.
    fn tell(&self, message: usize, name_length: usize, control_length: usize, flags: i32) -> Detour<()>;

    /// Writes `msg_len` of a `struct mmsghdr`, which has been read before.
    ///
    /// # Errors
    /// EFAULT.
    fn tell_length(&self, message: usize, length: u32) -> Detour<()>;

    /// Checks that the program's memory can be read, without using its contents.
    ///
    /// # Errors
    /// EFAULT.
    fn is_readable(&self, at: usize, length: usize) -> Detour<()>;

    /// Sends SIGPIPE to the calling thread.
    fn raise_pipe(&self);
}

/// Answers a call on a remote socket.
///
/// # Errors
/// The error of the call, or the reason why it is not answered here. Calls that move data of a
/// stream are [`Bypass::Stream`].
pub fn answer(program: &impl Program, socket: &Socket, call: &Call) -> Detour {
    match *call {
        Call::Bind(address) => control::bind(program, socket, address),
        Call::Connect(address) => control::connect(program, socket, address),
        Call::Listen { backlog } => control::listen(program, socket, backlog),
        Call::Accept { peer, flags } => creating::accept(program, socket, peer, flags),
        Call::LocalName(room) => control::name(program, &Request::LocalName(socket.id), room),
        Call::PeerName(room) => control::name(program, &Request::PeerName(socket.id), room),
        Call::GetOption { level, name, value } => options::get(program, socket, level, name, value),
        Call::SetOption { level, name, value } => options::set(program, socket, level, name, value),
        Call::Shutdown { how } => control::shutdown(program, socket, how),
        Call::Ioctl { command, argument } => control::ioctl(program, socket, command, argument),
        _ if socket.kind != DescriptorType::Datagram => Err(Bypass::Stream.into()),
        _ => data(program, socket, call).map(Answer::Value),
    }
}

/// Answers a call that moves datagrams.
fn data(program: &impl Program, socket: &Socket, call: &Call) -> Detour<usize> {
    match *call {
        Call::Send { data, flags, to } => messages::send_to(program, socket, data, flags, to),
        Call::Receive { data, flags, from } => messages::receive_from(program, socket, data, flags, from),
        Call::SendMessage { message, flags } => messages::send(program, socket, message, flags),
        Call::ReceiveMessage { message, flags } => messages::receive(program, socket, message, flags),
        Call::SendMessages { messages, count, flags } => {
            let one = |at, flags| messages::send(program, socket, at, flags);
            messages::several(program, messages, count, flags, None, one)
        }
        Call::ReceiveMessages { messages, count, flags, timeout } => {
            let until = messages::deadline(program, timeout)?;
            let one = |at, flags| messages::receive(program, socket, at, flags);
            messages::several(program, messages, count, flags, until, one)
        }
        _ => Err(libc::EOPNOTSUPP.into()),
    }
}

/// Sends a request whose only answer is success.
fn done(program: &impl Program, request: &Request, descriptor: Option<BorrowedFd>) -> Detour<()> {
    program.ask(request, descriptor, &mut [0; SHORT]).map(drop)
}
