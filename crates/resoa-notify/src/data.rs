//! The calls of data that only sockets have, and that do not always mean the same on the program's
//! descriptor.
//!
//! On a stream without an address they mostly do, and pass. What is left is done here on a copy of
//! the descriptor, with the program's memory read or written.

use crate::call::Call;
use crate::caller::{Answer, Caller, Failure};
use crate::control::{given_address, peer, write_address, write_no_address};
use crate::datagrams::{self, Received};
use crate::held::{Held, Kind};
use crate::message::{LENGTH, Message, WITH_LENGTH};
use crate::streams;
use resoa_calls::time::{TIMESPEC, span};
use resoa_calls::{address, ancillary, sender};
use resoa_protocol::control_messages::laid_out;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

/// Messages of one call at most, as in the kernel.
const MESSAGES: u32 = 1024;
/// Where the time is too long to be counted.
const FOREVER: Duration = Duration::from_secs(1 << 32);

/// Answers a call of data.
pub(crate) fn answer(caller: &Caller, held: &Held, call: &Call) -> Result<Answer, Failure> {
    let stream = held.kind != Kind::Datagram;
    // The kernel says of it what TCP would.
    let passes =
        |address, flags| stream && address == 0 && streams::are_ordinary(flags) && streams::is_ordinary(held);
    let sends = |address, flags| passes(address, 0) && flags & libc::MSG_FASTOPEN == 0;
    match *call {
        Call::Send { address, transfer, .. } if sends(address, transfer.flags) => Ok(Answer::Continue),
        Call::Receive { transfer, from }
            if passes(from.value, transfer.flags)
                && !streams::waits(held, &[transfer.data], transfer.flags) =>
        {
            Ok(Answer::Continue)
        }
        Call::Send { transfer, address, length } => {
            let data = [transfer.data];
            let sent = if stream {
                if address != 0 {
                    given_address(caller, address, length)?;
                }
                streams::send(caller, held, &data, (address, length), transfer.flags)?
            } else if address == 0 {
                datagrams::send(caller, held, &data, None, &[], transfer.flags)?
            } else {
                let destination = sender::destination(held, &given_address(caller, address, length)?)?;
                datagrams::send(caller, held, &data, destination, &[], transfer.flags)?
            };
            Ok(Answer::count(sent))
        }
        Call::Receive { transfer, from } => {
            let data = [transfer.data];
            if stream {
                let received = streams::receive(caller, held, &data, transfer.flags)?;
                write_no_address(caller, from)?;
                return Ok(Answer::count(received));
            }
            let received = datagrams::receive(caller, held, &data, transfer.flags)?;
            match if from.value == 0 { None } else { sender(caller, held, &received)? } {
                Some(address) => write_address(caller, from, address)?,
                None => write_no_address(caller, from)?,
            }
            Ok(Answer::count(received.reported(transfer.flags)))
        }
        Call::SendMessage { message, flags } => {
            let message = Message::read(&caller.target, message)?;
            // Descriptors beside it would go to the agent, and mean nothing to a TCP.
            if sends(message.name, flags) && message.control.length == 0 {
                return Ok(Answer::Continue);
            }
            Ok(Answer::count(send(caller, held, &message, flags)?))
        }
        Call::ReceiveMessage { message, flags } => {
            let message = Message::read(&caller.target, message)?;
            if passes(message.name, flags) && !streams::waits(held, &message.data, flags) {
                return Ok(Answer::Continue);
            }
            Ok(Answer::count(receive(caller, held, &message, flags)?))
        }
        Call::SendMessages { messages, count, flags } => {
            let one = |message: &Message, flags| send(caller, held, message, flags);
            several(caller, (messages, count), flags, None, one)
        }
        Call::ReceiveMessages { messages, count, flags, timeout } => {
            let until = if timeout == 0 { None } else { Some(deadline(caller, timeout)?) };
            let one = |message: &Message, flags| receive(caller, held, message, flags);
            several(caller, (messages, count), flags, until, one)
        }
        _ => Ok(Answer::Continue),
    }
}

