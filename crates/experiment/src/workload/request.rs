//! Requests and responses, as in the ReSoA evaluation (resoa-evaluation 2.2 and 2.3).
//!
//! The client connects, sends a request of fixed size, and reads a response of fixed size. Then the
//! connection is closed.
//!
//! `throughput = (request bytes + response bytes) / (t_end - t_start)` (Eq. 8.1), from `connect` to
//! the last byte of the response at the client; closing does not count (M1, M2).

use super::Amount;
use super::end::{ClientEnd, ClientPorts, ServerEnd, Site, Task, both};
use super::ground::Ground;
use super::reading::Reading;
use super::server::{join, listen, serve};
use borsh::{BorshDeserialize, BorshSerialize};
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
    /// Whether the call that connects sends the request (M7).
    pub fast_open: bool,
}

/// The end with the clients.
#[derive(Debug, Clone, BorshSerialize, BorshDeserialize)]
pub struct Client {
    server: SocketAddr,
    ports: ClientPorts,
    request: ByteCount,
    response: ByteCount,
    times: u32,
    pause: Span,
    clients: u32,
    congestion_control: Option<String>,
    fast_open: bool,
}

/// The end with the server.
#[derive(Debug, Clone, BorshSerialize, BorshDeserialize)]
pub struct Server {
    address: SocketAddr,
    request: ByteCount,
    response: ByteCount,
    congestion_control: Option<String>,
}

/// The client's measurements of one request.
#[derive(Debug, BorshSerialize, BorshDeserialize)]
pub struct Asked {
    number: u32,
    start: u64,
    established: Option<u64>,
    end: u64,
    port: u16,
    received: u64,
    idle_max: u64,
    error: Option<String>,
}

/// The server's measurements of one request.
#[derive(Debug, Default, BorshSerialize, BorshDeserialize)]
pub struct Served {
    /// The smoothed round-trip time at the end in nanoseconds; 0 if there is none.
    round_trip: u64,
    segments: u64,
    retransmissions: u64,
    timeouts: u64,
    congestion_control: String,
}

impl Requests<'_> {
    /// Runs all requests.
    ///
    /// # Errors
    /// If the server cannot start; later errors are in the rows.
    pub fn run(&self, ground: &Ground<'_>) -> Result<Vec<Connection>, String> {
        let congestion_control = self.congestion_control.map(str::to_owned);
        let address = ground.server(self.server, self.place);
        let answering = Server {
            address,
            request: self.request,
            response: self.response,
            congestion_control: congestion_control.clone(),
        };
        let asking = Client {
            server: address,
            ports: ClientPorts::of(ground, self.client, self.place),
            request: self.request,
            response: self.response,
            times: self.times,
            pause: self.pause,
            clients: self.clients,
            congestion_control,
            fast_open: self.fast_open,
        };
        let (asked, served) = both(ground, self.name, (self.server, &answering), (self.client, &asking))?;
        let mut served: BTreeMap<u16, Served> = served.into_iter().collect();
        let row = |asked: Asked| {
            let its = served.remove(&asked.port).unwrap_or_default();
            self.row(ground, asked, its)
        };
        Ok(asked.into_iter().map(row).collect())
    }

    fn row(&self, ground: &Ground<'_>, asked: Asked, served: Served) -> Connection {
        let complete = asked.received == self.response.get();
        let bytes = asked.received + if complete { self.request.get() } else { 0 };
        let seconds = asked.end.saturating_sub(asked.start) as f64 / 1e9;
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
            error: if complete { None } else { cut.or(asked.error) },
            start_ns: asked.start,
            established_ns: asked.established,
            end_ns: asked.end,
            bytes,
            goodput_bps: if seconds > 0.0 { bytes as f64 * 8.0 / seconds } else { 0.0 },
            segments: served.segments,
            retransmissions: served.retransmissions,
            timeouts: served.timeouts,
            lost: 0,
            round_trips: RoundTrips::of(if served.round_trip > 0 {
                vec![served.round_trip]
            } else {
                Vec::new()
            }),
            idle_max_ns: asked.idle_max,
            ..Connection::default()
        }
    }
}

