//! Destinations that a client may reach, and addresses that it may bind. Rules for incoming traffic
//! are in `incoming`, names that it may look up in `look_ups`.
//!
//! The first of these rules that matches decides:
//!
//! 1. A destination in `deny` is refused.
//! 2. A [guarded](Guarded) destination is refused, unless an entry of `allow` lies completely
//!    within the guarded network. `any` does not open the server's loopback, `127.0.0.1 8080` does.
//! 3. A destination in `allow` is permitted, and any other one is refused.
//!
//! Addresses are interpreted before they are compared: `::ffff:127.0.0.1`, `64:ff9b::7f00:1` and
//! `0.0.0.0` are the loopback.

use super::look_ups::NamePattern;
use super::network::{Destination, Network, Ports};
use resoa_protocol::Errno;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

/// Destinations and addresses that a client may use; see the [module](self).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rules {
    /// Destinations that it may reach.
    pub allow: Vec<Destination>,
    /// Destinations that it may not reach, even if `allow` has them.
    pub deny: Vec<Destination>,
    /// Whether the server's own addresses are treated like any others.
    pub own: bool,
    /// Ports that it may bind by number. Ports that the server chooses are always permitted.
    pub bind: Ports,
    /// Whether others may connect to it, and send it datagrams that are no answers.
    pub listen: bool,
    /// Networks from which they may do so; `None` for any.
    pub accept_from: Option<Vec<Network>>,
    /// Whether the client is a program of this host and of this process's user. Then it shares
    /// ports and multicast groups with others as far as the kernel permits. Policy files cannot set
    /// this.
    pub of_this_user: bool,
    /// Names that it may look up. `None` permits all names if `allow` has any entry, and none
    /// otherwise.
    pub names: Option<Vec<NamePattern>>,
}

impl Default for Rules {
    /// Permits everything that is not guarded, and no privileged ports.
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

/// Networks that *any* does not include, because they belong to the server and not to the network.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Guarded {
    /// Programs of the server that only serve the host itself.
    Loopback,
    /// The server's neighbours, and the metadata service of clouds (169.254.169.254).
    LinkLocal,
    /// Multicast and broadcast.
    Multicast,
    /// Addresses of the server itself, with its services.
    Own,
}

/// Reason of a refusal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Refusal {
    /// `deny` has the destination.
    Denied,
    /// `allow` lacks the destination.
    NotAllowed,
    /// The destination is guarded.
    Guarded(Guarded),
    /// The client may not bind this port.
    Port,
    /// Another client has this port at this address.
    Taken,
    /// A process of the host has this port at this address, or at an overlapping one.
    HostPort,
    /// The client may not listen.
    Listen,
    /// `accept-from` lacks the sender.
    AcceptFrom,
    /// `names` lacks the name.
    Name,
    /// The client has as many bytes in flight as it may.
    Buffers,
    /// Too many concurrent look-ups.
    LookUps,
}

impl Refusal {
    /// Returns the error for the program. A destination that may not be reached is reported as
    /// unreachable, and a missing privilege as such.
    #[must_use]
    pub fn errno(self) -> Errno {
        match self {
            Self::Denied | Self::NotAllowed | Self::Guarded(_) | Self::Name => Errno::ENETUNREACH,
            Self::Port | Self::Listen => Errno::EACCES,
            Self::Taken | Self::HostPort => Errno::EADDRINUSE,
            // Only the far host gets this one.
            Self::AcceptFrom => Errno::ECONNREFUSED,
            Self::Buffers | Self::LookUps => Errno::ENOBUFS,
        }
    }

    /// One word for metrics.
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

/// Guarded networks (RFC 1122 3.2.1.3, RFC 3927, RFC 5771, RFC 4291).
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

/// Prefix of addresses that a translator to IPv4 handles (RFC 6052 2.1).
const TRANSLATED: Network = Network::new(IpAddr::V6(Ipv6Addr::new(0x64, 0xff9b, 0, 0, 0, 0, 0, 0)), 96);

/// Returns the address that packets would go to. IPv4 within IPv6, mapped by the kernel (RFC 4291
/// 2.5.5) or by a translator (RFC 6052), becomes IPv4. The unspecified address becomes the
/// loopback.
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
    /// Checks whether a destination may be reached; `is_own` tells whether an address is the
    /// server's. Port 0 stands for any port that may be reached.
    ///
    /// # Errors
    /// The reason of the refusal.
    pub fn destination(&self, to: SocketAddr, is_own: impl FnOnce(IpAddr) -> bool) -> Result<(), Refusal> {
        let (address, port) = (meant(to.ip()), to.port());
        // A denied port does not deny the address as a whole.
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

    /// Checks whether an address may be bound. A guarded address may be bound at the ports at which
    /// it may be reached, and with port 0 as the source of connections.
    ///
    /// # Errors
    /// The reason of the refusal.
    pub fn bound(&self, wanted: SocketAddr) -> Result<(), Refusal> {
        if wanted.port() != 0 && !self.bind.contain(wanted.port()) {
            return Err(Refusal::Port);
        }
        if wanted.ip().is_unspecified() {
            return Ok(());
        }
        // Destinations that the client may reach do not restrict the addresses that it may bind,
        // and the kernel demands that those are the server's own.
        if guarded(meant(wanted.ip())).is_none() {
            return Ok(());
        }
        self.destination(SocketAddr::new(wanted.ip(), 0), |_| false)?;
        self.destination(wanted, |_| false).map_err(|_| Refusal::Port)
    }
}

/// Returns the guarded network that an address is in.
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

    /// Addresses of the server and its link are refused in every notation, also if *any* is
    /// allowed.
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

    /// An entry within a guarded network opens that part of it.
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

    /// `deny` overrides `allow`. An entry with a port does not deny the whole address.
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

    /// By default, neither ports below 1024 nor the loopback may be bound.
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
        // An entry with one loopback port permits binding only that port. A connection to it may
        // come from any port that the kernel chooses.
        let one = rules(&["any", "127.0.0.1 8080"], &[]);
        for wanted in ["127.0.0.1:8081", "[::ffff:127.0.0.1]:8081", "127.0.0.1:65535"] {
            assert_eq!(one.bound(at(wanted)), Err(Refusal::Port), "{wanted}");
        }
        assert_eq!(one.bound(at("127.0.0.2:8080")), Err(Refusal::Guarded(Guarded::Loopback)));
        for wanted in ["127.0.0.1:8080", "127.0.0.1:0", "192.0.2.1:8081"] {
            assert_eq!(one.bound(at(wanted)), Ok(()), "{wanted}");
        }
        // Rules for destinations do not apply to bound addresses.
        assert_eq!(rules(&["198.51.100.0/24"], &[]).bound(at("192.0.2.1:8080")), Ok(()));
        assert_eq!(rules(&["any"], &["192.0.2.0/24"]).bound(at("192.0.2.1:8080")), Ok(()));
    }

    /// `deny` never permits anything: guarded networks stay guarded, and it closes networks that
    /// were opened.
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
        // A denied port does not deny the address as a whole.
        assert_eq!(rules(&["127.0.0.1"], &["any 25"]).bound(at("127.0.0.1:8080")), Ok(()));
    }
}
