//! For the fuzz targets alone (feature `fuzz`): a client and a server in memory, and an attacker
//! who interferes with their handshake as a script says.

use super::link::Link;
use super::{Congestion, session};
use crate::Allowed;
use crate::keys::SecretKey;
use crate::tcp::KeepAlive;
use bytes::BytesMut;
use quinn_proto::{ClientConfig, ConnectionHandle, DatagramEvent, Endpoint, ServerConfig};
use resoa_protocol::lhp::{Connection, Identity, Indication};
use std::collections::VecDeque;
use std::net::SocketAddr;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

/// Rounds in which datagrams go both ways, with the script and after its end.
const ROUNDS: usize = 20;
/// Time between two rounds.
const STEP: Duration = Duration::from_millis(50);

/// Configurations and keys of both ends, made once.
struct Both {
    server: (Arc<ServerConfig>, Arc<SecretKey>),
    client: (ClientConfig, Arc<SecretKey>),
}

fn both() -> &'static Both {
    static BOTH: OnceLock<Both> = OnceLock::new();
    BOTH.get_or_init(|| {
        let key = || Arc::new(SecretKey::generate().expect("random octets"));
        let (silence, control) = (KeepAlive::default(), Congestion::default());
        let server = session::server(silence, control).expect("keys");
        let client = session::client(silence, control).expect("keys");
        Both { server: (server, key()), client: (client, key()) }
    })
}

/// One end.
struct End {
    at: SocketAddr,
    endpoint: Endpoint,
    link: Option<(ConnectionHandle, Link)>,
    told: Vec<Indication>,
    /// Datagrams for the other end.
    out: VecDeque<Vec<u8>>,
}

impl End {
    fn new(at: SocketAddr, config: Option<Arc<ServerConfig>>) -> Self {
        let endpoint = Endpoint::new(session::endpoint(), config, false, None);
        Self { at, endpoint, link: None, told: Vec::new(), out: VecDeque::new() }
    }

    /// Processes a datagram that arrives.
    fn hears(&mut self, octets: &[u8], from: SocketAddr, now: Instant) {
        let mut answer = Vec::new();
        let event =
            self.endpoint.handle(now, from, Some(self.at.ip()), None, BytesMut::from(octets), &mut answer);
        let response = match event {
            Some(DatagramEvent::ConnectionEvent(handle, event)) => {
                if let Some((_, link)) = self.link.as_mut().filter(|(ours, _)| *ours == handle) {
                    link.quic.handle_event(event);
                    link.answered(now);
                }
                None
            }
            Some(DatagramEvent::NewConnection(incoming)) if self.link.is_some() => {
                self.endpoint.ignore(incoming);
                None
            }
            Some(DatagramEvent::NewConnection(incoming)) if !incoming.remote_address_validated() => {
                self.endpoint.retry(incoming, &mut answer).ok()
            }
            Some(DatagramEvent::NewConnection(incoming)) => {
                match self.endpoint.accept(incoming, now, &mut answer, None) {
                    Ok((handle, quic)) => {
                        let (_, key) = &both().server;
                        let (key, allowed) = (Arc::clone(key), Allowed::anybody());
                        let link = Link::server(Connection(1), quic, key, allowed, Duration::from_secs(30));
                        self.link = Some((handle, link));
                        None
                    }
                    Err(error) => error.response,
                }
            }
            Some(DatagramEvent::Response(transmit)) => Some(transmit),
            None => None,
        };
        if let Some(transmit) = response {
            assert!(transmit.size <= octets.len(), "more comes back than was sent");
            self.out.push_back(answer[..transmit.size].to_vec());
        }
    }

    /// Processes timers and events, and produces the datagrams to send.
    fn turns(&mut self, now: Instant) {
        let Some((handle, link)) = &mut self.link else { return };
        if link.quic.poll_timeout().is_some_and(|time| time <= now) {
            link.quic.handle_timeout(now);
        }
        link.progress(now, &mut self.told);
        loop {
            let mut octets = Vec::new();
            let Some(transmit) = link.quic.poll_transmit(now, 1, &mut octets) else { break };
            self.out.push_back(octets[..transmit.size].to_vec());
        }
        link.sent(now);
        while let Some(event) = link.quic.poll_endpoint_events() {
            if let Some(event) = self.endpoint.handle_event(*handle, event) {
                link.quic.handle_event(event);
            }
        }
    }
}

/// Runs a handshake by a script: for each datagram a byte that says what happens to it, followed by
/// the parameters of that.
pub(crate) fn run(mut script: &[u8]) {
    let both = both();
    let mut now = Instant::now();
    let ends = [1, 2].map(|last| SocketAddr::from(([192, 0, 2, last], 4000)));
    let (mut client, mut server) =
        (End::new(ends[0], None), End::new(ends[1], Some(Arc::clone(&both.server.0))));
    let (config, key) = both.client.clone();
    let (handle, quic) = client.endpoint.connect(now, config, ends[1], "lasthop").expect("an address");
    let identity = Identity(key.public().0.to_vec());
    let link = Link::client(Connection(1), quic, key, both.server.1.public(), Duration::from_secs(30));
    client.link = Some((handle, link));
    for _ in 0..ROUNDS {
        now += STEP;
        for is_up in [true, false] {
            let (from, to) = if is_up { (&mut client, &mut server) } else { (&mut server, &mut client) };
            from.turns(now);
            for octets in std::mem::take(&mut from.out) {
                for (octets, place) in spoiled(octets, &mut script) {
                    to.hears(&octets, if place { from.at } else { ([192, 0, 2, 3], 9).into() }, now);
                }
            }
        }
        server.turns(now);
        // The server reports only the real client, and only once.
        match &server.told[..] {
            [] => assert!(!client.told.contains(&Indication::Connected), "nobody has taken it"),
            [Indication::Connect { identity: found }, rest @ ..] => {
                assert_eq!(*found, identity);
                assert!(!rest.iter().any(|told| matches!(told, Indication::Connect { .. })), "{rest:?}");
                if let Some((_, link)) = &mut server.link {
                    link.accept();
                }
            }
            told => panic!("{told:?}"),
        }
    }
}

/// Returns what arrives of a datagram, and for each copy whether it comes from the real sender's
/// address.
fn spoiled(mut octets: Vec<u8>, script: &mut &[u8]) -> Vec<(Vec<u8>, bool)> {
    let mut next = || {
        let (&first, rest) = script.split_first()?;
        *script = rest;
        Some(first)
    };
    let Some(what) = next() else { return vec![(octets, true)] };
    let (at, value) = match what % 16 {
        11..=14 => (usize::from(next().unwrap_or_default()) * 6, next().unwrap_or_default()),
        _ => (0, 0),
    };
    match what % 16 {
        9 => return Vec::new(),
        10 => return vec![(octets.clone(), true), (octets, true)],
        11 => {
            if let Some(octet) = octets.get_mut(at) {
                *octet ^= value.max(1);
            }
        }
        12 => octets.truncate(at),
        13 => return vec![(vec![value; at], true), (octets, true)],
        14 => {
            let other = octets.iter().map(|octet| octet ^ value).collect();
            return vec![(octets, true), (other, false)];
        }
        15 => return vec![(octets.clone(), false), (octets, true)],
        _ => {}
    }
    vec![(octets, true)]
}
