//! Tests of the packets that errors spare.

use super::*;
use etherparse::PacketBuilder;

const COUNT: u64 = 20_000;

/// Builds UDP for numbers divisible by 3, otherwise TCP to port 80, with SYN for numbers divisible
/// by 10.
fn frame(number: u64) -> Frame {
    let ip = PacketBuilder::ipv4([10, 0, 0, 1], [10, 0, 0, 2], 64);
    let mut bytes = Vec::new();
    let written = if number.is_multiple_of(3) {
        ip.udp(5000, 53).write(&mut bytes, &[0; 20])
    } else if number.is_multiple_of(10) {
        ip.tcp(5000, 80, 1, 1).syn().write(&mut bytes, &[])
    } else {
        ip.tcp(5000, 80, 1, 1).ack(2).write(&mut bytes, &[0; 20])
    };
    written.expect("a vector");
    Frame::owned(Layer::Ip, bytes)
}

/// Returns the numbers of the packets that a stage with these rules loses.
fn lost(rules: &str) -> Vec<u64> {
    let mut stage = Driven::new(spec(&format!("process = {{ loss = \"30%\" }}\n{rules}")), 1);
    let lost =
        |number: &u64| stage.fate(Packet::new(*number, frame(*number), Time::from_nanos(*number))).is_err();
    (0..COUNT).filter(lost).collect()
}

#[test]
fn the_exempt_are_never_hit_and_the_others_as_before() {
    let all = lost("");
    let udp = |number: u64| number.is_multiple_of(3);
    let syn = |number: u64| !udp(number) && number.is_multiple_of(10);
    let kept =
        |keep: &dyn Fn(u64) -> bool| all.iter().copied().filter(|number| keep(*number)).collect::<Vec<_>>();
    assert!(all.iter().any(|number| syn(*number)) && all.iter().any(|number| *number < 100));
    assert_eq!(lost("exempt = { syn = true }"), kept(&|number| !syn(number)));
    assert_eq!(lost("exempt = { first = 100 }"), kept(&|number| number >= 100));
    assert_eq!(lost("exempt = { packets = \"udp dst port 53\" }"), kept(&|number| !udp(number)));
    assert_eq!(lost("only = \"tcp\""), kept(&|number| !udp(number)));
    assert_eq!(
        lost("only = \"tcp\"\nexempt = { syn = true, first = 7 }"),
        kept(&|number| !udp(number) && !syn(number) && number >= 7)
    );
    assert_eq!(lost("only = \"ip6\""), [] as [u64; 0]);
}

#[test]
fn the_packet_drop_generators_flag_lets_every_syn_through() {
    // LTCP 1.8.4: even at 100 %.
    let mut stage = Driven::new(spec("process = { loss = \"100%\" }\nexempt = { syn = true }"), 1);
    for number in 0..1000 {
        let passed = stage.fate(Packet::new(number, frame(number), Time::ZERO)).is_ok();
        assert_eq!(passed, !number.is_multiple_of(3) && number.is_multiple_of(10));
    }
}

#[test]
fn channels_go_on_under_exempt_packets() {
    for table in [
        "{ good = 5, bad = 3, evolves-in = \"packets\" }",
        "{ good = \"500B\", bad = \"200B\", evolves-in = \"bytes\" }",
        "{ ber = \"1e-3\" }",
    ] {
        let mut all = Driven::new(spec(&format!("process = {table}")), 1);
        let mut tcp = Driven::new(spec(&format!("process = {table}\nonly = \"tcp\"")), 1);
        for number in 0..COUNT {
            let packet = Packet::new(number, frame(number), Time::ZERO);
            let (one, other) = (all.fate(packet.clone()), tcp.fate(packet));
            let expected = one.is_err() && !number.is_multiple_of(3);
            assert_eq!(other.is_err(), expected, "{table}, packet {number}");
            let state = |fate: Result<Packet, Packet>| fate.unwrap_or_else(|lost| lost).channel;
            assert_eq!(state(one), state(other));
        }
    }
}
