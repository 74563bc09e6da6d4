//! TL-13 and TL-14: tests of damage, which must be confined to its region.

use super::*;
use crate::stage::errors::damage;
use crate::units::BitErrorRatio;
use ::packet::checksum::{ChecksumStatus, verify};
use ::packet::{Headers, Region};
use etherparse::{IpNumber, PacketBuilder};
use proptest::prelude::*;

const PAYLOAD: usize = 100;

fn tcp4() -> Vec<u8> {
    let step = PacketBuilder::ipv4([10, 0, 0, 1], [10, 0, 0, 2], 64).tcp(40_000, 80, 7, 1000).ack(3);
    let step = step.options_raw(&[1, 1, 8, 10, 0, 0, 0, 1, 0, 0, 0, 2]).expect("timestamps");
    let mut bytes = Vec::new();
    step.write(&mut bytes, &[0x5a; PAYLOAD]).expect("a vector");
    bytes
}

fn udp6() -> Vec<u8> {
    let mut bytes = Vec::new();
    PacketBuilder::ipv6([0xfd; 16], [0xfe; 16], 64)
        .udp(53, 5353)
        .write(&mut bytes, &[0xa5; PAYLOAD])
        .expect("a vector");
    bytes
}

fn icmp4() -> Vec<u8> {
    let step = PacketBuilder::ipv4([10, 0, 0, 1], [10, 0, 0, 2], 64).icmpv4_echo_request(1, 2);
    let mut bytes = Vec::new();
    step.write(&mut bytes, &[0; PAYLOAD]).expect("a vector");
    bytes
}

/// Builds an IP packet with an encapsulating security payload, whose content cannot be read.
fn esp4() -> Vec<u8> {
    let step = PacketBuilder::ipv4([10, 0, 0, 1], [10, 0, 0, 2], 64);
    let mut bytes = Vec::new();
    step.write(&mut bytes, IpNumber::ENCAPSULATING_SECURITY_PAYLOAD, &[0; PAYLOAD]).expect("a vector");
    bytes
}

fn packet(bytes: &[u8]) -> Packet {
    Packet::new(0, Frame::owned(Layer::Ip, bytes.to_vec()), Time::ZERO)
}

/// Returns the offsets of bits that differ.
fn flipped(before: &[u8], after: &[u8]) -> Vec<usize> {
    assert_eq!(before.len(), after.len());
    let differs = |bit: &usize| (before[bit / 8] ^ after[bit / 8]) & (0x80 >> (bit % 8)) != 0;
    (0..before.len() * 8).filter(differs).collect()
}

fn headers(bytes: &[u8]) -> Headers {
    Headers::parse(Layer::Ip, bytes).expect("it was built")
}

#[test]
fn tl_13_only_the_checksum_differs() {
    let mut stage = Driven::new(spec("process = { loss = \"100%\" }\neffect = \"spoil-checksum\""), 1);
    assert!(stage.stage.changes_bytes());
    for (bytes, checksum) in [(tcp4(), 36..38), (udp6(), 46..48)] {
        assert_eq!(verify(&bytes, &headers(&bytes)), ChecksumStatus::Right);
        let damaged = stage.fate(packet(&bytes)).expect("it passes");
        let after = damaged.frame.to_bytes();
        assert_eq!(verify(&after, &headers(&after)), ChecksumStatus::Wrong);
        let differing: Vec<usize> = (0..bytes.len()).filter(|at| bytes[*at] != after[*at]).collect();
        assert!(!differing.is_empty() && differing.iter().all(|at| checksum.contains(at)), "{differing:?}");
        assert_eq!(damaged.marks.len(), 1);
        assert_eq!(damaged.marks[0].effect, Effect::ChecksumSpoiled);
    }
    // A packet without a TCP or UDP checksum is lost.
    for bytes in [icmp4(), esp4(), vec![0; 40]] {
        let lost = stage.fate(packet(&bytes)).expect_err("it is lost");
        assert_eq!(lost.loss(), Some(Loss::Error));
    }
}

#[test]
fn tl_13_at_the_share_of_loss_profile_4() {
    let mut stage =
        Driven::new(spec("process = { good = \"2s\", bad = \"100ms\" }\neffect = \"spoil-checksum\""), 1);
    let bytes = tcp4();
    let count = 1_000_000;
    let mut spoiled = 0.0;
    for n in 0..count {
        let packet = Packet::new(n, Frame::owned(Layer::Ip, bytes.clone()), at(n as f64 * 12.0));
        let packet = stage.fate(packet).expect("nothing is lost");
        let hit = packet.channel == Some(ChannelState::Bad);
        assert_eq!(packet.is_damaged(), hit);
        spoiled += f64::from(u8::from(hit));
    }
    let share = 100.0 / 2100.0;
    // Ticks of 10 ms, packets every 12 ms.
    let rho = (1.0f64 - 0.005 - 0.1).powf(1.2);
    close("spoiled", spoiled / count as f64, share, share_deviation(share, rho, count as f64));
}

