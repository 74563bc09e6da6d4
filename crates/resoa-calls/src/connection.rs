//! The connection that a call is: SEQPACKET, so that a message is one packet, with a descriptor
//! along if there is one.

use crate::{Request, Response};
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::net::{
    AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, SocketAddrUnix, SocketFlags, SocketType, connect, recvmsg, sendmsg,
    socket_with,
};
use serde::{Deserialize, Serialize};
use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Octets of the longest message: a datagram, or the addresses of a host.
const LONGEST: usize = 68 << 10;

/// Octets of every answer but the values of options and what a look-up finds; and of a request that
/// is written without asking the allocator for memory. Little enough for the stack of a handler of
/// signals.
pub const SHORT: usize = 512;

/// An agent, by the path of its socket.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Agent {
    path: Arc<Path>,
}

/// An answer whose octets are in a place of the caller's, and the descriptor that came with it.
pub type Answered<'a> = (Response<&'a [u8]>, Option<OwnedFd>);

/// Why a call had no answer.
#[derive(Debug, thiserror::Error)]
pub enum CallError {
    /// A signal came first; the call is not interrupted before this process closes the connection,
    /// which it has.
    #[error("interrupted by a signal")]
    Interrupted,
    /// No agent.
    #[error("no agent answers at {}: {error}", .path.display())]
    NoAgent {
        /// Where.
        path: Arc<Path>,
        /// What the kernel says.
        error: io::Error,
    },
}

impl CallError {
    /// What a program's call fails with: what this process lacks, or ENETDOWN, as without a
    /// network.
    #[must_use]
    pub fn number(&self) -> i32 {
        match self {
            Self::Interrupted => libc::EINTR,
            Self::NoAgent { error, .. } => match error.raw_os_error() {
                // The last is of the descriptor that was to go along.
                Some(number @ (libc::EMFILE | libc::ENFILE | libc::ENOMEM | libc::EBADF)) => number,
                _ => libc::ENETDOWN,
            },
        }
    }
}

impl Agent {
    /// The one at this path. Nothing is asked of it yet.
    #[must_use]
    pub fn at(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into().into() }
    }

    /// The one that the [environment](crate::AGENT) names.
    #[must_use]
    pub fn of_environment() -> Option<Self> {
        std::env::var_os(crate::AGENT).map(Self::at)
    }

    /// Where its socket is.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Makes a call and waits for what it comes to; `descriptor` is passed along.
    ///
    /// # Errors
    /// If a signal came, or there is no agent. An error of the call itself is a [`Response`].
    pub fn call(
        &self,
        request: &Request,
        descriptor: Option<BorrowedFd>,
    ) -> Result<(Response, Option<OwnedFd>), CallError> {
        self.start(request, descriptor)?.answer()
    }

    /// Makes a call and does not wait; a request of [`SHORT`] octets at most without asking the
    /// allocator for memory. Who has to wait for something else, too, polls the [call](Started) and
    /// takes its answer then.
    ///
    /// # Errors
    /// As [`Agent::call`].
    pub fn start(&self, request: &Request, descriptor: Option<BorrowedFd>) -> Result<Started<'_>, CallError> {
        let begin = || {
            let socket = socket_with(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None)?;
            connect(&socket, &SocketAddrUnix::new(&*self.path)?)?;
            send(&socket, request, descriptor)?;
            Ok(socket)
        };
        let connection = begin().map_err(|error| self.no_answer(error))?;
        Ok(Started { agent: self, connection })
    }

    fn no_answer(&self, error: io::Error) -> CallError {
        match error.kind() {
            io::ErrorKind::Interrupted => CallError::Interrupted,
            _ => CallError::NoAgent { path: self.path.clone(), error },
        }
    }
}

/// A call that was made: readable when there is an answer. To drop it interrupts the call.
#[derive(Debug)]
#[must_use = "dropped, it interrupts the call"]
pub struct Started<'a> {
    agent: &'a Agent,
    connection: OwnedFd,
}

impl Started<'_> {
    /// Waits for what the call comes to.
    ///
    /// # Errors
    /// As [`Agent::call`].
    pub fn answer(self) -> Result<(Response, Option<OwnedFd>), CallError> {
        let mut octets = vec![0; LONGEST];
        self.answer_within(&mut octets).map(|(response, descriptor)| (response.owned(), descriptor))
    }

    /// The same with the octets in a place of the caller's, without asking the allocator for
    /// memory: [`SHORT`] ones beside those of a value are enough.
    ///
    /// # Errors
    /// As [`Agent::call`]; if the place is too small as well.
    pub fn answer_within(self, place: &mut [u8]) -> Result<Answered<'_>, CallError> {
        receive(&self.connection, RecvFlags::empty(), place)
            .and_then(|answer| answer.ok_or_else(|| io::ErrorKind::ConnectionReset.into()))
            .map_err(|error| self.agent.no_answer(error))
    }
}

impl AsFd for Started<'_> {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.connection.as_fd()
    }
}

/// At the agent: the request of a connection, once it is there; `None` if the program has gone.
///
/// # Errors
/// `WouldBlock` if it is not there yet; `InvalidData` if it is none.
pub fn receive_request(connection: impl AsFd) -> io::Result<Option<(Request, Option<OwnedFd>)>> {
    receive(connection, RecvFlags::DONTWAIT, &mut vec![0; LONGEST])
}

