//! Receive window that a reader behind a last hop needs: dynamic right-sizing across two hops.
//!
//! Linux lets a receive buffer grow by what a program reads in a round-trip time
//! (`tcp_rcv_space_adjust`; M. Fisk and W. Feng, *Dynamic Right-Sizing in TCP*, 2001). The buffer
//! of this server's socket would never grow. Data leaves it only when the program at the other end
//! of the last hop has read it, which is a round trip of that hop after it arrived. So in each of
//! its own round-trip times, the kernel sees less being read than it has room for, and what waits
//! counts against it.
//!
//! This module applies the kernel's rule with the round-trip time that the data really has: the
//! connection's, plus the shortest time from an arrival to the report that it was read. The
//! shortest time has no queue of the last hop in it. So the window stops growing at a multiple of
//! what fills both hops, and does not follow what the queues hold.

use std::time::{Duration, Instant};

/// Bytes that a reader is expected to take in its first round-trip time: Linux's initial window of
/// 10 segments.
const INITIAL: u64 = 10 * 1460;

/// Measurements of a reader; see the [module](self).
#[derive(Debug)]
pub(super) struct Reader {
    /// Position behind the bytes whose reading is timed, and the time of their arrival.
    timed: Option<(u64, Instant)>,
    /// Shortest time from an arrival to the report that it was read.
    delay: Option<Duration>,
    round: Option<Round>,
    /// Most bytes that were read in a round-trip time.
    most: u64,
}

/// A round-trip time in which reading is measured.
#[derive(Debug)]
struct Round {
    begin: Instant,
    /// Position of the reader at its beginning.
    position: u64,
    length: Duration,
}

impl Reader {
    pub(super) fn new() -> Self {
        Self { timed: None, delay: None, round: None, most: INITIAL }
    }

    /// Data up to this position of the stream has arrived.
    pub(super) fn arrived(&mut self, position: u64, now: Instant) {
        self.timed.get_or_insert((position, now));
    }

    /// The program has read up to this position. `round_trip` is the round-trip time to the far
    /// host, asked for once per round. Returns the window in bytes that the connection should
    /// have if its window is smaller.
    pub(super) fn read(
        &mut self,
        position: u64,
        now: Instant,
        round_trip: impl FnOnce() -> Duration,
    ) -> Option<u64> {
        if let Some((_, arrival)) = self.timed.take_if(|(timed, _)| *timed <= position) {
            let delay = now.saturating_duration_since(arrival);
            self.delay = Some(self.delay.map_or(delay, |least| least.min(delay)));
        }
        let delay = self.delay?;
        let wanted = match &self.round {
            Some(round) if now.saturating_duration_since(round.begin) < round.length => return None,
            Some(round) => self.wanted(position - round.position),
            None => None,
        };
        self.round = Some(Round { begin: now, position, length: delay + round_trip() });
        wanted
    }

    /// The kernel's formula (`tcp_rcvbuf_grow`): twice what was read, for the next round of a
    /// sender in slow start, and more while readings grow by more than that. At most eight times,
    /// because a round of both hops can have several of the sender's.
    fn wanted(&mut self, read: u64) -> Option<u64> {
        let before = self.most;
        self.most = before.max(read);
        let more = read.checked_sub(before).filter(|more| *more > 0)?;
        let window = 2 * read;
        Some(window + (2 * (window * more / before)).min(3 * window))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    /// Lets a program read everything that a last hop of `rate` bytes per millisecond and `hop`
    /// milliseconds of round trip carries, behind a far host at `round_trip` milliseconds, while at
    /// most `window` bytes are unread. Data that waits for the last hop waits at the server.
    /// Returns the window at the end.
    fn transfer(rate: u64, hop: usize, round_trip: u64, mut window: u64) -> u64 {
        let (start, mut reader) = (Instant::now(), Reader::new());
        // Positions that the window has allowed and that the last hop has carried, by the time.
        let (mut allowed, mut carried, mut seen) = (vec![window], vec![0], 0);
        for time in 0..8000_u32 {
            let now = start + MS * time;
            let arrived = allowed[(time as usize).saturating_sub(round_trip as usize)];
            if arrived > seen {
                reader.arrived(arrived, now);
                seen = arrived;
            }
            let last = *carried.last().expect("is not empty");
            carried.push(arrived.min(last + rate));
            let read = carried[(time as usize).saturating_sub(hop)];
            if let Some(wanted) = reader.read(read, now, || Duration::from_millis(round_trip)) {
                window = window.max(wanted);
            }
            allowed.push(read + window);
        }
        window
    }

    /// The window fills both hops, and is at most a multiple of that, although all the rest of the
    /// window waits for the last hop.
    #[test]
    fn window_grows_to_what_both_hops_carry() {
        for (rate, hop, round_trip) in [(1250, 60, 40), (1250, 600, 40), (250, 550, 20), (12_500, 20, 100)] {
            let product = rate * (hop as u64 + round_trip);
            let window = transfer(rate, hop, round_trip, 65_536.min(product / 4));
            assert!(window >= product, "{window} of {product} bytes");
            assert!(window <= 9 * product, "{window} for {product} bytes");
        }
    }

    /// A window that suffices stays.
    #[test]
    fn window_of_a_slow_last_hop_stays() {
        assert_eq!(transfer(10, 200, 40, 65_536), 65_536);
    }

    /// Nothing grows for a program that stops reading, or reads slowly.
    #[test]
    fn window_of_a_slow_reader_stays() {
        let (start, mut reader) = (Instant::now(), Reader::new());
        for time in 0..1000_u32 {
            let now = start + MS * time;
            reader.arrived(65_536 + u64::from(time) * 10, now);
            assert_eq!(reader.read(u64::from(time) * 10, now, || 40 * MS), None);
        }
    }
}
