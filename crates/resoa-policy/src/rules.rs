//! What a client may reach and bind. What may reach it is in `incoming`, the names that it may look
//! up in `look_ups`.
//!
//! The first of these that fits decides:
//!
//! 1. what `deny` names is refused;
//! 2. what is [guarded](Guarded) is refused, unless an entry of `allow` lies wholly within: `any`
//!    does not open the server's loopback, `127.0.0.1 8080` does;
//! 3. what `allow` names is reached, and nothing else.
//!
//! Addresses are looked at as what they are and not as they are written: `::ffff:127.0.0.1`,
//! `64:ff9b::7f00:1` and `0.0.0.0` are the loopback.

use super::look_ups::NamePattern;
use super::network::{Destination, Network, Ports};
use resoa_protocol::Errno;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

/// What a client may reach and bind; see the [module](self).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rules {
    /// What it may reach.
    pub allow: Vec<Destination>,
    /// What it may not, whatever `allow` says.
    pub deny: Vec<Destination>,
    /// The server's own addresses are as any others.
    pub own: bool,
    /// Ports that it may bind by number; one that the server chooses always.
    pub bind: Ports,
    /// Whether others may connect to it, and send it datagrams that answer none of its own.
    pub listen: bool,
    /// Networks from which they may; `None` for any.
    pub accept_from: Option<Vec<Network>>,
    /// It is a program of this host and of this process's user: it shares ports and multicast
    /// groups with others as the kernel lets it. No policy file says so.
    pub of_this_user: bool,
    /// Names that it may look up; `None` for all if `allow` names anything, and for none otherwise.
    pub names: Option<Vec<NamePattern>>,
}

impl Default for Rules {
    /// Everything that is not guarded; no ports that take a privilege elsewhere.
    fn default() -> Self {
        Self {
            allow: vec![Destination::ANY],
            deny: Vec::new(),
            own: false,
            bind: Ports::from_to(1024, u16::MAX),
            listen: true,
            accept_from: None,
            of_this_user: false,
            names: None,
        }
    }
}

/// Places that are not meant when somebody says *any*: they are the server's, not the network's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Guarded {
    /// Programs of the server that serve it alone.
    Loopback,
    /// Its neighbours, and the metadata of clouds (169.254.169.254).
    LinkLocal,
    /// Multicast and broadcast.
    Multicast,
    /// Addresses of the server itself, where it offers what it offers.
    Own,
}

/// Why something is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Refusal {
    /// `deny` names it.
    Denied,
    /// `allow` does not.
    NotAllowed,
    /// It is guarded.
    Guarded(Guarded),
    /// The port is not one that the client may bind.
    Port,
    /// Another client has this port at this address.
    Taken,
    /// A process of the host has this port at this address, or at one that overlaps.
    HostPort,
    /// The client may not listen.
    Listen,
    /// `accept-from` does not name the sender.
    AcceptFrom,
    /// `names` does not name it.
    Name,
    /// Its octets are as many as it may have under way.
    Buffers,
    /// Too many look-ups at a time.
    LookUps,
}

impl Refusal {
    /// What the program is told. A place that may not be reached is not there; a privilege that is
    /// missing is said as such.
    #[must_use]
    pub fn errno(self) -> Errno {
        match self {
            Self::Denied | Self::NotAllowed | Self::Guarded(_) | Self::Name => Errno::ENETUNREACH,
            Self::Port | Self::Listen => Errno::EACCES,
            Self::Taken | Self::HostPort => Errno::EADDRINUSE,
            // The far host is told, not the program.
            Self::AcceptFrom => Errno::ECONNREFUSED,
            Self::Buffers | Self::LookUps => Errno::ENOBUFS,
        }
    }

