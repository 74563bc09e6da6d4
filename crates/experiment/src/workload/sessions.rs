//! Sessions of TCP sources: the cross traffic of other users.
//!
//! Each source has sessions that arrive as a Poisson process and have log-normal lengths
//! (resoa-evaluation 4.7; [`arrivals`]). A session is a TCP connection of its own that carries its
//! bytes as fast as TCP can. The loop is open: arrivals do not wait for earlier sessions. But a
//! source has one session at a time, and one that arrives meanwhile waits in the source. So a
//! workload has at most as many connections at a time as sources, however large the load.
//!
//! The results have one row for all sessions together.

mod arrivals;

pub use arrivals::Law;

use super::end::{ClientEnd, ClientPorts, ServerEnd, Site, Task, both};
use super::ground::Ground;
use super::payload::PIECE;
use super::server::{join, listen, serve};
use arrivals::{Arrivals, Offered};
use borsh::{BorshDeserialize, BorshSerialize};
use link::Seed;
use link::units::{ByteCount, Span};
use netlab::tcp;
use results::{Connection, Protocol, RoundTrips, SessionCounts};
use std::io::{self, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::thread;
use std::time::{Duration, Instant};

/// A workload of sessions.
#[derive(Debug)]
pub struct Sessions<'a> {
    /// Its name.
    pub name: &'a str,
    /// Its index in the plan.
    pub place: usize,
    /// The node with the sources.
    pub from: usize,
    /// The node that receives.
    pub to: usize,
    /// Number of sources.
    pub sources: u32,
    /// Law of the sessions of each source.
    pub law: Law,
    /// Time in which sessions arrive; until the run ends if `None`.
    pub duration: Option<Span>,
    /// Congestion control instead of the sender's.
    pub congestion_control: Option<&'a str>,
}

/// The end with the sources.
#[derive(Debug, Clone, BorshSerialize, BorshDeserialize)]
pub struct Sources {
    sink: SocketAddr,
    ports: ClientPorts,
    count: u32,
    law: Law,
    duration: Option<Span>,
    congestion_control: Option<String>,
    seed: Seed,
}

/// The receiving end.
#[derive(Debug, Clone, BorshSerialize, BorshDeserialize)]
pub struct Sink {
    address: SocketAddr,
}

/// Measurements of one source, or of all together.
#[derive(Debug, Default, BorshSerialize, BorshDeserialize)]
pub struct Sent {
    /// Start of the source.
    start: u64,
    /// Time in which sessions arrived, from the start, in nanoseconds.
    arriving: u64,
    arrived: u64,
    offered: u64,
    begun: u64,
    ended: u64,
    segments: u64,
    retransmissions: u64,
    timeouts: u64,
    /// The smoothed round-trip time at the end of each session, in nanoseconds.
    round_trips: Vec<u64>,
    congestion_control: String,
    /// The first error.
    error: Option<String>,
}

/// Bytes of one session at the sink.
#[derive(Debug, Clone, Copy, Default, BorshSerialize, BorshDeserialize)]
pub struct Carried {
    bytes: u64,
    last: u64,
}

impl Sessions<'_> {
    /// Runs the workload to its end.
    ///
    /// # Errors
    /// If an end cannot start; later errors are in the row.
    pub fn run(&self, ground: &Ground<'_>) -> Result<Vec<Connection>, String> {
        let address = ground.server(self.to, self.place);
        let sources = Sources {
            sink: address,
            ports: ClientPorts::of(ground, self.from, self.place),
            count: self.sources,
            law: self.law,
            duration: self.duration,
            congestion_control: self.congestion_control.map(str::to_owned),
            seed: ground.seed.workload(self.name),
        };
        let (sent, carried) = both(ground, self.name, (self.to, &Sink { address }), (self.from, &sources))?;
        let sent = sent.into_iter().reduce(Sent::and).unwrap_or_else(|| Sent::new(ground.now()));
        Ok(vec![self.row(ground, sent, &carried)])
    }

    fn row(&self, ground: &Ground<'_>, sent: Sent, carried: &[(u16, Carried)]) -> Connection {
        let bytes = carried.iter().map(|(_, session)| session.bytes).sum();
        let last = carried.iter().map(|(_, session)| session.last).max().unwrap_or_default();
        let end_ns = last.max(sent.start + sent.arriving);
        let seconds = (end_ns - sent.start) as f64 / 1e9;
        let complete = bytes == sent.offered && sent.error.is_none();
        let cut = ground.stop.is_over().then(|| "cut off when the run was over".to_owned());
        let error = sent.error.or(cut).or_else(|| Some("not all bytes arrived".into()));
        Connection {
            workload: self.name.to_owned(),
            number: 0,
            protocol: Protocol::Tcp,
            from: ground.name(self.from),
            to: ground.name(self.to),
            from_port: 0,
            to_port: ground.server(self.to, self.place).port(),
            congestion_control: sent.congestion_control,
            complete,
            error: if complete { None } else { error },
            start_ns: sent.start,
            established_ns: None,
            end_ns,
            bytes,
            goodput_bps: if seconds > 0.0 { bytes as f64 * 8.0 / seconds } else { 0.0 },
            segments: sent.segments,
            retransmissions: sent.retransmissions,
            timeouts: sent.timeouts,
            lost: 0,
            round_trips: RoundTrips::of(sent.round_trips),
            idle_max_ns: 0,
            wrong_bytes: None,
            misplaced: None,
            sessions: Some(SessionCounts {
                arriving_ns: sent.arriving,
                offered_bytes: sent.offered,
                arrived: sent.arrived,
                begun: sent.begun,
                ended: sent.ended,
            }),
            ..Connection::default()
        }
    }
}

