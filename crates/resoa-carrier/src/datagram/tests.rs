//! What ends and connections do at moments that the tests choose, with packets of nobody's carrier.

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
/// After so long something will never come.
const PATIENCE: Duration = Duration::from_mins(1);
/// Frames, as `llp::wire` has them.
const PING: &[u8] = &[1];
const DATA: &[u8] = &[3, 0, 0, 1, 1, 0, b'!'];
const HELLO: &[u8] = &[4];

fn key() -> SecretKey {
    SecretKey::generate().expect("random octets")
}

/// A server's connection that has just been answered, and its client's keys.
fn answered(port: &Port, from: Address) -> (Peer, Keys) {
    let (ours, theirs) = (key(), key());
    let (mut initiator, first) = Initiator::new(&theirs, ours.public(), Carried::Llp).expect("keys");
    let outcome = noise::answer(&ours, &Allowed::anybody(), Carried::Llp, &first).expect("a client");
    let Answered { answer, taken } = outcome;
    let taken = taken.expect("is allowed");
    let peer = Peer::answered(1, 2, from, &first, answer, taken, port.rooms(), SILENCE, Duration::ZERO);
    (peer, initiator.finish(&answer).expect("the server"))
}

/// A client that has the keys and does not say that it is there is bounded as one that says
/// nothing: it stays a stranger, is answered nothing, and has its time.
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
            peer.packet(&packet, from, port.rooms(), SILENCE, Duration::ZERO);
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

/// Who was told to stop is told so until there is room, whatever goes meanwhile.
#[test]
fn stop_holds_until_go_on() {
    let mut port = Port::udp(ANY_PORT.into()).expect("loopback");
    let from = Address::Udp(([127, 0, 0, 1], 9).into());
    let (mut peer, keys) = answered(&port, from);
    let mut sealed = Vec::new();
    keys.seal(0, HELLO, &mut sealed);
    let packet = Packet::Sealed { ours: 1, number: 0, sealed: &sealed };
    peer.packet(&packet, from, port.rooms(), SILENCE, Duration::ZERO);
    let machine = peer.machine().expect("is there");
    machine.accept();
    while !machine.is_full() {
        machine.send(&[7; 1000]);
    }
    assert!(peer.fills_up());
    // What may be under way before anything is known goes at once.
    peer.transmit(&mut port, Duration::ZERO);
    assert!(peer.machine().is_some_and(|machine| !machine.is_full() && !machine.has_room()));
    assert!(peer.fills_up());
}

/// A client that takes it back before it was there is forgotten when its packets need no answer any
/// more, as any other that has ended.
#[test]
fn a_stranger_that_resets() {
    const RESET: &[u8] = &[7];
    let mut port = Port::udp(ANY_PORT.into()).expect("loopback");
    let from = Address::Udp(([127, 0, 0, 1], 9).into());
    let (mut peer, keys) = answered(&port, from);
    let mut sealed = Vec::new();
    keys.seal(0, RESET, &mut sealed);
    let packet = Packet::Sealed { ours: 1, number: 0, sealed: &sealed };
    peer.packet(&packet, from, port.rooms(), SILENCE, Duration::ZERO);
    assert!(peer.poll(&mut port, Duration::ZERO, |told| panic!("{told:?}")));
    let gone = peer.deadline().expect("it has a time");
    assert!(gone < INTRODUCTION && !peer.poll(&mut port, gone, |told| panic!("{told:?}")));
}

/// First messages that come to nothing, by keys that are not allowed or for another server, make it
/// suspicious as strangers do: it does not go on reckoning for addresses that do not answer.
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
        // From now on it asks, whoever it is, and goes on with those that are where they say.
        let last = INTRODUCTION.saturating_sub(Duration::from_millis(1));
        says(&theirs, ours.public(), &[0; 16], last);
        let asked = hears();
        let Some(Packet::Cookie { ours: 7, cookie }) = Packet::read(&asked) else { panic!("{asked:?}") };
        says(&theirs, ours.public(), cookie, last);
        assert!(matches!(Packet::read(&hears()), Some(Packet::Answer { .. })));
        // Those that are long over do not count.
        says(&theirs, ours.public(), &[0; 16], INTRODUCTION);
        assert!(matches!(Packet::read(&hears()), Some(Packet::Answer { .. })));
    }
}

/// A server that takes anybody, and strangers without a socket, whose addresses are the test's
/// choice.
struct Stage {
    server: Datagrams,
    key: SecretKey,
    /// Where answers come that are looked at.
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

    /// A first message comes, as long after the last that it is reckoned.
    fn says(&mut self, first: &[u8; FIRST], cookie: &[u8; 16], from: Address, now: Duration) {
        self.server.strangers.rest();
        self.server.packet(&Packet::First { theirs: 7, cookie, first }.octets(), from, now);
    }

