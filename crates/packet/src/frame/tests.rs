use super::*;
use crate::sample::{Sample, text};
use crate::virtio::{Header, SegmentProtocol, Segmentation};
use crate::{Tcp, whole};
use proptest::prelude::*;

fn whole_frames(sample: Sample, len: usize, size: u16) -> Vec<Frame> {
    let segmentation = Some(Segmentation { kind: SegmentProtocol::Tcp4, ecn: false, size });
    let checksum = crate::virtio::Checksum::Partial { start: sample.transport() as u16, offset: 16 };
    let virtio = Header { checksum, segmentation, header_len: 0 };
    whole::frames(sample.layer, &virtio, sample.build_partial(&text(len))).expect("fits").collect()
}

#[test]
fn a_frame_is_small() {
    assert!(size_of::<Frame>() <= 48, "{}", size_of::<Frame>());
}

#[test]
fn a_frame_of_nothing_can_be_asked_everything() {
    let mut frame = Frame::owned(Layer::Ip, Vec::new());
    assert_eq!((frame.len(), frame.head(), frame.ecn()), (0, &[][..], Ecn::NotEct));
    assert!(!frame.mark_ce());
    assert!(frame.headers().is_err());
    assert!(frame.bytes_mut().is_empty() && frame.to_bytes().is_empty());
    assert_eq!(frame.into_buffer(), Some(Vec::new()));
}

proptest! {
    #[test]
    fn a_partial_checksum_is_completed_for_whoever_looks(sample in Sample::any(), len in 0usize..100, ce: bool) {
        let (start, offset) = (sample.transport() as u16, sample.checksum_offset() as u16);
        let bytes = sample.build_partial(&text(len));
        let mut frame = Frame::with_partial_checksum(sample.layer, bytes, start, offset).expect("fits");
        let marked = ce && frame.mark_ce();
        prop_assert_eq!(marked, ce && sample.ecn != 0);
        let wanted = Sample { ecn: if marked { 3 } else { sample.ecn }, ..sample }.build(&text(len));
        prop_assert_eq!(frame.len(), wanted.len());
        prop_assert_eq!(&*frame.to_bytes(), &wanted);
        let mut out = vec![1, 2, 3];
        frame.write_into(&mut out);
        prop_assert_eq!(&out[3..], &wanted);
        prop_assert_eq!(frame.bytes_mut(), &wanted);
        prop_assert_eq!(frame.head(), &wanted);
        prop_assert_eq!(frame.into_buffer(), Some(wanted));
    }
}

#[test]
fn a_partial_checksum_lies_inside_the_packet() {
    for (start, offset) in [(20, 19), (40, 0), (u16::MAX, u16::MAX)] {
        let refused = Frame::with_partial_checksum(Layer::Ip, vec![0; 40], start, offset).map(|_| ());
        assert_eq!(refused, Err(Misfit::ChecksumOutside { start, offset, len: 40 }));
    }
}

#[test]
fn complete_bytes_are_lent_not_copied() {
    let frame = Frame::owned(Layer::Ip, Sample::plain().build(&text(5)));
    assert!(matches!(frame.to_bytes(), Cow::Borrowed(_)));
}

#[test]
fn a_part_knows_its_own_headers_without_being_copied() {
    let sample = Sample {
        flags: Tcp::ACK | Tcp::FIN | Tcp::PSH | Tcp::CWR,
        sequence: u32::MAX - 10,
        ..Sample::plain()
    };
    let frames = whole_frames(sample, 250, 100);
    let seen: Vec<_> = frames
        .iter()
        .map(|frame| {
            let headers = frame.headers().expect("good");
            let tcp = headers.tcp().expect("TCP");
            (frame.len(), headers.end(), tcp.sequence, tcp.flags)
        })
        .collect();
    let ack = Tcp::ACK;
    assert_eq!(
        seen,
        [
            (140, 140, u32::MAX - 10, ack | Tcp::CWR),
            (140, 140, 89, ack),
            (90, 90, 189, ack | Tcp::FIN | Tcp::PSH)
        ]
    );
    assert_eq!(frames[1].head(), &sample.build_partial(&text(250))[..40]);
}

#[test]
fn a_mark_on_a_part_stays_with_it() {
    let mut frames = whole_frames(Sample::plain(), 250, 100);
    assert!(frames[1].mark_ce());
    let copy = frames[1].clone();
    assert_eq!(frames.iter().map(Frame::ecn).collect::<Vec<_>>(), [Ecn::Ect0, Ecn::Ce, Ecn::Ect0]);
    for frame in frames.iter().chain([&copy]) {
        assert_eq!(Headers::parse(Layer::Ip, &frame.to_bytes()), frame.headers());
        assert_eq!(ecn::read(Layer::Ip, &frame.to_bytes()), frame.ecn());
    }
}

#[test]
fn parts_of_what_cannot_be_marked_cannot_either() {
    for mut frame in whole_frames(Sample { ecn: 0, ..Sample::plain() }, 250, 100) {
        assert!(!frame.mark_ce());
        assert_eq!(frame.ecn(), Ecn::NotEct);
    }
}

#[test]
fn changing_one_part_changes_no_other() {
    let mut frames = whole_frames(Sample::plain(), 250, 100);
    let before: Vec<_> = frames.iter().map(|frame| frame.to_bytes().into_owned()).collect();
    frames[1].bytes_mut()[60] ^= 0xff;
    for (place, (frame, before)) in frames.iter().zip(&before).enumerate() {
        assert_eq!(*frame.to_bytes() == **before, place != 1);
    }
}

#[test]
fn the_buffer_of_a_whole_comes_back_with_its_last_frame() {
    let mut frames = whole_frames(Sample::plain(), 250, 100);
    let duplicate = frames[0].clone();
    frames[1].bytes_mut();
    let returned: Vec<_> =
        frames.into_iter().map(|frame| frame.into_buffer().map(|buffer| buffer.len())).collect();
    // The second part had become a packet of its own, and the duplicate still needs the whole.
    assert_eq!(returned, [None, Some(140), None]);
    assert_eq!(duplicate.into_buffer().map(|buffer| buffer.len()), Some(290));
}
