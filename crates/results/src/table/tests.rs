use super::*;
use crate::LinkCounters;
use crate::example::{campaign, connection};

/// Two runs: one with two connections, and an overloaded one.
fn directory() -> Directory {
    let mut directory = campaign(&[(4, RunVerdict::Good, 0.1), (0, RunVerdict::Overloaded, 2.5)]);
    let round_trips =
        RoundTrips { samples: 3, min_ns: 1, mean_ns: 2, median_ns: 3, p95_ns: 4, p99_ns: 5, max_ns: 6 };
    directory.connections[0].push(Connection {
        number: 1,
        protocol: Protocol::Udp,
        from: "station".into(),
        from_port: 5000,
        error: Some("reset, \"at once\"".into()),
        established_ns: Some(u64::MAX),
        round_trips: Some(round_trips),
        ..connection("bulk", 7)
    });
    directory
}

#[test]
fn what_was_written_is_read() {
    let place = tempfile::tempdir().unwrap();
    let directory = Directory { path: place.path().into(), ..directory() };
    let path = write(&directory).unwrap();
    assert_eq!(path, place.path().join("results.parquet"));
    assert_eq!(Table::read(&path).unwrap(), of(&directory));
    write(&directory).unwrap();
}

#[test]
fn rows_say_where_they_belong() {
    let table = of(&directory());
    let names: Vec<_> = table.columns.iter().map(|column| column.name.as_str()).collect();
    assert_eq!(names[..6], ["cell", "factor.lite", "factor.loss", "repetition", "verdict", "workload"]);
    let text = |name: &str| -> Vec<String> {
        let values = &table.column(name).unwrap().values;
        (0..table.rows()).map(|row| values.text(row).unwrap_or_else(|| "-".into())).collect()
    };
    assert_eq!(text("cell"), ["4", "4", "0"]);
    assert_eq!(text("factor.lite"), ["on", "on", "off"]);
    assert_eq!(text("factor.loss"), ["one", "one", "none"]);
    assert_eq!(text("repetition"), ["0", "0", "1"]);
    assert_eq!(text("verdict"), ["good", "good", "overloaded"]);
    assert_eq!(text("protocol"), ["tcp", "udp", "tcp"]);
    assert_eq!(text("rtt_p95_ns"), ["-", "4", "-"]);
    assert_eq!(text("established_ns"), ["-", "18446744073709551615", "-"]);
    assert_eq!(text("goodput_bps"), ["0.1", "56", "2.5"]);
    let meaning = &table.column("goodput_bps").unwrap().meaning;
    assert_eq!(meaning, "`bytes` over the time from start_ns to end_ns, in bit/s");
}

/// A figure that some program reported is a column, empty in the rows of others.
#[test]
fn figures_of_programs_are_the_last_columns() {
    let mut directory = directory();
    assert!(of(&directory).columns.iter().all(|column| !column.name.starts_with("figure.")));
    directory.connections[0][1].figures = BTreeMap::from([("load_s".into(), 1.5), ("stalls".into(), 2.0)]);
    let table = of(&directory);
    let [.., load, stalls] = &table.columns[..] else { panic!("columns") };
    assert_eq!((load.name.as_str(), stalls.name.as_str()), ("figure.load_s", "figure.stalls"));
    assert_eq!(load.meaning, "figure `load_s` that the program reported, in s");
    assert_eq!(stalls.meaning, "figure `stalls` that the program reported");
    assert_eq!(load.values, Values::Real(vec![None, Some(1.5), None]));
}

/// The table has a column for every field of [`Connection`], as its JSON names them.
#[test]
fn every_field_of_a_connection_has_a_column() {
    let full = Connection {
        round_trips: Some(RoundTrips::default()),
        sessions: Some(SessionCounts::default()),
        ..Connection::default()
    };
    let serde_json::Value::Object(fields) = serde_json::to_value(full).unwrap() else { panic!("an object") };
    let mut expected = Vec::new();
    for (name, value) in fields {
        match value {
            serde_json::Value::Object(parts) => {
                let prefix = if name == "round_trips" { "rtt" } else { name.as_str() };
                expected.extend(parts.keys().map(|part| format!("{prefix}_{part}")));
            }
            _ => expected.push(name),
        }
    }
    let mut columns: Vec<_> = BEHIND[2..].iter().map(|field| field.name.to_owned()).collect();
    expected.sort_unstable();
    columns.sort_unstable();
    assert_eq!(columns, expected);
}

