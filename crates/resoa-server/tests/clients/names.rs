//! Names are looked up beside the loop, and found as far as the client may go.

use crate::site::{Site, at, policy};
use resoa_protocol::Value;
use resoa_protocol::message::{Family, Query, Unresolved};

fn host(name: &str, service: &str) -> Query {
    Query::Host { host: name.to_owned(), service: service.to_owned(), family: Some(Family::V4) }
}

/// C49: who may reach the loopback finds it by name, who may not finds nothing; services are names, too.
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
