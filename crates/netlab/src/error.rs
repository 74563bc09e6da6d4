//! What can go wrong: each error names the thing, the value and the way out.

use std::io;

/// An error of this crate.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The kernel refused.
    #[error("{what}: {source}")]
    System {
        /// What was tried, with its object: "open /dev/net/tun".
        what: String,
        /// The kernel's reason.
        source: io::Error,
    },
    /// Something this machine lacks, and how to get it.
    #[error("{what}; {way_out}")]
    Missing {
        /// What is missing: a file, a package, a sysctl, a right.
        what: String,
        /// What to do about it.
        way_out: String,
    },
    /// A congestion control the kernel does not have.
    #[error("congestion control {name:?} is not available here; available: {available}")]
    CongestionControl {
        /// What was asked for.
        name: String,
        /// `net.ipv4.tcp_available_congestion_control`.
        available: String,
    },
    /// A program we call said no.
    #[error("{program}: {message}")]
    Program {
        /// Program and arguments.
        program: String,
        /// Its last words.
        message: String,
    },
    /// A value that is not understood.
    #[error("{what} {value:?} is not {expected}")]
    Value {
        /// The kind of value.
        what: &'static str,
        /// What was given.
        value: String,
        /// What would have been right.
        expected: &'static str,
    },
    /// The keeper is gone or says something else than the protocol.
    #[error("keeper: {0}")]
    Keeper(String),
}

/// Result with this crate's [`Error`].
pub type Result<T> = std::result::Result<T, Error>;

impl Error {
    pub(crate) fn missing(what: impl Into<String>, way_out: impl Into<String>) -> Self {
        Self::Missing { what: what.into(), way_out: way_out.into() }
    }

    /// The errno, where the kernel gave one.
    #[must_use]
    pub fn errno(&self) -> Option<i32> {
        match self {
            Self::System { source, .. } => source.raw_os_error(),
            _ => None,
        }
    }
}

/// Says what was tried when it fails.
pub(crate) trait Trying<T> {
    /// The error gets `what` in front.
    fn trying(self, what: impl FnOnce() -> String) -> Result<T>;
}

impl<T, E: Into<io::Error>> Trying<T> for std::result::Result<T, E> {
    fn trying(self, what: impl FnOnce() -> String) -> Result<T> {
        self.map_err(|source| Error::System { what: what(), source: source.into() })
    }
}
