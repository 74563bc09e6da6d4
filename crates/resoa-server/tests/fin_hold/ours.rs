//! The server's own FIN and RST while a FIN is held: its FIN waits, and its RST reaches the far
//! host. Also listeners, whose connections may end before they are accepted.

use crate::ground::{WAYS, Way, enter};
use crate::rig::{Rig, Turns, bytes};
use crate::written::{Far, far, far_with, in_all_ways};
use netlab::{Namespace, sysctl};
use packet::Tcp;
use resoa_protocol::message::{Half, Operation};
use resoa_protocol::{RsockId, SocketCall, Value};
use resoa_server::{FinHold, FinHoldError};
use rustix::thread::{CapabilitySet, CapabilitySets};
use std::net::SocketAddr;

const SHUT: SocketCall = SocketCall::Shutdown(Half::Write);

/// Connects to a far host that closes without sending data, while the client receives nothing.
/// Returns the socket and the FIN's sequence number.
fn ended(far: &mut Far, rig: &mut Rig) -> (RsockId, u32) {
    let socket = far.connected(rig);
    rig.stalled = true;
    let fin = far.next;
    far.tells(Tcp::FIN, b"");
    far.hears_ack(rig, fin);
    (socket, fin)
}

/// The same after the program has shut its half down. If `crosses`, the far host has not received
/// that FIN when it closes.
fn ended_behind_ours(far: &mut Far, rig: &mut Rig, crosses: bool) -> (RsockId, u32) {
    let socket = far.connected(rig);
    assert_eq!(rig.call(socket, SHUT), Ok(Value::Done));
    assert_eq!(far.hears(rig).tcp.flags, Tcp::FIN | Tcp::ACK);
    rig.stalled = true;
    let fin = far.next;
    if !crosses {
        far.expected = far.expected.wrapping_add(1);
    }
    far.tells(Tcp::FIN, b"");
    if crosses {
        far.expected = far.expected.wrapping_add(1);
    }
    far.hears_ack(rig, fin);
    (socket, fin)
}

/// Expects the server's FIN and acknowledges it.
fn hears_fin(far: &mut Far, rig: &mut Rig, acknowledgment: u32) {
    let ours = far.hears(rig);
    let is = (ours.tcp.flags, ours.tcp.sequence, ours.tcp.acknowledgment);
    assert_eq!(is, (Tcp::FIN | Tcp::ACK, far.expected, acknowledgment), "{ours:?}");
    far.expected = far.expected.wrapping_add(1);
    far.sends(Tcp::ACK, far.next, b"", &[]);
}

/// Expects an RST with the expected sequence number. The far host accepts no other (RFC 5961).
fn hears_reset(far: &mut Far, rig: &mut Rig) {
    let reset = far.hears(rig);
    assert_eq!((reset.tcp.flags & Tcp::RST, reset.tcp.sequence), (Tcp::RST, far.expected), "{reset:?}");
}

fn waiting(rig: &Rig) -> usize {
    rig.host.fin_hold().expect("is there").waiting()
}

/// C67: the program shuts its half down while a FIN is held. The server's FIN waits, because
/// otherwise the kernel would refuse the far host's FIN when that comes again.
#[test]
fn our_fin_waits() {
    in_all_ways(true, |mut far, mut rig| {
        let (socket, fin) = ended(&mut far, &mut rig);
        assert_eq!(rig.call(socket, SHUT), Ok(Value::Done));
        far.hears_nothing(&mut rig);
        far.sends(Tcp::FIN | Tcp::ACK, fin, b"", &[]);
        far.hears_ack(&mut rig, fin);
        rig.stalled = false;
        far.hears_ack(&mut rig, fin.wrapping_add(1));
        hears_fin(&mut far, &mut rig, fin.wrapping_add(1));
        assert_eq!(rig.close(socket), Ok(Value::Done));
        rig.nothing_is_left();
        assert_eq!(waiting(&rig), 0);
    });
}

/// C67: the server is told to send its FIN when the kernel has the far host's, but the server has
/// not looked at it yet. Its FIN waits just the same.
#[test]
fn our_fin_waits_for_one_that_is_not_known() {
    in_all_ways(true, |mut far, mut rig| {
        let socket = far.connected(&mut rig);
        let shut = rig.begin(socket, SHUT);
        assert_eq!(rig.ended(shut), Some(Ok(Value::Done)));
        rig.stalled = true;
        let fin = far.next;
        far.tells(Tcp::FIN, b"");
        far.hears_ack(&mut rig, fin);
        far.hears_nothing(&mut rig);
        rig.stalled = false;
        far.hears_ack(&mut rig, fin.wrapping_add(1));
        hears_fin(&mut far, &mut rig, fin.wrapping_add(1));
        assert_eq!(rig.close(socket), Ok(Value::Done));
        rig.nothing_is_left();
    });
}

