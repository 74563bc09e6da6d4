//! `ioctl`: what a TCP or UDP socket answers otherwise than a descriptor of AF_UNIX
//! ([`resoa_calls::ioctl`]).

use crate::{agent, datagrams, errno, real, sockets, values};
use libc::{c_int, c_ulong, c_void};
use resoa_calls::ioctl::{Answerer, answerer, concerns};
use resoa_calls::{Request, Response, SocketId};

/// `ioctl(2)`; the third argument is one that callers may have left out.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn ioctl(number: c_int, command: c_ulong, argument: *mut c_void) -> c_int {
    // Numbers are of 32 bits, and some programs sign-extend them.
    let request = command as u32;
    let carried = concerns(request).then(|| sockets::carried(number)).flatten();
    let by = carried.map_or(Answerer::Kernel, |(_, kind)| answerer(request, kind));
    match (by, carried) {
        (Answerer::Agent { given, taken }, Some((socket, _))) => {
            errno::settled_int(|| ask(socket, request, argument, given, taken))
        }
        (Answerer::Datagram, _) => errno::settled_int(|| {
            let octets = datagrams::next_length(number) as c_int;
            values::put(argument.cast(), &octets.to_ne_bytes()).map(|()| 0)
        }),
        (Answerer::Nobody(error), _) => {
            errno::set(error);
            -1
        }
        (Answerer::Kernel | Answerer::Agent { .. }, _) => unsafe { real::ioctl(number, command, argument) },
    }
}

/// Asks with `given` octets of the argument, and leaves at most `taken` there.
fn ask(
    socket: SocketId,
    command: u32,
    argument: *mut c_void,
    given: usize,
    taken: usize,
) -> Result<usize, c_int> {
    let octets = values::given(argument.cast(), given as libc::socklen_t, given)?;
    if let Response::Value(value) =
        agent::ask_at_length(&Request::Ioctl { socket, command, argument: octets })?
    {
        values::put(argument.cast(), &value[..value.len().min(taken)])?;
    }
    Ok(0)
}
