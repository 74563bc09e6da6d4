//! What each request leads to.

use crate::agent::Agent;
use crate::call::{Call, Waiting, response};
use crate::choice::Choice;
use crate::end;
use crate::socket::{Form, Half, Socket};
use crate::socket_call::socket_call;
use crate::stack::Stack;
use resoa_calls::{Query, Request, Response, SocketId, SocketName, ioctl};
use resoa_protocol::message::{self, Ancillary, Create, Family, Kind};
use resoa_protocol::{CallId, DatagramPart, Errno, SocketCall, Value};
use rustix::fd::{AsFd, OwnedFd};
use rustix::net::{AddressFamily, SocketFlags, SocketType, bind, socket_with};
use std::io;
use std::time::Duration;

/// What socket(2) says of a family, a type and a protocol (`inet_create`).
fn create(family: i32, kind: i32, protocol: i32) -> Result<(Create, SocketFlags), i32> {
    const MOST_TYPES: i32 = 11;
    const MOST_PROTOCOLS: i32 = 263;
    let (kind, flags) = (kind & 0xf, kind & !0xf);
    if flags & !(libc::SOCK_NONBLOCK | libc::SOCK_CLOEXEC) != 0 {
        return Err(libc::EINVAL);
    }
    let family = match family {
        libc::AF_INET => Family::V4,
        libc::AF_INET6 => Family::V6,
        _ => return Err(libc::EAFNOSUPPORT),
    };
    if kind >= MOST_TYPES || !(0..MOST_PROTOCOLS).contains(&protocol) {
        return Err(libc::EINVAL);
    }
    let kind = match (kind, protocol) {
        (libc::SOCK_STREAM, 0 | libc::IPPROTO_TCP) => Kind::Stream,
        (libc::SOCK_DGRAM, 0 | libc::IPPROTO_UDP) => Kind::Datagram,
        (libc::SOCK_DGRAM, libc::IPPROTO_UDPLITE) => Kind::Lite,
        (libc::SOCK_RAW, 1..) => return Err(libc::EPERM),
        // `ping` without rights: of no group, as Linux comes (`net.ipv4.ping_group_range`).
        (libc::SOCK_DGRAM, libc::IPPROTO_ICMP) if family == Family::V4 => return Err(libc::EACCES),
        (libc::SOCK_DGRAM, libc::IPPROTO_ICMPV6) if family == Family::V6 => return Err(libc::EACCES),
        (libc::SOCK_STREAM | libc::SOCK_DGRAM | libc::SOCK_RAW, _) => return Err(libc::EPROTONOSUPPORT),
        _ => return Err(libc::ESOCKTNOSUPPORT),
    };
    let is_nonblocking = flags & libc::SOCK_NONBLOCK != 0;
    let flags = if is_nonblocking { SocketFlags::NONBLOCK } else { SocketFlags::empty() };
    Ok((Create { family, kind }, flags))
}

impl Agent {
    /// A request of a call.
    pub(crate) fn request(
        &mut self,
        call: CallId,
        connection: OwnedFd,
        request: Request,
        descriptor: Option<OwnedFd>,
        is_new: bool,
        now: Duration,
    ) {
        // It may have come in the midst of them. What happened to other sockets is nothing to an
        // `accept`.
        if !matches!(request, Request::Accept { .. }) {
            self.settle_ends(now);
        }
        let Some((connection, request)) = self.request_without_wait(call, connection, request, now) else {
            return;
        };
        self.calls.insert(call, Call::Asking { connection });
        let asked = match request {
            Request::Resolve(query) => {
                self.wait(call, Waiting::Resolve);
                let query = query_of(query);
                let stack = self.stack_of(&query);
                self.at_client(stack, now, |client, out| client.look_up(call, query, now, out));
                Ok(())
            }
            Request::Closed(socket) => {
                self.wait(call, Waiting::Closed);
                self.closed(call, socket, now);
                Ok(())
            }
            request => {
                // What was closed before must be closed for these: its address is free, and nobody
                // listens there.
                if matches!(request, Request::Bind { .. } | Request::Connect { .. } | Request::Listen { .. })
                {
                    self.hear_ends(now);
                }
                self.socket_request(call, request, descriptor, now)
            }
        };
        if let Err(error) = asked {
            self.respond(call, &Response::Failed(error), None);
        }
        // What has its answer already is not watched. Without it a call is not interrupted, and
        // comes to its end all the same.
        if let (true, Some(Call::Waiting { connection, .. })) = (is_new, self.calls.get(&call)) {
            let _ = self.watch_call(call, connection);
        }
    }

