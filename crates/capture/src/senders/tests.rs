use super::*;
use crate::event::Note;
use crate::fates;
use crate::input::Tail;
use crate::log::LogError;
use crate::schema::{Contents, Schema};
use crate::table::{Converted, TableError, recover};
use proptest::prelude::*;
use std::fs;
use std::net::IpAddr;

fn header() -> Header {
    Header {
        schema: SCHEMA,
        lasthop: "0.1.0".to_owned(),
        started: WallTime::from_nanos(1_700_000_000_000_000_007),
        seed: 7,
        source: "test".to_owned(),
        nodes: vec!["mobile".to_owned(), "server, far".to_owned()],
    }
}

fn address() -> impl Strategy<Value = SocketAddr> {
    (any::<IpAddr>(), any::<u16>()).prop_map(|(address, port)| SocketAddr::new(address, port))
}

prop_compose! {
    fn state()(
        (at, node, local, remote) in (any::<u64>(), any::<u16>(), address(), address()),
        (payload, snd_una, snd_nxt, cwnd, ssthresh) in any::<(Option<u32>, u32, u32, u32, Option<u32>)>(),
        (srtt_us, rttvar_us, rto_us, state) in any::<(Option<u32>, Option<u32>, Option<u64>, u8)>(),
        (snd_wnd, rcv_wnd, packets_out, sacked_out) in any::<(u32, u32, Option<u32>, Option<u32>)>(),
        (lost_out, retrans_out, retransmitted) in any::<(Option<u32>, Option<u32>, Option<u32>)>(),
        (delivered, pacing_rate) in any::<(Option<u32>, Option<u64>)>(),
        (ours, algorithm, words) in (any::<bool>(), 0..10_u32, any::<[u32; LOSS_STATE_WORDS - 1]>()),
    ) -> SenderState {
        let mut marked = [0x4c48_0100 + algorithm; LOSS_STATE_WORDS];
        marked[1..].copy_from_slice(&words);
        SenderState {
            at: Time::from_nanos(at),
            loss: LossState::read(&marked).filter(|_| ours),
            state: CongestionState::from_number(state % 7),
            node, local, remote, payload, snd_una, snd_nxt, cwnd, ssthresh, srtt_us, rttvar_us, rto_us, snd_wnd, rcv_wnd,
            packets_out, sacked_out, lost_out, retrans_out, retransmitted, delivered, pacing_rate,
        }
    }
}

fn record() -> impl Strategy<Value = Record> {
    prop_oneof![
        6 => state().prop_map(Record::Row),
        1 => any::<u32>().prop_map(|states| Record::Lost(states.into())),
        1 => (any::<u64>(), ".{0,20}")
            .prop_map(|(at, text)| Record::Note(Note { at: Time::from_nanos(at), text })),
    ]
}

fn written(records: &[Record]) -> Vec<u8> {
    let mut writer = LogWriter::new(Vec::new(), &header()).expect("a header");
    for record in records {
        writer.add(record).expect("a record");
    }
    writer.get_ref().clone()
}

fn read(bytes: &[u8]) -> (Vec<Record>, Option<Tail>) {
    let mut reader = LogReader::new(bytes).expect("a log");
    let records = reader.by_ref().map(|record| record.expect("no I/O error")).collect();
    (records, reader.tail())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn what_was_logged_is_in_the_table(records in prop::collection::vec(record(), 0..40)) {
        let dir = tempfile::tempdir().expect("a directory");
        let table = dir.path().join("senders.parquet");
        let log = crate::table::log_path(&table);
        fs::write(&log, written(&records)).expect("a log");
        let converted = recover::<SenderState>(&table).expect("recovered");
        let mut states = Vec::new();
        let mut notes = Vec::new();
        let mut lost = 0;
        for record in records {
            match record {
                Record::Row(state) => states.push(state),
                Record::Link(link) => panic!("{link:?}"),
                Record::Note(note) => notes.push(note),
                Record::Lost(more) => lost += more,
            }
        }
        let expected = Converted { path: table.clone(), rows: states.len() as u64, lost, tail: Tail::Complete };
        prop_assert_eq!(converted, expected);
        let reader = Reader::open(&table).expect("a table");
        prop_assert_eq!(reader.header(), &header());
        prop_assert_eq!(reader.notes(), notes);
        prop_assert_eq!((reader.lost(), reader.tail()), (lost, "complete"));
        prop_assert_eq!(reader.map(|state| state.expect("a state")).collect::<Vec<_>>(), states);
        prop_assert!(!log.exists());
    }

    #[test]
    fn a_log_that_was_cut_off_gives_what_is_in_it(
        records in prop::collection::vec(record(), 1..20),
        cut in any::<prop::sample::Index>(),
    ) {
        let begun = written(&[]).len();
        let whole = written(&records);
        let length = begun + cut.index(whole.len() - begun);
        let (left, tail) = read(&whole[..length]);
        prop_assert_eq!(&left[..], &records[..left.len()]);
        let complete = written(&left).len() == length;
        prop_assert_eq!(tail == Some(Tail::Complete), complete);
    }

    #[test]
    fn any_byte_may_be_wrong(
        records in prop::collection::vec(record(), 1..10),
        at in any::<prop::sample::Index>(),
        byte: u8,
    ) {
        let mut bytes = written(&records);
        let at = at.index(bytes.len());
        bytes[at] = byte;
        crate::fuzz::senders(&bytes);
    }
}

