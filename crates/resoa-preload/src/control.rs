//! Calls that make a socket what it is: `bind`, `connect`, `listen`, `shutdown`, and the names of
//! its ends.

use crate::sockets::{Carried, borrowed};
use crate::table::{self, Hint};
use crate::{agent, confined, errno, options, real, sockets, values};
use libc::{c_int, sockaddr, socklen_t};
use resoa_calls::privilege::is_privileged;
use resoa_calls::{Request, SocketId, address, descriptor, sender};
use rustix::event::PollFlags;
use rustix::fs::{OFlags, fcntl_getfl};
use rustix::net::sockopt::{Timeout, socket_timeout};
use std::net::SocketAddr;

/// `bind(2)`
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn bind(number: c_int, address: *const sockaddr, length: socklen_t) -> c_int {
    let Some((socket, kind)) = sockets::carried(number) else {
        return unsafe { real::bind(number, address, length) };
    };
    errno::settled_int(|| {
        let mut place = [0; address::LONGEST];
        let octets = values::given_in(address.cast(), length, &mut place)?;
        let address = address::to_bind(octets, || options::domain(socket))?;
        if is_forbidden(address.port()) {
            return Err(libc::EACCES);
        }
        agent::ask(&Request::Bind { socket, address }, None)?;
        if let (Carried::Datagram, Some(descriptor)) = (kind, borrowed(number)) {
            sender::bound(descriptor, address);
        }
        Ok(0)
    })
}

/// Whether this thread lacks the privilege that a port takes.
fn is_forbidden(port: u16) -> bool {
    is_privileged(port)
        && rustix::thread::capabilities(None)
            .is_ok_and(|sets| !sets.effective.contains(rustix::thread::CapabilitySet::NET_BIND_SERVICE))
}

/// `connect(2)`. A signal that comes while it waits does not end the attempt, which goes on at the
/// server.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn connect(number: c_int, address: *const sockaddr, length: socklen_t) -> c_int {
    let Some((socket, kind)) = sockets::carried(number) else {
        return unsafe { real::connect(number, address, length) };
    };
    errno::settled_int(|| {
        let mut place = [0; address::LONGEST];
        let octets = values::given_in(address.cast(), length, &mut place)?;
        let address = match (kind, borrowed(number)) {
            (Carried::Datagram, Some(descriptor)) => sender::peer(descriptor, octets)?,
            _ => address::read(octets)?,
        };
        connect_to(number, socket, address, false).map(|()| 0)
    })
}

/// Connects; without waiting if the call or the descriptor says so.
fn connect_to(
    number: c_int,
    socket: SocketId,
    address: Option<SocketAddr>,
    dont_wait: bool,
) -> Result<(), c_int> {
    let descriptor = borrowed(number).ok_or(libc::EBADF)?;
    let nonblocking = dont_wait || is_nonblocking(number);
    let has_limit = matches!(socket_timeout(descriptor, Timeout::Send), Ok(Some(_)));
    let request = Request::Connect { socket, address, nonblocking };
    agent::ask_interruptibly(&request, Some(number), has_limit)
}

/// What MSG_FASTOPEN does of a stream before it sends: it connects, as of a host without a cookie
/// (`tcp_sendmsg_fastopen`). The flags that are left, all of them without it; `None` if it has
/// failed, with `errno`.
pub fn fast_open(number: c_int, address: *const sockaddr, length: socklen_t, flags: c_int) -> Option<c_int> {
    if flags & libc::MSG_FASTOPEN == 0 {
        return Some(flags);
    }
    let outcome = errno::settled_int(|| {
        let (socket, _) = sockets::carried(number).ok_or(libc::EBADF)?;
        if address.is_null() {
            let is_connected = name(&Request::PeerName(socket)).is_ok();
            return Err(if is_connected { libc::EISCONN } else { libc::EINVAL });
        }
        let address = values::address(address, length)?.ok_or(libc::EOPNOTSUPP)?;
        connect_to(number, socket, Some(address), flags & libc::MSG_DONTWAIT != 0).map(|()| 0)
    });
    (outcome == 0).then_some(flags & !libc::MSG_FASTOPEN)
}

