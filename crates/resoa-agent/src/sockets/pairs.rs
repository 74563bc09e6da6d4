//! Creation of sockets, descriptors and our ends.
//!
//! A stream's descriptor is unconnected at first. It becomes one end of a pair by being connected
//! to a listener of the agent. The accepted socket is our end. Other descriptors are created as one
//! end of a pair.

use super::Sockets;
use super::end::{self, End, Fill};
use super::listener::ListenerEnd;
use super::socket::{Form, Socket};
use super::stream::StreamEnd;
use crate::associations::Clients;
use crate::listening::Listening;
use crate::poller::{Poller, Token};
use crate::stack::Half;
use resoa_calls::{SocketId, SocketName};
use resoa_protocol::message::{Create, RsockType};
use resoa_protocol::{Errno, Stage, Stream};
use rustix::fd::{AsFd, OwnedFd};
use rustix::net::{
    AddressFamily, SocketAddrUnix, SocketFlags, SocketType, accept_with, bind, connect, getpeername,
    socket_with, socketpair,
};
use std::io;
use std::path::Path;
use std::time::Duration;

/// See the [module](self).
#[derive(Debug)]
pub(super) struct Pairs(pub(super) Listening);

impl Pairs {
    pub(super) fn path(&self) -> &Path {
        &self.0.path
    }

    /// Connects a descriptor to us. It may be blocking, but the queue is never full, because only
    /// the agent can connect there.
    pub(super) fn connect(&self, name: &SocketName, descriptor: &OwnedFd, fill: Fill) -> io::Result<End> {
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        connect(descriptor, &SocketAddrUnix::new(self.path())?)?;
        let ours = loop {
            let ours = accept_with(&self.0.fd, flags)?;
            if is_end_of(&ours, name) {
                break ours;
            }
        };
        End::new(ours, descriptor.as_fd(), fill)
    }
}

impl Sockets {
    /// Creates a socket and its program's descriptor, for socket(2).
    pub(crate) fn make(
        &mut self,
        create: Create,
        flags: SocketFlags,
        sees_data: bool,
        poller: &Poller,
        now: Duration,
    ) -> io::Result<(SocketId, OwnedFd)> {
        let id = self.names.next();
        let (descriptor, form) = if create.kind == RsockType::Stream {
            let flags = flags | SocketFlags::CLOEXEC;
            let descriptor = socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None)?;
            bind(&descriptor, &self.names.of(id).address())?;
            end::prepare(descriptor.as_fd());
            self.loose.insert(id, now);
            (descriptor, Form::Loose { is_spent: false })
        } else {
            self.datagram_pair(id, create.family, flags, sees_data, poller)?
        };
        self.table.insert(id, Socket::new(create, form));
        self.shared.counts.made += 1;
        Ok((id, descriptor))
    }

    /// Creates a socket and a descriptor for an accepted connection.
    pub(crate) fn adopt(
        &mut self,
        listener: SocketId,
        half: Half,
        flags: i32,
        poller: &Poller,
    ) -> io::Result<(SocketId, OwnedFd)> {
        let create = self.table.get(&listener).map(|socket| socket.create).ok_or(io::ErrorKind::NotFound)?;
        let id = self.names.next();
        let both = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        let (program, ours) = socketpair(AddressFamily::UNIX, SocketType::STREAM, both, None)?;
        bind(&program, &self.names.of(id).address())?;
        if flags & libc::SOCK_NONBLOCK == 0 {
            rustix::io::ioctl_fionbio(&program, false)?;
        }
        end::prepare(program.as_fd());
        let end = End::new(ours, program.as_fd(), Fill::Primer)?;
        poller.watch(Token::End(id), &end)?;
        self.table.insert(id, Socket::accepted(create, half, StreamEnd::connected(end)));
        self.halves.insert(half, id);
        self.shared.counts.accepted += 1;
        Ok((id, program))
    }

    /// Connects the descriptor that came with a `connect`, if the half is connected, or is
    /// connecting while the program does not wait.
    pub(crate) fn attach_connecting(
        &mut self,
        id: SocketId,
        descriptor: Option<&OwnedFd>,
        clients: &mut Clients,
        poller: &Poller,
    ) -> Result<(), Errno> {
        let (fill, form): (_, fn(End) -> Form) = match self.stream_of(id, clients) {
            Some(Stream { stage: Stage::Connecting, .. }) => {
                (Fill::Full, |end| Form::Stream(StreamEnd::connecting(end)))
            }
            Some(Stream { stage: Stage::Connected, .. }) => {
                (Fill::Primer, |end| Form::Stream(StreamEnd::connected(end)))
            }
            _ => return Ok(()),
        };
        if self.attach(id, descriptor, fill, form, poller)? {
            self.progress(id, clients);
        }
        Ok(())
    }

    /// Connects the descriptor that came with a `listen`.
    pub(crate) fn attach_listener(
        &mut self,
        id: SocketId,
        descriptor: Option<&OwnedFd>,
        poller: &Poller,
    ) -> Result<(), Errno> {
        let form = |end| Form::Listener(ListenerEnd::new(end));
        self.attach(id, descriptor, Fill::Listener, form, poller).map(drop)
    }

    /// Connects a descriptor to us, unless it already is or was. Returns whether it did.
    fn attach(
        &mut self,
        id: SocketId,
        descriptor: Option<&OwnedFd>,
        fill: Fill,
        form: impl FnOnce(End) -> Form,
        poller: &Poller,
    ) -> Result<bool, Errno> {
        let Some(socket) = self.table.get_mut(&id) else { return Ok(false) };
        let Form::Loose { is_spent: false } = socket.form else { return Ok(false) };
        let descriptor =
            descriptor.filter(|descriptor| self.names.is_of(descriptor, id)).ok_or(Errno::EBADF)?;
        let made = || {
            let end = self.pairs.connect(&self.names.of(id), descriptor, fill)?;
            poller.watch(Token::End(id), &end)?;
            io::Result::Ok(end)
        };
        socket.form = form(made().map_err(|_| Errno::ENOBUFS)?);
        self.loose.remove(id);
        Ok(true)
    }
}

fn is_end_of(ours: &OwnedFd, name: &SocketName) -> bool {
    let peer = getpeername(ours).ok().flatten();
    peer.and_then(|peer| SocketAddrUnix::try_from(peer).ok()).is_some_and(|peer| peer == name.address())
}
