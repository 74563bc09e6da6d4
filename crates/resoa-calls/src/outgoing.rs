//! Decides about a datagram to send: whether the kernel's UDP would accept it, and which way it
//! takes.
//!
//! This happens before anything is sent, because no call waits for the server afterwards. The
//! checks follow the order of `udp_sendmsg`, which determines the error that a program gets if
//! there are several.

use crate::ancillary;
use crate::datagram::CONNECTED;
use resoa_protocol::message::{Ancillary, longest_datagram};
use std::net::SocketAddr;

/// The maximum of a 16-bit length, which UDP over IPv4 checks before anything else.
const MOST: usize = 0xffff;

/// A datagram that a program sends.
#[derive(Debug, Clone, Copy)]
pub struct Outgoing<'a> {
    /// Its length in bytes.
    pub length: usize,
    /// The destination that the program gave; `None` is the socket's own.
    pub to: Option<SocketAddr>,
    /// The program's control buffer.
    pub control: &'a [u8],
    /// `MSG_…`
    pub flags: i32,
}

/// The way of a datagram to the agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Way {
    /// Over the descriptor: without a front if the socket is connected, otherwise with this
    /// [front](crate::datagram::said).
    Descriptor(Option<(SocketAddr, Ancillary)>),
    /// By [`Request::SendTo`](crate::Request::SendTo). The descriptor cannot carry it, because its
    /// socket is connected, or because only the agent knows the datagram that it is a part of
    /// (MSG_MORE, UDP_CORK).
    Agent(Option<SocketAddr>, Ancillary),
}

