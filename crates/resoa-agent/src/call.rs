//! Calls of programs: a connection each, from its request to its answer. One that is closed before
//! that interrupts its call.

use crate::agent::{Agent, CALLS};
use crate::stack::Stack;
use nix::sys::socket::getsockopt;
use nix::sys::socket::sockopt::PeerCredentials;
use resoa_calls::{Response, SocketId, receive_request, respond};
use resoa_protocol::{CallId, Errno, Value};
use rustix::event::epoll::{self, EventData, EventFlags};
use rustix::fd::{AsFd, OwnedFd};
use rustix::io::Errno as Number;
use rustix::net::{Shutdown, SocketFlags, accept_with, shutdown};
use std::io;
use std::time::Duration;

/// Until calls are taken again after there was no descriptor for one.
const REST: Duration = Duration::from_millis(50);

/// A call that is under way.
#[derive(Debug)]
pub(crate) enum Call {
    /// Its request is not here yet.
    Asking { connection: OwnedFd },
    /// It waits for what comes of it.
    Waiting { connection: OwnedFd, what: Waiting },
    /// The agent's own: an address for a datagram socket that has sent something.
    Naming { socket: SocketId },
    /// The agent's own: a socket whose descriptors are gone.
    Closing { socket: SocketId },
}

/// What a call does when it returns.
#[derive(Debug)]
pub(crate) enum Waiting {
    /// It answers what it brought.
    Plain { socket: SocketId },
    /// `setsockopt`, with level, name and value: what was set may have to be set again. With the
    /// program's descriptor if its datagrams are another matter then.
    Set { socket: SocketId, option: ((i32, i32), Vec<u8>), descriptor: Option<OwnedFd> },
    /// `bind`: descriptors that are gone may have had the address, so that it is tried once more.
    Address { socket: SocketId, again: Option<Again> },
    /// `connect`, with the program's descriptor.
    Connect {
        socket: SocketId,
        address: Option<std::net::SocketAddr>,
        nonblocking: bool,
        descriptor: Option<OwnedFd>,
    },
    /// `listen`, with the program's descriptor.
    Listen { socket: SocketId, descriptor: Option<OwnedFd> },
    /// `accept`, with what the program says of the new descriptor.
    Accept { socket: SocketId, flags: i32 },
    /// `shutdown`: the descriptor has to be so before it returns.
    Shut { socket: SocketId },
    /// SIOCOUTQ: what is in the pair counts, too.
    Outstanding { socket: SocketId },
    /// A look-up.
    Resolve,
    /// `close` of a socket that lingers.
    Closed,
}

/// A call that is made once more if sockets were closed since it was made.
#[derive(Debug)]
pub(crate) struct Again {
    pub(crate) what: resoa_protocol::SocketCall,
    /// [`Agent::closes`] when the server was asked.
    pub(crate) closes: u64,
}

impl Agent {
    /// Takes those who call.
    pub(crate) fn take_calls(&mut self, now: Duration) {
        for call in std::mem::take(&mut self.asking) {
            self.hear_call(call, false, now);
        }
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        loop {
            let connection = match accept_with(self.calls_descriptor(), flags) {
                Ok(connection) => connection,
                Err(Number::INTR | Number::CONNABORTED) => continue,
                Err(Number::AGAIN) => return,
                // No descriptor is left, or no memory. They wait where they are, and would wake us
                // for nothing all the time.
                Err(_) => return self.take_none(now),
            };
            // Not rustix's, which takes the number of a process for one that is not 0: so it is if
            // the caller is outside this namespace of processes.
            let may = getsockopt(&connection, PeerCredentials)
                .is_ok_and(|peer| peer.uid() == self.owner.as_raw() || peer.uid() == 0);
            if may {
                let call = self.next_call();
                self.calls.insert(call, Call::Asking { connection });
                self.hear_call(call, true, now);
            }
        }
    }

    /// No calls are taken for a while.
    fn take_none(&mut self, now: Duration) {
        self.resting_until = Some(now + REST);
        self.listen_for_calls(EventFlags::empty());
    }

    /// Calls are taken again when that is over.
    pub(crate) fn expire_rest(&mut self, now: Duration) {
        if self.resting_until.is_some_and(|until| until <= now) {
            self.resting_until = None;
            self.listen_for_calls(EventFlags::IN);
        }
    }

    /// It cannot fail: the descriptor is there, and was added.
    fn listen_for_calls(&self, flags: EventFlags) {
        let changed = epoll::modify(&self.epoll, self.calls_descriptor(), EventData::new_u64(CALLS), flags);
        debug_assert_eq!(changed, Ok(()), "it is watched");
    }

