//! The connection of a call. It is SEQPACKET, so that a message is one packet, with at most one
//! descriptor.

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

/// Length of the longest message in bytes: a datagram, or the addresses of a host.
const LONGEST: usize = 68 << 10;

/// Maximum length in bytes of answers other than option values and look-ups, and of requests that
/// are sent without an allocation. Small enough for the stack of a signal handler.
pub const SHORT: usize = 512;

/// An agent, identified by the path of its socket.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Agent {
    path: Arc<Path>,
}

/// A response with its bytes in the caller's memory, and the descriptor that came with it.
pub type Answered<'a> = (Response<&'a [u8]>, Option<OwnedFd>);

/// Reasons why a call had no answer.
#[derive(Debug, thiserror::Error)]
pub enum CallError {
    /// A signal came before the answer. The connection is already closed, which interrupts the
    /// call.
    #[error("interrupted by a signal")]
    Interrupted,
    /// The agent cannot be reached.
    #[error("no agent answers at {}: {error}", .path.display())]
    NoAgent {
        /// Path of its socket.
        path: Arc<Path>,
        /// The error of the kernel.
        error: io::Error,
    },
}

impl CallError {
    /// Returns the error number for the program's call: that of a resource which this process
    /// lacks, or ENETDOWN, as without a network.
    #[must_use]
    pub fn number(&self) -> i32 {
        match self {
            Self::Interrupted => libc::EINTR,
            Self::NoAgent { error, .. } => match error.raw_os_error() {
                // The last one concerns the descriptor that was to be passed along.
                Some(number @ (libc::EMFILE | libc::ENFILE | libc::ENOMEM | libc::EBADF)) => number,
                _ => libc::ENETDOWN,
            },
        }
    }
}

impl Agent {
    /// Returns the agent with this path, without connecting to it.
    #[must_use]
    pub fn at(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into().into() }
    }

    /// Returns the agent that the [environment](crate::AGENT) names.
    #[must_use]
    pub fn of_environment() -> Option<Self> {
        std::env::var_os(crate::AGENT).map(Self::at)
    }

    /// Returns the path of its socket.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Makes a call and waits for its answer; `descriptor` is passed along.
    ///
    /// # Errors
    /// If a signal interrupted it, or there is no agent. An error of the call itself is a
    /// [`Response`].
    pub fn call(
        &self,
        request: &Request,
        descriptor: Option<BorrowedFd>,
    ) -> Result<(Response, Option<OwnedFd>), CallError> {
        self.start(request, descriptor)?.answer()
    }

    /// Makes a call without waiting for the answer. Callers that also wait for other events can
    /// poll the [`Started`] call and take its answer later.
    ///
    /// A request of at most [`SHORT`] bytes is sent without an allocation.
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

/// A call that was made, readable when the answer is there. Dropping it interrupts the call.
#[derive(Debug)]
#[must_use = "dropped, it interrupts the call"]
pub struct Started<'a> {
    agent: &'a Agent,
    connection: OwnedFd,
}

impl Started<'_> {
    /// Waits for the answer.
    ///
    /// # Errors
    /// As [`Agent::call`].
    pub fn answer(self) -> Result<(Response, Option<OwnedFd>), CallError> {
        let mut octets = vec![0; LONGEST];
        self.answer_within(&mut octets).map(|(response, descriptor)| (response.owned(), descriptor))
    }

    /// As [`Started::answer`], with the bytes in the caller's memory and without an allocation.
    /// [`SHORT`] bytes are enough, plus those of a value.
    ///
    /// # Errors
    /// As [`Agent::call`], and if `place` is too small.
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

/// Receives the request of a connection, at the agent. `None` if the program has closed it.
///
/// # Errors
/// `WouldBlock` if it has not arrived yet; `InvalidData` if it is not a request.
pub fn receive_request(connection: impl AsFd) -> io::Result<Option<(Request, Option<OwnedFd>)>> {
    receive(connection, RecvFlags::DONTWAIT, &mut vec![0; LONGEST])
}

/// Answers a call, at the agent.
///
/// # Errors
/// If the program has closed the connection.
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

/// Receives a message, whose bytes may be borrowed from `place`; `None` at the end.
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
    // A message that is longer than the place is truncated, and fails to decode.
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

    /// A call and its answer, each with a descriptor; and the error without an agent.
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

    /// Resources that this process lacks have their own error. Any other failure means that there
    /// is no agent.
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

    /// A value is read if the caller has room for it. One that does not fit is no answer.
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