impl Outgoing<'_> {
    /// Returns the way of the datagram, for a descriptor with this [mark](crate::descriptor::mark).
    /// `domain` and `peer` ask for SO_DOMAIN and for the name of the peer, only if they matter.
    ///
    /// # Errors
    /// EMSGSIZE, EOPNOTSUPP, those of [`ancillary::said`], and failures of `domain` and `peer`.
    /// EDESTADDRREQ only if the datagram is too long to be a part of another; otherwise the agent
    /// reports that.
    pub fn way<E: From<i32>>(
        &self,
        mark: i32,
        domain: impl Fn() -> Result<i32, E>,
        peer: impl FnOnce() -> Result<SocketAddr, E>,
    ) -> Result<Way, E> {
        let is_v4 = || match self.to {
            Some(SocketAddr::V4(_)) => Ok(true),
            Some(SocketAddr::V6(to)) => Ok(to.ip().to_ipv4_mapped().is_some()),
            None => domain().map(|domain| domain == libc::AF_INET),
        };
        // UDP has no urgent data. UDP over IPv4 reports that.
        let is_urgent = self.flags & libc::MSG_OOB != 0;
        if (self.length > MOST || is_urgent) && is_v4()? {
            return Err(if self.length > MOST { libc::EMSGSIZE } else { libc::EOPNOTSUPP }.into());
        }
        if self.goes_nowhere(mark) {
            // A datagram beyond the maximum length is no part of another either.
            let may_be_part = self.length <= longest_datagram(false);
            let way = Way::Agent(None, Ancillary::none());
            return if may_be_part { Ok(way) } else { Err(libc::EDESTADDRREQ.into()) };
        }
        let way = self.way_of(mark & CONNECTED != 0, peer)?;
        if self.length > longest_datagram(true) && self.length > longest_datagram(is_v4()?) {
            return Err(libc::EMSGSIZE.into());
        }
        Ok(way)
    }

    /// Returns whether neither the datagram nor its socket has a destination. Then it can only be
    /// the rest of a datagram that has one. If there is none, the agent says EDESTADDRREQ.
    #[must_use]
    pub fn goes_nowhere(&self, mark: i32) -> bool {
        self.to.is_none() && mark & CONNECTED == 0
    }

    fn way_of<E: From<i32>>(
        &self,
        is_connected: bool,
        peer: impl FnOnce() -> Result<SocketAddr, E>,
    ) -> Result<Way, E> {
        let ancillary = |to| match self.control {
            [] => Ok(Ancillary::none()),
            control => ancillary::said(control, to),
        };
        let (to, ancillary) = match self.to {
            Some(to) if !is_connected => (Some(to), ancillary(to)?),
            None if self.control.is_empty() => (None, Ancillary::none()),
            // If the peer has no name (port 0), the destination is another one.
            Some(to) => (Some(to).filter(|to| !peer().is_ok_and(|peer| peer == *to)), ancillary(to)?),
            None => (None, ancillary(peer()?)?),
        };
        let is_part = self.flags & libc::MSG_MORE != 0;
        let has_place = !is_part && (!is_connected || to.is_none() && ancillary.is_empty());
        Ok(if has_place { Way::Descriptor(to.map(|to| (to, ancillary))) } else { Way::Agent(to, ancillary) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use libc::{AF_INET, AF_INET6};

    const V4: &str = "192.0.2.1:53";
    const V6: &str = "[2001:db8::1]:53";
    const MAPPED: &str = "[::ffff:192.0.2.1]:53";

    fn at(address: &str) -> SocketAddr {
        address.parse().expect("an address")
    }

    /// Returns the way of a datagram on a socket of this family. If the socket is connected, its
    /// peer is port 53 of 192.0.2.1.
    fn way(outgoing: &Outgoing, mark: i32, domain: i32) -> Result<Way, i32> {
        outgoing.way(mark, || Ok(domain), || Ok(at(V4)))
    }

    fn plain(length: usize, to: Option<&str>) -> Outgoing<'static> {
        Outgoing { length, to: to.map(at), control: &[], flags: 0 }
    }

    /// C91: the maximum length, by the IP version.
    #[test]
    fn lengths() {
        for (to, domain, most) in [
            (Some(V4), AF_INET, 65_507),
            (Some(MAPPED), AF_INET6, 65_507),
            (Some(V6), AF_INET6, 65_527),
            (None, AF_INET, 65_507),
            (None, AF_INET6, 65_527),
        ] {
            let of = |length| way(&plain(length, to), CONNECTED, domain);
            assert!(of(most).is_ok(), "{to:?}");
            assert_eq!(of(most + 1), Err(libc::EMSGSIZE), "{to:?}");
        }
        // Over IPv4, a length beyond 16 bits is reported before the missing destination.
        for (length, domain, error) in [
            (65_528, AF_INET, libc::EDESTADDRREQ),
            (65_535, AF_INET, libc::EDESTADDRREQ),
            (65_536, AF_INET, libc::EMSGSIZE),
            (65_536, AF_INET6, libc::EDESTADDRREQ),
        ] {
            assert_eq!(way(&plain(length, None), 0, domain), Err(error), "{length} {domain}");
        }
        // If the agent does not answer, the datagram is not sent.
        assert_eq!(plain(65_508, None).way(CONNECTED, || Err(100), || Ok(at(V4))), Err(100));
        let nameless = |outgoing: Outgoing| outgoing.way(CONNECTED, || Ok(AF_INET6), || Err(100));
        let elsewhere = Way::Agent(Some(at(V6)), Ancillary::none());
        assert_eq!(nameless(plain(1, Some(V6))), Ok(elsewhere));
    }

    /// C91: MSG_OOB has no meaning for UDP, and UDP over IPv4 reports that.
    #[test]
    fn urgent_data() {
        for (to, domain, result) in [
            (Some(V4), AF_INET, Err(libc::EOPNOTSUPP)),
            (None, AF_INET, Err(libc::EOPNOTSUPP)),
            (Some(MAPPED), AF_INET6, Err(libc::EOPNOTSUPP)),
            (Some(V6), AF_INET6, Ok(())),
            (None, AF_INET6, Ok(())),
        ] {
            let outgoing = Outgoing { flags: libc::MSG_OOB, ..plain(1, to) };
            assert_eq!(way(&outgoing, CONNECTED, domain).map(drop), result, "{to:?} {domain}");
        }
        let nowhere = Outgoing { flags: libc::MSG_OOB, ..plain(1, None) };
        assert_eq!(way(&nowhere, 0, AF_INET), Err(libc::EOPNOTSUPP));
    }

    /// C91, RFC 3542: only datagrams that the descriptor cannot carry are sent by requests.
    #[test]
    fn ways() {
        let tos: Vec<u8> =
            [&17_u64.to_ne_bytes()[..], &0_i32.to_ne_bytes(), &libc::IP_TOS.to_ne_bytes(), &[4]].concat();
        let beside = Ancillary::read(&[0, libc::IP_TOS as u8, 1, 4]).expect("a record");
        let with = |to, control| Outgoing { control, ..plain(1, to) };
        let unconnected = |to| way(&with(to, &tos), 0, AF_INET);
        // The agent knows whether it is the rest of another datagram.
        assert_eq!(way(&plain(1, None), 0, AF_INET), Ok(Way::Agent(None, Ancillary::none())));
        assert_eq!(unconnected(None), Ok(Way::Agent(None, Ancillary::none())));
        assert_eq!(way(&plain(65_527, None), 0, AF_INET6), Ok(Way::Agent(None, Ancillary::none())));
        assert_eq!(unconnected(Some(V4)), Ok(Way::Descriptor(Some((at(V4), beside.clone())))));
        let elsewhere = "192.0.2.1:54";
        for (to, control, expected) in [
            (None, &[][..], Way::Descriptor(None)),
            (Some(V4), &[], Way::Descriptor(None)),
            (Some(elsewhere), &[], Way::Agent(Some(at(elsewhere)), Ancillary::none())),
            (None, &tos, Way::Agent(None, beside.clone())),
            (Some(V4), &tos, Way::Agent(None, beside.clone())),
            (Some(elsewhere), &tos, Way::Agent(Some(at(elsewhere)), beside.clone())),
        ] {
            assert_eq!(way(&with(to, control), CONNECTED, AF_INET), Ok(expected), "{to:?} {control:?}");
        }
        // Parts are sent by requests, whatever their destination.
        let part = |to| Outgoing { flags: libc::MSG_MORE, ..plain(1, to) };
        assert_eq!(way(&part(Some(V4)), 0, AF_INET), Ok(Way::Agent(Some(at(V4)), Ancillary::none())));
        assert_eq!(way(&part(None), CONNECTED, AF_INET), Ok(Way::Agent(None, Ancillary::none())));
        let mut wrong = tos.clone();
        wrong[0] = 15;
        assert_eq!(way(&with(Some(V4), &wrong), CONNECTED, AF_INET), Err(libc::EINVAL));
        let never = || -> Result<SocketAddr, i32> { unreachable!("the peer does not matter") };
        assert_eq!(plain(1, Some(V4)).way(0, || Ok(AF_INET), never).map(drop), Ok(()));
    }
}
