use super::*;
use pcap_file::pcap::{PcapHeader, PcapPacket, PcapWriter};
use pcap_file::pcapng::PcapNgWriter;
use pcap_file::pcapng::blocks::enhanced_packet::{EnhancedPacketBlock, EnhancedPacketOption};
use pcap_file::pcapng::blocks::interface_description::{
    InterfaceDescriptionBlock, InterfaceDescriptionOption,
};
use pcap_file::{DataLink, Endianness, TsResolution};
use proptest::prelude::*;
use std::time::Duration;

fn read(bytes: &[u8]) -> (Vec<Packet>, Option<Tail>) {
    let mut reader = Reader::new(bytes).expect("a capture");
    let packets = reader.by_ref().map(|packet| packet.expect("no I/O error")).collect();
    (packets, reader.tail())
}

/// A pcapng of another program: a packet at `units` of `resolution`, with an offset in seconds.
fn foreign(endian: Endianness, resolution: u8, offset: u64, units: u64) -> Vec<u8> {
    let mut writer = PcapNgWriter::with_endianness(Vec::new(), endian).expect("a section");
    let mut interface = InterfaceDescriptionBlock::new(DataLink::ETHERNET, 0);
    interface.options.push(InterfaceDescriptionOption::IfName("eth0".into()));
    interface.options.push(InterfaceDescriptionOption::IfTsResol(resolution));
    interface.options.push(InterfaceDescriptionOption::IfTsOffset(offset));
    writer.write_pcapng_block(interface).expect("an interface");
    let packet = EnhancedPacketBlock {
        interface_id: 0,
        timestamp: Duration::from_nanos(units),
        original_len: 9,
        data: b"abcdefg"[..].into(),
        options: vec![
            EnhancedPacketOption::Comment("one".into()),
            EnhancedPacketOption::Flags(1),
            EnhancedPacketOption::Comment("two".into()),
        ],
    };
    writer.write_pcapng_block(packet).expect("a packet");
    writer.into_inner()
}

#[test]
fn pcapng_of_other_programs() {
    for endian in [Endianness::Little, Endianness::Big] {
        let bytes = foreign(endian, 9, 0, 1_700_000_000_123_456_789);
        let expected = Packet {
            interface: 0,
            time: WallTime::from_nanos(1_700_000_000_123_456_789),
            length: 9,
            bytes: b"abcdefg".to_vec(),
            comments: vec!["one".to_owned(), "two".to_owned()],
            inbound: Some(true),
        };
        assert_eq!(read(&bytes), (vec![expected], Some(Tail::Complete)));
        let mut reader = Reader::new(&bytes[..]).expect("a capture");
        reader.next();
        let interface = &reader.interfaces()[0];
        assert_eq!((interface.name.as_str(), interface.link_type), ("eth0", 1));
    }
}

#[test]
fn times_whatever_they_are_counted_in() {
    // Draft-ietf-opsawg-pcapng, if_tsresol: the top bit selects powers of two.
    let cases = [
        (6, 0, 1_500_000, 1_500_000_000),
        (3, 0, 1_500, 1_500_000_000),
        (12, 0, 1_500_000_000_999, 1_500_000_000),
        (0x8a, 0, 1536, 1_500_000_000),
        (6, 2, 1_500_000, 3_500_000_000),
        (9, u64::MAX, 1_500_000_000, 500_000_000),
        (0x7f, 0, u64::MAX, 0),
        (0xff, 0, u64::MAX, 0),
    ];
    for (resolution, offset, units, nanos) in cases {
        let (packets, _) = read(&foreign(Endianness::Little, resolution, offset, units));
        assert_eq!(packets[0].time.as_nanos(), nanos, "{resolution} {offset} {units}");
    }
}

#[test]
fn pcap_of_other_programs() {
    for endianness in [Endianness::Little, Endianness::Big] {
        for (ts_resolution, nanos) in
            [(TsResolution::MicroSecond, 123_456_000), (TsResolution::NanoSecond, 123_456_789)]
        {
            let datalink = DataLink::RAW;
            let header = PcapHeader { endianness, ts_resolution, datalink, ..PcapHeader::default() };
            let mut writer = PcapWriter::with_header(Vec::new(), header).expect("a header");
            let time = Duration::new(1_700_000_000, 123_456_789);
            writer.write_packet(&PcapPacket::new(time, 90, b"abc")).expect("a packet");
            let mut bytes = writer.into_writer();
            let (packets, tail) = read(&bytes);
            let time = WallTime::from_nanos(1_700_000_000_000_000_000 + nanos);
            let expected = Packet {
                interface: 0,
                time,
                length: 90,
                bytes: b"abc".to_vec(),
                comments: vec![],
                inbound: None,
            };
            assert_eq!((packets, tail), (vec![expected.clone()], Some(Tail::Complete)));
            assert_eq!(Reader::new(&bytes[..]).expect("a capture").interfaces()[0].link_type, 101);
            // `tcpdump -s 3` writes packets that are longer than the snap length.
            let snap_length = if endianness == Endianness::Little { [3, 0, 0, 0] } else { [0, 0, 0, 3] };
            bytes[16..20].copy_from_slice(&snap_length);
            assert_eq!(read(&bytes).0, [expected]);
        }
    }
}

