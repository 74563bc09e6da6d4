//! Damaged segments on the way from the wire to the program, on the running kernel.

mod ground;

use ground::peer::{Conversation, DEVICE, HIT, Peer, complete, hit_data, hit_field, spoil};
use ground::{Ground, counter};
use packet::Field;
use std::io::{ErrorKind, Read};
use std::net::{TcpListener, TcpStream};
use std::time::Duration;
use tcp_lite::{Lite, Mode, Policy, Reason, Settings, option};

/// Port of the program.
const PORT: u16 = 80;
/// First port of the peer, which differs from the other ports in many bits.
const FROM: u16 = 40_001;

/// A program with a listener, and a peer that can connect to it, in one namespace.
struct Scene<'a> {
    ground: &'a Ground,
    lite: Lite,
    peer: &'a Peer,
    listener: TcpListener,
}

impl Scene<'_> {
    fn accept(&self, from: u16) -> (TcpStream, Conversation<'_>) {
        let conversation = self.peer.connect(PORT, from, true, |_| {});
        let (accepted, address) = self.listener.accept().expect("the peer's connection");
        assert_eq!(address, conversation.address());
        // Everything that is sent arrives at once, so a read that waits would wait for ever.
        accepted.set_read_timeout(Some(Duration::from_secs(10))).expect("an option");
        (accepted, conversation)
    }

    /// Returns the number of segments that the kernel dropped for wrong checksums.
    fn dropped(&self) -> u64 {
        counter(&self.ground.namespace, "InCsumErrors")
    }
}

