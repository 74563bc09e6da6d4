use super::*;
use crate::sample::{Sample, completed, text};
use proptest::prelude::*;

/// Returns the kernel's virtio header for a sample to be cut into segments of `size` bytes.
fn virtio_of(sample: &Sample, size: u16) -> virtio::Header {
    let kind = match (sample.udp, sample.ipv6) {
        (true, _) => SegmentProtocol::Udp,
        (false, false) => SegmentProtocol::Tcp4,
        (false, true) => SegmentProtocol::Tcp6,
    };
    let ecn = !sample.udp && sample.flags & Tcp::CWR != 0;
    virtio::Header {
        checksum: partial(sample),
        segmentation: Some(Segmentation { kind, ecn, size }),
        header_len: sample.payload() as u16,
    }
}

fn partial(sample: &Sample) -> Checksum {
    Checksum::Partial { start: sample.transport() as u16, offset: sample.checksum_offset() as u16 }
}

fn whole_of(sample: &Sample, payload: &[u8], size: u16) -> Arc<Whole> {
    Whole::new(sample.layer, sample.build_partial(payload), &virtio_of(sample, size)).expect("fits")
}

/// Returns the headers of packets `first..first + count` out of `of`, by the rules of segmentation.
fn headers_of(sample: &Sample, first: usize, count: usize, of: usize, size: u16, ce: bool) -> Sample {
    let mut part = *sample;
    part.identification = sample.identification.wrapping_add(first as u16);
    part.sequence = sample.sequence.wrapping_add((first * usize::from(size)) as u32);
    if first > 0 {
        part.flags &= !0x80; // CWR
    }
    if first + count < of {
        part.flags &= !0x09; // PSH and FIN
    }
    if ce {
        part.ecn = 3;
    }
    part
}

fn payload_of(payload: &[u8], first: usize, count: usize, size: u16) -> &[u8] {
    let at = |index: usize| (index * usize::from(size)).min(payload.len());
    &payload[at(first)..at(first + count)]
}

/// Generates lengths and segment sizes with few enough packets to build each of them separately.
fn lengths() -> impl Strategy<Value = (usize, u16)> {
    prop_oneof![
        4 => (0usize..4000, 100u16..1500),
        1 => (0usize..200, 1u16..20),
        1 => (40_000usize..65_000, 1000u16..9000),
    ]
}

