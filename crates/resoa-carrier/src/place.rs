//! Where a server accepts clients, and over which carrier, as users write it.
//!
//! | place | carrier |
//! |---|---|
//! | `udp:192.0.2.1:4000`, and `192.0.2.1:4000` alone | the Link Layer Protocol in datagrams |
//! | `ether:eth0` (server), `ether:eth0/02:00:00:00:00:01` (client) | the same, in frames |
//! | `quic:192.0.2.1:4000` | QUIC |
//! | `tcp:192.0.2.1:4000` | TCP |
//! | `plain:192.0.2.1:4000` | TCP as it is |
//! | `bare:192.0.2.1:4000` | datagrams as they are |
//!
//! All except `plain:` and `bare:` are authenticated and encrypted. An address without a carrier
//! means `udp:`, which has the highest throughput on a hop that damages packets
//! (docs/resoa-carriers.md has the figures).

use crate::allowed::Allowed;
use crate::bare::Bare;
use crate::datagram::{self, Datagrams};
use crate::keys::{PublicKey, SecretKey};
use crate::quic::{Congestion, Quic};
use crate::tcp::{KeepAlive, Tcp};
use crate::waiting::Carrier;
use resoa_protocol::lhp::{Connection, Handed, Identity, LastHop, Provider, Service, Statistics};
use rustix::fd::BorrowedFd;
use std::fmt;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::str::FromStr;
use std::time::{Duration, Instant};

/// Any carrier.
pub type AnyCarrier = Box<dyn Carrier<Error = io::Error> + Send>;

/// A carrier and its address; see the [module](self).
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum CarrierAddress {
    /// TCP, neither authenticated nor encrypted: the baseline.
    Plain(SocketAddr),
    /// UDP datagrams, neither authenticated nor sent again: for link layers that lose nothing.
    Bare(SocketAddr),
    /// TCP, authenticated and encrypted.
    Tcp(SocketAddr),
    /// UDP datagrams, authenticated and encrypted; the carrier itself retransmits and orders them.
    Udp(SocketAddr),
    /// QUIC, authenticated and encrypted.
    Quic(SocketAddr),
    /// As `Udp`, in Ethernet frames, without IP.
    Ether {
        /// Name of the interface.
        interface: String,
        /// The server's address; clients need it.
        server: Option<MacAddress>,
    },
}

/// An Ethernet address.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct MacAddress(pub [u8; 6]);

/// The text is not a place.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{text}` is not a place for a server of remote sockets: {reason}; write for example 192.0.2.1:4000, which is udp:192.0.2.1:4000, \
     tcp:[2001:db8::1]:4000, quic:192.0.2.1:4000, ether:eth0/02:00:00:00:00:01 or plain:127.0.0.1:4000"
)]
pub struct NotAPlace {
    text: String,
    reason: &'static str,
}

impl FromStr for CarrierAddress {
    type Err = NotAPlace;

    fn from_str(text: &str) -> Result<Self, NotAPlace> {
        let wrong = |reason| NotAPlace { text: text.to_owned(), reason };
        if let Ok(address) = text.parse() {
            return Ok(Self::Udp(address));
        }
        if text.parse::<IpAddr>().is_ok() {
            return Err(wrong("the address has no port"));
        }
        let (carrier, rest) =
            text.split_once(':').ok_or(wrong("expected ADDRESS:PORT or CARRIER:ADDRESS:PORT"))?;
        let address = || rest.parse().map_err(|_| wrong("expected ADDRESS:PORT after the carrier"));
        match carrier {
            "plain" => address().map(Self::Plain),
            "bare" => address().map(Self::Bare),
            "tcp" => address().map(Self::Tcp),
            "udp" => address().map(Self::Udp),
            "quic" => address().map(Self::Quic),
            "ether" => {
                let (interface, server) = match rest.split_once('/') {
                    Some((interface, server)) => (interface, Some(server)),
                    None => (rest, None),
                };
                if interface.is_empty() || interface.len() > 15 {
                    return Err(wrong("the name of an interface has 1 to 15 bytes"));
                }
                let server = server.map(|server| {
                    MacAddress::read(server).ok_or(wrong("expected an Ethernet address after the interface"))
                });
                Ok(Self::Ether { interface: interface.to_owned(), server: server.transpose()? })
            }
            _ => Err(wrong("unknown carrier, or a host name instead of an address")),
        }
    }
}

impl fmt::Display for CarrierAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Plain(address) => write!(f, "plain:{address}"),
            Self::Bare(address) => write!(f, "bare:{address}"),
            Self::Tcp(address) => write!(f, "tcp:{address}"),
            Self::Udp(address) => write!(f, "udp:{address}"),
            Self::Quic(address) => write!(f, "quic:{address}"),
            Self::Ether { interface, server: None } => write!(f, "ether:{interface}"),
            Self::Ether { interface, server: Some(server) } => write!(f, "ether:{interface}/{server}"),
        }
    }
}

