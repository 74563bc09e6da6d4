//! Ends and connections at times that the tests choose, with packets that no carrier would send.

use super::packet::Packet;
use super::peer::Peer;
use super::port::{Address, Port};
use super::{Datagrams, INTRODUCTION, KeepAlive, OF_ONE_SOURCE, STRANGERS, SUSPICIOUS};
use crate::keys::SecretKey;
use crate::llp::Silence;
use crate::loopback;
use crate::noise::{self, Answered, Carried, FIRST, Initiator, Keys};
use crate::{Allowed, Carrier};
use resoa_protocol::lhp::{Connection, Indication, LastHop, Provider, Service};
use std::net::{Ipv4Addr, UdpSocket};
use std::thread;
use std::time::{Duration, Instant};

mod killed;

const ANY_PORT: (Ipv4Addr, u16) = (Ipv4Addr::LOCALHOST, 0);
const SILENCE: Silence = Silence { ask: Duration::from_secs(15), end: Duration::from_secs(30) };
/// Time after which a test gives up waiting.
const PATIENCE: Duration = Duration::from_mins(1);
/// Frames in the encoding of `llp::wire`.
const PING: &[u8] = &[1];
const DATA: &[u8] = &[3, 0, 0, 1, 1, 0, b'!'];
const HELLO: &[u8] = &[4];

fn key() -> SecretKey {
    SecretKey::generate().expect("random octets")
}

/// Returns a server's connection that has just been answered, and its client's keys.
fn answered(port: &Port, from: Address) -> (Peer, Keys) {
    let (ours, theirs) = (key(), key());
    let (mut initiator, first) = Initiator::new(&theirs, ours.public(), Carried::Llp).expect("keys");
    let outcome = noise::answer(&ours, &Allowed::anybody(), Carried::Llp, &first).expect("a client");
    let Answered { answer, taken } = outcome;
    let taken = taken.expect("is allowed");
    let peer = Peer::answered(1, 2, from, &first, answer, taken, port.rooms(from), SILENCE, Duration::ZERO);
    (peer, initiator.finish(&answer).expect("the server"))
}

/// A client that has the keys and does not confirm its presence has the same limits as one that
/// says nothing: it stays a stranger, gets no answer, and has limited time.
#[test]
fn who_says_no_hello() {
    let mut port = Port::udp(ANY_PORT.into()).expect("loopback");
    let from = Address::Udp(([127, 0, 0, 1], 9).into());
    for (says, is_bounded) in [(&[PING, PING][..], true), (&[DATA], true), (&[PING, HELLO], false)] {
        let (mut peer, keys) = answered(&port, from);
        let mut told = Vec::new();
        for (number, frames) in (0_u32..).zip(says) {
            let mut sealed = Vec::new();
            keys.seal(number.into(), frames, &mut sealed);
            let packet = Packet::Sealed { ours: 1, number, sealed: &sealed };
            peer.packet(&packet, from, &port, SILENCE, Duration::ZERO);
            assert!(peer.poll(&mut port, Duration::ZERO, |indication| told.push(indication)));
        }
        assert_eq!(peer.is_stranger(), is_bounded, "{says:?}");
        assert_eq!(peer.answer().is_some(), is_bounded, "{says:?}");
        assert_eq!(told.is_empty(), is_bounded, "{told:?}");
        let late = INTRODUCTION.saturating_sub(Duration::from_millis(1));
        assert!(peer.poll(&mut port, late, |_| {}));
        assert_eq!(peer.deadline() == Some(INTRODUCTION), is_bounded);
        assert_ne!(peer.poll(&mut port, INTRODUCTION, |_| {}), is_bounded, "{says:?}");
    }
}

/// A user that was told to stop is told so until there is room, whatever is sent meanwhile.
#[test]
fn stop_holds_until_go_on() {
    let mut port = Port::udp(ANY_PORT.into()).expect("loopback");
    let from = Address::Udp(([127, 0, 0, 1], 9).into());
    let (mut peer, keys) = answered(&port, from);
    let mut sealed = Vec::new();
    keys.seal(0, HELLO, &mut sealed);
    let packet = Packet::Sealed { ours: 1, number: 0, sealed: &sealed };
    peer.packet(&packet, from, &port, SILENCE, Duration::ZERO);
    let machine = peer.machine().expect("is there");
    machine.accept();
    while !machine.is_full() {
        machine.send(&[7; 1000]);
    }
    assert!(peer.fills_up());
    // The initial window is sent at once.
    peer.transmit(&mut port, Duration::ZERO);
    assert!(peer.machine().is_some_and(|machine| !machine.is_full() && !machine.has_room()));
    assert!(peer.fills_up());
}

