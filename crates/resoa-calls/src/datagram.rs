//! Datagrams between a program and the agent. While the socket has no destination of its own each has an address in front: where it goes to, or where it
//! came from. When it is connected there is none, so that `read` and `write` need not be intercepted.
//!
//! Once the program has asked for control messages ([`option`](crate::option::is_telling)), each datagram *for* it has more in front, connected or not: the address, one octet
//! with the length of the [`Ancillary`] records, and room for the most that there can be, so that who reads knows before how much that is. Datagrams *of* the program say by
//! the highest bit of their address's family that records follow it; of a connected socket those with control messages go by
//! [`SendTo`](crate::Request::SendTo).
//!
//! A packet *for* the program that comes with a descriptor is no datagram: it says that the socket has an error, which SO_ERROR tells if nothing else has told it since. So who
//! waits for a datagram hears of it. The descriptor stands for nothing and is to be closed. It comes only where the socket was made by somebody who
//! [sees what is read](crate::Request::Socket), or [from then on](crate::Request::SeesData) when somebody has said so.
//!
//! Which of these it is says the descriptor itself, by an option that has no meaning for AF_UNIX and is the same for everybody who holds it: SO_PRIORITY is 0
//! without a destination, and [`CONNECTED`] with one; [`TELLS`] is added to either. The agent sets it.

use crate::address::V4;
use resoa_protocol::message::Ancillary;
use std::net::{IpAddr, SocketAddr};

/// SO_PRIORITY of a datagram socket that is connected.
pub const CONNECTED: i32 = 1;
/// The same where each datagram has room for control messages in front; it is added to the other.
pub const TELLS: i32 = 4;
/// Octets of an address in front of a datagram.
pub const HEADER: usize = 28;
/// Octets of an address and of control messages.
pub const FRONT: usize = HEADER + 1 + Ancillary::MOST;
/// Where the higher octet of an address's family is.
const MARKED: usize = if cfg!(target_endian = "little") { 1 } else { 0 };
/// The bit of it that says that control messages follow.
const BESIDE: u8 = 0x80;

/// Octets of the longest datagram of UDP to an address of this family.
#[must_use]
pub fn longest(is_v4: bool) -> usize {
    // What 16 bits of length leave: of the whole packet in version 4, and of what follows the header in version 6.
    if is_v4 { 65_507 } else { 65_527 }
}

/// A destination that a program gave to `sendto`. AF_UNSPEC means IPv4 to an old UDP (`udp_sendmsg`), and port 0 is none.
///
/// # Errors
/// As [`read`](crate::address::read); EINVAL for port 0.
pub fn destination(octets: &[u8]) -> Result<SocketAddr, i32> {
    let address = if let Some(address) = crate::address::read(octets)? {
        address
    } else {
        let mut v4 = *octets.first_chunk::<V4>().ok_or(libc::EINVAL)?;
        v4[..2].copy_from_slice(&(libc::AF_INET as u16).to_ne_bytes());
        crate::address::read(&v4)?.ok_or(libc::EINVAL)?
    };
    if address.port() == 0 { Err(libc::EINVAL) } else { Ok(address) }
}

/// An option of SOL_SOCKET that the server alone knows (SO_INCOMING_CPU): with its answer all is told that came of what was sent before.
pub const ASKED: i32 = libc::SO_INCOMING_CPU;

/// Whether a destination may be a broadcast, which takes SO_BROADCAST (EACCES): it is one if a network of the server's ends there, as nearly all do whose broadcasts are used. The server has
/// to be asked ([`ASKED`]), behind the datagram.
#[must_use]
pub fn may_be_broadcast(to: SocketAddr) -> bool {
    matches!(to.ip().to_canonical(), IpAddr::V4(ip) if ip.octets()[3] == u8::MAX && !ip.is_multicast())
}

/// The octets in front of a datagram; `None` sends it where it goes by itself, which is nowhere if the socket is not connected.
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
    room[MARKED] |= BESIDE;
    let records = ancillary.octets();
    room[HEADER] = records.len() as u8;
    let end = HEADER + 1 + records.len();
    room[HEADER + 1..end].copy_from_slice(records);
    &mut room[..end]
}

/// Takes that off again: where to, what is said beside it, and the datagram; `None` if there is no room for it.
#[must_use]
pub fn split(octets: &[u8]) -> Option<(Option<SocketAddr>, Ancillary, &[u8])> {
    let (header, rest) = octets.split_first_chunk::<HEADER>()?;
    let mut header = *header;
    let has_ancillary = header[MARKED] & BESIDE != 0;
    header[MARKED] &= !BESIDE;
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

/// What stands [in front](in_front) of a datagram for the program: where it came from, where that stands there, and what is told beside it. `None` if it does not.
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

#[cfg(test)]
mod tests {
    use super::*;

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

    /// C91, RFC 3542: control messages of a program's datagram stand behind its address; none take no room.
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

    /// C91: of a datagram for the program the descriptor says what is in front, and it is always as long.
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

    /// C91: what UDP takes for a destination, and what it does not.
    #[test]
    fn destinations() {
        let at = ([192, 0, 2, 1], 53).into();
        let mut octets = crate::address::written(at).to_vec();
        assert_eq!(destination(&octets), Ok(at));
        octets[..2].copy_from_slice(&(libc::AF_UNSPEC as u16).to_ne_bytes());
        assert_eq!(destination(&octets), Ok(at));
        octets[2..4].fill(0);
        assert_eq!(destination(&octets), Err(libc::EINVAL));
        assert_eq!(destination(&octets[..4]), Err(libc::EINVAL));
        assert_eq!(destination(&[1, 0, b'/']), Err(libc::EAFNOSUPPORT));
        assert_eq!(longest(true) + 20, longest(false));
    }
}
