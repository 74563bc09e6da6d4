//! Datagrams between a program and the agent. While the socket has no destination of its own each
//! has an address in front: where it goes to, or where it came from. When it is connected there is
//! none, so that `read` and `write` need not be intercepted.
//!
//! Once the program has asked for control messages ([`option`](crate::option::is_telling)), each
//! datagram *for* it has more in front, connected or not: the address, one octet with the length of
//! the [`Ancillary`] records, and room for the most that there can be, so that who reads knows
//! before how much that is. Datagrams *of* the program say by the highest bit of their address's
//! family that records follow it; of a connected socket those with control messages go by
//! [`SendTo`](crate::Request::SendTo).
//!
//! A packet *for* the program that comes with a descriptor is no datagram: it says that the socket
//! has an error, which SO_ERROR tells if nothing else has told it since. So who waits for a
//! datagram hears of it. The descriptor stands for nothing and is to be closed. It comes only where
//! the socket was made by somebody who [sees what is read](crate::Request::Socket), or [from then
//! on](crate::Request::SeesData) when somebody has said so.
//!
//! Where calls that read are not intercepted (a socket that was not made by somebody who sees
//! them), nothing of this stands in front of a datagram for the program, or `read` would return it
//! as data. There it stands *beside* the datagram ([`BESIDE`]): in a file in memory whose
//! descriptor comes with the packet. `read` drops that, and whoever intercepts `recv` reads it
//! ([`slip`]).
//!
//! Which of these it is says the descriptor itself, by an option that has no meaning for AF_UNIX
//! and is the same for everybody who holds it: SO_PRIORITY is 0 without a destination, and
//! [`CONNECTED`] with one; [`TELLS`] or [`BESIDE`] is added to either. The agent sets it.

use resoa_protocol::message::Ancillary;
use rustix::fd::{AsFd, OwnedFd};
use rustix::fs::{MemfdFlags, memfd_create};
use std::io;
use std::net::{IpAddr, SocketAddr};

/// SO_PRIORITY of a datagram socket that is connected.
pub const CONNECTED: i32 = 1;
/// The same where each datagram has room for control messages in front; it is added to the other.
pub const TELLS: i32 = 4;
/// The same where the address and the control messages are beside each datagram; it is added to the
/// other. Since each packet says what is beside it, [`TELLS`] is not.
pub const BESIDE: i32 = 2;
/// Octets of an address in front of a datagram.
pub const HEADER: usize = 28;
/// Octets of an address and of control messages.
pub const FRONT: usize = HEADER + 1 + Ancillary::MOST;
/// Where the higher octet of an address's family is.
const MARKED: usize = if cfg!(target_endian = "little") { 1 } else { 0 };
/// The bit of it that says that control messages follow.
const RECORDS_FOLLOW: u8 = 0x80;

/// An option of SOL_SOCKET that the server alone knows (SO_INCOMING_CPU): with its answer all is
/// told that came of what was sent before.
pub const ASKED: i32 = libc::SO_INCOMING_CPU;

/// Whether a destination may be a broadcast, which takes SO_BROADCAST (EACCES): it is one if a
/// network of the server's ends there, as nearly all do whose broadcasts are used. The server has
/// to be asked ([`ASKED`]), behind the datagram.
#[must_use]
pub fn may_be_broadcast(to: SocketAddr) -> bool {
    matches!(to.ip().to_canonical(), IpAddr::V4(ip) if ip.octets()[3] == u8::MAX && !ip.is_multicast())
}

/// The octets in front of a datagram; `None` sends it where it goes by itself, which is nowhere if
/// the socket is not connected.
#[must_use]
pub fn header(address: Option<SocketAddr>) -> [u8; HEADER] {
    let mut header = [0; HEADER];
    if let Some(address) = address {
        let octets = crate::address::written(address);
        header[..octets.len()].copy_from_slice(&octets);
    }
    header
}

/// What a program's datagram has in front that goes there, with what is said beside it.
#[must_use]
pub fn said(to: SocketAddr, ancillary: &Ancillary) -> Vec<u8> {
    said_in(to, ancillary, &mut [0; FRONT]).to_vec()
}