/// Runs a test over IPv4 and over IPv6.
fn over_both(settings: &Settings, test: impl Fn(&Scene<'_>) + Sync) {
    for is_ipv6 in [false, true] {
        let Some(ground) = Ground::new() else { return };
        let peer = Peer::new(&ground.namespace, is_ipv6);
        let work = || {
            let mut lite = Lite::attach(ground.group(), settings).expect("TCP Lite");
            lite.add_interface(DEVICE).expect("TCP Lite at the device");
            let listener = TcpListener::bind((peer.here, PORT)).expect("a listener");
            test(&Scene { ground: &ground, lite, peer: &peer, listener });
            Ok(())
        };
        ground.namespace.enter(work).expect("the namespace is there");
    }
}

/// Returns bytes that depend on their place in the stream.
fn stream(len: usize) -> Vec<u8> {
    (0..len as u32).map(|place| (place / 7 * 31 + place) as u8).collect()
}

fn read(mut from: &TcpStream, len: usize) -> Vec<u8> {
    let mut bytes = vec![0; len];
    from.read_exact(&mut bytes).expect("the bytes are delivered");
    bytes
}

fn has_nothing(mut from: &TcpStream) -> bool {
    from.set_nonblocking(true).expect("an option");
    let result = from.read(&mut [0; 1]);
    from.set_nonblocking(false).expect("an option");
    matches!(result, Err(error) if error.kind() == ErrorKind::WouldBlock)
}

const RECOVERY: Mode = Mode::Recovery;

/// TL-02: right segments are delivered unchanged; without the option, damaged ones are dropped as
/// by any TCP (R4, R6).
#[test]
fn without_the_option_nothing_changes() {
    over_both(&Settings::on_request(RECOVERY), |scene| {
        let (program, mut peer) = scene.accept(FROM);
        let before = scene.dropped();
        let bytes = stream(5000);
        peer.say(0, &bytes[..4000], |_, _| {});
        peer.say(4000, &bytes[4000..], |_, packet| hit_data(packet));
        assert_eq!(read(&program, 4000), bytes[..4000]);
        assert!(has_nothing(&program));
        assert_eq!(scene.dropped() - before, 1);
        assert_eq!(scene.lite.totals().expect("a map").damaged, 0);
        assert_eq!(option::stats(&program).expect("an option").damaged, 0);
        // It was not acknowledged, and can be retransmitted.
        peer.say(4000, &bytes[4000..], |_, _| {});
        assert_eq!(read(&program, 1000), bytes[4000..]);
    });
}

/// TL-03, R5, R7, R8: every damaged segment is delivered in place, damage included, and
/// acknowledged.
#[test]
fn damage_is_delivered_in_place() {
    for mode in [Mode::Thesis, Mode::Recovery] {
        over_both(&Settings::for_every_connection(mode, Policy::Normal), |scene| {
            let (program, mut peer) = scene.accept(FROM);
            let before = scene.dropped();
            for round in 0..10 {
                // Less than a connection's initial window.
                let bytes = stream(20_000);
                let mut expected = bytes.clone();
                expected[999..10_000].iter_mut().step_by(1000).for_each(|byte| *byte ^= HIT);
                peer.say(
                    round * 20_000,
                    &bytes,
                    |number, packet| {
                        if number < 10 { hit_data(packet) } else { spoil(packet) }
                    },
                );
                peer.wait_for_ack((round + 1) * 20_000);
                assert_eq!(read(&program, 20_000), expected);
            }
            assert_eq!(scene.dropped(), before);
            let stats = option::stats(&program).expect("an option");
            assert_eq!((stats.damaged, stats.accepted), (200, 200));
            assert_eq!(scene.lite.totals().expect("a map").accepted, 200);
        });
    }
}

/// Thesis mode also accepts a handshake with wrong checksums, if the listener accepts damage
/// (tcp-lite 8, ambiguity 10).
#[test]
fn a_damaged_handshake_is_accepted_in_thesis_mode_alone() {
    over_both(&Settings::for_every_connection(Mode::Thesis, Policy::Normal), |scene| {
        let mut peer = scene.peer.connect(PORT, FROM, true, spoil);
        let (program, _) = scene.listener.accept().expect("the peer's connection");
        peer.say(0, &stream(1000), |_, packet| spoil(packet));
        assert_eq!(read(&program, 1000), stream(1000));
    });
    over_both(&Settings::for_every_connection(RECOVERY, Policy::Normal), |scene| {
        let before = scene.dropped();
        let (_program, mut peer) = scene.accept(FROM);
        let mut empty = peer.segment(0, &[]);
        spoil(&mut empty);
        peer.send(&empty);
        assert_eq!(scene.dropped() - before, 1, "an empty segment is not repaired");
        assert_eq!(scene.lite.totals().expect("a map").discarded_for(Reason::Empty), 1);
    });
}

/// TL-04, R2, R3: the option takes effect when it is set. TL-07: what was accepted before stays
/// readable after it is switched off.
#[test]
fn a_program_switches_within_a_connection() {
    over_both(&Settings::on_request(RECOVERY), |scene| {
        let (program, mut peer) = scene.accept(FROM);
        let bytes = stream(3000);
        let damaged = |range: std::ops::Range<usize>| {
            let mut bytes = bytes[range].to_vec();
            *bytes.last_mut().expect("bytes") ^= HIT;
            bytes
        };
        // Like the header of a response, which must be undamaged.
        peer.say(0, &bytes[..1000], |_, packet| hit_data(packet));
        assert!(has_nothing(&program));
        peer.say(0, &bytes[..1000], |_, _| {});
        assert_eq!(read(&program, 1000), bytes[..1000]);

        option::switch(&program, true).expect("an option");
        // Time stamps have advanced since the handshake, so one right segment must be seen first.
        peer.say(1000, &bytes[1000..2000], |_, packet| hit_data(packet));
        assert_eq!(option::stats(&program).expect("an option").discarded_for(Reason::Template), 1);
        peer.say(1000, &bytes[1000..1500], |_, _| {});
        peer.say(1500, &bytes[1500..2000], |_, packet| hit_data(packet));
        peer.wait_for_ack(2000);
        option::switch(&program, false).expect("an option");
        // It was acknowledged, so no host retransmits it (TL-07).
        assert_eq!(read(&program, 500), bytes[1000..1500]);
        assert_eq!(read(&program, 500), damaged(1500..2000));

        peer.say(2000, &bytes[2000..], |_, packet| hit_data(packet));
        assert!(has_nothing(&program));
        peer.say(2000, &bytes[2000..], |_, _| {});
        assert_eq!(read(&program, 1000), bytes[2000..]);
    });
}

/// TL-05, R9: damage only in a part of the stream; the option switches itself off behind it. TL-07:
/// so nothing behind its end is ever damaged.
#[test]
fn a_window_ends_by_itself() {
    over_both(&Settings::on_request(RECOVERY), |scene| {
        let (program, mut peer) = scene.accept(FROM);
        option::switch(&program, true).expect("an option");
        option::set_window(&program, 1000..3000).expect("an option");
        let bytes = stream(5000);
        let mut outcome = Vec::new();
        for start in [0, 1000, 2000, 3000, 4000] {
            let piece = &bytes[start..start + 1000];
            peer.say(start as u64, piece, |_, packet| hit_data(packet));
            outcome.push((!has_nothing_peeked(&program), option::is_on(&program).expect("an option")));
            if outcome.last().is_some_and(|(delivered, _)| !delivered) {
                peer.say(start as u64, piece, |_, _| {});
            }
            read(&program, 1000);
        }
        assert_eq!(outcome, [(false, true), (true, true), (true, false), (false, false), (false, false)]);
        let stats = option::stats(&program).expect("an option");
        assert_eq!((stats.accepted, stats.discarded_for(Reason::Window)), (2, 3));
    });
}

fn has_nothing_peeked(from: &TcpStream) -> bool {
    from.set_nonblocking(true).expect("an option");
    let result = from.peek(&mut [0; 1]);
    from.set_nonblocking(false).expect("an option");
    result.is_err()
}

/// TL-06, R10: the ranges are those of the damaged segments, except segments of which only the
/// header was damaged.
#[test]
fn ranges_say_where_damage_lies() {
    over_both(&Settings::for_every_connection(RECOVERY, Policy::Normal), |scene| {
        let (program, mut peer) = scene.accept(FROM);
        peer.say(0, &stream(20_000), |number, packet| match number {
            3 | 7 | 8 => hit_data(packet),
            11 => hit_field(packet, Field::UrgentPointer, |pointer| pointer ^ 0x100),
            _ => {}
        });
        peer.wait_for_ack(20_000);
        read(&program, 20_000);
        let ranges = option::ranges(&program).expect("an option");
        assert_eq!(ranges.ranges, [3000..4000, 7000..8000, 8000..9000]);
        assert!(!ranges.overflow);
        assert_eq!(option::stats(&program).expect("an option").confirmed, 1);

        for round in 1..5 {
            peer.say(round * 20_000, &stream(20_000), |_, packet| hit_data(packet));
            peer.wait_for_ack((round + 1) * 20_000);
            read(&program, 20_000);
        }
        let ranges = option::ranges(&program).expect("an option");
        assert_eq!((ranges.ranges.len(), ranges.overflow), (63, true));
        assert_eq!(ranges.ranges.last(), Some(&(99_000..100_000)));
    });
}

/// TL-32: no flag of a damaged segment is honoured. A FIN is retransmitted, and the connection ends
/// normally.
#[test]
fn flags_of_damaged_segments_are_not_honoured() {
    over_both(&Settings::for_every_connection(RECOVERY, Policy::Normal), |scene| {
        let (program, mut peer) = scene.accept(FROM);
        let bytes = stream(4000);
        for (start, flag) in [(0, Field::Syn), (1000, Field::Rst), (2000, Field::Urg)] {
            let mut packet = peer.flagged(start, flag, &bytes[start as usize..start as usize + 1000]);
            hit_data(&mut packet);
            peer.send(&packet);
        }
        let mut packet = peer.flagged(3000, Field::Fin, &bytes[3000..]);
        hit_data(&mut packet);
        peer.send(&packet);
        // Acknowledges the data, and not the FIN behind them.
        peer.wait_for_ack(4000);
        assert_eq!(read(&program, 4000).len(), 4000);
        assert!(has_nothing(&program));

        let fin = peer.flagged(4000, Field::Fin, &[]);
        let mut damaged = fin.clone();
        spoil(&mut damaged);
        peer.send(&damaged);
        assert!(has_nothing(&program), "a FIN alone is not repaired");
        peer.send(&fin);
        peer.wait_for_ack(4001);
        assert_eq!((&program).read(&mut [0; 1]).expect("the end of the stream"), 0);
    });
}

/// TL-30, TL-31: each damaged field is repaired, data behind a hole are kept, and segments at an
/// impossible place are left to TCP.
#[test]
fn every_field_is_repaired() {
    over_both(&Settings::for_every_connection(RECOVERY, Policy::Normal), |scene| {
        let (program, mut peer) = scene.accept(FROM);
        let bytes = stream(1000 + 1000 * Field::ALL.len());
        // A right segment first, which shows the segment size.
        peer.say(0, &bytes[..1000], |_, _| {});
        peer.say(1000, &bytes[1000..], |number, packet| {
            hit_field(packet, Field::ALL[number], |value| value ^ 1);
        });
        peer.wait_for_ack(bytes.len() as u64);
        assert_eq!(read(&program, bytes.len()), bytes);
        let stats = option::stats(&program).expect("an option");
        assert_eq!((stats.accepted, stats.damaged), (17, 17));
        assert_eq!(stats.approximate, 2, "the ports");

        let start = bytes.len() as u64;
        // A hole, damage behind it, and damage where data cannot be.
        let more = stream(3000);
        peer.say(start + 1000, &more[1000..2000], |_, packet| hit_data(packet));
        peer.say(start + 2300, &more[2000..3000], |_, packet| hit_data(packet));
        assert!(has_nothing(&program));
        peer.say(start, &more[..1000], |_, _| {});
        peer.wait_for_ack(start + 2000);
        let after = option::stats(&program).expect("an option");
        assert_eq!((after.out_of_order, after.discarded_for(Reason::Position)), (1, 1));
    });
}

/// TL-34: what an off-path attacker can do. His damaged segments are accepted only at the few
/// places where the next segments begin. Undamaged ones, whose checksum anybody can compute, are
/// accepted by TCP itself anywhere in its window.
#[test]
fn injected_segments_find_no_place() {
    over_both(&Settings::for_every_connection(RECOVERY, Policy::Normal), |scene| {
        let (program, mut peer) = scene.accept(FROM);
        peer.say(0, &stream(1000), |_, _| {});
        read(&program, 1000);
        let mut bits = 88_172_645_463_325_252_u64;
        let mut random = || {
            bits ^= bits << 13;
            bits ^= bits >> 7;
            bits ^= bits << 17;
            bits as u32
        };
        // The attacker knows hosts and ports: 20 000 guesses at the sequence number, with wrong
        // checksums.
        for _ in 0..20_000 {
            let mut packet = peer.segment(0, &[0x66; 100]);
            let guess = random();
            hit_field(&mut packet, Field::Sequence, |_| guess);
            scene.peer.send(&packet);
        }
        let stats = option::stats(&program).expect("an option");
        let window = f64::from(Settings::on_request(RECOVERY).parameters.window);
        // Three bases, and a place every 1000 bytes within the window, of 2^32 numbers.
        let expected = 20_000.0 * 3.0 * window / 1000.0 / 2_f64.powi(32);
        assert!(expected < 0.1, "{expected}");
        assert_eq!(stats.accepted, 0);
        assert!(stats.discarded_for(Reason::Position) > 19_990, "{stats:?}");

        // At a right place, the attacker needs no acknowledgement number, for which TCP would ask.
        // This is the price of the option.
        let mut packet = peer.segment(1000, &[0x66; 10]);
        hit_field(&mut packet, Field::Acknowledgment, |ack| ack ^ 0x4000_0000);
        complete(&mut packet);
        peer.send(&packet);
        assert!(has_nothing(&program), "TCP refuses an acknowledgement of what was never sent (RFC 5961)");
        spoil(&mut packet);
        peer.send(&packet);
        assert_eq!(read(&program, 10), [0x66; 10]);

        // No attempt at a reset succeeds.
        for seq in 0..3000 {
            let mut packet = peer.flagged(1010 + seq, Field::Rst, &[]);
            spoil(&mut packet);
            peer.send(&packet);
        }
        assert!(has_nothing(&program), "the connection lives");
    });
}

/// TL-34: the rate of guesses is limited.
#[test]
fn guesses_are_limited() {
    let mut settings = Settings::for_every_connection(RECOVERY, Policy::Normal);
    settings.parameters.guess_burst = 5;
    settings.parameters.guess_interval_ns = 3_600_000_000_000;
    over_both(&settings, |scene| {
        let (_program, mut peer) = scene.accept(FROM);
        peer.say(0, &stream(10_000), |_, packet| {
            hit_data(packet);
            hit_field(packet, Field::UrgentPointer, |pointer| pointer ^ 1);
        });
        let totals = scene.lite.totals().expect("a map");
        assert_eq!((totals.guessed, totals.accepted), (5, 5));
        assert_eq!(totals.discarded_for(Reason::Rate), 1, "what comes behind has no place");
    });
}

/// TL-28: connections with neighbouring ports; data never reach the wrong one.
#[test]
fn consecutive_ports_are_told_apart() {
    over_both(&Settings::for_every_connection(RECOVERY, Policy::Normal), |scene| {
        let mut all: Vec<_> = (0..8).map(|number| scene.accept(FROM + number)).collect();
        for round in 0..200 {
            for (number, (_, peer)) in all.iter_mut().enumerate() {
                let payload = [number as u8 + 1; 100];
                let mut packet = peer.segment(round * 100, &payload);
                let bit = (round as u32 * 7 + number as u32) % 16;
                let field = if round % 2 == 0 { Field::SourcePort } else { Field::DestinationPort };
                hit_field(&mut packet, field, |port| port ^ 1 << bit);
                peer.send(&packet);
                // What was not delivered is retransmitted, as TCP would.
                let again = peer.segment(round * 100, &payload);
                peer.send(&again);
            }
        }
        for (number, (program, _)) in all.iter().enumerate() {
            assert!(read(program, 20_000).iter().all(|byte| *byte == number as u8 + 1));
        }
        let totals = scene.lite.totals().expect("a map");
        assert!(totals.approximate > 1000, "{totals:?}");
    });
}
