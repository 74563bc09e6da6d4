//! Data calls on a stream that only work on sockets, and that do not always mean the same on the
//! program's descriptor as on TCP.
//!
//! Calls without an address mostly do, and the kernel continues them. The others are executed here,
//! on a copy of the descriptor and with the program's memory.

use crate::caller::Caller;
use crate::streams;
use resoa_calls::interposer::messages::{deadline, several};
use resoa_calls::interposer::streams::{address_is_there, rest_is_there};
use resoa_calls::interposer::{Answer, Bypass, Call, Detour, Message, Piece, Program, Socket};

/// Answers a data call on a stream.
pub(crate) fn answer(caller: &Caller, socket: &Socket, call: &Call) -> Detour {
    // The kernel answers such calls as TCP would.
    let passes =
        |address, flags| address == 0 && streams::are_ordinary(flags) && streams::is_ordinary(socket);
    let sends = |address, flags| passes(address, 0) && flags & libc::MSG_FASTOPEN == 0;
    let count = match *call {
        Call::Send { flags, to, .. } if sends(to.at, flags) => return Err(Bypass::Stream.into()),
        Call::Send { data, flags, to } => {
            address_is_there(caller, to)?;
            streams::send(caller, socket, &[data], to, flags)?
        }
        Call::Receive { data, flags, from } => {
            if passes(from.value, flags) && !streams::waits(socket, &[data], flags) {
                return Err(Bypass::Stream.into());
            }
            let received = streams::receive(caller, socket, &[data], flags)?;
            from.give_none(caller)?;
            received
        }
        Call::SendMessage { message, flags } => {
            let message = caller.message(message)?;
            // Descriptors in control messages would reach the agent, and mean nothing to TCP.
            if sends(message.name.at, flags) && message.control.length == 0 {
                return Err(Bypass::Stream.into());
            }
            send(caller, socket, &message, flags)?
        }
        Call::ReceiveMessage { message: at, flags } => {
            let message = caller.message(at)?;
            if passes(message.name.at, flags) && !streams::waits(socket, &message.pieces, flags) {
                return Err(Bypass::Stream.into());
            }
            receive(caller, socket, at, &message, flags)?
        }
        Call::SendMessages { messages, count, flags } => {
            let one = |at, flags| send(caller, socket, &caller.message(at)?, flags);
            several(caller, messages, count, flags, None, one)?
        }
        Call::ReceiveMessages { messages, count, flags, timeout } => {
            let until = deadline(caller, timeout)?;
            let one = |at, flags| receive(caller, socket, at, &caller.message(at)?, flags);
            several(caller, messages, count, flags, until, one)?
        }
        _ => return Err(Bypass::Stream.into()),
    };
    Ok(Answer::Value(count))
}

fn send(caller: &Caller, socket: &Socket, message: &Message<Vec<Piece>>, flags: i32) -> Detour<usize> {
    rest_is_there(caller, message.name, message.control)?;
    streams::send(caller, socket, &message.pieces, message.name, flags)
}

fn receive(
    caller: &Caller,
    socket: &Socket,
    at: usize,
    message: &Message<Vec<Piece>>,
    flags: i32,
) -> Detour<usize> {
    let received = streams::receive(caller, socket, &message.pieces, flags)?;
    caller.tell(at, 0, 0, 0)?;
    Ok(received)
}
