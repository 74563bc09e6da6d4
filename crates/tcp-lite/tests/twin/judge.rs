//! Gives the same packet to both twins of a world, and compares what they did, remember and count.

use crate::packets::Given;
use crate::world::{Connection, NEVER, World};
use header_repair::{Bucket, SegmentVerdict, SocketView, Sockets, Track, Tuple};
use std::net::{IpAddr, Ipv6Addr, SocketAddr};
use std::ops::Range;
use tcp_lite::{Reason, Totals, option};

/// The sockets, as the kernel has them.
struct Views<'a>(&'a [Connection]);

impl Sockets for Views<'_> {
    fn view(&self, tuple: &Tuple) -> Option<SocketView> {
        self.0.iter().find(|connection| connection.tuple == *tuple).map(|connection| connection.view)
    }
}

impl World {
    /// Gives the packet to both twins and returns the verdict.
    pub fn judge(&mut self, given: &Given, case: u64) -> SegmentVerdict {
        let here = 0..self.connections.len();
        let verdict = self.give(&given.packet, case, here);
        let track = self.compare_memory(given.connection, case);
        assert!(track.is_some(), "case {case}, {verdict:?}: the connection is not known any more");
        verdict
    }

    /// Gives the packet to both twins; only the sockets of these connections exist.
    pub fn give(&mut self, packet: &[u8], case: u64, here: Range<usize>) -> SegmentVerdict {
        let out = self.lite.judge(packet).expect("the kernel takes it");
        let mut bytes = packet.to_vec();
        let views = Views(&self.connections[here]);
        let verdict = self.receiver.packet(&mut bytes, None, 0, &views);
        // The headers are enough to understand a failure.
        let shown = |bytes: &[u8]| {
            format!("{:02x?} and {} bytes", &bytes[..bytes.len().min(100)], bytes.len().saturating_sub(100))
        };
        let told = || {
            let (packet, out, bytes) = (shown(packet), shown(&out), shown(&bytes));
            format!("case {case}, {verdict:?}\npacket  {packet}\nkernel  {out}\ntwin    {bytes}")
        };
        assert!(out == bytes, "the twins write different packets: {}", told());
        verdict
    }

    /// Compares what both twins remember of a connection.
    pub fn compare_memory(&self, number: usize, case: u64) -> Option<Track> {
        let tuple = self.connections[number].tuple;
        let (remote, local) = sockets_of(&tuple);
        let its = self.lite.track(remote, local).expect("a map").map(|track| {
            // Time passes for the kernel and not for the twin: credit below one guess does not
            // count.
            let bucket = Bucket { credit_ns: track.bucket.credit_ns / NEVER * NEVER, refilled_ns: 0 };
            Track { bucket, ..track }
        });
        let ours = self.receiver.track(&tuple).copied();
        assert!(its == ours, "the twins remember differently: case {case}\nkernel {its:?}\ntwin   {ours:?}");
        ours
    }

    /// Compares what both twins counted in total, and recorded for each connection.
    pub fn compare_counters(&self, case: u64) {
        let counters = self.receiver.counters();
        assert_counted(case, &self.lite.totals().expect("a map"), counters);
        for connection in &self.connections {
            let stats = option::stats(&connection.accepted).expect("an option");
            let counters = self.receiver.connection_counters(&connection.tuple).expect("it was opened");
            // Only the totals count these: the program has no socket's counters yet.
            let unasked = counters.discarded(Reason::Ip) + counters.discarded(Reason::NoConnection);
            assert_eq!(
                (stats.damaged, stats.accepted, stats.bytes),
                (counters.damaged - unasked, counters.accepted, counters.bytes),
                "counted by case {case}: damaged, accepted and bytes of {:?}",
                connection.tuple
            );
            let noted = option::ranges(&connection.accepted).expect("an option");
            let ranges = self.receiver.ranges(&connection.tuple).expect("it was opened");
            assert_eq!(
                (noted.ranges.as_slice(), noted.overflow),
                (ranges.held(), ranges.has_overflowed()),
                "noted by case {case}"
            );
        }
    }
}

fn assert_counted(case: u64, its: &Totals, ours: &header_repair::Counters) {
    let counted =
        (its.damaged, its.accepted, its.confirmed, its.guessed, its.out_of_order, its.approximate, its.bytes);
    let expected = (
        ours.damaged,
        ours.accepted,
        ours.confirmed,
        ours.guesses,
        ours.out_of_order,
        ours.approximate,
        ours.bytes,
    );
    assert_eq!(
        counted, expected,
        "counted by case {case}: damaged, accepted, confirmed, guessed, out of order, approximate, bytes"
    );
    assert_eq!(its.unverifiable, ours.unverifiable, "counted by case {case}: unverifiable");
    for reason in Reason::ALL {
        assert_eq!(
            its.discarded_for(reason),
            ours.discarded(reason),
            "counted by case {case}: {}",
            reason.name()
        );
    }
}

/// Returns both ends of a connection, the remote one first.
pub fn sockets_of(tuple: &Tuple) -> (SocketAddr, SocketAddr) {
    let plain = |address: Ipv6Addr| address.to_ipv4_mapped().map_or(IpAddr::V6(address), IpAddr::V4);
    (
        SocketAddr::new(plain(tuple.pair.remote), tuple.remote_port),
        SocketAddr::new(plain(tuple.pair.local), tuple.local_port),
    )
}
