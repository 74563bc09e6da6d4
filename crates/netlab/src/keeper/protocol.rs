//! What the main process and its keeper say to each other: JSON behind a length, over a socket
//! pair.
//!
//! Nothing is read beyond a message, so that the socket is readable exactly when there is another
//! one. End of file means that the other side is dead.

use crate::error::{Error, Result};
use crate::names::Overlays;
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use std::ffi::OsString;
use std::io::{ErrorKind, Read, Write};
use std::net::IpAddr;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;

/// From the main process.
#[derive(Debug, Serialize, Deserialize)]
pub(super) enum Order {
    /// The run to undo at the end; first of all.
    Keep { registry: PathBuf, id: String },
    /// Start COMMAND.
    Start(Box<Start>),
    /// Send COMMAND a signal.
    Signal(i32),
    /// End COMMAND if it runs, undo the run, say what was done and exit.
    End,
}

/// COMMAND and its surroundings, except the network namespace, whose descriptor the keeper
/// inherits.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Start {
    pub(crate) program: OsString,
    pub(crate) arguments: Vec<OsString>,
    pub(crate) environment: Vec<(OsString, OsString)>,
    pub(crate) overlays: Overlays,
    pub(crate) host: IpAddr,
    pub(crate) cgroup: Option<PathBuf>,
    /// Signals that COMMAND ignores from the start, because the caller did.
    pub(crate) ignored: Vec<i32>,
}

/// From the keeper.
#[derive(Debug, Serialize, Deserialize)]
pub(super) enum Report {
    /// It is there and ignores what it must.
    Keeping,
    /// COMMAND runs.
    Started,
    /// COMMAND could not be executed: 126 or 127, as a shell has it, and why.
    NotStarted { code: u8, message: String },
    /// The link could not be set up around COMMAND.
    Failed { message: String },
    /// COMMAND ended, and its descendants after it.
    Ended(Exit),
    /// All undone; the last word.
    Undone { lines: Vec<String> },
}

/// How a program ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Exit {
    /// By itself, with this status.
    Code(u8),
    /// By this signal.
    Signal(i32),
}

pub(super) fn send(mut socket: &UnixStream, message: &impl Serialize) -> Result<()> {
    let body = serde_json::to_vec(message).map_err(|error| Error::Keeper(error.to_string()))?;
    let length =
        u32::try_from(body.len()).map_err(|_| Error::Keeper("the command line is too long".into()))?;
    let mut bytes = length.to_ne_bytes().to_vec();
    bytes.extend(body);
    socket.write_all(&bytes).map_err(|error| Error::Keeper(format!("it does not listen: {error}")))
}

/// The next message; `None` when the other side is dead.
pub(super) fn receive<T: DeserializeOwned>(mut socket: &UnixStream) -> Result<Option<T>> {
    let mut length = [0; 4];
    match socket.read_exact(&mut length) {
        // A peer that dies with unread messages resets the connection.
        Err(error) if matches!(error.kind(), ErrorKind::UnexpectedEof | ErrorKind::ConnectionReset) => {
            return Ok(None);
        }
        other => other.map_err(|error| Error::Keeper(error.to_string()))?,
    }
    let mut body = vec![0; u32::from_ne_bytes(length) as usize];
    match socket.read_exact(&mut body) {
        Err(error) if matches!(error.kind(), ErrorKind::UnexpectedEof | ErrorKind::ConnectionReset) => {
            return Ok(None);
        }
        other => other.map_err(|error| Error::Keeper(error.to_string()))?,
    }
    serde_json::from_slice(&body).map(Some).map_err(|error| Error::Keeper(error.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_arrives_whole_and_death_is_end_of_file() {
        let (ours, theirs) = UnixStream::pair().expect("a pair");
        send(&ours, &Order::Signal(15)).expect("sent");
        send(&ours, &Order::End).expect("sent");
        drop(ours);
        assert!(matches!(receive(&theirs), Ok(Some(Order::Signal(15)))));
        assert!(matches!(receive(&theirs), Ok(Some(Order::End))));
        assert!(matches!(receive::<Order>(&theirs), Ok(None)));
    }
}
