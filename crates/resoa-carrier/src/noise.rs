//! Authentication and encryption of both ends: Noise_IK_25519_ChaChaPoly_BLAKE2s (Noise Protocol
//! Framework, revision 34, 7.5).
//!
//! The client knows the server's key in advance and sends its own in its first message, which only
//! that server can read. The second message authenticates the server. A first message may be a
//! replay. What proves the client's presence is the first message that it sends under the keys of
//! both sides. Until then a server keeps no more state for it than a handshake.
//!
//! The prologue names the protocol, its version and the carrier, so ends that differ in any of them
//! derive different keys.

use crate::Allowed;
use crate::keys::{PublicKey, SecretKey};
use snow::params::NoiseParams;
use snow::{Builder, HandshakeState, StatelessTransportState};
use std::fmt;

const PATTERN: &str = "Noise_IK_25519_ChaChaPoly_BLAKE2s";
/// Bytes of a client's first message: its ephemeral key, its encrypted static key, and an empty
/// encrypted payload.
pub(crate) const FIRST: usize = 32 + 32 + TAG + TAG;
/// Bytes of the server's answer: its ephemeral key, and whether it accepts the client.
pub(crate) const ANSWER: usize = 32 + 1 + TAG;
/// Bytes that sealing adds.
pub(crate) const TAG: usize = 16;
/// Bytes of the longest Noise message.
pub(crate) const LONGEST: usize = 65_535;

const TAKEN: u8 = 0;
const TURNED_AWAY: u8 = 1;

/// The carrier that a handshake is for, which the prologue names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Carried {
    Tcp,
    Llp,
    /// QUIC, with a secret that only the two ends of its TLS session can derive.
    Quic([u8; 32]),
}

impl Carried {
    fn prologue(self) -> Vec<u8> {
        match self {
            Self::Tcp => b"lasthop resoa 1 tcp".to_vec(),
            Self::Llp => b"lasthop resoa 3 llp".to_vec(),
            Self::Quic(session) => [&b"lasthop resoa 2 quic "[..], &session].concat(),
        }
    }
}

/// Why a handshake failed, or a sealed message cannot be opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Failed {
    /// It is not from the expected end, or was changed on the way.
    #[error("not authenticated by the expected key")]
    Forged,
    /// The server does not accept this client.
    #[error("the server does not accept this client")]
    TurnedAway,
}

impl From<snow::Error> for Failed {
    fn from(_: snow::Error) -> Self {
        Self::Forged
    }
}

/// A client's handshake.
pub(crate) struct Initiator(Option<Box<HandshakeState>>);

impl Initiator {
    /// Begins a handshake, and returns it with the first message for the server.
    pub(crate) fn new(
        key: &SecretKey,
        server: PublicKey,
        carried: Carried,
    ) -> Result<(Self, [u8; FIRST]), Failed> {
        let prologue = carried.prologue();
        let builder = builder(key, &prologue)?.remote_public_key(&server.0)?;
        let mut handshake = builder.build_initiator()?;
        let mut first = [0; FIRST];
        handshake.write_message(&[], &mut first)?;
        Ok((Self(Some(Box::new(handshake))), first))
    }

    /// Processes the server's answer, and returns the keys. A forged answer leaves the handshake
    /// unchanged.
    pub(crate) fn finish(&mut self, answer: &[u8]) -> Result<Keys, Failed> {
        let handshake = self.0.as_mut().ok_or(Failed::Forged)?;
        if answer.len() != ANSWER {
            return Err(Failed::Forged);
        }
        let mut says = [0];
        handshake.read_message(answer, &mut says)?;
        let handshake = self.0.take().ok_or(Failed::Forged)?;
        if says[0] != TAKEN {
            return Err(Failed::TurnedAway);
        }
        Ok(Keys(handshake.into_stateless_transport_mode()?))
    }
}

impl fmt::Debug for Initiator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Initiator")
    }
}

impl fmt::Debug for Keys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Keys")
    }
}

/// The server's result for a client's first message.
pub(crate) struct Answered {
    /// The answer for the client.
    pub(crate) answer: [u8; ANSWER],
    /// The client's key and the keys of the connection; `None` if the client is not allowed.
    pub(crate) taken: Option<(PublicKey, Keys)>,
}

