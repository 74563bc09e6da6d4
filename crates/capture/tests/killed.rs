//! Everything that had reached the disk can be read after `kill -9` of a real process.

use capture::fates::{self, Record};
use capture::{
    CaptureTo, Direction, EndedPacket, Header, Layer, LinkId, LinkInfo, Recorder, RecorderOptions, Sending,
    Span, Time, WallTime, WayInfo,
};
use capture::{packets, table};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// Environment variable with the directory to which the killed process writes.
const PLACE: &str = "LASTHOP_TEST_KILLED";

/// Records until it is killed. Does nothing unless the test below started it.
#[test]
fn the_process_that_is_killed() {
    let Some(dir) = std::env::var_os(PLACE) else { return };
    let dir = Path::new(&dir);
    let link = LinkInfo {
        id: LinkId(0),
        name: "wlan".to_owned(),
        layer: Layer::Ip,
        mtu: 1500,
        up: WayInfo::default(),
        down: WayInfo::default(),
    };
    let header = Header::new("test", WallTime::from_nanos(0), 1, vec![link]);
    let options = RecorderOptions {
        capture: Some(CaptureTo::Path(dir.join("x.pcapng"))),
        events: Some(dir.join("x.parquet")),
        age: Span::from_nanos(10_000),
        ..RecorderOptions::default()
    };
    let mut recorder = Recorder::start(header, options).expect("started");
    for number in 0..200_000 {
        let (arrived, left) = (Time::from_nanos(number * 1_000), Time::from_nanos(number * 1_000 + 500));
        recorder.entered(LinkId(0), Direction::Up, number, arrived, 100, &[0x45; 100]);
        let ended = EndedPacket {
            sending: Sending { start: arrived, end: left },
            ..EndedPacket::untouched(LinkId(0), Direction::Up, number, 100, arrived, left)
        };
        recorder.ended(&ended, &[0x45; 100]);
        recorder.settled(left);
        // About a tenth of a millisecond per packet: slow enough to be killed on the way, and not
        // to fill the disk.
        if number % 100 == 0 {
            std::thread::sleep(Duration::from_millis(1));
        }
    }
    // Nothing killed it. It ends without closing any file all the same.
    std::process::exit(0);
}

#[test]
fn what_was_on_the_disk_is_read() {
    let dir = tempfile::tempdir().expect("a directory");
    let mut child = Command::new(std::env::current_exe().expect("this program"))
        .args(["--exact", "the_process_that_is_killed"])
        .env(PLACE, dir.path())
        .stdout(Stdio::null())
        .spawn()
        .expect("a process");
    let events = dir.path().join("x.parquet");
    let log = table::log_path(&events);
    let fates_now = || fates::LogReader::open(&log).map_or(0, Iterator::count);
    let begun = Instant::now();
    while fates_now() < 1_000 {
        assert!(begun.elapsed() < Duration::from_mins(1), "nothing comes");
        std::thread::sleep(Duration::from_millis(2));
    }
    child.kill().expect("killed");
    child.wait().expect("it was there");

    let in_log = fates::LogReader::open(&log)
        .expect("a log")
        .filter(|record| matches!(record, Ok(Record::Row(_))))
        .count();
    assert!(in_log >= 1_000);
    let recovered = table::recover::<capture::Fate>(&events).expect("recovered");
    assert_eq!(recovered.rows, in_log as u64);
    let numbers: Vec<u64> =
        fates::Reader::open(&events).expect("a table").map(|fate| fate.expect("a fate").number).collect();
    assert!(numbers.iter().copied().eq(0..in_log as u64), "a prefix of what happened");
    assert!(!log.exists());

    let mut capture = packets::Reader::open(&dir.path().join("x.pcapng")).expect("a capture");
    let comments: Vec<_> = capture.by_ref().map(|packet| packet.expect("a packet").comments).collect();
    assert!(comments.len() >= 1_000, "{} {:?}", comments.len(), capture.tail());
    assert_eq!(comments[1], ["lasthop: up #0 delivered after 0.0005 ms"]);
}
