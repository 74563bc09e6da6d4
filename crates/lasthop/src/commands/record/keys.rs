//! The file with the key that both ends share.

use crate::failure::Failure;
use link_probe::Key;
use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

/// Reads the key.
pub fn read(file: &Path) -> Result<Key, Failure> {
    let text = fs::read_to_string(file).map_err(|error| {
        format!("cannot read key {:?}: {error}: copy it from the server", file.display().to_string())
    })?;
    Key::parse(&text).map_err(|error| format!("{}: {error}", file.display()).into())
}

/// Reads the key, or makes it if the file does not exist; returns whether it was made.
pub fn read_or_make(file: &Path) -> Result<(Key, bool), Failure> {
    let key = Key::new(rand::random());
    match OpenOptions::new().write(true).create_new(true).mode(0o600).open(file) {
        Ok(mut made) => {
            writeln!(made, "{}", key.to_text())?;
            Ok((key, true))
        }
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok((read(file)?, false)),
        Err(error) => Err(format!("cannot make key {:?}: {error}", file.display().to_string()).into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn a_key_is_made_once_and_only_for_its_owner() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("record.key");
        let error = read(&file).expect_err("no file").to_string();
        assert!(error.contains("copy it from the server"), "{error}");
        let (key, made) = read_or_make(&file).expect("made");
        assert!(made);
        assert_eq!(fs::metadata(&file).expect("a file").permissions().mode() & 0o777, 0o600);
        assert_eq!(read_or_make(&file).expect("read"), (key.clone(), false));
        assert_eq!(read(&file).expect("read"), key);
        fs::write(&file, "no key").expect("written");
        let error = read(&file).expect_err("no key").to_string();
        assert!(error.ends_with("record.key: not a key: expected 64 hexadecimal digits"), "{error}");
    }
}
