use super::*;
use crate::event::{self, Fate, Note, Reason};
use crate::fates;
use crate::units::{Time, WallTime};
use crate::{example, link_layer, senders};
use proptest::prelude::*;

/// Writes `fates` as a log in `dir` and returns its path.
fn left_over(dir: &Path, fates: &[Fate]) -> PathBuf {
    let path = dir.join("events.parquet.log");
    let file = File::create(&path).expect("a log");
    let mut writer = fates::LogWriter::new(BufWriter::new(file), &example::header()).expect("a header");
    for fate in fates {
        writer.row(fate).expect("a fate");
    }
    writer.note(&Note { at: Time::from_nanos(3), text: "loss is now 10%".to_owned() }).expect("a note");
    writer.flush().expect("flushed");
    path
}

fn read(path: &Path) -> Vec<Fate> {
    fates::Reader::open(path).expect("a table").map(|fate| fate.expect("a fate")).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]
    #[test]
    fn what_was_logged_is_in_the_table(fates in prop::collection::vec(example::fate(), 0..40)) {
        let dir = tempfile::tempdir().expect("a directory");
        let log = left_over(dir.path(), &fates);
        let table = dir.path().join("events.parquet");
        let converted = recover::<Fate>(&table).expect("recovered");
        prop_assert_eq!(converted, Converted { path: table.clone(), rows: fates.len() as u64, lost: 0, tail: Tail::Complete });
        prop_assert_eq!(read(&table), fates);
        let reader = fates::Reader::open(&table).expect("a table");
        prop_assert_eq!(reader.header(), &example::header());
        prop_assert_eq!(reader.notes()[0].text.as_str(), "loss is now 10%");
        prop_assert_eq!(reader.tail(), "complete");
        prop_assert!(!log.exists());
    }
}

#[test]
fn a_log_that_was_cut_off_gives_what_is_in_it() {
    let dir = tempfile::tempdir().expect("a directory");
    let fates: Vec<Fate> = (0..3).map(|number| example::delivered(number, 5, 9).fate(None, None)).collect();
    let log = left_over(dir.path(), &fates);
    // Cut off the note and the last byte of the last fate.
    let whole = fs::read(&log).expect("the log");
    let note = serde_json::to_vec(&Note { at: Time::from_nanos(3), text: "loss is now 10%".to_owned() })
        .expect("JSON");
    fs::write(&log, &whole[..whole.len() - note.len() - 9 - 1]).expect("the log");
    let converted = recover::<Fate>(&log).expect("recovered");
    assert_eq!((converted.rows, converted.path.as_path()), (2, &*dir.path().join("events.parquet")));
    assert!(matches!(converted.tail, Tail::Truncated { .. }));
    assert_eq!(read(&converted.path), fates[..2]);
    assert!(fates::Reader::open(&converted.path).expect("a table").tail().starts_with("cut off"));
    assert!(matches!(recover::<Fate>(&log), Err(TableError::NothingLeft(_))));
}

#[test]
fn more_rows_than_a_group_has() {
    let dir = tempfile::tempdir().expect("a directory");
    let fates: Vec<Fate> =
        (0..250_001).map(|number| example::delivered(number, number, number + 9).fate(None, None)).collect();
    left_over(dir.path(), &fates);
    let table = recover::<Fate>(&dir.path().join("events.parquet")).expect("recovered").path;
    assert!(read(&table) == fates, "the rows differ");
    // Numbers that rise by one take almost no room.
    let bytes = fs::metadata(&table).expect("the table").len();
    assert!(bytes < 2 * 250_001, "{bytes} bytes");
}

