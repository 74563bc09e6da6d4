//! The protocol between the main process and its keeper: length-prefixed JSON over a socket pair.
//!
//! A reader never reads beyond a message. So the socket is readable exactly when there is another
//! message or end of file. End of file means that the other side is dead.

use crate::error::{Error, Result};
use crate::names::Overlays;
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use std::ffi::OsString;
use std::io::{ErrorKind, Read, Write};
use std::net::IpAddr;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;

/// A message from the main process.
#[derive(Debug, Serialize, Deserialize)]
pub(super) enum Order {
    /// Undo this run at the end. Always the first message.
    Keep { registry: PathBuf, id: String },
    /// Start COMMAND.
    Start(Box<Start>),
    /// Send a signal to COMMAND.
    Signal(i32),
    /// End COMMAND if it runs, undo the run, report what was done, and exit.
    End,
}

/// COMMAND and its surroundings, except for the network namespace, which the keeper inherits as a
/// file descriptor.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Start {
    pub(crate) program: OsString,
    pub(crate) arguments: Vec<OsString>,
    pub(crate) environment: Vec<(OsString, OsString)>,
    pub(crate) overlays: Overlays,
    pub(crate) host: IpAddr,
    pub(crate) cgroup: Option<PathBuf>,
    /// Signals that COMMAND ignores from the start, because the caller ignores them.
    pub(crate) ignored: Vec<i32>,
}

/// A message from the keeper.
#[derive(Debug, Serialize, Deserialize)]
pub(super) enum Report {
    /// The keeper is running and has set its signal dispositions.
    Keeping,
    /// COMMAND is running.
    Started,
    /// COMMAND could not be executed: 126 or 127 as in shells, and the reason.
    NotStarted { code: u8, message: String },
    /// COMMAND's surroundings could not be set up.
    Failed { message: String },
    /// COMMAND and all its descendants have ended.
    Ended(Exit),
    /// Everything is undone. Always the last message.
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
    socket.write_all(&bytes).map_err(|error| Error::Keeper(format!("cannot send a message: {error}")))
}

/// Receives the next message; `None` if the other side is dead.
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

    /// A message that was cut off by the death of its sender is none.
    #[test]
    fn half_a_message_is_end_of_file() {
        for count in [2, 4, 6] {
            let (ours, theirs) = UnixStream::pair().expect("a pair");
            let (whole, read) = UnixStream::pair().expect("a pair");
            send(&whole, &Order::Signal(15)).expect("sent");
            drop(whole);
            let mut bytes = Vec::new();
            (&read).read_to_end(&mut bytes).expect("a message");
            (&ours).write_all(&bytes[..count]).expect("a part");
            drop(ours);
            assert!(matches!(receive::<Order>(&theirs), Ok(None)), "{count}");
        }
    }

    #[test]
    fn a_message_of_another_kind_is_an_error() {
        let (ours, theirs) = UnixStream::pair().expect("a pair");
        send(&ours, &Report::Keeping).expect("sent");
        let error = receive::<Order>(&theirs).expect_err("no order").to_string();
        assert!(error.starts_with("keeper process: "), "{error}");
        drop(theirs);
        let error = send(&ours, &Order::End).expect_err("nobody is there").to_string();
        assert!(error.starts_with("keeper process: cannot send a message: "), "{error}");
    }

    /// Words of a command line are any bytes.
    #[test]
    fn a_command_line_arrives_as_it_is() {
        use std::os::unix::ffi::OsStringExt;
        let odd = OsString::from_vec(vec![0xff, b'"', b'\n', 0xc3]);
        let start = || Start {
            program: odd.clone(),
            arguments: vec![OsString::new(), odd.clone()],
            environment: vec![("A".into(), odd.clone())],
            overlays: Overlays::default(),
            host: "fd00::1".parse().expect("an address"),
            cgroup: Some(PathBuf::from("/sys/fs/cgroup/x")),
            ignored: vec![1, 2],
        };
        let (ours, theirs) = UnixStream::pair().expect("a pair");
        send(&ours, &Order::Start(Box::new(start()))).expect("sent");
        let Ok(Some(Order::Start(got))) = receive(&theirs) else { panic!("no order") };
        let Start { program, arguments, environment, overlays, host, cgroup, ignored } = *got;
        let sent = start();
        assert_eq!((program, arguments, environment), (sent.program, sent.arguments, sent.environment));
        assert_eq!((overlays, host, cgroup, ignored), (sent.overlays, sent.host, sent.cgroup, sent.ignored));
    }
}
