//! Held FINs segment by segment. The far host is simulated, so each answer of the server has one
//! cause.

use crate::ground::{Way, enter};
use crate::rig::{Rig, Turns, bytes};
use crate::written::{Far, far, in_all_ways};
use packet::Tcp;
use resoa_protocol::message::Half;
use resoa_protocol::{RsockId, SocketCall, Value};

/// Connects to a far host that sends "bye" and closes while the client receives nothing. Returns
/// the socket and the FIN's sequence number. The kernel may acknowledge both at once.
fn held(far: &mut Far, rig: &mut Rig) -> (RsockId, u32) {
    let socket = far.connected(rig);
    rig.stalled = true;
    far.tells(0, b"bye");
    let fin = far.next;
    far.hears_ack(rig, fin);
    far.tells(Tcp::FIN, b"");
    far.hears_ack(rig, fin);
    (socket, fin)
}

/// C58: data is acknowledged on arrival, and the FIN only when the client has everything; then at
/// once, without a retransmission.
#[test]
fn fin_is_acknowledged_when_it_is_delivered() {
    in_all_ways(true, |mut far, mut rig| {
        let (socket, fin) = held(&mut far, &mut rig);
        far.hears_nothing(&mut rig);
        rig.stalled = false;
        far.hears_ack(&mut rig, fin.wrapping_add(1));
        assert_eq!(rig.read(socket, 100), bytes(b"bye"));
        assert_eq!(rig.read(socket, 100), bytes(b""));
        far.hears_nothing(&mut rig);
        // The kernel's segments are not changed any more.
        far.sends(Tcp::FIN | Tcp::ACK, fin, b"", &[]);
        far.hears_ack(&mut rig, fin.wrapping_add(1));
        let counts = rig.host.fin_hold().expect("is there").counts().expect("can be read");
        assert_eq!((counts.held, counts.full, rig.host.fin_hold().expect("is there").waiting()), (1, 0, 0));
    });
}

/// C60, C69: a retransmitted FIN is answered like the first one, and no SACK block covers it.
#[test]
fn fin_comes_again() {
    in_all_ways(true, |mut far, mut rig| {
        let (_, fin) = held(&mut far, &mut rig);
        for _ in 0..3 {
            far.sends(Tcp::FIN | Tcp::ACK, fin, b"", &[]);
            let answer = far.hears_ack(&mut rig, fin);
            assert_eq!(answer.options.sacks(), []);
        }
        rig.stalled = false;
        far.hears_ack(&mut rig, fin.wrapping_add(1));
    });
}

/// C69: data retransmitted with the FIN is reported in a SACK block that ends before the FIN. So is
/// data that arrives out of order.
#[test]
fn blocks_end_before_the_fin() {
    in_all_ways(true, |mut far, mut rig| {
        let socket = far.connected(&mut rig);
        rig.stalled = true;
        let first = far.next;
        let (second, fin) = (first.wrapping_add(4), first.wrapping_add(8));
        // The second half first, with the FIN.
        far.sends(Tcp::FIN | Tcp::ACK, second, b"half", &[]);
        let answer = far.hears_ack(&mut rig, first);
        let has_sack = !answer.options.sacks().is_empty();
        assert!(!has_sack || answer.options.sacks() == [(second, fin)], "{answer:?}");
        far.tells(0, b"one ");
        far.hears_ack(&mut rig, fin);
        far.sends(Tcp::FIN | Tcp::ACK, second, b"half", &[]);
        let answer = far.hears_ack(&mut rig, fin);
        assert!(!has_sack || answer.options.sacks() == [(second, fin)], "{answer:?}");
        let counts = rig.host.fin_hold().expect("is there").counts().expect("can be read");
        assert_eq!(counts.blanked, if has_sack { 2 } else { 0 });
        rig.stalled = false;
        far.hears_ack(&mut rig, fin.wrapping_add(1));
        assert_eq!(rig.read(socket, 100), bytes(b"one half"));
    });
}

