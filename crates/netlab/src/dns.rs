//! A DNS forwarder for callers whose name server listens on a loopback address.
//!
//! It passes bytes on without parsing them: one socket per UDP query, and TCP connections as
//! streams. It runs in threads of this process, which block while idle and end with the process.
//! Dropping the forwarder stops them.

use crate::Namespace;
use crate::error::{Error, Result, Trying};
use std::io::ErrorKind;
use std::net::{IpAddr, Shutdown, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

/// A running forwarder; see the [module](self).
#[derive(Debug)]
pub struct Forwarder {
    stopping: Arc<AtomicBool>,
    datagrams: UdpSocket,
    listen: SocketAddr,
    namespace: Namespace,
}

/// Longer than resolvers wait (RFC 1035): they give up or retry after a few seconds.
const PATIENCE: Duration = Duration::from_secs(10);
/// Largest number of UDP queries in progress; further ones are dropped, and resolvers retry.
const AT_ONCE: usize = 64;

impl Forwarder {
    /// Listens on `listen`, UDP and TCP, in `namespace`, and forwards queries to `server` from
    /// there.
    ///
    /// Returns `Ok(None)` if the address is in use: then a name server of the caller listens on all
    /// addresses and answers itself.
    pub fn start(namespace: &Namespace, listen: SocketAddr, server: SocketAddr) -> Result<Option<Self>> {
        let bound = namespace.enter(|| {
            let bound = UdpSocket::bind(listen).and_then(|socket| Ok((socket, TcpListener::bind(listen)?)));
            match bound {
                Err(error) if error.kind() == ErrorKind::AddrInUse => Ok(None),
                other => other.map(Some).trying(|| format!("listen for DNS on {listen}")),
            }
        })?;
        let Some((datagrams, connections)) = bound else { return Ok(None) };
        let listen = datagrams.local_addr().trying(|| "read the address of the DNS socket".into())?;
        let stopping = Arc::new(AtomicBool::new(false));
        let asking = Arc::new(AtomicUsize::new(0));
        let duplicate = || datagrams.try_clone().trying(|| "duplicate the DNS socket".into());

        let (socket, stop, place, reply) =
            (duplicate()?, stopping.clone(), namespace.try_clone()?, duplicate()?);
        in_background("dns-udp", move || {
            place.enter_this_thread()?;
            serve_datagrams(&socket, &Arc::new(reply), server, &stop, &asking);
            Ok(())
        })?;
        let (stop, place) = (stopping.clone(), namespace.try_clone()?);
        in_background("dns-tcp", move || {
            place.enter_this_thread()?;
            serve_connections(&connections, server, &stop);
            Ok(())
        })?;
        Ok(Some(Self { stopping, datagrams, listen, namespace: namespace.try_clone()? }))
    }

    /// Returns the address on which the forwarder listens.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.listen
    }
}

impl Drop for Forwarder {
    /// Wakes up both threads, so that they notice that they should stop.
    fn drop(&mut self) {
        self.stopping.store(true, Ordering::SeqCst);
        let _ = self.datagrams.send_to(&[], self.listen);
        let listen = self.listen;
        let _ = self.namespace.enter(|| {
            let _ = TcpStream::connect_timeout(&listen, Duration::from_secs(1));
            Ok(())
        });
    }
}

/// Starts a detached thread.
fn in_background(name: &str, work: impl FnOnce() -> Result<()> + Send + 'static) -> Result<()> {
    std::thread::Builder::new()
        .name(name.into())
        .spawn(work)
        .map(|_| ())
        .trying(|| format!("start the thread {name}"))
}

fn serve_datagrams(
    socket: &UdpSocket,
    reply: &Arc<UdpSocket>,
    server: SocketAddr,
    stopping: &AtomicBool,
    asking: &Arc<AtomicUsize>,
) {
    let mut buffer = vec![0; 65_536];
    while let Ok((length, client)) = socket.recv_from(&mut buffer) {
        if stopping.load(Ordering::SeqCst) {
            return;
        }
        if asking.fetch_add(1, Ordering::SeqCst) >= AT_ONCE {
            asking.fetch_sub(1, Ordering::SeqCst);
            continue; // Like a full socket buffer; the resolver retries.
        }
        let (question, reply, done) = (buffer[..length].to_vec(), Arc::clone(reply), Arc::clone(asking));
        let started = in_background("dns-ask", move || {
            let answer = ask(&question, server);
            done.fetch_sub(1, Ordering::SeqCst);
            if let Ok(answer) = answer {
                let _ = reply.send_to(&answer, client);
            }
            Ok(())
        });
        if started.is_err() {
            asking.fetch_sub(1, Ordering::SeqCst);
        }
    }
}

