//! Strangers: connections whose clients are not authenticated yet. Limits their number, and chooses
//! which of them makes room for the next.
//!
//! Anyone who can send packets can be a stranger, so strangers must not keep clients out:
//!
//! * One source has at most [`OF_ONE_SOURCE`] of the [`STRANGERS`] slots. A /64 of IPv6 counts as
//!   one source, because a host can have as many addresses in its /64 as it likes.
//! * If there is no free slot, a random stranger loses its slot. If it were the oldest, a flood
//!   that fills all slots within a round trip would leave no client the time for its handshake.
//!   With a random choice, a client keeps its slot with probability (1 - 1/n)^k while k strangers
//!   arrive for n slots. The oldest is spared, because it is the most likely to finish soon.
//! * A handshake may take [`INTRODUCTION`], however slowly its bytes arrive. The carriers enforce
//!   this.
//! * A first message costs some 100 us of computation, in the same loop that serves clients. So
//!   each source may cause it [`A_SECOND`] times a second, beyond the first [`AT_ONCE`], and all
//!   sources together [`IN_A_PASS`] times in one pass of the loop.

use crate::MacAddress;
use resoa_protocol::lhp::Connection;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::time::Duration;

/// Most connections whose clients are not authenticated yet, from all sources.
pub const STRANGERS: usize = 512;
/// Most connections of one source whose clients are not authenticated yet.
pub const OF_ONE_SOURCE: usize = 128;
/// Time in which a client must authenticate.
pub const INTRODUCTION: Duration = Duration::from_secs(10);
/// Handshakes that may begin in one pass of a carrier's loop.
pub(crate) const IN_A_PASS: usize = 64;
/// Handshakes of one source that may begin at once.
const AT_ONCE: u32 = 32;
/// Further handshakes of one source that may begin, per second.
const A_SECOND: u32 = 64;
/// Average time between two of these.
pub(crate) const GAP: Duration = Duration::from_nanos(1_000_000_000 / A_SECOND as u64);
/// Interval at which idle sources are forgotten.
const SWEEP: Duration = Duration::from_secs(1);

/// Source of a stranger, to which the limits apply.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Source {
    V4(Ipv4Addr),
    /// The first 64 bits of the address.
    V6([u8; 8]),
    Ether(MacAddress),
}

impl From<SocketAddr> for Source {
    fn from(address: SocketAddr) -> Self {
        // A dual-stack socket reports IPv4 addresses as ::ffff:a.b.c.d.
        match address.ip().to_canonical() {
            IpAddr::V4(address) => Self::V4(address),
            IpAddr::V6(address) => {
                let [network @ .., _, _, _, _, _, _, _, _] = address.octets();
                Self::V6(network)
            }
        }
    }
}

/// The strangers of a carrier; see the [module](self). Connections are in the order of their
/// numbers, which is the order of their arrival.
#[derive(Debug, Default)]
pub(crate) struct Strangers {
    here: BTreeMap<Connection, Source>,
    of: HashMap<Source, BTreeSet<Connection>>,
    /// Handshakes that have begun in this pass.
    begun: usize,
    /// For each source, when its handshakes would be over if each took a [`GAP`], one after the
    /// other (a token bucket). Idle sources are not included.
    until: HashMap<Source, Duration>,
    swept: Duration,
}

impl Strangers {
    /// Begins a pass of the carrier's loop.
    pub(crate) fn pass(&mut self, now: Duration) {
        self.begun = 0;
        if self.swept + SWEEP <= now {
            self.swept = now;
            self.until.retain(|_, until| *until > now);
        }
    }

    /// Returns whether a handshake of this source may begin. If so, it is counted.
    pub(crate) fn may_begin(&mut self, source: Source, now: Duration) -> bool {
        let until = self.until.get(&source).map_or(now, |until| now.max(*until)) + GAP;
        if self.begun >= IN_A_PASS || until > now + GAP * AT_ONCE {
            return false;
        }
        self.until.insert(source, until);
        self.begun += 1;
        true
    }

    /// Clears the count of handshakes.
    #[cfg(test)]
    pub(crate) fn rest(&mut self) {
        self.begun = 0;
        self.until.clear();
    }

    /// Returns the source of a stranger; `None` if the connection is not a stranger's.
    pub(crate) fn source(&self, connection: Connection) -> Option<Source> {
        self.here.get(&connection).copied()
    }

