//! LL-02: every field survives a round trip, and every single-bit error is detected.

use super::*;
use proptest::prelude::*;

fn information(size: Size) -> impl Strategy<Value = Vec<u8>> {
    proptest::collection::vec(any::<u8>(), size.information_len())
}

fn body(size: Size) -> impl Strategy<Value = Body> {
    prop_oneof![
        (0..9usize, information(size)).prop_map(|(which, information)| Body::Unnumbered {
            function: Function::ALL[which],
            information
        }),
        (0..4usize, 0..62u8)
            .prop_map(|(which, nr)| Body::Supervisory { supervision: Supervision::ALL[which], nr }),
        (0..4usize, 0..62u8, 0..62u8, information(size)).prop_map(|(which, ns, nr, information)| {
            Body::Information { supervision: Supervision::ALL[which], ns, nr, information }
        }),
    ]
}

fn frame(size: Size) -> impl Strategy<Value = Frame> {
    (any::<bool>(), any::<bool>(), body(size)).prop_map(|(command, poll_final, body)| Frame {
        command,
        poll_final,
        body,
    })
}

proptest! {
    #[test]
    fn round_trip_of_short_frames(frame in frame(Size::Short)) {
        let octets = frame.to_octets(Size::Short);
        prop_assert_eq!(octets.len(), 30);
        prop_assert_eq!(Frame::parse(&octets), Ok(frame));
    }

    #[test]
    fn round_trip_of_long_frames(frame in frame(Size::Long)) {
        let octets = frame.to_octets(Size::Long);
        prop_assert_eq!(octets.len(), 72);
        prop_assert_eq!(Frame::parse(&octets), Ok(frame));
    }

    #[test]
    fn every_error_of_one_bit_is_detected(frame in frame(Size::Short)) {
        let mut octets = frame.to_octets(Size::Short);
        for bit in 0..240 {
            octets[bit / 8] ^= 1 << (bit % 8);
            prop_assert!(matches!(Frame::parse(&octets), Err(Malformed::Check { .. })), "bit {bit}");
            octets[bit / 8] ^= 1 << (bit % 8);
        }
    }

    /// Decoding and encoding again preserves everything but octets without a meaning.
    #[test]
    fn anything_can_be_read(mut octets in proptest::collection::vec(any::<u8>(), 30)) {
        let check = fcs::compute(&octets[..27]).to_le_bytes();
        octets[27..].copy_from_slice(&check[..3]);
        if let Ok(frame) = Frame::parse(&octets) {
            let again = frame.to_octets(Size::Short);
            prop_assert_eq!(Frame::parse(&again), Ok(frame));
        }
    }
}

/// Every N(S) with every N(R) and every supervision.
#[test]
fn all_numbers() {
    for supervision in Supervision::ALL {
        for (ns, nr) in (0..62).flat_map(|ns| (0..62).map(move |nr| (ns, nr))) {
            let body = Body::Information { supervision, ns, nr, information: vec![ns; 25] };
            let frame = Frame { command: false, poll_final: false, body };
            assert_eq!(Frame::parse(&frame.to_octets(Size::Short)), Ok(frame));
        }
    }
}

/// The layout of GSM 04.22, Figure 6, written by hand: the bits of specification section 2.2.
#[test]
fn layout() {
    let header = |command, poll_final, body| {
        let octets = Frame { command, poll_final, body }.to_octets(Size::Short);
        [octets[0], octets[1]]
    };
    let unnumbered = |function| Body::Unnumbered { function, information: vec![] };
    assert_eq!(header(true, true, unnumbered(Function::SetMode)), [0b1111_1001, 0b0001_1111]);
    assert_eq!(header(false, false, unnumbered(Function::Acknowledge)), [0b1111_1000, 0b0011_0001]);
    let supervisory = |supervision, nr| Body::Supervisory { supervision, nr };
    assert_eq!(
        header(false, true, supervisory(Supervision::SelectiveReject, 61)),
        [0b1111_0110, 0b1111_0111]
    );
    assert_eq!(header(true, false, supervisory(Supervision::ReceiveNotReady, 1)), [0b1111_0011, 0b0000_0101]);
    let information = vec![0xaa; 25];
    let body = Body::Information { supervision: Supervision::Reject, ns: 0b10_0110, nr: 0, information };
    assert_eq!(header(false, false, body), [0b0011_0100, 0b0000_0001]);
}

#[test]
fn what_is_no_frame() {
    assert_eq!(Frame::parse(&[0; 29]), Err(Malformed::Length(29)));
    let with = |first, second| {
        let mut octets = vec![first, second];
        octets.resize(27, 0);
        let check = fcs::compute(&octets).to_le_bytes();
        octets.extend_from_slice(&check[..3]);
        Frame::parse(&octets)
    };
    assert_eq!(with(0b1111_1000, 0b0000_0101), Err(Malformed::Function(1)));
    assert_eq!(with(0b0000_0000, 0b1111_1000), Err(Malformed::Number(62)));
}