#[test]
fn logs_and_tables_of_fates_are_told_apart() {
    let fates = fates::LogWriter::new(Vec::new(), &crate::example::header()).expect("a log");
    let error = LogReader::new(&fates.get_ref()[..]).err();
    assert!(matches!(error, Some(LogError::Other { wanted: Contents::Senders, found: Contents::Fates })));
    let error = fates::LogReader::new(&written(&[])[..]).err();
    assert!(matches!(error, Some(LogError::Other { wanted: Contents::Fates, found: Contents::Senders })));
    let dir = tempfile::tempdir().expect("a directory");
    let table = dir.path().join("senders.parquet");
    fs::write(crate::table::log_path(&table), written(&[])).expect("a log");
    recover::<SenderState>(&table).expect("recovered");
    assert!(matches!(fates::Reader::open(&table), Err(TableError::Other(Contents::Fates))));
}

#[test]
fn a_later_schema_is_refused_with_its_number() {
    let header = Header { schema: SCHEMA + 1, ..header() };
    let log = LogWriter::new(Vec::new(), &header).expect("a log");
    let error = LogReader::new(&log.get_ref()[..]).err().expect("refused").to_string();
    assert!(error.contains("schema 2") && error.contains("up to 1"), "{error}");
}

#[test]
fn segments_in_flight_are_those_of_rfc_6675() {
    let state = SenderState {
        packets_out: Some(20),
        sacked_out: Some(5),
        lost_out: Some(3),
        retrans_out: Some(2),
        ..SenderState::blank()
    };
    assert_eq!(state.in_flight(), Some(14));
    assert_eq!(SenderState { lost_out: None, ..state }.in_flight(), None);
}

#[test]
fn every_column_has_a_name_of_its_own_and_a_meaning() {
    let names: std::collections::BTreeSet<_> =
        SenderState::COLUMNS.iter().map(|column| column.name).collect();
    assert_eq!(names.len(), SenderState::COLUMNS.len());
    let lines = SenderState::COLUMNS.iter().map(|column| format!("{}: {}", column.name, column.meaning));
    insta::assert_snapshot!(lines.collect::<Vec<_>>().join("\n"));
}

/// `enum tcp_ca_state` of Linux (include/net/tcp.h).
#[test]
fn congestion_states_have_the_kernels_numbers() {
    let names: Vec<_> =
        (0..=5).map(|number| CongestionState::from_number(number).map(CongestionState::name)).collect();
    assert_eq!(names, [Some("open"), Some("disorder"), Some("cwr"), Some("recovery"), Some("loss"), None]);
    for state in CongestionState::ALL {
        assert_eq!(CongestionState::from_name(state.name()), Some(state));
    }
}

/// Counters of the kernel are read one after the other, and may contradict each other.
#[test]
fn segments_in_flight_are_never_less_than_none() {
    let counters = |packets_out, sacked_out, lost_out| {
        let (packets_out, sacked_out, lost_out) = (Some(packets_out), Some(sacked_out), Some(lost_out));
        SenderState { packets_out, sacked_out, lost_out, retrans_out: Some(2), ..SenderState::blank() }
            .in_flight()
    };
    assert_eq!(counters(3, 2, 2), Some(2));
    assert_eq!(counters(3, u32::MAX, 2), Some(2));
}
