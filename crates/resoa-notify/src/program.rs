//! The caller of a notified call as a [`Program`] for the engine of [`resoa_calls::interposer`].
//!
//! Its memory is that of another process, and waits check for the caller's signals.

use crate::caller::{Caller, Patience, WaitEnd};
use crate::message;
use crate::status::{BIND_SERVICE, has_privilege};
use resoa_calls::descriptor::DescriptorType;
use resoa_calls::interposer::datagrams::descriptor_of;
use resoa_calls::interposer::{Beside, Detour, Message, Packet, Piece, Program, Socket, Stop, total};
use resoa_calls::{Answered, Request, Response, SHORT};
use rustix::event::PollFlags;
use rustix::fd::{AsFd, BorrowedFd};
use rustix::io::Errno;
use rustix::net::sockopt::{Timeout, set_socket_broadcast, socket_broadcast};
use rustix::net::{RecvAncillaryBuffer, RecvFlags, SendFlags, recv, recvmsg, send};
use rustix::process::Signal;
use std::io::IoSliceMut;
use std::mem::MaybeUninit;
use std::time::Duration;

/// Time beyond SO_SNDTIMEO to wait for an answer to `connect`. The agent applies the timeout, too,
/// and only it always knows whether this is the first call.
const GRACE: Duration = Duration::from_secs(1);
/// Buffer size in bytes, enough for any datagram.
const ROOM: usize = 64 << 10;

