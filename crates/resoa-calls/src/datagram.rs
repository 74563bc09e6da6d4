//! The format of datagrams between a program's descriptor and the agent.
//!
//! While the socket has no destination of its own, each datagram has an address in front: its
//! destination or its source. On a connected socket there is none, so that `read` and `write` need
//! not be intercepted.
//!
//! **Datagrams for the program, with control messages.** Once the program has asked for them
//! ([`option`](crate::option::is_telling)), each datagram for it has a longer front, connected or
//! not: the address, one byte with the length of the [`Ancillary`] records, and room for the
//! maximum of records. So readers know the length of the front in advance.
//!
//! **Datagrams of the program, with control messages.** The highest bit of the address's family
//! says that records follow the address. On a connected socket such datagrams are sent by
//! [`SendTo`](crate::Request::SendTo) instead.
//!
//! **Errors.** A packet for the program that comes with a descriptor is not a datagram. It says
//! that the socket has an error, so that callers who wait for a datagram wake up. SO_ERROR returns
//! the error unless another call has returned it. The descriptor has no meaning and must be closed.
//! Such packets are sent only if the interposer that created the socket [sees the calls that
//! read](crate::Request::Socket), or once one has said [`SeesData`](crate::Request::SeesData).
//!
//! **Sockets whose `read` is not intercepted.** Nothing may be in front of a datagram for the
//! program, or `read` would return it as data. So the address and control messages are *beside* the
//! datagram ([`BESIDE`]): in a memory file whose descriptor comes with the packet. `read` drops the
//! file. Interposers that intercept `recv` read it ([`slip`]).
//!
//! **Marks.** An option that has no meaning on AF_UNIX and is shared by all copies of the
//! descriptor says which format applies. SO_PRIORITY is 0 without a destination and [`CONNECTED`]
//! with one; [`TELLS`] or [`BESIDE`] is added. The agent sets it.

use resoa_protocol::message::Ancillary;
use rustix::fd::{AsFd, OwnedFd};
use rustix::fs::{MemfdFlags, memfd_create};
use std::io;
use std::net::{IpAddr, SocketAddr};

/// SO_PRIORITY of a connected datagram socket.
pub const CONNECTED: i32 = 1;
/// Added to SO_PRIORITY if each datagram has room for control messages in front.
pub const TELLS: i32 = 4;
/// Added to SO_PRIORITY if the address and the control messages are beside each datagram. [`TELLS`]
/// is then never set, since each packet says what is beside it.
pub const BESIDE: i32 = 2;
/// Length in bytes of an address in front of a datagram.
pub const HEADER: usize = 28;
/// Length in bytes of an address and of control messages.
pub const FRONT: usize = HEADER + 1 + Ancillary::MOST;
/// Offset of the higher byte of an address's family.
const MARKED: usize = if cfg!(target_endian = "little") { 1 } else { 0 };
/// The bit of that byte which says that control messages follow.
const RECORDS_FOLLOW: u8 = 0x80;

/// An option of SOL_SOCKET that only the server knows (SO_INCOMING_CPU). When it is answered, all
/// errors of earlier datagrams have been reported.
pub const ASKED: i32 = libc::SO_INCOMING_CPU;

/// Returns whether a destination may be a broadcast address, which requires SO_BROADCAST (EACCES).
///
/// It is one if a network of the server ends there. Nearly all networks whose broadcasts are used
/// end at such an address. The server must be asked after the datagram ([`ASKED`]).
#[must_use]
pub fn may_be_broadcast(to: SocketAddr) -> bool {
    matches!(to.ip().to_canonical(), IpAddr::V4(ip) if ip.octets()[3] == u8::MAX && !ip.is_multicast())
}

/// Returns the address in front of a datagram. `None` sends it to the socket's own destination, if
/// that is connected.
#[must_use]
pub fn header(address: Option<SocketAddr>) -> [u8; HEADER] {
    let mut header = [0; HEADER];
    if let Some(address) = address {
        let octets = crate::address::written(address);
        header[..octets.len()].copy_from_slice(&octets);
    }
    header
}

/// Returns the front of a program's datagram to `to`, with these control messages.
#[must_use]
pub fn said(to: SocketAddr, ancillary: &Ancillary) -> Vec<u8> {
    said_in(to, ancillary, &mut [0; FRONT]).to_vec()
}

/// As [`said`], without an allocation.
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

/// Splits a program's datagram into its destination, its control messages and its payload. `None`
/// if it is too short or invalid.
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

/// Returns the length in bytes of the front of a datagram for the program, by SO_PRIORITY of its
/// descriptor.
#[must_use]
pub fn in_front(mark: i32) -> usize {
    match mark {
        _ if mark & BESIDE != 0 => 0,
        _ if mark & TELLS != 0 => FRONT,
        CONNECTED => 0,
        _ => HEADER,
    }
}

/// Returns a datagram for the program, in the format of its descriptor.
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

/// Reads the [front](in_front) of a datagram for the program: its source, if the front has one, and
/// its control messages. `None` if the front is invalid.
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

/// Returns the contents of a [`slip`].
#[must_use]
pub fn written_on_slip(from: SocketAddr, ancillary: &Ancillary) -> Vec<u8> {
    let mut octets = header(Some(from)).to_vec();
    octets.push(ancillary.octets().len() as u8);
    octets.extend(ancillary.octets());
    octets
}

/// Creates a memory file with these bytes, to be sent beside a datagram.
///
/// # Errors
/// If there is no descriptor or no memory for it.
pub fn slip(octets: &[u8]) -> io::Result<OwnedFd> {
    let file = memfd_create("datagram", MemfdFlags::CLOEXEC)?;
    let written = rustix::io::write(&file, octets)?;
    if written == octets.len() { Ok(file) } else { Err(io::ErrorKind::WriteZero.into()) }
}

/// Reads the descriptor that came with a packet for the program: source and control messages of the
/// datagram. `None` if it has none, which means that the packet reports an error. This allocates
/// only if there are control messages.
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

    /// C91: a slip can be read repeatedly. The descriptor of an error has no contents.
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

    /// C91: addresses and boundaries are kept, also of empty datagrams.
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

    /// C91, RFC 3542: control messages of a program's datagram follow its address. Without control
    /// messages nothing follows.
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

    /// C91: the descriptor says what is in front of a datagram for the program, and the front
    /// always has the same length.
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

    /// C91: the server is asked about few addresses whether they are broadcast addresses.
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