proptest! {
    #[test]
    fn each_part_is_the_packet_that_etherparse_builds(
        sample in Sample::any(), (len, size) in lengths(), ce in prop::collection::vec(any::<bool>(), 1..7),
    ) {
        let payload = text(len);
        let whole = whole_of(&sample, &payload, size);
        let count = len.div_ceil(usize::from(size)).max(1);
        prop_assert_eq!(whole.count(), count);
        prop_assert_eq!(whole.parts().len(), count);
        for (index, mut frame) in whole.parts().enumerate() {
            let ce = ce[index % ce.len()] && frame.mark_ce();
            let wanted = headers_of(&sample, index, 1, count, size, ce).build(payload_of(&payload, index, 1, size));
            prop_assert_eq!(frame.len(), wanted.len());
            prop_assert_eq!(frame.headers(), Headers::parse(sample.layer, &wanted));
            prop_assert_eq!(frame.ecn(), ecn::read(sample.layer, &wanted));
            prop_assert_eq!(&*frame.to_bytes(), &wanted);
            prop_assert_eq!(frame.bytes_mut(), &wanted);
        }
    }

    #[test]
    fn all_parts_joined_are_what_came(sample in Sample::any(), (len, size) in lengths()) {
        let payload = text(len);
        let came = sample.build_partial(&payload);
        let whole = whole_of(&sample, &payload, size);
        let count = whole.count();
        let mut parts = whole.parts();
        drop(whole);
        let mut run = Run::new(parts.next().expect("one at least"));
        for frame in parts {
            prop_assert!(run.push(frame).is_ok());
        }
        prop_assert_eq!(run.len(), count);
        let mut header = vec![0xee; 7];
        let pieces = run.pieces(&mut header);
        prop_assert_eq!(pieces.header, &[]);
        prop_assert_eq!(pieces.payload, &came);
        let mut virtio = virtio_of(&sample, size);
        if count == 1 {
            virtio.segmentation = None;
        }
        prop_assert_eq!(virtio::Header::decode(&pieces.virtio), Ok(virtio));
        prop_assert_eq!(run.into_buffer(), Some(came));
    }

    /// Parts are lost, marked and held back at random: the rest is written in runs, and each run is
    /// the packet that etherparse builds for its part of the stream.
    #[test]
    fn any_partition_carries_the_same_stream(
        sample in Sample::any(),
        (len, size) in lengths(),
        fates in prop::collection::vec((prop::bool::weighted(0.1), prop::bool::weighted(0.2), prop::bool::weighted(0.2)), 1..40),
    ) {
        let payload = text(len);
        let whole = whole_of(&sample, &payload, size);
        let count = whole.count();
        // The packets that are not lost: index, and whether it is marked.
        let mut left = Vec::new();
        let mut runs: Vec<Run> = Vec::new();
        for (index, mut frame) in whole.parts().enumerate() {
            let (lost, marked, apart) = fates[index % fates.len()];
            if lost {
                continue;
            }
            let ce = marked && sample.ecn % 3 != 0 && frame.mark_ce();
            let may_join = left.last().is_some_and(|&(last, last_ce)| last + 1 == index && last_ce == ce);
            left.push((index, ce));
            let refused = match runs.last_mut() {
                Some(run) if !apart => {
                    let pushed = run.push(frame);
                    prop_assert_eq!(pushed.is_ok(), may_join);
                    pushed.err()
                }
                _ => Some(frame),
            };
            runs.extend(refused.map(Run::new));
        }
        let mut header = Vec::new();
        let mut next = left.into_iter();
        for run in &runs {
            let (first, ce) = next.next().expect("as many as there are");
            for _ in 1..run.len() {
                next.next().expect("as many as there are");
            }
            let wanted = headers_of(&sample, first, run.len(), count, size, ce)
                .build(payload_of(&payload, first, run.len(), size));
            let pieces = run.pieces(&mut header);
            let written = [pieces.header, pieces.payload].concat();
            prop_assert_eq!(completed(written, sample.transport(), sample.checksum_offset()), wanted);

            let mut virtio = virtio_of(&sample, size);
            virtio.segmentation = virtio.segmentation.filter(|_| run.len() > 1).map(|mut cut| {
                cut.ecn &= first == 0;
                cut
            });
            prop_assert_eq!(virtio::Header::decode(&pieces.virtio), Ok(virtio));

            // The written run can be segmented again, into the same packets.
            if run.len() > 1 {
                let again = Whole::new(sample.layer, [pieces.header, pieces.payload].concat(), &virtio).expect("fits");
                for (place, frame) in again.parts().enumerate() {
                    let index = first + place;
                    let wanted = headers_of(&sample, index, 1, count, size, ce).build(payload_of(&payload, index, 1, size));
                    prop_assert_eq!(&*frame.to_bytes(), &wanted);
                }
            }
        }
        prop_assert!(next.next().is_none());
    }

    #[test]
    fn a_complete_checksum_is_made_partial(sample in Sample::any(), len in 0usize..3000) {
        let mut virtio = virtio_of(&sample, 500);
        virtio.checksum = Checksum::Valid;
        let whole = Whole::new(sample.layer, sample.build(&text(len)), &virtio).expect("fits");
        prop_assert_eq!(whole.bytes.clone(), sample.build_partial(&text(len)));
    }

    #[test]
    fn damaged_wholes_and_virtio_headers_do_no_harm(
        sample in Sample::any(),
        len in 0usize..300,
        size in 0u16..100,
        virtio: [u8; virtio::LEN],
        keep_virtio: bool,
        hits in prop::collection::vec((0usize..150, any::<u8>()), 0..6),
    ) {
        let mut bytes = sample.build_partial(&text(len));
        for (at, value) in hits {
            let at = at % bytes.len();
            bytes[at] = value;
        }
        let virtio = if keep_virtio { virtio_of(&sample, size).encode() } else { virtio };
        let Ok(virtio) = virtio::Header::decode(&virtio) else { return Ok(()) };
        let Ok(frames) = frames(sample.layer, &virtio, bytes) else { return Ok(()) };
        let mut header = Vec::new();
        for mut frame in frames {
            let _ = (frame.headers(), frame.ecn(), frame.mark_ce());
            prop_assert_eq!(frame.to_bytes().len(), frame.len());
            let run = Run::new(frame.clone());
            let pieces = run.pieces(&mut header);
            prop_assert_eq!(pieces.header.len() + pieces.payload.len(), frame.len());
            prop_assert_eq!(frame.bytes_mut().len(), frame.len());
        }
    }
}

