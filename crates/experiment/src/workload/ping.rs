//! A ping that never stops: an ICMP echo request every second, whatever happened to earlier ones
//! (Ludwig 3.1.3; LL-08).
//!
//! If a request takes more than a second on the link, this is an endless source: the interface
//! queue overflows all the time, harmlessly, and the link is never idle. This is what traces of
//! block erasures need. The other node's kernel replies, so that the way back carries as much as
//! arrives. Unlike `datagrams` it needs no receiver, and it measures round-trip times.

use super::ground::Ground;
use link::units::{ByteCount, Span};
use packet::checksum;
use results::{Connection, Protocol, RoundTrips};
use rustix::net::sockopt::{self, Timeout};
use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketType, connect, ipproto, recv, send, socket};
use std::collections::BTreeMap;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// A workload of echo requests.
#[derive(Debug)]
pub struct Ping<'a> {
    /// Its name.
    pub name: &'a str,
    /// Its index in the plan; its echo identifier is one more.
    pub place: usize,
    /// The node that sends requests.
    pub from: usize,
    /// The node whose kernel replies.
    pub to: usize,
    /// Size of the data in each request, after the headers of IP (20) and ICMP (8).
    pub size: ByteCount,
    /// Interval between two requests.
    pub interval: Span,
    /// Duration; until the run ends if `None`.
    pub duration: Option<Span>,
}

/// Length of type, code, checksum, identifier and sequence number (RFC 792).
const HEADER: usize = 8;
/// Type of an echo request.
const REQUEST: u8 = 8;
/// Type of an echo reply.
const REPLY: u8 = 0;
/// Length of the request's number, whose lowest 16 bits are also the sequence number.
const NUMBER: usize = 8;
/// Time to wait for replies after the last request, restarted by each reply.
const PATIENCE: Duration = Duration::from_secs(2);
/// Interval at which the receiver checks whether the run is over.
const LOOK: Duration = Duration::from_millis(100);

/// Smallest data of a request in bytes: its number.
pub const LEAST: u64 = NUMBER as u64;
/// Largest data that fits into an IPv4 packet, in bytes.
pub const MOST: u64 = 65_535 - 20 - HEADER as u64;

/// Result of the sender: the time of each request by its number, in nanoseconds since the start of
/// the run.
struct Sent {
    start: u64,
    times: Vec<u64>,
    error: Option<io::Error>,
}

/// Arrival time of the first reply to each number.
type Replies = BTreeMap<u64, u64>;