#[test]
fn option_lists_without_an_end_and_blocks_that_nobody_knows() {
    let mut bytes = foreign(Endianness::Little, 9, 0, 5);
    let block = |kind: u32, body: &[u8]| {
        let length = (body.len() as u32 + 12).to_le_bytes();
        [&kind.to_le_bytes()[..], &length, body, &length].concat()
    };
    bytes.extend(block(0x0bad, b"1234"));
    // An enhanced packet: interface, time, kept, length, bytes, and an option list without an end.
    let words: Vec<u8> = [0_u32, 0, 7, 4, 4].iter().flat_map(|word| word.to_le_bytes()).collect();
    let option = [&1_u16.to_le_bytes()[..], &2_u16.to_le_bytes(), b"ok\0\0"].concat();
    bytes.extend(block(6, &[&words[..], b"wxyz", &option].concat()));
    // A simple packet with a byte of padding.
    bytes.extend(block(3, &[&3_u32.to_le_bytes()[..], b"xyz\0"].concat()));
    let (packets, tail) = read(&bytes);
    assert_eq!(tail, Some(Tail::Complete));
    let seen: Vec<_> =
        packets.iter().map(|packet| (packet.bytes.as_slice(), packet.comments.len())).collect();
    assert_eq!(seen, [(&b"abcdefg"[..], 2), (b"wxyz", 1), (b"xyz", 0)]);
}

#[test]
fn views_number_the_interfaces_of_all_sections_and_tell_where_they_lie() {
    let section = foreign(Endianness::Little, 9, 0, 5);
    let bytes = [section.clone(), foreign(Endianness::Big, 6, 0, 5)].concat();
    let mut reader = Reader::new(&bytes[..]).expect("a capture");
    let mut seen = Vec::new();
    while let Some(view) = reader.view() {
        let view = view.expect("no I/O error");
        assert_eq!((view.captured_at.name.as_str(), view.bytes), ("eth0", &b"abcdefg"[..]));
        assert_eq!((view.comments().count(), view.inbound()), (2, Some(true)));
        seen.push((view.number, view.interface, view.time.as_nanos()));
    }
    assert_eq!(seen, [(0, 0, 5), (1, 0, 5000)]);
    assert_eq!(reader.tail(), Some(Tail::Complete));
    assert_eq!(reader.position(), bytes.len() as u64);
}

#[test]
fn cut_off_anywhere_it_yields_a_prefix() {
    let whole = foreign(Endianness::Little, 9, 0, 5);
    let (packets, _) = read(&whole);
    for length in 0..whole.len() {
        match Reader::new(&whole[..length]) {
            Ok(mut reader) => {
                assert_eq!(reader.by_ref().count(), 0, "{length}");
                assert!(!matches!(reader.tail(), Some(Tail::Damaged { .. })), "{length}");
            }
            Err(error) => assert!(matches!(error, CaptureError::NoHeader | CaptureError::NotACapture(_))),
        }
    }
    assert_eq!(packets.len(), 1);
}

proptest! {
    #[test]
    fn wrong_bytes_do_no_harm(at in 0_usize..400, wrong in prop::collection::vec(any::<u8>(), 1..8), big in any::<bool>()) {
        let endian = if big { Endianness::Big } else { Endianness::Little };
        let mut bytes = foreign(endian, 9, 0, 5);
        let at = at % bytes.len();
        let end = bytes.len().min(at + wrong.len());
        bytes[at..end].copy_from_slice(&wrong[..end - at]);
        crate::fuzz::capture(&bytes);
    }

    #[test]
    fn bytes_from_anywhere_do_no_harm(bytes in prop::collection::vec(any::<u8>(), 0..300), start in 0_usize..3) {
        let magic: &[u8] = [&MAGIC[..], &[0xd4, 0xc3, 0xb2, 0xa1], &[]][start];
        crate::fuzz::capture(&[magic, &bytes].concat());
    }
}

const MAGIC: [u8; 4] = super::pcapng::MAGIC;

/// A block of pcapng in little-endian order.
fn block(kind: u32, body: &[u8]) -> Vec<u8> {
    let length = (body.len() as u32 + 12).to_le_bytes();
    [&kind.to_le_bytes()[..], &length, body, &length].concat()
}

fn words(words: &[u32]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}

