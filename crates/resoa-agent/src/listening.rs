//! Listeners: their descriptor is readable while a connection waits, by an octet for each, and
//! never writable.

use crate::agent::Agent;
use crate::call::response;
use crate::choice::Choice;
use crate::end::{End, Fill, prepare};
use crate::socket::{Form, Half, Socket};
use crate::stack::Stack;
use resoa_calls::{Response, SocketId};
use resoa_protocol::{CallId, Errno, SocketCall, Stage, Value};
use rustix::fd::{AsFd, OwnedFd};
use rustix::net::{AddressFamily, SocketFlags, SocketType, bind, socketpair};
use std::io;
use std::time::Duration;

/// After so long an octet that was read is nobody's: whoever read it was interrupted before it
/// asked, or does not live any more.
const LOST: Duration = Duration::from_millis(500);

impl Agent {
    /// Octets for connections that have come; the end if none can come any more.
    pub(crate) fn progress_listener(&mut self, id: SocketId, now: Duration) {
        let stream = self.stream_of(id);
        let form = self.sockets.get_mut(&id).map(|socket| &mut socket.form);
        let (Some(Form::Listener { end, announced }), Some(stream)) = (form, stream) else { return };
        if end.hung_up {
            return self.close(id, now);
        }
        let wanted = match stream.stage {
            Stage::Listening => stream.pending,
            // It was shut: who accepts is woken, and told EINVAL, one after the other. With an end
            // it could not listen again.
            Stage::Unconnected => 1,
            _ => return end.shut(),
        };
        while *announced < wanted && end.announce() {
            *announced += 1;
        }
        if end.announcements(&mut self.weights) < *announced && !std::mem::replace(&mut end.is_slow, true) {
            self.slow.push_back((now + LOST, id));
        }
    }

    /// Octets that were read, and nobody has asked since, are written again.
    pub(crate) fn announce_again(&mut self, id: SocketId, now: Duration) {
        if let Some(Form::Listener { end, announced }) =
            self.sockets.get_mut(&id).map(|socket| &mut socket.form)
        {
            end.is_slow = false;
            let unread = end.announcements(&mut self.weights);
            // Somebody may be just about to ask.
            if *announced > unread && end.read_at + LOST <= now {
                *announced = unread;
            }
            self.progress(id, now);
        }
    }

    /// The program has taken an octet.
    pub(crate) fn claim(&mut self, id: SocketId, now: Duration) {
        if let Some(Form::Listener { end, announced }) =
            self.sockets.get_mut(&id).map(|socket| &mut socket.form)
        {
            *announced = announced.saturating_sub(1);
            end.read_at = now;
        }
    }

    /// An `accept` has come to its end.
    pub(crate) fn accepted(
        &mut self,
        stack: Stack,
        call: CallId,
        listener: SocketId,
        flags: i32,
        result: Result<Value, Errno>,
        now: Duration,
    ) {
        let Ok(Value::Accepted { socket: id, peer }) = result else {
            // The octet for the next one first: it may come at once.
            self.progress(listener, now);
            self.respond(call, &response(result), None);
            return;
        };
        let half = Half { stack, id };
        if let Ok((socket, descriptor)) = self.adopt(listener, half, flags) {
            self.counts.accepted += 1;
            self.respond(call, &Response::Accepted { socket, peer }, Some(&descriptor));
            drop(descriptor);
            self.progress(socket, now);
        } else {
            let close = self.next_call();
            self.call_half(half, close, SocketCall::Close { may_wait: false }, now);
            self.respond(call, &Response::Failed(libc::ENOBUFS), None);
        }
    }

    /// A descriptor for a connection that was accepted.
    fn adopt(&mut self, listener: SocketId, half: Half, flags: i32) -> io::Result<(SocketId, OwnedFd)> {
        let create =
            self.sockets.get(&listener).map(|socket| socket.create).ok_or(io::ErrorKind::NotFound)?;
        let id = self.next_socket();
        let (program, ours) = socketpair(
            AddressFamily::UNIX,
            SocketType::STREAM,
            SocketFlags::CLOEXEC | SocketFlags::NONBLOCK,
            None,
        )?;
        bind(&program, &self.name(id).address())?;
        if flags & libc::SOCK_NONBLOCK == 0 {
            rustix::io::ioctl_fionbio(&program, false)?;
        }
        prepare(program.as_fd());
        let end = End::new(ours, program.as_fd(), Fill::Primer)?;
        self.watch(id, &end)?;
        let form = Form::Stream { end, is_connecting: false, is_up_shut: false };
        self.sockets.insert(
            id,
            Socket {
                create,
                half: Some(half),
                choice: Choice::made(half.stack),
                form,
                is_counted: true,
                closers: Vec::new(),
            },
        );
        self.halves.insert(half, id);
        Ok((id, program))
    }
}