impl From<Client> for Task {
    fn from(end: Client) -> Self {
        Self::RequestClient(end)
    }
}

impl From<Server> for Task {
    fn from(end: Server) -> Self {
        Self::RequestServer(end)
    }
}

impl ClientEnd for Client {
    type Outcome = Vec<Asked>;

    fn run(&self, site: Site<'_>) -> Vec<Asked> {
        thread::scope(|scope| {
            let start = |client| scope.spawn(move || self.ask_all(site, client));
            let clients: Vec<_> = (0..self.clients).map(start).collect();
            clients.into_iter().flat_map(join).collect()
        })
    }
}

impl Client {
    /// Makes all requests of one client.
    fn ask_all(&self, site: Site<'_>, client: u32) -> Vec<Asked> {
        let mut all = Vec::new();
        for time in 0..self.times {
            if time > 0 {
                site.stop.sleep_until(std::time::Instant::now(), Duration::from(self.pause));
            }
            if site.stop.is_over() {
                break;
            }
            all.push(self.ask(site, client * self.times + time));
        }
        all
    }

    fn ask(&self, site: Site<'_>, number: u32) -> Asked {
        let start = site.clock.now();
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
        asked.error = self.exchange(site, &mut asked).err().map(|error| error.to_string());
        asked
    }

    fn exchange(&self, site: Site<'_>, asked: &mut Asked) -> io::Result<()> {
        let port = self.ports.port(asked.number);
        let request = vec![b'?'; self.request.get() as usize];
        let first = if self.fast_open { &request[..] } else { &[] };
        let (connection, sent) = site.open(self.server, port, self.congestion_control.as_deref(), first)?;
        asked.established = Some(site.clock.now());
        asked.port = connection.local_addr()?.port();
        let mut reading = Reading::new(&connection, site.clock, Amount::Bytes(self.response));
        asked.end = reading.last;
        (&*connection).write_all(&request[sent..])?;
        let received = reading.discard();
        (asked.end, asked.idle_max, asked.received) = (reading.last, reading.idle_max, reading.bytes);
        received
    }
}

impl ServerEnd for Server {
    /// By the client's port.
    type Outcome = Vec<(u16, Served)>;

    fn serve<C: Send>(
        &self,
        site: Site<'_>,
        clients: impl FnOnce() -> C + Send,
    ) -> Result<(C, Self::Outcome), String> {
        let listener = listen(self.address)?;
        Ok(serve(&listener, |connection| self.answer(site, connection).unwrap_or_default(), clients))
    }
}

impl Server {
    /// Reads a request, writes the response, and waits until the client has closed the connection.
    fn answer(&self, site: Site<'_>, connection: TcpStream) -> io::Result<Served> {
        let connection = site.stop.watch(connection)?;
        let mut connection = &*connection;
        if let Some(name) = &self.congestion_control {
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
        let info = tcp::info(connection).unwrap_or_default();
        Ok(Served {
            round_trip: info.round_trip.as_nanos() as u64,
            segments: info.data_segments_sent,
            retransmissions: info.retransmissions,
            timeouts: info.timeouts,
            congestion_control: tcp::congestion_control(connection).unwrap_or_default(),
        })
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
            fast_open: false,
        };
        let asked = Asked {
            number: 4,
            start: SECOND,
            established: Some(SECOND + 1),
            end: 3 * SECOND,
            port: 18_000,
            received,
            idle_max: 9,
            error: error.map(str::to_owned),
        };
        let served = Served {
            round_trip: 2000,
            segments: 7,
            retransmissions: 5,
            timeouts: 3,
            congestion_control: "reno".to_owned(),
        };
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
            ..Connection::default()
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
