use super::blocks::Block;
use super::*;
use crate::input::Tail;
use crate::log::LogError;
use crate::packets;
use crate::schema::Contents;
use crate::table::{Converted, TableError, recover};
use crate::{Recorder, RecorderOptions, example, fates, senders};
use ::packet::checksum::is_ipv4_right;
use ::packet::rlp::{Body, Frame, Size, Supervision};
use proptest::prelude::*;
use std::fs;

fn header() -> Header {
    Header { schema: SCHEMA, ..example::header() }
}

prop_compose! {
    fn row()(
        (time_ns, link, up, sent) in (0..i64::MAX, 0..3_u16, any::<bool>(), any::<bool>()),
        (event, ns, nr, aux) in (prop::sample::select(Event::ALL.to_vec()), any::<u16>(), any::<u16>(), any::<u32>()),
    ) -> Row {
        let end = if up { Direction::Up } else { Direction::Down };
        let way = if sent { Way::Sent } else { Way::Received };
        let at = Time::from_nanos(time_ns.cast_unsigned());
        Row { link: LinkId(link), end, record: Record { at, way, event, ns, nr, aux } }
    }
}

fn written(rows: &[Row]) -> Vec<u8> {
    let mut writer = LogWriter::new(Vec::new(), &example::header()).expect("a header");
    for row in rows {
        writer.row(row).expect("a row");
    }
    writer.get_ref().clone()
}

/// Sorts rows as readers of a table return them.
fn by_time(mut rows: Vec<Row>) -> Vec<Row> {
    rows.sort_by_key(|row| (row.record.at, row.link, row.end, row.record.way == Way::Sent));
    rows
}

/// LL-07: records of both ends of an RLP link in ten minutes, with every 20th block erased and
/// every 10th without data: 145 records a second. All traces together may take 300 octets a second.
/// Here it is 36; in the order of their times, the rows would take 78.
#[test]
fn ten_minutes_take_little_room() {
    let mut random = 7_u32;
    let mut once_in = |blocks: u32| {
        // The generator of Numerical Recipes. Its high bits are random enough here.
        random = random.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (random >> 16).is_multiple_of(blocks)
    };
    let mut rows = Vec::new();
    for block in 0..30_000_u32 {
        let at = Time::from_nanos(u64::from(block) * 20_000_000);
        let row = |end, way, event, ns, nr, aux| Row {
            link: LinkId(0),
            end,
            record: Record { at, way, event, ns, nr, aux },
        };
        let number = (block % 62) as u16;
        for (end, nr) in [(Direction::Down, 0), (Direction::Up, number)] {
            let event = if once_in(20) { Event::Erased } else { Event::Right };
            rows.push(row(end, Way::Received, event, 0, nr, 30));
        }
        if !once_in(10) {
            rows.push(row(Direction::Down, Way::Sent, Event::First, number, 0, 24));
        }
    }
    let mut writer = Writer::new(Vec::new(), header()).expect("a table");
    for row in &rows {
        writer.add(log::Record::Row(*row)).expect("a row");
    }
    let (_, bytes) = writer.finish(Tail::Complete).expect("a table");
    let a_second = bytes.len() / 600;
    assert!(a_second < 50, "{a_second} octets a second");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn what_was_logged_is_in_the_table(rows in prop::collection::vec(row(), 0..40)) {
        let dir = tempfile::tempdir().expect("a directory");
        let table = dir.path().join("c000-r00-link-layer.parquet");
        let log = crate::table::log_path(&table);
        fs::write(&log, written(&rows)).expect("a log");
        let converted = recover::<Row>(&table).expect("recovered");
        prop_assert_eq!(converted, Converted { path: table.clone(), rows: rows.len() as u64, lost: 0, tail: Tail::Complete });
        let reader = Reader::open(&table).expect("a table");
        prop_assert_eq!((reader.header(), reader.tail()), (&header(), "complete"));
        prop_assert_eq!(reader.map(|row| row.expect("a row")).collect::<Vec<_>>(), by_time(rows));
        prop_assert!(!log.exists());
    }

    #[test]
    fn a_log_that_was_cut_off_gives_what_is_in_it(
        rows in prop::collection::vec(row(), 1..20),
        cut in any::<prop::sample::Index>(),
    ) {
        let (begun, whole) = (written(&[]).len(), written(&rows));
        let length = begun + cut.index(whole.len() - begun);
        let mut reader = LogReader::new(&whole[..length]).expect("a log");
        let left: Vec<Row> = reader.by_ref().map(|row| match row.expect("no I/O error") {
            log::Record::Row(row) => row,
            other => panic!("{other:?}"),
        }).collect();
        prop_assert_eq!(&left[..], &rows[..left.len()]);
        prop_assert_eq!(reader.tail() == Some(Tail::Complete), written(&left).len() == length);
    }

    #[test]
    fn any_byte_may_be_wrong(rows in prop::collection::vec(row(), 1..10), at in any::<prop::sample::Index>(), byte: u8) {
        let mut bytes = written(&rows);
        let at = at.index(bytes.len());
        bytes[at] = byte;
        crate::fuzz::link_layer(&bytes);
    }
}

