//! Receives a picture or sound by HTTP: headers undamaged, and damage accepted after them (T 3.2,
//! TL-04).
//!
//! # The first byte that may be damaged
//!
//! Damage is accepted when a segment arrives, not when its bytes are read. A program may read the
//! header first and switch TCP Lite on after it (T 3.2). That is safe: what it has read is
//! undamaged, and what arrives later is behind it. But it is late: damaged segments that arrived in
//! the meantime were dropped and must be retransmitted. A program that switches it on first is in
//! time, but may get a damaged header.
//!
//! A window (`TCP_LITE_WINDOW`) is both safe and in time, because it is in bytes of the stream, not
//! in moments. Before the request is sent, damage is allowed from byte [`Options::header_room`] on,
//! and never before it. If the headers end within that room, they were received undamaged. Then the
//! window is moved to the body's data exactly: nothing after them may be damaged, whatever is in a
//! buffer (T 3.2 leaves that open for switching off). If the headers do not end there, for example
//! because a camera put a thumbnail into its header, the transfer starts again with sixteen times
//! the room. This time counts too.

use crate::http::{HttpError, Url, head};
use crate::medium::{HeaderEnd, NotThis};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::ops::Range;
use std::time::{Duration, Instant};
use tcp_lite::{Reason, Totals, option};

/// Without a byte for this time, the sender is assumed to be gone. Linux gives up sending after 13
/// to 30 minutes.
const SILENCE: Duration = Duration::from_mins(30);

/// Options of a transfer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Options {
    /// Whether to accept damage.
    pub lite: bool,
    /// Number of bytes from the start of the stream that are never damaged: room for the headers of
    /// HTTP and of the medium.
    pub header_room: usize,
}

/// Enough for the headers of a usual server and of a plain picture: two segments at an MTU of 576
/// bytes, one at 1500.
pub const HEADER_ROOM: usize = 1024;

/// A received file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Received {
    /// The body.
    pub body: Vec<u8>,
    /// The account of the transfer.
    pub account: Account,
}

/// Account of a transfer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Account {
    /// The URL that was requested.
    pub url: String,
    /// Value of `Content-Type`.
    pub content_type: String,
    /// Whether damage was accepted.
    pub lite: bool,
    /// Length of the body in bytes.
    pub bytes: usize,
    /// Length of the medium's header, which arrived undamaged. The length of the body if no part of
    /// it may be damaged.
    pub header_bytes: usize,
    /// Time from before the connection was opened to the last byte read.
    pub nanoseconds: u64,
    /// Number of connections that were opened: more than one if the headers needed more room.
    pub connections: u32,
    /// Counters of damaged segments on the last connection; `None` where TCP Lite is not attached.
    pub segments: Option<Segments>,
    /// Bytes of the body that arrived in damaged, unconfirmed segments. Which of these bytes are
    /// wrong is unknown.
    pub damaged_ranges: Vec<Range<u64>>,
}

/// Counters of damaged segments (`TCP_LITE_STATS`).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Segments {
    /// Segments with a wrong checksum.
    pub damaged: u64,
    /// Accepted segments.
    pub accepted: u64,
    /// Accepted segments with intact data.
    pub confirmed: u64,
    /// Discarded segments, by reason.
    pub discarded: BTreeMap<String, u64>,
}

/// Why a file could not be received.
#[derive(Debug, thiserror::Error)]
pub enum ReceiveError {
    /// A network operation failed.
    #[error("cannot {what}: {error}")]
    Network {
        /// The operation.
        what: String,
        /// The error of the system.
        error: io::Error,
    },
    /// TCP Lite is not attached, so there is no such socket option.
    #[error(
        "TCP Lite is not available to this program ({0}): run it under `lasthop tcp-lite run --on-request --`, or use --lite off"
    )]
    NoLite(io::Error),
    /// The response is not acceptable.
    #[error(transparent)]
    Http(#[from] HttpError),
    /// The body is not of the stated medium.
    #[error(transparent)]
    NotThis(#[from] NotThis),
    /// The connection ended early.
    #[error("the connection ended after {got} bytes of {of}")]
    Cut {
        /// Number of bytes of the body that arrived.
        got: usize,
        /// Length of the body in bytes.
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

/// Result of one connection.
enum Attempt {
    Whole { body: Vec<u8>, account: Account },
    NeedsMoreRoom,
    BearsNoDamage,
}

/// Opens one connection, on which bytes from `room` on may be damaged.
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
        // Before the request, so that no byte of the response has arrived.
        option::set_window(&stream, room as u64..u64::MAX).map_err(ReceiveError::NoLite)?;
        option::switch(&stream, true).map_err(ReceiveError::NoLite)?;
    }
    stream.write_all(url.request().as_bytes()).map_err(network(&format!("send to {address}")))?;

    let mut stream = Stream { socket: stream, bytes: Vec::new(), address, ranges: lite.then(BTreeSet::new) };
    let head = loop {
        // These bytes are undamaged. Only they are examined until the headers are known.
        if let Some(head) = head(stream.right(room))? {
            break head;
        }
        if stream.bytes.len() >= room {
            return Ok(Attempt::NeedsMoreRoom);
        }
        if !stream.more()? {
            return Err(HttpError::Response("the connection ended within the header".to_owned()).into());
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

/// A connection and everything received on it.
struct Stream {
    socket: TcpStream,
    bytes: Vec<u8>,
    address: String,
    /// Ranges that arrived damaged, if Lite is on. The kernel remembers only 63, so they are
    /// collected here.
    ranges: Option<BTreeSet<(u64, u64)>>,
}

impl Stream {
    /// Returns the received bytes that are certainly undamaged.
    fn right(&self, room: usize) -> &[u8] {
        &self.bytes[..self.bytes.len().min(room)]
    }

    /// Reads once; returns false at the end of the stream.
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

/// Converts ranges of the stream to ranges of the body, and joins those that touch.
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