impl Program for Caller<'_> {
    /// `read` passes the filter, because it also works on files.
    const SEES_DATA: bool = false;

    type Pieces = Vec<Piece>;

    fn read(&self, at: usize, place: &mut [u8]) -> Detour<()> {
        self.target.read_in(at, place)?;
        self.confirm()
    }

    fn write(&self, at: usize, octets: &[u8]) -> Detour<()> {
        self.confirm()?;
        Ok(self.target.write(at, octets)?)
    }

    fn ask<'a>(
        &self,
        request: &Request,
        descriptor: Option<BorrowedFd>,
        place: &'a mut [u8],
    ) -> Detour<Answered<'a>> {
        let patience = match request {
            // The byte on the descriptor stands for this connection. So the connection must be
            // taken now; it is closed again if the caller has ended.
            Request::Accept { .. } => Patience::Endless,
            _ => Patience::Killable,
        };
        match self.ask_until(request, descriptor, None, patience, place)?? {
            (Response::Failed(error), _) => Err(error.into()),
            // This process has no descriptor number left.
            (Response::Descriptor(_) | Response::Accepted { .. }, None) => Err(libc::ENFILE.into()),
            answer => Ok(answer),
        }
    }

    fn connect(&self, socket: &Socket, request: &Request) -> Detour<bool> {
        // A stream that is not fresh has been told to connect before.
        let is_first = socket.kind == DescriptorType::Datagram || socket.is_fresh();
        let until = socket.until(Timeout::Send).map(|until| until + GRACE);
        let mut place = [0; SHORT];
        let patience = Patience::Interruptible;
        match self.ask_until(request, Some(socket.as_fd()), until, patience, &mut place)? {
            Ok((Response::Done, _)) => Ok(false),
            Ok((Response::Sent, _)) => Ok(true),
            Ok((response, _)) => Err(response.other().into()),
            Err(WaitEnd::Gone) => Err(Stop::Gone),
            Err(ended) => {
                // The attempt continues without the caller. When the agent answers the next
                // request, it has noticed this and connected the descriptor: the next `connect` is
                // not the first.
                let _ = self.ask(&Request::PeerName(socket.id), None, &mut [0; SHORT]);
                match ended {
                    // SO_SNDTIMEO.
                    WaitEnd::Time if is_first => Err(libc::EINPROGRESS.into()),
                    WaitEnd::Time => Err(libc::EALREADY.into()),
                    ended => Err(ended.into()),
                }
            }
        }
    }

    fn may_bind_any_port(&self) -> bool {
        has_privilege(&self.target.status(), BIND_SERVICE)
    }

    fn has_number_left(&self, _: &Socket) -> Detour<()> {
        if self.target.has_number_left() { Ok(()) } else { Err(libc::EMFILE.into()) }
    }

    fn arrivals(&self, listener: &Socket) -> impl FnMut() -> Detour<usize> {
        let until = listener.until(Timeout::Recv);
        move || loop {
            match recv(listener, &mut [0; 1], RecvFlags::DONTWAIT) {
                Ok((_, count)) => return Ok(count),
                Err(Errno::AGAIN) if !listener.is_nonblocking() => {
                    self.wait(listener.as_fd(), PollFlags::IN, until, Patience::Interruptible)?;
                }
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// Tells the agent, at the first notified call on the socket, that the program uses such calls.
    /// A program that only uses `read` and `write`, which the filter passes, would take an error
    /// for an empty datagram.
    ///
    /// SO_BROADCAST, which has no meaning on AF_UNIX, marks that the agent knows. Such a mark stays
    /// with the descriptor.
    fn sees(&self, socket: &Socket) -> Detour<()> {
        if socket_broadcast(socket).unwrap_or(false) {
            return Ok(());
        }
        match self.ask(&Request::SeesData(socket.id), None, &mut [0; SHORT]) {
            Ok(_) => {
                let _ = set_socket_broadcast(socket, true);
                Ok(())
            }
            Err(Stop::Gone) => Err(Stop::Gone),
            // Without an agent the call itself fails.
            Err(_) => Ok(()),
        }
    }

    fn send_packet(&self, socket: &Socket, front: &mut [u8], pieces: &[Piece], flags: i32) -> Detour<()> {
        let mut octets = front.to_vec();
        octets.extend(self.target.gather(pieces)?);
        self.confirm()?;
        let patient = flags & libc::MSG_DONTWAIT == 0 && !socket.is_nonblocking();
        let until = socket.until(Timeout::Send);
        loop {
            match send(socket, &octets, SendFlags::NOSIGNAL | SendFlags::DONTWAIT) {
                Err(Errno::AGAIN) if patient => {
                    self.wait(socket.as_fd(), PollFlags::OUT, until, Patience::Interruptible)?;
                }
                sent => return Ok(sent.map(drop)?),
            }
        }
    }

    fn receive_packet(
        &self,
        socket: &Socket,
        front: &mut [u8],
        pieces: &[Piece],
        flags: i32,
    ) -> Detour<Packet> {
        let patient = flags & libc::MSG_DONTWAIT == 0 && !socket.is_nonblocking();
        let until = socket.until(Timeout::Recv);
        let mut how = RecvFlags::DONTWAIT | RecvFlags::TRUNC | RecvFlags::CMSG_CLOEXEC;
        how.set(RecvFlags::PEEK, flags & libc::MSG_PEEK != 0);
        let mut octets = vec![0; front.len() + total(pieces).min(ROOM)];
        loop {
            let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
            let mut beside = RecvAncillaryBuffer::new(&mut space);
            let found = match recvmsg(socket, &mut [IoSliceMut::new(&mut octets)], &mut beside, how) {
                Err(Errno::AGAIN) if patient => {
                    self.wait(socket.as_fd(), PollFlags::IN, until, Patience::Interruptible)?;
                    continue;
                }
                found => found?,
            };
            let beside = Beside::of(descriptor_of(&mut beside));
            let stored = found.bytes.min(octets.len());
            if let Some((in_front, payload)) = octets[..stored].split_at_checked(front.len()) {
                front.copy_from_slice(in_front);
                self.confirm()?;
                self.target.scatter(pieces, payload)?;
            }
            let octets = if flags & libc::MSG_TRUNC == 0 { stored } else { found.bytes };
            return Ok(Packet { octets, is_cut: stored < found.bytes, beside });
        }
    }

    fn message(&self, at: usize) -> Detour<Message<Vec<Piece>>> {
        let message = message::read(&self.target, at)?;
        self.confirm()?;
        Ok(message)
    }

    fn tell(&self, message: usize, name_length: usize, control_length: usize, flags: i32) -> Detour<()> {
        Ok(message::tell(&self.target, message, name_length, control_length, flags)?)
    }

    fn tell_length(&self, message: usize, length: u32) -> Detour<()> {
        Ok(self.target.write(message + message::LENGTH, &length.to_ne_bytes())?)
    }

    fn is_readable(&self, at: usize, length: usize) -> Detour<()> {
        self.read(at, &mut vec![0; length])
    }

    fn raise_pipe(&self) {
        self.target.signal(Signal::PIPE);
    }
}
