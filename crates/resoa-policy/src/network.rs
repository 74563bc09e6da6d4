//! Networks and ports in a policy: `any`, `192.0.2.0/24`, `2001:db8::1 22,8000-8999`.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::ops::RangeInclusive;
use std::str::FromStr;

/// All addresses with the same leading bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Network {
    address: IpAddr,
    /// Number of these bits.
    length: u8,
}

/// A set of ports, as ranges.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ports(Vec<RangeInclusive<u16>>);

/// Destinations of connections.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Destination {
    /// `None` for any address of both families.
    pub network: Option<Network>,
    /// `None` for any port.
    pub ports: Option<Ports>,
}

/// Error for text that is not a network, a port, or a list of either.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Unreadable(String);

impl Unreadable {
    /// Error for another part of a policy.
    pub(super) fn because(reason: String) -> Self {
        Self(reason)
    }
}

fn wrong<T>(reason: impl Into<String>) -> Result<T, Unreadable> {
    Err(Unreadable(reason.into()))
}

impl Network {
    /// Creates a network from an address and the number of leading bits.
    #[must_use]
    pub const fn new(address: IpAddr, length: u8) -> Self {
        Self { address, length }
    }

    /// Whether an address is in this network. An address of the other family never is.
    #[must_use]
    pub fn contains(&self, address: IpAddr) -> bool {
        match (self.address, address) {
            (IpAddr::V4(own), IpAddr::V4(other)) => {
                let differ = u32::from(own) ^ u32::from(other);
                differ.checked_shr(32 - u32::from(self.length)).unwrap_or(0) == 0
            }
            (IpAddr::V6(own), IpAddr::V6(other)) => {
                let differ = u128::from(own) ^ u128::from(other);
                differ.checked_shr(128 - u32::from(self.length)).unwrap_or(0) == 0
            }
            _ => false,
        }
    }

    /// Whether another network lies completely within this one.
    #[must_use]
    pub fn covers(&self, other: &Network) -> bool {
        self.length <= other.length && self.contains(other.address)
    }

    /// Whether the network is a single address.
    #[must_use]
    pub fn is_one(&self) -> bool {
        self.length == bits(self.address)
    }
}

fn bits(address: IpAddr) -> u8 {
    if address.is_ipv4() { 32 } else { 128 }
}

impl FromStr for Network {
    type Err = Unreadable;

    fn from_str(text: &str) -> Result<Self, Unreadable> {
        let (address, length) =
            text.split_once('/').map_or((text, None), |(address, length)| (address, Some(length)));
        let Ok(address) = address.parse::<IpAddr>() else {
            return wrong(format!(
                "`{text}` is not a network: write an address such as 192.0.2.1, or one with a prefix length such as 192.0.2.0/24"
            ));
        };
        if let IpAddr::V6(mapped) = address
            && let Some(address) = mapped.to_ipv4_mapped()
        {
            return wrong(format!(
                "`{text}` is the IPv6 form of {address}: write the IPv4 address, which covers both forms"
            ));
        }
        let most = bits(address);
        let Some(length) =
            length.map_or(Some(most), |length| length.parse().ok().filter(|&length| length <= most))
        else {
            return wrong(format!("`{text}` has no valid prefix length: expected 0 to {most} after the `/`"));
        };
        let network = Self { address, length };
        let first = network.first();
        if first != address {
            return wrong(format!(
                "`{text}` has bits beyond its prefix length: write {first}/{length} for the network, or {address} for the host"
            ));
        }
        Ok(network)
    }
}

impl Network {
    fn first(&self) -> IpAddr {
        let kept = |width: u32| width - u32::from(self.length);
        match self.address {
            IpAddr::V4(address) => {
                let mask = u32::MAX.checked_shl(kept(32)).unwrap_or(0);
                Ipv4Addr::from(u32::from(address) & mask).into()
            }
            IpAddr::V6(address) => {
                let mask = u128::MAX.checked_shl(kept(128)).unwrap_or(0);
                Ipv6Addr::from(u128::from(address) & mask).into()
            }
        }
    }
}

impl Ports {
    /// Ports from `first` to `last`.
    #[must_use]
    pub fn from_to(first: u16, last: u16) -> Self {
        Self(vec![first..=last])
    }

    /// No ports.
    #[must_use]
    pub fn none() -> Self {
        Self(Vec::new())
    }

    /// Whether a port is in this set.
    #[must_use]
    pub fn contain(&self, port: u16) -> bool {
        self.0.iter().any(|range| range.contains(&port))
    }

    /// Whether a port below 1024 is in this set. Binding one needs a privilege.
    #[must_use]
    pub fn are_privileged(&self) -> bool {
        self.0.iter().any(|range| *range.start() < 1024)
    }
}

