//! Properties that hold for any bytes.

use super::*;
use packet::{Tcp, checksum};
use proptest::prelude::*;

/// Returns a receiver with connections of all kinds, among them one with time stamps and one over
/// IPv6.
fn line(policy: Policy, localization: Localization) -> (Line, Vec<Sample>) {
    let plain = Sample::default();
    let samples = vec![
        plain.clone(),
        Sample {
            local_port: 40003,
            options: stamps(5_000_000).to_vec(),
            seq: u32::MAX - 700,
            ..plain.clone()
        },
        Sample { local_port: 40007, payload: text(1448), seq: 99, ..plain.clone() },
        Sample { ipv6: true, ..plain },
    ];
    let mut line = Line::new(Parameters { localization, ..Parameters::default() });
    for sample in &samples {
        line.open(sample, policy);
        assert_eq!(line.take(&mut sample.build()), SegmentVerdict::Pass);
        line.receive(&sample.tuple(), sample.payload.len());
    }
    (line, samples)
}

fn policy() -> impl Strategy<Value = Policy> {
    prop::sample::select(vec![Policy::Strict, Policy::Normal, Policy::Bold])
}

fn localization() -> impl Strategy<Value = Localization> {
    prop::sample::select(vec![
        Localization::Exact,
        Localization::SourcePort,
        Localization::Bits(4),
        Localization::Bits(32),
    ])
}

/// Returns an undamaged packet of one of the connections, some segments ahead, with SACK blocks if
/// `has_sack`.
fn valid(
    samples: &[Sample],
    which: usize,
    ahead: u32,
    flags: u8,
    has_sack: bool,
    len: usize,
) -> (Sample, Vec<u8>) {
    let sample = &samples[which % samples.len()];
    let size = sample.payload.len() as u32;
    let mut sample = Sample {
        seq: sample.seq.wrapping_add(size * ahead),
        flags,
        payload: text(len.min(sample.payload.len())),
        ..sample.clone()
    };
    if has_sack {
        sample.options.extend(sack());
    }
    let packet = sample.build();
    (sample, packet)
}

/// Checks that bytes are unchanged unless accepted, and that an accepted packet is right and has no
/// flag that is never salvaged.
fn check(verdict: SegmentVerdict, before: &[u8], after: &[u8]) -> Result<(), TestCaseError> {
    let SegmentVerdict::Accept(acceptance) = verdict else {
        prop_assert_eq!(before, after);
        return Ok(());
    };
    let headers = packet::Headers::parse(packet::Layer::Ip, after).expect("accepted");
    prop_assert_eq!(checksum::verify(after, &headers), checksum::ChecksumStatus::Right);
    let tcp = headers.tcp().expect("its header is whole");
    prop_assert!(!tcp.has(Tcp::SYN | Tcp::RST | Tcp::FIN | Tcp::URG | Tcp::ECE | Tcp::CWR));
    prop_assert!(tcp.has(Tcp::ACK));
    let payload = headers.payload().expect("whole");
    prop_assert!(payload < headers.end(), "never empty");
    prop_assert_eq!(&before[payload..], &after[payload..], "payload is delivered as it came");
    prop_assert_eq!(&before[..headers.segment().start], &after[..headers.segment().start]);
    let bytes = if acceptance.confirmed { 0 } else { headers.end() - payload };
    prop_assert_eq!(acceptance.bytes as usize, bytes);
    Ok(())
}

proptest! {
    #[test]
    fn any_bytes_at_all_do_no_harm(
        bytes in prop::collection::vec(any::<u8>(), 0..200), merged: Option<u16>, mode: bool, now: u64,
    ) {
        let (mut line, _) = line(Policy::Bold, Localization::Bits(32));
        if mode {
            line.receiver.parameters.mode = Mode::Thesis;
        }
        let mut after = bytes.clone();
        let verdict = line.receiver.packet(&mut after, merged, now, &line.host);
        prop_assert!(!matches!(verdict, SegmentVerdict::Accept(_)) || mode);
        check(verdict, &bytes, &after)?;
    }

    #[test]
    fn damaged_segments_are_accepted_right_or_not_touched(
        (policy, localization) in (policy(), localization()),
        which in 0usize..4,
        ahead in 0u32..40,
        flags: u8,
        has_sack in prop::bool::weighted(0.2),
        len in 0usize..1500,
        hits in prop::collection::vec((0usize..100_000, prop::bool::weighted(0.7)), 0..6),
        cut in prop::option::weighted(0.1, 0usize..100),
    ) {
        let (mut line, samples) = line(policy, localization);
        let (sample, mut packet) = valid(&samples, which, ahead, flags, has_sack, len);
        for (at, is_header) in hits {
            let bits = if is_header { 20 * 8 + sample.options.len() * 8 } else { (packet.len() - sample.transport()) * 8 };
            packet = hit(&packet, sample.transport(), at % bits);
        }
        packet.truncate(packet.len() - cut.unwrap_or(0).min(packet.len()));
        let mut after = packet.clone();
        let counted = *line.receiver.counters();
        let verdict = line.take(&mut after);
        check(verdict, &packet, &after)?;
        let now = line.receiver.counters();
        prop_assert_eq!(now.damaged, now.accepted + now.all_discarded());
        let is_damaged = matches!(verdict, SegmentVerdict::Accept(_) | SegmentVerdict::Discard(_));
        prop_assert_eq!(now.damaged - counted.damaged, u64::from(is_damaged));
    }

    #[test]
    fn right_segments_are_never_changed(
        (policy, localization) in (policy(), localization()),
        which in 0usize..4, ahead in 0u32..40, flags: u8, has_sack: bool, len in 0usize..1500,
    ) {
        let (mut line, samples) = line(policy, localization);
        let (_, packet) = valid(&samples, which, ahead, flags, has_sack, len);
        let mut after = packet.clone();
        prop_assert_eq!(line.take(&mut after), SegmentVerdict::Pass);
        prop_assert_eq!(packet, after);
    }

    #[test]
    fn strict_accepts_nothing_but_right_ports_in_order(
        which in 0usize..4, ahead in 0u32..5, hits in prop::collection::vec(0usize..400, 1..4),
    ) {
        let (mut line, samples) = line(Policy::Strict, Localization::Bits(4));
        let (sample, mut packet) = valid(&samples, which, ahead, ACK, false, 2000);
        for at in hits {
            packet = hit(&packet, sample.transport(), at);
        }
        if let SegmentVerdict::Accept(acceptance) = line.take(&mut packet) {
            prop_assert!(!acceptance.approximate && !acceptance.out_of_order);
        }
    }
}
