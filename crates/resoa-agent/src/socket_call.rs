//! What a request is at the client's half of a socket, and what is done when that returns.

use crate::call::{Again, Waiting};
use resoa_calls::{Request, SocketId};
use resoa_protocol::SocketCall;
use resoa_protocol::message::Half;
use rustix::fd::OwnedFd;

/// The call of a request, of which socket, and what it waits for; or why there is none. Programs
/// have made so many `closes` before it.
pub(crate) fn socket_call(
    request: Request,
    descriptor: Option<OwnedFd>,
    closes: u64,
) -> Result<(SocketId, SocketCall, Waiting), i32> {
    Ok(match request {
        Request::Bind { socket, address } => {
            let what = SocketCall::Bind(address);
            let again = Some(Again { what: what.clone(), closes });
            (socket, what, Waiting::Address { socket, again })
        }
        Request::Connect { socket, address, nonblocking } => {
            let what = address.map_or(SocketCall::Disconnect, SocketCall::Connect);
            (socket, what, Waiting::Connect { socket, address, nonblocking, descriptor })
        }
        Request::Listen { socket, backlog } => {
            (socket, SocketCall::Listen { backlog }, Waiting::Listen { socket, descriptor })
        }
        Request::Accept { socket, flags } => (socket, SocketCall::Accept, Waiting::Accept { socket, flags }),
        Request::Shutdown { socket, how } => {
            let half = match how {
                libc::SHUT_RD => Half::Read,
                libc::SHUT_WR => Half::Write,
                libc::SHUT_RDWR => Half::Both,
                _ => return Err(libc::EINVAL),
            };
            (socket, SocketCall::Shutdown(half), Waiting::Shut { socket })
        }
        Request::SetOption { socket, level, name, value } => {
            let option = ((level, name), value.clone());
            (
                socket,
                SocketCall::SetOption { level, name, value },
                Waiting::Set { socket, option, descriptor },
            )
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
        // Those that are no socket's call have been answered.
        Request::Socket { .. }
        | Request::Status
        | Request::Resolve(_)
        | Request::Closed(_)
        | Request::SeesData(_)
        | Request::TakeUndelivered(_)
        | Request::SendTo { .. } => return Err(libc::EOPNOTSUPP),
    })
}