/// C61: data that arrives with the FIN is acknowledged. Data in the other direction is sent without
/// acknowledging the FIN.
#[test]
fn fin_with_octets_and_octets_the_other_way() {
    in_all_ways(true, |mut far, mut rig| {
        let socket = far.connected(&mut rig);
        rig.stalled = true;
        far.tells(Tcp::FIN, b"bye");
        let fin = far.next.wrapping_sub(1);
        far.hears_ack(&mut rig, fin);
        assert_eq!(rig.send(socket, b"answer"), Ok(Value::Count(6)));
        let answer = far.hears(&mut rig);
        assert_eq!((answer.payload, answer.tcp.acknowledgment), (6, fin));
        far.expected = far.expected.wrapping_add(6);
        far.sends(Tcp::ACK, fin.wrapping_add(1), b"", &[]);
        far.hears_nothing(&mut rig);
        rig.stalled = false;
        // The number is the one behind the data.
        far.hears_ack(&mut rig, fin.wrapping_add(1));
        assert_eq!(rig.read(socket, 100), bytes(b"bye"));
    });
}

/// C61: data sent after the release acknowledges the FIN like any other segment.
#[test]
fn octets_after_the_release() {
    in_all_ways(true, |mut far, mut rig| {
        let (socket, fin) = held(&mut far, &mut rig);
        rig.stalled = false;
        far.hears_ack(&mut rig, fin.wrapping_add(1));
        assert_eq!(rig.send(socket, b"answer"), Ok(Value::Count(6)));
        let answer = far.hears(&mut rig);
        assert_eq!((answer.payload, answer.tcp.acknowledgment), (6, fin.wrapping_add(1)));
        far.expected = far.expected.wrapping_add(6);
        assert_eq!(rig.close(socket), Ok(Value::Done));
    });
}

/// C62: the program has shut its half down. The far host's FIN is held just the same, although the
/// kernel has completed the connection (TIME_WAIT).
#[test]
fn fin_after_ours() {
    in_all_ways(true, |mut far, mut rig| {
        let socket = far.connected(&mut rig);
        assert_eq!(rig.call(socket, SocketCall::Shutdown(Half::Write)), Ok(Value::Done));
        let ours = far.hears(&mut rig);
        assert_eq!(ours.tcp.flags, Tcp::FIN | Tcp::ACK);
        far.expected = far.expected.wrapping_add(1);
        far.tells(0, b"bye");
        let fin = far.next;
        far.hears_ack(&mut rig, fin);
        rig.stalled = true;
        far.tells(Tcp::FIN, b"");
        far.hears_ack(&mut rig, fin);
        far.sends(Tcp::FIN | Tcp::ACK, fin, b"", &[]);
        let again = far.hears_ack(&mut rig, fin);
        assert_eq!(again.options.sacks(), []);
        rig.stalled = false;
        far.hears_ack(&mut rig, fin.wrapping_add(1));
        assert_eq!(rig.read(socket, 100), bytes(b"bye"));
        assert_eq!(rig.read(socket, 100), bytes(b""));
        assert_eq!(rig.close(socket), Ok(Value::Done));
        rig.nothing_is_left();
    });
}

/// C65: both FINs are in flight at the same time.
#[test]
fn fins_cross() {
    in_all_ways(true, |mut far, mut rig| {
        let socket = far.connected(&mut rig);
        assert_eq!(rig.call(socket, SocketCall::Shutdown(Half::Write)), Ok(Value::Done));
        let ours = far.hears(&mut rig);
        assert_eq!(ours.tcp.flags, Tcp::FIN | Tcp::ACK);
        // The far host has not received our FIN when it sends its own.
        rig.stalled = true;
        let fin = far.next;
        far.tells(Tcp::FIN, b"");
        far.expected = far.expected.wrapping_add(1);
        far.hears_ack(&mut rig, fin);
        far.sends(Tcp::ACK, far.next, b"", &[]);
        far.sends(Tcp::FIN | Tcp::ACK, fin, b"", &[]);
        far.hears_ack(&mut rig, fin);
        rig.stalled = false;
        far.hears_ack(&mut rig, fin.wrapping_add(1));
        assert_eq!(rig.read(socket, 100), bytes(b""));
        assert_eq!(rig.close(socket), Ok(Value::Done));
        rig.nothing_is_left();
    });
}

