//! A link with a rate, a queue and a delay, which loses, repeats and delays packets; and the
//! machines at its ends.

use super::super::{Event, Machine, Side, Silence};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use resoa_protocol::lhp::Ended;
use std::collections::BTreeMap;
use std::time::Duration;

/// Octets of frames in packets, and in those that may not arrive.
pub const PACKET: usize = 1150;
pub const LONG: usize = 1400;
pub const SILENCE: Silence = Silence { ask: Duration::from_secs(10), end: Duration::from_secs(30) };
/// Octets that a packet has beside its frames, headers of UDP and IP included.
const OVERHEAD: u64 = 25 + 28;

/// What becomes of packets, in either direction.
#[derive(Debug, Clone, Copy)]
pub struct Link {
    /// Octets a second; 0 for any.
    pub rate: f64,
    /// One way.
    pub delay: Duration,
    /// Octets that wait at most.
    pub queue: u64,
    pub loss: f64,
    pub repeated: f64,
    /// Packets that come later, by how much at most.
    pub late: (f64, Duration),
    /// Octets of the longest packet that arrives.
    pub longest: usize,
    /// Nothing arrives from this on until then.
    pub outage: (Duration, Duration),
}

impl Default for Link {
    fn default() -> Self {
        let never = (Duration::MAX, Duration::MAX);
        let delay = Duration::from_millis(10);
        Self {
            rate: 0.0,
            delay,
            queue: 1 << 20,
            loss: 0.0,
            repeated: 0.0,
            late: (0.0, delay),
            longest: PACKET,
            outage: never,
        }
    }
}

/// What becomes of one packet, whatever the link does to others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fate {
    Lost,
    /// And so much later again.
    Twice(Duration),
    /// By so much.
    Late(Duration),
}

/// Both ends, client and server; see the [module](self).
pub struct World {
    pub ends: [Machine; 2],
    pub told: [Vec<Event>; 2],
    pub wanted: [bool; 2],
    pub link: Link,
    pub now: Duration,
    random: ChaCha8Rng,
    /// Packets by the time at which they arrive.
    air: BTreeMap<(Duration, u64), (usize, u64, Vec<u8>)>,
    sent: u64,
    /// Packets that were sent, and the fates of some of them, by their places.
    pub packets: usize,
    pub fates: BTreeMap<usize, Fate>,
    /// From this packet on nothing arrives for so long.
    pub cut: Option<(usize, Duration)>,
    /// When each direction is free.
    busy: [Duration; 2],
    /// Octets on the link, and of the longest packet.
    pub carried: u64,
    pub longest: usize,
}

impl World {
    pub fn new(link: Link, seed: u64) -> Self {
        let end = |side| Machine::new(side, (PACKET, LONG), SILENCE, Duration::ZERO);
        Self {
            ends: [end(Side::Client), end(Side::Server)],
            told: Default::default(),
            wanted: [true; 2],
            link,
            now: Duration::ZERO,
            random: ChaCha8Rng::seed_from_u64(seed),
            air: BTreeMap::new(),
            sent: 0,
            packets: 0,
            fates: BTreeMap::new(),
            cut: None,
            busy: [Duration::ZERO; 2],
            carried: 0,
            longest: 0,
        }
    }

    /// Connected.
    pub fn up(link: Link, seed: u64) -> Self {
        let mut world = Self::new(link, seed);
        world.until(|world| !world.told[1].is_empty());
        assert_eq!(world.told[1].remove(0), Event::Connect);
        world.ends[1].accept();
        world.until(|world| !world.told[0].is_empty());
        assert_eq!(world.told[0].remove(0), Event::Connected);
        world
    }

    /// Sends what the ends have to send, and tells what they have to tell.
    fn settle(&mut self) {
        for end in 0..2 {
            while let Some(event) = self.ends[end].take(self.wanted[end], self.now) {
                self.told[end].push(event);
            }
            loop {
                let mut packet = Vec::new();
                let Some(number) = self.ends[end].transmit(self.now, &mut packet) else { break };
                assert!(packet.len() <= LONG, "{} octets", packet.len());
                self.carry(end, number, &packet);
            }
        }
    }