#[test]
fn packets_by_themselves_go_out_as_they_came() {
    let sample = Sample::plain();
    let complete = sample.build(&text(50));
    let partial_bytes = sample.build_partial(&text(50));
    let mut header = Vec::new();
    for (checksum, bytes, out) in [
        (Checksum::Complete, &complete, Checksum::Complete),
        // A checksum that was verified before the link is not known to be right after it: damage by
        // a stage must be detected.
        (Checksum::Valid, &complete, Checksum::Complete),
        (partial(&sample), &partial_bytes, partial(&sample)),
    ] {
        let virtio = virtio::Header { checksum, segmentation: None, header_len: 0 };
        let frames: Vec<_> = frames(Layer::Ip, &virtio, bytes.clone()).expect("fits").collect();
        assert_eq!(frames.len(), 1);
        assert_eq!(*frames[0].to_bytes(), *complete);
        let mut run = Run::new(frames[0].clone());
        assert!(run.push(frames[0].clone()).is_err(), "not parts of a whole");
        let pieces = run.pieces(&mut header);
        assert_eq!((pieces.header, pieces.payload), (&[][..], &bytes[..]));
        let wanted = virtio::Header { checksum: out, segmentation: None, header_len: 0 };
        assert_eq!(virtio::Header::decode(&pieces.virtio), Ok(wanted));
    }
}

#[test]
fn parts_of_two_wholes_do_not_join() {
    let sample = Sample::plain();
    let (one, other) = (whole_of(&sample, &text(300), 100), whole_of(&sample, &text(300), 100));
    let mut run = Run::new(one.parts().next().expect("a part"));
    let refused = run.push(other.parts().nth(1).expect("a part"));
    assert!(refused.is_err());
    assert!(run.push(one.parts().nth(2).expect("a part")).is_err(), "one is missing between");
    assert!(run.push(one.parts().next().expect("a part")).is_err(), "a duplicate");
    assert!(run.push(one.parts().nth(1).expect("a part")).is_ok());
    assert_eq!(run.len(), 2);
}

#[test]
fn padding_behind_the_packet_is_left_out() {
    let sample = Sample { layer: Layer::Ethernet, ..Sample::plain() };
    let mut bytes = sample.build_partial(&text(250));
    bytes.extend([0; 9]);
    let whole = Whole::new(Layer::Ethernet, bytes, &virtio_of(&sample, 100)).expect("fits");
    assert_eq!(whole.parts().map(|frame| frame.len()).collect::<Vec<_>>(), [154, 154, 104]);
}

#[test]
fn with_a_routing_header_the_checksum_is_for_the_last_destination() {
    let sample = Sample { ipv6: true, extensions: true, ..Sample::plain() };
    // The delivered sum covers another destination than the IP header's: it differs by this value.
    let mut bytes = sample.build_partial(&text(250));
    bytes[40 + 24 + 3] = 1;
    let field = sample.transport() + 16;
    let other = add(u16_at(&bytes, field), 0x1234);
    checksum::write(&mut bytes, field, other);
    let whole = Whole::new(Layer::Ip, bytes, &virtio_of(&sample, 100)).expect("fits");
    for (index, frame) in whole.parts().enumerate() {
        let wanted =
            headers_of(&sample, index, 1, 3, 100, false).build(payload_of(&text(250), index, 1, 100));
        let expected = !add(!u16_at(&wanted, field), 0x1234);
        assert_eq!(u16_at(&frame.to_bytes(), field), expected);
    }
}

#[test]
fn what_does_not_fit_is_named() {
    let sample = Sample::plain();
    let bytes = sample.build_partial(&text(250));
    let good = virtio_of(&sample, 100);
    let cut = |kind, size| Some(Segmentation { kind, ecn: false, size });
    let mut fragment = bytes.clone();
    fragment[6] |= 0x20;
    let elsewhere = Checksum::Partial { start: 20, offset: 6 };
    let protocol = |kind| Misfit::Protocol { kind, protocol: TCP };
    let cases = [
        (bytes.clone(), virtio::Header { segmentation: None, ..good }, Misfit::NotSegmented),
        (
            bytes.clone(),
            virtio::Header { segmentation: cut(SegmentProtocol::Tcp4, 0), ..good },
            Misfit::SizeZero,
        ),
        (
            bytes.clone(),
            virtio::Header { segmentation: cut(SegmentProtocol::Tcp6, 9), ..good },
            protocol(SegmentProtocol::Tcp6),
        ),
        (
            bytes.clone(),
            virtio::Header { segmentation: cut(SegmentProtocol::Udp, 9), ..good },
            protocol(SegmentProtocol::Udp),
        ),
        (fragment, good, protocol(SegmentProtocol::Tcp4)),
        (
            bytes.clone(),
            virtio::Header { checksum: elsewhere, ..good },
            Misfit::ChecksumElsewhere { start: 20, offset: 6, transport: 20 },
        ),
        (bytes[..200].to_vec(), good, Misfit::Cut(200)),
        (vec![0; 40], good, Misfit::Unreadable(Unreadable::Version(0))),
    ];
    for (bytes, virtio, wanted) in cases {
        assert_eq!(Whole::new(Layer::Ip, bytes, &virtio).map(|_| ()), Err(wanted));
    }
}