/// `listen(2)`
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn listen(number: c_int, backlog: c_int) -> c_int {
    let Some((socket, kind)) = sockets::carried(number) else {
        return unsafe { real::listen(number, backlog) };
    };
    errno::settled_int(|| {
        if kind == Carried::Datagram {
            return Err(libc::EOPNOTSUPP);
        }
        agent::ask(&Request::Listen { socket, backlog }, Some(number))?;
        descriptor::set_mark(borrowed(number).ok_or(libc::EBADF)?, resoa_calls::LISTENING);
        table::remember(number, Hint::Carried(Carried::Listener));
        Ok(0)
    })
}

/// `shutdown(2)`. The end of what a stream sends stands behind its octets, on the descriptor; all
/// else is asked.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn shutdown(number: c_int, how: c_int) -> c_int {
    let carried = if confined::is_confined() { None } else { sockets::carried(number) };
    let Some((socket, kind)) = carried else {
        return unsafe { real::shutdown(number, how) };
    };
    errno::settled_int(|| {
        if !(libc::SHUT_RD..=libc::SHUT_RDWR).contains(&how) {
            return Err(libc::EINVAL);
        }
        let ask = |how| agent::ask(&Request::Shutdown { socket, how }, None);
        if kind != Carried::Stream {
            return ask(how).map(|_| 0);
        }
        // Nobody at the other end, or both halves over: a TCP without a connection says ENOTCONN, a
        // descriptor does not. While it connects, nothing can be written.
        if how == libc::SHUT_WR && is_unwritable(number) {
            ask(how)?;
        }
        if how != libc::SHUT_WR {
            ask(libc::SHUT_RD)?;
        }
        if how != libc::SHUT_RD && unsafe { real::shutdown(number, libc::SHUT_WR) } != 0 {
            return Err(errno::get());
        }
        Ok(0)
    })
}

/// Whether a descriptor polls HUP.
pub fn hangs_up(number: c_int) -> bool {
    borrowed(number).is_some_and(descriptor::hangs_up)
}

/// Whether a descriptor has O_NONBLOCK.
pub fn is_nonblocking(number: c_int) -> bool {
    let flags = borrowed(number).map(fcntl_getfl);
    matches!(flags, Some(Ok(flags)) if flags.contains(OFlags::NONBLOCK))
}

/// Whether nothing can be written to a descriptor now: it connects, is full, or is over.
fn is_unwritable(number: c_int) -> bool {
    let now = borrowed(number).map(|socket| descriptor::polled(socket, PollFlags::OUT));
    now != Some(Ok(PollFlags::OUT))
}

/// `getsockname(2)`
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn getsockname(
    number: c_int,
    address: *mut sockaddr,
    length: *mut socklen_t,
) -> c_int {
    match sockets::carried(number) {
        None => unsafe { real::getsockname(number, address, length) },
        Some((socket, _)) => named(&Request::LocalName(socket), address, length),
    }
}

/// `getpeername(2)`
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn getpeername(
    number: c_int,
    address: *mut sockaddr,
    length: *mut socklen_t,
) -> c_int {
    match sockets::carried(number) {
        None => unsafe { real::getpeername(number, address, length) },
        Some((socket, _)) => named(&Request::PeerName(socket), address, length),
    }
}

fn named(request: &Request, address: *mut sockaddr, length: *mut socklen_t) -> c_int {
    errno::settled_int(|| {
        let name = name(request)?;
        if address.is_null() {
            return Err(libc::EFAULT);
        }
        values::give(name, address, length).map(|()| 0)
    })
}

/// The address that answers this.
pub fn name(request: &Request) -> Result<SocketAddr, c_int> {
    agent::ask(request, None)?.0.address()
}
