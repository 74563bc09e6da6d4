//! Any text is a policy of a server of remote sockets or is refused with its place; what a client is told of where its server is (a place, a key) as well.
#![no_main]

use libfuzzer_sys::fuzz_target;
use resoa_carrier::Place;
use resoa_carrier::keys::PublicKey;
use resoa_server::policy::Policy;

fuzz_target!(|octets: &[u8]| {
    let Ok(text) = std::str::from_utf8(octets) else { return };
    match Policy::parse("p.toml", text) {
        Ok(policy) => {
            assert!(policy.clients().all(|(key, client)| policy.has(key) && !client.name.is_empty()))
        }
        Err(error) => assert!(error.to_string().starts_with("p.toml")),
    }
    let word = text.lines().next().unwrap_or_default();
    if let Ok(place) = word.parse::<Place>() {
        assert_eq!(place.to_string().parse(), Ok(place));
    }
    if let Ok(key) = word.parse::<PublicKey>() {
        assert_eq!(key.to_string(), word);
    }
});
