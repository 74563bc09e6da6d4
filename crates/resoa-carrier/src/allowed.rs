//! Which clients a server accepts, by their authenticated keys.

use crate::keys::PublicKey;
use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;

/// Decides whether the owner of a key is a client of this server.
type Answer = Arc<dyn Fn(&PublicKey) -> bool + Send + Sync>;

/// Which clients a server accepts.
///
/// The server checks it during the handshake, before it keeps any state for the client.
#[derive(Clone)]
pub struct Allowed(Option<Answer>);

impl Allowed {
    /// Allows every client, whatever its key.
    #[must_use]
    pub fn anybody() -> Self {
        Self(None)
    }

    /// Allows the owners of these keys.
    #[must_use]
    pub fn keys(keys: BTreeSet<PublicKey>) -> Self {
        Self::by(move |key| keys.contains(key))
    }

    /// Allows the clients for which `answer` returns true at the time of their handshake. `answer`
    /// should not block.
    #[must_use]
    pub fn by(answer: impl Fn(&PublicKey) -> bool + Send + Sync + 'static) -> Self {
        Self(Some(Arc::new(answer)))
    }

    /// Returns whether the owner of this key is allowed.
    #[must_use]
    pub fn has(&self, key: &PublicKey) -> bool {
        self.0.as_ref().is_none_or(|answer| answer(key))
    }

    /// Returns whether every client is allowed.
    #[must_use]
    pub fn is_anybody(&self) -> bool {
        self.0.is_none()
    }
}

impl fmt::Debug for Allowed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.is_anybody() { "Allowed: anybody" } else { "Allowed: by key" })
    }
}