impl MacAddress {
    pub(crate) fn read(text: &str) -> Option<Self> {
        let mut octets = [0; 6];
        let mut parts = text.split(':');
        for octet in &mut octets {
            let part = parts.next().filter(|part| part.len() == 2)?;
            // `from_str_radix` would accept a sign in place of a digit.
            let part = part.bytes().all(|digit| digit.is_ascii_hexdigit()).then_some(part)?;
            *octet = u8::from_str_radix(part, 16).ok()?;
        }
        parts.next().is_none().then_some(Self(octets))
    }
}

impl fmt::Display for MacAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (place, octet) in self.0.iter().enumerate() {
            write!(f, "{}{octet:02x}", if place == 0 { "" } else { ":" })?;
        }
        Ok(())
    }
}

fn refused(kind: io::ErrorKind, reason: String) -> io::Error {
    io::Error::new(kind, reason)
}

impl CarrierAddress {
    /// Returns whether both ends are authenticated, and nobody else can read or change anything.
    #[must_use]
    pub fn is_secure(&self) -> bool {
        !matches!(self, Self::Plain(_) | Self::Bare(_))
    }

    /// Opens a server's end here that accepts these clients. Returns it with its place, which
    /// contains the port that the kernel chose if the port was 0.
    ///
    /// # Errors
    /// If the address is not a local one, or in use, or if only some clients are allowed where
    /// nothing is authenticated.
    pub fn serve(&self, key: &SecretKey, allowed: &Allowed) -> io::Result<(AnyCarrier, Self)> {
        match *self {
            Self::Plain(_) | Self::Bare(_) if !allowed.is_anybody() => Err(refused(
                io::ErrorKind::InvalidInput,
                format!(
                    "{self} accepts every client, because nothing is verified there; to accept only listed clients, use tcp:, udp:, quic: or ether:"
                ),
            )),
            Self::Plain(address) => {
                let end = Tcp::server(address, KeepAlive::default())?;
                let bound = end.address().unwrap_or(address);
                Ok((Box::new(end), Self::Plain(bound)))
            }
            Self::Bare(address) => {
                let end = Bare::server(address)?;
                let bound = end.address().unwrap_or(address);
                Ok((Box::new(end), Self::Bare(bound)))
            }
            Self::Tcp(address) => {
                let end = Tcp::secure_server(address, key, allowed.clone(), KeepAlive::default())?;
                let bound = end.address().unwrap_or(address);
                Ok((Box::new(end), Self::Tcp(bound)))
            }
            Self::Udp(address) => {
                let end =
                    Datagrams::udp_server(address, key, allowed.clone(), datagram::KeepAlive::default())?;
                let bound = end.address().unwrap_or(address);
                Ok((Box::new(end), Self::Udp(bound)))
            }
            Self::Ether { ref interface, .. } => {
                let end =
                    Datagrams::ether_server(interface, key, allowed.clone(), datagram::KeepAlive::default())?;
                Ok((Box::new(end), Self::Ether { interface: interface.clone(), server: None }))
            }
            Self::Quic(address) => {
                let (silence, control) = (KeepAlive::default(), Congestion::default());
                let end = Quic::server(address, key, allowed.clone(), silence, control)?;
                let bound = end.address();
                Ok((Box::new(end), Self::Quic(bound)))
            }
        }
    }

    /// Opens a client's end for the server with this key. Returns it with the address for
    /// [`connect`](LastHop::connect).
    ///
    /// # Errors
    /// If the kernel has no file descriptor left, if the place is secure and the server's key is
    /// missing, or if an Ethernet place names no server.
    pub fn reach(&self, key: &SecretKey, server: Option<PublicKey>) -> io::Result<(AnyCarrier, Vec<u8>)> {
        let server = server.ok_or_else(|| {
            let reason = format!(
                "the public key of the server at {self} is missing: give the 43 characters that the server prints when it starts"
            );
            refused(io::ErrorKind::InvalidInput, reason)
        });
        match self {
            Self::Plain(address) => {
                let identity = Identity(key.public().0.to_vec());
                let end = Tcp::client(identity, KeepAlive::default())?;
                Ok((Box::new(end), address.to_string().into_bytes()))
            }
            Self::Bare(address) => {
                let end = Bare::client(*address, Identity(key.public().0.to_vec()))?;
                Ok((Box::new(end), address.to_string().into_bytes()))
            }
            Self::Tcp(address) => {
                let end = Tcp::secure_client(key, server?, KeepAlive::default())?;
                Ok((Box::new(end), address.to_string().into_bytes()))
            }
            Self::Udp(address) => {
                let end = Datagrams::udp_client(*address, key, server?, datagram::KeepAlive::default())?;
                Ok((Box::new(end), address.to_string().into_bytes()))
            }
            Self::Ether { server: None, .. } => Err(refused(
                io::ErrorKind::InvalidInput,
                format!("{self} names no server: write for example {self}/02:00:00:00:00:01"),
            )),
            Self::Ether { interface, server: Some(address) } => {
                let end = Datagrams::ether_client(interface, key, server?, datagram::KeepAlive::default())?;
                Ok((Box::new(end), address.to_string().into_bytes()))
            }
            Self::Quic(address) => {
                let from: IpAddr = if address.is_ipv4() {
                    Ipv4Addr::UNSPECIFIED.into()
                } else {
                    Ipv6Addr::UNSPECIFIED.into()
                };
                let (silence, control) = (KeepAlive::default(), Congestion::default());
                let end = Quic::client((from, 0).into(), key, server?, silence, control)?;
                Ok((Box::new(end), address.to_string().into_bytes()))
            }
        }
    }
}

