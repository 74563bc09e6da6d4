//! Which clients a server takes, by the keys that they prove to have.

use crate::keys::PublicKey;
use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;

/// What answers for a key whether its owner is a client of this server.
type Answer = Arc<dyn Fn(&PublicKey) -> bool + Send + Sync>;

/// Which clients a server takes. It is asked during the handshake, before anything of the client is
/// kept.
#[derive(Clone)]
pub struct Allowed(Option<Answer>);

impl Allowed {
    /// Everybody, whatever their key.
    #[must_use]
    pub fn anybody() -> Self {
        Self(None)
    }

    /// The owners of these keys.
    #[must_use]
    pub fn keys(keys: BTreeSet<PublicKey>) -> Self {
        Self::by(move |key| keys.contains(key))
    }

    /// Those of whom this says so, at the time when they come; it should not wait for anything.
    #[must_use]
    pub fn by(answer: impl Fn(&PublicKey) -> bool + Send + Sync + 'static) -> Self {
        Self(Some(Arc::new(answer)))
    }

    /// Whether the owner of this key is one.
    #[must_use]
    pub fn has(&self, key: &PublicKey) -> bool {
        self.0.as_ref().is_none_or(|answer| answer(key))
    }

    /// Whether nobody is turned away.
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
