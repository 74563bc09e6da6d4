//! Datagrams at a constant rate, continuous or in bursts: to measure a link, and as background
//! traffic.
//!
//! Each carries its number and the time at which it was sent. Both nodes have the same clock, so
//! the receiver knows the one-way delay. On and off times are drawn from exponential distributions,
//! with the seed of the workload.

use super::end::{ClientEnd, ServerEnd, Site, Task, both};
use super::ground::Ground;
use borsh::{BorshDeserialize, BorshSerialize};
use link::Seed;
use link::units::{BitRate, ByteCount, Span};
use rand_distr::{Distribution, Exp};
use results::{Connection, Protocol, RoundTrips};
use std::collections::HashSet;
use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr, UdpSocket};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// A workload of datagrams.
#[derive(Debug)]
pub struct Datagrams<'a> {
    /// Its name.
    pub name: &'a str,
    /// Its index in the plan.
    pub place: usize,
    /// The sender.
    pub from: usize,
    /// The receiver.
    pub to: usize,
    /// Rate of application data while on.
    pub rate: BitRate,
    /// Size of the application data in each: number, time, padding.
    pub size: ByteCount,
    /// Duration; until the run ends if `None`.
    pub duration: Option<Span>,
    /// Mean on and off times.
    pub on_off: Option<(Span, Span)>,
}

/// The sending end.
#[derive(Debug, Clone, BorshSerialize, BorshDeserialize)]
pub struct Sender {
    server: SocketAddr,
    rate: BitRate,
    size: ByteCount,
    duration: Option<Span>,
    on_off: Option<(Span, Span)>,
    seed: Seed,
}

/// The receiving end.
#[derive(Debug, Clone, BorshSerialize, BorshDeserialize)]
pub struct Receiver {
    address: SocketAddr,
}

/// Size of number and time in bytes.
const HEADER: usize = 16;
/// Time for which the receiver waits for late datagrams after the last was sent, restarted by each
/// arrival.
const PATIENCE: Duration = Duration::from_secs(2);
/// Interval at which the receiver checks whether the run is over.
const LOOK: Duration = Duration::from_millis(100);

/// Result of the sender.
#[derive(Debug, BorshSerialize, BorshDeserialize)]
pub struct Sent {
    start: u64,
    count: u64,
    port: u16,
    error: Option<String>,
}

/// Measurements at the receiver.
#[derive(Debug, Default, BorshSerialize, BorshDeserialize)]
pub struct Received {
    first: Option<u64>,
    last: u64,
    bytes: u64,
    numbers: HashSet<u64>,
    delays: Vec<u64>,
    idle_max: u64,
}

impl Datagrams<'_> {
    /// Runs the workload to its end.
    ///
    /// # Errors
    /// If the receiver cannot start or fails.
    pub fn run(&self, ground: &Ground<'_>) -> Result<Vec<Connection>, String> {
        let server = ground.server(self.to, self.place);
        let to = Receiver { address: server };
        let from = Sender {
            server,
            rate: self.rate,
            size: self.size,
            duration: self.duration,
            on_off: self.on_off,
            seed: ground.seed.workload(self.name),
        };
        let (sent, received) = both(ground, self.name, (self.to, &to), (self.from, &from))?;
        Ok(vec![self.row(ground, sent, received)])
    }

    fn row(&self, ground: &Ground<'_>, sent: Sent, received: Received) -> Connection {
        let seconds = received.last.saturating_sub(sent.start) as f64 / 1e9;
        Connection {
            workload: self.name.to_owned(),
            number: 0,
            protocol: Protocol::Udp,
            from: ground.name(self.from),
            to: ground.name(self.to),
            from_port: sent.port,
            to_port: ground.server(self.to, self.place).port(),
            congestion_control: String::new(),
            complete: sent.error.is_none(),
            error: sent.error,
            start_ns: sent.start,
            established_ns: received.first,
            end_ns: received.last.max(sent.start),
            bytes: received.bytes,
            goodput_bps: if seconds > 0.0 { received.bytes as f64 * 8.0 / seconds } else { 0.0 },
            segments: sent.count,
            retransmissions: 0,
            timeouts: 0,
            lost: sent.count.saturating_sub(received.numbers.len() as u64),
            round_trips: RoundTrips::of(received.delays),
            idle_max_ns: received.idle_max,
            ..Connection::default()
        }
    }
}