fn ask(question: &[u8], server: SocketAddr) -> std::io::Result<Vec<u8>> {
    let any: IpAddr = if server.is_ipv4() { [0, 0, 0, 0].into() } else { [0; 16].into() };
    let socket = UdpSocket::bind((any, 0))?;
    socket.connect(server)?;
    socket.set_read_timeout(Some(PATIENCE))?;
    socket.send(question)?;
    let mut answer = vec![0; 65_536];
    let length = socket.recv(&mut answer)?;
    answer.truncate(length);
    Ok(answer)
}

fn serve_connections(listener: &TcpListener, server: SocketAddr, stopping: &AtomicBool) {
    while let Ok((client, _)) = listener.accept() {
        if stopping.load(Ordering::SeqCst) {
            return;
        }
        // If the thread cannot be started, the connection is dropped and the resolver retries.
        let _ = in_background("dns-connection", move || {
            relay(&client, server)
                .map_err(|source| Error::System { what: "relay DNS over TCP".into(), source })
        });
    }
}

/// Copies in both directions until both sides have closed or timed out.
fn relay(client: &TcpStream, server: SocketAddr) -> std::io::Result<()> {
    let server = TcpStream::connect_timeout(&server, PATIENCE)?;
    for stream in [client, &server] {
        stream.set_read_timeout(Some(PATIENCE))?;
    }
    std::thread::scope(|scope| {
        scope.spawn(|| copy(&server, client));
        copy(client, &server);
    });
    Ok(())
}

fn copy(mut from: &TcpStream, mut to: &TcpStream) {
    let _ = std::io::copy(&mut from, &mut to);
    let _ = to.shutdown(Shutdown::Write);
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read, Write};
    use std::net::Ipv4Addr;

    const LOCAL: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 0);

    /// Returns a forwarder on a port that is free for UDP and TCP.
    fn forwarder(server: SocketAddr) -> Forwarder {
        let own = Namespace::current().expect("a namespace");
        for _ in 0..100 {
            let free = TcpListener::bind(LOCAL).and_then(|its| its.local_addr()).expect("a port");
            if let Some(forwarder) = Forwarder::start(&own, free, server).expect("started") {
                return forwarder;
            }
        }
        panic!("no port is free");
    }

    /// Each client gets the answer to its own question, whatever the order of the answers.
    #[test]
    fn answers_go_to_those_who_asked() {
        let server = UdpSocket::bind(LOCAL).expect("a port");
        let forwarder = forwarder(server.local_addr().expect("an address"));
        let clients = [b"one", b"two"].map(|question| {
            let client = UdpSocket::bind(LOCAL).expect("a port");
            client.set_read_timeout(Some(PATIENCE)).expect("set");
            client.connect(forwarder.address()).expect("connected");
            client.send(question).expect("sent");
            client
        });
        let mut questions = Vec::new();
        let mut buffer = [0; 100];
        server.set_read_timeout(Some(PATIENCE)).expect("set");
        for _ in 0..2 {
            let (length, from) = server.recv_from(&mut buffer).expect("a question");
            questions.push((buffer[..length].to_vec(), from));
        }
        assert_ne!(questions[0].1, questions[1].1, "a socket for each question");
        questions.sort();
        for (question, from) in questions.iter().rev() {
            server.send_to(&[question, &b"!"[..]].concat(), from).expect("sent");
        }
        let answers = clients.map(|client| {
            let length = client.recv(&mut buffer).expect("an answer");
            String::from_utf8_lossy(&buffer[..length]).into_owned()
        });
        assert_eq!(answers, ["one!", "two!"]);
    }

    #[test]
    fn connections_are_relayed_until_both_sides_have_closed() {
        let server = TcpListener::bind(LOCAL).expect("a port");
        let forwarder = forwarder(server.local_addr().expect("an address"));
        let mut client = TcpStream::connect(forwarder.address()).expect("connected");
        client.write_all(b"question").expect("sent");
        client.shutdown(Shutdown::Write).expect("no more questions");
        let (mut relayed, _) = server.accept().expect("a connection");
        let mut heard = String::new();
        relayed.read_to_string(&mut heard).expect("the end of the questions");
        relayed.write_all(b"answer").expect("sent");
        drop(relayed);
        let mut answer = String::new();
        client.read_to_string(&mut answer).expect("the end of the answers");
        assert_eq!((heard.as_str(), answer.as_str()), ("question", "answer"));
    }

    /// A server that listens on all addresses answers itself.
    #[test]
    fn a_forwarder_is_not_needed_where_the_address_is_taken() {
        let own = Namespace::current().expect("a namespace");
        let taken = TcpListener::bind(LOCAL).expect("a port");
        let address = taken.local_addr().expect("an address");
        assert!(Forwarder::start(&own, address, LOCAL).expect("no error").is_none());
    }

    #[test]
    fn a_forwarder_that_is_dropped_gives_its_port_back() {
        let address = forwarder(LOCAL).address();
        let deadline = std::time::Instant::now() + PATIENCE;
        while UdpSocket::bind(address).is_err() || TcpListener::bind(address).is_err() {
            assert!(std::time::Instant::now() < deadline, "it listens still");
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}
