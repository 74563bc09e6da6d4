//! Keep-alive probes on the wire. The server's kernel sends them at the program's intervals, and
//! answers the far host's as long as the client is there.

use crate::ground::{WAYS, enter};
use crate::rig::{Rig, Turns, reading};
use crate::written::{Far, far};
use packet::Tcp;
use resoa_protocol::message::Operation;
use resoa_protocol::{Errno, RsockId, Value};
use std::time::{Duration, Instant};

/// Runs a test for both IP versions; other header options do not matter here.
fn in_both_versions(test: impl Fn(Far, Rig)) {
    for way in WAYS.into_iter().take(2) {
        if !enter(way) {
            return;
        }
        let (far, rig) = far(way, false);
        test(far, rig);
    }
}

fn set(rig: &mut Rig, socket: RsockId, level: i32, name: i32, value: i32) {
    let option = Operation::SetOption { level, name, value: value.to_ne_bytes().to_vec() };
    assert_eq!(rig.call(socket, option), Ok(Value::Done));
}

/// Expects an empty segment with the sequence number before the next one (RFC 9293 section 3.8.4).
fn hears_probe(far: &mut Far, rig: &mut Rig) {
    let probe = far.hears(rig);
    let seen = (probe.tcp.flags, probe.tcp.sequence, probe.tcp.acknowledgment, probe.payload);
    assert_eq!(seen, (Tcp::ACK, far.expected.wrapping_sub(1), far.next, 0), "{probe:?}");
}

/// Waits until the server has carried out the previous requests.
fn has_done(rig: &mut Rig, socket: RsockId) {
    rig.option(socket, libc::IPPROTO_TCP, libc::TCP_INFO);
}

/// C40: SO_KEEPALIVE, TCP_KEEPIDLE, TCP_KEEPINTVL and TCP_KEEPCNT of a remote socket apply to the
/// socket of the server's kernel. A far host that answers is probed again after it was idle. One
/// that does not answer is reset after that many probes, and the program gets ETIMEDOUT.
#[test]
fn probes_at_the_programs_times() {
    in_both_versions(|mut far, mut rig| {
        let socket = far.connected(&mut rig);
        set(&mut rig, socket, libc::IPPROTO_TCP, libc::TCP_KEEPIDLE, 1);
        set(&mut rig, socket, libc::SOL_SOCKET, libc::SO_KEEPALIVE, 1);
        let read = rig.begin(socket, reading(1));
        hears_probe(&mut far, &mut rig);
        let next = far.next;
        far.sends(Tcp::ACK, next, b"", &[]);
        // Set only now, to leave time for the answer.
        set(&mut rig, socket, libc::IPPROTO_TCP, libc::TCP_KEEPINTVL, 1);
        set(&mut rig, socket, libc::IPPROTO_TCP, libc::TCP_KEEPCNT, 2);
        // Setting this makes Linux restart its timer.
        set(&mut rig, socket, libc::IPPROTO_TCP, libc::TCP_KEEPIDLE, 1);
        // Two probes without an answer: the first one was answered and does not count.
        hears_probe(&mut far, &mut rig);
        hears_probe(&mut far, &mut rig);
        assert!(far.hears(&mut rig).tcp.has(Tcp::RST));
        assert_eq!(rig.until(|rig| rig.ended(read)), Err(Errno::ETIMEDOUT));
    });
}

/// C40: without SO_KEEPALIVE there are no probes, whatever the intervals are.
#[test]
fn no_probes_unless_they_are_wanted() {
    in_both_versions(|mut far, mut rig| {
        let socket = far.connected(&mut rig);
        set(&mut rig, socket, libc::IPPROTO_TCP, libc::TCP_KEEPINTVL, 1);
        set(&mut rig, socket, libc::IPPROTO_TCP, libc::TCP_KEEPIDLE, 1);
        let begin = Instant::now();
        // Longer than the time until the first probe.
        while begin.elapsed() < Duration::from_millis(1500) {
            far.hears_nothing(&mut rig);
        }
        set(&mut rig, socket, libc::SOL_SOCKET, libc::SO_KEEPALIVE, 1);
        hears_probe(&mut far, &mut rig);
        set(&mut rig, socket, libc::SOL_SOCKET, libc::SO_KEEPALIVE, 0);
        has_done(&mut rig, socket);
        // Skip segments that had left before.
        while far.found().is_some() {}
        let begin = Instant::now();
        while begin.elapsed() < Duration::from_millis(1500) {
            far.hears_nothing(&mut rig);
        }
    });
}

/// C40: the far host's probes are answered as long as the client is there. After it is lost, the
/// answer is RST.
#[test]
fn far_probes_are_answered_while_the_client_is_there() {
    in_both_versions(|mut far, mut rig| {
        far.connected(&mut rig);
        let (before, next) = (far.next.wrapping_sub(1), far.next);
        far.sends(Tcp::ACK, before, b"", &[]);
        far.hears_ack(&mut rig, next);
        rig.cut();
        assert!(far.hears(&mut rig).tcp.has(Tcp::RST));
        far.sends(Tcp::ACK, before, b"", &[]);
        assert!(far.hears(&mut rig).tcp.has(Tcp::RST));
    });
}
