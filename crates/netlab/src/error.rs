//! Errors of this crate: each names the object, the value and the way out.

use std::io;

/// An error of this crate.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A system call failed.
    #[error("cannot {what}: {source}")]
    System {
        /// The operation that failed, with its object: "open /dev/net/tun".
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
    /// A congestion control that the kernel does not have.
    #[error("congestion control {name:?} is not available here; available: {available}")]
    CongestionControl {
        /// The name that was requested.
        name: String,
        /// `net.ipv4.tcp_available_congestion_control`.
        available: String,
    },
    /// A program that we ran failed.
    #[error("{program}: {message}")]
    Program {
        /// Program and arguments.
        program: String,
        /// The last line that it printed.
        message: String,
    },
    /// An invalid value.
    #[error("invalid {what} {value:?}: expected {expected}")]
    Value {
        /// The kind of value.
        what: &'static str,
        /// The value as given.
        value: String,
        /// What would have been valid.
        expected: &'static str,
    },
    /// The keeper is gone or broke the protocol.
    #[error("keeper process: {0}")]
    Keeper(String),
}

/// Result with this crate's [`Error`].
pub type Result<T> = std::result::Result<T, Error>;

impl Error {
    pub(crate) fn missing(what: impl Into<String>, way_out: impl Into<String>) -> Self {
        Self::Missing { what: what.into(), way_out: way_out.into() }
    }

    /// Returns the errno if a system call failed.
    #[must_use]
    pub fn errno(&self) -> Option<i32> {
        match self {
            Self::System { source, .. } => source.raw_os_error(),
            _ => None,
        }
    }
}

/// Adds the attempted operation to an error.
pub(crate) trait Trying<T> {
    /// Puts `what` in front of the error.
    fn trying(self, what: impl FnOnce() -> String) -> Result<T>;
}

impl<T, E: Into<io::Error>> Trying<T> for std::result::Result<T, E> {
    fn trying(self, what: impl FnOnce() -> String) -> Result<T> {
        self.map_err(|source| Error::System { what: what(), source: source.into() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_says_what_was_tried_and_the_reason() {
        let failed = || Err::<(), _>(io::Error::from_raw_os_error(libc::EBUSY));
        let error = failed().trying(|| "open the door".to_owned()).expect_err("failed");
        assert_eq!(error.errno(), Some(libc::EBUSY));
        assert!(error.to_string().starts_with("cannot open the door: "), "{error}");
        let missing = Error::missing("no key", "ask for one");
        assert_eq!((missing.to_string().as_str(), missing.errno()), ("no key; ask for one", None));
    }
}
