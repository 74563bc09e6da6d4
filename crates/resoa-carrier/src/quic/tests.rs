//! How connections over QUIC end when one side does not do its part.

use super::{Congestion, Quic};
use crate::keys::SecretKey;
use crate::tcp::KeepAlive;
use crate::{Allowed, Carrier};
use resoa_protocol::lhp::{Indication, LastHop, Provider, Service};
use std::net::Ipv4Addr;
use std::time::{Duration, Instant};

const ANY_PORT: (Ipv4Addr, u16) = (Ipv4Addr::LOCALHOST, 0);
/// After so long something will never come.
const PATIENCE: Duration = Duration::from_mins(1);
/// Brief, and still so long that a busy machine does not take it for an outage.
const BRIEF: KeepAlive = KeepAlive { interval: Duration::from_secs(1), questions: 6 };

/// C88: a connection that our user has closed is not kept for ever for a side that is there, and whose user never takes what comes.
#[test]
fn a_side_that_never_ends() {
    let [ours, theirs] = [(); 2].map(|()| SecretKey::generate().unwrap());
    let control = Congestion::default();
    let mut server = Quic::server(ANY_PORT.into(), &ours, Allowed::anybody(), BRIEF, control).unwrap();
    let mut client = Quic::client(ANY_PORT.into(), &theirs, ours.public(), BRIEF, control).unwrap();
    let link = client.register(Service::Reliable, Provider { id: 5, protocol: 0 }).unwrap();
    client.connect(link, server.address().to_string().as_bytes());
    let mut told = [Vec::new(), Vec::new()];
    let begin = Instant::now();
    let mut closed = false;
    while !closed || server.connections() > 0 {
        assert!(begin.elapsed() < PATIENCE, "it stays: {told:?}");
        client.poll(&mut told[0]);
        server.poll(&mut told[1]);
        std::thread::yield_now();
        if let (Some((taken, Indication::Connect { .. })), false) = (told[1].first(), closed) {
            client.receive(link, false);
            server.accept(*taken);
            let _ = server.send(*taken, b"last");
            server.close(*taken);
            closed = true;
        }
    }
    assert_eq!(told[1].len(), 1, "{told:?}");
}
