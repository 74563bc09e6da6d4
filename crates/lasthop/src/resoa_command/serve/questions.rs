//! Those who ask how the server does: Prometheus by HTTP, `lasthop resoa status` by a Unix socket. A thread for each of both, one question at a time; the loop
//! answers between two turns.

use super::super::arguments::ServeArguments;
use super::super::server_status::{self, DefaultPath};
use crate::link_command::Failure;
use resoa_server::Report;
use rustix::event::{EventfdFlags, eventfd};
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use std::io::{self, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::time::Duration;
use std::{fs, thread};

/// Who asks or listens more slowly is not answered: others wait behind.
const PATIENCE: Duration = Duration::from_secs(2);
/// Octets of a request of HTTP.
const REQUEST: usize = 8 << 10;

/// Where the answer to a question goes.
type Answer = SyncSender<Box<Report>>;

/// See the [module](self).
pub struct Questions {
    bell: Arc<OwnedFd>,
    asked: Receiver<Answer>,
    desk: Desk,
    metrics: Option<TcpListener>,
    status: Option<UnixListener>,
    /// To be removed at the end.
    path: Option<PathBuf>,
}

/// Where questions are put.
#[derive(Clone)]
struct Desk {
    bell: Arc<OwnedFd>,
    ask: SyncSender<Answer>,
}

impl Questions {
    /// Opens what is listened at; nobody is answered yet.
    pub fn open(arguments: &ServeArguments) -> Result<Self, Failure> {
        let metrics = arguments.metrics.map(|address| {
            TcpListener::bind(address).map_err(|error| format!("--metrics {address}: {error}"))
        });
        let metrics = metrics.transpose()?;
        if let Some(address) = metrics.as_ref().and_then(|listener| listener.local_addr().ok()) {
            anstream::eprintln!("lasthop: figures at http://{address}/metrics");
        }
        let status = match &arguments.status {
            Some(path) => Some((
                listen(path).map_err(|error| format!("--status {}: {error}", path.display()))?,
                path.clone(),
            )),
            // Not asked for: it need not be.
            None => server_status::default_path(DefaultPath::Made)
                .and_then(|path| Some((listen(&path).ok()?, path))),
        };
        let (status, path) = status.unzip();
        let bell = Arc::new(eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?);
        let (ask, asked) = sync_channel(2);
        Ok(Self { desk: Desk { bell: Arc::clone(&bell), ask }, bell, asked, metrics, status, path })
    }

    /// Readable when [`hear`](Self::hear) has something to do.
    pub fn descriptor(&self) -> BorrowedFd<'_> {
        self.bell.as_fd()
    }

    /// Where `lasthop resoa status` asks.
    pub fn path(&self) -> Option<&Path> {
        self.path.as_deref()
    }

    /// Starts the threads: they may do what the calling one may.
    pub fn answer(&mut self) -> io::Result<()> {
        if let Some(listener) = self.metrics.take() {
            let desk = self.desk.clone();
            thread::Builder::new().name("metrics".to_owned()).spawn(move || {
                listener.incoming().flatten().for_each(|stream| drop(scrape(&stream, &desk)));
            })?;
        }
        if let Some(listener) = self.status.take() {
            let desk = self.desk.clone();
            thread::Builder::new().name("status".to_owned()).spawn(move || {
                listener.incoming().flatten().for_each(|stream| drop(tell(&stream, &desk)));
            })?;
        }
        Ok(())
    }

    /// Answers whoever has asked.
    pub fn hear(&mut self, report: impl Fn() -> Report) {
        if rustix::io::read(&self.bell, &mut [0; 8]).is_ok() {
            for answer in self.asked.try_iter() {
                let _ = answer.send(Box::new(report()));
            }
        }
    }
}

impl Drop for Questions {
    fn drop(&mut self) {
        if let Some(path) = &self.path {
            let _ = fs::remove_file(path);
        }
    }
}

impl Desk {
    fn report(&self) -> Option<Box<Report>> {
        let (answer, report) = sync_channel(1);
        self.ask.send(answer).ok()?;
        // If the counter is full it has rung.
        let _ = rustix::io::write(&self.bell, &1_u64.to_ne_bytes());
        report.recv_timeout(PATIENCE).ok()
    }
}

/// Listens at a path, for the owner alone. What a server that was killed has left there is taken away.
fn listen(path: &Path) -> io::Result<UnixListener> {
    if UnixStream::connect(path).is_err_and(|error| error.kind() == io::ErrorKind::ConnectionRefused) {
        fs::remove_file(path)?;
    }
    let listener = UnixListener::bind(path)?;
    fs::set_permissions(path, fs::Permissions::from_mode(0o600))?;
    Ok(listener)
}

fn tell(mut stream: &UnixStream, desk: &Desk) -> io::Result<()> {
    stream.set_write_timeout(Some(PATIENCE))?;
    let report = desk.report().ok_or(io::ErrorKind::TimedOut)?;
    stream.write_all(serde_json::to_string(&report)?.as_bytes())
}

fn scrape(mut stream: &TcpStream, desk: &Desk) -> io::Result<()> {
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    let mut request = Vec::new();
    let mut buffer = [0; 1024];
    while !request.windows(4).any(|end| end == b"\r\n\r\n") && request.len() < REQUEST {
        match stream.read(&mut buffer)? {
            0 => break,
            count => request.extend(&buffer[..count]),
        }
    }
    let is_for_metrics = request.starts_with(b"GET /metrics ") || request.starts_with(b"GET / ");
    let (status, body) = match desk.report() {
        _ if !is_for_metrics => ("404 Not Found", "figures are at /metrics\n".to_owned()),
        Some(report) => ("200 OK", report.metrics()),
        None => ("503 Service Unavailable", "the server is busy\n".to_owned()),
    };
    write!(
        stream,
        "HTTP/1.1 {status}\r\nContent-Type: text/plain; version=0.0.4; charset=utf-8\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}",
        body.len()
    )
}