    /// A call at a socket's half.
    fn socket_request(
        &mut self,
        call: CallId,
        request: Request,
        descriptor: Option<OwnedFd>,
        now: Duration,
    ) -> Result<(), i32> {
        let (socket, what, waiting) = socket_call(request, descriptor, self.closes)?;
        // What the program has sent was before this.
        self.progress_first(socket, &what, now);
        let half = self.half(socket, &what, now).map_err(Errno::linux)?;
        self.wait(call, waiting);
        self.ask(call, socket, half, what, now);
        Ok(())
    }

    /// Lets a call wait.
    fn wait(&mut self, call: CallId, what: Waiting) {
        if let Some(Call::Asking { connection }) = self.calls.remove(&call) {
            self.calls.insert(call, Call::Waiting { connection, what });
        }
    }

    /// Asks the client's half, on behalf of a call that waits.
    fn ask(&mut self, call: CallId, socket: SocketId, half: Half, what: SocketCall, now: Duration) {
        self.names_itself(socket, &what);
        match what {
            SocketCall::Accept => self.claim(socket, now),
            SocketCall::LocalName if self.asks_for_name(socket, call) => return,
            SocketCall::Connect(_) | SocketCall::Disconnect => self.follow_flags(socket, half, call, now),
            _ => {}
        }
        if let Err(error) = self.may(socket, half, &what) {
            self.respond(call, &Response::Failed(error.linux()), None);
        } else if self.is_of_the_descriptor(socket, half, &what) {
            self.respond(call, &Response::Done, None);
        } else {
            self.call_half(half, call, what, now);
            self.progress(socket, now);
        }
    }

    /// Requests that are answered at once; any other is given back.
    fn request_without_wait(
        &mut self,
        call: CallId,
        connection: OwnedFd,
        request: Request,
        now: Duration,
    ) -> Option<(OwnedFd, Request)> {
        let (answer, descriptor) = match request {
            Request::Socket { family, kind, protocol, sees_data } => {
                match self.make((family, kind, protocol), sees_data) {
                    Ok((socket, descriptor)) => (Response::Descriptor(socket), Some(descriptor)),
                    Err(error) => (Response::Failed(error), None),
                }
            }
            Request::Status => (Response::Status(self.status()), None),
            Request::SendTo { socket, address: to, ancillary, octets: bytes, more } => {
                let part =
                    Ancillary::read(&ancillary).map(|ancillary| DatagramPart { to, ancillary, bytes, more });
                (self.send_to(socket, part, now), None)
            }
            Request::Ioctl { socket, command, .. } if ioctl::is_about_time(command) => {
                (self.time_of_last(socket, command), None)
            }
            Request::TakeUndelivered(socket) => (self.take_undelivered(socket, now), None),
            Request::SeesData(socket) => {
                self.datagrams_are_seen(socket, now);
                (Response::Done, None)
            }
            request => return Some((connection, request)),
        };
        self.calls.insert(call, Call::Asking { connection });
        self.respond(call, &answer, descriptor.as_ref());
        None
    }

    /// A datagram that has no place on the descriptor.
    fn send_to(&mut self, socket: SocketId, part: Option<DatagramPart>, now: Duration) -> Response {
        let Some(part) = part else { return Response::Failed(libc::EINVAL) };
        match self.datagram_apart(socket, part, now) {
            // If there is no room it is lost, as if a queue on the way were full.
            Ok(()) | Err(Errno::EAGAIN) => Response::Done,
            Err(error) => Response::Failed(error.linux()),
        }
    }

