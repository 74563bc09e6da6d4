//! The agent's listeners: AF_UNIX sockets with a file.

use crate::settings::AgentError;
use rustix::fd::OwnedFd;
use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType, bind, listen, socket_with};
use std::io;
use std::os::unix::fs::FileTypeExt;
use std::path::PathBuf;

/// Length of the accept queue; clients beyond it have to retry.
const BACKLOG: i32 = 4096;

/// An AF_UNIX listener that only its owner can connect to. Dropping it removes its file.
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
            // An agent answers, or its accept queue is full.
            if matches!(rustix::net::connect(&fd, &address), Ok(()) | Err(Errno::AGAIN)) {
                return Err(io::ErrorKind::AddrInUse.into());
            }
            // Nobody answers: the file is left from an earlier agent.
            if std::fs::symlink_metadata(&path).is_ok_and(|found| found.file_type().is_socket()) {
                std::fs::remove_file(&path)?;
            }
            let fd =
                socket_with(AddressFamily::UNIX, kind, SocketFlags::CLOEXEC | SocketFlags::NONBLOCK, None)?;
            // The mode is set before the file exists, so that others never have access.
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
