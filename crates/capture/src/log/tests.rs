use super::*;
use crate::fates::{LogReader as Reader, LogWriter as Writer, Record};
use crate::schema::{Contents, Schema};
use crate::units::Time;
use crate::{Tail, example};
use proptest::prelude::*;

fn written(records: &[Record]) -> Vec<u8> {
    let mut writer = Writer::new(Vec::new(), &example::header()).expect("a header");
    for record in records {
        writer.add(record).expect("a record");
    }
    writer.get_ref().clone()
}

fn read(bytes: &[u8]) -> (Vec<Record>, Option<Tail>) {
    let mut reader = Reader::new(bytes).expect("a log");
    let records = reader.by_ref().map(|record| record.expect("no I/O error")).collect();
    (records, reader.tail())
}

fn any_record() -> impl Strategy<Value = Record> {
    prop_oneof![
        4 => example::fate().prop_map(Record::Row),
        1 => (any::<u32>(), ".{0,20}").prop_map(|(at, text)| {
            Record::Note(Note { at: Time::from_nanos(u64::from(at)), text })
        }),
        1 => "[a-z]{1,5}".prop_map(|name| {
            let mut link = example::header().links[0].clone();
            link.name = name;
            Record::Link(link)
        }),
    ]
}

/// Three records: a fate, a note, a fate.
fn small() -> Vec<Record> {
    vec![
        Record::Row(example::delivered(0, 5, 9).fate(None, None)),
        Record::Note(Note { at: Time::from_nanos(10), text: "loss is now 10%".to_owned() }),
        Record::Row(example::delivered(1, 11, 12).fate(Some("errors"), None)),
    ]
}

proptest! {
    #[test]
    fn what_was_written_is_read(records in prop::collection::vec(any_record(), 0..20)) {
        let bytes = written(&records);
        prop_assert_eq!(read(&bytes), (records, Some(Tail::Complete)));
    }

    #[test]
    fn bytes_from_anywhere_do_no_harm(bytes in prop::collection::vec(any::<u8>(), 0..200), as_log in any::<bool>()) {
        let bytes = if as_log { [written(&[]), bytes].concat() } else { bytes };
        crate::fuzz::log(&bytes);
    }

    #[test]
    fn one_wrong_byte_leaves_a_prefix(at in 0_usize..2000, flip in 1_u8..) {
        let mut bytes = written(&small());
        let at = at % bytes.len();
        bytes[at] ^= flip;
        if let Ok(mut reader) = Reader::new(&bytes[..]) {
            let records: Vec<_> = reader.by_ref().map(|record| record.expect("no I/O error")).collect();
            prop_assert!(small().starts_with(&records));
            prop_assert!(records.len() < 3);
            prop_assert!(!matches!(reader.tail(), None | Some(Tail::Complete)));
        }
    }
}

#[test]
fn cut_off_anywhere_it_yields_a_prefix() {
    let whole = written(&small());
    let ends: Vec<usize> = (0..=3).map(|count| written(&small()[..count]).len()).collect();
    for length in 0..=whole.len() {
        let cut = &whole[..length];
        if length < ends[0] {
            assert!(matches!(Reader::new(cut), Err(LogError::NoHeader)), "{length}");
            continue;
        }
        let complete = ends.iter().filter(|&&end| end <= length).count() - 1;
        let spare = (length - ends[complete]) as u64;
        let tail = match spare {
            0 => Tail::Complete,
            spare => Tail::Truncated { at: ends[complete] as u64, spare },
        };
        assert_eq!(read(cut), (small()[..complete].to_vec(), Some(tail)), "{length}");
    }
}

