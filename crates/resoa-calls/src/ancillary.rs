//! Control messages of datagrams to send (`cmsg(3)`, RFC 3542): which ones `sendmsg` carries, and
//! with which errors it refuses the others, as the kernel would.
//!
//! This is decided here, before the datagram is sent, because no call waits for the server. Errors
//! that only the server can find (a source address that is not its own) are reported like any error
//! of a datagram.
//!
//! The rules are those of Linux, as seen from outside (`ip_cmsg_send`, `ip6_datagram_send_ctl`,
//! `__sock_cmsg_send`, `udp_cmsg_send`). Messages are checked in order. Messages whose level does
//! not match the destination are ignored. If a type occurs several times, the last one counts. One
//! more thing is refused (EINVAL): IP options in a packet.

use resoa_protocol::control_messages::{Given, given};
use resoa_protocol::message::Ancillary;
use std::net::SocketAddr;

/// Maximum length of a control buffer in bytes, as in Linux's `net.core.optmem_max`; more is
/// ENOBUFS.
pub const LONGEST: usize = 128 << 10;
/// SCM_TIMESTAMPING_NEW of `asm-generic/socket.h`.
const SO_TIMESTAMPING_NEW: i32 = 65;
/// The flags of SO_TIMESTAMPING that are allowed for a single datagram
/// (`SOF_TIMESTAMPING_TX_RECORD_MASK`).
const RECORDED: u32 = 1 | 2 | 1 << 8 | 1 << 9 | 1 << 18;

/// Treatment of a control message.
enum Said {
    /// Its first bytes are carried, as many as this.
    Carried(usize),
    /// It has no meaning here.
    Ignored,
}

/// Returns the control messages to carry with a datagram to `to`.
///
/// # Errors
/// The kernel's: EINVAL for most, EPERM for those that need a privilege.
pub fn said(control: &[u8], to: SocketAddr) -> Result<Ancillary, i32> {
    let mut kept: Vec<Given> = Vec::new();
    // UDP checks all messages of its own level before IP checks any.
    for message in given(control) {
        let message = message.ok_or(libc::EINVAL)?;
        if message.level == libc::SOL_UDP {
            of_udp(message)?;
        }
    }
    for message in given(control).flatten() {
        let found = match (message.level, to) {
            (libc::SOL_SOCKET, _) => of_socket(message)?,
            (libc::SOL_UDP, _) => of_udp(message)?,
            (libc::IPPROTO_IPV6, SocketAddr::V6(to)) if to.ip().to_ipv4_mapped().is_some() => {
                of_mapped(message)?
            }
            (libc::IPPROTO_IPV6, SocketAddr::V6(_)) => of_v6(message)?,
            (libc::IPPROTO_IP, SocketAddr::V6(to)) if to.ip().to_ipv4_mapped().is_none() => Said::Ignored,
            (libc::IPPROTO_IP, _) => of_v4(message)?,
            _ => Said::Ignored,
        };
        if let Said::Carried(octets) = found {
            kept.retain(|other| (other.level, other.kind) != (message.level, message.kind));
            kept.push(Given { value: &message.value[..octets], ..message });
        }
    }
    let mut ancillary = Ancillary::none();
    for Given { level, kind, value } in kept {
        let (level, kind) = (u8::try_from(level), u8::try_from(kind));
        let (Ok(level), Ok(kind)) = (level, kind) else { return Err(libc::EINVAL) };
        if !ancillary.push(level, kind, value) {
            return Err(libc::ENOBUFS);
        }
    }
    Ok(ancillary)
}

/// Carries an `int` in this range; any other value is EINVAL.
fn number(value: &[u8], range: std::ops::RangeInclusive<i32>) -> Result<Said, i32> {
    match value.try_into().map(i32::from_ne_bytes) {
        Ok(number) if range.contains(&number) => Ok(Said::Carried(4)),
        _ => Err(libc::EINVAL),
    }
}

fn of_socket(message: Given) -> Result<Said, i32> {
    match message.kind {
        libc::SO_MARK => Err(libc::EPERM),
        libc::SO_PRIORITY if message.value.len() == 4 => {
            number(message.value, 0..=6).map_err(|_| libc::EPERM)
        }
        libc::SO_TIMESTAMPING | SO_TIMESTAMPING_NEW => {
            let flags = message.value.try_into().map_err(|_| libc::EINVAL)?;
            if u32::from_ne_bytes(flags) & !RECORDED == 0 { Ok(Said::Ignored) } else { Err(libc::EINVAL) }
        }
        // Descriptors and credentials have no meaning for UDP, and are no error.
        libc::SCM_RIGHTS | libc::SCM_CREDENTIALS => Ok(Said::Ignored),
        _ => Err(libc::EINVAL),
    }
}

