//! The agent's state of a program's socket.

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
    /// The parameters of its creation.
    pub(super) create: Create,
    /// The client's half, from its first use on.
    pub(super) half: Option<Half>,
    /// Its choice of a stack.
    pub(super) choice: Choice,
    pub(super) form: Form,
    /// Whether it was used, and is counted for its stack.
    pub(super) is_counted: bool,
    /// Calls that wait for its close.
    pub(super) closers: Vec<CallId>,
}

/// The form of the program's descriptor.
#[derive(Debug)]
pub(super) enum Form {
    /// Unconnected: its last close is found by a [check](super::loose).
    Loose {
        /// It was connected to us once, and cannot be again.
        is_spent: bool,
    },
    Stream(StreamEnd),
    Listener(ListenerEnd),
    Datagram(Packets),
    /// Closed by the program; the close of the client's half is in progress.
    Closing,
}

/// The result of a pass over a socket.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Found {
    /// It continues.
    Open,
    /// The program has closed its last descriptor.
    Closed,
    /// Our end must be closed, so that the program sees a reset.
    Failed,
}

impl Socket {
    /// Creates a socket that was not used.
    pub(super) fn new(create: Create, form: Form) -> Self {
        Self { create, half: None, choice: Choice::default(), form, is_counted: false, closers: Vec::new() }
    }

    /// Creates the socket of an accepted connection.
    pub(super) fn accepted(create: Create, half: Half, end: StreamEnd) -> Self {
        let Half { stack, .. } = half;
        let choice = Choice::made(stack);
        Self { half: Some(half), choice, is_counted: true, ..Self::new(create, Form::Stream(end)) }
    }

    /// Returns whether the program has closed its last descriptor.
    pub(super) fn is_closing(&self) -> bool {
        match &self.form {
            Form::Closing => true,
            Form::Stream(stream) => stream.is_closed(),
            Form::Listener(listener) => listener.is_closed(),
            Form::Datagram(packets) => packets.is_closed(),
            Form::Loose { .. } => false,
        }
    }

    /// Processes an event of our end. Returns whether there is an end.
    pub(super) fn heard(&mut self, events: EventFlags, name: &SocketName) -> bool {
        match &mut self.form {
            Form::Stream(stream) => stream.heard(events, name),
            Form::Listener(listener) => listener.heard(events, name),
            Form::Datagram(packets) => packets.heard(events, name),
            Form::Loose { .. } | Form::Closing => return false,
        }
        true
    }

    /// Checks whether the last descriptor is closed. Returns whether there is an end that can tell.
    pub(super) fn look(&mut self, name: &SocketName) -> bool {
        match &mut self.form {
            Form::Stream(stream) => stream.look(name),
            Form::Listener(listener) => listener.look(name),
            Form::Loose { .. } | Form::Datagram(_) | Form::Closing => return false,
        }
        true
    }

    /// Returns whether this is the first use of the socket, and notes the use.
    pub(super) fn is_first_use(&mut self) -> bool {
        !std::mem::replace(&mut self.is_counted, true)
    }
}
