//! TL-16: every field that tcptrace prints of a connection has the same value here, on captures of
//! real runs.
//!
//! `captures/make` shows how each capture and the `.tcptrace` file beside it were made. Where
//! tcptrace is wrong, the difference is in [`DIFFERENCES`] with its reason. Each of these must
//! occur, so that the list has no superfluous ones.

use capture_analysis::analysis::{self, AnalysisOptions, Unwatched};
use capture_analysis::long::Long;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// A field in which tcptrace is wrong.
struct Difference {
    label: &'static str,
    reason: &'static str,
    /// Returns whether these lines differ in this way.
    explains: fn(theirs: &str, ours: &str) -> bool,
}

const DIFFERENCES: &[Difference] = &[
    Difference {
        label: "mss requested",
        reason: "tcptrace takes the 16 bits for a signed number: 65495 becomes 4294967255",
        explains: |theirs, ours| {
            let value = |word: &str| word.parse::<u32>().unwrap_or(0);
            let words = theirs.split_whitespace().zip(ours.split_whitespace());
            words.into_iter().all(|(theirs, ours)| {
                theirs == ours || value(theirs) == (value(ours) as u16).cast_signed() as u32
            })
        },
    },
    Difference {
        label: "host",
        reason: "tcptrace cuts IPv6 addresses off: ::1 becomes :0001",
        explains: |theirs, ours| theirs.replace(":0001:", "::1:") == ours,
    },
    Difference {
        label: "ttl stream length",
        reason: "when a reset follows the FIN, tcptrace takes the number of the reset for the end of the data",
        explains: one_more,
    },
    Difference {
        label: "missed data",
        reason: "the same: the FIN counts as a byte of data that was not captured",
        explains: one_more,
    },
    Difference {
        label: "elapsed time",
        reason: "tcptrace reckons microseconds in floating point and cuts, so that it is sometimes one short",
        explains: |theirs, ours| {
            let micros = |line: &str| -> Option<u64> {
                let mut parts = line.rsplit(' ').next()?.split([':', '.']);
                let mut next = || parts.next()?.parse::<u64>().ok();
                Some(((next()? * 60 + next()?) * 60 + next()?) * 1_000_000 + next()?)
            };
            micros(theirs).zip(micros(ours)).is_some_and(|(theirs, ours)| theirs + 1 == ours)
        },
    },
];

/// Returns whether each of their numbers is ours, or one more.
fn one_more(theirs: &str, ours: &str) -> bool {
    let value = |word: &str| word.parse::<u64>().ok();
    theirs.split_whitespace().zip(ours.split_whitespace()).all(|(theirs, ours)| {
        theirs == ours || value(ours).is_some_and(|ours| value(theirs) == Some(ours + 1))
    })
}

fn captures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/captures")
}

/// Returns our report on interface `interface` of the capture `name`, called `shown`.
fn ours(name: &str, interface: usize, shown: &str) -> Vec<String> {
    let options = AnalysisOptions { interface: Some(interface.to_string()), ..AnalysisOptions::default() };
    let trace = analysis::read(&captures().join(name), &options, &mut Unwatched).expect("a capture");
    let interface = &trace.interfaces[0];
    let connections = interface.connections.all().iter().enumerate();
    let blocks: Vec<_> = connections
        .map(|(index, connection)| {
            Long { connection, number: index + 1, end: interface.end(), file: shown }.to_string()
        })
        .collect();
    blocks.join("================================\n").lines().map(ToOwned::to_owned).collect()
}

/// Compares with tcptrace's report; returns the labels of the differences that occurred.
fn compare(name: &str, interface: usize, oracle: &str, shown: &str) -> BTreeSet<&'static str> {
    let theirs = std::fs::read_to_string(captures().join(oracle)).expect("the oracle");
    let (theirs, ours) = (theirs.lines().collect::<Vec<_>>(), ours(name, interface, shown));
    let mut met = BTreeSet::new();
    for (theirs, ours) in theirs.iter().zip(&ours).filter(|(theirs, ours)| *theirs != ours) {
        let difference = DIFFERENCES.iter().find(|difference| {
            theirs.trim_start().starts_with(difference.label) && (difference.explains)(theirs, ours)
        });
        let difference =
            difference.unwrap_or_else(|| panic!("{name}:\ntcptrace: {theirs}\nlasthop:  {ours}"));
        assert!(!difference.reason.is_empty());
        met.insert(difference.label);
    }
    assert_eq!(theirs.len(), ours.len(), "{name}: lines");
    met
}