/// Returns the numbers of flipped bits in a million packets, by packet and by place in the region.
fn flips(toml: &str, bytes: &[u8], region: Region) -> (Vec<u64>, Vec<u64>) {
    let range = headers(bytes).region(region).expect("the packet has it");
    let bits = range.len() * 8;
    let (mut numbers, mut places) = (vec![0; bits + 1], vec![0; bits]);
    let mut stage = Driven::new(spec(toml), 5);
    for n in 0..1_000_000 {
        let packet = Packet::new(n, Frame::owned(Layer::Ip, bytes.to_vec()), Time::ZERO);
        let packet = stage.fate(packet).expect("it passes");
        let after = packet.frame.to_bytes();
        if *after == *bytes {
            assert!(packet.marks.is_empty());
            numbers[0] += 1;
            continue;
        }
        let bits = flipped(bytes, &after);
        assert_eq!(packet.marks[0].effect, Effect::BitsFlipped(bits.len() as u32));
        numbers[bits.len()] += 1;
        for bit in bits {
            assert!(range.contains(&(bit / 8)), "bit {bit} is not in the {region}");
            places[bit - range.start * 8] += 1;
        }
    }
    (numbers, places)
}

/// Returns the probabilities of 0, 1, ... successes in `bits` trials.
fn binomial(bits: usize, p: f64) -> Vec<f64> {
    let mut probability = (1.0 - p).powf(bits as f64);
    (0..=bits)
        .map(|successes| {
            let present = probability;
            probability *= (bits - successes) as f64 / (successes + 1) as f64 * p / (1.0 - p);
            present
        })
        .collect()
}

#[test]
fn tl_14_wrong_bits_are_binomial_and_anywhere_in_the_region() {
    let bytes = tcp4();
    for (region, name) in [
        (Region::Packet, "packet"),
        (Region::Segment, "segment"),
        (Region::TransportHeader, "header"),
        (Region::Payload, "payload"),
    ] {
        let toml = format!("process = {{ ber = \"2e-3\" }}\neffect = {{ flip = {{ region = \"{name}\" }} }}");
        let (numbers, places) = flips(&toml, &bytes, region);
        let expected: Vec<f64> = binomial(places.len(), 2e-3).iter().map(|p| p * 1e6).collect();
        fits(name, &numbers, &expected);
        fits(name, &places, &vec![places.iter().sum::<u64>() as f64 / places.len() as f64; places.len()]);
    }
}

#[test]
fn a_packet_that_is_hit_has_a_wrong_bit_at_least() {
    // Binomial under the condition that it is not 0; all places are equally likely.
    let toml = "process = { loss = \"100%\" }\neffect = { flip = { ber = \"1e-3\", region = \"payload\" } }";
    let (numbers, places) = flips(toml, &tcp4(), Region::Payload);
    assert_eq!(numbers[0], 0);
    let binomial = binomial(PAYLOAD * 8, 1e-3);
    let expected: Vec<f64> = binomial.iter().skip(1).map(|p| p * 1e6 / (1.0 - binomial[0])).collect();
    fits("numbers", &numbers[1..], &expected);
    fits("places", &places, &vec![places.iter().sum::<u64>() as f64 / places.len() as f64; places.len()]);
}

#[test]
fn an_exact_number_of_wrong_bits() {
    let toml = "process = { loss = \"100%\" }\neffect = { flip = { bits = 3, region = \"header\" } }";
    let (numbers, places) = flips(toml, &udp6(), Region::TransportHeader);
    assert_eq!(numbers[3], 1_000_000);
    let deviation = (1e6 * 3.0 / 64.0 * (61.0 / 64.0f64)).sqrt();
    for hits in places {
        close("place", hits as f64, 3e6 / 64.0, deviation);
    }
    // All bits are flipped if there are fewer.
    let toml = "process = { loss = \"100%\" }\neffect = { flip = { bits = 1000, region = \"header\" } }";
    let damaged = Driven::new(spec(toml), 1).fate(packet(&udp6())).expect("it passes");
    assert_eq!(damaged.marks[0].effect, Effect::BitsFlipped(64));
}