/// A client that resets before it has confirmed its presence is forgotten when its packets need no
/// answer any more, like any ended connection.
#[test]
fn a_stranger_that_resets() {
    const RESET: &[u8] = &[7];
    let mut port = Port::udp(ANY_PORT.into()).expect("loopback");
    let from = Address::Udp(([127, 0, 0, 1], 9).into());
    let (mut peer, keys) = answered(&port, from);
    let mut sealed = Vec::new();
    keys.seal(0, RESET, &mut sealed);
    let packet = Packet::Sealed { ours: 1, number: 0, sealed: &sealed };
    peer.packet(&packet, from, &port, SILENCE, Duration::ZERO);
    assert!(peer.poll(&mut port, Duration::ZERO, |told| panic!("{told:?}")));
    let gone = peer.deadline().expect("it has a time");
    assert!(gone < INTRODUCTION && !peer.poll(&mut port, gone, |told| panic!("{told:?}")));
}

/// First messages whose handshakes fail, because the key is not allowed or meant for another
/// server, make the server ask for cookies as strangers do. So it stops computing for addresses
/// that do not answer.
#[test]
fn handshakes_that_come_to_nothing() {
    let (ours, theirs) = (key(), key());
    for server_of_first in [ours.public(), key().public()] {
        let allowed = Allowed::keys([theirs.public()].into());
        let mut server =
            Datagrams::udp_server(ANY_PORT.into(), &ours, allowed, KeepAlive::default()).expect("loopback");
        let client = UdpSocket::bind(ANY_PORT).expect("loopback");
        client.set_read_timeout(Some(PATIENCE)).expect("it is a time");
        let from = Address::Udp(client.local_addr().expect("is bound"));
        let mut says = |key: &SecretKey, to, cookie: &[u8; 16], now| {
            let (_, first) = Initiator::new(key, to, Carried::Llp).expect("keys");
            server.strangers.rest();
            server.packet(&Packet::First { theirs: 7, cookie, first: &first }.octets(), from, now);
        };
        let hears = || {
            let mut buffer = [0; 2048];
            let (length, _) = client.recv_from(&mut buffer).expect("an answer");
            buffer[..length].to_vec()
        };
        let is_answered = server_of_first == ours.public();
        for _ in 0..SUSPICIOUS {
            says(&key(), server_of_first, &[0; 16], Duration::ZERO);
            if is_answered {
                assert!(matches!(Packet::read(&hears()), Some(Packet::Answer { theirs: 0, .. })));
            }
        }
        // From now on it asks everybody for a cookie, and goes on with senders that bring one back.
        let last = INTRODUCTION.saturating_sub(Duration::from_millis(1));
        says(&theirs, ours.public(), &[0; 16], last);
        let asked = hears();
        let Some(Packet::Cookie { ours: 7, cookie }) = Packet::read(&asked) else { panic!("{asked:?}") };
        says(&theirs, ours.public(), cookie, last);
        assert!(matches!(Packet::read(&hears()), Some(Packet::Answer { .. })));
        // Old failures do not count.
        says(&theirs, ours.public(), &[0; 16], INTRODUCTION);
        assert!(matches!(Packet::read(&hears()), Some(Packet::Answer { .. })));
    }
}

/// A server that accepts anybody, and strangers without a socket, whose addresses the test chooses.
struct Stage {
    server: Datagrams,
    key: SecretKey,
    /// Socket that receives the answers to be checked.
    ear: UdpSocket,
}

impl Stage {
    fn new() -> Self {
        let key = key();
        let server = Datagrams::udp_server(ANY_PORT.into(), &key, Allowed::anybody(), KeepAlive::default());
        let ear = UdpSocket::bind(ANY_PORT).expect("loopback");
        ear.set_nonblocking(true).expect("it is ours");
        Self { server: server.expect("loopback"), key, ear }
    }