/// Every kind of table with a later schema is rejected, since nothing else in it can be relied on.
/// A table of another kind is reported as such.
#[test]
fn a_later_schema_is_refused_with_its_number_in_every_table() {
    let fates = event::Header { schema: event::SCHEMA + 1, ..example::header() };
    let link_layer = event::Header { schema: link_layer::SCHEMA + 1, ..example::header() };
    let senders = senders::Header {
        schema: senders::SCHEMA + 1,
        lasthop: "9.0.0".to_owned(),
        started: WallTime::from_nanos(5),
        seed: 7,
        source: "test".to_owned(),
        nodes: Vec::new(),
    };
    let (_, fates) = fates::Writer::new(Vec::new(), fates)
        .and_then(|writer| writer.finish(Tail::Complete))
        .expect("a table of fates");
    let (_, senders) = senders::Writer::new(Vec::new(), senders)
        .and_then(|writer| writer.finish(Tail::Complete))
        .expect("a table of states");
    let (_, link_layer) = link_layer::Writer::new(Vec::new(), link_layer)
        .and_then(|writer| writer.finish(Tail::Complete))
        .expect("a table of a link layer");
    let [fates, senders, link_layer] = [fates, senders, link_layer].map(bytes::Bytes::from);
    let of_fates = fates::Reader::new(fates).err();
    assert!(
        matches!(of_fates, Some(TableError::Schema { contents: Contents::Fates, found: 2, newest: 1 })),
        "{of_fates:?}"
    );
    let of_senders = senders::Reader::new(senders.clone()).err();
    assert!(
        matches!(of_senders, Some(TableError::Schema { contents: Contents::Senders, found: 2, newest: 1 })),
        "{of_senders:?}"
    );
    let of_link_layer = link_layer::Reader::new(link_layer).err();
    assert!(
        matches!(
            of_link_layer,
            Some(TableError::Schema { contents: Contents::LinkLayer, found: 2, newest: 1 })
        ),
        "{of_link_layer:?}"
    );
    let mistaken = fates::Reader::new(senders).err();
    assert!(matches!(mistaken, Some(TableError::Other(Contents::Fates))), "{mistaken:?}");
}

#[test]
fn columns_that_nobody_knows_and_columns_that_are_missing() {
    use parquet::data_type::{ByteArray, ByteArrayType, Int32Type};
    use parquet::file::metadata::KeyValue;
    use parquet::file::properties::WriterProperties;
    use parquet::file::writer::SerializedFileWriter;
    use parquet::schema::parser::parse_message_type;
    // A table of a later program: it has an unknown reason and an unknown column, and lacks most
    // columns.
    let schema = parse_message_type("message x { optional binary reason (STRING); required int32 colour; }")
        .expect("a schema");
    let mut writer = SerializedFileWriter::new(Vec::new(), schema.into(), WriterProperties::new().into())
        .expect("a table");
    let mut group = writer.next_row_group().expect("a group");
    let mut column = group.next_column().expect("a column").expect("the reasons");
    let reasons = [ByteArray::from("meteor"), ByteArray::from("outage")];
    column.typed::<ByteArrayType>().write_batch(&reasons, Some(&[1, 0, 1]), None).expect("reasons");
    column.close().expect("closed");
    let mut column = group.next_column().expect("a column").expect("the colours");
    column.typed::<Int32Type>().write_batch(&[1, 2, 3], None, None).expect("colours");
    column.close().expect("closed");
    group.close().expect("closed");
    let header = serde_json::to_string(&example::header()).expect("JSON");
    writer.append_key_value_metadata(KeyValue::new(key::SCHEMA.to_owned(), "1".to_owned()));
    writer.append_key_value_metadata(KeyValue::new(Contents::Fates.key().to_owned(), header));
    let bytes = bytes::Bytes::from(writer.into_inner().expect("bytes"));
    let reasons: Vec<_> =
        fates::Reader::new(bytes).expect("a table").map(|fate| fate.expect("a fate").lost).collect();
    let known = Reason::from_name("outage");
    assert_eq!(reasons, [Some(Reason::Other("meteor".to_owned())), None, Some(known)]);
}

#[test]
fn every_column_has_a_name_of_its_own_and_a_meaning() {
    let names: Vec<_> = Fate::COLUMNS.iter().map(|column| column.name).collect();
    let mut unique = names.clone();
    unique.sort_unstable();
    unique.dedup();
    assert_eq!(unique.len(), names.len());
    insta::assert_snapshot!(
        Fate::COLUMNS.iter().map(|c| format!("{}: {}", c.name, c.meaning)).collect::<Vec<_>>().join("\n")
    );
}
