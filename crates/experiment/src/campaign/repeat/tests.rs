use super::*;
use std::path::PathBuf;

/// Builds a pcap of packets with these times in microseconds and these first bytes.
fn pcap(packets: &[(u32, u8)]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for word in [0xa1b2_c3d4_u32, 0x0004_0002, 0, 0, 65_535, 101] {
        bytes.extend(word.to_le_bytes());
    }
    for (time, byte) in packets {
        for word in [0, *time, 4, 4] {
            bytes.extend(word.to_le_bytes());
        }
        bytes.extend([*byte, 0, 0, 0]);
    }
    bytes
}

struct Runs {
    _folder: tempfile::TempDir,
    first: PathBuf,
    second: PathBuf,
}

impl Runs {
    fn new(files: &[(&str, &[u8], &[u8])]) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let (first, second) = (folder.path().join("1"), folder.path().join("2"));
        for (name, one, other) in files {
            for (run, bytes) in [(&first, one), (&second, other)] {
                let path = run.join(name);
                fs::create_dir_all(path.parent().expect("a parent")).expect("created");
                fs::write(path, bytes).expect("written");
            }
        }
        Self { _folder: folder, first, second }
    }

    fn difference(&self) -> Option<String> {
        difference(&self.first, &self.second, "c000-r00")
    }
}

const RESULT: &str = "unfinished/c000-r00.json";

#[test]
fn equal_runs() {
    let capture = pcap(&[(1, 1)]);
    let runs = Runs::new(&[("captures/a.pcapng", &capture, &capture), (RESULT, b"{}", b"{}")]);
    assert_eq!(runs.difference(), None);
}

#[test]
fn the_first_packet_that_differs_is_named() {
    let one = pcap(&[(1, 1), (2, 2), (3, 3)]);
    let cases = [
        (pcap(&[(1, 1), (5, 2), (3, 3)]), "packet 2 is 3000 ns later"),
        (pcap(&[(1, 1), (2, 2), (3, 4)]), "packet 3 differs from byte 1 on"),
        (pcap(&[(1, 1), (2, 2)]), "packet 3 is missing in the second run"),
        (pcap(&[(1, 1), (2, 2), (3, 3), (4, 4)]), "packet 4 is only in the second run"),
    ];
    for (other, expected) in cases {
        let runs = Runs::new(&[("captures/a.pcapng", &one, &other), (RESULT, b"{}", b"{}")]);
        assert_eq!(runs.difference(), Some(format!("captures/a.pcapng: {expected}")));
    }
}

#[test]
fn other_files_and_missing_ones() {
    let runs = Runs::new(&[("logs/a", b"abc", b"abd"), (RESULT, b"{}", b"{}")]);
    assert_eq!(runs.difference(), Some("logs/a: byte 3 differs (the files have 3 and 3 bytes)".into()));
    let runs = Runs::new(&[(RESULT, b"{1}", b"{2}")]);
    assert_eq!(runs.difference(), Some("results: byte 2 differs (the files have 3 and 3 bytes)".into()));
    let runs = Runs::new(&[("logs/a", b"", b""), (RESULT, b"{}", b"{}")]);
    fs::remove_file(runs.second.join("logs/a")).expect("removed");
    assert!(runs.difference().is_some_and(|difference| difference.starts_with("logs/a: second run: ")));
}

/// Every field of a packet counts.
#[test]
fn how_packets_differ() {
    let one = Packet {
        interface: 1,
        time: capture::WallTime::from_nanos(500),
        length: 9,
        bytes: vec![1, 2, 3],
        comments: vec!["lost".to_owned()],
        inbound: None,
    };
    let difference = |other: &Packet| packet(&one, other);
    assert_eq!(difference(&one.clone()), None);
    let earlier = Packet { time: capture::WallTime::from_nanos(400), interface: 2, ..one.clone() };
    assert_eq!(difference(&earlier).as_deref(), Some("is 100 ns earlier"));
    let elsewhere = Packet { interface: 2, bytes: Vec::new(), ..one.clone() };
    assert_eq!(difference(&elsewhere).as_deref(), Some("is on interface 2 instead of 1"));
    let damaged = Packet { bytes: vec![1, 9, 3], comments: Vec::new(), ..one.clone() };
    assert_eq!(difference(&damaged).as_deref(), Some("differs from byte 2 on"));
    let longer = Packet { length: 10, ..one.clone() };
    assert_eq!(difference(&longer).as_deref(), Some("differs from byte 4 on"));
    let told = Packet { comments: Vec::new(), ..one.clone() };
    assert_eq!(difference(&told).as_deref(), Some("has the comments [] instead of [\"lost\"]"));
}

/// The headers of captures are no packets, but part of the comparison.
#[test]
fn captures_that_differ_in_their_headers() {
    let one = pcap(&[(1, 1)]);
    let mut other = one.clone();
    other[16] ^= 1;
    let runs = Runs::new(&[("captures/a.pcapng", &one, &other), (RESULT, b"{}", b"{}")]);
    assert_eq!(
        runs.difference().as_deref(),
        Some("captures/a.pcapng: the packets are equal, but not the other blocks")
    );
}

/// A capture shows the most, and results the least.
#[test]
fn captures_are_compared_first_and_results_last() {
    let (one, other) = (pcap(&[(1, 1)]), pcap(&[(2, 1)]));
    let files: [(&str, &[u8], &[u8]); 4] = [
        (RESULT, b"1", b"2"),
        ("logs/a", b"1", b"2"),
        ("events/a", b"1", b"2"),
        ("captures/a.pcapng", &one, &other),
    ];
    let names: Vec<_> = (1..=4)
        .map(|count| Runs::new(&files[..count]).difference().expect("a difference"))
        .map(|difference| difference.split(':').next().unwrap_or_default().to_owned())
        .collect();
    assert_eq!(names, ["results", "logs/a", "events/a", "captures/a.pcapng"]);
}
