//! How a carrier over TCP handles strangers, and bytes that no client sends.

use resoa_carrier::keys::SecretKey;
use resoa_carrier::tcp::{KeepAlive, OF_ONE_SOURCE, STRANGERS, Tcp};
use resoa_carrier::{Allowed, Carrier};
use resoa_protocol::lhp::{
    Connection, DisconnectReason, Handed, Identity, Indication, LastHop, Provider, Service,
};
use resoa_protocol::message::MESSAGE_OCTETS;
use rustix::net::{AddressFamily, SocketFlags, SocketType, bind, connect, socket_with};
use std::io::{Read, Write};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::thread;
use std::time::{Duration, Instant};

/// Time after which a test gives up waiting.
const PATIENCE: Duration = Duration::from_mins(1);
const PROVIDER: Provider = Provider { id: 2, protocol: 0 };
/// Number of messages of a fast sender.
const MESSAGES: usize = 100;
const ANY_PORT: (Ipv4Addr, u16) = (Ipv4Addr::LOCALHOST, 0);

/// Returns the next indication of an end, while the other ends are polled, too.
fn told(
    end: &mut Tcp,
    others: &mut [&mut Tcp],
    kept: &mut Vec<(Connection, Indication)>,
) -> (Connection, Indication) {
    let begin = Instant::now();
    while kept.is_empty() {
        assert!(begin.elapsed() < PATIENCE, "does not come");
        end.poll(kept);
        for other in &mut *others {
            other.poll(&mut Vec::new());
        }
    }
    kept.remove(0)
}

fn key() -> SecretKey {
    SecretKey::generate().expect("random octets")
}

fn secure_server(key: &SecretKey) -> (Tcp, SocketAddr) {
    let server = Tcp::secure_server(ANY_PORT.into(), key, Allowed::anybody(), KeepAlive::default());
    let server = server.expect("loopback");
    let address = server.address().expect("listens");
    (server, address)
}

fn secure_client(server: &SecretKey, at: SocketAddr) -> (Tcp, Connection) {
    let mut client = Tcp::secure_client(&key(), server.public(), KeepAlive::default()).expect("descriptors");
    let link = client.register(Service::Reliable, PROVIDER).expect("always");
    client.connect(link, at.to_string().as_bytes());
    (client, link)
}

/// C88: connecting to a server that is not there, and to a text that is not an address.
#[test]
fn nobody_there() {
    let mut client = Tcp::client(Identity(Vec::new()), KeepAlive::default()).expect("descriptors");
    let link = client.register(Service::Reliable, PROVIDER).expect("always");
    let server = TcpListener::bind(ANY_PORT).expect("loopback");
    let address = server.local_addr().expect("listens").to_string();
    drop(server);
    let mut kept = Vec::new();
    client.connect(link, address.as_bytes());
    assert_eq!(
        told(&mut client, &mut [], &mut kept),
        (link, Indication::Disconnected(DisconnectReason::Reset))
    );
    client.connect(link, b"nowhere");
    let unreachable = (link, Indication::Disconnected(DisconnectReason::Unreachable));
    assert_eq!(told(&mut client, &mut [], &mut kept), unreachable);
}

/// Returns a server without authentication, a client that can write any bytes and has introduced
/// itself, and the server's number for the connection.
fn plain() -> (Tcp, TcpStream, Connection) {
    let mut server = Tcp::server(ANY_PORT.into(), KeepAlive::default()).expect("loopback");
    let mut stream = TcpStream::connect(server.address().expect("listens")).expect("listens");
    stream.write_all(&[0, 1, 7]).expect("is taken");
    let (taken, _) = told(&mut server, &mut [], &mut Vec::new());
    server.accept(taken);
    (server, stream, taken)
}

/// C20: a length that no message has ends the connection, and no memory of that size is allocated.
#[test]
fn a_length_that_no_message_has() {
    let (mut server, mut stream, taken) = plain();
    let mut kept = Vec::new();
    stream.write_all(&u32::MAX.to_be_bytes()).expect("is taken");
    let end = (taken, Indication::Disconnected(DisconnectReason::Reset));
    assert_eq!(told(&mut server, &mut [], &mut kept), end);
}

/// A sender that is faster than our user fills at most what one pass reads.
#[test]
fn a_look_has_a_bound() {
    let (mut server, mut stream, _) = plain();
    let mut kept = Vec::new();
    let mut message = (MESSAGE_OCTETS as u32 | 1 << 31).to_be_bytes().to_vec();
    message.resize(4 + MESSAGE_OCTETS, 7);
    let fast = thread::spawn(move || {
        for _ in 0..MESSAGES {
            stream.write_all(&message).expect("is taken");
        }
        stream
    });
    let (mut most, mut all) = (0, 0);
    let begin = Instant::now();
    while all < MESSAGES {
        assert!(begin.elapsed() < PATIENCE, "does not come");
        // A slow user, so that the socket is full in each pass.
        thread::sleep(Duration::from_millis(1));
        server.poll(&mut kept);
        most = most.max(kept.len());
        all += kept.drain(..).count();
    }
    drop(fast.join());
    assert!(most <= 6, "{most} messages at once");
}

