//! Thesis mode (TL-03): only checksums are wrong, and only checksums are corrected.

use super::*;
use crate::sample::{Host, view};
use crate::{Settings, SocketView, Sockets};
use std::net::Ipv6Addr;

fn receiver() -> Receiver {
    Receiver::new(Parameters { mode: Mode::Thesis, ..Parameters::default() })
}

fn host(settings: Settings) -> Host {
    let view = view(&Sample::default(), settings);
    Host([(Sample::default().tuple(), view)].into())
}

#[test]
fn whatever_the_segment_is_only_its_checksum_changes() {
    for flags in [ACK, ACK | FIN, ACK | 4, 0xff] {
        for payload in [0, 536] {
            for ipv6 in [false, true] {
                let sample = Sample { flags, payload: text(payload), ipv6, ..Sample::default() };
                let packet = sample.build();
                let mut damaged = hit(&packet, sample.transport(), 130);
                let mut host = host(on(Policy::Normal));
                let view = host.0[&Sample::default().tuple()];
                host.0.insert(sample.tuple(), view);
                let verdict = receiver().packet(&mut damaged, None, 0, &host);
                assert_eq!(verdict, accepted(false, payload as u32));
                assert_eq!(damaged, packet);
            }
        }
    }
}

#[test]
fn right_partial_and_other_sockets_segments_are_left_alone() {
    let sample = Sample::default();
    let off = Settings { on: false, ..on(Policy::Normal) };
    let take = |packet: &[u8], settings| {
        let mut after = packet.to_vec();
        let verdict = receiver().packet(&mut after, None, 0, &host(settings));
        assert_eq!(after, packet);
        verdict
    };
    assert_eq!(take(&sample.build(), on(Policy::Normal)), SegmentVerdict::Pass);
    assert_eq!(take(&hit(&sample.build(), 20, 130), off), SegmentVerdict::NotLite);
    let elsewhere = Sample { local_port: 1, ..sample.clone() };
    assert_eq!(take(&hit(&elsewhere.build(), 20, 130), on(Policy::Normal)), SegmentVerdict::NotLite);
    let mut wrong_ip = hit(&sample.build(), 20, 130);
    wrong_ip[8] ^= 1;
    assert_eq!(take(&wrong_ip, on(Policy::Normal)), SegmentVerdict::Discard(Reason::Ip));
}

#[test]
fn the_byte_window_holds() {
    let window = Some(ByteWindow { from: 0, len: 536 });
    let host = host(Settings { window, ..on(Policy::Normal) });
    let first = Sample::default();
    let mut receiver = receiver();
    receiver.switch(first.tuple(), true, FIRST);
    let mut take = |sample: &Sample| receiver.packet(&mut hit(&sample.build(), 20, 130), None, 0, &host);
    assert_eq!(take(&first), accepted(false, 536));
    assert_eq!(take(&next(&first)), SegmentVerdict::Discard(Reason::Window));
    assert_eq!(take(&Sample { seq: FIRST - 1, ..first.clone() }), SegmentVerdict::Discard(Reason::Window));
    let ranges = receiver.ranges(&first.tuple()).expect("known");
    assert_eq!(ranges.held(), std::slice::from_ref(&(0..536)));
    assert_eq!(receiver.counters().discarded(Reason::Window), 2);
}

struct Listener;

impl Sockets for Listener {
    fn view(&self, _: &Tuple) -> Option<SocketView> {
        None
    }

    fn listener(&self, address: Ipv6Addr, port: u16) -> Option<Settings> {
        let local = Sample::default().tuple();
        (address == local.pair.local && port == local.local_port).then_some(on(Policy::Normal))
    }
}

#[test]
fn a_handshake_reaches_a_listener_that_is_on() {
    let packet = Sample { flags: 2, payload: Vec::new(), ..Sample::default() }.build();
    let mut damaged = hit(&packet, 20, 130);
    assert_eq!(receiver().packet(&mut damaged, None, 0, &Listener), accepted(false, 0));
    assert_eq!(damaged, packet);
}
