//! Talking to a link that runs: one request and one answer, each a line of JSON, over a Unix socket
//! in the state directory of the run.

use serde::{Deserialize, Serialize};
use std::io::{self, BufRead, BufReader, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

/// Name of the socket in the state directory of a run.
pub const SOCKET: &str = "control.sock";

/// Longest time to wait for the other side: the event loop answers within a packet, a machine may
/// be busy.
const PATIENCE: Duration = Duration::from_secs(5);

/// What a running link can be asked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Request {
    /// What it is and does.
    Show,
    /// Change parameters.
    Set {
        /// `up`, `down` or `both`.
        direction: String,
        /// As in `lasthop link --down`.
        parameters: String,
    },
}

/// What it answers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Answer {
    /// To [`Request::Show`].
    Link(Running),
    /// To [`Request::Set`]: the directions as they are now.
    Changed {
        /// Each direction that was changed, and what it is now.
        now: Vec<(String, String)>,
    },
    /// It could not be done, and why.
    Refused(String),
}

/// A running link in words.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Running {
    /// What names it in `lasthop link set`.
    pub id: String,
    /// Process that runs it.
    pub pid: u32,
    /// The program behind it.
    pub command: String,
    /// Seconds since it started.
    pub seconds: u64,
    /// The way from the program to the network.
    pub up: String,
    /// The way from the network to the program.
    pub down: String,
    /// Packets that came to it so far, up and down.
    pub packets: (u64, u64),
    /// Packets that it has lost so far, up and down.
    pub lost: (u64, u64),
}

/// Answers requests on a socket until it is dropped.
#[must_use = "the socket is gone when this is dropped"]
pub struct Listener {
    path: PathBuf,
}

impl Listener {
    /// Answers requests at `path` by `answer`, on a thread of its own.
    pub fn start(path: PathBuf, answer: impl Fn(Request) -> Answer + Send + 'static) -> io::Result<Self> {
        let listener = UnixListener::bind(&path)?;
        thread::Builder::new().name("control".into()).spawn(move || {
            for stream in listener.incoming() {
                // One that misbehaves is its own problem: the next one is served.
                let _ = stream.and_then(|stream| serve(&stream, &answer));
            }
        })?;
        Ok(Self { path })
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        // Nothing else could be done about a socket that cannot be removed; the sweep tries again.
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

/// Sends `request` to the link whose socket is at `path`.
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
            Request::Show => Answer::Refused("not today".into()),
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