impl From<Sender> for Task {
    fn from(end: Sender) -> Self {
        Self::DatagramSender(end)
    }
}

impl From<Receiver> for Task {
    fn from(end: Receiver) -> Self {
        Self::DatagramReceiver(end)
    }
}

impl ClientEnd for Sender {
    type Outcome = Sent;

    /// Sends on an absolute timetable: a late wake-up does not lower the rate.
    fn run(&self, site: Site<'_>) -> Sent {
        let mut sent = Sent { start: site.clock.now(), count: 0, port: 0, error: None };
        sent.error = self.send_all(site, &mut sent).err().map(|error| error.to_string());
        sent
    }
}

impl Sender {
    fn send_all(&self, site: Site<'_>, sent: &mut Sent) -> io::Result<()> {
        let socket = UdpSocket::bind((IpAddr::V4(Ipv4Addr::UNSPECIFIED), 0))?;
        socket.connect(self.server)?;
        sent.port = socket.local_addr()?.port();
        let mut datagram = vec![0; self.size.get() as usize];
        let interval = Duration::from_nanos(self.rate.time_for(self.size).as_nanos());
        let mut stream = self.seed.stream();
        let mut draw = |mean: Span| {
            let nanos = Exp::new(1.0).map_or(1.0, |law| law.sample(&mut stream)) * mean.as_nanos() as f64;
            Duration::from_nanos(nanos as u64)
        };
        let begin = Instant::now();
        let end = self.duration.map(Duration::from);
        let mut due = Duration::ZERO;
        let mut off_at = self.on_off.map(|(on, _)| draw(on));
        while end.is_none_or(|end| due < end) {
            if let (Some(off), Some((mean_on, mean_off))) = (off_at, self.on_off)
                && due >= off
            {
                due = off + draw(mean_off);
                off_at = Some(due + draw(mean_on));
                continue;
            }
            site.stop.sleep_until(begin, due);
            if site.stop.is_over() {
                break;
            }
            datagram[..8].copy_from_slice(&sent.count.to_be_bytes());
            datagram[8..HEADER].copy_from_slice(&site.clock.now().to_be_bytes());
            match socket.send(&datagram) {
                Ok(_) => sent.count += 1,
                // An ICMP error said that nobody listens; the next datagram may arrive.
                Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => {}
                Err(error) => return Err(error),
            }
            due += interval;
        }
        Ok(())
    }
}

impl ServerEnd for Receiver {
    type Outcome = Received;

    fn serve<C: Send>(
        &self,
        site: Site<'_>,
        clients: impl FnOnce() -> C + Send,
    ) -> Result<(C, Received), String> {
        let address = self.address;
        let socket = UdpSocket::bind(address).map_err(|error| format!("cannot bind {address}: {error}"))?;
        let sent_all = AtomicBool::new(false);
        let (sent, received) = thread::scope(|scope| {
            let receiving = scope.spawn(|| receive(site, &socket, &sent_all));
            let sent = clients();
            sent_all.store(true, Ordering::Release);
            (sent, super::server::join(receiving))
        });
        let received = received.map_err(|error| format!("cannot receive at {address}: {error}"))?;
        Ok((sent, received))
    }
}

