//! Names are looked up apart from the event loop. A client learns only addresses that it may reach.

use crate::site::{Site, at, policy};
use resoa_protocol::Value;
use resoa_protocol::message::{Family, Query, Unresolved};

fn host(name: &str, service: &str) -> Query {
    Query::Host { host: name.to_owned(), service: service.to_owned(), family: Some(Family::V4) }
}

/// C49: a client that may reach the loopback interface finds it by name, and a client that may not
/// finds nothing. Services are names, too.
#[test]
fn names_by_policy() {
    let mut site = Site::new(policy(
        "[clients.a]\nkey = \"KEY1\"\n[clients.b]\nkey = \"KEY2\"\nallow = [\"127.0.0.1 80\"]\n",
    ));
    let (closed, open) = (site.guest(1), site.guest(2));
    assert_eq!(site.look_up(open, host("localhost", "http")), Ok(Value::Hosts(vec![at("127.0.0.1:80")])));
    assert_eq!(site.look_up(open, host("localhost", "ssh")), Ok(Value::Unresolved(Unresolved::NoName)));
    assert_eq!(site.look_up(closed, host("localhost", "http")), Ok(Value::Unresolved(Unresolved::NoName)));
    assert_eq!(
        site.look_up(closed, host("localhost", "no-such")),
        Ok(Value::Unresolved(Unresolved::NoService))
    );
    assert_eq!(site.look_up(closed, host("192.0.2.1", "80")), Ok(Value::Hosts(vec![at("192.0.2.1:80")])));
    assert_eq!(
        site.look_up(closed, Query::Address(at("127.0.0.1:80"))),
        Ok(Value::Unresolved(Unresolved::NoName))
    );
    let name = Value::Name { host: "localhost".to_owned(), service: "http".to_owned() };
    assert_eq!(site.look_up(open, Query::Address(at("127.0.0.1:80"))), Ok(name));
    assert_eq!(site.host.report().look_ups, 7);
}

/// Names that a policy lacks are not looked up and are reported as unknown. The name for an address
/// is one below `in-addr.arpa`.
#[test]
fn names_that_may_be_asked_for() {
    let mut site = Site::new(policy(
        "[defaults]\nallow = [\"127.0.0.1\"]\nnames = [\"localhost\"]\n[clients.a]\nkey = \"KEY1\"\n\
         [clients.b]\nkey = \"KEY2\"\nnames = [\"*.in-addr.arpa\"]\n",
    ));
    let nobody = || Ok(Value::Unresolved(Unresolved::NoName));
    let (by_name, by_address) = (site.guest(1), site.guest(2));
    let found = Ok(Value::Hosts(vec![at("127.0.0.1:80")]));
    assert_eq!(site.look_up(by_name, host("LocalHost", "http")), found);
    assert_eq!(site.look_up(by_name, host("secret.localhost", "http")), nobody());
    assert_eq!(site.look_up(by_name, Query::Address(at("127.0.0.1:80"))), nobody());
    assert_eq!(site.look_up(by_address, host("localhost", "http")), nobody());
    let name = Value::Name { host: "localhost".to_owned(), service: "http".to_owned() };
    assert_eq!(site.look_up(by_address, Query::Address(at("127.0.0.1:80"))), Ok(name));
    // A service is looked up in this host's files, and a number is not a name.
    assert_eq!(site.look_up(by_address, host("", "http")), Ok(Value::Hosts(vec![at("0.0.0.0:80")])));
    assert_eq!(site.look_up(by_address, host("192.0.2.1", "80")), Ok(Value::Hosts(vec![at("192.0.2.1:80")])));
    assert_eq!(site.refusals(), [("name".to_owned(), 3)].into());
}
