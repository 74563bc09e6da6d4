//! Requests and responses, as in the ReSoA evaluation (resoa-evaluation 2.2 and 2.3).
//!
//! The client connects, sends a request of fixed size, and reads a response of fixed size. Then the
//! connection is closed.
//!
//! `throughput = (request bytes + response bytes) / (t_end - t_start)` (Eq. 8.1), from `connect` to
//! the last byte of the response at the client; closing does not count (M1, M2).

use super::ground::Ground;
use super::server::{join, serve};
use link::units::{ByteCount, Span};
use netlab::tcp;
use results::{Connection, Protocol, RoundTrips};
use std::collections::BTreeMap;
use std::io::{self, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::thread;
use std::time::Duration;

/// A request workload.
#[derive(Debug)]
pub struct Requests<'a> {
    /// Its name.
    pub name: &'a str,
    /// Its index in the plan.
    pub place: usize,
    /// The client.
    pub client: usize,
    /// The server.
    pub server: usize,
    /// Size of a request.
    pub request: ByteCount,
    /// Size of a response.
    pub response: ByteCount,
    /// Number of consecutive requests.
    pub times: u32,
    /// Pause between a response and the next request.
    pub pause: Span,
    /// Number of parallel clients.
    pub clients: u32,
    /// Congestion control instead of the nodes'.
    pub congestion_control: Option<&'a str>,
}

/// The client's measurements of one request.
struct Asked {
    number: u32,
    start: u64,
    established: Option<u64>,
    end: u64,
    port: u16,
    received: u64,
    idle_max: u64,
    error: Option<io::Error>,
}

/// The server's measurements of one request.
#[derive(Default)]
struct Served {
    info: tcp::Info,
    congestion_control: String,
}

