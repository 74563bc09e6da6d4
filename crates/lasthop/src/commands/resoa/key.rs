//! `lasthop resoa key`: creates the key that identifies a client or a server.

use crate::failure::Failure;
use resoa_carrier::keys::{KeyError, SecretKey};
use std::io::ErrorKind;
use std::path::Path;

/// Creates a secret key in a new file and prints its public key.
pub fn make(file: &Path) -> Result<i32, Failure> {
    let key = SecretKey::generate()?;
    key.write(file).map_err(|error| match error {
        KeyError::File { error, path } if error.kind() == ErrorKind::AlreadyExists => {
            let path = path.display();
            let public = SecretKey::read(file).map(|key| format!(" (public: {})", key.public())).unwrap_or_default();
            format!("{path}: file exists{public}; a lost key cannot be made again, so the file stays: name another file").into()
        }
        error => Failure::from(error),
    })?;
    anstream::println!("{}", key.public());
    Ok(0)
}
