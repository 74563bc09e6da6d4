//! Measures the cost of one client's exchange for the server in the presence of idle load: other
//! clients, other sockets of the same client, and other sockets that wait for far hosts.
//!
//! The server runs in a thread of its own, whose processor time is read before and after
//! (`schedstat`, proc(5)). An exchange is 64 bytes to a far host on the loopback interface and
//! back. Run it with `cargo run -p resoa-server --example event_cost`.

#[allow(dead_code, reason = "the tests use all of it")]
#[path = "../tests/sockets/guest.rs"]
mod guest;

use confinement::raise_descriptor_limit;
use guest::{Guest, PATIENCE, sending};
use resoa_carrier::keys::SecretKey;
use resoa_carrier::{Allowed, AnyCarrier, CarrierAddress};
use resoa_protocol::lhp::{LastHop, Provider, Service};
use resoa_protocol::message::{AddressMode, Create, Family, Operation, RsockType};
use resoa_protocol::server::Addresses;
use resoa_protocol::{
    CallId, Client, ReceiveFlags, RsockId, ServerSettings, Settings, SocketCall, Timers, Value,
};
use resoa_server::Host;
use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

const ROUNDS: u32 = 1000;
const OCTETS: usize = 64;
/// Bytes to a far host that does not read: more than its receive buffer holds.
const STALLED: usize = 16 << 10;

fn main() {
    raise_descriptor_limit().expect("may be raised");
    for place in ["plain:127.0.0.1:0", "tcp:127.0.0.1:0", "udp:127.0.0.1:0", "quic:127.0.0.1:0"] {
        for others in [0, 100, 1000] {
            let server = Server::new(place);
            let others: Vec<_> = (0..others).map(|_| server.client()).collect();
            server.measure(&format!("{place} {} other clients", others.len()), &mut server.client());
        }
    }
    for others in [0, 100, 1000, 4000] {
        for stalls in [false, true] {
            let server = Server::new("plain:127.0.0.1:0");
            let (mut guest, far) = (server.client(), listener());
            let far_hosts: Vec<_> = (0..others).map(|_| other(&mut guest, &far, stalls)).collect();
            let what = if stalls { "that wait for their far hosts" } else { "that are idle" };
            server.measure(&format!("plain: {} other sockets {what}", far_hosts.len()), &mut guest);
        }
    }
}

struct Server {
    place: CarrierAddress,
    key: SecretKey,
    thread: Option<JoinHandle<()>>,
    task: i32,
    over: Arc<AtomicBool>,
}

impl Server {
    fn new(place: &str) -> Self {
        let key = SecretKey::generate().expect("random octets");
        let place: CarrierAddress = place.parse().expect("a place");
        let (carrier, place) = place.serve(&key, &Allowed::anybody()).expect("loopback");
        let (says, hears) = mpsc::channel();
        let over = Arc::new(AtomicBool::new(false));
        let until = Arc::clone(&over);
        let thread = thread::spawn(move || {
            says.send(rustix::thread::gettid().as_raw_nonzero().get()).expect("is waited for");
            let settings = ServerSettings::new(Addresses::shared(Ipv4Addr::LOCALHOST.into()));
            let mut host = Host::new(settings, carrier).expect("descriptors");
            while !until.load(Ordering::Relaxed) {
                host.turn(Some(Duration::from_secs(1))).expect("epoll waits");
            }
        });
        let task = hears.recv().expect("says it first");
        Self { place, key, thread: Some(thread), task, over }
    }

    /// Returns a registered client.
    fn client(&self) -> Guest<AnyCarrier> {
        let key = SecretKey::generate().expect("random octets");
        let (mut carrier, address) = self.place.reach(&key, Some(self.key.public())).expect("descriptors");
        let link = carrier.register(Service::Reliable, Provider { id: 1, protocol: 0 }).expect("always");
        let client = Client::new(AddressMode::Any, Settings::default(), Timers::default());
        let mut guest = Guest::new(client, carrier, link, address);
        guest.at(|client, _, out| client.start(out));
        until(&mut guest, |guest| guest.registration.is_some().then_some(()));
        guest
    }

    /// Processor time of the server's thread in nanoseconds.
    fn processor(&self) -> u64 {
        let text =
            std::fs::read_to_string(format!("/proc/self/task/{}/schedstat", self.task)).expect("proc(5)");
        text.split_whitespace().next().and_then(|number| number.parse().ok()).expect("a number")
    }

    fn measure(&self, what: &str, guest: &mut Guest<AnyCarrier>) {
        let far = listener();
        let socket = connected(guest, far.local_addr().expect("is bound"));
        let mut stream = far.accept().expect("has connected").0;
        stream.set_nodelay(true).expect("is a socket");
        let echo = thread::spawn(move || {
            let mut octets = [0; OCTETS];
            while stream.read_exact(&mut octets).is_ok() && stream.write_all(&octets).is_ok() {}
        });
        for _ in 0..ROUNDS / 10 {
            exchange(guest, socket);
        }
        let (begin, processor) = (Instant::now(), self.processor());
        for _ in 0..ROUNDS {
            exchange(guest, socket);
        }
        let processor = self.processor() - processor;
        println!(
            "{what}: an exchange takes {:.1} us, and {:.1} us of the server's processor",
            begin.elapsed().as_secs_f64() * 1e6 / f64::from(ROUNDS),
            processor as f64 / 1e3 / f64::from(ROUNDS)
        );
        call(guest, socket, SocketCall::Close { may_wait: false });
        echo.join().expect("ends");
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            thread.join().expect("ends");
        }
    }
}

fn listener() -> TcpListener {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("loopback");
    rustix::net::sockopt::set_socket_recv_buffer_size(&listener, 2304).expect("small");
    listener
}

/// Connects another socket and returns the far host's end.
fn other(guest: &mut Guest<AnyCarrier>, far: &TcpListener, stalls: bool) -> TcpStream {
    let socket = connected(guest, far.local_addr().expect("is bound"));
    if stalls {
        call(guest, socket, sending(vec![7; STALLED]));
    }
    far.accept().expect("has connected").0
}

fn connected(guest: &mut Guest<AnyCarrier>, to: SocketAddr) -> RsockId {
    let socket =
        guest.client.socket(Create { family: Family::V4, kind: RsockType::Stream }).expect("registered");
    assert_eq!(call(guest, socket, Operation::Connect(to)), Value::Done);
    socket
}

fn exchange(guest: &mut Guest<AnyCarrier>, socket: RsockId) {
    call(guest, socket, sending(vec![1; OCTETS]));
    let flags = ReceiveFlags { wait_all: true, ..ReceiveFlags::default() };
    call(guest, socket, SocketCall::Receive { length: OCTETS, flags });
}

fn call(guest: &mut Guest<AnyCarrier>, socket: RsockId, what: impl Into<SocketCall>) -> Value {
    let call: CallId = guest.begin(socket, what);
    until(guest, |guest| guest.ended(call)).expect("succeeds")
}

fn until<T>(guest: &mut Guest<AnyCarrier>, mut there: impl FnMut(&mut Guest<AnyCarrier>) -> Option<T>) -> T {
    let begin = Instant::now();
    loop {
        if let Some(found) = there(guest) {
            return found;
        }
        assert!(begin.elapsed() < PATIENCE, "does not come");
        resoa_carrier::wait_for(&[&guest.carrier], Duration::from_millis(5));
        guest.hear();
        guest.expire();
    }
}