    /// Adds a stranger, whose number is the highest so far, and returns the one that must go for
    /// it. `draw` provides an unpredictable number.
    #[must_use = "it has to go"]
    pub(crate) fn come(
        &mut self,
        connection: Connection,
        source: Source,
        draw: impl FnOnce() -> u64,
    ) -> Option<Connection> {
        let of_this_one = self.of.get(&source).filter(|these| these.len() >= OF_ONE_SOURCE);
        let leaves = match of_this_one {
            Some(these) => chosen(these.iter(), these.len(), draw),
            None if self.here.len() >= STRANGERS => chosen(self.here.keys(), self.here.len(), draw),
            None => None,
        };
        if let Some(leaves) = leaves {
            self.gone(leaves);
        }
        self.here.insert(connection, source);
        self.of.entry(source).or_default().insert(connection);
        leaves
    }

    /// Removes a connection whose client is authenticated, or which has gone. Returns whether it
    /// was a stranger's.
    pub(crate) fn gone(&mut self, connection: Connection) -> bool {
        let Some(source) = self.here.remove(&connection) else { return false };
        if let Some(these) = self.of.get_mut(&source) {
            these.remove(&connection);
            if these.is_empty() {
                self.of.remove(&source);
            }
        }
        true
    }

    /// Returns the number of strangers.
    pub(crate) fn count(&self) -> usize {
        self.here.len()
    }
}

/// Chooses any connection except the first.
fn chosen<'a>(
    mut of: impl Iterator<Item = &'a Connection>,
    count: usize,
    draw: impl FnOnce() -> u64,
) -> Option<Connection> {
    let others = (count as u64).saturating_sub(1).max(1);
    of.nth(1 + (draw() % others) as usize).copied()
}

