//! Answers queries about the server's state: from Prometheus by HTTP, and from
//! `lasthop resoa status` by a Unix socket. Each has a thread and one query at a time; the server's
//! loop answers between two turns.

use super::super::arguments::ServeArguments;
use super::super::server_status;
use crate::failure::Failure;
use resoa_server::Report;
use rustix::event::{EventfdFlags, eventfd};
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::fs::Mode;
use rustix::net::sockopt::{Timeout, set_socket_timeout};
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType};
use std::io::{self, Read, Write};
use std::net::TcpListener;
use std::os::unix::fs::FileTypeExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::time::{Duration, Instant};
use std::{fs, thread};

/// Longest time for a query and for its answer. Slower clients get no answer, because others wait
/// behind them.
const PATIENCE: Duration = Duration::from_secs(2);
/// Pause between two attempts to accept a connection without a free file descriptor.
const PAUSE: Duration = Duration::from_millis(100);
/// Maximum length of an HTTP request, in bytes.
const REQUEST: usize = 8 << 10;

/// Backlog of pending connections; the standard library uses the same value.
const BACKLOG: i32 = 128;

/// Channel for the answer to a query.
type Answer = SyncSender<Box<Report>>;

/// Queries to the server; see the [module](self).
pub struct Questions {
    bell: Arc<OwnedFd>,
    asked: Receiver<Answer>,
    desk: Desk,
    metrics: Option<TcpListener>,
    status: Option<UnixListener>,
    /// Path to remove at the end, as far as this process may.
    path: Option<PathBuf>,
    /// Whether the path is in a directory that only this server uses.
    is_in_own_folder: bool,
}

/// Entry point for queries.
#[derive(Clone)]
struct Desk {
    bell: Arc<OwnedFd>,
    ask: SyncSender<Answer>,
}

impl Questions {
    /// Opens the listeners; no query is answered yet.
    pub fn open(arguments: &ServeArguments) -> Result<Self, Failure> {
        let metrics = arguments.metrics.map(|address| {
            TcpListener::bind(address).map_err(|error| format!("--metrics {address}: {error}"))
        });
        let metrics = metrics.transpose()?;
        if let Some(address) = metrics.as_ref().and_then(|listener| listener.local_addr().ok()) {
            anstream::eprintln!("lasthop: metrics at http://{address}/metrics");
        }
        let status = match &arguments.status {
            Some(path) => Some((
                listen(path).map_err(|error| format!("--status {}: {error}", path.display()))?,
                path.clone(),
            )),
            // Not requested, so a failure is not an error.
            None => server_status::default_path().and_then(|path| {
                let listening = path.parent().map_or(Ok(()), server_status::make_folder);
                let listening = listening.and_then(|()| listen(&path)).inspect_err(|error| {
                    anstream::eprintln!("lasthop: `lasthop resoa status` gets no answer: {error}");
                });
                Some((listening.ok()?, path))
            }),
        };
        let (status, path) = status.unzip();
        let bell = Arc::new(eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?);
        let (ask, asked) = sync_channel(2);
        let is_in_own_folder = arguments.status.is_none();
        let desk = Desk { bell: Arc::clone(&bell), ask };
        Ok(Self { bell, asked, desk, metrics, status, path, is_in_own_folder })
    }

    /// Returns a file descriptor that is readable when [`hear`](Self::hear) has work to do.
    pub fn descriptor(&self) -> BorrowedFd<'_> {
        self.bell.as_fd()
    }

    /// Returns the path of the status socket, if its directory contains nothing else.
    pub fn own_path(&self) -> Option<&Path> {
        self.path.as_deref().filter(|_| self.is_in_own_folder)
    }

    /// Starts the threads. They have the rights of the calling thread.
    pub fn answer(&mut self) -> io::Result<()> {
        if let Some(listener) = self.metrics.take() {
            let desk = self.desk.clone();
            thread::Builder::new().name("metrics".to_owned()).spawn(move || {
                each(listener.incoming(), |stream| drop(scrape(stream, &desk, PATIENCE)));
            })?;
        }
        if let Some(listener) = self.status.take() {
            let desk = self.desk.clone();
            thread::Builder::new().name("status".to_owned()).spawn(move || {
                each(listener.incoming(), |stream| drop(tell(stream, &desk)));
            })?;
        }
        Ok(())
    }

    /// Answers all pending queries.
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
        // If the counter is full, the loop has been notified already.
        let _ = rustix::io::write(&self.bell, &1_u64.to_ne_bytes());
        report.recv_timeout(PATIENCE).ok()
    }
}

/// Listens at a path, for the owner alone. The socket of a killed server is removed; no other file
/// is, although every file that is not a socket refuses connections too.
fn listen(path: &Path) -> io::Result<UnixListener> {
    let there = fs::symlink_metadata(path);
    if there.is_ok_and(|there| !there.file_type().is_socket()) {
        let message = "there is a file that is not a socket; name another path, or remove it";
        return Err(io::Error::new(io::ErrorKind::AlreadyExists, message));
    }
    if UnixStream::connect(path).is_err_and(|error| error.kind() == io::ErrorKind::ConnectionRefused) {
        fs::remove_file(path)?;
    }
    let flags = SocketFlags::CLOEXEC;
    let socket = rustix::net::socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None)?;
    // Set before the file exists, so that the file never belongs to anyone else and no other file
    // gets this mode.
    rustix::fs::fchmod(&socket, Mode::RUSR | Mode::WUSR)?;
    rustix::net::bind(&socket, &SocketAddrUnix::new(path)?)?;
    rustix::net::listen(&socket, BACKLOG)?;
    Ok(socket.into())
}