impl FromStr for Ports {
    type Err = Unreadable;

    fn from_str(text: &str) -> Result<Self, Unreadable> {
        let ranges = text.split(',').map(|range| {
            let (first, last) = range.split_once('-').unwrap_or((range, range));
            let port = |text: &str| text.trim().parse::<u16>().ok().filter(|&port| port > 0);
            match (port(first), port(last)) {
                (Some(first), Some(last)) if first <= last => Ok(first..=last),
                _ => wrong(format!(
                    "`{range}` is neither a port from 1 to 65535 nor a range such as 8000-8999"
                )),
            }
        });
        ranges.collect::<Result<_, _>>().map(Self)
    }
}

impl Destination {
    /// Everything.
    pub const ANY: Self = Self { network: None, ports: None };

    /// Whether an address and port match. Port 0 matches any ports.
    #[must_use]
    pub fn has(&self, address: IpAddr, port: u16) -> bool {
        self.network.is_none_or(|network| network.contains(address))
            && self.ports.as_ref().is_none_or(|ports| port == 0 || ports.contain(port))
    }
}

impl FromStr for Destination {
    type Err = Unreadable;

    fn from_str(text: &str) -> Result<Self, Unreadable> {
        let mut words = text.split_whitespace();
        let Some(network) = words.next() else {
            return wrong("empty destination: write a network, or `any` for everything");
        };
        let network = if network == "any" { None } else { Some(network.parse()?) };
        let ports = words.next().map(str::parse).transpose()?;
        match words.next() {
            Some(_) => wrong(format!(
                "`{text}` has more than two parts: write one network and one list of ports such as 22,8000-8999"
            )),
            None => Ok(Self { network, ports }),
        }
    }
}

impl fmt::Display for Network {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_one() {
            write!(f, "{}", self.address)
        } else {
            write!(f, "{}/{}", self.address, self.length)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ip(text: &str) -> IpAddr {
        text.parse().expect("an address")
    }

    /// A network contains the addresses of its family with the same leading bits.
    #[test]
    fn networks_have_addresses() {
        let has =
            |network: &str, address: &str| network.parse::<Network>().expect(network).contains(ip(address));
        assert!(has("192.0.2.0/24", "192.0.2.255") && !has("192.0.2.0/24", "192.0.3.0"));
        assert!(has("0.0.0.0/0", "255.0.0.1") && !has("0.0.0.0/0", "::1"));
        assert!(has("192.0.2.1", "192.0.2.1") && !has("192.0.2.1", "192.0.2.0"));
        assert!(has("2001:db8::/33", "2001:db8:7fff::1") && !has("2001:db8::/33", "2001:db8:8000::"));
        assert!(has("::/0", "ff02::1") && has("::1", "::1") && !has("::1", "::"));
        let network = |text: &str| text.parse::<Network>().expect(text);
        assert!(network("10.0.0.0/8").covers(&network("10.1.0.0/16")));
        assert!(!network("10.1.0.0/16").covers(&network("10.0.0.0/8")));
    }

    /// Destinations are parsed.
    #[test]
    fn destinations_are_read() {
        let to = |text: &str| text.parse::<Destination>().expect(text);
        assert_eq!(to("any"), Destination::ANY);
        let web = to("any 80,443");
        assert!(web.has(ip("::1"), 443) && web.has(ip("192.0.2.1"), 0) && !web.has(ip("192.0.2.1"), 81));
        let high = to("192.0.2.0/24  8000-8999,22");
        assert!(
            high.has(ip("192.0.2.7"), 8999)
                && high.has(ip("192.0.2.7"), 22)
                && !high.has(ip("192.0.2.7"), 9000)
        );
        assert!("1023".parse::<Ports>().is_ok_and(|ports| ports.are_privileged()));
        assert!("1024-2000".parse::<Ports>().is_ok_and(|ports| !ports.are_privileged()));
    }

    /// The error for invalid text names the mistake and a correct form.
    #[test]
    fn what_is_none_says_so() {
        for (text, reason) in [
            ("", "empty destination"),
            ("example.com", "`example.com` is not a network"),
            ("192.0.2.1/33", "expected 0 to 32 after the `/`"),
            ("192.0.2.1/24", "write 192.0.2.0/24 for the network"),
            ("::ffff:192.0.2.1", "write the IPv4 address"),
            ("any 0", "`0` is neither a port"),
            ("any 9-8", "`9-8` is neither a port"),
            ("any 80 443", "has more than two parts"),
        ] {
            let error = text.parse::<Destination>().expect_err(text).to_string();
            assert!(error.contains(reason), "{error}");
        }
    }
}
