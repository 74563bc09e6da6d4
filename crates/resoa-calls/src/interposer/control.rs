//! `bind`, `connect`, `listen`, `shutdown`, `ioctl`, and the names of both ends.

use super::{Answer, Bypass, Detour, Given, Program, Room, Socket, datagrams, done, options};
use crate::descriptor::{self, DescriptorType};
use crate::ioctl::{Answerer, answerer};
use crate::privilege::is_privileged;
use crate::{LISTENING, Request, Response, SHORT, address, sender};
use resoa_protocol::message::Operation;
use rustix::event::PollFlags;
use rustix::fd::AsFd;
use rustix::net::Shutdown;
use std::net::SocketAddr;

pub(super) fn bind(program: &impl Program, socket: &Socket, address: Given) -> Detour {
    let mut place = [0; address::LONGEST];
    let octets = address.read(program, &mut place)?;
    let address = address::to_bind(octets, || options::domain(program, socket))?;
    if is_privileged(address.port()) && !program.may_bind_any_port() {
        return Err(libc::EACCES.into());
    }
    done(program, &Request::operation(socket.id, Operation::Bind(address)), None)?;
    if socket.kind == DescriptorType::Datagram {
        sender::bound(socket, address);
    }
    Ok(Answer::Value(0))
}

pub(super) fn connect(program: &impl Program, socket: &Socket, address: Given) -> Detour {
    let mut place = [0; address::LONGEST];
    let octets = address.read(program, &mut place)?;
    let address = match socket.kind {
        DescriptorType::Datagram => sender::peer(socket, octets)?,
        _ => address::read(octets)?,
    };
    connect_to(program, socket, address, socket.is_nonblocking())?;
    Ok(Answer::Value(0))
}

/// Connects; `None` is `AF_UNSPEC`.
pub(super) fn connect_to(
    program: &impl Program,
    socket: &Socket,
    address: Option<SocketAddr>,
    nonblocking: bool,
) -> Detour<()> {
    let operation = address.map_or(Operation::Disconnect, Operation::Connect);
    program.connect(socket, &Request::Operation { socket: socket.id, operation, nonblocking }).map(drop)
}

pub(super) fn listen(program: &impl Program, socket: &Socket, backlog: i32) -> Detour {
    if socket.kind == DescriptorType::Datagram {
        return Err(libc::EOPNOTSUPP.into());
    }
    let operation = Operation::Listen { backlog: backlog.cast_unsigned() };
    done(program, &Request::operation(socket.id, operation), Some(socket.as_fd()))?;
    descriptor::set_mark(socket, LISTENING);
    Ok(Answer::Value(0))
}

/// Shuts down one or both directions. The end of a stream's own data must follow that data, so it
/// is made on the descriptor. The agent is asked for everything else.
pub(super) fn shutdown(program: &impl Program, socket: &Socket, how: i32) -> Detour {
    if !(libc::SHUT_RD..=libc::SHUT_RDWR).contains(&how) {
        return Err(libc::EINVAL.into());
    }
    let ask = |how| done(program, &Request::Shutdown { socket: socket.id, how }, None);
    if socket.kind != DescriptorType::Stream {
        return ask(how).map(|()| Answer::Value(0));
    }
    let polled = descriptor::polled(socket, PollFlags::OUT);
    // A fresh descriptor polls HUP. A `connect` may be waiting on it.
    if polled.is_ok_and(|found| found.contains(PollFlags::HUP)) && socket.is_fresh() {
        return ask(how).map(|()| Answer::Value(0));
    }
    // Without another end, or with both directions closed, TCP says ENOTCONN and AF_UNIX does not.
    // While a stream connects, it is not writable.
    if how == libc::SHUT_WR && polled != Ok(PollFlags::OUT) {
        ask(how)?;
    }
    if how != libc::SHUT_WR {
        ask(libc::SHUT_RD)?;
    }
    if how != libc::SHUT_RD {
        rustix::net::shutdown(socket, Shutdown::Write)?;
    }
    Ok(Answer::Value(0))
}

/// Answers `getsockname` and `getpeername`.
pub(super) fn name(program: &impl Program, request: &Request, room: Room) -> Detour {
    let address = asked_name(program, request)?;
    if room.value == 0 {
        return Err(libc::EFAULT.into());
    }
    room.give(program, address)?;
    Ok(Answer::Value(0))
}

/// Returns the address of the other end.
pub(super) fn peer(program: &impl Program, socket: &Socket) -> Detour<SocketAddr> {
    asked_name(program, &Request::PeerName(socket.id))
}

fn asked_name(program: &impl Program, request: &Request) -> Detour<SocketAddr> {
    Ok(program.ask(request, None, &mut [0; SHORT])?.0.address()?)
}

pub(super) fn ioctl(program: &impl Program, socket: &Socket, command: u32, at: usize) -> Detour {
    match answerer(command, socket.kind) {
        Answerer::Kernel => return Err(Bypass::Ioctl.into()),
        Answerer::Nobody(error) => return Err(error.into()),
        Answerer::Datagram => program.write(at, &(datagrams::next_length(socket) as u32).to_ne_bytes())?,
        Answerer::Agent { given, taken } => {
            let mut argument = vec![0; given];
            program.read(at, &mut argument)?;
            let request = Request::operation(socket.id, Operation::Ioctl { command, argument });
            if let Response::Value(value) = program.ask(&request, None, &mut [0; SHORT])?.0 {
                program.write(at, &value[..value.len().min(taken)])?;
            }
        }
    }
    Ok(Answer::Value(0))
}