impl From<Sources> for Task {
    fn from(end: Sources) -> Self {
        Self::SessionSources(end)
    }
}

impl From<Sink> for Task {
    fn from(end: Sink) -> Self {
        Self::SessionSink(end)
    }
}

impl ClientEnd for Sources {
    /// By source.
    type Outcome = Vec<Sent>;

    fn run(&self, site: Site<'_>) -> Vec<Sent> {
        let (start, begin) = (site.clock.now(), Instant::now());
        thread::scope(|scope| {
            let run = |source| scope.spawn(move || self.source(site, source, start, begin));
            let sources: Vec<_> = (0..self.count).map(run).collect();
            sources.into_iter().map(join).collect()
        })
    }
}

impl Sources {
    /// Runs one source, until its time is over and its sessions have ended, or the run is over.
    fn source(&self, site: Site<'_>, source: u32, start: u64, begin: Instant) -> Sent {
        let mut sent = Sent::new(start);
        let arrivals = || Arrivals::new(self.law, &self.seed, source);
        let end = self.duration.unwrap_or(Span::MAX);
        for session in arrivals().take_while(|session| session.due < end) {
            site.stop.sleep_until(begin, Duration::from(session.due));
            if site.stop.is_over() {
                break;
            }
            let number = u64::from(source) + sent.begun * u64::from(self.count);
            let number = u32::try_from(number).unwrap_or(u32::MAX);
            sent.begun += 1;
            match self.session(site, number, session.length, &mut sent) {
                // The end of the run ends every session, one way or the other.
                _ if site.stop.is_over() => break,
                Ok(()) => sent.ended += 1,
                Err(error) => {
                    sent.error.get_or_insert(error.to_string());
                }
            }
        }
        sent.arriving = end.as_nanos().min(site.clock.now() - start);
        // Sessions that waited in the source arrived, too.
        let Offered { sessions, bytes } = arrivals().before(Span::from_nanos(sent.arriving));
        (sent.arrived, sent.offered) = (sessions, bytes);
        sent
    }

    /// Carries one session, until the sink has read all and closed the connection.
    fn session(&self, site: Site<'_>, number: u32, length: ByteCount, sent: &mut Sent) -> io::Result<()> {
        // A port that was used before may still belong to a connection that closes.
        let port = if ClientPorts::repeats(number) { None } else { self.ports.port(number) };
        let connection = site.connect(self.sink, port, self.congestion_control.as_deref())?;
        let carried = write(&connection, length);
        let info = tcp::info(&connection).unwrap_or_default();
        sent.segments += info.data_segments_sent;
        sent.retransmissions += info.retransmissions;
        sent.timeouts += info.timeouts;
        if !info.round_trip.is_zero() {
            sent.round_trips.push(info.round_trip.as_nanos() as u64);
        }
        if sent.congestion_control.is_empty() {
            sent.congestion_control = tcp::congestion_control(&connection).unwrap_or_default();
        }
        carried
    }
}

impl Sent {
    fn new(start: u64) -> Self {
        Self { start, ..Self::default() }
    }

    /// Adds the measurements of two sources up.
    fn and(mut self, mut other: Self) -> Self {
        self.round_trips.append(&mut other.round_trips);
        let congestion_control = if self.congestion_control.is_empty() {
            other.congestion_control
        } else {
            self.congestion_control
        };
        Self {
            start: self.start.min(other.start),
            arriving: self.arriving.max(other.arriving),
            arrived: self.arrived + other.arrived,
            offered: self.offered + other.offered,
            begun: self.begun + other.begun,
            ended: self.ended + other.ended,
            segments: self.segments + other.segments,
            retransmissions: self.retransmissions + other.retransmissions,
            timeouts: self.timeouts + other.timeouts,
            round_trips: self.round_trips,
            congestion_control,
            error: self.error.or(other.error),
        }
    }
}

/// Writes `length` bytes, and waits until the other end has closed the connection.
fn write(mut connection: &TcpStream, length: ByteCount) -> io::Result<()> {
    let piece = vec![b'.'; PIECE];
    let mut left = length.get();
    while left > 0 {
        let next = left.min(PIECE as u64);
        connection.write_all(&piece[..next as usize])?;
        left -= next;
    }
    connection.shutdown(Shutdown::Write)?;
    io::copy(&mut connection, &mut io::sink()).map(drop)
}

