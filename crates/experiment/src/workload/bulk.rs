//! Bulk TCP: a blocking sender that writes as fast as it can, and a blocking receiver.
//!
//! The receiver compares what it reads with what was sent, and discards it. Goodput is what the
//! receiver read, over the time from `connect` to the last byte. tcptrace's throughput counts to
//! the last FIN instead (tcp-lite 10.7), which is one round trip later.

use super::Amount;
use super::end::{ClientEnd, ClientPorts, ServerEnd, Site, Task, both};
use super::ground::Ground;
use super::payload::{Comparison, PIECE, Pattern, Stream, Wrong};
use super::reading::Reading;
use super::sampling::{Done, round_trips};
use super::server::{join, listen, serve};
use borsh::{BorshDeserialize, BorshSerialize};
use netlab::tcp;
use results::{Connection, Protocol, RoundTrips};
use std::collections::BTreeMap;
use std::io::{self, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::thread;
use std::time::{Duration, Instant};

/// A bulk workload.
#[derive(Debug)]
pub struct Bulk<'a> {
    /// Its name.
    pub name: &'a str,
    /// Its index in the plan.
    pub place: usize,
    /// The sender.
    pub from: usize,
    /// The receiver.
    pub to: usize,
    /// How much each connection carries.
    pub amount: Amount,
    /// Number of connections.
    pub connections: u32,
    /// Congestion control instead of the sender's.
    pub congestion_control: Option<&'a str>,
}

/// The sending end.
#[derive(Debug, Clone, BorshSerialize, BorshDeserialize)]
pub struct Sender {
    server: SocketAddr,
    ports: ClientPorts,
    place: u16,
    amount: Amount,
    connections: u32,
    congestion_control: Option<String>,
}

/// The receiving end.
#[derive(Debug, Clone, BorshSerialize, BorshDeserialize)]
pub struct Receiver {
    address: SocketAddr,
    place: u16,
    amount: Amount,
}

/// Measurements at the receiver, for one connection.
#[derive(Debug, Default, BorshSerialize, BorshDeserialize)]
pub struct Received {
    bytes: u64,
    last: u64,
    idle_max: u64,
    /// `None` if it is unknown what was sent.
    wrong: Option<Wrong>,
}

/// Measurements at the sender, for one connection.
#[derive(Debug, Default, BorshSerialize, BorshDeserialize)]
pub struct Sent {
    start: u64,
    established: Option<u64>,
    port: u16,
    segments: u64,
    retransmissions: u64,
    timeouts: u64,
    congestion_control: String,
    /// Samples of the smoothed round-trip time, in nanoseconds.
    round_trips: Vec<u64>,
    error: Option<String>,
}

impl Bulk<'_> {
    /// Runs the workload to its end.
    ///
    /// # Errors
    /// If it cannot start; later errors are in the rows.
    pub fn run(&self, ground: &Ground<'_>) -> Result<Vec<Connection>, String> {
        let (server, place) = (ground.server(self.to, self.place), self.place as u16);
        let to = Receiver { address: server, place, amount: self.amount };
        let from = Sender {
            server,
            ports: ClientPorts::of(ground, self.from, self.place),
            place,
            amount: self.amount,
            connections: self.connections,
            congestion_control: self.congestion_control.map(str::to_owned),
        };
        let (sent, received) = both(ground, self.name, (self.to, &to), (self.from, &from))?;
        let mut received: BTreeMap<u16, _> = received.into_iter().collect();
        let row = |(number, sent): (u32, Sent)| {
            let received = received.remove(&sent.port).unwrap_or_else(|| Ok(Received::default()));
            self.row(ground, number, sent, received)
        };
        Ok((0..).zip(sent).map(row).collect())
    }

    fn row(
        &self,
        ground: &Ground<'_>,
        number: u32,
        sent: Sent,
        received: Result<Received, String>,
    ) -> Connection {
        let over = ground.stop.is_over();
        let (received, lost) = match received {
            Ok(received) => (received, None),
            Err(error) => (Received::default(), Some(error)),
        };
        let whole = match self.amount {
            Amount::Bytes(bytes) => received.bytes == bytes.get(),
            Amount::Time(_) => received.bytes > 0,
        };
        let cut = (!whole && over).then(|| "cut off when the run was over".to_owned());
        let error = sent.error.or(lost);
        let end_ns = if received.bytes > 0 { received.last } else { ground.now() };
        let seconds = end_ns.saturating_sub(sent.start) as f64 / 1e9;
        Connection {
            workload: self.name.to_owned(),
            number,
            protocol: Protocol::Tcp,
            from: ground.name(self.from),
            to: ground.name(self.to),
            from_port: sent.port,
            to_port: ground.server(self.to, self.place).port(),
            congestion_control: sent.congestion_control,
            complete: whole,
            error: if whole { None } else { cut.or(error).or_else(|| Some("not all bytes arrived".into())) },
            start_ns: sent.start,
            established_ns: sent.established,
            end_ns,
            bytes: received.bytes,
            goodput_bps: if seconds > 0.0 { received.bytes as f64 * 8.0 / seconds } else { 0.0 },
            segments: sent.segments,
            retransmissions: sent.retransmissions,
            timeouts: sent.timeouts,
            lost: 0,
            round_trips: RoundTrips::of(sent.round_trips),
            idle_max_ns: received.idle_max,
            wrong_bytes: received.wrong.map(|wrong| wrong.bytes),
            misplaced: received.wrong.map(|wrong| wrong.misplaced),
            ..Connection::default()
        }
    }
}

