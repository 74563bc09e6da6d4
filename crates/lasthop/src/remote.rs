//! Control of a running link over a Unix socket in the state directory of the run. Request and
//! answer are one line of JSON each.

use netlab::Entrance;
use serde::{Deserialize, Serialize};
use std::io::{self, BufRead, BufReader, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

/// Name of the socket in the state directory of a run.
pub const SOCKET: &str = "control.sock";

/// Longest time to wait for the other side. The event loop answers within a packet, but the machine
/// may be busy.
const PATIENCE: Duration = Duration::from_secs(5);

/// A request to a running link.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Request {
    /// Describe the link and its counters.
    Show,
    /// Change parameters of the link.
    Set {
        /// `up`, `down` or `both`.
        direction: String,
        /// Parameters, as in `lasthop link --down`.
        parameters: String,
    },
    /// Say how to run another program behind the link.
    Enter,
}

/// The answer to a [`Request`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Answer {
    /// Answer to [`Request::Show`].
    Link(Running),
    /// Answer to [`Request::Set`]: the new state of the changed directions.
    Changed {
        /// Name and new description of each changed direction.
        now: Vec<(String, String)>,
    },
    /// Answer to [`Request::Enter`].
    Entrance(Entrance),
    /// The request failed, with the reason.
    Refused(String),
}

/// Description of a running link.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Running {
    /// ID of the link for `lasthop link set`.
    pub id: String,
    /// Process that runs the link.
    pub pid: u32,
    /// Command line of the program behind the link.
    pub command: String,
    /// Seconds since the link started.
    pub seconds: u64,
    /// Parameters of the uplink, from the program to the network.
    pub up: String,
    /// Parameters of the downlink, from the network to the program.
    pub down: String,
    /// Packets that have entered the link so far, up and down.
    pub packets: (u64, u64),
    /// Packets that the link has lost so far, up and down.
    pub lost: (u64, u64),
}

/// Answers requests on a Unix socket until it is dropped.
#[must_use = "the socket is gone when this is dropped"]
pub struct Listener {
    path: PathBuf,
}

impl Listener {
    /// Answers requests at `path` with `answer`, on a thread of its own.
    pub fn start(path: PathBuf, answer: impl Fn(Request) -> Answer + Send + 'static) -> io::Result<Self> {
        let listener = UnixListener::bind(&path)?;
        thread::Builder::new().name("control".into()).spawn(move || {
            for stream in listener.incoming() {
                // An error on one connection must not stop the others.
                let _ = stream.and_then(|stream| serve(&stream, &answer));
            }
        })?;
        Ok(Self { path })
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        // A socket file that cannot be removed is left to the next sweep.
        let _ = std::fs::remove_file(&self.path);
    }
}

fn serve(stream: &UnixStream, answer: &impl Fn(Request) -> Answer) -> io::Result<()> {
    stream.set_read_timeout(Some(PATIENCE))?;
    let mut line = String::new();
    BufReader::new(stream).read_line(&mut line)?;
    let answer = match serde_json::from_str(&line) {
        Ok(request) => answer(request),
        Err(error) => Answer::Refused(format!("invalid request: {error}")),
    };
    send(stream, &answer)
}

/// Sends `request` to the link with the socket at `path`, and returns its answer.
pub fn ask(path: &Path, request: &Request) -> io::Result<Answer> {
    let stream = UnixStream::connect(path)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    send(&stream, request)?;
    let mut line = String::new();
    BufReader::new(&stream).read_line(&mut line)?;
    serde_json::from_str(&line).map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))
}

fn send(mut stream: &UnixStream, message: &impl Serialize) -> io::Result<()> {
    let mut line = serde_json::to_vec(message).map_err(io::Error::other)?;
    line.push(b'\n');
    stream.write_all(&line)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_is_answered_and_nonsense_is_refused() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join(SOCKET);
        let listener = Listener::start(path.clone(), |request| match request {
            Request::Set { direction, parameters } => Answer::Changed { now: vec![(direction, parameters)] },
            Request::Show | Request::Enter => Answer::Refused("not today".into()),
        })
        .expect("a socket");

        let set = Request::Set { direction: "down".into(), parameters: "rate=1mbit".into() };
        let changed = Answer::Changed { now: vec![("down".into(), "rate=1mbit".into())] };
        assert_eq!(ask(&path, &set).expect("an answer"), changed);
        assert_eq!(ask(&path, &Request::Show).expect("an answer"), Answer::Refused("not today".into()));

        let stream = UnixStream::connect(&path).expect("a connection");
        (&stream).write_all(b"rate=1mbit\n").expect("sent");
        let mut line = String::new();
        BufReader::new(&stream).read_line(&mut line).expect("an answer");
        assert!(line.contains("refused"), "{line}");

        drop(listener);
        assert!(!path.exists());
    }
}
