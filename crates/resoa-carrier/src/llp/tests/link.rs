//! A simulated link with a rate, a queue and a delay, which loses, repeats and delays packets; and
//! the state machines at its ends.

use super::super::{Event, Machine, Side, Silence};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use resoa_protocol::lhp::DisconnectReason;
use std::collections::BTreeMap;
use std::time::Duration;

/// Bytes of frames in packets, and in long ones that may not arrive.
pub const PACKET: usize = 1150;
pub const LONG: usize = 1400;
pub const SILENCE: Silence = Silence { ask: Duration::from_secs(10), end: Duration::from_secs(30) };
/// Bytes of a packet beside its frames, including the UDP and IP headers.
const OVERHEAD: u64 = 25 + 28;

/// What the link does to packets, in either direction.
#[derive(Debug, Clone, Copy)]
pub struct Link {
    /// Bytes per second; 0 is unlimited.
    pub rate: f64,
    /// One-way delay.
    pub delay: Duration,
    /// Most bytes that wait in the queue.
    pub queue: u64,
    pub loss: f64,
    pub repeated: f64,
    /// Share of packets that are delayed, and their longest additional delay.
    pub late: (f64, Duration),
    /// Length in bytes of the longest packet that arrives.
    pub longest: usize,
    /// Begin and end of an outage, in which nothing arrives.
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

/// What happens to one packet, independently of the link's parameters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fate {
    Lost,
    /// It arrives, and once more this much later.
    Twice(Duration),
    /// It arrives this much later.
    Late(Duration),
}

/// Both ends, client and server, and the link; see the [module](self).
pub struct World {
    pub ends: [Machine; 2],
    pub told: [Vec<Event>; 2],
    pub wanted: [bool; 2],
    pub link: Link,
    pub now: Duration,
    random: ChaCha8Rng,
    /// Packets on the link, by their time of arrival.
    air: BTreeMap<(Duration, u64), (usize, u64, Vec<u8>)>,
    sent: u64,
    /// Number of packets that were sent, and the fates of some of them, by their positions.
    pub packets: usize,
    pub fates: BTreeMap<usize, Fate>,
    /// From this packet on nothing arrives for this long.
    pub cut: Option<(usize, Duration)>,
    /// When each direction is free.
    busy: [Duration; 2],
    /// Bytes on the link, and length of the longest packet.
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

    /// Creates two ends that are connected.
    pub fn up(link: Link, seed: u64) -> Self {
        let mut world = Self::new(link, seed);
        world.until(|world| !world.told[1].is_empty());
        assert_eq!(world.told[1].remove(0), Event::Connect);
        world.ends[1].accept();
        world.until(|world| !world.told[0].is_empty());
        assert_eq!(world.told[0].remove(0), Event::Connected);
        world
    }

    /// Sends the packets of both ends, and collects their indications.
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

    /// Puts a packet on the link from this time on.
    fn fly(&mut self, at: Duration, from: usize, number: u64, packet: &[u8]) {
        self.sent += 1;
        self.air.insert((at + self.link.delay, self.sent), (1 - from, number, packet.to_vec()));
    }

    /// Returns the time of the next event.
    fn next(&self) -> Duration {
        let due = self.ends.iter().filter_map(Machine::deadline).min();
        let arrives = self.air.first_key_value().map(|((at, _), _)| *at);
        due.into_iter().chain(arrives).min().expect("something will be")
    }

    /// Advances to the next event, and processes it.
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

    /// Runs until a condition holds. Fails after an hour.
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

    /// Runs for this long.
    pub fn run(&mut self, time: Duration) {
        let end = self.now + time;
        self.settle();
        while self.next() <= end {
            self.step();
        }
        self.now = end;
        self.settle();
    }

    /// Returns how long a packet of the client waits for the link.
    pub fn queue(&self) -> Duration {
        self.busy[0].saturating_sub(self.now)
    }

    /// Returns the messages that an end was told of, and the end of the connection if it was.
    pub fn messages(&self, end: usize) -> (Vec<Vec<u8>>, Option<DisconnectReason>) {
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

/// Returns a data message of this socket with a number and this many further bytes.
pub fn data(socket: u32, number: u32, octets: usize) -> Vec<u8> {
    let mut message = vec![0x14, 3, 0];
    message.extend(socket.to_be_bytes());
    message.extend(number.to_be_bytes());
    message.resize(message.len() + octets, number as u8);
    message
}

/// Returns socket and number of such a message, and checks that it is unchanged.
pub fn read(message: &[u8]) -> (u32, u32) {
    let number = |at: usize| u32::from_be_bytes(message[at..at + 4].try_into().expect("4 octets"));
    let (socket, number) = (number(3), number(7));
    assert!(data(socket, number, message.len() - 11) == message, "is changed");
    (socket, number)
}

/// Returns a datagram of this socket with an address of its own, a number and this many further
/// bytes.
pub fn datagram(socket: u32, number: u32, octets: usize) -> Vec<u8> {
    let mut message = vec![0x13, 4, 0];
    message.extend(socket.to_be_bytes());
    message.extend([4, 0, 53, 192, 0, 2, 1]);
    message.extend(number.to_be_bytes());
    message.resize(message.len() + octets, number as u8);
    message
}

/// Returns the number of a datagram, whole or lost.
pub fn number_of(datagram: &[u8]) -> u32 {
    u32::from_be_bytes(datagram[14..18].try_into().expect("4 octets"))
}
