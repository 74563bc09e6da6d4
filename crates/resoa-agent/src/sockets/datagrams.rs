//! Datagrams between a program's descriptor and the client's half, in both directions.

use super::Sockets;
use super::own_calls::Purpose;
use super::packets::{Name, Packets, ROOM};
use super::socket::{Form, Found, Socket};
use crate::associations::Clients;
use crate::poller::{Poller, Token};
use crate::stack::Half;
use crate::sys;
use resoa_calls::{Response, SocketId, ioctl, sender};
use resoa_protocol::message::{Family, Operation};
use resoa_protocol::{CallId, Client, DatagramPart, Errno, SocketCall, Stage};
use rustix::fd::{AsFd, OwnedFd};
use rustix::net::{AddressFamily, SocketFlags, SocketType, bind, socketpair};
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Returns the time on this host's clock, for time stamps of datagrams.
fn time_of_day() -> Duration {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default()
}

impl Sockets {
    /// Creates the pair of a new datagram socket. Returns the program's end, and the form of the
    /// socket.
    pub(super) fn datagram_pair(
        &self,
        id: SocketId,
        family: Family,
        flags: SocketFlags,
        sees_data: bool,
        poller: &Poller,
    ) -> io::Result<(OwnedFd, Form)> {
        let both = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        let (program, ours) = socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, both, None)?;
        rustix::io::ioctl_fionbio(&program, flags.contains(SocketFlags::NONBLOCK))?;
        bind(&program, &self.names.of(id).address())?;
        sys::set_send_buffer(&program, ROOM);
        let packets = Packets::new(ours, sees_data);
        resoa_calls::descriptor::set_mark(&program, packets.mark());
        sender::set(&program, sender::Property::V6, family == Family::V6);
        poller.watch(Token::End(id), &packets)?;
        Ok((program, Form::Datagram(packets)))
    }

    fn packets(&mut self, id: SocketId) -> Option<&mut Packets> {
        match self.table.get_mut(&id).map(|socket| &mut socket.form) {
            Some(Form::Datagram(packets)) => Some(packets),
            _ => None,
        }
    }

    pub(crate) fn is_datagram(&self, id: SocketId) -> bool {
        matches!(self.table.get(&id).map(|socket| &socket.form), Some(Form::Datagram(_)))
    }

    /// Completes a `connect` of a datagram socket.
    pub(crate) fn datagrams_connected(
        &mut self,
        id: SocketId,
        peer: Option<SocketAddr>,
        descriptor: Option<&OwnedFd>,
        clients: &mut Clients,
    ) -> Result<(), Errno> {
        let descriptor =
            descriptor.filter(|descriptor| self.names.is_of(descriptor, id)).ok_or(Errno::EBADF)?;
        // Earlier datagrams go to their own destinations.
        self.progress(id, clients);
        let is_named = self.stream_of(id, clients).is_some_and(|stream| stream.named);
        let Some(Socket { create, form, .. }) = self.table.get_mut(&id) else { return Ok(()) };
        if let Form::Datagram(packets) = form {
            // Datagrams from there have the mapped address.
            let peer = peer.map(|peer| match (create.family, peer.ip()) {
                (Family::V6, IpAddr::V4(ip)) => SocketAddr::new(ip.to_ipv6_mapped().into(), peer.port()),
                _ => peer,
            });
            packets.connect(peer, descriptor.as_fd());
            if !is_named && packets.name == Name::Given {
                packets.name = Name::None;
            }
        }
        Ok(())
    }

    /// Completes a `setsockopt` of a datagram socket that passed the descriptor along.
    pub(crate) fn datagrams_option(
        &mut self,
        id: SocketId,
        (option, value): &((i32, i32), Vec<u8>),
        descriptor: &OwnedFd,
    ) {
        if self.names.is_of(descriptor, id)
            && let Some(packets) = self.packets(id)
        {
            packets.option_is_set(*option, value, descriptor.as_fd());
        }
    }

    /// Takes an undelivered datagram (`recvmsg` with MSG_ERRQUEUE). If no error is left, the one
    /// among the datagrams is withdrawn.
    pub(crate) fn take_undelivered(&mut self, id: SocketId, clients: &mut Clients) -> Response {
        let Some(socket) = self.table.get(&id) else { return Response::Failed(libc::EBADF) };
        let taken = socket
            .half
            .and_then(|half| clients.half(half).at(|client, id, _, _| client.take_undelivered(id)));
        self.progress(id, clients);
        match taken {
            Some((to, ancillary, octets)) => {
                Response::Undelivered { to, ancillary: ancillary.octets().to_vec(), octets }
            }
            None => Response::Failed(libc::EAGAIN),
        }
    }

    /// Returns the time of the last datagram, for SIOCGSTAMP and its variants.
    pub(crate) fn time_of_last(&mut self, id: SocketId, command: u32) -> Response {
        let Some(packets) = self.packets(id) else { return Response::Failed(libc::EBADF) };
        let Some(time) = packets.stamp else { return Response::Failed(libc::ENOENT) };
        let is_in_us = ioctl::SIOCGSTAMP.contains(&command);
        let part = if is_in_us { time.subsec_micros() } else { time.subsec_nanos() };
        Response::Value([time.as_secs(), u64::from(part)].map(u64::to_ne_bytes).concat())
    }

    /// Allows errors of a socket among its datagrams from now on. A pending one is reported at
    /// once.
    pub(crate) fn datagrams_are_seen(&mut self, id: SocketId, clients: &mut Clients) {
        if let Some(packets) = self.packets(id) {
            packets.show_errors();
            self.progress(id, clients);
        }
    }

    /// Processes everything that is possible for a datagram socket.
    pub(super) fn pass_datagrams(&mut self, id: SocketId, clients: &mut Clients) -> Found {
        self.datagrams_up(id, clients);
        self.datagrams_down(id, clients);
        let stream = self.stream_of(id, clients);
        let Some(packets) = self.packets(id) else { return Found::Open };
        if packets.is_closed() {
            return Found::Closed;
        }
        let Some(stream) = stream else { return Found::Open };
        packets.tell_error(stream.failed);
        packets.shut(stream.receive_shut && stream.waiting == 0, stream.send_shut);
        if stream.stage == Stage::Failed { Found::Failed } else { Found::Open }
    }

    fn datagrams_up(&mut self, id: SocketId, clients: &mut Clients) {
        // Datagrams that the program has sent before it closed are delivered even without room,
        // because a kernel would have sent them already.
        let is_last = self.table.get(&id).is_some_and(Socket::is_closing);
        loop {
            // A socket without a choice has room, because it has not sent yet. Parts of a datagram
            // need no room.
            if !is_last && self.has_chosen(id, clients) {
                let half = self.half(id, &SocketCall::LocalName, clients).ok();
                let stream = half.and_then(|half| clients.stream(half));
                if stream.is_none_or(|stream| stream.room == 0 && !stream.is_corked) {
                    return;
                }
            }
            let Some(part) = self.packets(id).and_then(Packets::take) else { return };
            // No call waits for the error of a datagram without a destination, or of one that is
            // too long together with its earlier parts.
            let _ = self.datagram_up(id, part, is_last, clients);
        }
    }

    /// Takes everything from the descriptor, before a part that is sent by a request. Datagrams
    /// without room are lost, as if a queue on the path were full: after the part they would be
    /// added to it.
    fn datagrams_up_at_once(&mut self, id: SocketId, clients: &mut Clients) {
        while let Some(part) = self.packets(id).and_then(Packets::take) {
            let _ = self.datagram_up(id, part, false, clients);
        }
    }

    /// Sends a datagram, or a part of one, that the descriptor cannot carry.
    ///
    /// # Errors
    /// As [`datagram_up`](Self::datagram_up).
    pub(crate) fn datagram_apart(
        &mut self,
        id: SocketId,
        part: DatagramPart,
        clients: &mut Clients,
    ) -> Result<(), Errno> {
        // Datagrams on the descriptor were sent before.
        self.progress(id, clients);
        let stream = self.stream_of(id, clients);
        if part.more || stream.is_some_and(|stream| stream.begun || stream.is_corked) {
            self.datagrams_up_at_once(id, clients);
        }
        self.datagram_up(id, part, false, clients)
    }

    /// Sends a datagram of the program, or a part of one.
    ///
    /// # Errors
    /// As [`give_datagram`](resoa_protocol::Client::give_datagram); ENETDOWN without a server.
    fn datagram_up(
        &mut self,
        id: SocketId,
        part: DatagramPart,
        is_last: bool,
        clients: &mut Clients,
    ) -> Result<(), Errno> {
        let has_begun = self.stream_of(id, clients).is_some_and(|stream| stream.begun);
        let packets = self.packets(id).ok_or(Errno::EBADF)?;
        // Neither the datagram nor the socket has a destination. So it is not sent, chooses no
        // stack, and gives the socket no address.
        if part.to.is_none() && packets.peer.is_none() && !has_begun {
            return Err(Errno::EDESTADDRREQ);
        }
        let is_first = packets.name == Name::None;
        self.choose_by_datagram(id, part.to, clients);
        // Without a server it is lost, as without a route.
        let half = self.half(id, &SocketCall::LocalName, clients)?;
        self.count(id, half.stack);
        if is_first {
            self.give_name(id, half, clients);
        }
        self.shared.counts.octets.0 += part.bytes.len() as u64;
        clients.half(half).at(|client, id, now, out| client.give_datagram(id, part, is_last, now, out))
    }

    /// Gives a socket an address with its first datagram, as natively. The datagram does not wait
    /// for the answer.
    fn give_name(&mut self, id: SocketId, half: Half, clients: &mut Clients) {
        let Some(socket) = self.table.get_mut(&id) else { return };
        socket.choice.is_bound = true;
        if let Form::Datagram(packets) = &mut socket.form {
            packets.name = Name::Asked { askers: Vec::new() };
        }
        let any = match socket.create.family {
            Family::V4 => (Ipv4Addr::UNSPECIFIED, 0).into(),
            Family::V6 => (Ipv6Addr::UNSPECIFIED, 0).into(),
        };
        let call = self.shared.own.begin(Purpose::Name(id));
        clients.half(half).call(call, Operation::Bind(any));
    }

    /// Processes data that the program has sent before a call. For streams this matters only to
    /// options, which apply to later data (TCP_CORK).
    pub(crate) fn progress_first(&mut self, id: SocketId, what: &SocketCall, clients: &mut Clients) {
        let option = match what {
            SocketCall::Operation(Operation::SetOption { level, name, .. }) => Some((*level, *name)),
            _ => None,
        };
        let is_cork = matches!(option, Some((libc::SOL_UDP | libc::IPPROTO_UDPLITE, libc::UDP_CORK)));
        match self.table.get(&id).map(|socket| &socket.form) {
            Some(Form::Datagram(_)) => {
                self.progress(id, clients);
                if is_cork {
                    self.datagrams_up_at_once(id, clients);
                }
            }
            Some(Form::Stream(_)) if option.is_some() => self.progress(id, clients),
            _ => {}
        }
    }

    /// Notes that a call gives a datagram socket an address, so that a datagram need not.
    pub(crate) fn names_itself(&mut self, id: SocketId, what: &SocketCall) {
        if let Some(packets) = self.packets(id)
            && packets.name == Name::None
            && matches!(what, SocketCall::Operation(Operation::Bind(_) | Operation::Connect(_)))
        {
            packets.name = Name::Given;
        }
    }

    /// Returns whether a call that asks for the address has to wait for it, and queues it.
    pub(crate) fn asks_for_name(&mut self, id: SocketId, call: CallId) -> bool {
        match self.packets(id).map(|packets| &mut packets.name) {
            Some(Name::Asked { askers }) => {
                askers.push(call);
                true
            }
            _ => false,
        }
    }

    /// Answers the waiting calls once the socket has an address, or has failed to get one.
    pub(super) fn named(&mut self, id: SocketId, clients: &mut Clients) {
        let Some(socket) = self.table.get_mut(&id) else { return };
        let (Form::Datagram(packets), Some(half)) = (&mut socket.form, socket.half) else { return };
        let Name::Asked { askers } = std::mem::replace(&mut packets.name, Name::Given) else { return };
        for call in askers {
            clients.half(half).call(call, SocketCall::LocalName);
        }
    }

    fn datagrams_down(&mut self, id: SocketId, clients: &mut Clients) {
        let Some(socket) = self.table.get_mut(&id) else { return };
        let (Form::Datagram(packets), Some(half)) = (&mut socket.form, socket.half) else { return };
        while !packets.is_closed() && packets.has_room() {
            let Some((from, ancillary, bytes)) = clients.half(half).at(Client::take_datagram) else { return };
            self.shared.counts.octets.1 += bytes.len() as u64;
            packets.write(from, &ancillary, bytes, time_of_day);
        }
    }
}