#[test]
fn bits_are_wrong_where_the_transmission_met_the_bad_state() {
    // Alternating good and bad times of 10 ms each. A packet is sent in 15 ms from 0 on, so its
    // last third is bad. The bad state makes every second bit wrong on average.
    let toml = "process = { p = \"1\", q = \"1\", start = \"good\", ber-bad = \"0.5\" }\nsampled = \"interval\"\neffect = { flip = {} }";
    let bytes = tcp4();
    let first_bad = bytes.len() * 8 * 2 / 3;
    let mut places = vec![0; bytes.len() * 8];
    let mut stage = Driven::new(spec(toml), 2);
    for n in 0..20_000 {
        let mut packet = packet(&bytes);
        let start = Time::from_nanos(n * 20_000_000);
        (packet.sending, packet.at) =
            (Sending { start, end: start + Span::from_millis(15) }, start + Span::from_millis(15));
        let packet = stage.fate(packet).expect("it passes");
        for bit in flipped(&bytes, &packet.frame.to_bytes()) {
            places[bit] += 1;
        }
    }
    assert!(places[..first_bad].iter().all(|hits| *hits == 0));
    let bad = places.len() - first_bad;
    fits("places", &places[first_bad + 1..], &vec![10_000.0; bad - 1]);
}

#[test]
fn bits_are_wrong_where_the_bytes_met_the_bad_state() {
    let toml = "process = { p = \"1\", q = \"1\", start = \"good\", tick = \"30B\", sojourn = \"geometric\", ber-bad = \"1\", evolves-in = \"bytes\" }\neffect = { flip = {} }";
    let bytes = tcp4();
    let mut stage = Driven::new(spec(toml), 2);
    let mut passed = 0;
    for _ in 0..1000 {
        let packet = stage.fate(packet(&bytes)).expect("it passes");
        let expected: Vec<usize> =
            (0..bytes.len() * 8).filter(|bit| (passed + bit / 8) / 30 % 2 == 1).collect();
        assert_eq!(flipped(&bytes, &packet.frame.to_bytes()), expected);
        passed += bytes.len();
    }
}

#[test]
fn what_a_packet_does_not_have_cannot_be_hit() {
    let mut ack = Vec::new();
    let step = PacketBuilder::ipv4([10, 0, 0, 1], [10, 0, 0, 2], 64).tcp(1, 2, 3, 4).ack(5);
    step.write(&mut ack, &[]).expect("a vector");
    for (region, bytes) in
        [("payload", &ack), ("header", &esp4()), ("payload", &esp4()), ("packet", &vec![0; 40])]
    {
        for how in [", bits = 3", ", ber = \"1e-2\""] {
            let toml = format!(
                "process = {{ loss = \"100%\" }}\neffect = {{ flip = {{ region = \"{region}\"{how} }} }}"
            );
            let passed = Driven::new(spec(&toml), 1).fate(packet(bytes)).expect("it passes");
            assert_eq!(*passed.frame.to_bytes(), **bytes);
            assert!(passed.marks.is_empty());
        }
    }
}

#[test]
fn only_what_changes_bytes_says_so() {
    let changes = |effect: &str| {
        let toml = format!("process = {{ loss = \"1%\" }}\neffect = {effect}");
        Driven::new(spec(&toml), 1).stage.changes_bytes()
    };
    assert!(!changes("\"lose\""));
    assert!(changes("\"spoil-checksum\"") && changes("{ flip = { bits = 1 } }"));
}

proptest! {
    #[test]
    fn at_any_bit_error_ratio_something_is_hit_and_only_in_the_region(
        exponent in -18.0f64..0.0, start in 0usize..50, length in 0usize..50, seed in any::<u64>(),
    ) {
        let mut bytes = vec![0; 100];
        let ratio = BitErrorRatio::new(10f64.powf(exponent)).expect("in range");
        let mut stream = Seed::campaign(seed).stream();
        let count = damage::flip_some(&mut bytes, start..start + length, ratio, &mut stream);
        let bits = flipped(&[0; 100], &bytes);
        prop_assert_eq!(bits.len(), count as usize);
        prop_assert_eq!(count == 0, length == 0);
        prop_assert!(bits.iter().all(|bit| (start..start + length).contains(&(bit / 8))));
    }
}

#[test]
fn certain_errors_flip_every_bit() {
    let mut bytes = vec![0; 10];
    let certain = BitErrorRatio::new(1.0).expect("in range");
    assert_eq!(damage::flip_some(&mut bytes, 2..5, certain, &mut Seed::campaign(1).stream()), 24);
    assert_eq!(bytes, [0, 0, 255, 255, 255, 0, 0, 0, 0, 0]);
}
