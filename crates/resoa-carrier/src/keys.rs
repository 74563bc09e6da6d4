//! Identities of clients and servers: X25519 keys, as in WireGuard.
//!
//! A public key is written as 43 characters. A secret key is in a file that only its owner can
//! read:
//!
//! ```text
//! # lasthop resoa key; public: 3vYq...
//! secret Zk0...
//! ```

use data_encoding::BASE64URL_NOPAD as TEXT;
use std::fmt;
use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::str::FromStr;
use x25519_dalek::StaticSecret;
use zeroize::Zeroizing;

/// Bytes of a public or secret key.
const OCTETS: usize = 32;
/// Text in front of the secret key in its file.
const MARK: &str = "secret ";

/// Public key of a client or a server, by which others know it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct PublicKey(pub [u8; OCTETS]);

/// Secret key of a client or a server. It is wiped from memory when dropped, and never printed.
#[derive(Clone)]
pub struct SecretKey(Zeroizing<[u8; OCTETS]>);

/// Why a key file cannot be read or written.
#[derive(Debug, thiserror::Error)]
pub enum KeyError {
    /// The file cannot be read or written.
    #[error("{path}: {error}")]
    File {
        /// The key file.
        path: PathBuf,
        /// The error of the file system.
        error: io::Error,
    },
    /// The permissions let users other than the owner access the file.
    #[error(
        "{path}: mode {mode:o} lets other users read this secret key; run `chmod 600 {path}`, and make a new key if others may have read it"
    )]
    Exposed {
        /// The key file.
        path: PathBuf,
        /// The permissions of the file.
        mode: u32,
    },
    /// The file contains no key.
    #[error("{path}: not a key of `lasthop resoa key`: it has no line `secret` followed by 43 characters")]
    NoKey {
        /// The key file.
        path: PathBuf,
    },
}

/// The text is not a public key.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{0}` is not a public key: expected 43 characters of A-Z, a-z, 0-9, - and _, as printed by `lasthop resoa key`"
)]
pub struct NotAPublicKey(String);

impl SecretKey {
    /// Generates a key from the kernel's random bytes.
    ///
    /// # Errors
    /// If the kernel provides none.
    pub fn generate() -> io::Result<Self> {
        let mut octets = Zeroizing::new([0; OCTETS]);
        let mut rest = &mut octets[..];
        while !rest.is_empty() {
            let count = rustix::rand::getrandom(&mut *rest, rustix::rand::GetRandomFlags::empty())?;
            rest = &mut rest[count..];
        }
        Ok(Self(octets))
    }

    /// Reads a key from a file.
    ///
    /// # Errors
    /// If the file cannot be read, if users other than its owner have access, or if it contains no
    /// key.
    pub fn read(path: &Path) -> Result<Self, KeyError> {
        let failed = |error| KeyError::File { path: path.into(), error };
        let mut file = File::open(path).map_err(failed)?;
        // Check the file that is open: the path may name another one by now.
        let mode = file.metadata().map_err(failed)?.mode() & 0o777;
        if mode & 0o077 != 0 {
            return Err(KeyError::Exposed { path: path.into(), mode });
        }
        let mut text = Zeroizing::new(String::new());
        file.read_to_string(&mut text).map_err(failed)?;
        let secret = text.lines().find_map(|line| line.strip_prefix(MARK));
        let octets = secret.and_then(|secret| octets(secret.trim()));
        Ok(Self(Zeroizing::new(octets.ok_or_else(|| KeyError::NoKey { path: path.into() })?)))
    }

    /// Writes the key to a new file that only its owner can read.
    ///
    /// # Errors
    /// If the file cannot be created or written. An existing file is not changed.
    pub fn write(&self, path: &Path) -> Result<(), KeyError> {
        let failed = |error| KeyError::File { path: path.into(), error };
        let mut file =
            OpenOptions::new().write(true).create_new(true).mode(0o600).open(path).map_err(failed)?;
        let secret = Zeroizing::new(TEXT.encode(&self.0[..]));
        writeln!(file, "# lasthop resoa key; public: {}", self.public()).map_err(failed)?;
        writeln!(file, "{MARK}{}", *secret).map_err(failed)
    }

    /// Returns the public key.
    #[must_use]
    pub fn public(&self) -> PublicKey {
        PublicKey(x25519_dalek::PublicKey::from(&StaticSecret::from(*self.0)).to_bytes())
    }

    /// Returns the bytes of the key, for a handshake.
    #[must_use]
    pub fn octets(&self) -> &[u8; OCTETS] {
        &self.0
    }
}

impl fmt::Debug for SecretKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SecretKey of {}", self.public())
    }
}

impl fmt::Display for PublicKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&TEXT.encode(&self.0))
    }
}

impl fmt::Debug for PublicKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl FromStr for PublicKey {
    type Err = NotAPublicKey;

    fn from_str(text: &str) -> Result<Self, NotAPublicKey> {
        octets(text).map(Self).ok_or_else(|| NotAPublicKey(text.to_owned()))
    }
}

fn octets(text: &str) -> Option<[u8; OCTETS]> {
    // These may be the bytes of a secret key.
    let octets = Zeroizing::new(TEXT.decode(text.as_bytes()).ok()?);
    octets[..].try_into().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A key is read as it was written, only from a file that others cannot access, and no file is
    /// overwritten.
    #[test]
    fn keys_are_kept() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("key");
        let key = SecretKey::generate().expect("random octets");
        key.write(&path).expect("a new file");
        let again = SecretKey::read(&path).expect("a key");
        assert_eq!(again.public(), key.public());
        assert_eq!(key.public().to_string().parse(), Ok(key.public()));
        assert!(
            matches!(key.write(&path), Err(KeyError::File { error, .. }) if error.kind() == io::ErrorKind::AlreadyExists)
        );
        let mode = std::os::unix::fs::PermissionsExt::from_mode(0o640);
        std::fs::set_permissions(&path, mode).expect("it is ours");
        assert!(matches!(SecretKey::read(&path), Err(KeyError::Exposed { mode: 0o640, .. })));
    }

    /// The error for a text that is not a key quotes the text.
    #[test]
    fn what_is_no_key() {
        for text in ["", "abc", &"A".repeat(44), &"!".repeat(43)] {
            let error = text.parse::<PublicKey>().expect_err("no key");
            assert!(error.to_string().starts_with(&format!("`{text}` is not a public key")), "{error}");
        }
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("key");
        OpenOptions::new().write(true).create(true).truncate(false).mode(0o600).open(&path).expect("a file");
        assert!(matches!(SecretKey::read(&path), Err(KeyError::NoKey { .. })));
    }
}
