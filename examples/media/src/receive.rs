//! Receives a picture or sound by HTTP: headers whole, and damage welcome after them (T 3.2,
//! TL-04).
//!
//! # From which byte on
//! What is damaged is decided when a segment comes, not when its bytes are read. A program that
//! reads the header first and switches TCP Lite on after it (T 3.2) is safe: what it has read came
//! right, and what comes later lies behind. But it is late: of the segments that came meanwhile,
//! those that were damaged are gone, and are sent again. A program that switches on first is in
//! time, and may get a damaged header.
//!
//! A window (`TCP_LITE_WINDOW`) is both safe and in time, since it is said in bytes of the stream
//! and not in moments: before the request is sent, damage is allowed from byte
//! [`Options::header_room`] on, and never before it. If the headers end within that room, they were
//! received whole, and the window is moved to where they end and the body ends; what may be damaged
//! is then the body's data exactly, nothing after it, whatever is in a buffer (T 3.2 leaves that
//! open for switching off). If they do not, because a camera put a small picture into its header,
//! say, then the transfer begins anew with sixteen times the room. The time of that counts.

use crate::http::{HttpError, Url, head};
use crate::medium::{HeaderEnd, NotThis};
use lite::{Reason, Totals, option};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::ops::Range;
use std::time::{Duration, Instant};

/// No byte for so long, and the sender is taken for gone. Linux gives up sending after 13 to 30
/// minutes.
const SILENCE: Duration = Duration::from_mins(30);

/// How a transfer is done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Options {
    /// Whether to ask for damage.
    pub lite: bool,
    /// Bytes of the stream, from its first, that are never damaged: room for the header of HTTP and
    /// that of the medium.
    pub header_room: usize,
}

/// Room that the header of a usual server and one of a plain picture need: two segments at an MTU
/// of 576 bytes, one at 1500.
pub const HEADER_ROOM: usize = 1024;

/// What came.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Received {
    /// The body.
    pub body: Vec<u8>,
    /// What is known of the transfer.
    pub account: Account,
}

/// What is known of a transfer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Account {
    /// What was asked for.
    pub url: String,
    /// Value of `Content-Type`.
    pub content_type: String,
    /// Whether damage was asked for.
    pub lite: bool,
    /// Length of the body.
    pub bytes: usize,
    /// How much of that is the medium's header, which came whole; the length again if nothing bears
    /// damage.
    pub header_bytes: usize,
    /// From before the connection was opened until the last byte was read.
    pub nanoseconds: u64,
    /// Connections that were opened: more than one if the headers needed more room.
    pub connections: u32,
    /// What became of damaged segments on the last connection; nothing where TCP Lite is not
    /// attached.
    pub segments: Option<Segments>,
    /// Bytes of the body that came in damaged segments and were not confirmed to be right. Which of
    /// them are wrong nobody knows.
    pub damaged_ranges: Vec<Range<u64>>,
}

/// Damaged segments (`TCP_LITE_STATS`).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Segments {
    /// With a wrong checksum.
    pub damaged: u64,
    /// Of these: accepted.
    pub accepted: u64,
    /// Of these: with intact data.
    pub confirmed: u64,
    /// Discarded, by reason.
    pub discarded: BTreeMap<String, u64>,
}

