//! The time-sequence graph of a real run, and the true cause of each loss in it (L34, TL-16).

use capture::fates::Reader;
use capture_analysis::sequence::{self, Mark, PointKind, TimeSequence};
use std::path::{Path, PathBuf};

/// Interfaces of a capture of lasthop: the wireless host's end, and the network's.
const HOST: &str = "0";
const NETWORK: &str = "1";

fn file(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/captures").join(name)
}

fn read(name: &str, interface: &str, limit: usize) -> TimeSequence {
    sequence::read(&file(name), Some(interface), 1, limit).expect("a connection")
}

#[test]
fn every_lost_segment_is_marked_with_its_cause_and_was_sent_again() {
    let mut sequence = read("errors.pcapng", NETWORK, 100_000);
    sequence.mark_losses(&file("errors.parquet")).expect("an event log");
    let lost = Reader::open(&file("errors.parquet")).expect("an event log");
    let lost = lost.filter(|fate| fate.as_ref().is_ok_and(|fate| fate.lost.is_some() || fate.is_damaged()));
    let marked: usize = sequence.series.iter().map(|series| series.losses.len()).sum();
    assert_eq!(marked, lost.count());
    let down = &sequence.series[1];
    let data: Vec<_> = down.losses.iter().filter(|loss| loss.last > loss.first).collect();
    assert!(!data.is_empty());
    for loss in data {
        assert!(!loss.link.is_empty());
        let times =
            down.segments.iter().filter(|segment| segment.first <= loss.first && loss.last <= segment.last);
        let (mut before, mut after) = (0, 0);
        times.for_each(|segment| if segment.time_ns <= loss.time_ns { before += 1 } else { after += 1 });
        assert!(before > 0, "{loss:?} was never sent");
        assert!(after > 0 || loss.reason.contains("run ended"), "{loss:?} was never sent again");
    }
}

#[test]
fn the_sender_sees_retransmissions_where_the_receiver_sees_holes_filled() {
    let count = |interface, kind| {
        let sequence = read("errors.pcapng", interface, 100_000);
        sequence.series[1].segments.iter().filter(|segment| segment.kind == kind).count()
    };
    assert!(count(NETWORK, PointKind::Retransmission) > 0);
    assert!(count(HOST, PointKind::OutOfOrder) > 0);
    assert_eq!(count(NETWORK, PointKind::OutOfOrder), 0);
}

#[test]
fn a_graph_begins_with_syn_and_acknowledgments_rise() {
    let sequence = read("errors.pcapng", HOST, 100_000);
    for series in &sequence.series {
        assert_eq!((series.segments[0].first, series.segments[0].last), (0, 1));
        assert!(series.marks.iter().any(|mark| mark.mark == Mark::Syn && mark.sequence == 0));
        assert!(series.acks.windows(2).all(|pair| pair[0].time_ns <= pair[1].time_ns));
        assert!(series.acks.iter().all(|ack| ack.ack <= ack.edge));
    }
    let stream = &sequence.series[1];
    let highest = stream.segments.iter().map(|segment| segment.last).max();
    assert_eq!(highest, stream.acks.iter().map(|ack| ack.ack).max());
    assert!(stream.acks.iter().any(|ack| ack.duplicates == 3), "a third duplicate");
}

#[test]
fn a_limit_keeps_ends_and_retransmissions() {
    let whole = read("errors.pcapng", NETWORK, 100_000);
    let thinned = read("errors.pcapng", NETWORK, 60);
    let (whole, thinned) = (&whole.series[1], &thinned.series[1]);
    assert!(whole.segments.len() > 200 && thinned.segments.len() <= 60);
    assert_eq!(thinned.totals.segments, whole.segments.len() as u64);
    assert_eq!(thinned.segments.first(), whole.segments.first());
    assert_eq!(thinned.segments.last(), whole.segments.last());
    let again = |series: &sequence::Series| {
        series.segments.iter().filter(|segment| segment.kind == PointKind::Retransmission).count()
    };
    assert_eq!(again(thinned), again(whole));
}

#[test]
fn connections_are_found_by_their_ends_too() {
    let one = read("errors.pcapng", HOST, 1000);
    let ends = (one.series[0].to, one.series[0].from);
    let path = file("errors.pcapng");
    let same = sequence::read_between(&path, Some(HOST), ends, 1000).expect("a capture");
    assert_eq!(same, Some(one));
    let error = sequence::read(&path, None, 99, 1000).expect_err("no such connection");
    assert!(error.to_string().contains("no connection 99"), "{error}");
    assert!(sequence::read(&path, None, 0, 1000).is_err());
}

#[test]
fn graphs_for_xplot_have_the_elements_of_tcptrace() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut sequence = read("errors.pcapng", NETWORK, 100_000);
    sequence.mark_losses(&file("errors.parquet")).expect("an event log");
    let [_, back] = capture_analysis::xpl::write(folder.path(), &sequence).expect("written");
    assert_eq!(back.file_name().and_then(|name| name.to_str()), Some("b2a_tsg.xpl"));
    let text = std::fs::read_to_string(back).expect("a graph");
    for element in [
        "timeval unsigned",
        "SYN",
        "darrow ",
        "uarrow ",
        "diamond ",
        "green",
        "yellow",
        "purple",
        "red",
        "\nR\n",
        "\nS\n",
        "\n3\n",
        "magenta",
    ] {
        assert!(text.contains(element), "{element}");
    }
    assert!(text.ends_with("go\n"));
}