#[test]
fn logs_and_tables_of_other_kinds_are_told_apart() {
    let fates = fates::LogWriter::new(Vec::new(), &example::header()).expect("a log");
    let error = LogReader::new(&fates.get_ref()[..]).err().expect("refused");
    assert_eq!(error.to_string(), "this is a packet event log, not a link-layer log");
    let found = Contents::LinkLayer;
    let error = fates::LogReader::new(&written(&[])[..]).err();
    assert!(
        matches!(error, Some(LogError::Other { wanted: Contents::Fates, found: other }) if other == found)
    );
    let error = senders::LogReader::new(&written(&[])[..]).err();
    assert!(
        matches!(error, Some(LogError::Other { wanted: Contents::Senders, found: other }) if other == found)
    );
    let dir = tempfile::tempdir().expect("a directory");
    let table = dir.path().join("x-link-layer.parquet");
    fs::write(crate::table::log_path(&table), written(&[])).expect("a log");
    recover::<Row>(&table).expect("recovered");
    assert!(matches!(fates::Reader::open(&table), Err(TableError::Other(Contents::Fates))));
    assert!(matches!(senders::Reader::open(&table), Err(TableError::Other(Contents::Senders))));
}

#[test]
fn it_stands_beside_the_event_log() {
    assert_eq!(beside(Path::new("runs/a.b/x.parquet")), Path::new("runs/a.b/x-link-layer.parquet"));
    assert_eq!(beside(Path::new("fates")), Path::new("fates-link-layer.parquet"));
}

/// A frame with information, as sent on the air.
fn octets() -> Vec<u8> {
    let body = Body::Information {
        supervision: Supervision::SelectiveReject,
        ns: 61,
        nr: 5,
        information: (0..25).collect(),
    };
    Frame { command: false, poll_final: true, body }.to_octets(Size::Short)
}

const START_NS: u64 = 20_000_000;

fn blocks(octets: &[u8]) -> [Block<'_>; 4] {
    let at = Time::from_nanos;
    let sent = Block {
        link: LinkId(0),
        end: Direction::Down,
        way: Way::Sent,
        at: at(START_NS),
        octets,
        erased: false,
    };
    let lost = Block { erased: true, at: at(2 * START_NS), ..sent };
    let received = |block| Block { end: Direction::Up, way: Way::Received, at: at(7 * START_NS), ..block };
    [sent, lost, received(sent), received(lost)]
}

/// LL-07: both ends see a block. An erased block does not arrive as it was sent, which three things
/// show.
#[test]
fn blocks_at_both_ends_of_the_air() {
    let octets = octets();
    let mut writer = blocks::Writer::new(Vec::new(), example::header()).expect("a capture");
    for block in blocks(&octets) {
        writer.add(&block).expect("a block");
    }
    let mut reader = packets::Reader::new(&writer.get_ref()[..]).expect("a capture");
    let packets: Vec<_> = reader.by_ref().map(|packet| packet.expect("a packet")).collect();
    let names: Vec<_> = reader.interfaces().iter().map(|interface| interface.name.as_str()).collect();
    assert_eq!(names, ["wlan wireless end", "wlan network end"]);
    let start = example::header().started.as_nanos();
    let seen: Vec<_> = packets
        .iter()
        .map(|packet| {
            (packet.interface, packet.inbound, packet.time.as_nanos() - start, packet.comments.len())
        })
        .collect();
    let (first, second, arrival) = (START_NS, 2 * START_NS, 7 * START_NS);
    assert_eq!(
        seen,
        [
            (1, Some(false), first, 0),
            (1, Some(false), second, 1),
            (0, Some(true), arrival, 0),
            (0, Some(true), arrival, 1)
        ]
    );
    for packet in &packets {
        assert_eq!((packet.bytes.len(), packet.length), (44 + 30, 74));
        assert!(is_ipv4_right(&packet.bytes[..20]), "IPv4");
        // From the network to the wireless host, in UDP to the port of GSMTAP.
        assert_eq!(packet.bytes[12..20], [192, 0, 2, 2, 192, 0, 2, 1]);
        assert_eq!((packet.bytes[9], &packet.bytes[22..26]), (17, &[0x12, 0x79, 0, 54][..]));
        assert_eq!(packet.bytes[28..34], [2, 4, 0x14, 0, 0, 0]);
    }
    // 20 ms are 4 1/3 TDMA frames, 140 ms are 30 1/3.
    assert_eq!(
        (packets[0].bytes[36..40].to_vec(), packets[2].bytes[36..40].to_vec()),
        (vec![0, 0, 0, 4], vec![0, 0, 0, 30])
    );
    for (packet, whole) in packets.iter().zip([true, true, true, false]) {
        let block = &packet.bytes[44..];
        assert_eq!(block[..27], octets[..27]);
        assert_eq!(Frame::parse(block).is_ok(), whole, "the frame check sequence");
    }
    let flags = |packet: &packets::Packet| {
        // The option: code 2, length 4, value.
        let raw = writer.get_ref();
        let place = raw
            .windows(packet.bytes.len())
            .rposition(|bytes| bytes == &packet.bytes[..])
            .expect("it is there");
        let behind = &raw[place..];
        let option = behind.windows(4).position(|bytes| bytes == [2, 0, 4, 0]).expect("flags");
        u32::from_le_bytes(behind[option + 4..option + 8].try_into().expect("four"))
    };
    assert_eq!((flags(&packets[2]), flags(&packets[3])), (1, 1 | 1 << 24));
}

