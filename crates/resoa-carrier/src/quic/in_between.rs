//! A man in the middle: it terminates the client's TLS session, has a session of its own with the
//! server, and relays what both say.

use super::socket::{Arrived, Socket};
use super::{Congestion, Quic, session};
use crate::keys::SecretKey;
use crate::noise::FIRST;
use crate::tcp::KeepAlive;
use crate::{Allowed, Carrier};
use quinn_proto::{
    Connection, ConnectionHandle, DatagramEvent, Dir, Endpoint, EndpointEvent, Event, StreamEvent, StreamId,
};
use resoa_protocol::lhp::{DisconnectReason, Indication, LastHop, Provider, Service};
use std::net::{Ipv4Addr, SocketAddr};
use std::time::{Duration, Instant};

const ANY_PORT: (Ipv4Addr, u16) = (Ipv4Addr::LOCALHOST, 0);
/// Time after which a test gives up waiting.
const PATIENCE: Duration = Duration::from_mins(1);

/// One of its two sessions.
struct Half {
    socket: Socket,
    endpoint: Endpoint,
    session: Option<(ConnectionHandle, Connection)>,
    control: Option<StreamId>,
    heard: Vec<u8>,
    is_up: bool,
    is_lost: bool,
}

impl Half {
    fn server() -> Self {
        let config = session::server(KeepAlive::default(), Congestion::default()).unwrap();
        Self::new(Endpoint::new(session::endpoint(), Some(config), false, None))
    }

    fn client(to: SocketAddr) -> Self {
        let config = session::client(KeepAlive::default(), Congestion::default()).unwrap();
        let mut half = Self::new(Endpoint::new(session::endpoint(), None, false, None));
        half.session = Some(half.endpoint.connect(Instant::now(), config, to, "lasthop").unwrap());
        half
    }

    fn new(endpoint: Endpoint) -> Self {
        let socket = Socket::bind(ANY_PORT.into()).unwrap();
        Self {
            socket,
            endpoint,
            session: None,
            control: None,
            heard: Vec::new(),
            is_up: false,
            is_lost: false,
        }
    }

    /// Sends what it can of `say`, and receives what there is.
    fn turn(&mut self, say: &mut Vec<u8>) {
        let now = Instant::now();
        let mut arrived = Vec::new();
        self.socket.receive(&mut arrived);
        for Arrived { from, to, ecn, octets } in arrived {
            let mut answer = Vec::new();
            match (self.endpoint.handle(now, from, to, ecn, octets, &mut answer), &mut self.session) {
                (Some(DatagramEvent::ConnectionEvent(_, event)), Some((_, session))) => {
                    session.handle_event(event);
                }
                (Some(DatagramEvent::NewConnection(incoming)), None) => {
                    self.session = self.endpoint.accept(incoming, now, &mut Vec::new(), None).ok();
                }
                (Some(DatagramEvent::Response(transmit)), _) => {
                    self.socket.send(transmit, answer);
                }
                _ => {}
            }
        }
        let Some((handle, session)) = &mut self.session else { return };
        if session.poll_timeout().is_some_and(|time| time <= now) {
            session.handle_timeout(now);
        }
        while let Some(event) = session.poll() {
            match event {
                Event::Connected => self.is_up = true,
                Event::ConnectionLost { .. } => self.is_lost = true,
                Event::Stream(StreamEvent::Opened { .. }) => self.control = session.streams().accept(Dir::Bi),
                _ => {}
            }
        }
        if self.is_up && self.control.is_none() && session.side().is_client() {
            self.control = session.streams().open(Dir::Bi);
        }
        if let Some(control) = self.control {
            if let Ok(count) = session.send_stream(control).write(say) {
                say.drain(..count);
            }
            if let Ok(mut chunks) = session.recv_stream(control).read(true) {
                while let Ok(Some(chunk)) = chunks.next(usize::MAX) {
                    self.heard.extend_from_slice(&chunk.bytes);
                }
            }
        }
        loop {
            let mut octets = Vec::new();
            let Some(transmit) = session.poll_transmit(now, 1, &mut octets) else { break };
            self.socket.send(transmit, octets);
        }
        while let Some(event) = session.poll_endpoint_events() {
            if let Some(event) = self.endpoint.handle_event(*handle, event) {
                session.handle_event(event);
            }
        }
    }
}

/// A man in the middle of the client's TLS session can also reset it without a sealed message (RFC
/// 9000, 10.3). Before the server's introduction, the client does not take that for the server's
/// reset.
#[test]
fn a_reset_by_who_is_in_between() {
    let [ours, theirs] = [(); 2].map(|()| SecretKey::generate().unwrap());
    let (silence, control) = (KeepAlive::default(), Congestion::default());
    let mut client = Quic::client(ANY_PORT.into(), &theirs, ours.public(), silence, control).unwrap();
    let mut half = Half::server();
    let link = client.register(Service::Reliable, Provider { id: 5, protocol: 0 }).unwrap();
    client.connect(link, half.socket.address().to_string().as_bytes());
    let mut told = Vec::new();
    let begin = Instant::now();
    while told.is_empty() {
        assert!(begin.elapsed() < PATIENCE, "does not come");
        client.poll(&mut told);
        half.turn(&mut Vec::new());
        if half.is_up
            && let Some((handle, _)) = half.session.take()
        {
            // It has forgotten everything about the session except how to reset it.
            half.endpoint.handle_event(handle, EndpointEvent::drained());
        }
    }
    assert_eq!(told, [(link, Indication::Disconnected(DisconnectReason::Unreachable))]);
}

/// Both ends detect it: the client is told that the server is unreachable, and the server's user is
/// told of no client.
#[test]
fn in_between() {
    let [ours, theirs] = [(); 2].map(|()| SecretKey::generate().unwrap());
    let (silence, control) = (KeepAlive::default(), Congestion::default());
    let mut server = Quic::server(ANY_PORT.into(), &ours, Allowed::anybody(), silence, control).unwrap();
    let mut client = Quic::client(ANY_PORT.into(), &theirs, ours.public(), silence, control).unwrap();
    let mut halves = [Half::server(), Half::client(server.address())];
    let link = client.register(Service::Reliable, Provider { id: 5, protocol: 0 }).unwrap();
    client.connect(link, halves[0].socket.address().to_string().as_bytes());
    let mut told = [Vec::new(), Vec::new()];
    let mut passed = 0;
    let begin = Instant::now();
    while told.iter().all(Vec::is_empty) {
        assert!(begin.elapsed() < PATIENCE, "does not come");
        client.poll(&mut told[0]);
        server.poll(&mut told[1]);
        let [near, far] = &mut halves;
        passed += near.heard.len();
        far.turn(&mut near.heard);
        passed -= near.heard.len();
        if let Some((_, session)) = near.session.as_mut().filter(|_| far.is_lost) {
            // It relays the end of the session, too.
            session.close(Instant::now(), 1_u8.into(), b""[..].into());
        }
        near.turn(&mut far.heard);
    }
    assert!(passed >= FIRST, "the introduction did not come by");
    assert_eq!(told, [vec![(link, Indication::Disconnected(DisconnectReason::Unreachable))], vec![]]);
}
