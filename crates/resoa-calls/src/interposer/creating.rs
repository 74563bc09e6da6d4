//! `socket` and `accept`, which create descriptors.

use super::{Answer, Bypass, Detour, Program, Room, Socket, Stop};
use crate::carried::{Maker, maker};
use crate::descriptor::{self, DescriptorType};
use crate::{LISTENING, Request, Response, SHORT};
use rustix::fd::OwnedFd;
use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};

/// The flags that `socket` takes with a type.
const FLAGS: i32 = libc::SOCK_NONBLOCK | libc::SOCK_CLOEXEC;

/// Answers `socket`.
///
/// # Errors
/// [`Bypass::Family`] if the kernel creates the socket; an error number if the socket would bypass
/// the agent; and those of the agent.
pub fn create(program: &impl Program, family: i32, kind: i32, protocol: i32) -> Detour {
    match maker(family, kind) {
        Maker::Kernel => return Err(Bypass::Family.into()),
        Maker::Nobody(error) => return Err(error.into()),
        Maker::Agent => {}
    }
    // The agent refuses types that do not exist.
    let made =
        if kind & !FLAGS == libc::SOCK_DGRAM { DescriptorType::Datagram } else { DescriptorType::Stream };
    let request = Request::Socket { family, kind, protocol, sees_data: sees_data(program) };
    match program.ask(&request, None, &mut [0; SHORT])? {
        (Response::Descriptor(_), Some(descriptor)) => made_of(descriptor, made, kind),
        (Response::Descriptor(_), None) => Err(libc::EMFILE.into()),
        (response, _) => Err(response.other().into()),
    }
}

fn sees_data<P: Program>(_: &P) -> bool {
    P::SEES_DATA
}

/// Returns a new descriptor with the flags that the program wants.
fn made_of(descriptor: OwnedFd, kind: DescriptorType, flags: i32) -> Detour {
    if flags & libc::SOCK_NONBLOCK != 0 {
        let present = fcntl_getfl(&descriptor)?;
        fcntl_setfl(&descriptor, present | OFlags::NONBLOCK)?;
    }
    Ok(Answer::Descriptor { descriptor, kind, cloexec: flags & libc::SOCK_CLOEXEC != 0 })
}

pub(super) fn accept(program: &impl Program, listener: &Socket, peer: Room, flags: i32) -> Detour {
    if flags & !FLAGS != 0 {
        return Err(libc::EINVAL.into());
    }
    // The kernel also checks this first. The connection stays in the queue until a number is free.
    program.has_number_left(listener)?;
    match listener.kind {
        DescriptorType::Datagram => return Err(libc::EOPNOTSUPP.into()),
        // Another process may have called `listen`, so only the descriptor says whether it listens.
        DescriptorType::Stream | DescriptorType::Listener if descriptor::mark(listener) == LISTENING => {}
        DescriptorType::Stream | DescriptorType::Listener => return Err(libc::EINVAL.into()),
    }
    let mut arrive = program.arrivals(listener);
    loop {
        match arrive() {
            // The end: `shutdown`, or the agent has lost its server.
            Ok(0) | Err(Stop::Errno(libc::ECONNRESET)) => return Err(libc::EINVAL.into()),
            Ok(_) => {}
            Err(stop) => return Err(stop),
        }
        match program.ask(&Request::Accept { socket: listener.id, flags }, None, &mut [0; SHORT]) {
            Ok((Response::Accepted { peer: address, .. }, Some(descriptor))) => {
                descriptor::inherit(listener, &descriptor);
                peer.give(program, address)?;
                return made_of(descriptor, DescriptorType::Stream, flags);
            }
            // This connection has ended meanwhile: try the next one.
            Err(Stop::Errno(libc::EAGAIN)) => {}
            Ok((Response::Accepted { .. }, None)) => return Err(libc::EMFILE.into()),
            Ok((response, _)) => return Err(response.other().into()),
            Err(stop) => return Err(stop),
        }
    }
}
