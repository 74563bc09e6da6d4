//! What each request leads to.

use crate::agent::Agent;
use crate::call::{Call, Waiting, response};
use crate::end;
use crate::socket::{Form, Socket};
use resoa_calls::{Query, Request, Response, SocketId, SocketName};
use resoa_carrier::Carrier;
use resoa_protocol::message::{self, Create, Family, Half, Kind};
use resoa_protocol::{CallId, Errno, RsockId, SocketCall, Value};
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
        (libc::SOCK_RAW, 1..) => return Err(libc::EPERM),
        (libc::SOCK_STREAM | libc::SOCK_DGRAM | libc::SOCK_RAW, _) => return Err(libc::EPROTONOSUPPORT),
        _ => return Err(libc::ESOCKTNOSUPPORT),
    };
    let is_nonblocking = flags & libc::SOCK_NONBLOCK != 0;
    let flags = if is_nonblocking { SocketFlags::NONBLOCK } else { SocketFlags::empty() };
    Ok((Create { family, kind }, flags))
}

/// `SHUT_…`
fn half_of(how: i32) -> Option<Half> {
    match how {
        libc::SHUT_RD => Some(Half::Read),
        libc::SHUT_WR => Some(Half::Write),
        libc::SHUT_RDWR => Some(Half::Both),
        _ => None,
    }
}

