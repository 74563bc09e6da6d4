//! Tests of who may measure, and of what a stranger can cause.

use super::*;
use crate::message::{Body, End, Message, Refusal};

const PERFECT: &str = "[up]\nrate = \"1Mbit\"\n[down]\nrate = \"1Mbit\"\n";

#[test]
fn without_the_key_there_is_no_answer() {
    let mut simulation = Simulation::new(&profile(PERFECT, &[]), plan(), 1);
    simulation.client = Client::new(Key::new([8; 32]), plan(), [3; 16]).expect("a plan");
    assert_eq!(simulation.run(), Err(ClientError::NoAnswer));
}

#[test]
fn the_server_keeps_to_its_limits() {
    let mut simulation = Simulation::new(&profile(PERFECT, &[]), plan(), 1);
    simulation.server = Server::new(key(), [1; 32], 1_000_000);
    assert_eq!(simulation.run(), Err(ClientError::Refused));
    let wrong = Plan { train: 1, ..plan() };
    let error = Client::new(key(), wrong, [3; 16]).expect_err("a train of one packet");
    assert_eq!(error.to_string(), "train is 1: must be 2 to 1000 packets");
}

/// Returns the answers of `server` to a message.
fn answers(server: &mut Server, from: SocketAddr, session: u64, body: Body, now: u64) -> Vec<Message> {
    let datagram = Message { session, body }.seal(&key(), End::Client, crate::message::LEAST_REQUEST);
    server.receive(now, from, &datagram);
    let mut answers = Vec::new();
    while let Some((to, answer)) = server.send(now) {
        assert_eq!(to, from);
        assert!(answer.len() <= datagram.len(), "{} bytes for {}", answer.len(), datagram.len());
        answers.push(Message::open(&answer, &key(), End::Server).expect("a message"));
    }
    answers
}

fn cookie(server: &mut Server, from: SocketAddr, nonce: [u8; 16], now: u64) -> [u8; 16] {
    match &answers(server, from, 0, Body::Hello { nonce }, now)[..] {
        [Message { session: 0, body: Body::Cookie { cookie, .. } }] => *cookie,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_session_needs_the_cookie_of_its_address_and_of_its_time() {
    let mut server = server();
    let (nonce, other) = ([5; 16], SocketAddr::from(([198, 51, 100, 9], 1)));
    let now = 1000 * SECOND;
    let cookie = cookie(&mut server, address(), nonce, now);
    let open = |cookie| Body::Open { nonce, cookie, plan: plan() };
    assert_eq!(answers(&mut server, other, 0, open(cookie), now), []);
    assert_eq!(answers(&mut server, address(), 0, open([0; 16]), now), []);
    assert_eq!(answers(&mut server, address(), 0, open(cookie), now + 121 * SECOND), []);
    assert!(server.client().is_none());
    let opened = answers(&mut server, address(), 0, open(cookie), now);
    assert!(matches!(opened[..], [Message { session: 1.., body: Body::Opened { .. } }]), "{opened:?}");
    // A repeated request opens the same session. One of another client has to wait.
    assert_eq!(answers(&mut server, address(), 0, open(cookie), now), opened);
    let nonce = [6; 16];
    let cookie = self::cookie(&mut server, other, nonce, now);
    let refused = answers(&mut server, other, 0, Body::Open { nonce, cookie, plan: plan() }, now);
    let busy = Body::Refused { nonce, refusal: Refusal::Busy };
    assert_eq!(refused, [Message { session: 0, body: busy }]);
    // Without a word for 30 s the first client is gone.
    let later = now + 31 * SECOND;
    assert!(server.send(later).is_none() && server.client().is_none());
    let opened = answers(&mut server, other, 0, Body::Open { nonce, cookie, plan: plan() }, later);
    assert!(matches!(opened[..], [Message { session: 1.., body: Body::Opened { .. } }]), "{opened:?}");
}

#[test]
fn only_the_client_of_a_session_can_begin_a_phase_and_only_in_order() {
    let mut server = server();
    let (nonce, now) = ([5; 16], 1000 * SECOND);
    let cookie = cookie(&mut server, address(), nonce, now);
    let opened = answers(&mut server, address(), 0, Body::Open { nonce, cookie, plan: plan() }, now);
    let number = opened[0].session;
    let begin = |phase| Body::Begin { phase, rate: 1_000_000 };
    let other = SocketAddr::from(([198, 51, 100, 9], 1));
    assert_eq!(answers(&mut server, other, number, begin(0), now), []);
    assert_eq!(answers(&mut server, address(), number ^ 1, begin(0), now), []);
    assert_eq!(answers(&mut server, address(), number, begin(2), now), []);
    let expected = Message { session: number, body: Body::Began { phase: 0 } };
    assert_eq!(answers(&mut server, address(), number, begin(0), now), [expected]);
    assert_eq!(answers(&mut server, address(), number, Body::Close, now), []);
    assert_eq!((server.client(), server.ended()), (None, 1));
    assert_eq!(answers(&mut server, address(), number, begin(1), now), []);
}