/// Returns an unpredictable number.
pub(crate) fn draw() -> u64 {
    let mut octets = [0; 8];
    // This fails only on kernels without the system call, which are too old for the rest.
    let _ = rustix::rand::getrandom(&mut octets, rustix::rand::GetRandomFlags::empty());
    u64::from_ne_bytes(octets)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::{RngExt, SeedableRng};
    use rand_chacha::ChaCha8Rng;

    /// Time from a client's connection to its authentication: a round trip.
    const HANDSHAKE: Duration = Duration::from_millis(100);
    /// Number of clients that connect, one after the other.
    const CLIENTS: u32 = 500;

    /// A flood in virtual time.
    struct Flood<W> {
        strangers: Strangers,
        began: BTreeMap<Connection, Duration>,
        last: u64,
        now: Duration,
        gap: Duration,
        /// Returns the source of the stranger with this number.
        whose: W,
        number: u32,
        random: ChaCha8Rng,
    }

    impl<W: Fn(u32) -> Source> Flood<W> {
        fn come(&mut self, source: Source) -> Connection {
            self.last += 1;
            let new = Connection(self.last);
            while let Some((&oldest, _)) =
                self.began.first_key_value().filter(|(_, began)| **began + INTRODUCTION <= self.now)
            {
                self.began.remove(&oldest);
                self.strangers.gone(oldest);
            }
            if let Some(leaves) = self.strangers.come(new, source, || self.random.random()) {
                self.began.remove(&leaves);
            }
            self.began.insert(new, self.now);
            assert!(self.strangers.count() <= STRANGERS && self.strangers.of[&source].len() <= OF_ONE_SOURCE);
            new
        }

        fn go_on(&mut self, time: Duration) {
            let until = self.now + time;
            while self.now < until {
                self.come((self.whose)(self.number));
                self.number += 1;
                self.now += self.gap;
            }
        }
    }

    /// Returns how many of the [`CLIENTS`] finish their handshake while strangers arrive at this
    /// rate. All clients have one source.
    fn through(per_second: u32, whose: impl Fn(u32) -> Source, clients: Source) -> u32 {
        let mut flood = Flood {
            strangers: Strangers::default(),
            began: BTreeMap::new(),
            last: 0,
            now: Duration::ZERO,
            gap: Duration::from_secs(1) / per_second,
            whose,
            number: 0,
            random: ChaCha8Rng::seed_from_u64(1),
        };
        // Until the flood has taken all slots that it can get.
        flood.go_on(Duration::from_secs(2));
        let is_through = |_: &u32| {
            let client = flood.come(clients);
            flood.go_on(HANDSHAKE);
            flood.began.remove(&client);
            flood.strangers.gone(client)
        };
        (0..CLIENTS).filter(is_through).count() as u32
    }

    fn v4(last: [u8; 2]) -> Source {
        Source::V4([10, 0, last[0], last[1]].into())
    }

    /// Strangers of one address, at whatever rate, keep no client of another address out.
    #[test]
    fn a_flood_of_one_source() {
        let clients = Source::from(SocketAddr::from(([192, 0, 2, 1], 4000)));
        for per_second in [200, 600, 6000, 20_000] {
            assert_eq!(through(per_second, |_| v4([0, 1]), clients), CLIENTS, "{per_second} a second");
        }
        // A host can have any number of addresses in its /64.
        let of_a_network = |number: u32| {
            let [a, b, c, d] = number.to_be_bytes().map(u16::from);
            Source::from(SocketAddr::from(([0x2001, 0xdb8, 0, 0, a, b, c, d], 4000)))
        };
        assert_eq!(through(6000, of_a_network, clients), CLIENTS);
    }

    /// Three in five clients behind the same NAT as the strangers finish at 600 strangers a second:
    /// (1 - 1/127)^60 = 0.62. At 1500 a second, (1 - 1/127)^150 = 0.31 of them do. If the oldest
    /// made room, none would, because 128 / 1500 s = 85 ms is less than a round trip.
    #[test]
    fn a_flood_of_the_clients_own_source() {
        for (per_second, least) in [(600, 0.5), (1500, 0.2)] {
            let found = through(per_second, |_| v4([0, 1]), v4([0, 1]));
            assert!(f64::from(found) > least * f64::from(CLIENTS), "{found} at {per_second} a second");
        }
    }

    /// A flood from 65536 sources fills all slots. At 600 strangers a second, (1 - 1/511)^60 = 0.89
    /// of the clients keep their slots; at 6000 a second, (1 - 1/511)^600 = 0.31. If the oldest
    /// made room, 6000 a second would leave none, because 512 / 6000 s = 85 ms is less than a round
    /// trip.
    #[test]
    fn a_flood_of_many_sources() {
        let clients = Source::from(SocketAddr::from(([192, 0, 2, 1], 4000)));
        for (per_second, least) in [(600, 0.8), (6000, 0.2)] {
            let whose = |number: u32| {
                let [.., a, b] = number.to_be_bytes();
                v4([a, b])
            };
            let found = through(per_second, whose, clients);
            assert!(f64::from(found) > least * f64::from(CLIENTS), "{found} at {per_second} a second");
        }
    }

    /// Whatever number is drawn, the oldest and the newest stranger stay.
    #[test]
    fn who_makes_room() {
        for draw in [0, 1, 126, 127, 128, u64::MAX] {
            let (mut strangers, source) = (Strangers::default(), v4([0, 1]));
            for number in 1..=OF_ONE_SOURCE as u64 {
                assert_eq!(strangers.come(Connection(number), source, || panic!("there is room")), None);
            }
            let new = Connection(OF_ONE_SOURCE as u64 + 1);
            let leaves = strangers.come(new, source, || draw).expect("there is no room");
            assert!(leaves != Connection(1) && leaves != new, "{leaves:?}");
            assert_eq!(strangers.count(), OF_ONE_SOURCE);
            assert!(!strangers.gone(leaves) && strangers.gone(new) && !strangers.gone(new));
        }
    }

    /// An IPv4 address is one source, in either notation. An IPv6 source is a /64.
    #[test]
    fn what_is_a_source() {
        let source = |text: &str| Source::from(text.parse::<SocketAddr>().expect("an address"));
        assert_eq!(source("192.0.2.1:1"), source("[::ffff:192.0.2.1]:2"));
        assert_ne!(source("192.0.2.1:1"), source("[::ffff:192.0.2.2]:1"));
        assert_eq!(source("[2001:db8::1]:1"), source("[2001:db8::ffff:0:0:2]:1"));
        assert_ne!(source("[2001:db8::1]:1"), source("[2001:db8:0:1::1]:1"));
    }

    /// No source gets all handshakes of a pass or of a second, and idle sources are forgotten.
    #[test]
    fn what_begins() {
        let mut strangers = Strangers::default();
        let begun = |strangers: &mut Strangers, source, now| {
            (0..100).filter(|_| strangers.may_begin(source, now)).count()
        };
        for minute in 1..3 {
            let now = Duration::from_mins(minute);
            strangers.pass(now);
            assert!(strangers.until.is_empty());
            assert_eq!(begun(&mut strangers, v4([0, 1]), now), AT_ONCE as usize);
            assert_eq!(begun(&mut strangers, v4([0, 2]), now), IN_A_PASS - AT_ONCE as usize);
            assert_eq!(begun(&mut strangers, v4([0, 3]), now), 0);
            strangers.pass(now);
            assert_eq!(begun(&mut strangers, v4([0, 1]), now), 0);
            assert_eq!(begun(&mut strangers, v4([0, 3]), now), AT_ONCE as usize);
            let later = now + Duration::from_millis(250);
            strangers.pass(later);
            assert_eq!(begun(&mut strangers, v4([0, 1]), later), A_SECOND as usize / 4);
        }
    }
}