/// Who a datagram came from.
fn sender(caller: &Caller, held: &Held, received: &Received) -> Result<Option<SocketAddr>, Failure> {
    if received.from.is_some() || received.is_end() || !held.is_connected_datagram() {
        return Ok(received.from);
    }
    peer(caller, held).map(Some)
}

fn send(caller: &Caller, held: &Held, message: &Message, flags: i32) -> Result<usize, Failure> {
    if held.kind != Kind::Datagram {
        // Both are read, however little they mean there.
        if message.name != 0 {
            let length = usize::try_from(message.name_length).unwrap_or(0).min(address::LONGEST);
            caller.target.read(message.name, length)?;
        }
        if message.control.length > ancillary::LONGEST {
            return Err(Failure::Errno(libc::ENOBUFS));
        }
        caller.target.gather(&[message.control])?;
        let to = (message.name, message.name_length);
        return streams::send(caller, held, &message.data, to, flags);
    }
    let destination = match message.name {
        0 => None,
        // A message of no length has no address (`__copy_msghdr`).
        _ if message.name_length == 0 => None,
        at => sender::destination(held, &given_address(caller, at, message.name_length)?)?,
    };
    if message.control.length > ancillary::LONGEST {
        return Err(Failure::Errno(libc::ENOBUFS));
    }
    let control = caller.target.gather(&[message.control])?;
    datagrams::send(caller, held, &message.data, destination, &control, flags)
}

fn receive(caller: &Caller, held: &Held, message: &Message, flags: i32) -> Result<usize, Failure> {
    if held.kind != Kind::Datagram {
        let received = streams::receive(caller, held, &message.data, flags)?;
        message.tell(&caller.target, 0, &[], 0)?;
        return Ok(received);
    }
    let received = datagrams::receive(caller, held, &message.data, flags)?;
    let mut written = address::Written::default();
    if message.name != 0 {
        written = sender(caller, held, &received)?.map(address::written).unwrap_or_default();
        let room = usize::try_from(message.name_length).map_err(|_| libc::EINVAL)?;
        caller.target.write(message.name, &written[..written.len().min(room)])?;
    }
    let (control, is_cut) = laid_out(&received.ancillary, message.control.length);
    let truncated = if received.is_cut() { libc::MSG_TRUNC } else { 0 };
    let queue = flags & libc::MSG_ERRQUEUE;
    let both = queue | truncated | if is_cut { libc::MSG_CTRUNC } else { 0 };
    message.tell(&caller.target, written.len(), &control, both)?;
    Ok(received.reported(flags))
}

/// One message after the other; the first that fails ends it, and is told of only if nothing was
/// done before.
fn several(
    caller: &Caller,
    (messages, count): (u64, u32),
    mut flags: i32,
    until: Option<Instant>,
    one: impl Fn(&Message, i32) -> Result<usize, Failure>,
) -> Result<Answer, Failure> {
    let mut done = 0;
    while done < count.min(MESSAGES) {
        let at = messages.wrapping_add(u64::from(done) * WITH_LENGTH);
        let step = Message::read(&caller.target, at).map_err(Failure::from).and_then(|message| {
            let length = one(&message, flags & !libc::MSG_WAITFORONE)?;
            Ok(caller.target.write(at + LENGTH, &(length as u32).to_ne_bytes())?)
        });
        match step {
            Ok(()) => done += 1,
            Err(Failure::Errno(_)) if done > 0 => break,
            Err(failure) => return Err(failure),
        }
        if flags & libc::MSG_WAITFORONE != 0 {
            flags |= libc::MSG_DONTWAIT;
        }
        if until.is_some_and(|until| Instant::now() >= until) {
            break;
        }
    }
    Ok(Answer::Value(done.into()))
}

/// When the time of `recvmmsg` is over, which the kernel looks at after each datagram.
fn deadline(caller: &Caller, at: u64) -> Result<Instant, Failure> {
    let octets = caller.target.read(at, TIMESPEC)?;
    let span = octets.first_chunk().and_then(span).ok_or(libc::EINVAL)?;
    Ok(Instant::now().checked_add(span).unwrap_or_else(|| Instant::now() + FOREVER))
}