impl LastHop for AnyCarrier {
    type Error = io::Error;

    fn register(&mut self, service: Service, provider: Provider) -> io::Result<Connection> {
        (**self).register(service, provider)
    }
    fn unregister(&mut self, connection: Connection) -> io::Result<()> {
        (**self).unregister(connection)
    }
    fn passive(&mut self, connection: Connection) -> io::Result<()> {
        (**self).passive(connection)
    }
    fn connect(&mut self, connection: Connection, address: &[u8]) {
        (**self).connect(connection, address);
    }
    fn accept(&mut self, connection: Connection) {
        (**self).accept(connection);
    }
    fn reject(&mut self, connection: Connection) {
        (**self).reject(connection);
    }
    fn close(&mut self, connection: Connection) {
        (**self).close(connection);
    }
    fn reset(&mut self, connection: Connection) {
        (**self).reset(connection);
    }
    fn send(&mut self, connection: Connection, message: &[u8]) -> Handed {
        (**self).send(connection, message)
    }
    fn send_or_lose(&mut self, connection: Connection, message: &[u8], waited: Duration) -> Handed {
        (**self).send_or_lose(connection, message, waited)
    }
    fn receive(&mut self, connection: Connection, wanted: bool) {
        (**self).receive(connection, wanted);
    }
    fn statistics(&self, connection: Connection) -> Statistics {
        (**self).statistics(connection)
    }
}

impl Carrier for AnyCarrier {
    fn descriptor(&self) -> BorrowedFd<'_> {
        (**self).descriptor()
    }
    fn deadline(&self) -> Option<Instant> {
        (**self).deadline()
    }
    fn poll(&mut self, happened: &mut Vec<(Connection, resoa_protocol::lhp::Indication)>) {
        (**self).poll(happened);
    }
    fn gather(&mut self) {
        (**self).gather();
    }
    fn flush(&mut self) {
        (**self).flush();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Places are written as they were read, and the error for any other text quotes it and gives
    /// examples.
    #[test]
    fn places_are_read_as_written() {
        for text in [
            "plain:192.0.2.1:4000",
            "plain:[2001:db8::1]:4000",
            "tcp:192.0.2.1:4000",
            "udp:[2001:db8::1]:4000",
            "quic:192.0.2.1:4000",
            "ether:eth0",
            "ether:eth0/02:00:00:00:00:0a",
        ] {
            assert_eq!(text.parse::<CarrierAddress>().expect("a place").to_string(), text);
        }
        for text in ["192.0.2.1:4000", "[2001:db8::1]:4000", "127.0.0.1:0"] {
            let place = text.parse::<CarrierAddress>().expect("a place");
            assert_eq!((place.to_string(), place.is_secure()), (format!("udp:{text}"), true));
        }
        for text in [
            "192.0.2.1",
            "2001:db8::1",
            "[2001:db8::1]",
            "here:4000",
            "4000",
            "plain:192.0.2.1",
            "pigeon:192.0.2.1:4000",
            "ether:",
            "ether:eth0/02:00:00:00:00",
            "ether:eth0/02:00:00:00:00:01:02",
            "ether:eth0/2:0:0:0:0:1",
            "ether:eth0/+2:00:00:00:00:01",
            "ether:a-name-of-16-oct",
        ] {
            let error = text.parse::<CarrierAddress>().expect_err("no place").to_string();
            assert!(error.contains(text) && error.contains("write for example"), "{error}");
        }
    }

    /// Secure places need the server's key, and a place without authentication refuses a list of
    /// clients.
    #[test]
    fn keys_are_asked_for() {
        let key = SecretKey::generate().expect("random octets");
        for text in
            ["tcp:127.0.0.1:4000", "udp:127.0.0.1:4000", "quic:127.0.0.1:4000", "ether:lo/02:00:00:00:00:01"]
        {
            let place: CarrierAddress = text.parse().expect("a place");
            let error = place.reach(&key, None).err().expect("no key").to_string();
            assert!(error.contains(text) && error.contains("public key"), "{error}");
        }
        let plain: CarrierAddress = "plain:127.0.0.1:0".parse().expect("a place");
        let error =
            plain.serve(&key, &Allowed::keys([key.public()].into())).err().expect("a list").to_string();
        assert!(error.contains("plain:127.0.0.1:0") && error.contains("tcp:"), "{error}");
    }
}
