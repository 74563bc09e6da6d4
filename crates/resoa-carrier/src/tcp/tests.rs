//! How connections over TCP end when one side does not do its part.

use super::{KeepAlive, Tcp};
use crate::keys::SecretKey;
use crate::{Allowed, Carrier, loopback, wait_for};
use resoa_protocol::lhp::{Connection, DisconnectReason, Identity, Indication, LastHop, Provider, Service};
use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpStream};
use std::time::{Duration, Instant};

/// Time after which a test gives up waiting.
const PATIENCE: Duration = Duration::from_mins(1);
const ANY_PORT: (Ipv4Addr, u16) = (Ipv4Addr::LOCALHOST, 0);
const BRIEF: KeepAlive = KeepAlive { interval: Duration::from_secs(1), questions: 1 };

type Told = Vec<(Connection, Indication)>;

/// Polls until a condition on the indications of `end` holds. The other ends are polled too.
fn until(
    end: &mut Tcp,
    others: &mut [&mut Tcp],
    told: &mut Told,
    mut holds: impl FnMut(&mut Tcp, &Told) -> bool,
) {
    let begin = Instant::now();
    while !holds(end, told) {
        assert!(begin.elapsed() < PATIENCE, "does not come: {told:?}");
        end.poll(told);
        for other in &mut *others {
            other.poll(&mut Vec::new());
        }
        std::thread::yield_now();
    }
}

/// Returns a server without authentication, a socket that was accepted as a client and can write
/// any bytes, and the server's connection for it.
fn plain(keep_alive: KeepAlive) -> (Tcp, TcpStream, Connection) {
    let mut server = Tcp::server(ANY_PORT.into(), keep_alive).expect("loopback");
    let mut stream = TcpStream::connect(server.address().expect("listens")).expect("listens");
    stream.write_all(&[0, 1, 7]).expect("is taken");
    let mut told = Vec::new();
    until(&mut server, &mut [], &mut told, |_, told| !told.is_empty());
    server.accept(told[0].0);
    (server, stream, told[0].0)
}

fn reset(stream: TcpStream) {
    rustix::net::sockopt::set_socket_linger(&stream, Some(Duration::ZERO)).expect("is connected");
    drop(stream);
}

/// C88: a break is reported even if the user wants no messages, whether there is something to send
/// or not.
#[test]
fn a_break_while_nothing_is_wanted() {
    for sends in [false, true] {
        let (mut server, stream, taken) = plain(KeepAlive::default());
        server.receive(taken, false);
        let mut told = Vec::new();
        server.poll(&mut told);
        reset(stream);
        until(&mut server, &mut [], &mut told, |server, told| {
            if sends {
                let _ = server.send(taken, b"something");
            }
            !told.is_empty()
        });
        assert_eq!(told, [(taken, Indication::Disconnected(DisconnectReason::Reset))]);
        assert!(server.links.is_empty());
    }
}