    /// One word, for figures.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Denied => "denied",
            Self::NotAllowed => "not_allowed",
            Self::Guarded(Guarded::Loopback) => "loopback",
            Self::Guarded(Guarded::LinkLocal) => "link_local",
            Self::Guarded(Guarded::Multicast) => "multicast",
            Self::Guarded(Guarded::Own) => "own_address",
            Self::Port => "port",
            Self::Taken => "port_taken",
            Self::HostPort => "host_port",
            Self::Listen => "listen",
            Self::AcceptFrom => "accept_from",
            Self::Name => "name",
            Self::Buffers => "buffers",
            Self::LookUps => "look_ups",
        }
    }
}

const fn v4(octets: [u8; 4], length: u8) -> Network {
    Network::new(IpAddr::V4(Ipv4Addr::from_octets(octets)), length)
}

const fn v6(first: u16, length: u8) -> Network {
    Network::new(IpAddr::V6(Ipv6Addr::new(first, 0, 0, 0, 0, 0, 0, 0)), length)
}

/// The guarded networks (RFC 1122 3.2.1.3, RFC 3927, RFC 5771, RFC 4291).
const GUARDED: &[(Network, Guarded)] = &[
    (v4([127, 0, 0, 0], 8), Guarded::Loopback),
    (v4([0, 0, 0, 0], 8), Guarded::Loopback),
    (Network::new(IpAddr::V6(Ipv6Addr::LOCALHOST), 128), Guarded::Loopback),
    (v4([169, 254, 0, 0], 16), Guarded::LinkLocal),
    (v6(0xfe80, 10), Guarded::LinkLocal),
    (v4([224, 0, 0, 0], 4), Guarded::Multicast),
    (v4([255, 255, 255, 255], 32), Guarded::Multicast),
    (v6(0xff00, 8), Guarded::Multicast),
];

/// What a translator to version 4 takes (RFC 6052 2.1).
const TRANSLATED: Network = Network::new(IpAddr::V6(Ipv6Addr::new(0x64, 0xff9b, 0, 0, 0, 0, 0, 0)), 96);

/// The address that packets would go to: version 4 in version 6, by the kernel (RFC 4291 2.5.5) or
/// by a translator (RFC 6052), is version 4, and no address is this host.
#[must_use]
pub fn meant(address: IpAddr) -> IpAddr {
    let inner = match address {
        IpAddr::V4(_) => address,
        IpAddr::V6(outer) => {
            let last = u128::from(outer) as u32;
            if outer.to_ipv4_mapped().is_some() || TRANSLATED.contains(address) {
                Ipv4Addr::from(last).into()
            } else {
                address
            }
        }
    };
    match inner {
        IpAddr::V4(Ipv4Addr::UNSPECIFIED) => Ipv4Addr::LOCALHOST.into(),
        IpAddr::V6(Ipv6Addr::UNSPECIFIED) => Ipv6Addr::LOCALHOST.into(),
        _ => inner,
    }
}

impl Rules {
    /// Whether something there may be reached; `is_own` says whether an address is the server's.
    /// Port 0 stands for whichever may be.
    ///
    /// # Errors
    /// Why not.
    pub fn destination(&self, to: SocketAddr, is_own: impl FnOnce(IpAddr) -> bool) -> Result<(), Refusal> {
        let (address, port) = (meant(to.ip()), to.port());
        // A denied port says nothing of an address as a whole.
        let denies = |entry: &&Destination| entry.has(address, port) && (port > 0 || entry.ports.is_none());
        if self.deny.iter().any(|entry| denies(&entry)) {
            return Err(Refusal::Denied);
        }
        let mut allowed =
            self.allow.iter().filter(|entry| entry.has(address, port)).map(|entry| entry.network);
        if let Some((network, which)) = guarded(address) {
            let opened = allowed.any(|entry| entry.is_some_and(|entry| network.covers(&entry)));
            return if opened { Ok(()) } else { Err(Refusal::Guarded(*which)) };
        }
        let allowed: Vec<_> = allowed.collect();
        if allowed.is_empty() {
            Err(Refusal::NotAllowed)
        } else if self.own
            || allowed.iter().any(|entry| entry.is_some_and(|entry| entry.is_one()))
            || !is_own(address)
        {
            Ok(())
        } else {
            Err(Refusal::Guarded(Guarded::Own))
        }
    }

