//! Where an agent listens: sockets of AF_UNIX with a file.

use crate::settings::AgentError;
use rustix::fd::OwnedFd;
use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType, bind, listen, socket_with};
use std::io;
use std::os::unix::fs::FileTypeExt;
use std::path::PathBuf;

/// Connections that wait to be taken; more have to try again.
const BACKLOG: i32 = 4096;

/// A socket of AF_UNIX that its owner alone can connect to; its file goes with it.
#[derive(Debug)]
pub(crate) struct Listening {
    pub(crate) fd: OwnedFd,
    pub(crate) path: PathBuf,
}

impl Listening {
    pub(crate) fn at(path: PathBuf, kind: SocketType) -> Result<Self, AgentError> {
        let made = || -> io::Result<OwnedFd> {
            let address = SocketAddrUnix::new(&path)?;
            let fd =
                socket_with(AddressFamily::UNIX, kind, SocketFlags::CLOEXEC | SocketFlags::NONBLOCK, None)?;
            // Somebody answers, or has as many connections waiting as may.
            if matches!(rustix::net::connect(&fd, &address), Ok(()) | Err(Errno::AGAIN)) {
                return Err(io::ErrorKind::AddrInUse.into());
            }
            // One that nobody answers at was left behind.
            if std::fs::symlink_metadata(&path).is_ok_and(|found| found.file_type().is_socket()) {
                std::fs::remove_file(&path)?;
            }
            let fd =
                socket_with(AddressFamily::UNIX, kind, SocketFlags::CLOEXEC | SocketFlags::NONBLOCK, None)?;
            // Before there is a file: it is never anybody else's.
            rustix::fs::fchmod(&fd, rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR)?;
            bind(&fd, &address)?;
            listen(&fd, BACKLOG)?;
            Ok(fd)
        };
        match made() {
            Ok(fd) => Ok(Self { fd, path }),
            Err(error) if error.kind() == io::ErrorKind::AddrInUse => Err(AgentError::Occupied { path }),
            Err(error) => Err(AgentError::Place { path, error }),
        }
    }
}

impl Drop for Listening {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.path);
    }
}
