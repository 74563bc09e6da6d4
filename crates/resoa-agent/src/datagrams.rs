//! Datagrams between a program's descriptor and the client's half, both ways.

use crate::agent::Agent;
use crate::packets::{Packets, ROOM};
use crate::socket::Form;
use crate::sys;
use resoa_calls::SocketId;
use resoa_carrier::Carrier;
use resoa_protocol::{Errno, SocketCall, Stage};
use rustix::fd::{AsFd, OwnedFd};
use rustix::net::{AddressFamily, SocketFlags, SocketType, bind, socketpair};
use std::io;
use std::net::SocketAddr;
use std::time::Duration;

impl<C: Carrier<Error = io::Error>> Agent<C> {
    /// A pair for a new datagram socket: the program's end, and its form here.
    pub(crate) fn datagram_pair(&self, id: SocketId, flags: SocketFlags) -> io::Result<(OwnedFd, Form)> {
        let both = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        let (program, ours) = socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, both, None)?;
        rustix::io::ioctl_fionbio(&program, flags.contains(SocketFlags::NONBLOCK))?;
        bind(&program, &self.name(id).address())?;
        sys::set_send_buffer(&program, ROOM);
        let packets = Packets::new(ours);
        self.watch(id, &packets)?;
        Ok((program, Form::Datagram(packets)))
    }

    /// A `connect` of a datagram socket has come to its end.
    pub(crate) fn datagrams_connected(
        &mut self,
        id: SocketId,
        peer: Option<SocketAddr>,
        descriptor: Option<OwnedFd>,
        now: Duration,
    ) -> Result<(), Errno> {
        let descriptor = descriptor.filter(|descriptor| self.is_of(descriptor, id)).ok_or(Errno::EBADF)?;
        // What was sent before it goes where it was to.
        self.progress(id, now);
        if let Some(Form::Datagram(packets)) = self.sockets.get_mut(&id).map(|socket| &mut socket.form) {
            packets.connect(peer, descriptor.as_fd());
        }
        Ok(())
    }

    /// All that can be done for a datagram socket.
    pub(crate) fn progress_datagrams(&mut self, id: SocketId, now: Duration) {
        if self.progressing.replace(id) == Some(id) {
            return;
        }
        self.datagrams_up(id, now);
        self.datagrams_down(id, now);
        self.progressing = None;
        let Some(socket) = self.sockets.get_mut(&id) else { return };
        let Form::Datagram(packets) = &mut socket.form else { return };
        if packets.hung_up {
            self.close(id, now);
        } else if let Some(stream) = socket.half.and_then(|half| self.client.stream(half)) {
            packets.shut(stream.receive_shut && stream.waiting == 0, stream.send_shut);
            if stream.stage == Stage::Failed {
                self.cut_loose(id, now);
            }
        }
    }

    fn datagrams_up(&mut self, id: SocketId, now: Duration) {
        loop {
            let Some(half) = self.first_use(id) else { return };
            let room = self.client.stream(half).map_or(0, |stream| stream.room);
            let Some(Form::Datagram(packets)) = self.sockets.get_mut(&id).map(|socket| &mut socket.form)
            else {
                return;
            };
            if room == 0 {
                return;
            }
            let Some((to, bytes)) = packets.take() else { return };
            self.counts.octets.0 += bytes.len() as u64;
            self.at_client(now, |client, out| {
                client.give_datagram(half, to, bytes, now, out);
            });
        }
    }

    fn datagrams_down(&mut self, id: SocketId, now: Duration) {
        loop {
            let Some(socket) = self.sockets.get_mut(&id) else { return };
            let (Form::Datagram(packets), Some(half)) = (&mut socket.form, socket.half) else { return };
            if packets.hung_up || !packets.has_room() {
                return;
            }
            let mut datagram = None;
            self.at_client(now, |client, out| datagram = client.take_datagram(half, now, out));
            let Some((from, bytes)) = datagram else { return };
            self.counts.octets.1 += bytes.len() as u64;
            if let Some(Form::Datagram(packets)) = self.sockets.get_mut(&id).map(|socket| &mut socket.form) {
                packets.write(from, bytes);
            }
        }
    }

    /// The client's half of a socket whose program may have sent something.
    fn first_use(&mut self, id: SocketId) -> Option<resoa_protocol::RsockId> {
        let what = SocketCall::LocalName;
        self.half(id, &what).ok()
    }
}