#[test]
fn what_tcp_lite_did_stands_in_each_row_of_its_run() {
    let mut directory = directory();
    let discarded = [("header-length".to_owned(), 2)].into();
    let totals = LiteTotals { damaged: 9, accepted: 7, discarded, ..LiteTotals::default() };
    directory.manifest.runs[0].lite = Some(totals);
    let table = of(&directory);
    let numbers = |name: &str| match &table.column(name).unwrap().values {
        Values::Number(values) => values.clone(),
        other => panic!("{other:?}"),
    };
    assert_eq!(numbers("lite_damaged"), [Some(9), Some(9), None]);
    assert_eq!(numbers("lite_discarded_header_length"), [Some(2), Some(2), None]);
    assert_eq!(numbers("lite_discarded_ip"), [Some(0), Some(0), None], "known to be none");
}

/// The same for the fields of [`LiteTotals`], and for every reason.
#[test]
fn every_counter_of_tcp_lite_has_a_column() {
    let serde_json::Value::Object(fields) = serde_json::to_value(LiteTotals::default()).unwrap() else {
        panic!("an object")
    };
    let counters = fields.keys().filter(|name| *name != "discarded").map(|name| format!("lite_{name}"));
    let reasons =
        crate::tcp_lite::REASONS.map(|reason| format!("lite_discarded_{}", reason.replace('-', "_")));
    let mut expected: Vec<_> = counters.chain(reasons).collect();
    let mut columns: Vec<_> = LITE.iter().map(|field| field.name.to_owned()).collect();
    expected.sort_unstable();
    columns.sort_unstable();
    assert_eq!(columns, expected);
}

/// Each counter of [`LinkLayerCounters`] has a column, the sum over all links and directions of the
/// run; it is empty without a link layer.
#[test]
fn every_counter_of_link_layers_has_a_column() {
    let counted = |n| LinkLayerCounters {
        frames: n,
        again: n + 1,
        erased: n + 2,
        rejects: n + 3,
        resets: n + 4,
        stalls: n + 5,
    };
    let serde_json::Value::Object(sums) =
        serde_json::to_value([counted(10), counted(100)].into_iter().sum::<LinkLayerCounters>()).unwrap()
    else {
        panic!("an object")
    };
    let mut directory = directory();
    let way = |link_layer| LinkCounters {
        link: "gsm".into(),
        direction: "up".into(),
        profile: String::new(),
        packets: 0,
        lost: BTreeMap::new(),
        damaged: 0,
        duplicated: 0,
        reordered: 0,
        bytes: 0,
        delivered_bytes: 0,
        delay_mean_ns: None,
        waiting_mean_ns: None,
        link_layer,
    };
    let column = |directory: &Directory, name: &str| match of(directory)
        .column(name)
        .map(|column| column.values.clone())
    {
        Some(Values::Number(cells)) => cells,
        other => panic!("{name}: {other:?}"),
    };
    for (name, sum) in &sums {
        let name = format!("link_layer_{name}");
        assert!(LINK_LAYER.iter().any(|field| field.name == name), "{name}");
        assert!(column(&directory, &name).iter().all(Option::is_none), "{name}");
        let before = directory.manifest.runs.clone();
        for run in &mut directory.manifest.runs {
            run.links = vec![way(Some(counted(10))), way(None), way(Some(counted(100)))];
        }
        assert!(column(&directory, &name).iter().all(|cell| *cell == sum.as_u64()), "{name}");
        directory.manifest.runs = before;
    }
    assert_eq!(LINK_LAYER.len(), sums.len());
}

#[test]
fn words_are_those_of_the_manifest() {
    for (ours, theirs) in [
        (verdict(&crate::example::run(0, 0)), serde_json::to_value(RunVerdict::Good)),
        (protocol(&connection("bulk", 0)), serde_json::to_value(Protocol::Tcp)),
    ] {
        assert_eq!(theirs.unwrap(), ours);
    }
    assert_eq!(units()["goodput_bps"], "bit/s");
    assert!(!units().contains_key("cell"));
}

#[test]
fn csv_has_the_same_cells() {
    let table = of(&directory());
    let mut bytes = Vec::new();
    write_csv(&table, &mut bytes).unwrap();
    let mut reader = csv::Reader::from_reader(bytes.as_slice());
    let names: Vec<_> = reader.headers().unwrap().iter().map(str::to_owned).collect();
    assert_eq!(names, table.columns.iter().map(|column| column.name.clone()).collect::<Vec<_>>());
    let rows: Vec<_> = reader.records().map(Result::unwrap).collect();
    assert_eq!(rows.len(), 3);
    for (number, row) in rows.iter().enumerate() {
        for (cell, column) in row.iter().zip(&table.columns) {
            assert_eq!(cell, column.values.text(number).unwrap_or_default(), "{} of {number}", column.name);
        }
    }
}

#[test]
fn a_campaign_without_runs_has_the_columns() {
    let place = tempfile::tempdir().unwrap();
    let directory = Directory { path: place.path().into(), ..campaign(&[]) };
    let table = Table::read(&write(&directory).unwrap()).unwrap();
    assert_eq!((table.rows(), table.columns.len()), (0, of(&directory).columns.len()));
    assert!(table.column("factor.loss").is_some());
}
