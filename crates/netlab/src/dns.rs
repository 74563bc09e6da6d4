//! A forwarder for DNS where the caller's name server listens on a loopback address.
//!
//! Bytes are passed on, not understood: UDP datagrams one socket a question, TCP connections as
//! streams. It lives in threads of this process that block when idle, and goes with it; dropping it
//! stops it.

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

/// RFC 1035: resolvers give up or ask again after a few seconds.
const PATIENCE: Duration = Duration::from_secs(10);
/// Questions answered at the same time; more wait in the socket.
const AT_ONCE: usize = 64;

impl Forwarder {
    /// Listens on `listen`, UDP and TCP, in `namespace`, and asks `server` there.
    ///
    /// `Ok(None)` if the address is in use: a name server of the caller then listens on all
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

    /// Where it listens.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.listen
    }
}

impl Drop for Forwarder {
    /// Wakes both threads up to see that they should stop.
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

/// Starts a thread that the process does not wait for.
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
            continue; // As a full socket would have it; the resolver asks again.
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
        // A thread that cannot be started drops the connection, and the resolver tries again.
        let _ = in_background("dns-connection", move || {
            relay(&client, server)
                .map_err(|source| Error::System { what: "relay DNS over TCP".into(), source })
        });
    }
}

/// Copies both ways until either side has said all.
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