/// A section with two interfaces that count in nanoseconds; the second one keeps 5 bytes.
fn two_interfaces() -> Vec<u8> {
    let resolution = [9, 0, 1, 0, 9, 0, 0, 0];
    let interface = |link_type, snap_length: u32| {
        block(1, &[&words(&[link_type, snap_length])[..], &resolution].concat())
    };
    let section = block(0x0A0D_0D0A, &words(&[0x1A2B_3C4D, 1, u32::MAX, u32::MAX]));
    [section, interface(1, 5), interface(101, 0)].concat()
}

/// Blocks that tcpdump and old versions of Wireshark write.
#[test]
fn packets_of_all_kinds_of_blocks() {
    let time = 7_u64 << 32 | 9;
    // The forerunner of the enhanced packet block: interface and drops have 16 bits each.
    let old = block(2, &[&words(&[3 << 16 | 1, 7, 9, 3, 1400])[..], b"abc\0"].concat());
    let simple = block(3, &[&words(&[900])[..], b"wxyz1234"].concat());
    let (packets, tail) = read(&[two_interfaces(), old, simple].concat());
    let packet = |interface, time, length, bytes: &[u8]| Packet {
        interface,
        time: WallTime::from_nanos(time),
        length,
        bytes: bytes.to_vec(),
        comments: Vec::new(),
        inbound: None,
    };
    let expected = [packet(1, time, 1400, b"abc"), packet(0, 0, 900, b"wxyz1")];
    assert_eq!((&packets[..], tail), (&expected[..], Some(Tail::Complete)));
}

#[test]
fn a_direction_is_the_last_one_said() {
    let flagged = |flags: &[u32]| {
        let option = |flags: &u32| [&[2, 0, 4, 0][..], &flags.to_le_bytes()].concat();
        let options = flags.iter().flat_map(option).collect::<Vec<_>>();
        let body = [&words(&[0, 0, 7, 4, 4])[..], b"abcd", &options].concat();
        read(&[two_interfaces(), block(6, &body)].concat()).0[0].inbound
    };
    assert_eq!([0, 1, 2, 3].map(|flags| flagged(&[flags])), [None, Some(true), Some(false), None]);
    assert_eq!(flagged(&[1 << 24 | 2]), Some(false), "other bits mean other things");
    assert_eq!((flagged(&[]), flagged(&[1, 2])), (None, Some(false)));
}

/// Nothing behind such a block can be trusted, and all before it is read.
#[test]
fn a_block_that_makes_no_sense_ends_the_capture() {
    let good = block(6, &[&words(&[1, 0, 7, 4, 4])[..], b"abcd"].concat());
    let begun = [two_interfaces(), good.clone()].concat();
    let changed = |at: usize, to: u32| {
        let mut block = good.clone();
        block[at..at + 4].copy_from_slice(&to.to_le_bytes());
        block
    };
    let length = good.len() as u32;
    let cases = [
        ("a length that the end of the block contradicts", changed(good.len() - 4, length - 4)),
        ("no multiple of four", changed(4, length + 1)),
        ("shorter than a block can be", changed(4, 8)),
        ("longer than any block", changed(4, LONGEST as u32 + 4)),
        ("an interface that was not described", changed(8, 2)),
        ("more bytes kept than there are", changed(20, 9)),
        ("an interface without a snap length", block(1, &words(&[101]))),
        ("a section of an unknown byte order", block(0x0A0D_0D0A, &words(&[0x1A2B_3C4E, 1, 0, 0]))),
    ];
    for (what, wrong) in cases {
        let (packets, tail) = read(&[begun.clone(), wrong, good.clone()].concat());
        assert_eq!((packets.len(), tail), (1, Some(Tail::Damaged { at: begun.len() as u64 })), "{what}");
    }
    let no_interface = block(0x0A0D_0D0A, &words(&[0x1A2B_3C4D, 1, 0, 0]));
    let simple = block(3, &[&words(&[4])[..], b"abcd"].concat());
    assert!(matches!(read(&[no_interface, simple].concat()).1, Some(Tail::Damaged { .. })));
    assert!(matches!(Reader::new(&block(1, &words(&[1, 0]))[..]), Err(CaptureError::NotACapture(_))));
}

/// The upper bits of a pcap's link type tell of the frame check sequence.
#[test]
fn the_header_of_a_pcap() {
    let header = words(&[0xa1b2_c3d4, 0x0004_0002, 0, 0, 96, 0x1400_0065]);
    let reader = Reader::new(&header[..]).expect("a capture");
    let interface = &reader.interfaces()[0];
    assert_eq!((interface.link_type, interface.snap_length), (101, 96));
    let wrong = [header.clone(), words(&[1, 2, LONGEST as u32 + 1, 9])].concat();
    assert_eq!(read(&wrong), (Vec::new(), Some(Tail::Damaged { at: header.len() as u64 })));
    let cut = [header.clone(), words(&[1, 2, 9, 9]), vec![0; 8]].concat();
    assert_eq!(read(&cut).1, Some(Tail::Truncated { at: header.len() as u64, spare: 24 }));
}