/// Reads the segment size: the length of the datagrams into which this one is split.
fn of_udp(message: Given) -> Result<Said, i32> {
    match (message.kind, message.value) {
        (libc::UDP_SEGMENT, [_, _]) => Ok(Said::Carried(2)),
        _ => Err(libc::EINVAL),
    }
}

fn of_v4(message: Given) -> Result<Said, i32> {
    match (message.kind, message.value) {
        (libc::IP_PKTINFO, value) if value.len() == 12 => Ok(Said::Carried(12)),
        (libc::IP_TTL, value) => number(value, 1..=255),
        (libc::IP_TOS, [_]) => Ok(Said::Carried(1)),
        (libc::IP_TOS, value) => number(value, 0..=255),
        (IP_PROTOCOL, value) => number(value, 1..=255).map(|_| Said::Ignored),
        _ => Err(libc::EINVAL),
    }
}

/// The protocol number of raw sockets (`linux/in.h`).
const IP_PROTOCOL: i32 = 52;

/// Messages of an IPv6 socket that sends to an IPv4 host.
fn of_mapped(message: Given) -> Result<Said, i32> {
    if message.kind != libc::IPV6_PKTINFO {
        return Ok(Said::Ignored);
    }
    let source = message.value.first_chunk::<16>().map(|octets| std::net::Ipv6Addr::from(*octets));
    match source.filter(|_| message.value.len() >= 20).and_then(|source| source.to_ipv4_mapped()) {
        Some(_) => Ok(Said::Carried(20)),
        None => Err(libc::EINVAL),
    }
}

