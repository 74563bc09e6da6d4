//! A server over TCP whose process has no file descriptor left. The limit holds for the whole
//! process, so this test has a process of its own.

use resoa_carrier::tcp::{KeepAlive, Tcp};
use resoa_carrier::{Carrier, wait_for};
use resoa_protocol::lhp::{Identity, Indication, LastHop, Provider, Service};
use rustix::process::{Resource, getrlimit, setrlimit};
use std::fs::File;
use std::net::Ipv4Addr;
use std::time::{Duration, Instant};

/// Time after which the test gives up waiting.
const PATIENCE: Duration = Duration::from_mins(1);

/// Waits a moment at most, and returns whether there is something to poll.
fn is_told(server: &Tcp) -> bool {
    wait_for(&[server], Duration::from_millis(300))
}

/// The server does not spin, and accepts the client as soon as a file descriptor is free.
#[test]
fn no_descriptor_left() {
    let mut server = Tcp::server((Ipv4Addr::LOCALHOST, 0).into(), KeepAlive::default()).expect("loopback");
    let mut client = Tcp::client(Identity(vec![7]), KeepAlive::default()).expect("descriptors");
    let link = client.register(Service::Reliable, Provider { id: 2, protocol: 0 }).expect("always");
    let mut limit = getrlimit(Resource::Nofile);
    limit.current = Some(64);
    setrlimit(Resource::Nofile, limit).expect("less than before");
    let mut kept = Vec::new();
    server.poll(&mut kept);
    client.connect(link, server.address().expect("listens").to_string().as_bytes());
    let mut others: Vec<_> = std::iter::from_fn(|| File::open("/dev/null").ok()).collect();
    let (begin, mut looks) = (Instant::now(), 0);
    while begin.elapsed() < Duration::from_secs(1) {
        client.poll(&mut Vec::new());
        server.poll(&mut kept);
        is_told(&server);
        looks += 1;
    }
    assert_eq!(kept, []);
    assert!(looks < 100, "{looks} looks in a second");
    drop(others.pop());
    let begin = Instant::now();
    while kept.is_empty() {
        assert!(begin.elapsed() < PATIENCE, "does not come");
        client.poll(&mut Vec::new());
        if is_told(&server) {
            server.poll(&mut kept);
        }
    }
    assert!(matches!(&kept[..], [(_, Indication::Connect { identity })] if *identity == Identity(vec![7])));
}