#[test]
fn tl_16_every_field_of_tcptrace_is_the_same() {
    let mut met = BTreeSet::new();
    let mut compared = 0;
    let mut names: Vec<_> = std::fs::read_dir(captures())
        .expect("the folder")
        .map(|entry| entry.expect("an entry").file_name().into_string().expect("a name"))
        .filter(|name| name.ends_with(".tcptrace"))
        .collect();
    names.sort();
    for oracle in &names {
        let parts: Vec<_> = oracle.split('.').collect();
        let (name, interface) = match parts[..] {
            [name, interface, _] => (format!("{name}.pcapng"), interface.parse().expect("a number")),
            [name, _] => (format!("{name}.pcap"), 0),
            _ => panic!("{oracle}: NAME.tcptrace or NAME.INTERFACE.tcptrace"),
        };
        met.extend(compare(&name, interface, oracle, &name));
        compared += 1;
    }
    assert!(compared >= 14, "{names:?}");
    let listed: BTreeSet<_> = DIFFERENCES.iter().map(|difference| difference.label).collect();
    assert_eq!(met, listed, "differences that do not occur have no place in the list");
}

/// Duplicate acknowledgments as tshark counts them, in tcptrace's column: that of the data that
/// they acknowledge.
#[test]
fn tl_16_duplicate_acknowledgments_are_those_of_tshark() {
    let mut compared = 0;
    for name in ["errors", "outage", "disorder", "windows"] {
        for interface in [0, 1] {
            let oracle = captures().join(format!("{name}.{interface}.tshark"));
            let oracle = std::fs::read_to_string(oracle).expect("the oracle");
            let (from, theirs) = oracle.trim().split_once(' ').expect("an address and a number");
            let options =
                AnalysisOptions { interface: Some(interface.to_string()), ..AnalysisOptions::default() };
            let path = captures().join(format!("{name}.pcapng"));
            let trace = analysis::read(&path, &options, &mut Unwatched).expect("a capture");
            let connection = &trace.interfaces[0].connections.all()[0];
            for [half, other] in [[0, 1], [1, 0]] {
                let is_sender = connection.end(other).ip().to_string() == from;
                let expected = if is_sender { theirs.parse().expect("a number") } else { 0 };
                assert_eq!(connection.halves[half].counts.duplicate_acks, expected, "{name}.{interface}");
                compared += expected;
            }
        }
    }
    assert!(compared > 100, "{compared}");
}

#[test]
fn tl_16_the_kind_of_link_makes_no_difference() {
    for name in ["vlan.pcap", "raw.pcap", "null.pcap", "cooked2.pcap"] {
        compare(name, 0, "ethernet.tcptrace", "ethernet.pcap");
    }
}

#[test]
fn tl_16_the_fields_of_the_reference_connection() {
    // Appendix D of the TCP Lite thesis: every field that it names is printed, for both directions.
    let fields = [
        "host a",
        "complete conn",
        "first packet",
        "last packet",
        "elapsed time",
        "total packets",
        "filename",
        "ack pkts sent",
        "pure acks sent",
        "unique bytes sent",
        "actual data pkts",
        "actual data bytes",
        "rexmt data pkts",
        "rexmt data bytes",
        "outoforder pkts",
        "pushed data pkts",
        "SYN/FIN pkts sent",
        "req 1323 ws/ts",
        "adv wind scale",
        "req sack",
        "sacks sent",
        "mss requested",
        "max segm size",
        "min segm size",
        "avg segm size",
        "max win adv",
        "min win adv",
        "zero win adv",
        "avg win adv",
        "initial window",
        "ttl stream length",
        "missed data",
        "truncated data",
        "truncated packets",
        "data xmit time",
        "idletime max",
        "throughput",
    ];
    let text = ours("errors.pcapng", 0, "errors.pcapng").join("\n");
    for field in fields {
        assert!(text.contains(&format!("{field}:")), "{field} in\n{text}");
    }
    // The throughput there is unique bytes by elapsed time: 51 200 B in 50.427 s are 1015 B/s.
    assert_eq!(format!("{:.0}", 51_200.0 / 50.427), "1015");
}

#[test]
fn a_capture_cut_off_is_analysed_up_to_there() {
    let whole = std::fs::read(captures().join("errors.pcapng")).expect("a capture");
    let read = |bytes: &[u8]| {
        let reader = capture::packets::Reader::new(bytes).expect("a capture");
        analysis::analyse(reader, Path::new("cut"), &AnalysisOptions::default(), &mut Unwatched)
            .expect("no I/O error")
    };
    let all = read(&whole);
    let cut = read(&whole[..whole.len() / 2]);
    assert!(matches!(cut.tail, capture::Tail::Truncated { .. }), "{:?}", cut.tail);
    let seen = |trace: &capture_analysis::Trace| trace.interfaces[0].packets.seen;
    assert!(seen(&cut) > 50 && seen(&cut) < seen(&all));
}

#[test]
fn an_interface_that_is_not_there_is_named_with_those_that_are() {
    let options = AnalysisOptions { interface: Some("eth7".to_owned()), ..AnalysisOptions::default() };
    let error =
        analysis::read(&captures().join("errors.pcapng"), &options, &mut Unwatched).expect_err("none");
    let text = error.to_string();
    assert!(text.contains("`eth7`") && text.contains("0 (") && text.contains("1 ("), "{text}");
}