    /// Something happened at a call's connection. That its request is there may have been seen
    /// before.
    pub(crate) fn at_call(&mut self, call: CallId, events: EventFlags, now: Duration) {
        match self.calls.get(&call) {
            Some(Call::Asking { .. }) => self.hear_call(call, false, now),
            Some(Call::Waiting { .. }) if events.intersects(EventFlags::RDHUP | EventFlags::HUP) => {
                self.interrupt(call, now);
            }
            Some(Call::Waiting { .. } | Call::Closing { .. } | Call::Naming { .. }) | None => {}
        }
    }

    fn hear_call(&mut self, call: CallId, is_new: bool, now: Duration) {
        let connection = match self.calls.remove(&call) {
            Some(Call::Asking { connection }) => connection,
            // It was heard by now.
            Some(other) => {
                self.calls.insert(call, other);
                return;
            }
            None => return,
        };
        match receive_request(&connection) {
            Ok(Some((request, descriptor))) => {
                self.request(call, connection, request, descriptor, is_new, now);
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                if !is_new || self.watch_call(call, &connection).is_ok() {
                    self.calls.insert(call, Call::Asking { connection });
                    self.asking.push(call);
                }
            }
            // It has gone, or speaks otherwise: it sees that nobody answers.
            Ok(None) | Err(_) => {}
        }
    }

    /// The program does not wait any more.
    fn interrupt(&mut self, call: CallId, now: Duration) {
        let Some(Call::Waiting { what, .. }) = self.calls.get(&call) else { return };
        let socket = match what {
            Waiting::Plain { socket }
            | Waiting::Set { socket, .. }
            | Waiting::Shut { socket }
            | Waiting::Address { socket, .. }
            | Waiting::Connect { socket, .. }
            | Waiting::Listen { socket, .. }
            | Waiting::Accept { socket, .. }
            | Waiting::Outstanding { socket } => *socket,
            Waiting::Resolve | Waiting::Closed => {
                self.calls.remove(&call);
                return;
            }
        };
        if let Some(half) = self.sockets.get(&socket).and_then(|socket| socket.half) {
            self.at_half(half, now, |client, id, out| client.interrupt(id, call, now, out));
        }
        // One that waits for the server's answer is not interrupted, and has nobody to tell it to.
        // An event of its connection would come again and again. Who gave the call up may wait to
        // see that this is known here: for the end of the connection.
        if let Some(Call::Waiting { connection, .. }) = self.calls.get(&call) {
            let _ = epoll::delete(&self.epoll, connection.as_fd());
            let _ = shutdown(connection, Shutdown::Both);
        }
    }

    /// Answers a call.
    pub(crate) fn respond(&mut self, call: CallId, response: &Response, descriptor: Option<&OwnedFd>) {
        if let Some(Call::Waiting { connection, .. } | Call::Asking { connection }) = self.calls.remove(&call)
        {
            let _ = respond(connection, response, descriptor.map(AsFd::as_fd));
        }
    }

    /// A call has come to its end at the client.
    pub(crate) fn returned(
        &mut self,
        stack: Stack,
        call: CallId,
        result: Result<Value, Errno>,
        now: Duration,
    ) {
        match self.calls.remove(&call) {
            Some(Call::Closing { socket }) => self.forget(socket),
            Some(Call::Naming { socket }) => self.named(socket, now),
            Some(Call::Waiting { connection, what }) => {
                self.finish(stack, call, connection, what, result, now);
            }
            Some(asking @ Call::Asking { .. }) => {
                self.calls.insert(call, asking);
            }
            None => {}
        }
    }
}

/// What a call's value is to a program.
pub(crate) fn response(result: Result<Value, Errno>) -> Response {
    use resoa_protocol::message::Unresolved;
    match result {
        Err(error) => Response::Failed(error.linux()),
        Ok(Value::Address(address)) => Response::Address(address),
        Ok(Value::Option(value)) => Response::Value(value),
        Ok(Value::Hosts(hosts)) => Response::Hosts(hosts),
        Ok(Value::Name { host, service }) => Response::Name { host, service },
        Ok(Value::Unresolved(why)) => Response::Unresolved(match why {
            Unresolved::NoName => libc::EAI_NONAME,
            Unresolved::Again => libc::EAI_AGAIN,
            Unresolved::Fail => libc::EAI_FAIL,
            Unresolved::NoService => libc::EAI_SERVICE,
        }),
        Ok(_) => Response::Done,
    }
}