/// The same, without memory of the allocator.
pub fn said_in<'a>(to: SocketAddr, ancillary: &Ancillary, room: &'a mut [u8; FRONT]) -> &'a mut [u8] {
    room[..HEADER].copy_from_slice(&header(Some(to)));
    if ancillary.is_empty() {
        return &mut room[..HEADER];
    }
    room[MARKED] |= RECORDS_FOLLOW;
    let records = ancillary.octets();
    room[HEADER] = records.len() as u8;
    let end = HEADER + 1 + records.len();
    room[HEADER + 1..end].copy_from_slice(records);
    &mut room[..end]
}

/// Takes that off again: where to, what is said beside it, and the datagram; `None` if there is no
/// room for it.
#[must_use]
pub fn split(octets: &[u8]) -> Option<(Option<SocketAddr>, Ancillary, &[u8])> {
    let (header, rest) = octets.split_first_chunk::<HEADER>()?;
    let mut header = *header;
    let has_ancillary = header[MARKED] & RECORDS_FOLLOW != 0;
    header[MARKED] &= !RECORDS_FOLLOW;
    let (ancillary, payload) = if has_ancillary {
        let (length, rest) = rest.split_first()?;
        let (records, payload) = rest.split_at_checked(usize::from(*length))?;
        (Ancillary::read(records)?, payload)
    } else {
        (Ancillary::none(), rest)
    };
    Some((crate::address::read(&header).ok()?, ancillary, payload))
}

/// Octets in front of a datagram for the program, by SO_PRIORITY of its descriptor.
#[must_use]
pub fn in_front(mark: i32) -> usize {
    match mark {
        _ if mark & BESIDE != 0 => 0,
        _ if mark & TELLS != 0 => FRONT,
        CONNECTED => 0,
        _ => HEADER,
    }
}

/// A datagram for the program, as it stands on the descriptor.
#[must_use]
pub fn told(mark: i32, from: SocketAddr, ancillary: &Ancillary, bytes: Vec<u8>) -> Vec<u8> {
    match in_front(mark) {
        0 => bytes,
        HEADER => [&header(Some(from))[..], &bytes].concat(),
        _ => {
            let mut front = header(Some(from)).to_vec();
            front.push(ancillary.octets().len() as u8);
            front.extend(ancillary.octets());
            front.resize(FRONT, 0);
            front.extend(bytes);
            front
        }
    }
}

/// What stands [in front](in_front) of a datagram for the program: where it came from, where that
/// stands there, and what is told beside it. `None` if it does not.
#[must_use]
pub fn received(mark: i32, front: &[u8]) -> Option<(Option<SocketAddr>, Ancillary)> {
    if in_front(mark) == 0 {
        return Some((None, Ancillary::none()));
    }
    let (header, behind) = front.split_first_chunk::<HEADER>()?;
    let from = crate::address::read(header).ok()?;
    if in_front(mark) == HEADER {
        return Some((from, Ancillary::none()));
    }
    let (length, records) = behind.split_first()?;
    Some((from, Ancillary::read(records.get(..usize::from(*length))?)?))
}

/// What is beside a datagram, as a [`slip`] has it.
#[must_use]
pub fn written_on_slip(from: SocketAddr, ancillary: &Ancillary) -> Vec<u8> {
    let mut octets = header(Some(from)).to_vec();
    octets.push(ancillary.octets().len() as u8);
    octets.extend(ancillary.octets());
    octets
}

/// A file in memory with these octets, to be sent beside a datagram.
///
/// # Errors
/// If there is no descriptor or no memory for it.
pub fn slip(octets: &[u8]) -> io::Result<OwnedFd> {
    let file = memfd_create("datagram", MemfdFlags::CLOEXEC)?;
    let written = rustix::io::write(&file, octets)?;
    if written == octets.len() { Ok(file) } else { Err(io::ErrorKind::WriteZero.into()) }
}

