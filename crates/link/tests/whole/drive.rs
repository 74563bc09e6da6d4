//! Functions that build a direction of a link and send packets through it.

use link::profile::{Content, LinkProfile, Profile};
use link::spec::DirectionSpec;
use link::units::{Span, Time};
use link::{Direction, Effect, Packet, Pipeline, Seed, Sink};
use packet::{Frame, Layer};
use std::io;

/// Packets that left a pipeline, in order.
#[derive(Debug, Default)]
pub struct Seen {
    pub delivered: Vec<Packet>,
    pub lost: Vec<Packet>,
}

impl Sink for Seen {
    fn delivered(&mut self, packet: Packet) {
        assert_eq!(packet.loss(), None);
        self.delivered.push(packet);
    }

    fn lost(&mut self, packet: Packet) {
        assert_ne!(packet.loss(), None);
        self.lost.push(packet);
    }
}

impl Seen {
    pub fn all(&self) -> impl Iterator<Item = &Packet> {
        self.delivered.iter().chain(&self.lost)
    }
}

fn no_file(name: &str) -> io::Result<String> {
    Err(io::Error::new(io::ErrorKind::NotFound, format!("nobody has {name}")))
}

/// Builds a direction from the text that a profile has below `[down]`.
pub fn direction(down: &str) -> DirectionSpec {
    let text = format!("kind = \"link\"\ntitle = \"A test\"\nsource = \"A test\"\n[down]\n{down}");
    match Profile::parse("test.toml", &text, &mut no_file).unwrap_or_else(|error| panic!("{error}")).content {
        Content::Link(link) => link.down,
        Content::Loss(_) => unreachable!("it is a link"),
    }
}

/// Returns a built-in profile.
pub fn builtin(name: &str) -> Content {
    let file = format!("{name}.toml");
    let (_, text) = link::profile::builtin().find(|(known, _)| *known == file).expect("a built-in profile");
    Profile::parse(&file, text, &mut no_file).unwrap_or_else(|error| panic!("{error}")).content
}

/// Returns a built-in link profile.
pub fn builtin_link(name: &str) -> LinkProfile {
    match builtin(name) {
        Content::Link(link) => link,
        Content::Loss(_) => panic!("{name} is a loss profile"),
    }
}

pub fn seed(number: u64) -> Seed {
    Seed::campaign(number).link("a").direction(Direction::Down)
}

pub fn built(spec: &DirectionSpec, seed: &Seed) -> Pipeline {
    spec.build(seed).unwrap_or_else(|error| panic!("{error}"))
}

pub fn frame(bytes: usize) -> Frame {
    Frame::owned(Layer::Ip, vec![0; bytes])
}

/// Returns `count` packets of `bytes` bytes, one every `gap`, starting at `gap`.
pub fn flow(count: u64, gap: Span, bytes: usize) -> impl Iterator<Item = (Time, usize)> {
    (1..=count).map(move |number| (Time::ZERO + gap * number, bytes))
}

/// Sends packets at their times, and ends the run an hour after the last one.
pub fn run(pipeline: &mut Pipeline, packets: impl IntoIterator<Item = (Time, usize)>) -> Seen {
    let mut seen = Seen::default();
    let mut last = Time::ZERO;
    for (at, bytes) in packets {
        pipeline.accept(frame(bytes), at, &mut seen);
        last = at;
    }
    pipeline.finish(last + Span::from_secs(3600), &mut seen);
    seen
}

/// Returns the name of the stage that lost a packet.
pub fn loser<'a>(pipeline: &'a Pipeline, packet: &Packet) -> &'a str {
    let mark = packet.marks.last().filter(|mark| mark.effect.is_loss()).expect("a loss");
    pipeline.stage_name(mark.stage)
}

/// Returns whether a stage made this packet as a copy of another.
pub fn is_copy(packet: &Packet) -> bool {
    packet.marks.iter().any(|mark| mark.effect == Effect::Copied)
}
