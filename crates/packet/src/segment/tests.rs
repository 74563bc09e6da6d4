use super::*;
use etherparse::PacketBuilder;
use proptest::prelude::*;

/// Builds a segment with time stamps, SACK blocks and `payload` bytes.
fn example(payload: usize) -> Vec<u8> {
    let options = [
        TcpOptionElement::Timestamp(7, 8),
        TcpOptionElement::SelectiveAcknowledgement((10, 20), [Some((30, 40)), None, None]),
        TcpOptionElement::Noop,
        TcpOptionElement::Noop,
    ];
    let mut bytes = Vec::new();
    let builder = PacketBuilder::ipv4([10, 0, 0, 1], [10, 0, 0, 2], 64).tcp(1111, 80, 1000, 512);
    let builder = builder.ack(2000).psh().options(&options).expect("they fit");
    builder.write(&mut bytes, &vec![9; payload]).expect("a packet");
    bytes
}

fn read(bytes: &[u8]) -> Segment {
    match Segment::read(bytes) {
        Ok(Content::Tcp(segment)) => segment,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_whole_segment() {
    let segment = read(&example(100));
    assert_eq!((segment.source_port, segment.destination_port, segment.window), (1111, 80, 512));
    assert_eq!(segment.tcp, Tcp { sequence: 1000, acknowledgment: 2000, flags: Tcp::ACK | Tcp::PSH });
    assert_eq!((segment.payload, segment.missing), (100, 0));
    assert_eq!(segment.options.timestamps, Some((7, 8)));
    assert_eq!(segment.options.sacks(), [(10, 20), (30, 40)]);
}

#[test]
fn options_of_a_connections_start() {
    let options = [
        TcpOptionElement::MaximumSegmentSize(1460),
        TcpOptionElement::SelectiveAcknowledgementPermitted,
        TcpOptionElement::WindowScale(7),
    ];
    let mut bytes = Vec::new();
    let builder = PacketBuilder::ipv6([1; 16], [2; 16], 64).tcp(1, 2, 3, 4).syn();
    builder.options(&options).expect("they fit").write(&mut bytes, &[]).expect("a packet");
    let segment = read(&bytes);
    let options = segment.options;
    assert_eq!((options.maximum_segment, options.window_scale), (Some(1460), Some(7)));
    assert!(options.sack_permitted);
    assert_eq!((segment.sequence_length(), segment.identification), (1, None));
}

#[test]
fn of_a_cut_segment_what_is_there_counts() {
    let whole = example(100);
    // Cut in the payload, in the options, and in the fixed header.
    let (payload, options) = (read(&whole[..80]), read(&whole[..55]));
    assert_eq!((payload.payload, payload.missing), (100, 92));
    assert_eq!((options.payload, options.missing, options.options.timestamps), (100, 117, Some((7, 8))));
    assert!(options.options.sacks().is_empty());
    assert_eq!(Segment::read(&whole[..39]), Ok(Content::Cut));
}

#[test]
fn padding_is_no_payload() {
    let mut bytes = example(3);
    bytes.resize(bytes.len() + 20, 0);
    assert_eq!((read(&bytes).payload, read(&bytes).missing), (3, 0));
}

#[test]
fn fragments_and_other_protocols_are_told() {
    let mut later = example(3);
    later[7] = 5;
    assert_eq!(Segment::read(&later), Ok(Content::LaterFragment));
    let mut datagram = Vec::new();
    PacketBuilder::ipv4([1; 4], [2; 4], 9).udp(1, 2).write(&mut datagram, b"abc").expect("a packet");
    assert_eq!(Segment::read(&datagram), Ok(Content::Other));
}

proptest! {
    #[test]
    fn any_bytes_can_be_read(bytes in prop::collection::vec(any::<u8>(), 0..120), version in prop::sample::select(&[0x45_u8, 0x60, 0x4f])) {
        let mut bytes = bytes;
        let _ = Segment::read(&bytes).is_ok();
        if let Some(first) = bytes.first_mut() {
            *first = version;
        }
        for protocol in [6, 9] {
            if let Some(place) = bytes.get_mut(protocol) {
                *place = TCP;
            }
        }
        if let Ok(Content::Tcp(segment)) = Segment::read(&bytes) {
            prop_assert!(segment.payload < 1 << 17);
        }
    }
}