    fn carry(&mut self, from: usize, number: u64, packet: &[u8]) {
        let octets = packet.len() as u64 + OVERHEAD;
        let mut at = self.now;
        let fate = self.fates.get(&self.packets).copied();
        if let Some((_, time)) = self.cut.filter(|(packet, _)| *packet == self.packets) {
            self.link.outage = (self.now, self.now + time);
        }
        self.packets += 1;
        if self.link.rate > 0.0 {
            let begin = self.busy[from].max(self.now);
            let waiting = begin.saturating_sub(self.now).as_secs_f64() * self.link.rate;
            if waiting as u64 + octets > self.link.queue {
                return;
            }
            self.busy[from] = begin + Duration::from_secs_f64(octets as f64 / self.link.rate);
            at = self.busy[from];
        }
        self.carried += octets;
        if packet.len() > self.link.longest {
            return;
        }
        self.longest = self.longest.max(packet.len());
        let is_out = (self.link.outage.0..self.link.outage.1).contains(&self.now);
        match fate {
            _ if is_out => return,
            Some(Fate::Lost) => return,
            Some(Fate::Twice(later)) => self.fly(at + later, from, number, packet),
            Some(Fate::Late(late)) => at += late,
            None => {}
        }
        let copies = 1 + usize::from(self.random.random_bool(self.link.repeated));
        for _ in 0..copies {
            if self.random.random_bool(self.link.loss) {
                continue;
            }
            let (share, most) = self.link.late;
            let late = if self.random.random_bool(share) {
                most.mul_f64(self.random.random())
            } else {
                Duration::ZERO
            };
            self.fly(at + late, from, number, packet);
        }
    }

    /// It is on the link from then on.
    fn fly(&mut self, at: Duration, from: usize, number: u64, packet: &[u8]) {
        self.sent += 1;
        self.air.insert((at + self.link.delay, self.sent), (1 - from, number, packet.to_vec()));
    }

    /// When the next thing happens.
    fn next(&self) -> Duration {
        let due = self.ends.iter().filter_map(Machine::deadline).min();
        let arrives = self.air.first_key_value().map(|((at, _), _)| *at);
        due.into_iter().chain(arrives).min().expect("something will be")
    }

    /// The next thing happens.
    pub fn step(&mut self) {
        self.settle();
        let next = self.next();
        self.now = self.now.max(next);
        while let Some(entry) = self.air.first_entry().filter(|entry| entry.key().0 <= self.now) {
            let (to, number, packet) = entry.remove();
            if self.ends[to].is_new(number) {
                self.ends[to].packet(number, &packet, self.now).expect("is of the other end");
            }
        }
        for end in &mut self.ends {
            if end.deadline().is_some_and(|due| due <= self.now) {
                end.expire(self.now);
            }
        }
    }

    /// Until something holds; fails if it takes an hour.
    pub fn until(&mut self, mut holds: impl FnMut(&mut Self) -> bool) {
        loop {
            self.settle();
            if holds(self) {
                return;
            }
            assert!(self.now < Duration::from_hours(1), "does not come");
            self.step();
        }
    }

    /// So much time passes.
    pub fn run(&mut self, time: Duration) {
        let end = self.now + time;
        self.settle();
        while self.next() <= end {
            self.step();
        }
        self.now = end;
        self.settle();
    }

    /// How long a packet of the client waits for the link.
    pub fn queue(&self) -> Duration {
        self.busy[0].saturating_sub(self.now)
    }

    /// Messages that an end was told, and its end if that was told.
    pub fn messages(&self, end: usize) -> (Vec<Vec<u8>>, Option<Ended>) {
        let mut messages = Vec::new();
        let mut ended = None;
        for event in &self.told[end] {
            assert_eq!(ended, None, "nothing comes behind the end");
            match event {
                Event::Data(message) => messages.push(message.clone()),
                Event::Ended(why) => ended = Some(*why),
                Event::Lost(lost) => panic!("{lost:?} was not to be lost"),
                Event::Connect | Event::Connected => panic!("once is enough"),
            }
        }
        (messages, ended)
    }
}

/// A message of data of this socket, with a number and so many octets behind it.
pub fn data(socket: u32, number: u32, octets: usize) -> Vec<u8> {
    let mut message = vec![0x14, 3, 0];
    message.extend(socket.to_be_bytes());
    message.extend(number.to_be_bytes());
    message.resize(message.len() + octets, number as u8);
    message
}

/// The socket and number of such a message, which is as it was written.
pub fn read(message: &[u8]) -> (u32, u32) {
    let number = |at: usize| u32::from_be_bytes(message[at..at + 4].try_into().expect("4 octets"));
    let (socket, number) = (number(3), number(7));
    assert!(data(socket, number, message.len() - 11) == message, "is changed");
    (socket, number)
}

/// A datagram of this socket with an address of its own, a number and so many octets behind it.
pub fn datagram(socket: u32, number: u32, octets: usize) -> Vec<u8> {
    let mut message = vec![0x13, 4, 0];
    message.extend(socket.to_be_bytes());
    message.extend([4, 0, 53, 192, 0, 2, 1]);
    message.extend(number.to_be_bytes());
    message.resize(message.len() + octets, number as u8);
    message
}

/// Of one, whole or lost: its number.
pub fn number_of(datagram: &[u8]) -> u32 {
    u32::from_be_bytes(datagram[14..18].try_into().expect("4 octets"))
}