/// Returns a stranger's connection from this address.
fn stranger(from: Ipv4Addr, to: SocketAddr) -> TcpStream {
    let socket = socket_with(AddressFamily::INET, SocketType::STREAM, SocketFlags::CLOEXEC, None);
    let socket = socket.expect("descriptors");
    bind(&socket, &SocketAddr::from((from, 0))).expect("loopback");
    connect(&socket, &to).expect("listens");
    socket.into()
}

/// Returns whether the other side has ended the stream.
fn is_ended(stream: &mut TcpStream) -> bool {
    stream.set_nonblocking(true).expect("it is ours");
    !stream.read(&mut [0]).is_err_and(|error| error.kind() == std::io::ErrorKind::WouldBlock)
}

/// Silent strangers of another address keep no client out, however many arrive during its
/// handshake. Some of them make room, and our user is not told of them.
#[test]
fn strangers_make_room() {
    const CROWD: usize = OF_ONE_SOURCE + STRANGERS;
    let key = key();
    let (mut server, address) = secure_server(&key);
    let (mut client, link) = secure_client(&key, address);
    let begin = Instant::now();
    // Its first message has arrived, and the answer comes late.
    while client.statistics(link).round_trip.is_none() {
        assert!(begin.elapsed() < PATIENCE, "is not connected");
        client.poll(&mut Vec::new());
    }
    server.poll(&mut Vec::new());
    let mut silent = Vec::new();
    for number in 0..CROWD {
        silent.push(stranger(Ipv4Addr::new(127, 0, 0, 2), address));
        if number % 16 == 0 {
            server.poll(&mut Vec::new());
        }
    }
    while silent.iter_mut().filter_map(|stream| is_ended(stream).then_some(())).count()
        < CROWD - OF_ONE_SOURCE
    {
        assert!(begin.elapsed() < PATIENCE, "they stay");
        server.poll(&mut Vec::new());
    }
    let mut kept = Vec::new();
    let (taken, _) = told(&mut server, &mut [&mut client], &mut kept);
    server.accept(taken);
    let mut kept = Vec::new();
    assert_eq!(told(&mut client, &mut [&mut server], &mut kept), (link, Indication::Connected));
    let left = silent.iter_mut().filter_map(|stream| (!is_ended(stream)).then_some(())).count();
    assert_eq!(left, OF_ONE_SOURCE);
    assert!(!is_ended(&mut silent[0]) && !is_ended(&mut silent[CROWD - 1]), "the oldest, or the last");
}

/// First messages of one source, recorded ones for example, are answered at a limited rate, and the
/// others wait. A client of another source does not wait.
#[test]
fn first_messages_without_end() {
    let key = key();
    let (mut server, address) = secure_server(&key);
    // A client's first message, recorded by a server that only listens.
    let catcher = TcpListener::bind(ANY_PORT).expect("loopback");
    let (mut recorded, _) = secure_client(&key, catcher.local_addr().expect("listens"));
    recorded.poll(&mut Vec::new());
    let mut first = [0; 96];
    catcher.accept().expect("connects").0.read_exact(&mut first).expect("its first message");
    let mut crowd = Vec::new();
    let begin = Instant::now();
    for _ in 0..OF_ONE_SOURCE {
        let mut stream = stranger(Ipv4Addr::new(127, 0, 0, 2), address);
        stream.write_all(&first).expect("is taken");
        crowd.push(stream);
    }
    let mut kept = Vec::new();
    let (mut client, link) = secure_client(&key, address);
    let (taken, _) = told(&mut server, &mut [&mut client], &mut kept);
    let answered = crowd.iter_mut().filter_map(|stream| is_ended(stream).then_some(())).count();
    // 32 at once, and 64 a second.
    let most = 32 + (begin.elapsed().as_secs_f64() * 64.0) as usize + 1;
    assert!((1..=most).contains(&answered), "{answered} of {most}");
    server.accept(taken);
    assert_eq!(told(&mut client, &mut [&mut server], &mut Vec::new()), (link, Indication::Connected));
    // All of them are answered in the end.
    while !crowd.is_empty() {
        assert!(begin.elapsed() < PATIENCE, "{} wait for ever", crowd.len());
        server.poll(&mut kept);
        crowd.retain_mut(|stream| !is_ended(stream));
    }
}

/// A client's introduction is short. One that sends more is disconnected, and its bytes are not
/// kept.
#[test]
fn a_stranger_that_says_much() {
    let mut server = Tcp::server(ANY_PORT.into(), KeepAlive::default()).expect("loopback");
    let mut stream = TcpStream::connect(server.address().expect("listens")).expect("listens");
    let mut message = (60_000_u32 + (1 << 31)).to_be_bytes().to_vec();
    message.resize(4 + 30_000, 7);
    stream.write_all(&message).expect("is taken");
    let (begin, mut kept) = (Instant::now(), Vec::new());
    while !is_ended(&mut stream) {
        assert!(begin.elapsed() < PATIENCE, "it stays");
        server.poll(&mut kept);
    }
    assert_eq!(kept, []);
}

