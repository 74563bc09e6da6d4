//! Options of the server's stack that the client fully knows: their valid values, and the values
//! that are read back. The client sends them without waiting for an answer.
//!
//! So `setsockopt` returns at once, and a program that sets a few options before `connect` waits
//! for a single round trip, that of `connect` (3.6: "bundle with CREATE/BIND when set before first
//! use"). There are two exceptions. Options of a listener need an answer, because connections
//! inherit them. So do all options while the link takes nothing: the messages would wait here, and
//! a program could set options without limit.
//!
//! Ranges are those of Linux (`do_tcp_setsockopt`, `do_ip_setsockopt`, `do_ipv6_setsockopt`), as
//! seen from outside.

use super::Lsm;
use crate::Errno;
use crate::message::{Family, RsockType};
use std::ops::RangeInclusive;

const SOL_SOCKET: i32 = 1;
const SOL_IP: i32 = 0;
const SOL_TCP: i32 = 6;
const SOL_IPV6: i32 = 41;

/// Knowledge about an option.
enum Known {
    /// On or off, and read back as that.
    Switch,
    /// Valid in this range, and read back unchanged.
    Number(RangeInclusive<i32>),
    /// Any number is valid, and the stack decides the value that is read back.
    Any,
}

/// An option that is sent without waiting for an answer.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Told {
    /// Value that `getsockopt` returns from now on; `None` if the server has to be asked.
    pub(super) read_back: Option<Vec<u8>>,
}

fn known(level: i32, name: i32) -> Option<Known> {
    let number = Known::Number;
    Some(match (level, name) {
        // SO_REUSEADDR, SO_DONTROUTE, SO_BROADCAST, SO_KEEPALIVE, SO_REUSEPORT; TCP_NODELAY,
        // TCP_CORK; IP_RECVERR; IPV6_RECVERR, IPV6_V6ONLY.
        (SOL_SOCKET, 2 | 5 | 6 | 9 | 15) | (SOL_TCP, 1 | 3) | (SOL_IP, 11) | (SOL_IPV6, 25 | 26) => {
            Known::Switch
        }
        // SO_RCVBUF, doubled and limited by the server; TCP_QUICKACK, which does not last.
        (SOL_SOCKET, 8) | (SOL_TCP, 12) => Known::Any,
        // TCP_KEEPIDLE, TCP_KEEPINTVL.
        (SOL_TCP, 4 | 5) => number(1..=32_767),
        // TCP_KEEPCNT, TCP_SYNCNT.
        (SOL_TCP, 6 | 7) => number(1..=127),
        // TCP_USER_TIMEOUT.
        (SOL_TCP, 18) => number(0..=i32::MAX),
        // TCP_NOTSENT_LOWAT.
        (SOL_TCP, 25) => number(i32::MIN..=i32::MAX),
        // IP_TTL.
        (SOL_IP, 2) => number(1..=255),
        // IPV6_UNICAST_HOPS, IPV6_TCLASS.
        (SOL_IPV6, 16 | 67) => number(0..=255),
        _ => return None,
    })
}

impl Lsm {
    /// Returns whether an option is valid and how it is read back; `None` if the server has to be
    /// asked.
    pub(super) fn told(&self, level: i32, name: i32, value: &[u8]) -> Option<Result<Told, Errno>> {
        let is_ours = match level {
            SOL_TCP => self.create.kind == RsockType::Stream,
            SOL_IP if name == 11 => self.create.family == Family::V4 && self.create.kind != RsockType::Stream,
            SOL_IPV6 if name == 25 => {
                self.create.family == Family::V6 && self.create.kind != RsockType::Stream
            }
            SOL_IP => self.create.family == Family::V4,
            // IPV6_V6ONLY cannot change once the socket has an address.
            SOL_IPV6 => self.create.family == Family::V6 && (name != 26 || self.local.is_none()),
            _ => true,
        };
        let known = known(level, name).filter(|_| is_ours)?;
        let Some(number) = value.first_chunk().map(|octets| i32::from_ne_bytes(*octets)) else {
            // Linux accepts a single byte for some options of IP.
            return (level == SOL_SOCKET || level == SOL_TCP).then_some(Err(Errno::EINVAL));
        };
        let read_back = match known {
            Known::Switch => Some(i32::from(number != 0)),
            Known::Number(valid) if valid.contains(&number) => Some(number),
            // -1 stands for the stack's default.
            Known::Number(_) if number == -1 && matches!(level, SOL_IP | SOL_IPV6) => None,
            Known::Number(_) => return Some(Err(Errno::EINVAL)),
            Known::Any => None,
        };
        Some(Ok(Told { read_back: read_back.map(|number| number.to_ne_bytes().to_vec()) }))
    }
}
