//! Processing of requests: from a call to its socket and the client, and back.

use crate::agent::Agent;
use crate::calls::{Asked, Waiting, create, response, socket_call};
use crate::stack::{Half, Stack};
use resoa_calls::{Request, Response, SocketId, ioctl};
use resoa_protocol::message::{Ancillary, Operation};
use resoa_protocol::{CallId, DatagramPart, Errno, SocketCall, Value};
use rustix::event::epoll::EventFlags;
use rustix::fd::OwnedFd;
use std::ops::ControlFlow;
use std::time::Duration;

impl Agent {
    /// Accepts and processes new calls.
    pub(crate) fn take_calls(&mut self, now: Duration) {
        for call in self.calls.take_asking() {
            self.hear_call(call, false, now);
        }
        while let Some(call) = self.calls.accept(&self.poller, now) {
            self.hear_call(call, true, now);
        }
    }

    /// Processes an event of a call's connection. The request may have been read before.
    pub(crate) fn at_call(&mut self, call: CallId, events: EventFlags, now: Duration) {
        if let Some(what) = self.calls.given_up(call, events) {
            let half = what.socket().and_then(|socket| self.sockets.half_of(socket));
            if let Some(half) = half {
                self.associations
                    .at(now)
                    .half(half)
                    .at(|client, id, now, out| client.interrupt(id, call, now, out));
                self.settle(now);
            }
            self.calls.hang_up(call, &self.poller);
        } else {
            self.hear_call(call, false, now);
        }
    }

    fn hear_call(&mut self, call: CallId, is_new: bool, now: Duration) {
        if let Some(asked) = self.calls.hear(call, is_new, &self.poller) {
            self.request(asked, is_new, now);
        }
    }

    /// Processes a request.
    fn request(&mut self, Asked { call, request, descriptor }: Asked, is_new: bool, now: Duration) {
        // It may have come between the queued events of ends, which come first. `accept` does not
        // depend on those of other sockets.
        if !matches!(request, Request::Accept { .. }) {
            self.settle_ends(now);
        }
        let request = match self.answer_at_once(request, now) {
            ControlFlow::Continue(request) => request,
            ControlFlow::Break((answer, descriptor)) => {
                return self.calls.respond(call, &answer, descriptor.as_ref());
            }
        };
        match request {
            Request::Resolve(query) => {
                self.calls.wait(call, Waiting::Resolve);
                let stack = self.associations.stack_for_query(&query);
                self.associations.of_mut(stack).at(now, |client, out| client.look_up(call, query, now, out));
                self.settle(now);
            }
            Request::Closed(socket) => {
                self.calls.wait(call, Waiting::Closed);
                let waits = self.sockets.wait_for_close(socket, call, &mut self.associations.at(now));
                self.settle(now);
                if !waits {
                    self.calls.respond(call, &Response::Done, None);
                }
            }
            request => {
                // These calls must find earlier closed sockets closed: their addresses are free,
                // and their listeners are gone.
                if let Request::Open { .. }
                | Request::Operation {
                    operation:
                        Operation::Bind(_)
                        | Operation::Connect(_)
                        | Operation::Disconnect
                        | Operation::Listen { .. },
                    ..
                } = request
                {
                    self.hear_ends(now);
                }
                if let Err(error) = self.socket_request(call, request, descriptor, now) {
                    self.calls.respond(call, &Response::Failed(error), None);
                }
            }
        }
        if is_new {
            self.calls.watch(call, &self.poller);
        }
    }

    /// Answers a request that needs no wait; returns any other.
    fn answer_at_once(
        &mut self,
        request: Request,
        now: Duration,
    ) -> ControlFlow<(Response, Option<OwnedFd>), Request> {
        let answer = match request {
            Request::Socket { family, kind, protocol, sees_data } => {
                return ControlFlow::Break(match self.make((family, kind, protocol), sees_data, now) {
                    Ok((socket, descriptor)) => (Response::Descriptor(socket), Some(descriptor)),
                    Err(error) => (Response::Failed(error), None),
                });
            }
            Request::Status => Response::Status(self.status()),
            Request::SendTo { socket, address: to, ancillary, octets: bytes, more } => {
                let part =
                    Ancillary::read(&ancillary).map(|ancillary| DatagramPart { to, ancillary, bytes, more });
                self.send_to(socket, part, now)
            }
            Request::Operation { socket, operation: Operation::Ioctl { command, .. }, .. }
                if ioctl::is_about_time(command) =>
            {
                self.sockets.time_of_last(socket, command)
            }
            Request::TakeUndelivered(socket) => {
                self.sockets.take_undelivered(socket, &mut self.associations.at(now))
            }
            Request::SeesData(socket) => {
                self.sockets.datagrams_are_seen(socket, &mut self.associations.at(now));
                Response::Done
            }
            request => return ControlFlow::Continue(request),
        };
        self.settle(now);
        ControlFlow::Break((answer, None))
    }