/// A server without the key that the client expects is not accepted, and its end of the connection
/// does not count as an answer of the expected server.
#[test]
fn another_server() {
    let (mut server, address) = secure_server(&key());
    let (mut client, link) = secure_client(&key(), address);
    let mut kept = Vec::new();
    // A refusal would have to come from the server that the client knows.
    let end = (link, Indication::Disconnected(DisconnectReason::Unreachable));
    assert_eq!(told(&mut client, &mut [&mut server], &mut kept), end);
}

/// An attacker on the path changes a byte, or truncates the stream. The connection ends, everything
/// before the change is right, and it does not look like a close.
#[test]
fn somebody_in_between() {
    for changes in [true, false] {
        let key = key();
        let (mut server, address) = secure_server(&key);
        let between = TcpListener::bind(ANY_PORT).expect("loopback");
        let (mut client, link) = secure_client(&key, between.local_addr().expect("listens"));
        client.poll(&mut Vec::new());
        let (mut near, _) = between.accept().expect("connects");
        let mut far = TcpStream::connect(address).expect("listens");
        let (mut back_from, mut back_to) = (far.try_clone().expect("ours"), near.try_clone().expect("ours"));
        let back = thread::spawn(move || std::io::copy(&mut back_from, &mut back_to));
        let forth = thread::spawn(move || {
            // The handshake and, after the server's answer, the client's first record.
            for length in [96, 20] {
                let mut octets = vec![0; length];
                near.read_exact(&mut octets).expect("the client's");
                far.write_all(&octets).expect("is taken");
            }
            // Each of the messages has 5 bytes.
            let mut octets = vec![0; 2 * 25];
            near.read_exact(&mut octets).expect("the client's");
            if changes {
                octets[25 + 10] ^= 1;
            } else {
                octets.truncate(25 + 10);
            }
            far.write_all(&octets).expect("is taken");
            if !changes {
                far.shutdown(Shutdown::Write).expect("connected");
            }
            (near, far)
        });
        let mut kept = Vec::new();
        let mut server_told = Vec::new();
        let begin = Instant::now();
        let mut end = None;
        while end.is_none() {
            assert!(begin.elapsed() < PATIENCE, "does not come");
            client.poll(&mut kept);
            for (_, told) in kept.drain(..) {
                if told == Indication::Connected {
                    let _ = client.send(link, b"first");
                    let _ = client.send(link, b"other");
                }
            }
            let mut happened = Vec::new();
            server.poll(&mut happened);
            for (taken, told) in happened {
                match told {
                    Indication::Connect { .. } => server.accept(taken),
                    Indication::Disconnected(why) => end = Some(why),
                    told => server_told.push(told),
                }
            }
        }
        assert_eq!(server_told, [Indication::Data(b"first".to_vec())]);
        assert_eq!(end, Some(if changes { DisconnectReason::Unreachable } else { DisconnectReason::Reset }));
        drop((forth, back));
    }
}

/// C107: collected messages are written at once by `flush`, and not before. A large amount does not
/// wait for it.
#[test]
fn gathered_messages_are_one_write() {
    let server = TcpListener::bind(ANY_PORT).expect("loopback");
    let mut client = Tcp::client(Identity(vec![7]), KeepAlive::default()).expect("descriptors");
    let link = client.register(Service::Reliable, PROVIDER).expect("always");
    client.connect(link, server.local_addr().expect("listens").to_string().as_bytes());
    let (mut far, _) = server.accept().expect("connects");
    let begin = Instant::now();
    let mut told = Vec::new();
    far.write_all(&[0; 2]).expect("connected");
    while told.is_empty() {
        assert!(begin.elapsed() < PATIENCE, "does not come");
        client.poll(&mut told);
    }
    assert_eq!(told, [(link, Indication::Connected)]);
    let mut buffer = vec![0; 1 << 16];
    far.read_exact(&mut buffer[..3]).expect("who it is");
    client.gather();
    for message in [&b"ab"[..], b"c"] {
        assert_eq!(client.send(link, message), Handed::Taken);
    }
    far.set_nonblocking(true).expect("it is ours");
    assert!(far.read(&mut buffer).is_err_and(|error| error.kind() == std::io::ErrorKind::WouldBlock));
    client.flush();
    far.set_nonblocking(false).expect("it is ours");
    assert_eq!(far.read(&mut buffer).expect("connected"), 7);
    assert_eq!(buffer[..7], *b"\0\x02ab\0\x01c");
    client.gather();
    assert_eq!(client.send(link, &vec![9; 40_000]), Handed::Taken);
    far.read_exact(&mut buffer[..40_004]).expect("connected");
}