impl ServerEnd for Sink {
    /// By the source's port.
    type Outcome = Vec<(u16, Carried)>;

    fn serve<C: Send>(
        &self,
        site: Site<'_>,
        clients: impl FnOnce() -> C + Send,
    ) -> Result<(C, Self::Outcome), String> {
        let listener = listen(self.address)?;
        Ok(serve(&listener, |connection| read(site, connection), clients))
    }
}

/// Reads until the source has closed the connection; on an error, what arrived until then counts.
fn read(site: Site<'_>, connection: TcpStream) -> Carried {
    let mut carried = Carried::default();
    let Ok(connection) = site.stop.watch(connection) else { return carried };
    let mut buffer = vec![0; PIECE];
    loop {
        match (&*connection).read(&mut buffer) {
            Ok(count @ 1..) => {
                carried = Carried { bytes: carried.bytes + count as u64, last: site.clock.now() };
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Ok(0) | Err(_) => return carried,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::ground::tests::without_network;
    use super::*;

    const SECOND: u64 = 1_000_000_000;

    fn sent() -> Sent {
        Sent {
            start: SECOND,
            arriving: 4 * SECOND,
            arrived: 9,
            offered: 600,
            begun: 8,
            ended: 7,
            segments: 6,
            retransmissions: 5,
            timeouts: 3,
            round_trips: vec![4],
            congestion_control: "reno".to_owned(),
            error: None,
        }
    }

    fn row(sent: Sent, carried: &[(u16, Carried)], over: bool) -> Connection {
        let law = Law { interval: Span::from_secs(1), mean: ByteCount::new(1), sigma: 1.0 };
        let sessions = Sessions {
            name: "w",
            place: 2,
            from: 0,
            to: 1,
            sources: 2,
            law,
            duration: None,
            congestion_control: None,
        };
        without_network(|ground| {
            if over {
                ground.stop.tell();
            }
            sessions.row(ground, sent, carried)
        })
    }

    const CARRIED: [(u16, Carried); 2] = [
        (10_000, Carried { bytes: 100, last: 9 * SECOND }),
        (10_001, Carried { bytes: 500, last: 2 * SECOND }),
    ];

    /// Goodput is in bit/s, from the start of the sources to the last byte.
    #[test]
    fn a_row_has_all_sessions_together() {
        let expected = Connection {
            workload: "w".to_owned(),
            number: 0,
            protocol: Protocol::Tcp,
            from: "a".to_owned(),
            to: "b".to_owned(),
            from_port: 0,
            to_port: 5003,
            congestion_control: "reno".to_owned(),
            complete: true,
            error: None,
            start_ns: SECOND,
            established_ns: None,
            end_ns: 9 * SECOND,
            bytes: 600,
            goodput_bps: 600.0,
            segments: 6,
            retransmissions: 5,
            timeouts: 3,
            lost: 0,
            round_trips: RoundTrips::of(vec![4]),
            idle_max_ns: 0,
            wrong_bytes: None,
            misplaced: None,
            sessions: Some(SessionCounts {
                arriving_ns: 4 * SECOND,
                offered_bytes: 600,
                arrived: 9,
                begun: 8,
                ended: 7,
            }),
            ..Connection::default()
        };
        assert_eq!(row(sent(), &CARRIED, false), expected);
    }

    #[test]
    fn sessions_that_were_cut_off_or_refused() {
        let cut = row(sent(), &CARRIED[..1], true);
        assert_eq!((cut.complete, cut.bytes), (false, 100));
        assert_eq!(cut.error.as_deref(), Some("cut off when the run was over"));
        let refused = Sent { error: Some("refused".to_owned()), ..sent() };
        assert_eq!(row(refused, &[], false).error.as_deref(), Some("refused"));
        let lost = row(sent(), &[], false);
        assert_eq!((lost.end_ns, lost.error.as_deref()), (5 * SECOND, Some("not all bytes arrived")));
    }

    /// Times are those of the first start and the latest end; everything else is added up.
    #[test]
    fn sources_add_up() {
        let other = Sent { start: 7, arriving: 5 * SECOND, error: Some("refused".into()), ..sent() };
        let both = Sent::default().and(sent()).and(other);
        assert_eq!((both.start, both.arriving), (0, 5 * SECOND));
        let counts = [both.arrived, both.offered, both.begun, both.ended];
        assert_eq!(counts, [18, 1200, 16, 14]);
        assert_eq!((both.segments, both.retransmissions, both.timeouts), (12, 10, 6));
        assert_eq!((both.round_trips, both.congestion_control.as_str()), (vec![4, 4], "reno"));
        assert_eq!(both.error.as_deref(), Some("refused"));
    }
}