/// C90: the kernel reports the time-out only once, to the next send or receive. A send after that
/// fails with EPIPE, as after a reset. The carrier reports the true reason, whichever of its own
/// calls was told first.
#[test]
fn why_it_broke_is_not_forgotten() {
    for is_read_first in [false, true] {
        let (mut server, stream, taken) = plain(BRIEF);
        let link = server.links.get_mut(&taken).expect("is there");
        // Nobody reads, so the window closes and stays closed for longer than BRIEF. Data is left
        // that each pass tries to send.
        let message = vec![7; 60_000];
        for _ in 0..1000 {
            link.send(&message, false);
        }
        let begin = Instant::now();
        while link.broken.is_none() {
            assert!(begin.elapsed() < PATIENCE, "the kernel goes on for ever");
            if is_read_first {
                link.fill();
            } else {
                link.let_go();
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        let mut told = Vec::new();
        until(&mut server, &mut [], &mut told, |_, told| !told.is_empty());
        assert_eq!(
            told,
            [(taken, Indication::Disconnected(DisconnectReason::Unreachable))],
            "{is_read_first}"
        );
        drop(stream);
    }
}

/// C26: a side that wants no data for longer than the time limit of an outage does not count as
/// one, because its host answers. It gets everything when it reads again.
#[test]
fn a_closed_window_is_no_outage() {
    let keep_alive = KeepAlive { interval: Duration::from_secs(2), questions: 3 };
    let (mut server, mut stream, taken) = plain(keep_alive);
    let mut told = Vec::new();
    server.poll(&mut told);
    let message = vec![7; 60_000];
    let mut sent = 0;
    // Much more than the kernels buffer for a side that does not read.
    while sent < 1000 {
        let _ = server.send(taken, &message);
        sent += 1;
    }
    let begin = Instant::now();
    while begin.elapsed() < keep_alive.interval * keep_alive.questions * 2 {
        server.poll(&mut told);
        wait_for(&[&server], Duration::from_millis(50));
    }
    assert!(server.links.contains_key(&taken), "it was taken for an outage: {told:?}");
    assert_eq!(told, []);
    let reader = std::thread::spawn(move || {
        let mut octets = vec![0; 2 + sent * (4 + 60_000)];
        stream.read_exact(&mut octets).map(|()| octets.len())
    });
    until(&mut server, &mut [], &mut told, |_, _| reader.is_finished());
    assert!(reader.join().expect("reads").is_ok(), "{told:?}");
}

/// C90: an outage behind a closed window is detected, because nobody answers the window probes.
#[test]
fn an_outage_behind_a_closed_window() {
    if !rustix::process::geteuid().is_root() {
        skip::skip!("namespaces need root");
        return;
    }
    let alone = std::thread::spawn(|| {
        loopback::of_this_thread(1500);
        let keep_alive = KeepAlive { interval: Duration::from_secs(1), questions: 2 };
        let (mut server, stream, taken) = plain(keep_alive);
        let mut told = Vec::new();
        server.poll(&mut told);
        for _ in 0..1000 {
            let _ = server.send(taken, &[7; 10_000]);
        }
        until(&mut server, &mut [], &mut told, |server, told| {
            !told.is_empty() || server.links[&taken].window.is_closed()
        });
        loopback::set_up(false);
        until(&mut server, &mut [], &mut told, |_, told| !told.is_empty());
        assert_eq!(told, [(taken, Indication::Disconnected(DisconnectReason::Unreachable))]);
        drop(stream);
    });
    alone.join().expect("as it should be");
}

/// C88: a server whose kernel accepts the connection but whose process says nothing does not count
/// as connected. A client waits for it no longer than the time limit of an outage.
#[test]
fn a_server_that_says_nothing() {
    let silent = std::net::TcpListener::bind(ANY_PORT).expect("loopback");
    let address = silent.local_addr().expect("listens").to_string();
    let [ours, theirs] = [(); 2].map(|()| SecretKey::generate().expect("random octets"));
    let plain = Tcp::client(Identity(vec![7]), BRIEF);
    for client in [plain, Tcp::secure_client(&ours, theirs.public(), BRIEF)] {
        let mut client = client.expect("descriptors");
        let link = client.register(Service::Reliable, Provider { id: 2, protocol: 0 }).expect("always");
        let (begin, mut told) = (Instant::now(), Vec::new());
        client.connect(link, address.as_bytes());
        while told.is_empty() {
            assert!(begin.elapsed() < PATIENCE, "it waits for ever");
            client.poll(&mut told);
            let _ = told.is_empty() && wait_for(&[&client], Duration::from_mins(1));
        }
        assert_eq!(told, [(link, Indication::Disconnected(DisconnectReason::Unreachable))]);
        assert!(begin.elapsed() >= BRIEF.interval * BRIEF.questions, "it had no time");
        assert!(client.links.is_empty());
    }
}

/// C88: a user that has closed needs only the other side's end, even if it wants no messages.
#[test]
fn closed_and_not_wanted() {
    let (mut server, mut stream, taken) = plain(KeepAlive::default());
    server.receive(taken, false);
    server.close(taken);
    stream.write_all(&[0, 1, 9]).expect("is taken");
    stream.shutdown(std::net::Shutdown::Write).expect("is connected");
    let mut told = Vec::new();
    until(&mut server, &mut [], &mut told, |server, _| server.links.is_empty());
    assert_eq!(told, []);
}

/// C88: a connection that our user has closed is not kept for ever for a side that never ends it,
/// and that side still gets everything.
#[test]
fn a_side_that_never_ends() {
    let (mut server, mut stream, taken) = plain(BRIEF);
    let _ = server.send(taken, b"last");
    server.close(taken);
    let begin = Instant::now();
    let mut told = Vec::new();
    until(&mut server, &mut [], &mut told, |server, _| server.links.is_empty());
    assert!(begin.elapsed() >= BRIEF.interval * BRIEF.questions, "it had no time");
    assert_eq!(told, []);
    let error = stream.take_error().expect("is a socket");
    assert!(error.is_none(), "it was reset: {error:?}");
    let mut octets = Vec::new();
    stream.read_to_end(&mut octets).expect("it is there");
    assert_eq!(octets, b"\0\0\0\x04last");
}

/// C88: if a client closes before the handshake is complete, the close is sent after it. The server
/// does not mistake it for a truncated stream.
#[test]
fn closed_during_the_handshake() {
    let [ours, theirs] = [(); 2].map(|()| SecretKey::generate().expect("random octets"));
    let mut server = Tcp::secure_server(ANY_PORT.into(), &ours, Allowed::anybody(), KeepAlive::default())
        .expect("loopback");
    let mut client = Tcp::secure_client(&theirs, ours.public(), KeepAlive::default()).expect("descriptors");
    let link = client.register(Service::Reliable, Provider { id: 2, protocol: 0 }).expect("always");
    client.connect(link, server.address().expect("listens").to_string().as_bytes());
    client.close(link);
    let mut told = Vec::new();
    until(&mut server, &mut [&mut client], &mut told, |_, told| told.len() == 2);
    let identity = Identity(theirs.public().0.to_vec());
    let taken = told[0].0;
    assert_eq!(
        told,
        [
            (taken, Indication::Connect { identity }),
            (taken, Indication::Disconnected(DisconnectReason::Closed))
        ]
    );
    until(&mut client, &mut [&mut server], &mut Vec::new(), |client, _| client.links.is_empty());
}

/// Nothing is kept of a connection that could not be made, and was closed before that was reported.
#[test]
fn closed_before_it_was_told() {
    let mut client = Tcp::client(Identity(Vec::new()), KeepAlive::default()).expect("descriptors");
    let link = client.register(Service::Reliable, Provider { id: 2, protocol: 0 }).expect("always");
    client.connect(link, b"nowhere");
    client.close(link);
    let mut told = Vec::new();
    client.poll(&mut told);
    assert!(told.is_empty() && client.links.is_empty(), "{told:?}");
}

/// A user that was told to stop is told so until there is room, whatever was sent meanwhile.
#[test]
fn stop_holds_until_go_on() {
    let (mut server, mut stream, taken) = plain(KeepAlive::default());
    let link = server.links.get_mut(&taken).expect("is there");
    link.send(&vec![7; 60_000], false);
    assert_eq!(link.stop_at(0), resoa_protocol::lhp::Handed::TakenLast);
    assert_eq!(link.stop_at(usize::MAX), resoa_protocol::lhp::Handed::TakenLast);
    let reader = std::thread::spawn(move || {
        let mut octets = vec![0; 2 + 4 + 60_000];
        stream.read_exact(&mut octets).expect("it comes");
        stream
    });
    let mut told = Vec::new();
    until(&mut server, &mut [], &mut told, |_, told| !told.is_empty());
    assert_eq!(told, [(taken, Indication::On)]);
    drop(reader.join());
}

/// A poll processes only connections to which something has happened, so that answering one of a
/// thousand clients costs as much as with one. Only processing would reveal that the idle
/// connection here is broken.
#[test]
fn who_says_nothing_costs_nothing() {
    let (mut server, _stream, idle) = plain(KeepAlive::default());
    let mut stream = TcpStream::connect(server.address().expect("listens")).expect("listens");
    stream.write_all(&[0, 1, 8]).expect("is taken");
    let mut told = Vec::new();
    until(&mut server, &mut [], &mut told, |_, told| !told.is_empty());
    let busy = told[0].0;
    server.accept(busy);
    until(&mut server, &mut [], &mut told, |server, _| server.due.is_empty());
    server.links.get_mut(&idle).expect("is there").broken = Some(std::io::ErrorKind::ConnectionReset.into());
    told.clear();
    stream.write_all(&[0, 1, 9]).expect("is taken");
    until(&mut server, &mut [], &mut told, |_, told| !told.is_empty());
    assert_eq!(told, [(busy, Indication::Data(vec![9]))]);
    told.clear();
    server.receive(idle, true);
    until(&mut server, &mut [], &mut told, |_, told| !told.is_empty());
    assert_eq!(told, [(idle, Indication::Disconnected(DisconnectReason::Reset))]);
}