#[test]
fn records_of_later_programs_are_passed_over() {
    // A record of an unknown kind, and a fate with more fields than this version has.
    let mut bytes = written(&small()[..1]);
    let framed = |kind: u8, body: &[u8]| {
        let body = [&[kind], body].concat();
        let length = body.len() as u32 - 1;
        [&length.to_le_bytes()[..], &crc32fast::hash(&body).to_le_bytes(), &body].concat()
    };
    bytes.extend(framed(200, b"whatever"));
    let plain = written(&small()[..1]);
    let fate = &plain[written(&[]).len() + FRAME..];
    bytes.extend(framed(Contents::Fates.kinds()[1], &[fate, &[1, 2, 3]].concat()));
    let mut reader = Reader::new(&bytes[..]).expect("a log");
    let records: Vec<_> = reader.by_ref().map(|record| record.expect("no I/O error")).collect();
    assert_eq!(records, [small()[0].clone(), small()[0].clone()]);
    assert_eq!((reader.passed_over(), reader.tail()), (1, Some(Tail::Complete)));
}

#[test]
fn what_is_no_log_is_said_to_be_none() {
    assert!(matches!(Reader::new(&b"PAR1 and so on"[..]), Err(LogError::NotALog)));
    assert!(matches!(Reader::new(&b"lasthop\x02"[..]), Err(LogError::Framing(2))));
    let mut header = example::header();
    header.schema = 9;
    let later = Writer::new(Vec::new(), &header).expect("a header").get_ref().clone();
    assert!(matches!(
        Reader::new(&later[..]),
        Err(LogError::Schema { contents: Contents::Fates, found: 9, newest: 1 })
    ));
}

/// Bytes of the only record of a log, in hexadecimal digits.
fn body<S: Schema>(header: &S::Header, row: &S) -> String {
    let mut writer = super::Writer::new(Vec::new(), header).expect("a header");
    let begun = writer.get_ref().len();
    writer.row(row).expect("a row");
    let body = &writer.get_ref()[begun + FRAME..];
    body.iter().map(|byte| format!("{byte:02x}")).collect::<Vec<_>>().join(" ")
}

/// The numbers of these values, one in a line.
fn numbers<T: serde::Serialize + std::fmt::Debug>(values: &[T]) -> String {
    let bytes = |value| postcard::to_extend(value, Vec::new()).expect("bytes");
    let lines: Vec<_> = values.iter().map(|value| format!("{value:?}: {:?}\n", bytes(value))).collect();
    lines.concat()
}

/// The fields of version 1 of each schema, their order and their forms are fixed for ever: a log
/// that a killed run left is read by a later program. Each field has a value of its own.
#[test]
fn the_bytes_of_version_1() {
    use crate::senders::{self, LossState, SenderState};
    use crate::{ChannelState, Direction, Fate, Flow, LinkId, Loss, Reason, Sending, Span, WallTime};
    use vocabulary::link_layer::{Event, Record as Noted, Way};
    let at = Time::from_nanos;
    let flow = Flow {
        source: [10, 0, 0, 1].into(),
        destination: [10, 0, 0, 2].into(),
        protocol: 6,
        ports: Some((16, 17)),
        tcp_sequence: Some(18),
        payload: Some(19),
    };
    let fate = Fate {
        link: LinkId(1),
        direction: Direction::Up,
        copy: false,
        number: 2,
        length: 3,
        arrived: at(4),
        sending: Sending { start: at(5), end: at(6) },
        left: at(7),
        lost: Some(Reason::Known(Loss::Outage)),
        stage: Some("x".to_owned()),
        channel: Some(ChannelState::Bad),
        bits_flipped: 8,
        checksum_spoiled: true,
        congestion_marked: false,
        held: Span::from_nanos(9),
        overtaken: 11,
        flow: Some(flow),
    };
    let row = crate::link_layer::Row {
        link: LinkId(1),
        end: Direction::Down,
        record: Noted { at: at(2), way: Way::Received, event: Event::Reject, ns: 3, nr: 4, aux: 5 },
    };
    let mut words = [0x4c48_0104; senders::LOSS_STATE_WORDS];
    for (number, word) in (1..).zip(&mut words[1..]) {
        *word = 256 * number;
    }
    words[8] = u32::from_le_bytes([3, 1, 1, 2]);
    let state = SenderState {
        at: at(1),
        node: 2,
        payload: Some(3),
        snd_una: 4,
        snd_nxt: 5,
        cwnd: 6,
        ssthresh: Some(7),
        srtt_us: Some(8),
        rttvar_us: Some(9),
        rto_us: Some(10),
        state: Some(senders::CongestionState::Recovery),
        snd_wnd: 11,
        rcv_wnd: 12,
        packets_out: Some(13),
        sacked_out: Some(14),
        lost_out: Some(15),
        retrans_out: Some(16),
        retransmitted: Some(17),
        delivered: Some(18),
        pacing_rate: Some(19),
        loss: LossState::read(&words),
        ..SenderState::nothing_known(([10, 0, 0, 1], 20).into(), ([10, 0, 0, 2], 21).into())
    };
    let header = senders::Header {
        schema: senders::SCHEMA,
        lasthop: "0.1.0".to_owned(),
        started: WallTime::from_nanos(0),
        seed: 0,
        source: String::new(),
        nodes: Vec::new(),
    };
    let fates = example::header();
    // Values of enumerations are numbers.
    let ends = [numbers(&Way::ALL), numbers(&Event::ALL)].concat();
    let states = [
        numbers(&senders::CongestionState::ALL),
        numbers(&senders::Algorithm::ALL),
        numbers(&senders::LossVerdict::ALL),
        numbers(&senders::Reason::ALL),
    ];
    let parts = [body(&fates, &fate), body(&fates, &row), ends, body(&header, &state), states.concat()];
    insta::assert_snapshot!(parts.join("\n"));
}

