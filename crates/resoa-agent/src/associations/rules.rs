//! Rules for destinations that this host's own stack serves beside the server's (dual protocol
//! stack mode, 5.3.6; C02). A server within this process serves them.
//!
//! The stack of a socket is not known when the socket is created. The first call that names a
//! destination or an address chooses it:
//!
//! | call | stack |
//! |---|---|
//! | `connect`, the first datagram | this host's if a rule names the destination |
//! | `bind` to an address | this host's if a rule has that address in its network |
//! | `bind` to any address, `listen` | the server's |
//!
//! The default is safe: destinations without a rule belong to the server. The server within this
//! process denies its sockets all other destinations (ENETUNREACH).

use crate::stack::Stack;
use resoa_policy::{Client, Destination, Ports, Rules};
use resoa_protocol::message::Query;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

/// Destinations and names that this host's own stack serves.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LocalRules {
    /// Networks, with or without ports. As in a server's policy, `any` does not include loopback,
    /// link-local and multicast addresses, which must be named.
    pub destinations: Vec<Destination>,
    /// Host names and domains that this host looks up, for example `nas`, or `home.arpa` with all
    /// its subdomains. `localhost` is among them if the loopback is local.
    pub names: Vec<String>,
}

impl LocalRules {
    /// Returns whether there are no local destinations.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.destinations.is_empty()
    }

    /// Returns the permissions of the agent at the server of local destinations, whose only client
    /// it is.
    #[must_use]
    pub fn client(&self) -> Client {
        Client { rules: self.rules(), buffers: u64::MAX, ..Client::local("agent") }
    }

    fn rules(&self) -> Rules {
        Rules {
            allow: self.destinations.clone(),
            deny: Vec::new(),
            own: true,
            // The kernel decides which of these ports this process may bind.
            bind: Ports::from_to(1, u16::MAX),
            // The programs belong to the same user as this process.
            of_this_user: true,
            ..Rules::default()
        }
    }
}

/// The rules, prepared for look-ups; see the [module](self).
#[derive(Debug)]
pub(super) struct Chooser {
    rules: Rules,
    /// Those rules that name a network, which may contain an address of this host.
    networks: Vec<Destination>,
    names: Vec<String>,
}

impl Chooser {
    pub(super) fn new(local: &LocalRules) -> Self {
        let networks = local.destinations.iter().filter(|entry| entry.network.is_some()).cloned().collect();
        let rules = local.rules();
        let names = local.names.iter().map(|name| plain(name)).filter(|name| !name.is_empty());
        let mut names: Vec<_> = names.collect();
        let has = |address: IpAddr| rules.destination((address, 0).into(), |_| false).is_ok();
        if has(Ipv4Addr::LOCALHOST.into()) || has(Ipv6Addr::LOCALHOST.into()) {
            names.push("localhost".to_owned());
        }
        Self { rules, networks, names }
    }

    /// Returns the stack for a destination.
    pub(super) fn to(&self, destination: SocketAddr) -> Stack {
        let is_local = self.rules.destination(destination, |_| false).is_ok();
        if is_local { Stack::Local } else { Stack::Remote }
    }

    /// Returns the stack for a `bind` to this address. The unspecified address is the server's.
    pub(super) fn at(&self, address: SocketAddr) -> Stack {
        let address = address.ip().to_canonical();
        let is_local = !address.is_unspecified() && self.networks.iter().any(|entry| entry.has(address, 0));
        if is_local { Stack::Local } else { Stack::Remote }
    }

    /// Returns the stack for a look-up.
    pub(super) fn of(&self, query: &Query) -> Stack {
        let host = match query {
            Query::Address(address) => return self.to(SocketAddr::new(address.ip(), 0)),
            Query::Host { host, .. } => plain(host),
        };
        if let Ok(address) = host.parse::<IpAddr>() {
            return self.at(SocketAddr::new(address, 0));
        }
        let is_within = |name: &String| {
            host.strip_suffix(name.as_str()).is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
        };
        if self.names.iter().any(is_within) { Stack::Local } else { Stack::Remote }
    }
}

