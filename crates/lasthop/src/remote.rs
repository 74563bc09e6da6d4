//! Control of a running link over a Unix socket in the state directory of the run. Request and
//! answer are one line of JSON each.

use capture::flows::FlowCounters;
use netlab::Entrance;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
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
    /// Say everything that changes while the link runs. Flows are counted from the first such
    /// request on.
    Status,
    /// Change parameters of the link.
    Set {
        /// `up`, `down` or `both`.
        direction: String,
        /// Parameters, as in `lasthop link --down`. The first may be `profile=NAME`: all of the
        /// direction is then as in this profile.
        parameters: String,
    },
    /// Begin a capture (pcapng), or end the one that was begun so.
    Capture {
        /// The new file, an absolute path; `None` to end.
        file: Option<PathBuf>,
    },
    /// Say how to run another program behind the link.
    Enter,
}

/// The answer to a [`Request`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Answer {
    /// Answer to [`Request::Show`].
    Link(Running),
    /// Answer to [`Request::Status`].
    Status(Box<Status>),
    /// Answer to [`Request::Set`]: the new state of the changed directions.
    Changed {
        /// Name and new description of each changed direction.
        now: Vec<(String, String)>,
    },
    /// Answer to [`Request::Capture`].
    Capture {
        /// The file that is written from now on, or was until now.
        file: Option<PathBuf>,
    },
    /// Answer to [`Request::Enter`].
    Entrance(Entrance),
    /// The request failed, with the reason.
    Refused(String),
}

/// Description of a running link.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
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

/// State of a running link. The counters are those since its start, so a reader that knows two
/// states can compute rates and mean delays between them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Status {
    /// Description of the link.
    pub link: Running,
    /// Nanoseconds since the link started.
    pub at_ns: u64,
    /// The uplink.
    pub up: WayStatus,
    /// The downlink.
    pub down: WayStatus,
    /// File of the capture that was begun by a request and goes on.
    pub capture: Option<PathBuf>,
    /// The flows that were seen last, in the order of their bytes, at most 1024.
    pub flows: Vec<FlowStatus>,
}

/// State of one direction of a link.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct WayStatus {
    /// Rate of the bottleneck in bit/s, if it is constant.
    pub rate: Option<u64>,
    /// Mean delay behind the bottleneck in nanoseconds, as far as the parameters determine it.
    pub delay_ns: u64,
    /// Packets that entered the link.
    pub packets: u64,
    /// Their bytes, at the link's layer.
    pub bytes: u64,
    /// Packets and copies that reached the other end.
    pub delivered: u64,
    /// Their bytes.
    pub delivered_bytes: u64,
    /// Packets and copies that were lost.
    pub lost: u64,
    /// `lost` by cause.
    pub lost_by_reason: BTreeMap<String, u64>,
    /// Packets and copies delivered with wrong bytes.
    pub damaged: u64,
    /// Copies that the link made.
    pub duplicated: u64,
    /// Packets and copies delivered after one that had arrived after them.
    pub reordered: u64,
    /// Packets and copies delivered with a congestion mark that the link set.
    pub congestion_marked: u64,
    /// Packets that wait for the bottleneck now.
    pub waiting: u64,
    /// Sum of the delays of delivered packets, in nanoseconds.
    pub delay_sum_ns: u64,
    /// Sum of their times in the queue, in nanoseconds.
    pub queueing_sum_ns: u64,
    /// State of the channel for the last packet that an error process judged: `good` or `bad`.
    pub channel: Option<String>,
}

/// Counters of a flow.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FlowStatus {
    /// `tcp`, `udp`, `icmp`, or the number of the IP protocol.
    pub protocol: String,
    /// Address of the end on the wireless side, with a port if the protocol has ports.
    pub inside: String,
    /// Address of the end beyond the link.
    pub outside: String,
    /// Packets towards `outside`.
    pub up: FlowWay,
    /// Packets towards `inside`.
    pub down: FlowWay,
}

/// Counters of one direction of a flow.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FlowWay {
    /// Packets that entered the link.
    pub packets: u64,
    /// Their bytes, at the link's layer.
    pub bytes: u64,
    /// Packets and copies that were lost.
    pub lost: u64,
}

impl From<FlowCounters> for FlowWay {
    fn from(counters: FlowCounters) -> Self {
        let FlowCounters { packets, bytes, lost } = counters;
        Self { packets, bytes, lost }
    }
}

impl FlowStatus {
    /// Returns the bytes of both directions.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.up.bytes + self.down.bytes
    }
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
            _ => Answer::Refused("not today".into()),
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
