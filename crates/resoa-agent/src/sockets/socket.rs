//! A program's socket, as the agent keeps it.

use super::choice::Choice;
use super::listener::ListenerEnd;
use super::packets::Packets;
use super::stream::StreamEnd;
use crate::stack::Half;
use resoa_calls::SocketName;
use resoa_protocol::CallId;
use resoa_protocol::message::Create;
use rustix::event::epoll::EventFlags;

/// A socket; see the [module](self).
#[derive(Debug)]
pub(super) struct Socket {
    /// As the program made it.
    pub(super) create: Create,
    /// The client's half, from its first use on.
    pub(super) half: Option<Half>,
    /// Whose stack it uses, once it was said where it goes.
    pub(super) choice: Choice,
    pub(super) form: Form,
    /// It was used, and is among those that are counted by their stack.
    pub(super) is_counted: bool,
    /// Calls that asked when `close` may return.
    pub(super) closers: Vec<CallId>,
}

/// What the program's descriptor is.
#[derive(Debug)]
pub(super) enum Form {
    /// Connected to nothing: its last close is found by a [look](super::loose).
    Loose {
        /// It was connected to us once, and cannot be again.
        is_spent: bool,
    },
    Stream(StreamEnd),
    Listener(ListenerEnd),
    Datagram(Packets),
    /// Closed by the program; the client's half says when that is over.
    Closing,
}

/// What a pass over a socket has found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Found {
    /// It goes on.
    Open,
    /// The program has closed its last descriptor.
    Closed,
    /// The program is to see a reset: our end goes.
    Failed,
}

impl Socket {
    /// A socket that nothing was done with.
    pub(super) fn new(create: Create, form: Form) -> Self {
        Self { create, half: None, choice: Choice::default(), form, is_counted: false, closers: Vec::new() }
    }

    /// The socket of a connection that was accepted.
    pub(super) fn accepted(create: Create, half: Half, end: StreamEnd) -> Self {
        let Half { stack, .. } = half;
        let choice = Choice::made(stack);
        Self { half: Some(half), choice, is_counted: true, ..Self::new(create, Form::Stream(end)) }
    }

    /// Whether the program has closed its last descriptor.
    pub(super) fn is_closing(&self) -> bool {
        match &self.form {
            Form::Closing => true,
            Form::Stream(stream) => stream.is_closed(),
            Form::Listener(listener) => listener.is_closed(),
            Form::Datagram(packets) => packets.is_closed(),
            Form::Loose { .. } => false,
        }
    }

    /// Notes what epoll says of our end. Returns whether there is one.
    pub(super) fn heard(&mut self, events: EventFlags, name: &SocketName) -> bool {
        match &mut self.form {
            Form::Stream(stream) => stream.heard(events, name),
            Form::Listener(listener) => listener.heard(events, name),
            Form::Datagram(packets) => packets.heard(events, name),
            Form::Loose { .. } | Form::Closing => return false,
        }
        true
    }

    /// Asks our end whether the last descriptor is gone. Returns whether there is one.
    pub(super) fn look(&mut self, name: &SocketName) -> bool {
        match &mut self.form {
            Form::Stream(stream) => stream.look(name),
            Form::Listener(listener) => listener.look(name),
            Form::Loose { .. } | Form::Datagram(_) | Form::Closing => return false,
        }
        true
    }

    /// Returns whether this is the first use of the socket, at this stack.
    pub(super) fn is_first_use(&mut self) -> bool {
        !std::mem::replace(&mut self.is_counted, true)
    }
}