/// Why nothing came.
#[derive(Debug, thiserror::Error)]
pub enum ReceiveError {
    /// The network.
    #[error("{what}: {error}")]
    Network {
        /// What was to be done.
        what: String,
        /// Why it could not.
        error: io::Error,
    },
    /// Nobody listens to the socket option.
    #[error(
        "this host knows no TCP Lite for this program ({0}): run it under `lasthop lite run --on-request --`, or with --lite off"
    )]
    NoLite(io::Error),
    /// The response.
    #[error(transparent)]
    Http(#[from] HttpError),
    /// The body.
    #[error(transparent)]
    NotThis(#[from] NotThis),
    /// It ended early.
    #[error("the connection ended after {got} bytes of {of}")]
    Cut {
        /// Bytes of the body that came.
        got: usize,
        /// Bytes that were promised.
        of: usize,
    },
}

/// Receives a file.
///
/// # Errors
/// See [`ReceiveError`].
pub fn receive(url: &str, options: &Options) -> Result<Received, ReceiveError> {
    const MORE: usize = 16;
    let place: Url = url.parse()?;
    let start = Instant::now();
    let mut room = if options.lite { options.header_room.max(1) } else { usize::MAX };
    for connections in 1.. {
        match attempt(&place, room)? {
            Attempt::Whole { body, mut account } => {
                account.nanoseconds = start.elapsed().as_nanos() as u64;
                account.connections = connections;
                url.clone_into(&mut account.url);
                account.lite = options.lite;
                return Ok(Received { body, account });
            }
            Attempt::NeedsMoreRoom => room = room.saturating_mul(MORE),
            Attempt::BearsNoDamage => room = usize::MAX,
        }
    }
    unreachable!("room is that of all there can be after sixteen attempts, and no attempt needs more")
}

/// How one connection ended.
enum Attempt {
    Whole { body: Vec<u8>, account: Account },
    NeedsMoreRoom,
    BearsNoDamage,
}

/// One connection, on which bytes from `room` on may be damaged.
fn attempt(url: &Url, room: usize) -> Result<Attempt, ReceiveError> {
    let network = |what: &str| {
        let what = what.to_owned();
        move |error| ReceiveError::Network { what, error }
    };
    let address = format!("{}:{}", url.host, url.port);
    let mut stream = TcpStream::connect((url.host.as_str(), url.port))
        .map_err(network(&format!("connect to {address}")))?;
    stream.set_read_timeout(Some(SILENCE)).map_err(network("set a timeout"))?;
    let lite = room < usize::MAX;
    if lite {
        // Before the request: not a byte of the response has come.
        option::set_window(&stream, room as u64..u64::MAX).map_err(ReceiveError::NoLite)?;
        option::switch(&stream, true).map_err(ReceiveError::NoLite)?;
    }
    stream.write_all(url.request().as_bytes()).map_err(network(&format!("send to {address}")))?;

    let mut stream = Stream { socket: stream, bytes: Vec::new(), address, ranges: lite.then(BTreeSet::new) };
    let head = loop {
        // These bytes are right, and are all that is looked at until the headers are known.
        if let Some(head) = head(stream.right(room))? {
            break head;
        }
        if stream.bytes.len() >= room {
            return Ok(Attempt::NeedsMoreRoom);
        }
        if !stream.more()? {
            return Err(HttpError::Response("the connection ended in its header".to_owned()).into());
        }
    };
    let end = head.len.saturating_add(head.body);
    let header_end = loop {
        let right = stream.right(room.min(end));
        match head.medium.header_end(&right[head.len..])? {
            HeaderEnd::At(len) => break len,
            HeaderEnd::Nowhere if lite => return Ok(Attempt::BearsNoDamage),
            HeaderEnd::Nowhere => break head.body,
            HeaderEnd::Later if stream.bytes.len() >= end && end <= room => break head.body,
            HeaderEnd::Later if stream.bytes.len() >= room => return Ok(Attempt::NeedsMoreRoom),
            HeaderEnd::Later => {}
        }
        if !stream.more()? {
            return Err(ReceiveError::Cut { got: stream.bytes.len() - head.len, of: head.body });
        }
    };
    if lite && header_end < head.body {
        let body = (head.len + header_end) as u64..end as u64;
        option::set_window(&stream.socket, body).map_err(ReceiveError::NoLite)?;
    }
    while stream.bytes.len() < end {
        if !stream.more()? {
            return Err(ReceiveError::Cut { got: stream.bytes.len() - head.len, of: head.body });
        }
    }
    let account = Account {
        url: String::new(),
        content_type: head.content_type,
        lite,
        bytes: head.body,
        header_bytes: header_end,
        nanoseconds: 0,
        connections: 1,
        segments: option::stats(&stream.socket).ok().map(|totals| segments(&totals)),
        damaged_ranges: joined(stream.ranges.take().unwrap_or_default(), head.len as u64..end as u64),
    };
    stream.bytes.truncate(end);
    stream.bytes.drain(..head.len);
    Ok(Attempt::Whole { body: stream.bytes, account })
}

/// A connection and all that came by it.
struct Stream {
    socket: TcpStream,
    bytes: Vec<u8>,
    address: String,
    /// Start and end of what came damaged, if that is asked for. The kernel remembers 63 segments.
    ranges: Option<BTreeSet<(u64, u64)>>,
}

impl Stream {
    /// What came of the bytes that are right.
    fn right(&self, room: usize) -> &[u8] {
        &self.bytes[..self.bytes.len().min(room)]
    }

    /// Reads; false at the end.
    fn more(&mut self) -> Result<bool, ReceiveError> {
        let mut buffer = [0; 1 << 14];
        let got = loop {
            match self.socket.read(&mut buffer) {
                Ok(got) => break got,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => {
                    return Err(ReceiveError::Network {
                        what: format!("receive from {}", self.address),
                        error,
                    });
                }
            }
        };
        self.bytes.extend_from_slice(&buffer[..got]);
        if let Some(ranges) = &mut self.ranges {
            let new = option::ranges(&self.socket).map_err(ReceiveError::NoLite)?;
            ranges.extend(new.ranges.into_iter().map(|range| (range.start, range.end)));
        }
        Ok(got > 0)
    }
}

fn segments(totals: &Totals) -> Segments {
    let discarded =
        Reason::ALL.into_iter().map(|reason| (reason.name().to_owned(), totals.discarded_for(reason)));
    Segments {
        damaged: totals.damaged,
        accepted: totals.accepted,
        confirmed: totals.confirmed,
        discarded: discarded.filter(|(_, count)| *count > 0).collect(),
    }
}

/// Ranges of the stream as ranges of the body, those that touch as one.
fn joined(ranges: BTreeSet<(u64, u64)>, body: Range<u64>) -> Vec<Range<u64>> {
    let mut joined: Vec<Range<u64>> = Vec::new();
    for (start, end) in ranges {
        let (start, end) = (start.max(body.start), end.min(body.end));
        if start >= end {
            continue;
        }
        let range = start - body.start..end - body.start;
        match joined.last_mut() {
            Some(last) if range.start <= last.end => last.end = last.end.max(range.end),
            _ => joined.push(range),
        }
    }
    joined
}

#[cfg(test)]
mod tests;
