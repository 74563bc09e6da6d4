//! What is between the octets that messages are cut out of and those on the wire: nothing, or
//! Noise.
//!
//! With Noise the wire has the messages of the handshake (their lengths are known) and then
//! records: a length (2 octets, network order) and as much, sealed under the record's number. An
//! empty record is the end: a stream that ends without one was cut off.

use super::backlog::Backlog;
use crate::Allowed;
use crate::keys::{PublicKey, SecretKey};
use crate::noise::{ANSWER, Answered, Carried, FIRST, Failed, Initiator, Keys, LONGEST, TAG, answer};
use resoa_protocol::lhp::Ended;
use std::io::{self, ErrorKind};
use std::sync::Arc;

/// Octets of a record's length.
const LENGTH: usize = 2;
/// Octets of a record that carries as much as it can.
const FULL: usize = LONGEST - TAG;

/// Who an end is, and who may be at the other.
#[derive(Debug, Clone)]
pub(crate) enum Proof {
    /// Nothing is proved.
    None,
    /// A client's.
    Client { key: Arc<SecretKey>, server: PublicKey },
    /// A server's.
    Server { key: Arc<SecretKey>, allowed: Allowed },
}

/// See the [module](self).
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
    /// That of a connection which begins; what there is to say first goes to the wire.
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

    /// Whether a server waits for a client's first message.
    pub(super) fn is_listening(&self) -> bool {
        matches!(self, Self::Listening(..))
    }

    /// Who the client has proved to be.
    pub(super) fn client(&self) -> Option<PublicKey> {
        if let Self::Records(records) = self { records.client } else { None }
    }

    /// What a stream that ends here means. While the server has not proved that it is there, the
    /// end is not its word.
    pub(super) fn end_of_stream(&self) -> Ended {
        match self {
            Self::Plain => Ended::Closed,
            Self::Records(records) if records.ended => Ended::Closed,
            Self::Records(_) => Ended::Reset,
            Self::Asking(_) | Self::Listening(..) => Ended::Unreachable,
        }
    }

    /// What a stream that breaks off with this error means; as for its end, but that nobody listens
    /// there is said by the host.
    pub(super) fn break_of_stream(&self, error: &io::Error) -> Ended {
        match error.kind() {
            ErrorKind::ConnectionRefused => Ended::Reset,
            // EPIPE is what a reset is called by whoever has read the other side's end before
            // (tcp(7); `tcp_reset` of Linux).
            ErrorKind::ConnectionReset | ErrorKind::BrokenPipe => match self {
                Self::Plain | Self::Records(_) => Ended::Reset,
                Self::Asking(_) | Self::Listening(..) => Ended::Unreachable,
            },
            _ => Ended::Unreachable,
        }
    }

    /// Moves what is to be sent to the wire; during the handshake it waits.
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

    /// Puts the end of what this side says on the wire. Whether that is done: not before there are
    /// keys.
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

    /// Moves what has come by the wire to where messages are cut out; `said` is what the handshake
    /// has to say, also if it fails.
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
                    // One that is turned away is told so, too.
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