/// C67: the program closes while a FIN is held and has read everything. That ends the hold (3.9)
/// and causes no RST.
#[test]
fn close_while_held() {
    in_all_ways(true, |mut far, mut rig| {
        let (socket, fin) = ended(&mut far, &mut rig);
        assert_eq!(rig.close(socket), Ok(Value::Done));
        far.hears_ack(&mut rig, fin.wrapping_add(1));
        hears_fin(&mut far, &mut rig, fin.wrapping_add(1));
        rig.stalled = false;
        rig.nothing_is_left();
        assert_eq!(waiting(&rig), 0);
    });
}

/// C68: the client is lost before the server's FIN: the kernel sends RST.
#[test]
fn abort_before_our_fin() {
    in_all_ways(true, |mut far, mut rig| {
        let (_, fin) = ended(&mut far, &mut rig);
        rig.cut();
        hears_reset(&mut far, &mut rig);
        assert_eq!(waiting(&rig), 0);
        far.hears_nothing(&mut rig);
        // Assume that the RST is lost.
        far.sends(Tcp::FIN | Tcp::ACK, fin, b"", &[]);
        hears_reset(&mut far, &mut rig);
    });
}

/// C68: the client is lost after the server's FIN, when the kernel has completed the connection
/// (TIME_WAIT) and would acknowledge everything.
#[test]
fn abort_behind_our_fin() {
    in_all_ways(true, |mut far, mut rig| {
        let (_, fin) = ended_behind_ours(&mut far, &mut rig, false);
        rig.cut();
        hears_reset(&mut far, &mut rig);
        far.hears_nothing(&mut rig);
        for _ in 0..2 {
            far.sends(Tcp::FIN | Tcp::ACK, fin, b"", &[]);
            hears_reset(&mut far, &mut rig);
        }
        assert_eq!(rig.host.fin_hold().expect("is there").counts().expect("can be read").turned, 2);
    });
}

/// C68: the client is lost while the server's FIN is unacknowledged (CLOSING).
#[test]
fn abort_while_fins_cross() {
    in_all_ways(true, |mut far, mut rig| {
        let (_, fin) = ended_behind_ours(&mut far, &mut rig, true);
        rig.cut();
        hears_reset(&mut far, &mut rig);
        far.sends(Tcp::FIN | Tcp::ACK, fin, b"", &[]);
        hears_reset(&mut far, &mut rig);
    });
}

/// A kernel without any state of the connection refuses a FIN that comes again. The far host does
/// not receive the refusal, but does receive the release.
#[test]
fn a_kernel_that_forgets() {
    in_all_ways(true, |mut far, mut rig| {
        let here = Namespace::current().expect("a namespace");
        sysctl::write(&here, "net.ipv4.tcp_max_tw_buckets", "0").expect("the kernel has it");
        let (socket, fin) = ended_behind_ours(&mut far, &mut rig, false);
        far.sends(Tcp::FIN | Tcp::ACK, fin, b"", &[]);
        far.hears_nothing(&mut rig);
        assert_eq!(rig.host.fin_hold().expect("is there").counts().expect("can be read").silenced, 1);
        rig.stalled = false;
        far.hears_ack(&mut rig, fin.wrapping_add(1));
        assert_eq!(rig.close(socket), Ok(Value::Done));
        rig.nothing_is_left();
    });
}

/// The far host resets a connection whose FIN is held. Its FIN is not acknowledged any more, and no
/// state is left after the program has closed.
#[test]
fn reset_while_held() {
    in_all_ways(true, |mut far, mut rig| {
        let (socket, _) = ended(&mut far, &mut rig);
        let next = far.next;
        far.sends(Tcp::RST | Tcp::ACK, next, b"", &[]);
        far.hears_nothing(&mut rig);
        rig.stalled = false;
        far.hears_nothing(&mut rig);
        assert_eq!(rig.close(socket), Ok(Value::Done));
        far.hears_nothing(&mut rig);
        rig.nothing_is_left();
        assert_eq!(waiting(&rig), 0);
    });
}

/// Creates a listening socket of the program. Returns it and its port.
fn listening(rig: &mut Rig, way: Way) -> (RsockId, u16) {
    let socket = rig.socket();
    let any = SocketAddr::new(way.addresses()[0], 0);
    assert_eq!(rig.call(socket, Operation::Bind(any)), Ok(Value::Done));
    assert_eq!(rig.call(socket, Operation::Listen { backlog: 1 }), Ok(Value::Done));
    let port = match rig.call(socket, SocketCall::LocalName) {
        Ok(Value::Address(address)) => address.port(),
        other => panic!("{other:?}"),
    };
    // LISTEN has no answer; the call after it has.
    rig.option(socket, libc::SOL_SOCKET, libc::SO_REUSEADDR);
    (socket, port)
}

