//! Who the ends are: a Noise handshake inside the TLS session, bound to it.
//!
//! ```text
//! client                                    server
//!   │ ─ first message of Noise IK ──────────▶ │  prologue: octets that only the two ends of this TLS session can compute
//!   │ ◀───────────────── answer of Noise IK ─ │
//!   │ ─ nothing, sealed under Noise's keys ─▶ │  the client is there now, and has its key
//! ```
//!
//! TLS alone proves nobody: whoever is in between can have one session with the client and another
//! with the server, and pass on everything. But the octets that a session exports (RFC 8446, 7.5;
//! RFC 9266) come of both ends' ephemeral keys and of all that was said, so that the two sessions
//! have different ones, and nobody can make them equal. Noise mixes its prologue into everything
//! that it authenticates (Noise 6): the server of the second session cannot read a first message
//! made for the first, and who is in between has neither secret key to make another one. So an
//! introduction succeeds only between the very ends of one TLS session, and what comes under the
//! keys of that session is theirs.
//!
//! A first message that somebody has kept is worth nothing, since no later session exports the
//! same. The third message is for the case that the server's key has been stolen: whoever has it
//! can write first messages of any client (Noise 7.7, payload security of IK), but not seal what
//! follows without the client's key.
//!
//! Noise's own keys are not used any further: QUIC encrypts.

use crate::Allowed;
use crate::keys::{PublicKey, SecretKey};
use crate::noise::{ANSWER, Answered, Carried, FIRST, Failed, Initiator, Keys, TAG, answer};
use crate::tcp::backlog::Backlog;
use std::sync::Arc;

/// How far it has come; see the [module](self).
#[derive(Debug)]
pub(super) enum Introduction {
    /// A client waits for its session.
    Client(Arc<SecretKey>, PublicKey),
    /// A client waits for the answer.
    Asking(Initiator),
    /// A server waits for the first message.
    Server(Arc<SecretKey>, Allowed),
    /// A server waits for the last.
    Answered(Keys, PublicKey),
    /// They know each other; the client's key, at a server.
    Done(Option<PublicKey>),
}

/// Why it came to nothing.
#[derive(Debug)]
pub(super) enum Refused {
    /// The other side is not who it should be, or not of this protocol.
    Forged,
    /// The server does not take this client; what proves at the client that the server says so.
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

    /// Who the client is, at a server.
    pub(super) fn client(&self) -> Option<PublicKey> {
        if let Self::Done(client) = self { *client } else { None }
    }

    /// The session is there: what a client says first.
    pub(super) fn begin(&mut self, session: [u8; 32]) -> Result<Vec<u8>, Refused> {
        let Self::Client(key, server) = self else { return Ok(Vec::new()) };
        let (initiator, first) = Initiator::new(key, *server, Carried::Quic(session))?;
        *self = Self::Asking(initiator);
        Ok(first.to_vec())
    }

    /// Takes what has come, as far as it is of the introduction; `said` is for the other side.
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

    /// Whether the server, which has ended the session with these octets, has proved by them that
    /// it does not take this client.
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

    /// Both know each other after three messages, and what comes behind stays.
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

    /// In another session a first message is worth nothing: not to who is in between, and not to
    /// who has kept it.
    #[test]
    fn another_session() {
        let (client, server) = (key(), key());
        let mut asking = Introduction::Client(client, server.public());
        let first = asking.begin([1; 32]).expect("keys");
        let mut answering = Introduction::Server(server, Allowed::anybody());
        let outcome = answering.hear([2; 32], &mut heard(&first), &mut Vec::new());
        assert!(matches!(outcome, Err(Refused::Forged)));
    }

    /// That a client is not taken is believed of the server alone.
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