impl Requests<'_> {
    /// Runs all requests.
    ///
    /// # Errors
    /// If the server cannot start; later errors are in the rows.
    pub fn run(&self, ground: &Ground<'_>) -> Result<Vec<Connection>, String> {
        let server = ground.server(self.server, self.place);
        let listener = ground
            .namespace(self.server)
            .enter(|| Ok(ground.listen(server)))
            .map_err(|error| error.to_string())?
            .map_err(|error| format!("cannot listen at {server}: {error}"))?;
        let (asked, answered) = serve(
            &listener,
            |connection| self.answer(ground, connection).unwrap_or_default(),
            || {
                thread::scope(|scope| {
                    let start = |client| scope.spawn(move || self.ask_all(ground, server, client));
                    let clients: Vec<_> = (0..self.clients).map(start).collect();
                    clients.into_iter().map(join).collect::<Result<Vec<_>, String>>()
                })
            },
        );
        let mut answered: BTreeMap<u16, Served> = answered.into_iter().collect();
        let row = |asked: Asked| {
            let its = answered.remove(&asked.port).unwrap_or_default();
            self.row(ground, asked, its)
        };
        Ok(asked?.into_iter().flatten().map(row).collect())
    }

    /// Makes all requests of one client.
    fn ask_all(&self, ground: &Ground<'_>, server: SocketAddr, client: u32) -> Result<Vec<Asked>, String> {
        let worked = ground.namespace(self.client).enter(|| {
            let mut all = Vec::new();
            for time in 0..self.times {
                if time > 0 {
                    let pause = Duration::from(self.pause);
                    ground.stop.sleep_until(std::time::Instant::now(), pause);
                }
                if ground.stop.is_over() {
                    break;
                }
                all.push(self.ask(ground, server, client * self.times + time));
            }
            Ok(all)
        });
        worked.map_err(|error| error.to_string())
    }

    fn ask(&self, ground: &Ground<'_>, server: SocketAddr, number: u32) -> Asked {
        let start = ground.now();
        let mut asked = Asked {
            number,
            start,
            established: None,
            end: start,
            port: 0,
            received: 0,
            idle_max: 0,
            error: None,
        };
        asked.error = self.exchange(ground, server, &mut asked).err();
        asked
    }

    fn exchange(&self, ground: &Ground<'_>, server: SocketAddr, asked: &mut Asked) -> io::Result<()> {
        let connection = ground.connect(server, self.place, asked.number, self.congestion_control)?;
        asked.established = Some(ground.now());
        asked.port = connection.local_addr()?.port();
        asked.end = ground.now();
        let mut connection = &*connection;
        connection.write_all(&vec![b'?'; self.request.get() as usize])?;
        let mut buffer = vec![0; 64 * 1024];
        while asked.received < self.response.get() {
            let count = connection.read(&mut buffer)?;
            if count == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            let now = ground.now();
            asked.idle_max = asked.idle_max.max(now - asked.end);
            asked.end = now;
            asked.received += count as u64;
        }
        Ok(())
    }

    /// Reads a request, writes the response, and waits until the client has closed the connection.
    fn answer(&self, ground: &Ground<'_>, connection: TcpStream) -> io::Result<Served> {
        let connection = ground.stop.watch(connection)?;
        let mut connection = &*connection;
        if let Some(name) = self.congestion_control {
            tcp::set_congestion_control(connection, name).map_err(io::Error::other)?;
        }
        let mut request = vec![0; self.request.get() as usize];
        connection.read_exact(&mut request)?;
        let piece = vec![b'!'; 64 * 1024];
        let mut left = self.response.get();
        let mut written = Ok(());
        while left > 0 && written.is_ok() {
            let next = left.min(piece.len() as u64);
            written = connection.write_all(&piece[..next as usize]);
            left -= next;
        }
        if written.is_ok() {
            connection.shutdown(Shutdown::Write)?;
            // A reset at the end is the client's way of closing early; the kernel's counters
            // remain.
            let _ = io::copy(&mut connection, &mut io::sink());
        }
        Ok(Served {
            info: tcp::info(connection).unwrap_or_default(),
            congestion_control: tcp::congestion_control(connection).unwrap_or_default(),
        })
    }

    fn row(&self, ground: &Ground<'_>, asked: Asked, served: Served) -> Connection {
        let complete = asked.received == self.response.get();
        let bytes = asked.received + if complete { self.request.get() } else { 0 };
        let seconds = asked.end.saturating_sub(asked.start) as f64 / 1e9;
        let smoothed = served.info.round_trip.as_nanos() as u64;
        let cut = (!complete && ground.stop.is_over()).then(|| "cut off when the run was over".to_owned());
        Connection {
            workload: self.name.to_owned(),
            number: asked.number,
            protocol: Protocol::Tcp,
            from: ground.name(self.server),
            to: ground.name(self.client),
            from_port: ground.server(self.server, self.place).port(),
            to_port: asked.port,
            congestion_control: served.congestion_control,
            complete,
            error: if complete { None } else { cut.or_else(|| asked.error.map(|error| error.to_string())) },
            start_ns: asked.start,
            established_ns: asked.established,
            end_ns: asked.end,
            bytes,
            goodput_bps: if seconds > 0.0 { bytes as f64 * 8.0 / seconds } else { 0.0 },
            segments: served.info.data_segments_sent,
            retransmissions: served.info.retransmissions,
            timeouts: served.info.timeouts,
            lost: 0,
            round_trips: RoundTrips::of(if smoothed > 0 { vec![smoothed] } else { Vec::new() }),
            idle_max_ns: asked.idle_max,
            wrong_bytes: None,
            misplaced: None,
            losses: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::ground::tests::without_network;
    use super::*;

    const SECOND: u64 = 1_000_000_000;

    fn row(received: u64, error: Option<&str>, over: bool) -> Connection {
        let requests = Requests {
            name: "w",
            place: 2,
            client: 0,
            server: 1,
            request: ByteCount::new(100),
            response: ByteCount::new(400),
            times: 3,
            pause: Span::ZERO,
            clients: 1,
            congestion_control: None,
        };
        let asked = Asked {
            number: 4,
            start: SECOND,
            established: Some(SECOND + 1),
            end: 3 * SECOND,
            port: 18_000,
            received,
            idle_max: 9,
            error: error.map(io::Error::other),
        };
        let info = tcp::Info {
            round_trip: Duration::from_micros(2),
            data_segments_sent: 7,
            retransmissions: 5,
            timeouts: 3,
            ..tcp::Info::default()
        };
        let served = Served { info, congestion_control: "reno".to_owned() };
        without_network(|ground| {
            if over {
                ground.stop.tell();
            }
            requests.row(ground, asked, served)
        })
    }

    /// Eq. 8.1: the bytes of request and response. A response goes from the server to the client.
    #[test]
    fn a_row_is_about_the_way_of_the_response() {
        let expected = Connection {
            workload: "w".to_owned(),
            number: 4,
            protocol: Protocol::Tcp,
            from: "b".to_owned(),
            to: "a".to_owned(),
            from_port: 5003,
            to_port: 18_000,
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
            round_trips: RoundTrips::of(vec![2000]),
            idle_max_ns: 9,
            wrong_bytes: None,
            misplaced: None,
            losses: None,
        };
        assert_eq!(row(400, None, false), expected);
        assert_eq!(row(400, Some("reset"), true), expected, "an error after the last byte is none");
    }

    #[test]
    fn a_response_that_is_cut_short() {
        let cut = row(399, Some("reset"), false);
        assert_eq!((cut.complete, cut.bytes, cut.error.as_deref()), (false, 399, Some("reset")));
        assert_eq!(row(399, Some("reset"), true).error.as_deref(), Some("cut off when the run was over"));
    }
}