/// At the agent: answers a call.
///
/// # Errors
/// If the program has gone.
pub fn respond(connection: impl AsFd, response: &Response, descriptor: Option<BorrowedFd>) -> io::Result<()> {
    send(connection, response, descriptor)
}

fn send(socket: impl AsFd, message: &impl Serialize, descriptor: Option<BorrowedFd>) -> io::Result<()> {
    let mut short = [0; SHORT];
    let long;
    let octets = if let Ok(octets) = postcard::to_slice(message, &mut short) {
        &*octets
    } else {
        long = postcard::to_stdvec(message).map_err(io::Error::other)?;
        &long[..]
    };
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut ancillary = SendAncillaryBuffer::new(&mut space);
    if descriptor.is_some() {
        ancillary.push(SendAncillaryMessage::ScmRights(descriptor.as_slice()));
    }
    sendmsg(socket, &[IoSlice::new(octets)], &mut ancillary, SendFlags::NOSIGNAL)?;
    Ok(())
}

/// A message, which may have octets in `place`; `None` at the end.
fn receive<'a, T: Deserialize<'a>>(
    socket: impl AsFd,
    flags: RecvFlags,
    place: &'a mut [u8],
) -> io::Result<Option<(T, Option<OwnedFd>)>> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut ancillary = RecvAncillaryBuffer::new(&mut space);
    let buffers = &mut [IoSliceMut::new(place)];
    let received = recvmsg(socket, buffers, &mut ancillary, flags | RecvFlags::CMSG_CLOEXEC)?;
    let descriptor = ancillary.drain().find_map(|message| match message {
        RecvAncillaryMessage::ScmRights(mut descriptors) => descriptors.next(),
        _ => None,
    });
    if received.bytes == 0 {
        return Ok(None);
    }
    // One that is longer than the place is cut, and none.
    let message = postcard::from_bytes(&place[..received.bytes])
        .map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))?;
    Ok(Some((message, descriptor)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::SocketId;
    use resoa_protocol::message::Operation;
    use rustix::net::{accept, bind, listen, socketpair};
    use std::thread;

    /// A call and its answer, each with a descriptor; and what is said where nobody is.
    #[test]
    fn a_call_and_its_answer() {
        let folder = tempfile::tempdir().expect("a folder");
        let agent = Agent::at(folder.path().join("agent"));
        let request = Request::operation(SocketId(3), Operation::Listen { backlog: u32::MAX });
        assert!(matches!(agent.call(&request, None), Err(CallError::NoAgent { .. })));
        let listener = socket_with(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None)
            .expect("descriptors");
        bind(&listener, &SocketAddrUnix::new(agent.path()).expect("short")).expect("free");
        listen(&listener, 8).expect("bound");
        let asked = request.clone();
        let serving = thread::spawn(move || {
            let connection = accept(&listener).expect("somebody calls");
            let found = loop {
                match receive_request(&connection) {
                    Err(error) if error.kind() == io::ErrorKind::WouldBlock => thread::yield_now(),
                    found => break found.expect("a request").expect("no end"),
                }
            };
            assert_eq!(found.0, asked);
            respond(&connection, &Response::Done, Some(found.1.expect("a descriptor").as_fd()))
                .expect("it waits");
        });
        let started = agent.start(&request, Some(std::io::stdin().as_fd())).expect("it is there");
        let (response, descriptor) = started.answer().expect("it answers");
        assert_eq!((response, descriptor.is_some()), (Response::Done, true));
        serving.join().expect("as it should");
    }

    /// What this process lacks is told as that; whatever else there is with an agent is that there
    /// is none.
    #[test]
    fn numbers_of_errors() {
        let of = |error| Agent::at("/nowhere").no_answer(error).number();
        for number in [libc::EMFILE, libc::ENFILE, libc::ENOMEM, libc::EBADF, libc::EINTR] {
            assert_eq!(of(io::Error::from_raw_os_error(number)), number);
        }
        for number in [libc::ENOENT, libc::ECONNREFUSED, libc::EACCES, libc::EPIPE] {
            assert_eq!(of(io::Error::from_raw_os_error(number)), libc::ENETDOWN);
        }
        assert_eq!(of(io::ErrorKind::InvalidData.into()), libc::ENETDOWN);
    }

    /// A value is read where the caller has room for it, and one for which there is none is no
    /// answer.
    #[test]
    fn values_of_any_length() {
        for (length, room) in [(4, SHORT), (4096, 4096 + SHORT), (60_000, LONGEST), (4, 3), (SHORT, SHORT)] {
            let (connection, agents) =
                socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None)
                    .expect("descriptors");
            let agent = Agent::at("/nowhere");
            let value = vec![7; length];
            respond(&agents, &Response::Value(value.clone()), None).expect("it waits");
            let mut place = vec![0; room];
            let answer = Started { agent: &agent, connection }.answer_within(&mut place);
            match answer {
                Ok((response, None)) => assert_eq!(response.owned(), Response::Value(value)),
                Err(CallError::NoAgent { .. }) => assert!(room < length + 4, "{length} in {room}"),
                other => panic!("{length} in {room}: {other:?}"),
            }
        }
    }
}
