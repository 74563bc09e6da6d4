//! `lasthop resoa key`: who a client or a server is.

use crate::link_command::Failure;
use resoa_carrier::keys::SecretKey;
use std::path::Path;

/// Makes one in a new file, and prints what others may know of it.
pub fn make(file: &Path) -> Result<i32, Failure> {
    let key = SecretKey::generate()?;
    key.write(file)?;
    anstream::println!("{}", key.public());
    Ok(0)
}
