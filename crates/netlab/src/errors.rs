//! Errors that say what was attempted, what the system answered, and the way out where there is one.

use std::fmt::Display;
use std::io;

/// Something that could not be made or undone.
#[derive(Debug, thiserror::Error)]
#[error("{attempted}: {reason}{}", way_out.as_ref().map(|way| format!("\n  {way}")).unwrap_or_default())]
pub struct NetlabError {
    /// What was attempted.
    pub attempted: String,
    /// What the system answered.
    pub reason: io::Error,
    /// What to do about it, if there is something.
    pub way_out: Option<String>,
}

impl NetlabError {
    /// `attempted` is impossible for a reason of our own.
    pub fn new(
        attempted: impl Into<String>,
        reason: impl Into<Box<dyn std::error::Error + Send + Sync>>,
    ) -> Self {
        Self { attempted: attempted.into(), reason: io::Error::other(reason), way_out: None }
    }

    /// Adds the way out.
    #[must_use]
    pub fn or_else_do(mut self, way_out: impl Into<String>) -> Self {
        self.way_out = Some(way_out.into());
        self
    }
}

/// Turns the system's error into one that says what was attempted.
pub trait Attempt<T> {
    /// `attempted` is what was going on, as in "open /dev/net/tun".
    fn attempt(self, attempted: impl Display) -> Result<T, NetlabError>;
}

impl<T, E: Into<io::Error>> Attempt<T> for Result<T, E> {
    fn attempt(self, attempted: impl Display) -> Result<T, NetlabError> {
        self.map_err(|reason| NetlabError {
            attempted: attempted.to_string(),
            reason: reason.into(),
            way_out: None,
        })
    }
}
