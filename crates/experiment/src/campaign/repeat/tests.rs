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