/// Answers streams one after the other. Without a file descriptor for the next one, it pauses.
fn each<S>(streams: impl Iterator<Item = io::Result<S>>, mut answer: impl FnMut(&S)) {
    for stream in streams {
        match stream {
            Ok(stream) => answer(&stream),
            Err(_) => thread::sleep(PAUSE),
        }
    }
}

/// A stream with a deadline for all reads and writes, however slow the other side is.
struct Until<'a, S> {
    stream: &'a S,
    end: Instant,
}

impl<'a, S: AsFd> Until<'a, S> {
    fn after(patience: Duration, stream: &'a S) -> Self {
        Self { stream, end: Instant::now() + patience }
    }

    fn limit(&self, timeout: Timeout) -> io::Result<()> {
        let left = self.end.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(io::ErrorKind::TimedOut.into());
        }
        Ok(set_socket_timeout(self.stream, timeout, Some(left))?)
    }
}

impl<S: AsFd> Read for Until<'_, S>
where
    for<'a> &'a S: Read,
{
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.limit(Timeout::Recv)?;
        let mut stream = self.stream;
        stream.read(buffer)
    }
}

impl<S: AsFd> Write for Until<'_, S>
where
    for<'a> &'a S: Write,
{
    fn write(&mut self, octets: &[u8]) -> io::Result<usize> {
        self.limit(Timeout::Send)?;
        let mut stream = self.stream;
        stream.write(octets)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn tell(stream: &UnixStream, desk: &Desk) -> io::Result<()> {
    let report = desk.report().ok_or(io::ErrorKind::TimedOut)?;
    Until::after(PATIENCE, stream).write_all(serde_json::to_string(&report)?.as_bytes())
}

fn scrape<S: AsFd>(stream: &S, desk: &Desk, patience: Duration) -> io::Result<()>
where
    for<'a> &'a S: Read + Write,
{
    let mut asking = Until::after(patience, stream);
    let mut request = Vec::new();
    let mut buffer = [0; 1024];
    while !request.windows(4).any(|end| end == b"\r\n\r\n") && request.len() < REQUEST {
        match asking.read(&mut buffer)? {
            0 => break,
            count => request.extend(&buffer[..count]),
        }
    }
    let is_for_metrics = request.starts_with(b"GET /metrics ") || request.starts_with(b"GET / ");
    let (status, body) = match desk.report() {
        _ if !is_for_metrics => ("404 Not Found", "metrics are at /metrics\n".to_owned()),
        Some(report) => ("200 OK", report.metrics()),
        None => ("503 Service Unavailable", "the server is busy\n".to_owned()),
    };
    write!(
        Until::after(patience, stream),
        "HTTP/1.1 {status}\r\nContent-Type: text/plain; version=0.0.4; charset=utf-8\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}",
        body.len()
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::TcpStream;

    /// The socket of a server that has gone is removed; files and sockets of running servers are
    /// not.
    #[test]
    fn only_sockets_of_the_dead_are_removed() {
        let folder = tempfile::tempdir().expect("a folder");
        let precious = folder.path().join("precious");
        fs::write(&precious, "data").expect("written");
        let refused = listen(&precious).expect_err("it is a file").to_string();
        assert!(refused.contains("not a socket"), "{refused}");
        assert_eq!(fs::read_to_string(&precious).expect("still there"), "data");
        let link = folder.path().join("link");
        std::os::unix::fs::symlink(&precious, &link).expect("made");
        assert!(listen(&link).is_err() && link.is_symlink());

        let path = folder.path().join("socket");
        let living = listen(&path).expect("nobody is there");
        assert_eq!(listen(&path).expect_err("somebody is").kind(), io::ErrorKind::AddrInUse);
        drop(living);
        assert!(path.exists());
        listen(&path).expect("nobody any more");
    }

    /// Without a file descriptor for the next connection, there is a pause between attempts.
    #[test]
    fn no_descriptor_is_no_reason_to_spin() {
        let begin = Instant::now();
        let mut answered = 0;
        let nobody = || Err(io::Error::from(rustix::io::Errno::MFILE));
        each([nobody(), Ok(()), nobody()].into_iter(), |()| answered += 1);
        assert_eq!(answered, 1);
        assert!(begin.elapsed() >= 2 * PAUSE);
    }

    /// A client that sends its query byte by byte is dropped: the time limit is for the query, not
    /// for each byte.
    #[test]
    fn a_slow_question_is_given_up() {
        let listener = TcpListener::bind("127.0.0.1:0").expect("loopback");
        let mut slow = TcpStream::connect(listener.local_addr().expect("is bound")).expect("connects");
        let (asked, _) = listener.accept().expect("has connected");
        let slowly = thread::spawn(move || {
            while slow.write_all(b"G").is_ok() {
                thread::sleep(Duration::from_millis(10));
            }
        });
        let (ask, _nobody_asked) = sync_channel(2);
        let bell = eventfd(0, EventfdFlags::NONBLOCK).expect("a descriptor");
        let desk = Desk { bell: Arc::new(bell), ask };
        let outcome = scrape(&asked, &desk, Duration::from_millis(200));
        let kind = outcome.expect_err("not asked to the end").kind();
        // The deadline passes during a wait or before the next one.
        assert!(matches!(kind, io::ErrorKind::TimedOut | io::ErrorKind::WouldBlock), "{kind}");
        drop(asked);
        slowly.join().expect("it ends with the connection");
    }
}