    fn here(&self) -> Address {
        Address::Udp(self.ear.local_addr().expect("is bound"))
    }

    fn first(&self) -> (Initiator, [u8; FIRST]) {
        Initiator::new(&key(), self.key.public(), Carried::Llp).expect("keys")
    }

    /// Processes a first message, as if enough time had passed since the last one for another
    /// handshake.
    fn says(&mut self, first: &[u8; FIRST], cookie: &[u8; 16], from: Address, now: Duration) {
        self.server.strangers.rest();
        self.server.packet(&Packet::First { theirs: 7, cookie, first }.octets(), from, now);
    }

    /// Returns the next answer.
    fn hears(&self) -> Vec<u8> {
        let mut buffer = [0; 2048];
        let begin = Instant::now();
        loop {
            if let Ok((length, _)) = self.ear.recv_from(&mut buffer) {
                assert!(length < 22 + FIRST, "more comes back than was sent");
                return buffer[..length].to_vec();
            }
            assert!(begin.elapsed() < PATIENCE, "nothing is answered");
            thread::yield_now();
        }
    }
}

/// Answers to a recorded first message. A repetition gets the same answer twice, like one by its
/// client. After that it needs a cookie, which is valid for one address. It gets no answer when the
/// connection has gone.
#[test]
fn a_recorded_first_message() {
    let is_answer =
        |octets: &[u8]| matches!(Packet::read(octets), Some(Packet::Answer { theirs, .. }) if theirs != 0);
    let (mut stage, zero) = (Stage::new(), Duration::ZERO);
    let (_, first) = stage.first();
    let (here, none) = (stage.here(), [0; 16]);
    let mut answers = Vec::new();
    for _ in 0..3 {
        stage.says(&first, &none, here, zero);
        answers.push(stage.hears());
    }
    assert!(is_answer(&answers[0]) && answers.iter().all(|answer| *answer == answers[0]), "{answers:?}");
    for _ in 0..100 {
        stage.says(&first, &none, here, zero);
        assert!(matches!(Packet::read(&stage.hears()), Some(Packet::Cookie { .. })));
    }
    stage.says(&first, &none, here, zero);
    let asked = stage.hears();
    let Some(Packet::Cookie { cookie, .. }) = Packet::read(&asked) else { panic!("{asked:?}") };
    stage.says(&first, cookie, here, zero);
    assert_eq!(stage.hears(), answers[0]);
    // Another address needs a cookie from the beginning.
    let elsewhere = Stage::new();
    stage.says(&first, cookie, elsewhere.here(), zero);
    assert!(matches!(Packet::read(&elsewhere.hears()), Some(Packet::Cookie { .. })));
    assert_eq!(stage.server.peers.len(), 1, "something was kept for it");
    // The connection has gone. The marker shows that nothing was answered before it.
    let gone = *stage.server.peers.keys().next().expect("is there");
    stage.server.remove(gone);
    for cookie in [&none, cookie] {
        stage.says(&first, cookie, here, INTRODUCTION);
    }
    stage.ear.send_to(b"marker", stage.ear.local_addr().expect("is bound")).expect("loopback");
    assert_eq!(stage.hears(), b"marker");
    assert!(stage.server.peers.is_empty() && stage.server.strangers.count() == 0);
}

