//! This host's own stack beside the server's (dual protocol stack mode, 5.3.6; C02): a server
//! within this process, for destinations that are local by rule.
//!
//! Which stack a socket uses is not known when it is made, so it is chosen by what comes first of
//! the calls that say where it goes or where it is:
//!
//! | call | the stack |
//! |---|---|
//! | `connect`, the first datagram | this host's if a rule names the destination |
//! | `bind` to an address | this host's if a rule has that address in its network |
//! | `bind` to any address, `listen` | the server's |
//!
//! It fails closed: whatever no rule names is the server's, and the server within this process
//! refuses its sockets to go anywhere else (ENETUNREACH).

use crate::stack::Stack;
use resoa_policy::{Client, Destination, Ports, Rules};
use resoa_protocol::message::Query;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

/// What is reached by this host's own stack.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LocalRules {
    /// Networks, with ports or without. As in a server's policy `any` does not mean the loopback,
    /// neighbours or groups: those have to be named.
    pub destinations: Vec<Destination>,
    /// Names of hosts, and domains, that this host looks up: `nas`, `home.arpa` with all that ends
    /// so. `localhost` is one of them if the loopback is local.
    pub names: Vec<String>,
}

impl LocalRules {
    /// Whether nothing is.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.destinations.is_empty()
    }

    /// What the server of local destinations lets the agent, its only client, do.
    #[must_use]
    pub fn client(&self) -> Client {
        Client { rules: self.rules(), buffers: u64::MAX, ..Client::local("agent") }
    }

    fn rules(&self) -> Rules {
        Rules {
            allow: self.destinations.clone(),
            deny: Vec::new(),
            own: true,
            // The kernel says which of them this process may have.
            bind: Ports::from_to(1, u16::MAX),
            // As its programs, who are of the same user.
            of_this_user: true,
            ..Rules::default()
        }
    }
}

/// The rules, as they are asked; see the [module](self).
#[derive(Debug)]
pub(super) struct Chooser {
    rules: Rules,
    /// Those of them that name a network, of which an address of this host's may be.
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

    /// Of what goes there.
    pub(super) fn to(&self, destination: SocketAddr) -> Stack {
        let is_local = self.rules.destination(destination, |_| false).is_ok();
        if is_local { Stack::Local } else { Stack::Remote }
    }

    /// Of what is bound there: to any address it is where everything is that no rule names.
    pub(super) fn at(&self, address: SocketAddr) -> Stack {
        let address = address.ip().to_canonical();
        let is_local = !address.is_unspecified() && self.networks.iter().any(|entry| entry.has(address, 0));
        if is_local { Stack::Local } else { Stack::Remote }
    }

    /// Of a look-up.
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

/// A name without regard to case and without the dot that may end it.
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

    /// C02: what a rule names is local, however it is written, and nothing else.
    #[test]
    fn destinations_that_are_local() {
        let chooser = chooser(&["127.0.0.0/8 8080", "192.0.2.0/24", "fe80::/10"], &[]);
        let named =
            ["127.0.0.1:8080", "0.0.0.0:8080", "[::ffff:127.0.0.1]:8080", "192.0.2.9:1", "[fe80::1%2]:1"];
        assert_eq!(local(&named, |to| chooser.to(to)), [true; 5]);
        let others = ["127.0.0.1:80", "[::1]:8080", "192.0.3.9:1", "198.51.100.1:8080", "224.0.0.1:8080"];
        assert_eq!(local(&others, |to| chooser.to(to)), [false; 5]);
    }

    /// C02: what is nobody's in particular has to be named, as in a policy.
    #[test]
    fn any_is_not_everything() {
        let chooser = chooser(&["any"], &[]);
        assert_eq!(local(&["198.51.100.1:1", "[2001:db8::1]:1"], |to| chooser.to(to)), [true; 2]);
        let guarded = ["127.0.0.1:1", "[::]:1", "169.254.0.1:1", "[ff02::1]:1"];
        assert_eq!(local(&guarded, |to| chooser.to(to)), [false; 4]);
    }

    /// C02: who names an address of this host's own has chosen; who names none has not.
    #[test]
    fn addresses_that_are_local() {
        let chooser = chooser(&["127.0.0.0/8 8080", "any 22"], &[]);
        assert_eq!(local(&["127.0.0.1:0", "127.0.0.9:80"], |at| chooser.at(at)), [true; 2]);
        let others = ["0.0.0.0:8080", "[::]:22", "[::ffff:0.0.0.0]:22", "[::1]:22", "198.51.100.1:22"];
        assert_eq!(local(&others, |at| chooser.at(at)), [false; 5]);
    }

    /// C02, C49: names are asked where what they name is.
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
