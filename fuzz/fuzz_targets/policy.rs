//! Any text is a policy of a server of remote sockets or is refused with its place; what a client
//! is told of where its server is (a place, a key) as well.

use resoa_carrier::CarrierAddress;
use resoa_carrier::keys::PublicKey;
use resoa_policy::Policy;
use std::net::{IpAddr, SocketAddr};

/// One input.
pub fn run(octets: &[u8]) {
    let Ok(text) = std::str::from_utf8(octets) else { return };
    match Policy::parse("p.toml", text) {
        Ok(policy) => {
            for (key, client) in policy.clients() {
                assert!(policy.has(key) && !client.name.is_empty());
                let rules = &client.rules;
                // Nobody comes to who may not listen; who has no names asks for none.
                let from = [IpAddr::from([192, 0, 2, 1]), IpAddr::from([127, 0, 0, 1])];
                assert!(rules.listen || from.iter().all(|&from| rules.admits(from).is_err()));
                let (bare, dotted) =
                    (rules.may_look_up("www.example.org"), rules.may_look_up("WWW.example.ORG."));
                assert_eq!(bare, dotted);
                assert!(!bare || rules.names.as_ref().is_none_or(|names| !names.is_empty()));
                // What is bound on the loopback can be reached there.
                let inside = SocketAddr::from(([127, 0, 0, 1], 8080));
                assert!(rules.bound(inside).is_err() || rules.offered(inside).is_ok());
            }
        }
        Err(error) => assert!(error.to_string().starts_with("p.toml")),
    }
    let word = text.lines().next().unwrap_or_default();
    if let Ok(place) = word.parse::<CarrierAddress>() {
        assert_eq!(place.to_string().parse(), Ok(place));
    }
    if let Ok(key) = word.parse::<PublicKey>() {
        assert_eq!(key.to_string(), word);
    }
}
