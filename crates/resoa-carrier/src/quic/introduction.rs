//! Authentication of both ends: a Noise handshake inside the TLS session, bound to it.
//!
//! ```text
//! client                                    server
//!   │ ─ first message of Noise IK ──────────▶ │  prologue: octets that only the two ends of this TLS session can compute
//!   │ ◀───────────────── answer of Noise IK ─ │
//!   │ ─ nothing, sealed under Noise's keys ─▶ │  the client is there now, and has its key
//! ```
//!
//! TLS alone authenticates nobody: a man in the middle can have one session with the client and
//! another with the server, and relay everything. But the bytes that a session exports (RFC 8446,
//! 7.5; RFC 9266) are derived from both ends' ephemeral keys and from the transcript. So the two
//! sessions export different bytes, and nobody can make them equal. Noise mixes its prologue into
//! everything that it authenticates (Noise 6). So the server of the second session cannot read a
//! first message made for the first session, and a man in the middle has neither secret key to make
//! another one. An introduction therefore succeeds only between the two ends of one TLS session,
//! and everything under the keys of that session is theirs.
//!
//! A recorded first message is useless, because no later session exports the same bytes. The third
//! message matters if the server's key has been stolen. The thief can write first messages of any
//! client (Noise 7.7, payload security of IK), but cannot seal the third message without the
//! client's key.
//!
//! After that Noise's keys are not used, because QUIC encrypts.

use crate::Allowed;
use crate::keys::{PublicKey, SecretKey};
use crate::noise::{ANSWER, Answered, Carried, FIRST, Failed, Initiator, Keys, TAG, answer};
use crate::tcp::backlog::Backlog;
use std::sync::Arc;

/// State of an introduction; see the [module](self).
#[derive(Debug)]
pub(super) enum Introduction {
    /// A client waits for its TLS session.
    Client(Arc<SecretKey>, PublicKey),
    /// A client waits for the answer.
    Asking(Initiator),
    /// A server waits for the first message.
    Server(Arc<SecretKey>, Allowed),
    /// A server waits for the last message.
    Answered(Keys, PublicKey),
    /// Both ends are authenticated. At a server, this is the client's key.
    Done(Option<PublicKey>),
}

/// Why an introduction failed.
#[derive(Debug)]
pub(super) enum Refused {
    /// The other side is not the expected end, or does not follow the protocol.
    Forged,
    /// The server does not accept this client. The bytes prove to the client that the server says
    /// so.
    TurnedAway(Vec<u8>),
}

impl From<Failed> for Refused {
    fn from(_: Failed) -> Self {
        Self::Forged
    }
}

impl Introduction {
    pub(super) fn is_done(&self) -> bool {
        matches!(self, Self::Done(_))
    }

    /// Returns the authenticated key of the client, at a server.
    pub(super) fn client(&self) -> Option<PublicKey> {
        if let Self::Done(client) = self { *client } else { None }
    }

    /// Notes that the TLS session is established. Returns a client's first message.
    pub(super) fn begin(&mut self, session: [u8; 32]) -> Result<Vec<u8>, Refused> {
        let Self::Client(key, server) = self else { return Ok(Vec::new()) };
        let (initiator, first) = Initiator::new(key, *server, Carried::Quic(session))?;
        *self = Self::Asking(initiator);
        Ok(first.to_vec())
    }

    /// Processes received bytes that belong to the introduction. Messages for the other side are
    /// appended to `said`.
    pub(super) fn hear(
        &mut self,
        session: [u8; 32],
        heard: &mut Backlog,
        said: &mut Vec<u8>,
    ) -> Result<(), Refused> {
        match self {
            Self::Client(..) | Self::Done(_) => {}
            Self::Asking(initiator) => {
                let Some(answer) = heard.waiting().get(..ANSWER) else { return Ok(()) };
                let keys = initiator.finish(answer)?;
                heard.gone(ANSWER);
                keys.seal(0, &[], said);
                *self = Self::Done(None);
            }
            Self::Server(key, allowed) => {
                let Some(first) = heard.waiting().get(..FIRST) else { return Ok(()) };
                let Answered { answer, taken } = answer(key, allowed, Carried::Quic(session), first)?;
                let Some((client, keys)) = taken else { return Err(Refused::TurnedAway(answer.to_vec())) };
                heard.gone(FIRST);
                said.extend(answer);
                *self = Self::Answered(keys, client);
            }
            Self::Answered(keys, client) => {
                let Some(last) = heard.waiting().get(..TAG) else { return Ok(()) };
                keys.open(0, last, &mut Vec::new())?;
                heard.gone(TAG);
                *self = Self::Done(Some(*client));
            }
        }
        Ok(())
    }

    /// Returns whether these bytes, with which the server has ended the session, prove that it does
    /// not accept this client.
    pub(super) fn is_turned_away(&mut self, reason: &[u8]) -> bool {
        let Self::Asking(initiator) = self else { return false };
        matches!(initiator.finish(reason), Err(Failed::TurnedAway))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key() -> Arc<SecretKey> {
        Arc::new(SecretKey::generate().expect("random octets"))
    }

    fn heard(octets: &[u8]) -> Backlog {
        let mut backlog = Backlog::default();
        backlog.behind().extend(octets);
        backlog
    }

    /// Both ends are authenticated after three messages, and bytes behind these are left alone.
    #[test]
    fn three_messages() {
        let (client, server) = (key(), key());
        let mut asking = Introduction::Client(Arc::clone(&client), server.public());
        let mut answering = Introduction::Server(server, Allowed::keys([client.public()].into()));
        let first = asking.begin([1; 32]).expect("keys");
        let (mut answer, mut last) = (Vec::new(), Vec::new());
        answering.hear([1; 32], &mut heard(&first), &mut answer).expect("the client");
        assert!(!answering.is_done() && answering.client().is_none());
        answer.push(7);
        let mut answered = heard(&answer);
        asking.hear([1; 32], &mut answered, &mut last).expect("the server");
        assert_eq!(answered.waiting(), [7]);
        let mut forged = last.clone();
        forged[0] ^= 1;
        assert!(asking.is_done() && asking.client().is_none());
        assert!(matches!(
            answering.hear([1; 32], &mut heard(&forged), &mut Vec::new()),
            Err(Refused::Forged)
        ));
        answering.hear([1; 32], &mut heard(&last), &mut Vec::new()).expect("the client");
        assert_eq!(answering.client(), Some(client.public()));
    }

    /// In another session a first message is useless, for a man in the middle and for somebody who
    /// has recorded it.
    #[test]
    fn another_session() {
        let (client, server) = (key(), key());
        let mut asking = Introduction::Client(client, server.public());
        let first = asking.begin([1; 32]).expect("keys");
        let mut answering = Introduction::Server(server, Allowed::anybody());
        let outcome = answering.hear([2; 32], &mut heard(&first), &mut Vec::new());
        assert!(matches!(outcome, Err(Refused::Forged)));
    }

    /// Only the server can tell a client that it is not accepted.
    #[test]
    fn turned_away() {
        let (client, server) = (key(), key());
        let mut asking = Introduction::Client(client, server.public());
        let first = asking.begin([1; 32]).expect("keys");
        let mut answering = Introduction::Server(server, Allowed::keys([key().public()].into()));
        let Err(Refused::TurnedAway(reason)) = answering.hear([1; 32], &mut heard(&first), &mut Vec::new())
        else {
            panic!("is not allowed")
        };
        let mut forged = reason.clone();
        forged[40] ^= 1;
        assert!(!asking.is_turned_away(&forged));
        assert!(asking.is_turned_away(&reason));
    }
}