    /// What has been answered.
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

/// What a first packet that somebody has recorded is answered: itself, as its client's own
/// repetition, twice; then it takes a cookie, which is that of one address; and nothing when the
/// connection is up, or has gone.
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
    // From elsewhere it takes one from the beginning.
    let elsewhere = Stage::new();
    stage.says(&first, cookie, elsewhere.here(), zero);
    assert!(matches!(Packet::read(&elsewhere.hears()), Some(Packet::Cookie { .. })));
    assert_eq!(stage.server.peers.len(), 1, "something was kept for it");
    // The connection has gone; a marker behind it shows that nothing was answered.
    let gone = *stage.server.peers.keys().next().expect("is there");
    stage.server.remove(gone);
    for cookie in [&none, cookie] {
        stage.says(&first, cookie, here, INTRODUCTION);
    }
    stage.ear.send_to(b"marker", stage.ear.local_addr().expect("is bound")).expect("loopback");
    assert_eq!(stage.hears(), b"marker");
    assert!(stage.server.peers.is_empty() && stage.server.strangers.count() == 0);
}

/// Strangers who are where they say, and go through the handshake but for its end, keep nobody of
/// another address out, however many they are; of their own address only up to a bound. The one
/// that has to go can begin anew.
#[test]
fn strangers_with_cookies() {
    let (mut stage, zero) = (Stage::new(), Duration::ZERO);
    // A client of another address, which has been answered and is not through.
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
    // The client goes on.
    let mut sealed = Vec::new();
    keys.seal(0, HELLO, &mut sealed);
    let hello = Packet::Sealed { ours: number, number: 0, sealed: &sealed }.octets();
    stage.server.packet(&hello, away.here(), zero);
    let peer = &stage.server.peers[&Connection(client)];
    assert!(!peer.is_stranger());
}

/// What has come and is to be sent, at the beginning of time: nothing that was lost is sent again.
fn turn(end: &mut Datagrams, told: &mut Vec<(Connection, Indication)>) {
    turn_at(end, Duration::ZERO, told);
}

/// The same at another time.
fn turn_at(end: &mut Datagrams, now: Duration, told: &mut Vec<(Connection, Indication)>) {
    end.take_packets(now);
    for (&connection, peer) in &mut end.peers {
        peer.poll(&mut end.port, now, |indication| told.push((connection, indication)));
    }
}

/// Has the server accept the client. The indications of the client's user until the welcome.
fn welcomed(client: &mut Datagrams, server: &mut Datagrams) -> Vec<(Connection, Indication)> {
    let mut told = [Vec::new(), Vec::new()];
    let begin = Instant::now();
    while told[0].is_empty() {
        assert!(begin.elapsed() < PATIENCE, "the welcome does not come: {told:?}");
        turn(client, &mut told[0]);
        turn(server, &mut told[1]);
        if let Some((taken, _)) = told[1].pop() {
            server.peers.get_mut(&taken).and_then(Peer::machine).expect("is there").accept();
        }
    }
    let [client, _] = told;
    client
}

/// Where packets of 1472 octets are longer than what the interface carries, the trial of one takes
/// nothing with it: the welcome arrives at the first time. And the kernel goes on taking runs.
#[test]
fn a_trial_goes_by_itself() {
    if !rustix::process::geteuid().is_root() {
        println!("skipped: namespaces need root");
        return;
    }
    let alone = thread::spawn(|| {
        loopback::of_this_thread(1400);
        let (ours, theirs, keep_alive) = (key(), key(), KeepAlive::default());
        let mut server =
            Datagrams::udp_server(ANY_PORT.into(), &ours, Allowed::anybody(), keep_alive).expect("loopback");
        let address = server.address().expect("is bound");
        let mut client =
            Datagrams::udp_client(address, &theirs, ours.public(), keep_alive).expect("descriptors");
        let link = client.register(Service::Reliable, Provider { id: 4, protocol: 0 }).expect("always");
        client.connect_to(link, address.to_string().as_bytes(), Duration::ZERO).expect("an address");
        let told = welcomed(&mut client, &mut server);
        assert_eq!(told, [(link, Indication::Connected)]);
        let mut run = server.port.run(Address::Udp(address));
        run.packet(1000).extend([0; 1000]);
        assert!(server.port.fits(&run, 1000), "the kernel does not take runs any more");
    });
    alone.join().expect("as it should be");
}

/// Long packets are used where they arrive, and only as long as they do: an interface may carry no
/// others from some time on. Runs of them, which the kernel then refuses as a whole, are lost as
/// they would be on the way, and it goes on taking runs of short ones.
#[test]
fn an_interface_that_carries_less() {
    if !rustix::process::geteuid().is_root() {
        println!("skipped: namespaces need root");
        return;
    }
    // What it carries, and then; and octets of frames in packets, 25 and the headers of UDP and IP,
    // or 2, being the rest.
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

/// So many octets, and then fewer, by an interface: long messages arrive, in packets of so many
/// octets of frames, and in runs.
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