    /// What the descriptor cannot do though the client's half could.
    fn may(&self, socket: SocketId, half: Half, what: &SocketCall) -> Result<(), Errno> {
        let Some(stream) = self.stream(half) else { return Err(Errno::EBADF) };
        let form = self.sockets.get(&socket).map(|socket| &socket.form);
        let is_spent = matches!(form, Some(Form::Loose { is_spent: true }));
        match what {
            // A pair that was refused cannot be connected once more.
            SocketCall::Connect(_) | SocketCall::Listen { .. }
                if is_spent && stream.stage == resoa_protocol::Stage::Unconnected && !stream.untold =>
            {
                Err(Errno::ECONNABORTED)
            }
            SocketCall::Accept if stream.pending == 0 && stream.stage == resoa_protocol::Stage::Listening => {
                Err(Errno::EAGAIN)
            }
            _ => Ok(()),
        }
    }

    /// socket(2).
    fn make(
        &mut self,
        (family, kind, protocol): (i32, i32, i32),
        sees_data: bool,
    ) -> Result<(SocketId, OwnedFd), i32> {
        let (create, flags) = create(family, kind, protocol)?;
        if !self.has_a_stack() {
            return Err(libc::ENETDOWN);
        }
        let id = self.next_socket();
        let name = self.name(id);
        let made = || -> io::Result<(OwnedFd, Form)> {
            if create.kind != Kind::Stream {
                return self.datagram_pair(id, create.family, flags, sees_data);
            }
            let flags = flags | SocketFlags::CLOEXEC;
            let descriptor = socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None)?;
            bind(&descriptor, &name.address())?;
            end::prepare(descriptor.as_fd());
            Ok((descriptor, Form::Loose { is_spent: false }))
        };
        let (descriptor, form) = made().map_err(|error| error.raw_os_error().unwrap_or(libc::ENOBUFS))?;
        if matches!(form, Form::Loose { .. }) {
            if self.loose.is_empty() {
                self.swept = self.now();
            }
            self.loose.insert(id);
        }
        let socket = Socket {
            create,
            half: None,
            choice: Choice::default(),
            form,
            is_counted: false,
            closers: Vec::new(),
        };
        self.sockets.insert(id, socket);
        self.counts.made += 1;
        Ok((id, descriptor))
    }

    /// The client's half of a socket, which is made when it is needed.
    pub(crate) fn half(&mut self, id: SocketId, what: &SocketCall, now: Duration) -> Result<Half, Errno> {
        self.choose(id, what, now);
        let half = match self.sockets.get(&id).ok_or(Errno::EBADF)?.half {
            Some(half) => half,
            None => self.make_half(id, now)?,
        };
        if matches!(what, SocketCall::Bind(_) | SocketCall::Connect(_) | SocketCall::Listen { .. }) {
            self.count(id, half.stack);
        }
        Ok(half)
    }

    /// A socket is used for the first time.
    pub(crate) fn count(&mut self, id: SocketId, stack: Stack) {
        if let Some(socket) = self.sockets.get_mut(&id)
            && !std::mem::replace(&mut socket.is_counted, true)
        {
            match stack {
                Stack::Remote => self.counts.carried += 1,
                Stack::Local => self.counts.local += 1,
            }
        }
    }

    /// Whether a `connect` waits, its descriptor says.
    fn follow_flags(&mut self, socket: SocketId, half: Half, call: CallId, now: Duration) {
        let Some(Call::Waiting { what: Waiting::Connect { nonblocking, .. }, .. }) = self.calls.get(&call)
        else {
            return;
        };
        let what = SocketCall::SetNonblocking(*nonblocking);
        debug_assert!(self.halves.get(&half) == Some(&socket), "its own half");
        let flags = self.next_call();
        self.call_half(half, flags, what, now);
    }

    /// A call that waited has come to its end.
    pub(crate) fn finish(
        &mut self,
        stack: Stack,
        call: CallId,
        connection: OwnedFd,
        what: Waiting,
        result: Result<Value, Errno>,
        now: Duration,
    ) {
        let keep = |agent: &mut Self, what| {
            agent.calls.insert(call, Call::Waiting { connection, what });
        };
        match what {
            Waiting::Address { socket, again: Some(again) } if result == Err(Errno::EADDRINUSE) => {
                self.sweep(now);
                // Whoever found it: what another call's look has closed may have had the address,
                // too.
                let is_worth_it = self.closes > again.closes;
                let half =
                    if is_worth_it { self.half(socket, &again.what, now) } else { Err(Errno::EADDRINUSE) };
                keep(self, Waiting::Address { socket, again: None });
                match half {
                    Ok(half) => self.call_half(half, call, again.what, now),
                    Err(error) => self.respond(call, &Response::Failed(error.linux()), None),
                }
            }
            Waiting::Connect { socket, address, descriptor, .. } => {
                let is_datagram =
                    matches!(self.sockets.get(&socket).map(|socket| &socket.form), Some(Form::Datagram(_)));
                let attached = match (is_datagram, &result) {
                    (true, Ok(_)) => self.datagrams_connected(socket, address, descriptor, now),
                    (true, Err(_)) => Ok(()),
                    (false, _) => self.attach_connecting(socket, descriptor, now),
                };
                keep(self, Waiting::Plain { socket });
                self.respond(call, &response(attached.and(result)), None);
                self.progress(socket, now);
            }
            Waiting::Listen { socket, descriptor } => {
                let attached = if result.is_ok() { self.attach_listener(socket, descriptor) } else { Ok(()) };
                keep(self, Waiting::Plain { socket });
                self.respond(call, &response(attached.and(result)), None);
                self.progress(socket, now);
            }
            Waiting::Accept { socket, flags } => {
                keep(self, Waiting::Plain { socket });
                self.accepted(stack, call, socket, flags, result, now);
            }
            Waiting::Outstanding { socket } => {
                keep(self, Waiting::Plain { socket });
                let in_pair = self.in_pair(socket);
                let answer = match response(result) {
                    Response::Value(value) => {
                        Response::Value(value.first_chunk().map_or(value.clone(), |octets| {
                            (u32::from_ne_bytes(*octets) + in_pair).to_ne_bytes().to_vec()
                        }))
                    }
                    other => other,
                };
                self.respond(call, &answer, None);
            }
            Waiting::Shut { socket } => {
                keep(self, Waiting::Plain { socket });
                self.progress(socket, now);
                self.respond(call, &response(result), None);
            }
            what => {
                if result.is_ok() {
                    if let Waiting::Set { socket, option, descriptor: Some(descriptor) } = &what {
                        self.datagrams_option(*socket, option, descriptor);
                    }
                    self.remember(&what);
                }
                keep(self, what);
                self.respond(call, &response(result), None);
            }
        }
    }

    /// `close` of a descriptor of a socket that lingers.
    fn closed(&mut self, call: CallId, id: SocketId, now: Duration) {
        let name = self.name(id);
        if let Some(end) = self.sockets.get_mut(&id).and_then(|socket| socket.form.end()) {
            end.look(&name);
            self.progress(id, now);
        }
        match self.sockets.get_mut(&id) {
            Some(socket) if socket.is_closing() => socket.closers.push(call),
            _ => self.respond(call, &Response::Done, None),
        }
    }

    /// Whether a descriptor is this socket's.
    pub(crate) fn is_of(&self, descriptor: &OwnedFd, socket: SocketId) -> bool {
        SocketName::of(descriptor) == Some(self.name(socket))
    }
}

fn query_of(query: Query) -> message::Query {
    match query {
        Query::Host { host, service, family } => {
            let family = match family {
                libc::AF_INET => Some(Family::V4),
                libc::AF_INET6 => Some(Family::V6),
                _ => None,
            };
            message::Query::Host { host, service, family }
        }
        Query::Address(address) => message::Query::Address(address),
    }
}
