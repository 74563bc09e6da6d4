//! How ends prove who they are and keep what they say to themselves:
//! Noise_IK_25519_ChaChaPoly_BLAKE2s (Noise Protocol Framework, revision 34, 7.5).
//!
//! The client knows the server's key beforehand and sends its own in its first message, which only
//! that server can read. The second message proves the server. What proves that the client is there
//! now, and its first message not one of old that somebody sends again, is the first thing it says
//! under the keys that come of both; until then a server keeps no more of it than a handshake.
//!
//! The prologue names the protocol, its version and the carrier: ends that differ in any of them
//! have different keys.

use crate::Allowed;
use crate::keys::{PublicKey, SecretKey};
use snow::params::NoiseParams;
use snow::{Builder, HandshakeState, StatelessTransportState};
use std::fmt;

const PATTERN: &str = "Noise_IK_25519_ChaChaPoly_BLAKE2s";
/// Octets of a client's first message: its ephemeral key, its key and nothing, the latter two
/// encrypted.
pub(crate) const FIRST: usize = 32 + 32 + TAG + TAG;
/// Octets of the server's answer: its ephemeral key, and whether it takes the client.
pub(crate) const ANSWER: usize = 32 + 1 + TAG;
/// Octets by which something sealed is longer.
pub(crate) const TAG: usize = 16;
/// Octets of the longest message of Noise.
pub(crate) const LONGEST: usize = 65_535;

const TAKEN: u8 = 0;
const TURNED_AWAY: u8 = 1;

/// The carrier that a handshake is for, as the prologue has it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Carried {
    Tcp,
    Llp,
    /// With what the two ends of the TLS session beneath, and nobody else, can compute of it.
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

/// Why a handshake, or something sealed, came to nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Failed {
    /// Not of the end that it should be of, or changed on its way.
    #[error("not by the key that it should be by")]
    Forged,
    /// The server does not take this client.
    #[error("the server does not take this client")]
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
    /// Begins one, with the first message for the server.
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

    /// The server's answer. A forged one leaves the handshake as it was.
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

/// What a server makes of a client's first message.
pub(crate) struct Answered {
    /// For the client.
    pub(crate) answer: [u8; ANSWER],
    /// Who it says it is, and the keys; nothing if it is turned away.
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

/// The keys of a connection, one for each direction. Everything sealed has a number, and no number
/// is used twice.
pub(crate) struct Keys(StatelessTransportState);

impl Keys {
    /// Puts `plain` behind what is in `out`, sealed. At most [`LONGEST`] octets with their tag.
    pub(crate) fn seal(&self, number: u64, plain: &[u8], out: &mut Vec<u8>) {
        let begin = out.len();
        out.resize(begin + plain.len() + TAG, 0);
        let length = self
            .0
            .write_message(number, plain, &mut out[begin..])
            .expect("it has the room, and is short enough");
        debug_assert_eq!(length, plain.len() + TAG);
    }

    /// Puts what was sealed behind what is in `out`.
    pub(crate) fn open(&self, number: u64, sealed: &[u8], out: &mut Vec<u8>) -> Result<(), Failed> {
        let begin = out.len();
        // ring opens in place, and wants the room of the tag as well.
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

    /// Both know each other, and what one seals the other opens, under its number alone.
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

    /// A client that is not allowed is told so by the server alone; another server, another carrier
    /// or another length is no server.
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