#[test]
fn blocks_that_go_up_say_so() {
    let octets = octets();
    let mut writer = blocks::Writer::new(Vec::new(), example::header()).expect("a capture");
    let [sent, ..] = blocks(&octets);
    writer.add(&Block { end: Direction::Up, ..sent }).expect("a block");
    let mut reader = packets::Reader::new(&writer.get_ref()[..]).expect("a capture");
    let packet = reader.next().expect("one").expect("a packet");
    assert_eq!((packet.interface, &packet.bytes[12..20]), (0, &[192, 0, 2, 1, 192, 0, 2, 2][..]));
    assert_eq!(packet.bytes[32..34], [0x40, 0], "uplink");
}

/// Rows and blocks go through the recorder, whatever else is recorded.
#[test]
fn the_recorder_writes_both() {
    let dir = tempfile::tempdir().expect("a directory");
    let (table, capture) = (dir.path().join("a.parquet"), dir.path().join("b.pcapng"));
    let options = RecorderOptions {
        link_layer: Some(table.clone()),
        blocks: Some(capture.clone()),
        ..RecorderOptions::default()
    };
    let mut recorder = Recorder::start(example::header(), options).expect("a recorder");
    let row = |time_ns, ns| {
        let at = Time::from_nanos(time_ns);
        let record = Record { at, way: Way::Sent, event: Event::First, ns, nr: 0, aux: 24 };
        Row { link: LinkId(0), end: Direction::Down, record }
    };
    // More rows than fit into a chunk, with late ones among them.
    let rows: Vec<_> = (0..3000).map(|number| row(number % 7 * 1_000_000, number as u16)).collect();
    let octets = octets();
    for row in &rows {
        recorder.link_layer(row);
        recorder.settled(Time::from_nanos(7_000_000));
    }
    for block in &blocks(&octets) {
        recorder.block(block);
    }
    let kept = recorder.close(Time::from_nanos(200_000_000)).expect("written");
    assert_eq!(kept.link_layer.map(|converted| converted.rows), Some(3000));
    assert_eq!(kept.blocks, Some((capture.clone(), 4)));
    let read: Vec<_> = Reader::open(&table).expect("a table").map(|row| row.expect("a row")).collect();
    assert_eq!(read, by_time(rows));
    let packets = packets::Reader::new(fs::File::open(&capture).expect("a file")).expect("a capture");
    assert_eq!(packets.count(), 4);
}

/// The log that another run left behind is not overwritten before it is recovered.
#[test]
fn a_log_that_was_left_over_is_said() {
    let dir = tempfile::tempdir().expect("a directory");
    let table = dir.path().join("a.parquet");
    fs::write(crate::table::log_path(&table), written(&[])).expect("a log");
    let options = RecorderOptions { link_layer: Some(table), ..RecorderOptions::default() };
    let error = Recorder::start(example::header(), options).err().expect("refused").to_string();
    assert!(error.contains("lasthop convert"), "{error}");
}

/// The log has room for a sign, and for no time behind `i64::MAX`.
#[test]
fn times_before_the_start_and_behind_all_others() {
    let stored = |time: i64| {
        let stored: Stored = (time, LinkId(1), Direction::Up, Way::Sent, Event::First, 2, 3, 4);
        let bytes = postcard::to_extend(&stored, Vec::new()).expect("bytes");
        postcard::from_bytes::<Row>(&bytes).expect("a row").record.at
    };
    assert_eq!([-5, 0, 5].map(stored), [Time::ZERO, Time::ZERO, Time::from_nanos(5)]);
    let record = Record { at: Time::NEVER, way: Way::Sent, event: Event::First, ns: 2, nr: 3, aux: 4 };
    let row = Row { link: LinkId(1), end: Direction::Up, record };
    let bytes = postcard::to_extend(&row, Vec::new()).expect("bytes");
    let read = postcard::from_bytes::<Row>(&bytes).expect("a row");
    assert_eq!(read.record.at, Time::from_nanos(i64::MAX.cast_unsigned()));
}
