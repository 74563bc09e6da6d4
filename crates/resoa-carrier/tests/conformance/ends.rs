//! A server's and a client's end of any carrier.

use resoa_carrier::keys::SecretKey;
use resoa_carrier::memory::Memory;
use resoa_carrier::{Allowed, AnyCarrier, Carrier, CarrierAddress, wait_for};
use resoa_protocol::lhp::{Connection, Identity, Indication, LastHop, Provider, Service};
use std::time::{Duration, Instant};

/// Time after which a test gives up waiting.
pub const PATIENCE: Duration = Duration::from_mins(1);
pub const PROVIDER: Provider = Provider { id: 1, protocol: 0 };

/// The carrier to test.
#[expect(non_camel_case_types, reason = "they are the names of modules as well")]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    memory,
    plain,
    bare,
    tcp,
    udp,
    ether,
    quic,
}

/// Both ends of a connection that does not exist yet.
pub struct Ends {
    pub server: End,
    pub client: End,
    /// The client's number for the connection.
    pub link: Connection,
    pub address: Vec<u8>,
    /// The identity that the server will be told.
    pub identity: Identity,
}

/// An end, and its indications that the test has not looked at yet.
pub struct End {
    pub carrier: AnyCarrier,
    pub kept: Vec<(Connection, Indication)>,
}

impl Ends {
    pub fn new(kind: Kind) -> Self {
        let key = SecretKey::generate().expect("random octets");
        let identity = Identity(key.public().0.to_vec());
        let (server, client, address): (AnyCarrier, AnyCarrier, _) = match kind {
            Kind::memory => {
                let server = Memory::server(1 << 20).expect("descriptors");
                let client = server.client(identity.clone()).expect("descriptors");
                (Box::new(server), Box::new(client), Vec::new())
            }
            Kind::plain => at("plain:127.0.0.1:0", &key, &Allowed::anybody()),
            Kind::bare => at("bare:127.0.0.1:0", &key, &Allowed::anybody()),
            Kind::tcp => at("tcp:127.0.0.1:0", &key, &Allowed::keys([key.public()].into())),
            Kind::udp => at("udp:127.0.0.1:0", &key, &Allowed::keys([key.public()].into())),
            Kind::ether => at("ether:lo", &key, &Allowed::keys([key.public()].into())),
            Kind::quic => at("quic:127.0.0.1:0", &key, &Allowed::keys([key.public()].into())),
        };
        Self::of(server, client, address, identity)
    }

    pub fn of(server: AnyCarrier, mut client: AnyCarrier, address: Vec<u8>, identity: Identity) -> Self {
        let link = client.register(Service::Reliable, PROVIDER).expect("always");
        let end = |carrier| End { carrier, kept: Vec::new() };
        Self { server: end(server), client: end(client), link, address, identity }
    }

    /// Returns two connected ends, and the server's number for the connection.
    pub fn connected(kind: Kind) -> (Self, Connection) {
        let mut ends = Self::new(kind);
        let taken = ends.connect();
        (ends, taken)
    }

    pub fn connect(&mut self) -> Connection {
        self.client.carrier.connect(self.link, &self.address);
        let (taken, offer) = self.server_told();
        assert_eq!(offer, Indication::Connect { identity: self.identity.clone() });
        self.server.carrier.accept(taken);
        assert_eq!(self.client_told(), (self.link, Indication::Connected));
        taken
    }

    /// Polls both ends.
    pub fn turn(&mut self) {
        self.server.carrier.poll(&mut self.server.kept);
        self.client.carrier.poll(&mut self.client.kept);
    }

    /// Polls both ends, and waits a moment at most if nothing has happened.
    pub fn wait(&mut self) {
        self.turn();
        if self.server.kept.is_empty() && self.client.kept.is_empty() {
            wait_for(&[&self.server.carrier, &self.client.carrier], Duration::from_secs(1));
        }
    }

    pub fn until<T>(&mut self, mut there: impl FnMut(&mut Self) -> Option<T>) -> T {
        let begin = Instant::now();
        loop {
            if let Some(found) = there(self) {
                return found;
            }
            assert!(begin.elapsed() < PATIENCE, "does not come");
            self.wait();
        }
    }

    pub fn server_told(&mut self) -> (Connection, Indication) {
        self.until(|ends| (!ends.server.kept.is_empty()).then(|| ends.server.kept.remove(0)))
    }

    pub fn client_told(&mut self) -> (Connection, Indication) {
        self.until(|ends| (!ends.client.kept.is_empty()).then(|| ends.client.kept.remove(0)))
    }
}

/// Returns two ends at a place of this host, and the address for the client. The server gets a key
/// of its own.
fn at(place: &str, client: &SecretKey, allowed: &Allowed) -> (AnyCarrier, AnyCarrier, Vec<u8>) {
    let key = SecretKey::generate().expect("random octets");
    let place: CarrierAddress = place.parse().expect("a place");
    let (server, place) = place.serve(&key, allowed).expect("this host's");
    let place = match place {
        CarrierAddress::Ether { interface, .. } => {
            CarrierAddress::Ether { interface, server: Some(resoa_carrier::MacAddress([0; 6])) }
        }
        place => place,
    };
    let (client, address) = place.reach(client, Some(key.public())).expect("descriptors");
    (server, client, address)
}

/// Returns two ends of which the server does not accept the client; `None` for carriers that accept
/// anybody.
pub fn strangers(kind: Kind) -> Option<Ends> {
    let key = SecretKey::generate().expect("random octets");
    let allowed = Allowed::keys([SecretKey::generate().expect("random octets").public()].into());
    let (server, client, address) = match kind {
        Kind::memory | Kind::plain | Kind::bare => return None,
        Kind::tcp => at("tcp:127.0.0.1:0", &key, &allowed),
        Kind::udp => at("udp:127.0.0.1:0", &key, &allowed),
        Kind::ether => at("ether:lo", &key, &allowed),
        Kind::quic => at("quic:127.0.0.1:0", &key, &allowed),
    };
    Some(Ends::of(server, client, address, Identity(Vec::new())))
}