/// A FIN behind IP options or extension headers is found, too.
#[test]
fn fin_behind_options() {
    in_all_ways(true, |mut far, mut rig| {
        let socket = far.connected(&mut rig);
        rig.stalled = true;
        far.extends = true;
        far.tells(Tcp::FIN, b"bye");
        let fin = far.next.wrapping_sub(1);
        far.hears_ack(&mut rig, fin);
        rig.stalled = false;
        far.hears_ack(&mut rig, fin.wrapping_add(1));
        assert_eq!(rig.read(socket, 100), bytes(b"bye"));
    });
}

/// A forged FIN from somebody who only knows the ports, before and after the genuine one: the
/// genuine FIN is held.
#[test]
fn fin_of_somebody_else() {
    in_all_ways(true, |mut far, mut rig| {
        let socket = far.connected(&mut rig);
        rig.stalled = true;
        let fin = far.next;
        let elsewhere = fin.wrapping_add(1 << 29);
        // The kernel answers with the expected number, or not at all if it has just done so.
        let no_matter = |far: &mut Far, rig: &mut Rig| {
            for _ in 0..10 {
                rig.turn();
                while let Some(answer) = far.found() {
                    assert_eq!((answer.tcp.flags, answer.tcp.acknowledgment), (Tcp::ACK, fin), "{answer:?}");
                }
            }
        };
        far.sends(Tcp::FIN | Tcp::ACK, elsewhere, b"", &[]);
        no_matter(&mut far, &mut rig);
        far.tells(Tcp::FIN, b"");
        far.hears_ack(&mut rig, fin);
        far.sends(Tcp::FIN | Tcp::ACK, elsewhere, b"", &[]);
        no_matter(&mut far, &mut rig);
        far.sends(Tcp::FIN | Tcp::ACK, fin, b"", &[]);
        no_matter(&mut far, &mut rig);
        rig.stalled = false;
        far.hears_ack(&mut rig, fin.wrapping_add(1));
        assert_eq!(rig.read(socket, 1), bytes(b""));
        let counts = rig.host.fin_hold().expect("is there").counts().expect("can be read");
        assert_eq!(counts.held, 1);
    });
}

/// C100: without the hold the FIN is acknowledged while the client has nothing. These tests would
/// detect that.
#[test]
fn without_the_hold() {
    in_all_ways(false, |mut far, mut rig| {
        assert!(!rig.host.capabilities().fin_hold);
        let _socket = far.connected(&mut rig);
        rig.stalled = true;
        far.tells(Tcp::FIN, b"bye");
        let fin = far.next.wrapping_sub(1);
        far.hears_ack(&mut rig, fin.wrapping_add(1));
    });
}

/// Connections of other sockets are not changed.
#[test]
fn others_are_left_alone() {
    let way = Way { is_ipv6: false, stamps: true, sack: true };
    if !enter(way) {
        return;
    }
    let (mut far, mut rig) = far(way, true);
    let (here, there) = (way.addresses()[0], far.address());
    let listener = std::net::TcpListener::bind((here, 0)).expect("a port");
    let port = listener.local_addr().expect("is bound").port();
    far.connects(&mut rig, port);
    far.sends(Tcp::ACK, far.next, b"", &[]);
    let fin = far.next;
    far.tells(Tcp::FIN, b"");
    let (_open, peer) = listener.accept().expect("has connected");
    assert_eq!(peer, there);
    far.hears_ack(&mut rig, fin.wrapping_add(1));
    assert_eq!(rig.host.fin_hold().expect("is there").waiting(), 0);
}