    /// Creates a socket, as socket(2).
    fn make(
        &mut self,
        (family, kind, protocol): (i32, i32, i32),
        sees_data: bool,
        now: Duration,
    ) -> Result<(SocketId, OwnedFd), i32> {
        let (create, flags) = create(family, kind, protocol)?;
        if !self.associations.has_a_stack() {
            return Err(libc::ENETDOWN);
        }
        let made = self.sockets.make(create, flags, sees_data, &self.poller, now);
        made.map_err(|error| error.raw_os_error().unwrap_or(libc::ENOBUFS))
    }

    /// Sends a datagram that the descriptor cannot carry.
    fn send_to(&mut self, socket: SocketId, part: Option<DatagramPart>, now: Duration) -> Response {
        let Some(part) = part else { return Response::Failed(libc::EINVAL) };
        match self.sockets.datagram_apart(socket, part, &mut self.associations.at(now)) {
            // Without room it is lost, as if a queue on the path were full.
            Ok(()) | Err(Errno::EAGAIN) => Response::Done,
            Err(error) => Response::Failed(error.linux()),
        }
    }

    /// Makes a call at a socket's half.
    fn socket_request(
        &mut self,
        call: CallId,
        request: Request,
        descriptor: Option<OwnedFd>,
        now: Duration,
    ) -> Result<(), i32> {
        let nonblocking = match request {
            Request::Operation {
                operation: Operation::Connect(_) | Operation::Disconnect,
                nonblocking,
                ..
            } => Some(nonblocking),
            Request::Open { .. } => Some(false),
            _ => None,
        };
        let (socket, what, waiting) = socket_call(request, descriptor, self.sockets.closes())?;
        // Data that the program has sent comes before this call.
        self.sockets.progress_first(socket, &what, &mut self.associations.at(now));
        self.settle(now);
        let half = self.half(socket, &what, now).map_err(Errno::linux)?;
        self.calls.wait(call, waiting);
        self.sockets.names_itself(socket, &what);
        match what {
            SocketCall::Accept => self.sockets.claim(socket, now),
            SocketCall::LocalName if self.sockets.asks_for_name(socket, call) => return Ok(()),
            _ => {}
        }
        // The descriptor's mode decides whether a `connect` waits.
        if let Some(nonblocking) = nonblocking {
            let flags = self.sockets.next_call();
            self.call_half(half, flags, SocketCall::SetNonblocking(nonblocking), now);
        }
        self.sockets.may(socket, half, &what, &self.associations).map_err(Errno::linux)?;
        if self.sockets.is_of_the_descriptor(socket, half, &what, &self.associations) {
            self.calls.respond(call, &Response::Done, None);
        } else {
            self.call_half(half, call, what, now);
            self.progress(socket, now);
        }
        Ok(())
    }

    fn half(&mut self, socket: SocketId, what: &SocketCall, now: Duration) -> Result<Half, Errno> {
        let half = self.sockets.half(socket, what, &mut self.associations.at(now));
        self.settle(now);
        half
    }

    fn call_half(&mut self, half: Half, call: CallId, what: SocketCall, now: Duration) {
        self.associations.at(now).half(half).call(call, what);
        self.settle(now);
    }

    /// Processes the return of a call at a client.
    pub(crate) fn returned(
        &mut self,
        stack: Stack,
        call: CallId,
        result: Result<Value, Errno>,
        now: Duration,
    ) {
        if self.sockets.returned(call, &mut self.associations.at(now)) {
            self.settle(now);
        } else if let Some(what) = self.calls.returned(call) {
            self.finish(stack, call, what, result, now);
        }
    }

