//! Packet filters: a subset of tcpdump's language.
//!
//! | primitive | packets |
//! |---|---|
//! | `ip`, `ip6` | of IPv4, of IPv6 |
//! | `tcp`, `udp`, `icmp`, `icmp6` | of this protocol, also behind IPv6 extension headers |
//! | `port N`, `src port N`, `dst port N` | from or to a TCP or UDP port |
//! | `host A`, `src host A`, `dst host A` | from or to an IPv4 or IPv6 address |
//! | `greater N`, `less N` | of at least, at most N bytes; both include N, as in tcpdump |
//! | `syn`, `fin`, `rst` | TCP with this flag |
//!
//! Primitives are combined by `not`, `and`, `or` and parentheses, or `!`, `&&`, `||`. `tcp` or
//! `udp` before a port and `ip` or `ip6` before a host need no `and`. tcpdump gives `and` and `or`
//! equal precedence, but C does not. This language therefore requires parentheses if both are used
//! side by side, so that every filter has the same meaning in both.
//!
//! Lengths are those of the packet as it arrives at the link, including any Ethernet header. A
//! later fragment has a protocol, but neither ports nor flags. A packet that is not IP matches only
//! the primitives `greater` and `less`.

mod parse;

pub use parse::FilterError;

use borsh::{BorshDeserialize, BorshSerialize};
use packet::headers::{ICMP, ICMPV6, TCP, UDP};
use packet::{Frame, Headers, Tcp};
use std::fmt;
use std::net::IpAddr;

/// A predicate on packets; see the [module](self).
#[derive(Debug, Clone, PartialEq, Eq, BorshSerialize, BorshDeserialize)]
pub struct Filter {
    tree: Tree,
}

#[derive(Debug, Clone, PartialEq, Eq, BorshSerialize, BorshDeserialize)]
enum Tree {
    Is(Primitive),
    Not(Box<Tree>),
    /// Two or more.
    All(Vec<Tree>),
    /// Two or more.
    Any(Vec<Tree>),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, BorshSerialize, BorshDeserialize)]
enum Primitive {
    Version(Version),
    Protocol(Protocol),
    Port(End, u16),
    Host(End, IpAddr),
    Greater(usize),
    Less(usize),
    Flag(Flag),
}

/// End of a packet to which a primitive applies.
#[derive(Debug, Clone, Copy, PartialEq, Eq, BorshSerialize, BorshDeserialize)]
enum End {
    Either,
    Source,
    Destination,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, BorshSerialize, BorshDeserialize)]
enum Version {
    Ip,
    Ip6,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, BorshSerialize, BorshDeserialize)]
enum Protocol {
    Tcp,
    Udp,
    Icmp,
    Icmp6,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, BorshSerialize, BorshDeserialize)]
enum Flag {
    Syn,
    Fin,
    Rst,
}

impl Filter {
    /// Returns whether the filter matches `frame`.
    #[must_use]
    pub fn matches(&self, frame: &Frame) -> bool {
        self.tree.matches(frame.len(), frame.headers().ok().as_ref())
    }
}

impl Tree {
    fn matches(&self, length: usize, headers: Option<&Headers>) -> bool {
        match self {
            Self::Is(Primitive::Greater(bytes)) => length >= *bytes,
            Self::Is(Primitive::Less(bytes)) => length <= *bytes,
            Self::Is(primitive) => headers.is_some_and(|headers| primitive.matches(headers)),
            Self::Not(tree) => !tree.matches(length, headers),
            Self::All(trees) => trees.iter().all(|tree| tree.matches(length, headers)),
            Self::Any(trees) => trees.iter().any(|tree| tree.matches(length, headers)),
        }
    }
}

impl Primitive {
    fn matches(self, headers: &Headers) -> bool {
        match self {
            Self::Version(version) => headers.is_ipv4() == (version == Version::Ip),
            Self::Protocol(protocol) => {
                let (number, ipv4) = match protocol {
                    Protocol::Tcp => (TCP, None),
                    Protocol::Udp => (UDP, None),
                    Protocol::Icmp => (ICMP, Some(true)),
                    Protocol::Icmp6 => (ICMPV6, Some(false)),
                };
                headers.protocol() == number && ipv4.is_none_or(|ipv4| headers.is_ipv4() == ipv4)
            }
            Self::Port(end, port) => headers.ports().is_some_and(|ports| end.is(ports, &port)),
            Self::Host(end, host) => end.is(headers.addresses(), &host),
            Self::Flag(flag) => headers.tcp().is_some_and(|tcp| {
                tcp.has(match flag {
                    Flag::Syn => Tcp::SYN,
                    Flag::Fin => Tcp::FIN,
                    Flag::Rst => Tcp::RST,
                })
            }),
            Self::Greater(_) | Self::Less(_) => false,
        }
    }
}

impl End {
    fn is<T: PartialEq>(self, (source, destination): (T, T), wanted: &T) -> bool {
        match self {
            Self::Either => source == *wanted || destination == *wanted,
            Self::Source => source == *wanted,
            Self::Destination => destination == *wanted,
        }
    }
}

impl fmt::Display for Filter {
    /// Writes the filter in a canonical form, with words for operators and only the necessary
    /// parentheses.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.tree.fmt(f)
    }
}

impl fmt::Display for Tree {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let inner = |f: &mut fmt::Formatter<'_>, tree: &Self| match tree {
            Self::All(_) | Self::Any(_) => write!(f, "({tree})"),
            Self::Is(_) | Self::Not(_) => write!(f, "{tree}"),
        };
        let (trees, operator) = match self {
            Self::Is(primitive) => return primitive.fmt(f),
            Self::Not(tree) => {
                f.write_str("not ")?;
                return inner(f, tree);
            }
            Self::All(trees) => (trees, " and "),
            Self::Any(trees) => (trees, " or "),
        };
        for (place, tree) in trees.iter().enumerate() {
            if place > 0 {
                f.write_str(operator)?;
            }
            inner(f, tree)?;
        }
        Ok(())
    }
}

impl fmt::Display for Primitive {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Version(Version::Ip) => f.write_str("ip"),
            Self::Version(Version::Ip6) => f.write_str("ip6"),
            Self::Protocol(Protocol::Tcp) => f.write_str("tcp"),
            Self::Protocol(Protocol::Udp) => f.write_str("udp"),
            Self::Protocol(Protocol::Icmp) => f.write_str("icmp"),
            Self::Protocol(Protocol::Icmp6) => f.write_str("icmp6"),
            Self::Port(end, port) => write!(f, "{end}port {port}"),
            Self::Host(end, host) => write!(f, "{end}host {host}"),
            Self::Greater(bytes) => write!(f, "greater {bytes}"),
            Self::Less(bytes) => write!(f, "less {bytes}"),
            Self::Flag(Flag::Syn) => f.write_str("syn"),
            Self::Flag(Flag::Fin) => f.write_str("fin"),
            Self::Flag(Flag::Rst) => f.write_str("rst"),
        }
    }
}

impl fmt::Display for End {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Either => "",
            Self::Source => "src ",
            Self::Destination => "dst ",
        })
    }
}

vocabulary::serde_as_text!(Filter);

#[cfg(test)]
mod tests;