impl From<Sender> for Task {
    fn from(end: Sender) -> Self {
        Self::BulkSender(end)
    }
}

impl From<Receiver> for Task {
    fn from(end: Receiver) -> Self {
        Self::BulkReceiver(end)
    }
}

impl ClientEnd for Sender {
    type Outcome = Vec<Sent>;

    fn run(&self, site: Site<'_>) -> Vec<Sent> {
        let pattern = &Pattern::new();
        thread::scope(|scope| {
            let start = |number| scope.spawn(move || self.send(site, number, pattern));
            let senders: Vec<_> = (0..self.connections).map(start).collect();
            senders.into_iter().map(join).collect()
        })
    }
}

impl Sender {
    fn send(&self, site: Site<'_>, number: u32, pattern: &Pattern) -> Sent {
        let start = site.clock.now();
        let connection =
            site.connect(self.server, self.ports.port(number), self.congestion_control.as_deref());
        let established = site.clock.now();
        let connection = match connection {
            Ok(connection) => connection,
            Err(error) => return Sent { start, error: Some(error.to_string()), ..Sent::default() },
        };
        let done = Done::default();
        let port = connection.local_addr().map_or(0, |address| address.port());
        let (error, round_trips) = thread::scope(|scope| {
            let samples = scope.spawn(|| round_trips(&connection, &done));
            let result = self.write(site, &connection, pattern.stream(self.place, port));
            done.tell();
            (result.err(), samples.join().unwrap_or_default())
        });
        let info = tcp::info(&connection).unwrap_or_default();
        Sent {
            start,
            established: Some(established),
            port,
            segments: info.data_segments_sent,
            retransmissions: info.retransmissions,
            timeouts: info.timeouts,
            congestion_control: tcp::congestion_control(&connection).unwrap_or_default(),
            round_trips,
            error: error.map(|error| error.to_string()),
        }
    }

    /// Writes all, and waits until the receiver has read all and closed the connection.
    fn write(&self, site: Site<'_>, mut connection: &TcpStream, stream: Stream<'_>) -> io::Result<()> {
        let mut offset = 0;
        match self.amount {
            Amount::Bytes(bytes) => {
                while offset < bytes.get() {
                    let next = (bytes.get() - offset).min(PIECE as u64);
                    connection.write_all(stream.at(offset, next as usize))?;
                    offset += next;
                }
            }
            Amount::Time(time) => {
                let end = Instant::now() + Duration::from(time);
                while Instant::now() < end && !site.stop.is_over() {
                    connection.write_all(stream.at(offset, PIECE))?;
                    offset += PIECE as u64;
                }
            }
        }
        connection.shutdown(Shutdown::Write)?;
        io::copy(&mut connection, &mut io::sink()).map(drop)
    }
}

impl ServerEnd for Receiver {
    /// By the sender's port.
    type Outcome = Vec<(u16, Result<Received, String>)>;

    fn serve<C: Send>(
        &self,
        site: Site<'_>,
        clients: impl FnOnce() -> C + Send,
    ) -> Result<(C, Self::Outcome), String> {
        let listener = listen(self.address)?;
        let pattern = Pattern::new();
        Ok(serve(&listener, |connection| self.receive(site, connection, &pattern), clients))
    }
}

