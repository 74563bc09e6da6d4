//! Where a server takes clients, and by what carrier, as people write it: `plain:192.0.2.1:4000`.

use crate::keys::SecretKey;
use crate::tcp::{KeepAlive, Tcp};
use crate::waiting::Carrier;
use resoa_protocol::lhp::{Connection, Handed, Identity, LastHop, Provider, Service, Statistics};
use rustix::fd::BorrowedFd;
use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::str::FromStr;

/// Any carrier.
pub type AnyCarrier = Box<dyn Carrier<Error = io::Error> + Send>;

/// A carrier and where it leads; see the [module](self).
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Place {
    /// The baseline: TCP, nothing is verified or encrypted.
    Plain(SocketAddr),
}

/// Not a place.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is no place for a server of remote sockets: {reason}; such as plain:192.0.2.1:4000")]
pub struct NotAPlace {
    text: String,
    reason: &'static str,
}

impl FromStr for Place {
    type Err = NotAPlace;

    fn from_str(text: &str) -> Result<Self, NotAPlace> {
        let wrong = |reason| NotAPlace { text: text.to_owned(), reason };
        let (carrier, rest) = text.split_once(':').ok_or(wrong("it names no carrier"))?;
        let address = || rest.parse().map_err(|_| wrong("behind the carrier stands no address with a port"));
        match carrier {
            "plain" => address().map(Self::Plain),
            _ => Err(wrong("no carrier has that name")),
        }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Plain(address) => write!(f, "plain:{address}"),
        }
    }
}

impl Place {
    /// Whether both ends prove who they are, and nobody in between can read or change anything.
    #[must_use]
    pub fn is_secure(&self) -> bool {
        match self {
            Self::Plain(_) => false,
        }
    }

    /// A server's end that takes clients here; and the place itself, with the port that the kernel chose if it was 0.
    ///
    /// # Errors
    /// If the address is not this host's, or in use.
    pub fn serve(&self, _key: &SecretKey) -> io::Result<(AnyCarrier, Self)> {
        match *self {
            Self::Plain(address) => {
                let end = Tcp::server(address, KeepAlive::default())?;
                let bound = end.address().unwrap_or(address);
                Ok((Box::new(end), Self::Plain(bound)))
            }
        }
    }

    /// A client's end for a server here, and the address to [connect](LastHop::connect) it to.
    ///
    /// # Errors
    /// If the kernel has no descriptor left.
    pub fn reach(&self, key: &SecretKey) -> io::Result<(AnyCarrier, Vec<u8>)> {
        match self {
            Self::Plain(address) => {
                let identity = Identity(key.public().0.to_vec());
                let end = Tcp::client(identity, KeepAlive::default())?;
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
    fn poll(&mut self, happened: &mut Vec<(Connection, resoa_protocol::lhp::Indication)>) {
        (**self).poll(happened);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Places are read as they are written, and what is none says why.
    #[test]
    fn places_are_read_as_written() {
        for text in ["plain:192.0.2.1:4000", "plain:[2001:db8::1]:4000"] {
            assert_eq!(text.parse::<Place>().expect("a place").to_string(), text);
        }
        for text in ["192.0.2.1", "plain:192.0.2.1", "pigeon:192.0.2.1:4000"] {
            let error = text.parse::<Place>().expect_err("no place").to_string();
            assert!(error.contains(text) && error.contains("such as"), "{error}");
        }
    }
}
