//! The layer between messages and the bytes on the wire: none, or Noise.
//!
//! With Noise the wire has the messages of the handshake, whose lengths are known, and then
//! records: a length (2 bytes, network order) and that many bytes, sealed under the record's
//! number. An empty record is the end: a stream that ends without one was truncated.

use super::backlog::Backlog;
use crate::Allowed;
use crate::keys::{PublicKey, SecretKey};
use crate::noise::{ANSWER, Answered, Carried, FIRST, Failed, Initiator, Keys, LONGEST, TAG, answer};
use resoa_protocol::lhp::DisconnectReason;
use std::io::{self, ErrorKind};
use std::sync::Arc;

/// Bytes of a record's length field.
const LENGTH: usize = 2;
/// Most bytes of plaintext in a record.
const FULL: usize = LONGEST - TAG;

/// Identity of an end, and which peers it accepts.
#[derive(Debug, Clone)]
pub(crate) enum Proof {
    /// Nothing is authenticated.
    None,
    /// A client's key, and the key of its server.
    Client { key: Arc<SecretKey>, server: PublicKey },
    /// A server's key, and the clients that it accepts.
    Server { key: Arc<SecretKey>, allowed: Allowed },
}

/// State of the layer; see the [module](self).
#[derive(Debug)]
pub(crate) enum Cover {
    Plain,
    /// A client waits for the server's answer.
    Asking(Initiator),
    /// A server waits for the client's first message.
    Listening(Arc<SecretKey>, Allowed),
    Records(Records),
}

#[derive(Debug)]
pub(crate) struct Records {
    keys: Keys,
    sent: u64,
    received: u64,
    /// The client's key, at a server.
    client: Option<PublicKey>,
    /// The other side's end has been read.
    ended: bool,
}

impl Cover {
    /// Creates the layer of a new connection. A client's first message is appended to `wire`.
    pub(crate) fn new(proof: &Proof, wire: &mut Vec<u8>) -> Result<Self, Failed> {
        Ok(match proof {
            Proof::None => Self::Plain,
            Proof::Client { key, server } => {
                let (initiator, first) = Initiator::new(key, *server, Carried::Tcp)?;
                wire.extend(first);
                Self::Asking(initiator)
            }
            Proof::Server { key, allowed } => Self::Listening(Arc::clone(key), allowed.clone()),
        })
    }

    /// Returns whether a server waits for a client's first message.
    pub(super) fn is_listening(&self) -> bool {
        matches!(self, Self::Listening(..))
    }

    /// Returns the authenticated key of the client.
    pub(super) fn client(&self) -> Option<PublicKey> {
        if let Self::Records(records) = self { records.client } else { None }
    }

    /// Returns what it means if the stream ends here. Before the handshake is complete, anybody may
    /// have ended it, so it counts as an outage.
    pub(super) fn end_of_stream(&self) -> DisconnectReason {
        match self {
            Self::Plain => DisconnectReason::Closed,
            Self::Records(records) if records.ended => DisconnectReason::Closed,
            Self::Records(_) => DisconnectReason::Reset,
            Self::Asking(_) | Self::Listening(..) => DisconnectReason::Unreachable,
        }
    }

    /// Returns what it means if the stream breaks with this error. This is as for its end, except
    /// that the host itself reports that nobody listens there.
    pub(super) fn break_of_stream(&self, error: &io::Error) -> DisconnectReason {
        match error.kind() {
            ErrorKind::ConnectionRefused => DisconnectReason::Reset,
            // After a reset, EPIPE is the error of a socket that has already read the other side's
            // end (tcp(7); `tcp_reset` of Linux).
            ErrorKind::ConnectionReset | ErrorKind::BrokenPipe => match self {
                Self::Plain | Self::Records(_) => DisconnectReason::Reset,
                Self::Asking(_) | Self::Listening(..) => DisconnectReason::Unreachable,
            },
            _ => DisconnectReason::Unreachable,
        }
    }

    /// Moves data to the wire, sealed. During the handshake it waits.
    pub(crate) fn seal(&mut self, plain: &mut Backlog, wire: &mut Backlog) {
        match self {
            Self::Plain => {
                wire.behind().extend(plain.waiting());
                plain.gone(plain.len());
            }
            Self::Asking(_) | Self::Listening(..) => {}
            Self::Records(records) => {
                while !plain.is_empty() {
                    let count = plain.len().min(FULL);
                    records.write(&plain.waiting()[..count], wire.behind());
                    plain.gone(count);
                }
            }
        }
    }

    /// Puts the end of our data on the wire. Returns false during the handshake, when that is not
    /// possible yet.
    pub(crate) fn finish(&mut self, wire: &mut Backlog) -> bool {
        match self {
            Self::Plain => true,
            Self::Asking(_) | Self::Listening(..) => false,
            Self::Records(records) => {
                records.write(&[], wire.behind());
                true
            }
        }
    }

    /// Moves received bytes from the wire to where messages are cut out. The handshake's output is
    /// appended to `said`, even if it fails.
    pub(crate) fn open(
        &mut self,
        wire: &mut Backlog,
        plain: &mut Backlog,
        said: &mut Vec<u8>,
    ) -> Result<(), Failed> {
        loop {
            match self {
                Self::Plain => {
                    plain.behind().extend(wire.waiting());
                    wire.gone(wire.len());
                    return Ok(());
                }
                Self::Asking(initiator) => {
                    let Some(answer) = wire.waiting().get(..ANSWER) else { return Ok(()) };
                    let keys = initiator.finish(answer)?;
                    wire.gone(ANSWER);
                    *self = Self::Records(Records::new(keys, None));
                }
                Self::Listening(key, allowed) => {
                    let Some(first) = wire.waiting().get(..FIRST) else { return Ok(()) };
                    let Answered { answer, taken } = answer(key, allowed, Carried::Tcp, first)?;
                    wire.gone(FIRST);
                    // A client that is not accepted is told so too.
                    said.extend(answer);
                    let (client, keys) = taken.ok_or(Failed::TurnedAway)?;
                    *self = Self::Records(Records::new(keys, Some(client)));
                }
                Self::Records(records) => {
                    let Some(length) = wire.waiting().first_chunk::<LENGTH>() else { return Ok(()) };
                    let length = usize::from(u16::from_be_bytes(*length));
                    let Some(sealed) = wire.waiting().get(LENGTH..LENGTH + length) else { return Ok(()) };
                    records.read(sealed, plain.behind())?;
                    wire.gone(LENGTH + length);
                }
            }
        }
    }
}

impl Records {
    fn new(keys: Keys, client: Option<PublicKey>) -> Self {
        Self { keys, sent: 0, received: 0, client, ended: false }
    }

    fn write(&mut self, plain: &[u8], wire: &mut Vec<u8>) {
        wire.extend(((plain.len() + TAG) as u16).to_be_bytes());
        self.keys.seal(self.sent, plain, wire);
        self.sent += 1;
    }

    fn read(&mut self, sealed: &[u8], plain: &mut Vec<u8>) -> Result<(), Failed> {
        if self.ended {
            return Err(Failed::Forged);
        }
        self.keys.open(self.received, sealed, plain)?;
        self.received += 1;
        self.ended = sealed.len() == TAG;
        Ok(())
    }
}
