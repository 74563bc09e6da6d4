//! The loop's epoll, and the assignment of events to parts of the agent.

use crate::stack::Stack;
use resoa_calls::SocketId;
use resoa_protocol::CallId;
use rustix::event::Timespec;
use rustix::event::epoll::{self, EventData, EventFlags};
use rustix::fd::{AsFd, OwnedFd};
use rustix::io::Errno;
use std::io;
use std::time::Duration;

/// Maximum number of events of a wait.
pub(crate) const EVENTS: usize = 256;
/// Tokens of calls have this bit and the call's number. Those of ends have the next bit and the
/// socket's number.
const CALL: u64 = 1 << 62;
const END: u64 = 1 << 63;

/// The subject of an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Token {
    /// The carrier to a server.
    Carrier(Stack),
    /// The socket that programs connect to.
    Calls,
    /// A descriptor of the agent's owner.
    Owner,
    /// The connection of a call.
    Call(CallId),
    /// Our end of a socket's pair.
    End(SocketId),
}

/// See the [module](self).
#[derive(Debug)]
pub(crate) struct Poller(OwnedFd);

/// The events of a wait.
pub(crate) struct Events(Vec<epoll::Event>);

impl Token {
    fn number(self) -> u64 {
        match self {
            Self::Carrier(Stack::Remote) => 0,
            Self::Calls => 1,
            Self::Owner => 2,
            Self::Carrier(Stack::Local) => 3,
            Self::Call(call) => CALL | call.0,
            Self::End(socket) => END | socket.0,
        }
    }

    fn of(number: u64) -> Self {
        match number {
            _ if number & END != 0 => Self::End(SocketId(number & !END)),
            _ if number & CALL != 0 => Self::Call(CallId(number & !CALL)),
            0 => Self::Carrier(Stack::Remote),
            1 => Self::Calls,
            3 => Self::Carrier(Stack::Local),
            _ => Self::Owner,
        }
    }

    /// Returns the events to wait for. Ends are edge-triggered, everything else is level-triggered.
    fn flags(self) -> EventFlags {
        match self {
            Self::Carrier(_) | Self::Calls | Self::Owner => EventFlags::IN,
            Self::Call(_) => EventFlags::IN | EventFlags::RDHUP,
            Self::End(_) => EventFlags::IN | EventFlags::OUT | EventFlags::RDHUP | EventFlags::ET,
        }
    }
}

impl Poller {
    pub(crate) fn new() -> io::Result<Self> {
        Ok(Self(epoll::create(epoll::CreateFlags::CLOEXEC)?))
    }

    pub(crate) fn watch(&self, token: Token, fd: impl AsFd) -> io::Result<()> {
        Ok(epoll::add(&self.0, fd, EventData::new_u64(token.number()), token.flags())?)
    }

    /// Pauses or resumes the events of a watched descriptor.
    pub(crate) fn pause(&self, token: Token, fd: impl AsFd, is_paused: bool) {
        let flags = if is_paused { EventFlags::empty() } else { token.flags() };
        let changed = epoll::modify(&self.0, fd, EventData::new_u64(token.number()), flags);
        debug_assert_eq!(changed, Ok(()), "it is watched");
    }

    /// Stops watching a descriptor, if it was watched.
    pub(crate) fn forget(&self, fd: impl AsFd) {
        let _ = epoll::delete(&self.0, fd);
    }

    /// Waits for events, at most for `longest`; `None` means forever.
    pub(crate) fn wait(&self, longest: Option<Duration>) -> io::Result<Events> {
        let longest = longest.map(|longest| Timespec {
            tv_sec: longest.as_secs().cast_signed(),
            tv_nsec: longest.subsec_nanos().into(),
        });
        let mut events = Vec::with_capacity(EVENTS);
        match epoll::wait(&self.0, rustix::buffer::spare_capacity(&mut events), longest.as_ref()) {
            Ok(_) | Err(Errno::INTR) => Ok(Events(events)),
            Err(error) => Err(error.into()),
        }
    }
}

impl Events {
    pub(crate) fn iter(&self) -> impl Iterator<Item = (Token, EventFlags)> {
        self.0.iter().map(|event| (Token::of(event.data.u64()), event.flags))
    }

    /// Returns whether there may be more events than these.
    pub(crate) fn may_be_cut(&self) -> bool {
        self.0.len() == EVENTS
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A token survives the round trip through epoll's number.
    #[test]
    fn tokens_are_read_as_written() {
        let carriers = [Stack::Remote, Stack::Local].map(Token::Carrier);
        let calls = [0, 1, 1 << 61].map(|number| Token::Call(CallId(number)));
        let ends = [0, 3, u64::MAX >> 2].map(|number| Token::End(SocketId(number)));
        let all = [Token::Calls, Token::Owner].into_iter().chain(carriers).chain(calls).chain(ends);
        for token in all {
            assert_eq!(Token::of(token.number()), token);
        }
    }
}