/// Strangers that own their address and complete the handshake except for its end keep out no
/// client of another address, however many they are. Only a limited number of one address are kept.
/// One that had to make room can begin anew.
#[test]
fn strangers_with_cookies() {
    let (mut stage, zero) = (Stage::new(), Duration::ZERO);
    // A client of another address that has been answered and not yet confirmed its presence.
    let away = Stage::new();
    let (mut initiator, first) = stage.first();
    stage.says(&first, &[0; 16], away.here(), zero);
    let heard = away.hears();
    let Some(Packet::Answer { theirs: number, answer, .. }) = Packet::read(&heard) else {
        panic!("{heard:?}")
    };
    let keys = initiator.finish(answer).expect("the server");
    let client = stage.server.last;
    let catcher = UdpSocket::bind((Ipv4Addr::new(127, 0, 0, 2), 0)).expect("loopback");
    let crowd = Address::Udp(catcher.local_addr().expect("is bound"));
    let mut crowds = Vec::new();
    for _ in 0..OF_ONE_SOURCE + STRANGERS {
        let (_, first) = stage.first();
        let cookie = stage.server.cookie(crowd, zero);
        stage.says(&first, &cookie, crowd, zero);
        assert!(stage.server.peers.len() <= 1 + OF_ONE_SOURCE);
        crowds.push((first, stage.server.last));
    }
    assert_eq!(stage.server.peers.len(), 1 + OF_ONE_SOURCE);
    let made_room = |(_, name): &&([u8; FIRST], u64)| !stage.server.peers.contains_key(&Connection(*name));
    let (first, _) = *crowds.iter().find(made_room).expect("some made room");
    let last = stage.server.last;
    let cookie = stage.server.cookie(crowd, zero);
    for (cookie, begun) in [([0; 16], last), (cookie, last + 1)] {
        stage.says(&first, &cookie, crowd, zero);
        assert_eq!(stage.server.last, begun, "whether it begins anew");
    }
    // The client completes its handshake.
    let mut sealed = Vec::new();
    keys.seal(0, HELLO, &mut sealed);
    let hello = Packet::Sealed { ours: number, number: 0, sealed: &sealed }.octets();
    stage.server.packet(&hello, away.here(), zero);
    let peer = &stage.server.peers[&Connection(client)];
    assert!(!peer.is_stranger());
}

/// Receives and sends at time zero: nothing that was lost is sent again.
fn turn(end: &mut Datagrams, told: &mut Vec<(Connection, Indication)>) {
    turn_at(end, Duration::ZERO, told);
}

/// Does the same at another time.
fn turn_at(end: &mut Datagrams, now: Duration, told: &mut Vec<(Connection, Indication)>) {
    end.take_packets(now);
    for (&connection, peer) in &mut end.peers {
        peer.poll(&mut end.port, now, |indication| told.push((connection, indication)));
    }
}

/// Has the server accept the client, after `before`. Returns the indications of the client's user
/// until the welcome.
fn welcomed(
    client: &mut Datagrams,
    server: &mut Datagrams,
    before: impl Fn(),
) -> Vec<(Connection, Indication)> {
    let mut told = [Vec::new(), Vec::new()];
    let begin = Instant::now();
    while told[0].is_empty() {
        assert!(begin.elapsed() < PATIENCE, "the welcome does not come: {told:?}");
        turn(client, &mut told[0]);
        turn(server, &mut told[1]);
        if let Some((taken, _)) = told[1].pop() {
            before();
            server.peers.get_mut(&taken).and_then(Peer::machine).expect("is there").accept();
        }
    }
    let [client, _] = told;
    client
}

/// If the interface carries no packets of 1500 bytes any more, a probe of that length takes no
/// other packet with it: the welcome arrives without a retransmission. The kernel still takes runs.
#[test]
fn a_trial_goes_by_itself() {
    if !rustix::process::geteuid().is_root() {
        skip::skip!("namespaces need root");
        return;
    }
    let alone = thread::spawn(|| {
        loopback::of_this_thread(9000);
        let (ours, theirs, keep_alive) = (key(), key(), KeepAlive::default());
        let mut server =
            Datagrams::udp_server(ANY_PORT.into(), &ours, Allowed::anybody(), keep_alive).expect("loopback");
        let address = server.address().expect("is bound");
        let mut client =
            Datagrams::udp_client(address, &theirs, ours.public(), keep_alive).expect("descriptors");
        let link = client.register(Service::Reliable, Provider { id: 4, protocol: 0 }).expect("always");
        client.connect_to(link, address.to_string().as_bytes(), Duration::ZERO).expect("an address");
        let told = welcomed(&mut client, &mut server, || loopback::carry(1400));
        assert_eq!(told, [(link, Indication::Connected)]);
        let mut run = server.port.run(Address::Udp(address));
        run.packet(1000).extend([0; 1000]);
        assert!(server.port.fits(&run, 1000), "the kernel does not take runs any more");
    });
    alone.join().expect("as it should be");
}

