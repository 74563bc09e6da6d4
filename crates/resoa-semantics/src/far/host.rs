//! The far host's process: a thread for each case that speaks with it.

use super::session::Session;
use std::io;
use std::net::IpAddr;
use std::os::unix::net::UnixListener;
use std::path::Path;

/// Serves cases at `path` until it is killed; `addresses` are this host's.
///
/// # Errors
/// If the path is taken.
pub fn run(path: &Path, addresses: [IpAddr; 2]) -> io::Result<()> {
    let listener = UnixListener::bind(path)?;
    for stream in listener.incoming() {
        let stream = stream?;
        // A case that goes leaves an error here; its thread ends with it.
        std::thread::spawn(move || Session::new(addresses).run(&stream));
    }
    Ok(())
}
