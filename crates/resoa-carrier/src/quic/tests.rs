//! How connections over QUIC end when one side does not do its part.

use super::{Congestion, Quic};
use crate::keys::SecretKey;
use crate::tcp::{KeepAlive, OF_ONE_SOURCE};
use crate::{Allowed, Carrier};
use resoa_protocol::lhp::{Identity, Indication, LastHop, Provider, Service};
use std::net::Ipv4Addr;
use std::time::{Duration, Instant};

const ANY_PORT: (Ipv4Addr, u16) = (Ipv4Addr::LOCALHOST, 0);
/// Time after which a test gives up waiting.
const PATIENCE: Duration = Duration::from_mins(1);
/// Short, but long enough that a busy machine does not count as an outage.
const BRIEF: KeepAlive = KeepAlive { interval: Duration::from_secs(1), questions: 6 };

/// C88: a connection that our user has closed is not kept for ever for a side that is there but
/// whose user takes no messages.
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

/// Strangers of another address that prove their address and say nothing more keep no client out,
/// however many arrive during its handshake.
#[test]
fn strangers_make_room() {
    const CROWD: usize = OF_ONE_SOURCE + 40;
    let [ours, theirs] = [(); 2].map(|()| SecretKey::generate().unwrap());
    let control = Congestion::default();
    let silence = KeepAlive::default();
    let mut server = Quic::server(ANY_PORT.into(), &ours, Allowed::anybody(), silence, control).unwrap();
    let at = server.address().to_string();
    let begin = Instant::now();
    // Until the server has accepted the connection.
    let comes = |address: (Ipv4Addr, u16), key: &SecretKey, server: &mut Quic| {
        let mut end = Quic::client(address.into(), key, ours.public(), silence, control).unwrap();
        let link = end.register(Service::Reliable, Provider { id: 5, protocol: 0 }).unwrap();
        end.connect(link, at.as_bytes());
        let before = server.last;
        while server.last == before {
            assert!(begin.elapsed() < PATIENCE, "it is not accepted");
            end.poll(&mut Vec::new());
            server.strangers.rest();
            server.poll(&mut Vec::new());
        }
        end
    };
    let mut client = comes(ANY_PORT, &theirs, &mut server);
    let mut crowd = Vec::new();
    for _ in 0..CROWD {
        let stranger = SecretKey::generate().unwrap();
        crowd.push(comes((Ipv4Addr::new(127, 0, 0, 2), 0), &stranger, &mut server));
        assert!(server.connections() <= 1 + OF_ONE_SOURCE);
    }
    assert_eq!(server.connections(), 1 + OF_ONE_SOURCE);
    let mut told = Vec::new();
    while told.is_empty() {
        assert!(begin.elapsed() < PATIENCE, "does not come");
        client.poll(&mut Vec::new());
        server.poll(&mut told);
    }
    let identity = Identity(theirs.public().0.to_vec());
    assert!(matches!(&told[..], [(_, Indication::Connect { identity: found })] if *found == identity));
}
