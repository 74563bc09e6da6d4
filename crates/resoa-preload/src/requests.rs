//! `ioctl`: what a TCP or UDP socket answers otherwise than a descriptor of AF_UNIX.

use crate::table::Hint;
use crate::{agent, datagrams, errno, real, sockets, values};
use libc::{c_int, c_ulong, c_void};
use resoa_calls::{Request, Response, SocketId};

/// Octets of a `struct ifreq`.
const INTERFACE: usize = 40;
/// The first and the last question about interfaces and routes (`linux/sockios.h`).
const INTERFACES: std::ops::RangeInclusive<c_ulong> = 0x8910..=0x89ff;
/// At the mark of urgent data? (`asm-generic/sockios.h`)
const SIOCATMARK: c_ulong = 0x8905;

/// `ioctl(2)`; the third argument is one that callers may have left out.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn ioctl(number: c_int, command: c_ulong, argument: *mut c_void) -> c_int {
    // Numbers are of 32 bits, and some programs sign-extend them.
    let command = command & 0xffff_ffff;
    let asked =
        matches!(command, libc::FIONREAD | libc::TIOCOUTQ | SIOCATMARK) || INTERFACES.contains(&command);
    let Some((socket, hint)) = asked.then(|| sockets::carried(number)).flatten() else {
        return unsafe { real::ioctl(number, command, argument) };
    };
    match command {
        // What lies in the descriptor is what can be read, and where its mark is only its kernel knows.
        libc::FIONREAD | SIOCATMARK if hint == Hint::Stream => unsafe {
            real::ioctl(number, command, argument)
        },
        _ => errno::settled_int(|| match command {
            libc::FIONREAD if hint == Hint::Datagram => {
                let octets = datagrams::next_length(number) as c_int;
                values::put(argument.cast(), &octets.to_ne_bytes()).map(|()| 0)
            }
            libc::FIONREAD | libc::TIOCOUTQ if hint == Hint::Listener => Err(libc::EINVAL),
            libc::FIONREAD | libc::TIOCOUTQ | SIOCATMARK => ask(socket, command, argument, 0, 4),
            _ => ask(socket, command, argument, INTERFACE, INTERFACE),
        }),
    }
}

/// Asks with `given` octets of the argument, and leaves at most `taken` there.
fn ask(
    socket: SocketId,
    command: c_ulong,
    argument: *mut c_void,
    given: usize,
    taken: usize,
) -> Result<usize, c_int> {
    let octets = values::given(argument.cast(), given as libc::socklen_t, INTERFACE)?;
    if let Response::Value(value) =
        agent::ask_at_length(&Request::Ioctl { socket, command: command as u32, argument: octets })?
    {
        values::put(argument.cast(), &value[..value.len().min(taken)])?;
    }
    Ok(0)
}