#[test]
fn a_record_longer_than_a_reader_takes_is_not_written() {
    let mut writer = Writer::new(Vec::new(), &example::header()).expect("a header");
    let note = |length| Note { at: Time::ZERO, text: "x".repeat(length) };
    let around = serde_json::to_vec(&note(0)).expect("JSON").len();
    writer.note(&note(LONGEST - around)).expect("the longest");
    let bytes = writer.get_ref().len();
    assert!(writer.note(&note(LONGEST - around + 1)).is_err());
    assert_eq!(writer.get_ref().len(), bytes, "nothing of it is written");
    let (records, tail) = read(writer.get_ref());
    assert_eq!((records.len(), tail), (1, Some(Tail::Complete)));
}

/// The checksum covers the kind as well, and a body that is none of its kind is damage.
#[test]
fn a_record_that_is_none_is_where_the_log_ends() {
    let whole = written(&small());
    let second = written(&small()[..1]).len();
    let damaged = (small()[..1].to_vec(), Some(Tail::Damaged { at: second as u64 }));
    let mut kind = whole.clone();
    kind[second + FRAME - 1] = 200;
    assert_eq!(read(&kind), damaged);
    let mut length = whole.clone();
    length[second..second + 4].copy_from_slice(&(LONGEST as u32 + 1).to_le_bytes());
    assert_eq!(read(&length), damaged);
    let mut body = whole[..second].to_vec();
    let record = [&[kind::NOTE], &b"{}"[..]].concat();
    body.extend(2_u32.to_le_bytes());
    body.extend(crc32fast::hash(&record).to_le_bytes());
    body.extend(record);
    assert_eq!(read(&body), damaged, "a note without a text");
}

/// The header says what is in the log, so that it must come first.
#[test]
fn a_log_without_a_header() {
    let header = written(&[]).len();
    let records = written(&small());
    let headless = [&MAGIC[..], &records[header..]].concat();
    assert!(matches!(Reader::new(&headless[..]), Err(LogError::NoHeader)));
}

#[test]
fn links_are_described_as_of_the_last_record() {
    let mut link = example::header().links[0].clone();
    link.name = "renamed".to_owned();
    let bytes = written(&[small()[0].clone(), Record::Link(link), small()[1].clone()]);
    let mut reader = Reader::new(&bytes[..]).expect("a log");
    let mut names = Vec::new();
    while let Some(record) = reader.next() {
        record.expect("no I/O error");
        names.push(reader.header().links[0].name.clone());
    }
    assert_eq!(names, ["wlan", "renamed", "renamed"]);
}
