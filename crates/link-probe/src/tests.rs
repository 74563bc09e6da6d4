//! Tests of both ends over simulated links: exact times, without sockets.

mod handshake;
mod measured;

use crate::{Client, ClientError, Key, MILLI, NEVER, Plan, Recording, SECOND, Server};
use link::profile::{Content, LinkProfile, Profile};
use link::units::Time;
use link::{Direction, Link, LinkSink, Packet, Seed};
use packet::{Frame, Layer};
use std::net::SocketAddr;

/// Difference of the server's clock to the client's.
const OFFSET: u64 = 12_345 * SECOND + 678;
/// Time at which a simulation begins, by the client's clock.
const BEGIN: u64 = SECOND;
/// Headers of IP and UDP.
const HEADERS: usize = 28;

pub fn plan() -> Plan {
    Plan {
        size: 1368,
        overhead: 28,
        train: 10,
        interval: 100 * MILLI,
        light: 20 * SECOND,
        heavy: 6 * SECOND,
        max_rate: 50_000_000,
        together: false,
    }
}

pub fn key() -> Key {
    Key::new([7; 32])
}

pub fn address() -> SocketAddr {
    SocketAddr::from(([192, 0, 2, 1], 4000))
}

pub fn server() -> Server {
    Server::new(key(), [1; 32], 1_000_000_000)
}

/// Returns the profile with these two tables; `files` has the traces that it names.
pub fn profile(tables: &str, files: &[(String, String)]) -> LinkProfile {
    let text = format!("kind = \"link\"\ntitle = \"t\"\nsource = \"s\"\n{tables}");
    parsed(&text, files)
}

pub fn parsed(text: &str, files: &[(String, String)]) -> LinkProfile {
    let mut read = |name: &str| {
        let file = files.iter().find(|(known, _)| known == name);
        file.map(|(_, text)| text.clone()).ok_or_else(|| std::io::Error::other("no such file"))
    };
    match Profile::parse("test.toml", text, &mut read)
        .unwrap_or_else(|error| panic!("{error}\n{text}"))
        .content
    {
        Content::Link(link) => link,
        Content::Loss(_) => unreachable!("it is a link"),
    }
}

/// Packets that left the link.
#[derive(Default)]
struct Left(Vec<(Direction, Packet)>);

impl LinkSink for Left {
    fn delivered(&mut self, direction: Direction, packet: Packet) {
        self.0.push((direction, packet));
    }

    fn lost(&mut self, _: Direction, _: Packet) {}
}

/// Both ends and the link between them.
pub struct Simulation {
    pub client: Client,
    pub server: Server,
    link: Link,
    now: u64,
    left: Left,
}

impl Simulation {
    pub fn new(profile: &LinkProfile, plan: Plan, seed: u64) -> Self {
        let client = Client::new(key(), plan, [3; 16]).expect("a plan");
        let link = profile.build(&Seed::campaign(seed)).expect("a link");
        Self { client, server: server(), link, now: BEGIN, left: Left::default() }
    }

    fn enter(&mut self, direction: Direction, datagram: &[u8]) {
        let bytes = [&[0; HEADERS], datagram].concat();
        let frame = Frame::owned(Layer::Ip, bytes);
        self.link.accept(direction, frame, Time::from_nanos(self.now - BEGIN), &mut self.left);
    }

    /// Handles everything that happens now; returns whether there was anything.
    fn step(&mut self) -> bool {
        let mut any = false;
        while let Some(datagram) = self.client.send(self.now) {
            self.enter(Direction::Up, &datagram);
            any = true;
        }
        while let Some((to, datagram)) = self.server.send(self.now + OFFSET) {
            assert_eq!(to, address());
            self.enter(Direction::Down, &datagram);
            any = true;
        }
        self.link.advance(Time::from_nanos(self.now - BEGIN), &mut self.left);
        for (direction, packet) in std::mem::take(&mut self.left.0) {
            let bytes = packet.frame.to_bytes();
            match direction {
                Direction::Up => self.server.receive(self.now + OFFSET, address(), &bytes[HEADERS..]),
                Direction::Down => self.client.receive(self.now, &bytes[HEADERS..]),
            }
            any = true;
        }
        any
    }

    pub fn run(mut self) -> Result<Recording, ClientError> {
        while !self.client.is_done() {
            let mut rounds = 0;
            while self.step() {
                rounds += 1;
                assert!(
                    rounds < 100_000,
                    "it goes on for ever at {}: {:?}",
                    self.now,
                    self.client.progress()
                );
            }
            let link = self.link.due();
            let link = if link == Time::NEVER { NEVER } else { link.as_nanos() + BEGIN };
            let server = self.server.due();
            let server = if server == NEVER { NEVER } else { server.saturating_sub(OFFSET) };
            let next = link.min(server).min(self.client.due());
            assert!(
                next > self.now || self.client.is_done(),
                "{next} is due at {}, and nothing happens",
                self.now
            );
            assert!(next < 2000 * SECOND, "it takes too long: {:?}", self.client.progress());
            self.now = next;
        }
        self.client.into_recording()
    }
}

pub fn measure(profile: &LinkProfile, plan: Plan, seed: u64) -> Recording {
    Simulation::new(profile, plan, seed).run().unwrap_or_else(|error| panic!("{error}"))
}