/// Returns a name in lower case and without dots at its ends.
fn plain(name: &str) -> String {
    name.trim_matches('.').to_ascii_lowercase()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chooser(destinations: &[&str], names: &[&str]) -> Chooser {
        let destinations = destinations.iter().map(|text| text.parse().expect("a destination")).collect();
        Chooser::new(&LocalRules { destinations, names: names.iter().map(|&name| name.to_owned()).collect() })
    }

    fn local(addresses: &[&str], stack: impl Fn(SocketAddr) -> Stack) -> Vec<bool> {
        let at = |text: &&str| text.parse().expect("an address with a port");
        addresses.iter().map(|text| stack(at(text)) == Stack::Local).collect()
    }

    /// C02: exactly the destinations of the rules are local, in every notation.
    #[test]
    fn destinations_that_are_local() {
        let chooser = chooser(&["127.0.0.0/8 8080", "192.0.2.0/24", "fe80::/10"], &[]);
        let named =
            ["127.0.0.1:8080", "0.0.0.0:8080", "[::ffff:127.0.0.1]:8080", "192.0.2.9:1", "[fe80::1%2]:1"];
        assert_eq!(local(&named, |to| chooser.to(to)), [true; 5]);
        let others = ["127.0.0.1:80", "[::1]:8080", "192.0.3.9:1", "198.51.100.1:8080", "224.0.0.1:8080"];
        assert_eq!(local(&others, |to| chooser.to(to)), [false; 5]);
    }

    /// C02: as in a policy, special addresses must be named.
    #[test]
    fn any_is_not_everything() {
        let chooser = chooser(&["any"], &[]);
        assert_eq!(local(&["198.51.100.1:1", "[2001:db8::1]:1"], |to| chooser.to(to)), [true; 2]);
        let guarded = ["127.0.0.1:1", "[::]:1", "169.254.0.1:1", "[ff02::1]:1"];
        assert_eq!(local(&guarded, |to| chooser.to(to)), [false; 4]);
    }

    /// C02: `bind` to an address of this host chooses the stack; `bind` to the unspecified address
    /// does not.
    #[test]
    fn addresses_that_are_local() {
        let chooser = chooser(&["127.0.0.0/8 8080", "any 22"], &[]);
        assert_eq!(local(&["127.0.0.1:0", "127.0.0.9:80"], |at| chooser.at(at)), [true; 2]);
        let others = ["0.0.0.0:8080", "[::]:22", "[::ffff:0.0.0.0]:22", "[::1]:22", "198.51.100.1:22"];
        assert_eq!(local(&others, |at| chooser.at(at)), [false; 5]);
    }

    /// C02, C49: the stack that serves a host also looks up its name.
    #[test]
    fn names_that_are_local() {
        let of = |chooser: &Chooser, host: &str| {
            chooser.of(&Query::Host { host: host.to_owned(), service: String::new(), family: None })
        };
        let home = chooser(&["::1", "192.0.2.0/24"], &["nas", ".Home.arpa."]);
        for name in
            ["nas", "NAS.", "home.arpa", "printer.home.arpa", "localhost", "a.localhost.", "192.0.2.1"]
        {
            assert_eq!(of(&home, name), Stack::Local, "{name}");
        }
        for name in ["", "nas.example", "bonas", "arpa", "0.0.0.0", "198.51.100.1"] {
            assert_eq!(of(&home, name), Stack::Remote, "{name}");
        }
        assert_eq!(of(&chooser(&["192.0.2.0/24"], &[""]), "localhost"), Stack::Remote);
        assert_eq!(home.of(&Query::Address(([192, 0, 2, 7], 80).into())), Stack::Local);
        assert_eq!(home.of(&Query::Address(([192, 0, 3, 7], 80).into())), Stack::Remote);
    }
}