impl Receiver {
    /// Reads until the sender has closed the connection.
    fn receive(&self, site: Site<'_>, connection: TcpStream, pattern: &Pattern) -> Result<Received, String> {
        // The sender's port identifies the stream.
        let sender = connection.peer_addr().ok();
        let mut comparison = sender.map(|sender| Comparison::new(pattern.stream(self.place, sender.port())));
        let connection = site.stop.watch(connection).map_err(|error| error.to_string())?;
        let mut reading = Reading::new(&connection, site.clock, self.amount);
        let mut buffer = vec![0; PIECE];
        // On an error, what arrived until then counts; the sender reports why it ended.
        while let Ok(count @ 1..) = reading.read(&mut buffer) {
            if let Some(comparison) = &mut comparison {
                comparison.add(&buffer[..count]);
            }
        }
        let Reading { last, idle_max, bytes, .. } = reading;
        Ok(Received { bytes, last, idle_max, wrong: comparison.map(|comparison| comparison.wrong()) })
    }
}

#[cfg(test)]
mod tests {
    use super::super::ground::tests::without_network;
    use super::*;
    use link::units::{ByteCount, Span};

    const SECOND: u64 = 1_000_000_000;

    fn bulk(amount: Amount) -> Bulk<'static> {
        Bulk { name: "w", place: 2, from: 0, to: 1, amount, connections: 1, congestion_control: None }
    }

    fn sent() -> Sent {
        Sent {
            start: SECOND,
            established: Some(SECOND + 1),
            port: 18_000,
            segments: 7,
            retransmissions: 5,
            timeouts: 3,
            congestion_control: "reno".to_owned(),
            round_trips: vec![4],
            error: None,
        }
    }

    fn received(bytes: u64) -> Received {
        Received { bytes, last: 3 * SECOND, idle_max: 9, wrong: Some(Wrong { bytes: 11, misplaced: 13 }) }
    }

    /// Goodput is in bit/s, from `connect` to the last byte.
    #[test]
    fn a_row_has_what_both_ends_measured() {
        let bulk = bulk(Amount::Bytes(ByteCount::new(500)));
        let row = without_network(|ground| bulk.row(ground, 4, sent(), Ok(received(500))));
        let expected = Connection {
            workload: "w".to_owned(),
            number: 4,
            protocol: Protocol::Tcp,
            from: "a".to_owned(),
            to: "b".to_owned(),
            from_port: 18_000,
            to_port: 5003,
            congestion_control: "reno".to_owned(),
            complete: true,
            error: None,
            start_ns: SECOND,
            established_ns: Some(SECOND + 1),
            end_ns: 3 * SECOND,
            bytes: 500,
            goodput_bps: 2000.0,
            segments: 7,
            retransmissions: 5,
            timeouts: 3,
            lost: 0,
            round_trips: RoundTrips::of(vec![4]),
            idle_max_ns: 9,
            wrong_bytes: Some(11),
            misplaced: Some(13),
            ..Connection::default()
        };
        assert_eq!(row, expected);
    }

    #[test]
    fn a_connection_with_a_byte_too_few_or_too_many_is_not_complete() {
        let bytes = bulk(Amount::Bytes(ByteCount::new(500)));
        for count in [499, 501] {
            let row = without_network(|ground| bytes.row(ground, 0, sent(), Ok(received(count))));
            assert_eq!((row.complete, row.error.as_deref()), (false, Some("not all bytes arrived")));
        }
        let time = bulk(Amount::Time(Span::from_secs(1)));
        let complete =
            |count| without_network(|ground| time.row(ground, 0, sent(), Ok(received(count)))).complete;
        assert_eq!([0, 1].map(complete), [false, true]);
    }

    /// What the sender says comes first: it knows why; an error after the last byte is none.
    #[test]
    fn why_a_connection_is_not_complete() {
        let bulk = bulk(Amount::Bytes(ByteCount::new(500)));
        let reset = || Sent { error: Some("reset".to_owned()), ..sent() };
        let error = |sent, received, over: bool| {
            without_network(|ground| {
                if over {
                    ground.stop.tell();
                }
                bulk.row(ground, 0, sent, received).error
            })
        };
        assert_eq!(error(reset(), Ok(received(1)), false).as_deref(), Some("reset"));
        assert_eq!(error(sent(), Err("no receiver".into()), false).as_deref(), Some("no receiver"));
        assert_eq!(error(reset(), Err("no receiver".into()), false).as_deref(), Some("reset"));
        assert_eq!(error(reset(), Ok(received(1)), true).as_deref(), Some("cut off when the run was over"));
        assert_eq!(error(reset(), Ok(received(500)), true), None);
    }
}
