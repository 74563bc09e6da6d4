//! C91: what an outage does to messages that may be lost.

use crate::datagrams::{self, LONG, data};
use crate::ends::{Ends, PATIENCE};
use crate::over_quic;
use crate::primitives::datagram;
use crate::wire::{Faults, Wire};
use resoa_protocol::lhp::{Handed, Indication, LastHop, Lost};
use std::time::{Duration, Instant};

/// Over the Link Layer Protocol, datagrams that were sent before the outage was detected are lost,
/// too.
#[test]
fn over_datagrams() {
    let (ends, wire) = datagrams::over(Faults::default(), LONG);
    assert!(interrupted(ends, &wire)[0]);
}

/// Over QUIC, datagrams that QUIC took before the outage was detected arrive late.
#[test]
fn over_quic() {
    let (ends, wire) = over_quic::over(Faults::default(), over_quic::keep_alive(LONG), over_quic::BBR);
    interrupted(ends, &wire);
}

/// Sends datagrams during an outage, until a while after it was detected. Checks that each is
/// reported once, and that the first one handed over after the detection is lost. Returns which of
/// them are lost.
fn interrupted(mut ends: Ends, wire: &Wire) -> Vec<bool> {
    let taken = ends.connect();
    let _ = ends.client.carrier.send(ends.link, &data(1, 0, 10));
    assert_eq!(ends.server_told(), (taken, Indication::Data(data(1, 0, 10))));
    ends.turn();
    wire.set(Faults { loss: 1.0, ..Faults::default() });
    let (begin, mut shows, mut count) = (Instant::now(), None, 0);
    loop {
        assert!(begin.elapsed() < PATIENCE, "an outage does not show");
        let statistics = ends.client.carrier.statistics(ends.link);
        if !statistics.healthy && shows.is_none() {
            shows = Some((Instant::now(), count));
        }
        let trip = statistics.round_trip.expect("something was answered");
        let long = Duration::from_secs(1) + (Duration::from_millis(500) + trip * 4) * 2;
        if shows.is_some_and(|(since, _)| since.elapsed() > long) {
            break;
        }
        let sent = ends.client.carrier.send_or_lose(ends.link, &datagram(count, 100), Duration::ZERO);
        assert_eq!(sent, Handed::Taken);
        count += 1;
        ends.turn();
        std::thread::sleep(Duration::from_millis(5));
    }
    wire.set(Faults::default());
    let mut lost = vec![None; count as usize];
    for _ in 0..count {
        let (number, is_lost) = match ends.server_told() {
            (_, Indication::Data(message)) => (message[14..18].to_vec(), false),
            (_, Indication::Lost(Lost { head, octets })) => {
                assert_eq!(octets, datagram(0, 100).len());
                (head[14..18].to_vec(), true)
            }
            (_, other) => panic!("{other:?}"),
        };
        let number = u32::from_be_bytes(number.try_into().expect("4 octets")) as usize;
        assert_eq!(lost[number].replace(is_lost), None, "datagram {number}");
    }
    let lost: Vec<_> = lost.into_iter().flatten().collect();
    let (_, first) = shows.expect("it has shown");
    assert!(lost[first as usize], "datagram {first} of {count}: {lost:?}");
    lost
}