    /// Whether this may be bound. A guarded address may be, at the ports at which it may be
    /// reached; with port 0 it may be where a connection comes from.
    ///
    /// # Errors
    /// Why not.
    pub fn bound(&self, wanted: SocketAddr) -> Result<(), Refusal> {
        if wanted.port() != 0 && !self.bind.contain(wanted.port()) {
            return Err(Refusal::Port);
        }
        if wanted.ip().is_unspecified() {
            return Ok(());
        }
        // What else it may reach says nothing of where it may be, and that an address is the
        // server's own is what the kernel demands.
        if guarded(meant(wanted.ip())).is_none() {
            return Ok(());
        }
        self.destination(SocketAddr::new(wanted.ip(), 0), |_| false)?;
        self.destination(wanted, |_| false).map_err(|_| Refusal::Port)
    }
}

/// The guarded network that an address is in.
pub(super) fn guarded(address: IpAddr) -> Option<&'static (Network, Guarded)> {
    GUARDED.iter().find(|(network, _)| network.contains(address))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rules(allow: &[&str], deny: &[&str]) -> Rules {
        let read = |texts: &[&str]| texts.iter().map(|text| text.parse().expect("a destination")).collect();
        Rules { allow: read(allow), deny: read(deny), ..Rules::default() }
    }

    fn asked(rules: &Rules, to: &str) -> Result<(), Refusal> {
        let own: [IpAddr; 2] = [[192, 0, 2, 1].into(), "2001:db8::1".parse().expect("an address")];
        rules.destination(to.parse().expect("an address with a port"), |address| own.contains(&address))
    }

    /// What is the server's and not the network's is refused however it is written, also by *any*.
    #[test]
    fn guarded_however_written() {
        use Guarded::{LinkLocal, Loopback, Multicast, Own};
        for rules in
            [Rules::default(), rules(&["any", "0.0.0.0/0", "::/0", "126.0.0.0/7", "192.0.2.0/24"], &[])]
        {
            for (to, guarded) in [
                ("127.0.0.1:80", Loopback),
                ("127.255.0.9:80", Loopback),
                ("0.0.0.0:80", Loopback),
                ("[::1]:80", Loopback),
                ("[::]:80", Loopback),
                ("[::ffff:127.0.0.1]:80", Loopback),
                ("[::ffff:0.0.0.0]:80", Loopback),
                ("[64:ff9b::7f00:1]:80", Loopback),
                ("169.254.169.254:80", LinkLocal),
                ("[::ffff:169.254.169.254]:80", LinkLocal),
                ("[fe80::1%3]:80", LinkLocal),
                ("224.0.0.251:5353", Multicast),
                ("255.255.255.255:67", Multicast),
                ("[ff02::fb]:5353", Multicast),
                ("192.0.2.1:22", Own),
                ("[::ffff:192.0.2.1]:22", Own),
                ("[2001:db8::1]:22", Own),
            ] {
                assert_eq!(asked(&rules, to), Err(Refusal::Guarded(guarded)), "{to}");
            }
            for to in ["192.0.2.2:22", "[2001:db8::2]:22", "[::ffff:192.0.2.2]:22", "198.51.100.1:1"] {
                assert_eq!(asked(&rules, to), Ok(()), "{to}");
            }
        }
    }

    /// An entry that lies within opens that much of it.
    #[test]
    fn guarded_and_opened() {
        let rules = rules(&["any 443", "127.0.0.1 8080", "192.0.2.1 22", "fe80::/64"], &[]);
        for to in
            ["127.0.0.1:8080", "[::ffff:127.0.0.1]:8080", "0.0.0.0:8080", "192.0.2.1:22", "[fe80::9%2]:1"]
        {
            assert_eq!(asked(&rules, to), Ok(()), "{to}");
        }
        for to in ["127.0.0.1:443", "127.0.0.2:8080", "[::1]:8080", "192.0.2.1:443", "[fe80:1::9%2]:1"] {
            assert!(matches!(asked(&rules, to), Err(Refusal::Guarded(_))), "{to}");
        }
        assert_eq!(asked(&rules, "198.51.100.1:80"), Err(Refusal::NotAllowed));
    }

    /// `deny` is stronger than `allow`, and one of a port does not close an address.
    #[test]
    fn denied_before_allowed() {
        let rules = rules(&["any", "127.0.0.1"], &["any 25", "198.51.100.0/24", "127.0.0.1 22"]);
        for to in [
            "203.0.113.1:25",
            "198.51.100.9:80",
            "198.51.100.9:0",
            "127.0.0.1:22",
            "[::ffff:198.51.100.9]:80",
        ] {
            assert_eq!(asked(&rules, to), Err(Refusal::Denied), "{to}");
        }
        for to in ["203.0.113.1:80", "203.0.113.1:0", "127.0.0.1:80"] {
            assert_eq!(asked(&rules, to), Ok(()), "{to}");
        }
    }

    /// Ports below 1024 are not anybody's to bind, and neither is the loopback.
    #[test]
    fn what_may_be_bound() {
        let at = |text: &str| text.parse().expect("an address with a port");
        let default = Rules::default();
        for wanted in ["0.0.0.0:0", "0.0.0.0:1024", "192.0.2.1:65535", "[::]:8080"] {
            assert_eq!(default.bound(at(wanted)), Ok(()), "{wanted}");
        }
        assert_eq!(default.bound(at("0.0.0.0:1023")), Err(Refusal::Port));
        assert_eq!(default.bound(at("127.0.0.1:8080")), Err(Refusal::Guarded(Guarded::Loopback)));
        assert_eq!(rules(&["127.0.0.0/8"], &[]).bound(at("127.0.0.1:8080")), Ok(()));
        // One port of the loopback is that one. A connection to it may come from any that the
        // kernel chooses.
        let one = rules(&["any", "127.0.0.1 8080"], &[]);
        for wanted in ["127.0.0.1:8081", "[::ffff:127.0.0.1]:8081", "127.0.0.1:65535"] {
            assert_eq!(one.bound(at(wanted)), Err(Refusal::Port), "{wanted}");
        }
        assert_eq!(one.bound(at("127.0.0.2:8080")), Err(Refusal::Guarded(Guarded::Loopback)));
        for wanted in ["127.0.0.1:8080", "127.0.0.1:0", "192.0.2.1:8081"] {
            assert_eq!(one.bound(at(wanted)), Ok(()), "{wanted}");
        }
        // What it may reach says nothing of where it may be.
        assert_eq!(rules(&["198.51.100.0/24"], &[]).bound(at("192.0.2.1:8080")), Ok(()));
        assert_eq!(rules(&["any"], &["192.0.2.0/24"]).bound(at("192.0.2.1:8080")), Ok(()));
    }

    /// `deny` only ever takes away: what is guarded stays so, and what was opened is closed by it
    /// again.
    #[test]
    fn denying_opens_nothing() {
        let at = |text: &str| text.parse().expect("an address with a port");
        for deny in ["127.0.0.1", "127.0.0.0/8", "0.0.0.0/0", "any"] {
            for allow in ["any", "127.0.0.0/8"] {
                let bound = rules(&[allow], &[deny]).bound(at("127.0.0.1:8080"));
                assert!(bound.is_err(), "allow {allow}, deny {deny}: {bound:?}");
            }
        }
        let linked = rules(&["any"], &["169.254.0.0/16", "224.0.0.0/4"]);
        for wanted in ["169.254.1.1:8080", "224.0.0.251:5353", "[::ffff:169.254.1.1]:8080"] {
            assert!(linked.bound(at(wanted)).is_err(), "{wanted}");
        }
        // A denied port says nothing of an address as a whole.
        assert_eq!(rules(&["127.0.0.1"], &["any 25"]).bound(at("127.0.0.1:8080")), Ok(()));
    }
}