/// Long packets are used where they arrive, and only as long as they do: the MTU of an interface
/// can shrink. The kernel then refuses a whole run of long packets, which are lost as they would be
/// on the way. It still takes runs of short ones.
#[test]
fn an_interface_that_carries_less() {
    if !rustix::process::geteuid().is_root() {
        skip::skip!("namespaces need root");
        return;
    }
    // MTU, first and later; and bytes of frames in packets. The difference is 25 bytes, and the UDP
    // and IP headers or the length field of 2 bytes.
    let over_udp = [(1500, 1447), (1400, 1175)];
    let over_ethernet = [(9000, 8973), (1500, 1473)];
    let alone = thread::spawn(move || {
        loopback::of_this_thread(9000);
        let (ours, theirs, keep_alive) = (key(), key(), KeepAlive::default());
        let server = Datagrams::udp_server(ANY_PORT.into(), &ours, Allowed::anybody(), keep_alive);
        let server = server.expect("loopback");
        let address = server.address().expect("is bound");
        let client = Datagrams::udp_client(address, &theirs, ours.public(), keep_alive);
        carries(over_udp, server, client.expect("descriptors"), &address.to_string());
        loopback::carry(9000);
        let server = Datagrams::ether_server("lo", &ours, Allowed::anybody(), keep_alive);
        let client = Datagrams::ether_client("lo", &theirs, ours.public(), keep_alive);
        let (server, client) = (server.expect("loopback"), client.expect("loopback"));
        carries(over_ethernet, server, client, "00:00:00:00:00:00");
    });
    alone.join().expect("as it should be");
}

/// Over a first hop that carries less than QUIC asks of a path, packets have its length: LoRaWAN's
/// 242 bytes.
#[test]
fn a_narrow_first_hop() {
    if !rustix::process::geteuid().is_root() {
        skip::skip!("namespaces need root");
        return;
    }
    let alone = thread::spawn(|| {
        loopback::of_this_thread(242);
        let (ours, theirs, keep_alive) = (key(), key(), KeepAlive::default());
        let server = Datagrams::udp_server(ANY_PORT.into(), &ours, Allowed::anybody(), keep_alive);
        let server = server.expect("loopback");
        let address = server.address().expect("is bound");
        let client = Datagrams::udp_client(address, &theirs, ours.public(), keep_alive);
        // Without the UDP and IP headers, and the 25 bytes of a sealed packet.
        let lengths = [(242, 242 - 28 - 25); 2];
        carries(lengths, server, client.expect("descriptors"), &address.to_string());
    });
    alone.join().expect("as it should be");
}

/// Sends long messages over an interface with one MTU and then a smaller one, and checks that they
/// arrive, in packets with the expected bytes of frames, and in runs.
fn carries(lengths: [(i32, usize); 2], mut server: Datagrams, mut client: Datagrams, address: &str) {
    const COUNT: usize = 20;
    let link = client.register(Service::Reliable, Provider { id: 4, protocol: 0 }).expect("always");
    client.connect(link, address.as_bytes());
    let (mut told, message, begin) = (Vec::new(), vec![7; 50_000], Instant::now());
    let taken = loop {
        assert!(begin.elapsed() < PATIENCE, "the client does not come");
        client.poll(&mut Vec::new());
        server.poll(&mut told);
        if let Some((taken, _)) = told.pop() {
            break taken;
        }
    };
    server.accept(taken);
    for (carries, octets) in lengths {
        loopback::carry(carries);
        for _ in 0..COUNT {
            let _ = server.send(taken, &message);
        }
        let (mut come, mut used) = (Vec::new(), 0);
        while come.len() < COUNT || used != octets {
            assert!(begin.elapsed() < PATIENCE, "{} messages come, in packets of {used}", come.len());
            server.poll(&mut Vec::new());
            client.poll(&mut come);
            come.retain(|(_, told)| matches!(told, Indication::Data(_)));
            let machine = server.peers.get_mut(&taken).and_then(Peer::machine);
            used = machine.expect("is there").packet_octets();
        }
    }
    let mut run = server.port.run(Address::Udp(([127, 0, 0, 1], 9).into()));
    run.packet(1000).extend([0; 1000]);
    assert!(server.port.fits(&run, 1000), "the kernel does not take runs any more");
}
