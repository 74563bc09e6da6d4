//! The far host's process, with one thread per connected case.

use super::session::Session;
use std::io;
use std::net::IpAddr;
use std::os::unix::net::UnixListener;
use std::path::Path;

/// Serves cases at `path` until it is killed. `addresses` are this host's.
///
/// # Errors
/// If the path is in use.
pub fn run(path: &Path, addresses: [IpAddr; 2]) -> io::Result<()> {
    let listener = UnixListener::bind(path)?;
    for stream in listener.incoming() {
        let stream = stream?;
        // When a case disconnects, this may return an error. The thread ends with it.
        std::thread::spawn(move || Session::new(addresses).run(&stream));
    }
    Ok(())
}