    /// Completes a call that waited.
    fn finish(
        &mut self,
        stack: Stack,
        call: CallId,
        what: Waiting,
        result: Result<Value, Errno>,
        now: Duration,
    ) {
        let answer = match what {
            Waiting::Address { socket, again: Some(again) } if result == Err(Errno::EADDRINUSE) => {
                self.sockets.sweep(&mut self.associations.at(now));
                self.settle(now);
                // This also counts sockets that were closed on behalf of another call since: one
                // may have had the address.
                let is_worth_it = self.sockets.closes() > again.closes;
                let bind = Operation::Bind(again.address).into();
                let half = if is_worth_it { self.half(socket, &bind, now) } else { Err(Errno::EADDRINUSE) };
                match half {
                    Ok(half) => {
                        self.calls.wait(call, Waiting::Address { socket, again: None });
                        return self.call_half(half, call, bind, now);
                    }
                    Err(error) => Response::Failed(error.linux()),
                }
            }
            Waiting::Connect { socket, address, descriptor } => {
                let descriptor = descriptor.as_ref();
                let clients = &mut self.associations.at(now);
                let attached = match (self.sockets.is_datagram(socket), &result) {
                    (true, Ok(_)) => self.sockets.datagrams_connected(socket, address, descriptor, clients),
                    (true, Err(_)) => Ok(()),
                    (false, _) => self.sockets.attach_connecting(socket, descriptor, clients, &self.poller),
                };
                self.settle(now);
                self.calls.respond(call, &response(attached.and(result)), None);
                return self.progress(socket, now);
            }
            Waiting::Listen { socket, descriptor } => {
                let attached = match result {
                    Ok(_) => self.sockets.attach_listener(socket, descriptor.as_ref(), &self.poller),
                    Err(_) => Ok(()),
                };
                self.calls.respond(call, &response(attached.and(result)), None);
                return self.progress(socket, now);
            }
            Waiting::Accept { socket, flags } => {
                return self.accepted(stack, call, (socket, flags), result, now);
            }
            Waiting::Outstanding { socket } => match response(result) {
                Response::Value(value) => {
                    let in_pair = self.sockets.in_pair(socket);
                    Response::Value(value.first_chunk().map_or(value.clone(), |octets| {
                        (u32::from_ne_bytes(*octets) + in_pair).to_ne_bytes().to_vec()
                    }))
                }
                other => other,
            },
            Waiting::Shut { socket } => {
                self.progress(socket, now);
                response(result)
            }
            Waiting::Set { socket, option, descriptor } if result.is_ok() => {
                if let Some(descriptor) = descriptor {
                    self.sockets.datagrams_option(socket, &option, &descriptor);
                }
                if self.associations.has_local_rules() {
                    self.sockets.remember_option(socket, option);
                }
                response(result)
            }
            Waiting::Address { socket, .. } if result.is_ok() => {
                if self.associations.has_local_rules() {
                    self.sockets.remember_address(socket);
                }
                response(result)
            }
            Waiting::Set { .. }
            | Waiting::Address { .. }
            | Waiting::Plain { .. }
            | Waiting::Resolve
            | Waiting::Closed => response(result),
        };
        self.calls.respond(call, &answer, None);
    }

    /// Completes an `accept`.
    fn accepted(
        &mut self,
        stack: Stack,
        call: CallId,
        (listener, flags): (SocketId, i32),
        result: Result<Value, Errno>,
        now: Duration,
    ) {
        let Ok(Value::Accepted { socket: id, peer }) = result else {
            // The byte for the next connection comes first: the next `accept` may come at once.
            self.progress(listener, now);
            return self.calls.respond(call, &response(result), None);
        };
        let half = Half { stack, id };
        if let Ok((socket, descriptor)) = self.sockets.adopt(listener, half, flags, &self.poller) {
            self.calls.respond(call, &Response::Accepted { socket, peer }, Some(&descriptor));
            drop(descriptor);
            self.progress(socket, now);
        } else {
            self.sockets.abandon(half, &mut self.associations.at(now));
            self.settle(now);
            self.calls.respond(call, &Response::Failed(libc::ENOBUFS), None);
        }
    }
}