impl<C: Carrier<Error = io::Error>> Agent<C> {
    fn respond_with_socket(&mut self, call: CallId, family: i32, kind: i32, protocol: i32) {
        match self.make(family, kind, protocol) {
            Ok((socket, descriptor)) => {
                self.respond(call, &Response::Descriptor(socket), Some(&descriptor));
            }
            Err(error) => self.respond(call, &Response::Failed(error), None),
        }
    }

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
        match request {
            Request::Socket { family, kind, protocol } => {
                self.calls.insert(call, Call::Asking { connection });
                self.respond_with_socket(call, family, kind, protocol);
                return;
            }
            Request::Status => {
                let status = Response::Status(self.status());
                self.calls.insert(call, Call::Asking { connection });
                self.respond(call, &status, None);
                return;
            }
            Request::Resolve(query) => {
                self.wait(call, connection, Waiting::Resolve, is_new);
                let query = query_of(query);
                self.at_client(now, |client, out| client.look_up(call, query, now, out));
                return;
            }
            Request::SendTo { socket, address, octets } => {
                self.calls.insert(call, Call::Asking { connection });
                let sent = self.send_elsewhere(socket, address, octets, now);
                let answer = sent.map_or_else(|error| Response::Failed(error.linux()), |()| Response::Done);
                self.respond(call, &answer, None);
                return;
            }
            Request::Closed(socket) => {
                self.wait(call, connection, Waiting::Closed, is_new);
                self.closed(call, socket, now);
                return;
            }
            _ => {}
        }
        let (socket, what, waiting) = match request {
            Request::Bind { socket, address } => {
                let what = SocketCall::Bind(address);
                let again = Some((what.clone(), None));
                (socket, what, Waiting::Address { socket, again })
            }
            Request::Connect { socket, address, nonblocking } => {
                let what = address.map_or(SocketCall::Disconnect, SocketCall::Connect);
                self.set_nonblocking(socket, nonblocking, now);
                (socket, what, Waiting::Connect { socket, address, descriptor })
            }
            Request::Listen { socket, backlog } => {
                (socket, SocketCall::Listen { backlog }, Waiting::Listen { socket, descriptor })
            }
            Request::Accept { socket, flags } => {
                (socket, SocketCall::Accept, Waiting::Accept { socket, flags })
            }
            Request::Shutdown { socket, how } => {
                let Some(half) = half_of(how) else {
                    self.calls.insert(call, Call::Asking { connection });
                    self.respond(call, &Response::Failed(libc::EINVAL), None);
                    return;
                };
                (socket, SocketCall::Shutdown(half), Waiting::Shut { socket })
            }
            Request::SetOption { socket, level, name, value } => {
                (socket, SocketCall::SetOption { level, name, value }, Waiting::Plain { socket })
            }
            Request::GetOption { socket, level, name, length } => {
                (socket, SocketCall::GetOption { level, name, length }, Waiting::Plain { socket })
            }
            Request::Ioctl { socket, command, argument } => {
                let is_outstanding = u64::from(command) == libc::TIOCOUTQ;
                let waiting =
                    if is_outstanding { Waiting::Outstanding { socket } } else { Waiting::Plain { socket } };
                (socket, SocketCall::Ioctl { command, argument }, waiting)
            }
            Request::LocalName(socket) => (socket, SocketCall::LocalName, Waiting::Plain { socket }),
            Request::PeerName(socket) => (socket, SocketCall::PeerName, Waiting::Plain { socket }),
            Request::Socket { .. }
            | Request::Status
            | Request::Resolve(_)
            | Request::Closed(_)
            | Request::SendTo { .. } => return,
        };
        let is_asking = matches!(what, SocketCall::LocalName);
        match self.half(socket, &what) {
            Ok(half) => {
                // What the program has sent was before this.
                self.progress_datagrams_first(socket, &what, now);
                if let Waiting::Accept { .. } = waiting {
                    self.claim(socket, now);
                }
                self.wait(call, connection, waiting, is_new);
                if is_asking && self.asks_for_name(socket, call) {
                    return;
                }
                if let Err(error) = self.may(socket, half, &what) {
                    self.respond(call, &Response::Failed(error.linux()), None);
                } else {
                    self.call_half(half, call, what, now);
                    self.progress(socket, now);
                }
            }
            Err(error) => {
                self.calls.insert(call, Call::Asking { connection });
                self.respond(call, &Response::Failed(error.linux()), None);
            }
        }
    }

    /// What the descriptor cannot do though the client's half could.
    fn may(&self, socket: SocketId, half: RsockId, what: &SocketCall) -> Result<(), Errno> {
        let Some(stream) = self.client.stream(half) else { return Err(Errno::EBADF) };
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

    /// Lets a call wait.
    fn wait(&mut self, call: CallId, connection: OwnedFd, what: Waiting, is_new: bool) {
        if is_new {
            // Without it the call is not interrupted, and comes to its end all the same.
            let _ = self.watch_call(call, &connection);
        }
        self.calls.insert(call, Call::Waiting { connection, what });
    }

    /// socket(2).
    fn make(&mut self, family: i32, kind: i32, protocol: i32) -> Result<(SocketId, OwnedFd), i32> {
        let (create, flags) = create(family, kind, protocol)?;
        if !self.association.is_registered() {
            return Err(libc::ENETDOWN);
        }
        let id = self.next_socket();
        let name = self.name(id);
        let made = || -> io::Result<(OwnedFd, Form)> {
            if create.kind == Kind::Datagram {
                return self.datagram_pair(id, flags);
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
        let is_carried = create.kind == Kind::Datagram;
        self.counts.carried += u64::from(is_carried);
        let socket = Socket { create, half: None, form, is_carried, closers: Vec::new() };
        self.sockets.insert(id, socket);
        self.counts.made += 1;
        Ok((id, descriptor))
    }

    /// The client's half of a socket, which is made when it is needed.
    pub(crate) fn half(&mut self, id: SocketId, what: &SocketCall) -> Result<RsockId, Errno> {
        let socket = self.sockets.get_mut(&id).ok_or(Errno::EBADF)?;
        if matches!(what, SocketCall::Bind(_) | SocketCall::Connect(_) | SocketCall::Listen { .. })
            && !std::mem::replace(&mut socket.is_carried, true)
        {
            self.counts.carried += 1;
        }
        if let Some(half) = socket.half {
            return Ok(half);
        }
        let half = self.client.socket(socket.create)?;
        socket.half = Some(half);
        self.halves.insert(half, id);
        Ok(half)
    }

    fn set_nonblocking(&mut self, socket: SocketId, nonblocking: bool, now: Duration) {
        let what = SocketCall::SetNonblocking(nonblocking);
        if let Ok(half) = self.half(socket, &what) {
            let call = self.next_call();
            self.call_half(half, call, what, now);
        }
    }

    /// A call that waited has come to its end.
    pub(crate) fn finish(
        &mut self,
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
            Waiting::Address { socket, again: Some((what, _)) }
                if result == Err(Errno::EADDRINUSE) && self.sweep(now) =>
            {
                keep(self, Waiting::Address { socket, again: None });
                if let Ok(half) = self.half(socket, &what) {
                    self.call_half(half, call, what, now);
                }
            }
            Waiting::Connect { socket, address, descriptor } => {
                let is_datagram =
                    matches!(self.sockets.get(&socket).map(|socket| &socket.form), Some(Form::Datagram(_)));
                let attached = match (is_datagram, &result) {
                    (true, Ok(_)) => self.datagrams_connected(socket, address, descriptor, now),
                    (true, Err(_)) => Ok(()),
                    (false, _) => self.attach_connecting(socket, descriptor, now),
                };
                keep(self, Waiting::Plain { socket });
                let answer =
                    attached.map_or_else(|error| Response::Failed(error.linux()), |()| response(result));
                self.respond(call, &answer, None);
                self.progress(socket, now);
            }
            Waiting::Listen { socket, descriptor } => {
                let attached = match result {
                    Ok(_) => self.attach_listener(socket, descriptor),
                    Err(_) => Ok(()),
                };
                keep(self, Waiting::Plain { socket });
                let answer =
                    attached.map_or_else(|error| Response::Failed(error.linux()), |()| response(result));
                self.respond(call, &answer, None);
                self.progress(socket, now);
            }
            Waiting::Accept { socket, flags } => {
                keep(self, Waiting::Plain { socket });
                self.accepted(call, socket, flags, result, now);
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
