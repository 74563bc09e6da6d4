//! SHA-256 of files in hexadecimal digits.

use super::error::KernelError;
use sha2::{Digest, Sha256};
use std::fmt::Write as _;
use std::fs::File;
use std::io;
use std::path::Path;

/// Returns the SHA-256 of a file in hexadecimal digits.
///
/// # Errors
/// If it cannot be read.
pub fn of_file(path: &Path) -> Result<String, KernelError> {
    let mut hash = Sha256::new();
    let mut file = File::open(path).map_err(KernelError::file("read", path))?;
    io::copy(&mut file, &mut Writer(&mut hash)).map_err(KernelError::file("read", path))?;
    Ok(hexadecimal(&hash.finalize()))
}

/// Returns two hexadecimal digits for each byte.
pub(super) fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// Adapter that feeds written bytes to a hash.
struct Writer<'a>(&'a mut Sha256);

impl io::Write for Writer<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.update(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_check_sum_is_that_of_the_standard() {
        // FIPS 180-4's example.
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("file");
        std::fs::write(&path, "abc").expect("written");
        let expected = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!(of_file(&path).expect("read"), expected);
    }
}
