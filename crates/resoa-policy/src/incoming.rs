//! Rules for unrequested traffic to a client: connections to its listeners, and datagrams.
//!
//! Answers are permitted elsewhere (`gate::answers`): the client was allowed to send to their
//! source.

use super::network::Network;
use super::rules::{Guarded, Refusal, Rules, guarded, meant};
use std::net::{IpAddr, SocketAddr};

impl Rules {
    /// Checks whether a host may connect to the client or send it datagrams.
    ///
    /// # Errors
    /// The reason of the refusal.
    pub fn admits(&self, from: IpAddr) -> Result<(), Refusal> {
        let from = meant(from);
        if !self.listen {
            Err(Refusal::Listen)
        } else if self.accept_from.as_ref().is_none_or(|networks| has(networks, from)) {
            Ok(())
        } else {
            Err(Refusal::AcceptFrom)
        }
    }

    /// Checks whether the client may listen at an address. A guarded address has to be opened with
    /// this port, because a socket bound to the unspecified address would also be reachable over
    /// the host's loopback. A socket that is not bound yet has the unspecified address and port 0.
    ///
    /// # Errors
    /// The reason of the refusal.
    pub fn offered(&self, local: SocketAddr) -> Result<(), Refusal> {
        if local.ip().is_unspecified() || guarded(meant(local.ip())).is_none() {
            return Ok(());
        }
        self.destination(local, |_| false)
    }

    /// Whether the client may receive every multicast group that a process of the host has joined,
    /// as programs of the host do (IP_MULTICAST_ALL). That is so if `allow` names all groups of
    /// both families. Otherwise its sockets receive only groups that they have joined themselves.
    #[must_use]
    pub fn hears_all_groups(&self) -> bool {
        let all = |text: &str| {
            let network = text.parse().ok();
            self.allow.iter().any(|entry| entry.network == network && entry.ports.is_none())
        };
        self.of_this_user || self.deny.is_empty() && all("224.0.0.0/4") && all("ff00::/8")
    }
}

fn has(networks: &[Network], address: IpAddr) -> bool {
    networks.iter().any(|network| network.contains(address))
}

/// Returns the address that a datagram was sent to, for a socket at `local`. A datagram from the
/// loopback to a socket at the unspecified address was sent to the loopback.
#[must_use]
pub fn reached(local: SocketAddr, from: IpAddr) -> SocketAddr {
    let is_inside = guarded(meant(from)).is_some_and(|(_, guarded)| *guarded == Guarded::Loopback);
    if local.ip().is_unspecified() && is_inside { SocketAddr::new(meant(from), local.port()) } else { local }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rules(allow: &[&str]) -> Rules {
        let allow = allow.iter().map(|text| text.parse().expect("a destination")).collect();
        Rules { allow, ..Rules::default() }
    }

    fn at(text: &str) -> SocketAddr {
        text.parse().expect("an address with a port")
    }

    fn ip(text: &str) -> IpAddr {
        text.parse().expect("an address")
    }

    /// By default any host may connect. With a list of networks, only hosts of those may, however
    /// their address is written. Without `listen`, none may.
    #[test]
    fn who_may_connect() {
        let anybody = Rules::default();
        for from in ["192.0.2.1", "::1", "127.0.0.1", "2001:db8::1"] {
            assert_eq!(anybody.admits(ip(from)), Ok(()), "{from}");
        }
        let networks = ["192.0.2.0/24", "2001:db8::/32"].map(|text| text.parse().expect("a network"));
        let some = Rules { accept_from: Some(networks.into()), ..Rules::default() };
        for from in ["192.0.2.7", "::ffff:192.0.2.7", "2001:db8::9"] {
            assert_eq!(some.admits(ip(from)), Ok(()), "{from}");
        }
        for from in ["192.0.3.7", "::ffff:192.0.3.7", "2001:db9::9", "127.0.0.1"] {
            assert_eq!(some.admits(ip(from)), Err(Refusal::AcceptFrom), "{from}");
        }
        let none = Rules { accept_from: Some(Vec::new()), ..Rules::default() };
        assert_eq!(none.admits(ip("192.0.2.1")), Err(Refusal::AcceptFrom));
        let silent = Rules { listen: false, ..some };
        assert_eq!(silent.admits(ip("192.0.2.7")), Err(Refusal::Listen));
    }

    /// A client is not reachable over the host's loopback, except at the ports that are opened
    /// there.
    #[test]
    fn where_something_may_be_offered() {
        let closed = Rules::default();
        for local in ["192.0.2.1:8080", "[2001:db8::1]:8080", "0.0.0.0:8080", "[::]:8080"] {
            assert_eq!(closed.offered(at(local)), Ok(()), "{local}");
        }
        for local in ["127.0.0.1:8080", "[::1]:8080", "[::ffff:127.0.0.1]:8080"] {
            assert_eq!(closed.offered(at(local)), Err(Refusal::Guarded(Guarded::Loopback)), "{local}");
        }
        let one = rules(&["any", "127.0.0.1 8080"]);
        assert_eq!(one.offered(at("127.0.0.1:8080")), Ok(()));
        assert!(one.offered(at("127.0.0.1:8081")).is_err() && one.offered(at("[::1]:8080")).is_err());
        for (local, from, expected) in [
            ("0.0.0.0:9", "127.0.0.1", "127.0.0.1:9"),
            ("[::]:9", "::ffff:127.0.0.1", "127.0.0.1:9"),
            ("[::]:9", "::1", "[::1]:9"),
            ("0.0.0.0:9", "192.0.2.1", "0.0.0.0:9"),
            ("192.0.2.1:9", "127.0.0.1", "192.0.2.1:9"),
        ] {
            assert_eq!(reached(at(local), ip(from)), at(expected), "{local} from {from}");
        }
    }

    /// All groups means those of both families, without exceptions.
    #[test]
    fn all_groups() {
        assert!(rules(&["any", "224.0.0.0/4", "ff00::/8"]).hears_all_groups());
        for some in
            [&["any"][..], &["224.0.0.0/4"], &["224.0.0.0/4 5353", "ff00::/8"], &["224.0.0.0/5", "ff00::/8"]]
        {
            assert!(!rules(some).hears_all_groups(), "{some:?}");
        }
        let deny = vec!["any 25".parse().expect("a destination")];
        assert!(!Rules { deny, ..rules(&["224.0.0.0/4", "ff00::/8"]) }.hears_all_groups());
    }
}