/// Receives until all were sent and none has arrived for a while.
fn receive(site: Site<'_>, socket: &UdpSocket, sent_all: &AtomicBool) -> io::Result<Received> {
    socket.set_read_timeout(Some(LOOK))?;
    let mut received = Received::default();
    let mut buffer = vec![0; 65_536];
    let mut heard = Instant::now();
    loop {
        match socket.recv(&mut buffer) {
            Ok(length) => {
                heard = Instant::now();
                received.note(&buffer[..length], site.clock.now());
            }
            Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted) => {
                let quiet = sent_all.load(Ordering::Acquire) && heard.elapsed() > PATIENCE;
                if quiet || site.stop.is_over() {
                    return Ok(received);
                }
            }
            Err(error) => return Err(error),
        }
        if !sent_all.load(Ordering::Acquire) {
            heard = Instant::now();
        }
    }
}

impl Received {
    fn note(&mut self, datagram: &[u8], now: u64) {
        let word = |at: usize| datagram.get(at..at + 8)?.try_into().ok().map(u64::from_be_bytes);
        let (Some(number), Some(sent)) = (word(0), word(8)) else { return };
        // A duplicate made by the link does not count.
        if !self.numbers.insert(number) {
            return;
        }
        if self.first.is_some() {
            self.idle_max = self.idle_max.max(now - self.last);
        }
        self.first.get_or_insert(now);
        self.last = now;
        self.bytes += datagram.len() as u64;
        self.delays.push(now.saturating_sub(sent));
    }
}

#[cfg(test)]
mod tests {
    use super::super::ground::tests::without_network;
    use super::*;

    const SECOND: u64 = 1_000_000_000;

    fn datagram(number: u64, sent: u64, length: usize) -> Vec<u8> {
        let mut bytes = [number.to_be_bytes(), sent.to_be_bytes()].concat();
        bytes.resize(length, 0);
        bytes
    }

    fn row(sent: Sent, received: Received) -> Connection {
        let datagrams = Datagrams {
            name: "w",
            place: 2,
            from: 0,
            to: 1,
            rate: BitRate::from_bits_per_second(1).expect("a rate"),
            size: ByteCount::new(20),
            duration: None,
            on_off: None,
        };
        without_network(|ground| datagrams.row(ground, sent, received))
    }

    /// Goodput is in bit/s, from the first datagram sent to the last that arrived.
    #[test]
    fn a_row_has_what_arrived() {
        let mut received = Received::default();
        received.note(&datagram(0, SECOND, 20), SECOND + 30);
        received.note(&datagram(2, 2 * SECOND, 20), 2 * SECOND + 50);
        received.note(&datagram(1, SECOND + 100, 20), 3 * SECOND);
        received.note(&datagram(1, SECOND + 100, 20), 9 * SECOND);
        received.note(&datagram(3, SECOND, 15), 9 * SECOND);
        let row = row(Sent { start: SECOND, count: 7, port: 18_000, error: None }, received);
        let expected = Connection {
            workload: "w".to_owned(),
            number: 0,
            protocol: Protocol::Udp,
            from: "a".to_owned(),
            to: "b".to_owned(),
            from_port: 18_000,
            to_port: 5003,
            congestion_control: String::new(),
            complete: true,
            error: None,
            start_ns: SECOND,
            established_ns: Some(SECOND + 30),
            end_ns: 3 * SECOND,
            bytes: 60,
            goodput_bps: 240.0,
            segments: 7,
            retransmissions: 0,
            timeouts: 0,
            // Duplicates do not count as arrived, and neither does what is too short for a header.
            lost: 4,
            round_trips: RoundTrips::of(vec![30, 50, 2 * SECOND - 100]),
            idle_max_ns: SECOND + 20,
            ..Connection::default()
        };
        assert_eq!(row, expected);
    }

    #[test]
    fn a_row_of_nothing() {
        let error = Some("no way".to_owned());
        let row = row(Sent { start: SECOND, count: 2, port: 0, error }, Received::default());
        assert_eq!((row.complete, row.error.as_deref()), (false, Some("no way")));
        assert_eq!((row.end_ns, row.bytes, row.lost, row.established_ns), (SECOND, 0, 2, None));
        assert!(row.goodput_bps.abs() < f64::EPSILON && row.round_trips.is_none());
    }
}
