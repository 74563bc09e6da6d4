//! Rows and fates for the tests of this module, and a test that reads a run from files.

use super::*;
use capture::senders::{CongestionState, LossState, SenderState};
use capture::{Direction, EndedPacket, Fate, Flow, LinkId, Loss, Reason, Time};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};

/// The connection of all tests.
pub const ENDS: Ends = Ends { from: end(1, 5000), to: end(2, 80) };

const fn end(host: u8, port: u16) -> SocketAddr {
    SocketAddr::new(IpAddr::V4(Ipv4Addr::new(10, 0, 0, host)), port)
}

/// Fate of 100 bytes of data from `sequence` on, which link 0 delivers at `left` ns without delay.
pub fn fate(left: u64, sequence: u32) -> Fate {
    let at = Time::from_nanos(left);
    EndedPacket::untouched(LinkId(0), Direction::Down, 0, 152, at, at).fate(
        None,
        Some(Flow {
            source: ENDS.from.ip(),
            destination: ENDS.to.ip(),
            protocol: 6,
            ports: Some((ENDS.from.port(), ENDS.to.port())),
            tcp_sequence: Some(sequence),
            payload: Some(100),
        }),
    )
}

/// The same, lost.
pub fn lost(left: u64, sequence: u32, loss: Loss) -> Fate {
    Fate { lost: Some(Reason::Known(loss)), ..fate(left, sequence) }
}

/// Returns the lost packets among these fates.
pub fn lost_packets(fates: &[Fate]) -> Vec<LostPacket> {
    let mut packets = LostPackets::default();
    for fate in fates {
        packets.add(fate);
    }
    packets.take(ENDS)
}

/// An open sender with a window of 10 and a threshold of 8.
pub fn row(at: u64, snd_una: u32, snd_nxt: u32) -> Seen {
    Seen {
        at: Time::from_nanos(at),
        snd_una,
        snd_nxt,
        cwnd: 10,
        ssthresh: Some(8),
        state: Some(CongestionState::Open),
        judged: None,
    }
}

impl Seen {
    /// The same row in another state.
    #[must_use]
    pub fn in_state(self, state: CongestionState) -> Self {
        Self { state: Some(state), ..self }
    }

    /// With another window and threshold.
    #[must_use]
    pub fn windows(self, cwnd: u32, ssthresh: u32) -> Self {
        Self { cwnd, ssthresh: Some(ssthresh), ..self }
    }
}

/// A run with two connections, one of which lost packets; the algorithm's figures come from the
/// rows.
#[test]
fn a_run_from_its_files() {
    let folder = tempfile::tempdir().expect("a folder");
    let (senders, events) = (folder.path().join("senders.parquet"), folder.path().join("events.parquet"));
    let started = capture::WallTime::from_nanos(7);

    let header = capture::Header::new("0.1.0", started, 1, Vec::new());
    let output = std::fs::File::create(&events).expect("a file");
    let mut table = capture::fates::Writer::new(output, header).expect("a table");
    for fate in [lost(5, 1000, Loss::Error), fate(6, 1100), lost(50, 1900, Loss::Outage)] {
        table.add(capture::fates::Record::Row(fate)).expect("a row");
    }
    table.finish(capture::Tail::Complete).expect("an event log");

    let header = capture::senders::Header {
        schema: capture::senders::SCHEMA,
        lasthop: "0.1.0".to_owned(),
        started,
        seed: 1,
        source: "test".to_owned(),
        nodes: vec!["a".to_owned()],
    };
    let output = std::fs::File::create(&senders).expect("a file");
    let mut table = capture::senders::Writer::new(output, header).expect("a table");
    let other = Ends { from: end(1, 5001), to: end(2, 80) };
    for (ends, at, snd_nxt, state) in [
        (other, 10, 2000, CongestionState::Open),
        (ENDS, 20, 2000, CongestionState::Open),
        (other, 30, 2000, CongestionState::Loss),
        (ENDS, 40, 2300, CongestionState::Recovery),
    ] {
        let state = SenderState {
            at: Time::from_nanos(at),
            snd_una: 1000,
            snd_nxt,
            cwnd: 10,
            state: Some(state),
            loss: Some(LossState { n: 3, events: snd_nxt, ..LossState::NOTHING_YET }),
            ..SenderState::nothing_known(ends.from, ends.to)
        };
        table.add(capture::senders::Record::Row(state)).expect("a row");
    }
    table.finish(capture::Tail::Complete).expect("a table");

    let connections = read(&senders, &events).expect("a run");
    let found: Vec<_> = connections
        .iter()
        .flat_map(|connection| {
            connection.events.iter().map(|event| (connection.ends, event.change.kind, event.truth))
        })
        .collect();
    let truth = |packets, cause| Truth { packets, segments: packets, cause };
    assert_eq!(
        found,
        [
            (other, LossDetection::Timeout, truth(0, Cause::None)),
            (ENDS, LossDetection::Recovery, truth(1, Cause::Wireless)),
        ]
    );
    assert_eq!(connections[1].events[0].judged().map(|judged| judged.n), Some(3));
    assert_eq!([connections[0].without_event, connections[1].without_event], [0, 1]);

    let holes = receiver::read(&events, &[]).expect("an event log");
    assert_eq!(holes, [(ENDS, Vec::new())]);
    let swapped = read(&events, &senders).expect_err("the wrong file").to_string();
    assert!(swapped.contains("not a log of TCP sender states"), "{swapped}");
}