impl Ping<'_> {
    /// Runs the workload to its end.
    ///
    /// # Errors
    /// If the socket cannot be opened, or replies cannot be received.
    pub fn run(&self, ground: &Ground<'_>) -> Result<Vec<Connection>, String> {
        let address = IpAddr::V4(ground.scenario.nodes[self.to].address());
        let asking = ground.namespace(self.from).enter(|| Ok(open(address)));
        let socket = asking
            .map_err(|error| error.to_string())?
            .map_err(|error| format!("cannot open a socket for echo requests to {address}: {error}"))?;
        let sent_all = AtomicBool::new(false);
        let (sent, replies) = thread::scope(|scope| {
            let receiving = scope.spawn(|| self.receive(ground, &socket, &sent_all));
            let sent = self.ask(ground, &socket);
            sent_all.store(true, Ordering::Release);
            (sent, super::server::join(receiving))
        });
        let replies =
            replies.map_err(|error| format!("cannot receive echo replies from {address}: {error}"))?;
        Ok(vec![self.row(ground, sent, &replies)])
    }

    fn identifier(&self) -> u16 {
        self.place as u16 + 1
    }

    /// Sends requests on an absolute timetable, without waiting for replies.
    fn ask(&self, ground: &Ground<'_>, socket: &OwnedFd) -> Sent {
        let mut sent = Sent { start: ground.now(), times: Vec::new(), error: None };
        let begin = Instant::now();
        let nanos = |span: Span| Duration::from(span);
        let end = self.duration.map(nanos);
        let mut due = Duration::ZERO;
        while end.is_none_or(|end| due < end) {
            ground.stop.sleep_until(begin, due);
            if ground.stop.is_over() {
                break;
            }
            let request = request(self.identifier(), sent.times.len() as u64, self.size);
            let at = ground.now();
            if let Err(error) = send(socket, &request, SendFlags::empty()) {
                sent.error = Some(error.into());
                break;
            }
            sent.times.push(at);
            due += nanos(self.interval);
        }
        sent
    }

    /// Receives until all requests were sent and no reply has arrived for a while.
    fn receive(&self, ground: &Ground<'_>, socket: &OwnedFd, sent_all: &AtomicBool) -> io::Result<Replies> {
        let mut replies = Replies::new();
        let mut buffer = vec![0; 65_536];
        let mut heard = Instant::now();
        loop {
            match recv(socket, &mut buffer, RecvFlags::empty()) {
                Ok((_, length)) => {
                    if let Some(number) = reply(&buffer[..length], self.identifier()) {
                        heard = Instant::now();
                        replies.entry(number).or_insert_with(|| ground.now());
                    }
                }
                Err(rustix::io::Errno::AGAIN | rustix::io::Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
            if !sent_all.load(Ordering::Acquire) {
                heard = Instant::now();
            } else if heard.elapsed() > PATIENCE || ground.stop.is_over() {
                return Ok(replies);
            }
        }
    }

    fn row(&self, ground: &Ground<'_>, sent: Sent, replies: &Replies) -> Connection {
        let asked = sent.times.len() as u64;
        let trip = |(&number, &at): (&u64, &u64)| Some(at.saturating_sub(*sent.times.get(number as usize)?));
        let trips: Vec<u64> = replies.iter().filter_map(trip).collect();
        let answered = trips.len() as u64;
        let mut arrivals: Vec<u64> = replies.values().copied().collect();
        arrivals.sort_unstable();
        let end_ns = arrivals.last().copied().unwrap_or(sent.start);
        let bytes = answered * self.size.get();
        let seconds = end_ns.saturating_sub(sent.start) as f64 / 1e9;
        Connection {
            workload: self.name.to_owned(),
            protocol: Protocol::Icmp,
            from: ground.name(self.from),
            to: ground.name(self.to),
            from_port: self.identifier(),
            complete: sent.error.is_none(),
            error: sent.error.map(|error| error.to_string()),
            start_ns: sent.start,
            established_ns: arrivals.first().copied(),
            end_ns,
            bytes,
            goodput_bps: if seconds > 0.0 { bytes as f64 * 8.0 / seconds } else { 0.0 },
            segments: asked,
            lost: asked.saturating_sub(answered),
            round_trips: RoundTrips::of(trips),
            idle_max_ns: arrivals.windows(2).map(|two| two[1] - two[0]).max().unwrap_or(0),
            ..Connection::default()
        }
    }
}

/// Opens a socket for echo messages to and from this address in the calling thread's namespace.
fn open(address: IpAddr) -> io::Result<OwnedFd> {
    let socket = socket(AddressFamily::INET, SocketType::RAW, Some(ipproto::ICMP))?;
    rustix::io::fcntl_setfd(&socket, rustix::io::FdFlags::CLOEXEC)?;
    sockopt::set_socket_timeout(&socket, Timeout::Recv, Some(LOOK))?;
    connect(&socket, &SocketAddr::new(address, 0))?;
    Ok(socket)
}

/// Builds an echo request.
fn request(identifier: u16, number: u64, size: ByteCount) -> Vec<u8> {
    let mut message = vec![0; HEADER + size.get() as usize];
    message[0] = REQUEST;
    message[4..6].copy_from_slice(&identifier.to_be_bytes());
    message[6..8].copy_from_slice(&(number as u16).to_be_bytes());
    message[HEADER..HEADER + NUMBER].copy_from_slice(&number.to_be_bytes());
    let checksum = !checksum::sum(&message);
    message[2..4].copy_from_slice(&checksum.to_be_bytes());
    message
}

/// Returns the number of the request that an IPv4 packet answers, if it is an intact echo reply
/// with this identifier.
fn reply(packet: &[u8], identifier: u16) -> Option<u64> {
    let header = usize::from(packet.first()? & 0xf) * 4;
    let message = packet.get(header..)?;
    let mine = message.get(..HEADER)?;
    let right =
        mine[0] == REPLY && mine[4..6] == identifier.to_be_bytes() && checksum::sum(message) == 0xffff;
    let number = message.get(HEADER..HEADER + NUMBER)?.try_into().ok()?;
    right.then(|| u64::from_be_bytes(number))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Turns a request into a kernel's reply, behind an IPv4 header of 20 bytes: the type differs,
    /// and so does the checksum.
    fn answered(mut message: Vec<u8>) -> Vec<u8> {
        message[0] = REPLY;
        message[2..4].fill(0);
        let checksum = !checksum::sum(&message);
        message[2..4].copy_from_slice(&checksum.to_be_bytes());
        let mut packet = vec![0; 20];
        packet[0] = 0x45;
        packet.extend(message);
        packet
    }

    #[test]
    fn a_reply_has_the_number_of_its_request() {
        let asked = request(7, 0x1_0002, ByteCount::new(9));
        assert_eq!((asked.len(), asked[0], &asked[4..8]), (17, 8, &[0, 7, 0, 2][..]));
        assert_eq!(checksum::sum(&asked), 0xffff, "a right checksum");
        let packet = answered(asked.clone());
        assert_eq!(reply(&packet, 7), Some(0x1_0002));
        assert_eq!(reply(&packet, 8), None, "another's");
        assert_eq!(reply(&packet[..packet.len() - 4], 7), None, "cut short");
        let mut spoilt = packet;
        spoilt[36] ^= 1;
        assert_eq!(reply(&spoilt, 7), None, "damaged");
        let mut own = vec![0x45; 20];
        own.extend(asked);
        assert_eq!(reply(&own, 7), None, "a request, not a reply");
        assert_eq!(reply(&[], 7), None);
    }

    /// Round-trip times are those of each number, whatever the order of replies.
    #[test]
    fn a_row_has_the_trips_that_were_answered() {
        const SECOND: u64 = 1_000_000_000;
        let (size, interval) = (ByteCount::new(50), Span::from_secs(1));
        let ping = Ping { name: "w", place: 2, from: 0, to: 1, size, interval, duration: None };
        let row = |times, replies: &[(u64, u64)], error| {
            let sent = Sent { start: SECOND, times, error };
            let replies = replies.iter().copied().collect();
            super::super::ground::tests::without_network(|ground| ping.row(ground, sent, &replies))
        };
        let times = vec![SECOND, 2 * SECOND, 3 * SECOND, 4 * SECOND];
        // The reply to request 0 is the last; one to a request that was never sent does not count.
        let replies = [(1, 2 * SECOND + 40), (2, 3 * SECOND + 10), (0, 4 * SECOND), (9, 3 * SECOND)];
        let expected = Connection {
            workload: "w".to_owned(),
            protocol: Protocol::Icmp,
            from: "a".to_owned(),
            to: "b".to_owned(),
            from_port: 3,
            complete: true,
            start_ns: SECOND,
            established_ns: Some(2 * SECOND + 40),
            end_ns: 4 * SECOND,
            bytes: 150,
            goodput_bps: 400.0,
            segments: 4,
            lost: 1,
            round_trips: RoundTrips::of(vec![40, 10, 3 * SECOND]),
            idle_max_ns: SECOND - 10,
            ..Connection::default()
        };
        assert_eq!(row(times, &replies, None), expected);
        let none = row(vec![SECOND], &[], Some(io::Error::other("no way")));
        assert_eq!((none.complete, none.error.as_deref(), none.lost), (false, Some("no way"), 1));
        assert_eq!((none.end_ns, none.established_ns, none.round_trips), (SECOND, None, None));
    }
}
