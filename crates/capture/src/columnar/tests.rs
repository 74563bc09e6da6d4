use super::*;
use proptest::prelude::*;
use std::fs;

fn column(name: &str, values: Values) -> Column {
    Column { name: name.to_owned(), meaning: format!("what {name} is"), values }
}

/// Generates tables with columns of all kinds.
fn table() -> impl Strategy<Value = Table> {
    let row = any::<(Option<bool>, Option<u64>, Option<f64>, Option<String>)>();
    prop::collection::vec(row, 0..30).prop_map(|rows| {
        let columns = vec![
            column("yes", Values::Bool(rows.iter().map(|row| row.0).collect())),
            column("bytes", Values::Number(rows.iter().map(|row| row.1).collect())),
            column("goodput_bps", Values::Real(rows.iter().map(|row| row.2).collect())),
            column("factor.loss profile; {odd}", Values::Text(rows.into_iter().map(|row| row.3).collect())),
        ];
        Table { columns, metadata: [("lasthop.seed".to_owned(), "7".to_owned())].into() }
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]
    #[test]
    fn what_was_written_is_read(table in table()) {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("results.parquet");
        table.write(&path).expect("written");
        prop_assert_eq!(Table::read(&path).expect("read"), table);
        prop_assert_eq!(fs::read_dir(directory.path()).expect("a directory").count(), 1, "nothing unfinished is left");
    }
}

#[test]
fn a_table_that_is_none_is_refused_and_the_old_file_stays() {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("results.parquet");
    fs::write(&path, "old").expect("a file");
    let error = |columns: Vec<Column>| {
        Table { columns, ..Table::default() }.write(&path).expect_err("no table").to_string()
    };
    let (short, long) = (Values::Number(vec![Some(1)]), Values::Number(vec![Some(1), None]));
    assert!(error(vec![]).ends_with("a table needs a column"));
    let lengths = error(vec![column("a", short.clone()), column("b", long)]);
    assert!(lengths.ends_with("column `b` has 2 rows, the first column 1"), "{lengths}");
    let names = error(vec![column("a", short.clone()), column("a", short)]);
    assert!(names.ends_with("there are two columns `a`"), "{names}");
    assert_eq!(fs::read(&path).expect("the file"), b"old");
}

#[test]
fn cells_as_text() {
    assert_eq!(Values::Bool(vec![Some(true)]).text(0).as_deref(), Some("true"));
    assert_eq!(Values::Number(vec![Some(u64::MAX)]).text(0).as_deref(), Some("18446744073709551615"));
    assert_eq!(Values::Real(vec![Some(0.1)]).text(0).as_deref(), Some("0.1"));
    assert_eq!(Values::Text(vec![None]).text(0), None);
    assert_eq!(Values::Text(vec![]).text(0), None);
}

#[test]
fn a_file_that_is_none_is_named() {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("results.parquet");
    let missing = Table::read(&path).expect_err("no file").to_string();
    assert!(missing.starts_with("cannot open `") && missing.contains("results.parquet"), "{missing}");
    fs::write(&path, "not Parquet").expect("a file");
    assert!(matches!(Table::read(&path), Err(TableError::Parquet(_))));
}

/// Of another program: columns of kinds that are not ours are left out, and the rest is read.
#[test]
fn columns_of_other_kinds_are_left_out() {
    use parquet::data_type::Int32Type;
    use parquet::file::properties::WriterProperties;
    use parquet::schema::parser::parse_message_type;
    let schema =
        "message x { required int32 small; required int64 signed (INTEGER(64,true)); required int64 plain;
        required int64 ours (INTEGER(64,false)); repeated double list; required boolean yes; }";
    let schema = parse_message_type(schema).expect("a schema");
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("other.parquet");
    let file = File::create(&path).expect("a file");
    let mut writer =
        SerializedFileWriter::new(file, schema.into(), WriterProperties::new().into()).expect("a table");
    // Two groups of rows.
    for rows in [[1, -1], [3, 4]] {
        let mut group = writer.next_row_group().expect("a group");
        for place in 0..6 {
            let mut column = group.next_column().expect("a column").expect("there is one more");
            match place {
                0 => column.typed::<Int32Type>().write_batch(&[1, 2], None, None),
                1..=3 => column.typed::<Int64Type>().write_batch(&rows, None, None),
                4 => column.typed::<DoubleType>().write_batch(&[0.5], Some(&[1, 0]), Some(&[0, 0])),
                _ => column.typed::<BoolType>().write_batch(&[true, false], None, None),
            }
            .expect("values");
            column.close().expect("closed");
        }
        group.close().expect("closed");
    }
    writer.close().expect("closed");
    let read = Table::read(&path).expect("a table");
    let ours = Values::Number(vec![Some(1), Some(u64::MAX), Some(3), Some(4)]);
    let yes = Values::Bool(vec![Some(true), Some(false), Some(true), Some(false)]);
    let named = |name: &str, values| Column { name: name.to_owned(), meaning: String::new(), values };
    assert_eq!(read.columns, [named("ours", ours), named("yes", yes)]);
    assert_eq!((read.rows(), read.column("small"), read.column("yes")), (4, None, Some(&read.columns[1])));
}
