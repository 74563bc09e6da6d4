//! Tracking of the data that the program has not read, from the kernel's count of memory.
//!
//! An AF_UNIX write of up to [`CHUNK`] is one packet. Its weight (`truesize`) depends only on its
//! length, and is measured once for each length on a pair of our own. Packets leave the queue in
//! order, and as a whole, when their last byte was read. So the remaining weight tells which
//! packets have left. Reads within a packet are not counted, so the far host's window lags the
//! program by less than one packet (C24).

use crate::sys;
use rustc_hash::FxHashMap;
use rustix::fd::OwnedFd;
use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, recv, send, socketpair};
use std::collections::VecDeque;
use std::io;

/// Maximum length in bytes of a packet to a program.
pub(super) const CHUNK: usize = 16 << 10;
/// Weight in bytes that may remain of a packet which has left, one for each reader; see
/// [`Flight::left`]. It is far below the weight of the smallest packet, so that no packet is
/// counted too early: `struct sk_buff` and `struct skb_shared_info` alone have more than 500 bytes.
const SLACK: usize = 64;

/// Packets in a program's queue.
#[derive(Debug, Default)]
pub(super) struct Flight {
    /// Length in bytes and weight of each packet.
    packets: VecDeque<(usize, usize)>,
    octets: usize,
    weight: usize,
}

impl Flight {
    /// Adds a packet that was written.
    pub(super) fn add(&mut self, octets: usize, weight: usize) {
        self.packets.push_back((octets, weight));
        self.octets += octets;
        self.weight += weight;
    }

    /// Updates the queue to this remaining weight. Returns the number of bytes read since the last
    /// call.
    ///
    /// The kernel subtracts a packet's weight except for one, wakes us, and subtracts the last one
    /// afterwards (`sock_wfree`). In between, another processor sees one more for each reader, and
    /// there is no event when that changes. So a packet has left when at most [`SLACK`] of its
    /// weight remains.
    pub(super) fn left(&mut self, weight: usize) -> usize {
        let before = self.octets;
        while let Some(&(octets, of_this)) = self.packets.front()
            && self.weight - of_this + SLACK >= weight
        {
            self.packets.pop_front();
            self.octets -= octets;
            self.weight -= of_this;
        }
        before - self.octets
    }

    /// Returns the total weight of the packets.
    pub(super) fn weight(&self) -> usize {
        self.weight
    }

    /// Returns whether everything was read.
    pub(super) fn is_empty(&self) -> bool {
        self.packets.is_empty()
    }
}

/// Weights of packets, by their length.
#[derive(Debug)]
pub(super) struct Weights {
    known: FxHashMap<usize, usize>,
    pair: (OwnedFd, OwnedFd),
    octets: Vec<u8>,
}

impl Weights {
    pub(super) fn new() -> io::Result<Self> {
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        let pair = socketpair(AddressFamily::UNIX, SocketType::STREAM, flags, None)?;
        Ok(Self { known: FxHashMap::default(), pair, octets: vec![0; CHUNK] })
    }

    /// Returns the weight of a packet of `octets` bytes, at most [`CHUNK`].
    pub(super) fn of(&mut self, octets: usize) -> io::Result<usize> {
        if let Some(&weight) = self.known.get(&octets) {
            return Ok(weight);
        }
        send(&self.pair.0, &self.octets[..octets], SendFlags::DONTWAIT)?;
        let weight = sys::outstanding(&self.pair.0)?;
        recv(&self.pair.1, &mut self.octets[..], RecvFlags::DONTWAIT)?;
        self.known.insert(octets, weight);
        Ok(weight)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// C24: while the kernel is subtracting a packet, it counts as left. No packet is counted too
    /// early.
    #[test]
    fn a_packet_that_leaves_at_the_moment() {
        let mut flight = Flight::default();
        for octets in [10, 20, 30] {
            flight.add(octets, 768);
        }
        assert_eq!(flight.left(3 * 768), 0);
        assert_eq!(flight.left(2 * 768 + SLACK + 1), 0, "it is still there");
        assert_eq!(flight.left(2 * 768 + 1), 10);
        assert_eq!(flight.left(2 * 768), 0);
        assert_eq!(flight.left(768 + SLACK), 20, "sixty-four readers at once");
        assert_eq!(flight.left(2), 30);
        assert!(flight.is_empty());
    }

    /// Even the shortest packet weighs far more than the slack.
    #[test]
    fn no_packet_weighs_as_little_as_the_slack() {
        let mut weights = Weights::new().expect("descriptors");
        for octets in [1, 2, 100, CHUNK] {
            let weight = weights.of(octets).expect("weighs");
            assert!(weight >= 8 * SLACK && weight > octets, "{octets} octets weigh {weight}");
        }
    }

    /// C24: reads are counted when a packet was read completely, whatever its length, and never too
    /// early.
    #[test]
    fn reads_are_counted_by_packets() {
        let mut weights = Weights::new().expect("descriptors");
        let (ours, theirs) = socketpair(AddressFamily::UNIX, SocketType::STREAM, SocketFlags::CLOEXEC, None)
            .expect("descriptors");
        sys::set_send_buffer(&ours, 1 << 17);
        let mut flight = Flight::default();
        let lengths = [1, 2, 700, 1, CHUNK, 4096, 1460, 16_000, 3];
        for length in lengths {
            assert_eq!(send(&ours, &vec![1; length], SendFlags::DONTWAIT), Ok(length));
            flight.add(length, weights.of(length).expect("weighs"));
            assert_eq!(flight.weight(), sys::outstanding(&ours).expect("is a socket"), "{length}");
        }
        let mut ends = lengths.iter().scan(0, |end, length| {
            *end += length;
            Some(*end)
        });
        let (mut read, mut counted, mut end) = (0, 0, ends.next());
        while let Some(next) = end {
            // Read byte by byte around the end of each packet.
            let step = if next - read > 5 { next - read - 3 } else { 1 };
            let mut room = vec![0; step];
            assert_eq!(recv(&theirs, &mut room[..], RecvFlags::empty()).map(|read| read.0), Ok(step));
            read += step;
            counted += flight.left(sys::outstanding(&ours).expect("is a socket"));
            let before = lengths.iter().scan(0, |sum, length| {
                *sum += length;
                Some(*sum)
            });
            assert_eq!(counted, before.filter(|sum| *sum <= read).max().unwrap_or(0), "{read} octets read");
            if read == next {
                end = ends.next();
            }
        }
        assert!(flight.is_empty() && flight.weight() == 0);
    }

    /// C24: if the kernel's packets are heavier than measured, they are counted too late and not
    /// too early. All are counted when nothing is left.
    #[test]
    fn weights_that_are_not_as_measured() {
        // The kernel's weight of each of three packets that were measured at 768, and the bytes
        // counted when 3, 2 and 1 of them are left.
        for (real, counted) in [(768 + SLACK / 2, [0, 10, 20]), (768 + SLACK, [0, 0, 30]), (1024, [0, 0, 10])]
        {
            let mut flight = Flight::default();
            for octets in [10, 20, 30] {
                flight.add(octets, 768);
            }
            let found = [3, 2, 1].map(|left| flight.left(left * real));
            let so_far: usize = found.iter().sum();
            assert_eq!(found, counted, "{real}");
            assert_eq!(flight.left(0), 60 - so_far, "{real}");
            assert!(flight.is_empty());
        }
    }
}