fn of_v6(message: Given) -> Result<Said, i32> {
    match (message.kind, message.value) {
        (libc::IPV6_PKTINFO, value) if value.len() >= 20 => Ok(Said::Carried(20)),
        (libc::IPV6_HOPLIMIT | libc::IPV6_TCLASS, value) => number(value, -1..=255),
        (libc::IPV6_DONTFRAG, value) => number(value, 0..=1),
        (libc::IPV6_HOPOPTS | libc::IPV6_DSTOPTS, _) => Err(libc::EPERM),
        _ => Err(libc::EINVAL),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const V4: &str = "192.0.2.1:53";
    const V6: &str = "[2001:db8::1]:53";
    const MAPPED: &str = "[::ffff:192.0.2.1]:53";

    /// Returns control messages in the layout of a program.
    fn control(messages: &[(i32, i32, &[u8])]) -> Vec<u8> {
        let mut control = Vec::new();
        for (level, kind, value) in messages {
            control.extend((16 + value.len() as u64).to_ne_bytes());
            control.extend(level.to_ne_bytes());
            control.extend(kind.to_ne_bytes());
            control.extend(*value);
            control.resize(control.len().next_multiple_of(8), 0);
        }
        control
    }

    fn of(to: &str, messages: &[(i32, i32, &[u8])]) -> Result<Vec<u8>, i32> {
        said(&control(messages), to.parse().expect("one")).map(|said| said.octets().to_vec())
    }

    const IP: i32 = libc::IPPROTO_IP;
    const IPV6: i32 = libc::IPPROTO_IPV6;

    /// RFC 3542: messages that are carried, by the IP version of the datagram.
    #[test]
    fn what_is_carried() {
        let number = 9_i32.to_ne_bytes();
        let record = |level: i32, kind: i32, value: &[u8]| {
            [&[level as u8, kind as u8, value.len() as u8], value].concat()
        };
        for (to, level, kind, value) in [
            (V4, IP, libc::IP_TOS, &[3][..]),
            (V4, IP, libc::IP_TOS, &number),
            (V4, IP, libc::IP_TTL, &number),
            (MAPPED, IP, libc::IP_TTL, &number),
            (V4, IP, libc::IP_PKTINFO, &[1; 12]),
            (V6, IPV6, libc::IPV6_PKTINFO, &[1; 20]),
            (V6, IPV6, libc::IPV6_HOPLIMIT, &(-1_i32).to_ne_bytes()),
            (V6, IPV6, libc::IPV6_TCLASS, &number),
            (V6, IPV6, libc::IPV6_DONTFRAG, &1_i32.to_ne_bytes()),
            (V6, libc::SOL_SOCKET, libc::SO_PRIORITY, &6_i32.to_ne_bytes()),
            (V4, libc::SOL_UDP, libc::UDP_SEGMENT, &[0, 5]),
            (MAPPED, libc::SOL_UDP, libc::UDP_SEGMENT, &[0, 5]),
        ] {
            assert_eq!(
                of(to, &[(level, kind, value)]),
                Ok(record(level, kind, value)),
                "{to} {level} {kind}"
            );
        }
        let mapped =
            [&"::ffff:192.0.2.9".parse::<std::net::Ipv6Addr>().expect("one").octets()[..], &[0; 4]].concat();
        let pktinfo = (IPV6, libc::IPV6_PKTINFO, &mapped[..]);
        assert_eq!(of(MAPPED, &[pktinfo]), Ok(record(pktinfo.0, pktinfo.1, pktinfo.2)));
        // The last one of a type counts, and messages of another version are ignored.
        let messages =
            [(IP, libc::IP_TOS, &[1][..]), (IPV6, 99, b""), (IP, libc::IP_TOS, &[2]), (99, 1, b"")];
        assert_eq!(of(V4, &messages), Ok(record(IP, libc::IP_TOS, &[2])));
        assert_eq!(of(V6, &[(IP, 99, b"")]), Ok(Vec::new()));
        assert_eq!(of(V4, &[(libc::SOL_SOCKET, libc::SCM_RIGHTS, &number)]), Ok(Vec::new()));
        assert_eq!(
            of(V4, &[(libc::SOL_SOCKET, libc::SO_TIMESTAMPING, &2_u32.to_ne_bytes())]),
            Ok(Vec::new())
        );
        assert_eq!(of(V4, &[]), Ok(Vec::new()));
    }

    /// RFC 3542: messages that the kernel refuses, with its errors.
    #[test]
    fn what_is_refused() {
        let number = |number: i32| number.to_ne_bytes();
        for (to, level, kind, value) in [
            (V4, IP, libc::IP_TTL, &number(0)[..]),
            (V4, IP, libc::IP_TTL, &number(256)),
            (V4, IP, libc::IP_TTL, &[9]),
            (V4, IP, libc::IP_TOS, &number(-1)),
            (V4, IP, libc::IP_TOS, &[1, 2]),
            (V4, IP, libc::IP_PKTINFO, &[1; 11]),
            (V4, IP, libc::IP_PKTINFO, &[1; 13]),
            (V4, IP, 99, &number(1)),
            (V4, libc::SOL_UDP, libc::UDP_SEGMENT, &[0, 5, 0]),
            (V4, libc::SOL_UDP, libc::UDP_GRO, &[0, 5]),
            (V4, libc::SOL_SOCKET, 99, &number(1)),
            (V4, libc::SOL_SOCKET, libc::SO_TIMESTAMPING, &1024_u32.to_ne_bytes()),
            (MAPPED, IPV6, libc::IPV6_PKTINFO, &[1; 20]),
            (V6, IPV6, libc::IPV6_PKTINFO, &[1; 19]),
            (V6, IPV6, libc::IPV6_HOPLIMIT, &number(256)),
            (V6, IPV6, libc::IPV6_TCLASS, &number(-2)),
            (V6, IPV6, libc::IPV6_DONTFRAG, &number(2)),
            (V6, IPV6, 99, b""),
        ] {
            assert_eq!(of(to, &[(level, kind, value)]), Err(libc::EINVAL), "{to} {level} {kind} {value:?}");
        }
        for (level, kind, value) in [
            (libc::SOL_SOCKET, libc::SO_MARK, number(1)),
            (libc::SOL_SOCKET, libc::SO_PRIORITY, number(7)),
            (IPV6, libc::IPV6_HOPOPTS, number(0)),
        ] {
            assert_eq!(of(V6, &[(level, kind, &value)]), Err(libc::EPERM), "{level} {kind}");
        }
        let mut octets = control(&[(IP, libc::IP_TOS, &[1])]);
        octets[0] = 15;
        assert_eq!(said(&octets, V4.parse().expect("one")), Err(libc::EINVAL));
        octets[0] = 25;
        assert_eq!(said(&octets, V4.parse().expect("one")), Err(libc::EINVAL));
    }
}
