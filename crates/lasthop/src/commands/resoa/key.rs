//! `lasthop resoa key`: who a client or a server is.

use crate::failure::Failure;
use resoa_carrier::keys::{KeyError, SecretKey};
use std::io::ErrorKind;
use std::path::Path;

/// Makes one in a new file, and prints what others may know of it.
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
