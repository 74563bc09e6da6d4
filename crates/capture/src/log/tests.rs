use super::*;
use crate::fates::{LogReader as Reader, LogWriter as Writer, Record};
use crate::schema::Contents;
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