/// What a descriptor says that came with a packet for the program: where the datagram came from,
/// and what is told beside it. `None` if it says nothing: then the packet tells of an error. It is
/// read without memory of the allocator, unless there are control messages.
#[must_use]
pub fn read_slip(file: impl AsFd) -> Option<(SocketAddr, Ancillary)> {
    let mut octets = [0; FRONT];
    let length = rustix::io::pread(file, &mut octets, 0).ok()?;
    let (header, behind) = octets[..length].split_first_chunk::<HEADER>()?;
    let (length, records) = behind.split_first()?;
    let ancillary = Ancillary::read(records.get(..usize::from(*length))?)?;
    Some((crate::address::read(header).ok()??, ancillary))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// C91: what is beside a datagram is read as often as it is looked at; what stands for an error
    /// says nothing.
    #[test]
    fn slips() {
        let from: SocketAddr = "[2001:db8::1]:53".parse().expect("one");
        let some = Ancillary::read(&[0, 1, 1, 9]).expect("a record");
        for ancillary in [Ancillary::none(), some] {
            let file = slip(&written_on_slip(from, &ancillary)).expect("memory");
            for _ in 0..2 {
                assert_eq!(read_slip(&file), Some((from, ancillary.clone())));
            }
        }
        let nothing = rustix::event::eventfd(0, rustix::event::EventfdFlags::CLOEXEC).expect("descriptors");
        assert_eq!(read_slip(nothing), None);
        assert_eq!(read_slip(slip(&[2, 0, 0]).expect("memory")), None);
    }

    /// C91: the address and the boundaries are kept, also of a datagram that is empty.
    #[test]
    fn addresses_stand_in_front() {
        for address in
            [None, Some(([192, 0, 2, 1], 53).into()), Some("[2001:db8::1]:53".parse().expect("one"))]
        {
            let mut octets = header(address).to_vec();
            assert_eq!(split(&octets), Some((address, Ancillary::none(), &b""[..])));
            octets.extend(b"payload");
            assert_eq!(split(&octets), Some((address, Ancillary::none(), &b"payload"[..])));
        }
        assert_eq!(split(&[0; HEADER - 1]), None);
    }

    /// C91, RFC 3542: control messages of a program's datagram stand behind its address; none take
    /// no room.
    #[test]
    fn control_messages_stand_behind_the_address() {
        let to = ([192, 0, 2, 1], 53).into();
        assert_eq!(said(to, &Ancillary::none()), header(Some(to)));
        let ancillary = Ancillary::read(&[0, 1, 1, 9]).expect("a record");
        let octets = [&said(to, &ancillary)[..], b"payload"].concat();
        assert_eq!(octets.len(), HEADER + 1 + 4 + 7);
        assert_eq!(split(&octets), Some((Some(to), ancillary, &b"payload"[..])));
        assert_eq!(split(&octets[..HEADER + 4]), None);
    }

    /// C91: of a datagram for the program the descriptor says what is in front, and it is always as
    /// long.
    #[test]
    fn what_the_descriptor_says_is_in_front() {
        let from: SocketAddr = "[2001:db8::1]:53".parse().expect("one");
        let some = Ancillary::read(&[0, 1, 1, 9]).expect("a record");
        for ancillary in [Ancillary::none(), some] {
            for (mark, length, has_address) in [
                (0, HEADER, true),
                (CONNECTED, 0, false),
                (TELLS, FRONT, true),
                (TELLS | CONNECTED, FRONT, true),
                (BESIDE, 0, false),
                (BESIDE | CONNECTED, 0, false),
            ] {
                let octets = told(mark, from, &ancillary, b"payload".to_vec());
                assert_eq!((in_front(mark), octets.len()), (length, length + 7), "{mark}");
                let beside = if length == FRONT { ancillary.clone() } else { Ancillary::none() };
                assert_eq!(received(mark, &octets[..length]), Some((has_address.then_some(from), beside)));
                assert_eq!(octets[length..], *b"payload");
            }
        }
        assert_eq!(received(TELLS, &[0; HEADER]), None);
        let mut wrong = told(TELLS, from, &Ancillary::none(), Vec::new());
        wrong[HEADER] = 2;
        assert_eq!(received(TELLS, &wrong), None);
    }

    /// C91: of few addresses the server is asked whether they are broadcasts.
    #[test]
    fn broadcasts() {
        for (to, expected) in [
            ("255.255.255.255:9", true),
            ("192.0.2.255:9", true),
            ("[::ffff:192.0.2.255]:9", true),
            ("239.255.255.255:9", false),
            ("192.0.2.254:9", false),
            ("[2001:db8::ff]:9", false),
        ] {
            assert_eq!(may_be_broadcast(to.parse().expect("one")), expected, "{to}");
        }
    }
}
