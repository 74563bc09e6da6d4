//! What becomes of a datagram that a program sends: whether the kernel's UDP would take it, and by which way it goes. It is decided before anything of it is on its way, since nobody waits for the
//! server then; in the order of `udp_sendmsg`, which decides which of several errors a program is told.

use crate::ancillary;
use crate::datagram::{CONNECTED, longest};
use resoa_protocol::message::Ancillary;
use std::net::SocketAddr;

/// What 16 bits of length say: a UDP of version 4 looks at them before anything else.
const MOST: usize = 0xffff;

/// A datagram that a program sends.
#[derive(Debug, Clone, Copy)]
pub struct Outgoing<'a> {
    /// Octets of it.
    pub length: usize,
    /// Where the program says that it goes to; `None` is where the socket is connected to.
    pub to: Option<SocketAddr>,
    /// The program's control buffer.
    pub control: &'a [u8],
    /// `MSG_…`
    pub flags: i32,
}

/// The way of a datagram.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Way {
    /// Over the descriptor: as it is where the socket is connected to, otherwise with this [in front](crate::datagram::said).
    Descriptor(Option<(SocketAddr, Ancillary)>),
    /// By [`Request::SendTo`](crate::Request::SendTo): it is of a connected socket, and has no place on the descriptor.
    Agent(Option<SocketAddr>, Ancillary),
}

impl Outgoing<'_> {
    /// Which way it goes, of a socket whose descriptor has this [mark](crate::descriptor::mark). The agent is asked for SO_DOMAIN and for the name of the peer only where they matter.
    ///
    /// # Errors
    /// EMSGSIZE, EOPNOTSUPP, EDESTADDRREQ, those of [`ancillary::said`], and as the agent's answers fail.
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
        // A UDP has no urgent data, and that of version 4 says so.
        let is_urgent = self.flags & libc::MSG_OOB != 0;
        if (self.length > MOST || is_urgent) && is_v4()? {
            return Err(if self.length > MOST { libc::EMSGSIZE } else { libc::EOPNOTSUPP }.into());
        }
        let way = self.way_of(mark & CONNECTED != 0, peer)?;
        if self.length > longest(true) && self.length > longest(is_v4()?) {
            return Err(libc::EMSGSIZE.into());
        }
        Ok(way)
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
        match self.to {
            None if !is_connected => Err(libc::EDESTADDRREQ.into()),
            Some(to) if !is_connected => Ok(Way::Descriptor(Some((to, ancillary(to)?)))),
            None if self.control.is_empty() => Ok(Way::Descriptor(None)),
            to => {
                let peer = peer()?;
                let ancillary = ancillary(to.unwrap_or(peer))?;
                let to = to.filter(|to| *to != peer);
                let has_place = to.is_none() && ancillary.is_empty();
                Ok(if has_place { Way::Descriptor(None) } else { Way::Agent(to, ancillary) })
            }
        }
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

    /// The way of a datagram of a socket of this family, which is connected to port 53 of 192.0.2.1 if it is.
    fn way(outgoing: &Outgoing, mark: i32, domain: i32) -> Result<Way, i32> {
        outgoing.way(mark, || Ok(domain), || Ok(at(V4)))
    }

    fn plain(length: usize, to: Option<&str>) -> Outgoing<'static> {
        Outgoing { length, to: to.map(at), control: &[], flags: 0 }
    }

    /// C91: the longest that there is, by the version of IP that it goes by.
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
        // Before the destination that there is not, in version 4, once 16 bits do not say it.
        for (length, domain, error) in [
            (65_535, AF_INET, libc::EDESTADDRREQ),
            (65_536, AF_INET, libc::EMSGSIZE),
            (65_536, AF_INET6, libc::EDESTADDRREQ),
        ] {
            assert_eq!(way(&plain(length, None), 0, domain), Err(error), "{length} {domain}");
        }
        // What the agent cannot say is no reason to send it.
        assert_eq!(plain(65_508, None).way(CONNECTED, || Err(100), || Ok(at(V4))), Err(100));
        assert_eq!(plain(1, Some(V6)).way(CONNECTED, || Ok(AF_INET6), || Err(100)), Err(100));
    }

    /// C91: MSG_OOB means nothing to UDP, and version 4 says so.
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

    /// C91, RFC 3542: what has no place on the descriptor goes by the agent, and nothing else does.
    #[test]
    fn ways() {
        let tos: Vec<u8> =
            [&17_u64.to_ne_bytes()[..], &0_i32.to_ne_bytes(), &libc::IP_TOS.to_ne_bytes(), &[4]].concat();
        let beside = Ancillary::read(&[0, libc::IP_TOS as u8, 1, 4]).expect("a record");
        let with = |to, control| Outgoing { control, ..plain(1, to) };
        let unconnected = |to| way(&with(to, &tos), 0, AF_INET);
        assert_eq!(way(&plain(1, None), 0, AF_INET), Err(libc::EDESTADDRREQ));
        assert_eq!(unconnected(None), Err(libc::EDESTADDRREQ));
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
        let mut wrong = tos.clone();
        wrong[0] = 15;
        assert_eq!(way(&with(Some(V4), &wrong), CONNECTED, AF_INET), Err(libc::EINVAL));
        let never = || -> Result<SocketAddr, i32> { unreachable!("the peer does not matter") };
        assert_eq!(plain(1, Some(V4)).way(0, || Ok(AF_INET), never).map(drop), Ok(()));
    }
}