/// Answers a client's first message.
pub(crate) fn answer(
    key: &SecretKey,
    allowed: &Allowed,
    carried: Carried,
    first: &[u8],
) -> Result<Answered, Failed> {
    if first.len() != FIRST {
        return Err(Failed::Forged);
    }
    let prologue = carried.prologue();
    let mut handshake = builder(key, &prologue)?.build_responder()?;
    handshake.read_message(first, &mut [])?;
    let client = handshake.get_remote_static().and_then(|key| key.try_into().ok()).ok_or(Failed::Forged)?;
    let client = PublicKey(client);
    let is_taken = allowed.has(&client);
    let mut answer = [0; ANSWER];
    handshake.write_message(&[if is_taken { TAKEN } else { TURNED_AWAY }], &mut answer)?;
    let keys = Keys(handshake.into_stateless_transport_mode()?);
    Ok(Answered { answer, taken: is_taken.then_some((client, keys)) })
}

fn builder<'a>(key: &'a SecretKey, prologue: &'a [u8]) -> Result<Builder<'a>, Failed> {
    let pattern: NoiseParams = PATTERN.parse()?;
    Ok(Builder::new(pattern).prologue(prologue)?.local_private_key(key.octets())?)
}

/// The keys of a connection, one for each direction. Each sealed message has a number, which must
/// not be used twice.
pub(crate) struct Keys(StatelessTransportState);

impl Keys {
    /// Seals `plain` and appends it to `out`. At most [`LONGEST`] bytes including the tag.
    pub(crate) fn seal(&self, number: u64, plain: &[u8], out: &mut Vec<u8>) {
        let begin = out.len();
        out.resize(begin + plain.len() + TAG, 0);
        let length = self
            .0
            .write_message(number, plain, &mut out[begin..])
            .expect("it has the room, and is short enough");
        debug_assert_eq!(length, plain.len() + TAG);
    }

    /// Opens a sealed message and appends its contents to `out`.
    pub(crate) fn open(&self, number: u64, sealed: &[u8], out: &mut Vec<u8>) -> Result<(), Failed> {
        let begin = out.len();
        // ring decrypts in place, so it needs room for the tag as well.
        out.resize(begin + sealed.len(), 0);
        let length = self.0.read_message(number, sealed, &mut out[begin..]);
        out.truncate(begin + length.as_ref().map_or(0, |length| *length));
        Ok(length.map(|_| ())?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key() -> SecretKey {
        SecretKey::generate().expect("random octets")
    }

    fn pair() -> (SecretKey, SecretKey) {
        (key(), key())
    }

    /// Both ends know each other's key. What one seals, the other opens, and only under the same
    /// number.
    #[test]
    fn both_know_each_other() {
        let (client, server) = pair();
        let (mut initiator, first) = Initiator::new(&client, server.public(), Carried::Tcp).expect("keys");
        let Answered { answer, taken } =
            answer(&server, &Allowed::keys([client.public()].into()), Carried::Tcp, &first)
                .expect("a client");
        let (who, servers) = taken.expect("allowed");
        assert_eq!(who, client.public());
        let mut forged = answer;
        forged[40] ^= 1;
        assert_eq!(initiator.finish(&forged).expect_err("changed"), Failed::Forged);
        let clients = initiator.finish(&answer).expect("the server");
        let (mut sealed, mut plain) = (Vec::new(), vec![7]);
        clients.seal(5, b"something", &mut sealed);
        servers.open(5, &sealed, &mut plain).expect("the client's");
        assert_eq!(plain, b"\x07something");
        assert_eq!(servers.open(6, &sealed, &mut plain), Err(Failed::Forged));
        assert_eq!(clients.open(5, &sealed, &mut plain), Err(Failed::Forged));
        assert_eq!(plain, b"\x07something");
        sealed[0] ^= 1;
        assert_eq!(servers.open(5, &sealed, &mut plain), Err(Failed::Forged));
    }

    /// Only the right server can tell a client that it is not allowed. A handshake for another
    /// server or carrier fails, and so does a first message of another length.
    #[test]
    fn whom_it_does_not_take() {
        let (client, server) = pair();
        let nobody = Allowed::keys([key().public()].into());
        let (mut initiator, first) = Initiator::new(&client, server.public(), Carried::Llp).expect("keys");
        let answered = answer(&server, &nobody, Carried::Llp, &first).expect("a client");
        assert!(answered.taken.is_none());
        assert_eq!(initiator.finish(&answered.answer).expect_err("turned away"), Failed::TurnedAway);
        for (server, carried, first) in [
            (&key(), Carried::Llp, &first[..]),
            (&server, Carried::Tcp, &first),
            (&server, Carried::Llp, &first[1..]),
        ] {
            assert!(answer(server, &Allowed::anybody(), carried, first).is_err());
        }
    }
}
