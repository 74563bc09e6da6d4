//! A program's descriptor becomes one end of a pair: it is connected to a socket that the agent
//! listens at, and what comes out there is our end.

use crate::agent::Agent;
use crate::end::{End, Fill};
use crate::socket::Form;
use resoa_calls::{SocketId, SocketName};
use resoa_protocol::{Errno, Stage};
use rustix::fd::{AsFd, OwnedFd};
use rustix::net::{SocketAddrUnix, SocketFlags, accept_with, connect, getpeername};
use std::io;
use std::time::Duration;

impl Agent {
    /// Connects the descriptor that came with a `connect` if there is reason to: the connection is
    /// there, or comes while the program does not wait for it.
    pub(crate) fn attach_connecting(
        &mut self,
        id: SocketId,
        descriptor: Option<OwnedFd>,
        now: Duration,
    ) -> Result<(), Errno> {
        let Some(socket) = self.sockets.get(&id) else { return Ok(()) };
        let Form::Loose { is_spent: false } = socket.form else { return Ok(()) };
        let stage = self.stream_of(id).map(|stream| stream.stage);
        let is_connecting = match stage {
            Some(Stage::Connecting) => true,
            Some(Stage::Connected) => false,
            _ => return Ok(()),
        };
        let descriptor = descriptor.filter(|descriptor| self.is_of(descriptor, id)).ok_or(Errno::EBADF)?;
        let fill = if is_connecting { Fill::Full } else { Fill::Primer };
        let end = self.pair(id, &descriptor, fill).map_err(|_| Errno::ENOBUFS)?;
        self.take_form(id, Form::Stream { end, is_connecting, is_up_shut: false });
        drop(descriptor);
        self.progress(id, now);
        Ok(())
    }

    /// The same for `listen`.
    pub(crate) fn attach_listener(&mut self, id: SocketId, descriptor: Option<OwnedFd>) -> Result<(), Errno> {
        let Some(Form::Loose { is_spent: false }) = self.sockets.get(&id).map(|socket| &socket.form) else {
            return Ok(());
        };
        let descriptor = descriptor.filter(|descriptor| self.is_of(descriptor, id)).ok_or(Errno::EBADF)?;
        let end = self.pair(id, &descriptor, Fill::Listener).map_err(|_| Errno::ENOBUFS)?;
        self.take_form(id, Form::Listener { end, announced: 0 });
        Ok(())
    }

    fn take_form(&mut self, id: SocketId, form: Form) {
        self.loose.remove(&id);
        if let Some(socket) = self.sockets.get_mut(&id) {
            socket.form = form;
        }
    }

    /// Connects a descriptor to us. It is blocking, perhaps; but nobody waits before it, as others
    /// than we cannot connect there.
    fn pair(&self, id: SocketId, descriptor: &OwnedFd, fill: Fill) -> io::Result<End> {
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        connect(descriptor, &SocketAddrUnix::new(&self.pairs_at.path)?)?;
        let ours = loop {
            let ours = accept_with(&self.pairs_at.fd, flags)?;
            if is_end_of(&ours, &self.name(id)) {
                break ours;
            }
        };
        let end = End::new(ours, descriptor.as_fd(), fill)?;
        self.watch(id, &end)?;
        Ok(end)
    }
}

fn is_end_of(ours: &OwnedFd, name: &SocketName) -> bool {
    let peer = getpeername(ours).ok().flatten();
    peer.and_then(|peer| SocketAddrUnix::try_from(peer).ok()).is_some_and(|peer| peer == name.address())
}
