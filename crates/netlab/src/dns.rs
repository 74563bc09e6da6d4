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
        let listen = datagrams.local_addr().trying(|| "name a socket".into())?;
        let stopping = Arc::new(AtomicBool::new(false));
        let asking = Arc::new(AtomicUsize::new(0));
        let duplicate = || datagrams.try_clone().trying(|| "duplicate a socket".into());

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

    const ANY: (Ipv4Addr, u16) = (Ipv4Addr::LOCALHOST, 0);

    fn socket() -> (UdpSocket, SocketAddr) {
        let socket = UdpSocket::bind(ANY).expect("a socket");
        socket.set_read_timeout(Some(Duration::from_mins(1))).expect("set");
        let address = socket.local_addr().expect("an address");
        (socket, address)
    }

    /// Serves datagrams with `asking` queries in progress while `work` runs; returns the number
    /// afterwards.
    fn serving(asking: usize, work: impl FnOnce(SocketAddr, &UdpSocket)) -> usize {
        let ((serving, listen), (server, to)) = (socket(), socket());
        let reply = Arc::new(serving.try_clone().expect("a socket"));
        let (stopping, asking) = (AtomicBool::new(false), Arc::new(AtomicUsize::new(asking)));
        std::thread::scope(|scope| {
            scope.spawn(|| serve_datagrams(&serving, &reply, to, &stopping, &asking));
            work(listen, &server);
            stopping.store(true, Ordering::SeqCst);
            server.send_to(&[], listen).expect("woken");
        });
        asking.load(Ordering::SeqCst)
    }

    #[test]
    fn each_answer_goes_to_the_client_that_asked() {
        let left = serving(AT_ONCE - 2, |listen, server| {
            let clients = [socket().0, socket().0];
            let mut bytes = [0; 16];
            for (client, question) in clients.iter().zip([b"1?", b"2?"]) {
                client.send_to(question, listen).expect("sent");
            }
            for _ in &clients {
                let (length, from) = server.recv_from(&mut bytes).expect("a question");
                assert_eq!(length, 2);
                server.send_to(&[bytes[0], b'!'], from).expect("answered");
            }
            for (client, answer) in clients.iter().zip([b"1!", b"2!"]) {
                let (length, from) = client.recv_from(&mut bytes).expect("an answer");
                assert_eq!((&bytes[..length], from), (&answer[..], listen));
            }
        });
        assert_eq!(left, AT_ONCE - 2, "answered questions leave room for others");
    }

    /// A client that has sent its last query still gets the answers.
    #[test]
    fn over_tcp_each_direction_ends_by_itself() {
        let listener = TcpListener::bind(ANY).expect("a listener");
        let to = listener.local_addr().expect("an address");
        let own = TcpListener::bind(ANY).expect("a listener");
        let mut client = TcpStream::connect(own.local_addr().expect("an address")).expect("connected");
        let accepted = own.accept().expect("accepted").0;
        std::thread::scope(|scope| {
            scope.spawn(move || relay(&accepted, to).expect("relayed"));
            client.write_all(b"question").expect("sent");
            client.shutdown(Shutdown::Write).expect("shut down");
            let mut server = listener.accept().expect("accepted").0;
            let (mut question, mut answer) = (String::new(), String::new());
            server.read_to_string(&mut question).expect("read");
            server.write_all(b"answer").expect("sent");
            drop(server);
            client.read_to_string(&mut answer).expect("read");
            assert_eq!((question.as_str(), answer.as_str()), ("question", "answer"));
        });
    }
}