/// C58: the far host connects, sends data and closes before the server knows of the connection,
/// even with the last segment of the handshake. Its FIN is held.
#[test]
fn fin_before_accept() {
    for way in WAYS {
        for in_handshake in [false, true] {
            if !enter(way) {
                return;
            }
            let (mut far, mut rig) = far(way, true);
            let (listener, port) = listening(&mut rig, way);
            rig.stalled = true;
            far.connects(&mut rig, port);
            if !in_handshake {
                far.sends(Tcp::ACK, far.next, b"", &[]);
            }
            far.tells(Tcp::FIN, b"bye");
            let fin = far.next.wrapping_sub(1);
            far.hears_ack(&mut rig, fin);
            far.hears_nothing(&mut rig);
            rig.stalled = false;
            let Ok(Value::Accepted { socket, .. }) = rig.call(listener, SocketCall::Accept) else {
                panic!("nobody is accepted")
            };
            far.hears_ack(&mut rig, fin.wrapping_add(1));
            assert_eq!(rig.read(socket, 100), bytes(b"bye"));
            assert_eq!(rig.read(socket, 100), bytes(b""));
            assert_eq!(rig.send(socket, b"x"), Ok(Value::Count(1)));
            assert_eq!(far.hears(&mut rig).tcp.acknowledgment, fin.wrapping_add(1));
        }
    }
}

/// The listener closes while the kernel has a connection for it that has ended: RST is sent, and no
/// state is left.
#[test]
fn a_listener_goes_away() {
    in_all_ways(true, |mut far, mut rig| {
        let way = far.way();
        let (listener, port) = listening(&mut rig, way);
        far.connects(&mut rig, port);
        far.sends(Tcp::ACK, far.next, b"", &[]);
        let fin = far.next;
        far.tells(Tcp::FIN, b"");
        // The server does not look meanwhile, so only the kernel has the connection.
        while waiting(&rig) == 0 {
            std::thread::yield_now();
        }
        assert_eq!(rig.close(listener), Ok(Value::Done));
        rig.until(|rig| (rig.host.sockets() == 0).then_some(()));
        // The kernel may have acknowledged the data before.
        let mut last = far.hears(&mut rig);
        while !last.tcp.has(Tcp::RST) {
            assert_eq!(last.tcp.acknowledgment, fin, "{last:?}");
            last = far.hears(&mut rig);
        }
        assert_eq!(last.tcp.sequence, far.expected);
        assert_eq!(waiting(&rig), 0);
    });
}

/// FINs are held as long as there is room. The next one is acknowledged at once and counted.
#[test]
fn more_than_there_is_room_for() {
    let way = WAYS[0];
    if !enter(way) {
        return;
    }
    let (mut far, mut rig) =
        far_with(way, |device| Some(FinHold::with_room(&[device], 1).expect("FINs are held")));
    let held = far.connected(&mut rig);
    let first = far.talks_by();
    let not = far.connected(&mut rig);
    let second = far.talks_by();
    rig.stalled = true;
    far.resumes(first);
    let fin = far.next;
    far.tells(Tcp::FIN, b"");
    far.hears_ack(&mut rig, fin);
    far.resumes(second);
    let fin = far.next;
    far.tells(Tcp::FIN, b"");
    far.hears_ack(&mut rig, fin.wrapping_add(1));
    let counts = rig.host.fin_hold().expect("is there").counts().expect("can be read");
    assert_eq!((counts.held, counts.full), (1, 1));
    // Its release works like any other, and the FIN is not acknowledged twice.
    rig.stalled = false;
    assert_eq!(rig.read(not, 1), bytes(b""));
    far.resumes(first);
    far.hears_ack(&mut rig, fin.wrapping_add(1));
    assert_eq!(rig.read(held, 1), bytes(b""));
}

/// Attaching fails without an interface, and for one that does not exist with its name.
#[test]
fn interfaces_are_named() {
    let error = FinHold::attach::<&str>(&[]).expect_err("none");
    assert!(error.to_string().contains("no interfaces for holding FINs"), "{error}");
    if !enter(WAYS[0]) {
        return;
    }
    let error = FinHold::attach(&["nowhere0"]).expect_err("does not exist");
    assert!(error.to_string().contains("`nowhere0`"), "{error}");
    let (_far, _rig) = far(WAYS[0], false);
    assert_eq!(FinHold::interfaces().expect("can be listed"), ["far0"]);
}

/// Three privileges are needed at the start only. A server that gives them up still holds FINs,
/// with the descriptors that it has opened.
#[test]
fn rights_are_needed_at_the_start_alone() {
    if !enter(WAYS[0]) {
        return;
    }
    // For this thread only.
    let keep = |rights| {
        let sets =
            CapabilitySets { effective: rights, permitted: rights, inheritable: CapabilitySet::empty() };
        rustix::thread::set_capabilities(None, sets).expect("rights can be given up");
    };
    let (mut far, mut rig) = far_with(WAYS[0], |device| {
        keep(CapabilitySet::BPF | CapabilitySet::NET_ADMIN | CapabilitySet::NET_RAW);
        Some(FinHold::attach(&[device]).expect("FINs are held"))
    });
    keep(CapabilitySet::empty());
    assert!(FinHold::attach(&["lo"]).is_err_and(|error| matches!(error, FinHoldError::Rights(_))));
    let (socket, fin) = ended(&mut far, &mut rig);
    rig.stalled = false;
    far.hears_ack(&mut rig, fin.wrapping_add(1));
    assert_eq!(rig.close(socket), Ok(Value::Done));
    hears_fin(&mut far, &mut rig, fin.wrapping_add(1));
    ended_behind_ours(&mut far, &mut rig, false);
    rig.cut();
    hears_reset(&mut far, &mut rig);
}
