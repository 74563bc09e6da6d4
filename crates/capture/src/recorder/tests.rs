use super::*;
use crate::event::{Fate, Outcome};
use crate::example;
use crate::fates;
use crate::packets;
use std::io::{self, Write};
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex};
use vocabulary::Loss;

const LINK: LinkId = LinkId(0);

fn at(nanos: u64) -> Time {
    Time::from_nanos(nanos)
}

/// A disk that accepts every write at once and keeps the bytes.
#[derive(Clone, Default)]
struct Kept(Arc<Mutex<Vec<u8>>>);

impl Write for Kept {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().expect("no panic").extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A disk that blocks until the emulator has had to wait for it.
struct Slow {
    live: Receiver<Live>,
    disk: Kept,
}

impl Write for Slow {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if let Ok(live) = self.live.recv() {
            while live.stalls() == 0 {
                std::thread::yield_now();
            }
        }
        self.disk.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A disk that is full after `left` more bytes.
struct Full {
    left: usize,
    disk: Kept,
}

impl Write for Full {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if bytes.len() > self.left {
            return Err(io::Error::from(io::ErrorKind::StorageFull));
        }
        self.left -= bytes.len();
        self.disk.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn to(disk: impl Write + Send + 'static) -> CaptureTo {
    CaptureTo::Writer(Box::new(disk))
}

/// Records `count` packets of 1000 bytes, one a microsecond, each 10 us in transit, every tenth
/// lost.
fn drive(recorder: &mut Recorder, count: u64) {
    for number in 0..count {
        let now = number * 1_000;
        let bytes = [number as u8; 1000];
        recorder.entered(LINK, Direction::Down, number, at(now), 1000, &bytes);
        let outcome = if number % 10 == 0 { Outcome::Lost(Loss::Outage) } else { Outcome::Delivered };
        if number >= 10 {
            let ended =
                EndedPacket { length: 1000, outcome, ..example::delivered(number - 10, now - 10_000, now) };
            recorder.ended(&ended, &bytes);
        }
        recorder.settled(at(now));
    }
}

fn packets(disk: &Kept) -> Vec<packets::Packet> {
    let bytes = disk.0.lock().expect("no panic").clone();
    packets::Reader::new(&bytes[..]).expect("a capture").map(|packet| packet.expect("no I/O error")).collect()
}

#[test]
fn capture_event_log_and_counters_agree() {
    let dir = tempfile::tempdir().expect("a directory");
    let (capture, events) = (dir.path().join("x.pcapng"), dir.path().join("x.parquet"));
    let options = RecorderOptions {
        capture: Some(CaptureTo::Path(capture.clone())),
        events: Some(events.clone()),
        ..RecorderOptions::default()
    };
    let mut recorder = Recorder::start(example::header(), options).expect("started");
    drive(&mut recorder, 5_000);
    recorder.note(at(5_000_000), "enough");
    let closed = recorder.close(at(6_000_000)).expect("closed");

    let way = closed.summary.way(LINK, Direction::Down);
    assert_eq!((way.packets, way.bytes, way.delivered, way.lost), (5_000, 5_000_000, 4_491, 499));
    let packets: Vec<_> =
        packets::Reader::open(&capture).expect("a capture").map(|packet| packet.expect("a packet")).collect();
    assert_eq!(packets.len() as u64, way.packets + way.delivered);
    assert_eq!(closed.capture.expect("a capture").report.records, packets.len() as u64);
    assert!(packets.is_sorted_by_key(|packet| packet.time));
    let in_flight =
        packets.iter().filter(|packet| packet.comments[0].ends_with("in flight at the end")).count();
    assert_eq!(in_flight, 10);
    assert!(packets.iter().all(|packet| packet.bytes.len() == 1000));

    let reader = fates::Reader::open(&events).expect("a table");
    assert_eq!(reader.notes()[0].text, "enough");
    let fates: Vec<Fate> = reader.map(|fate| fate.expect("a fate")).collect();
    assert_eq!(fates.len() as u64, way.delivered + way.lost);
    assert_eq!(closed.events, Some(Logged { path: events, fates: fates.len() as u64 }));
    assert!(fates.iter().enumerate().all(|(place, fate)| fate.number == place as u64));
    assert_eq!(std::fs::read_dir(dir.path()).expect("the directory").count(), 2, "nothing else is left");
}

/// A capture of a part of a run has the packets that entered meanwhile, whole and with their fates,
/// and nothing of a packet that was inside when it began.
#[test]
fn a_capture_can_begin_and_end_during_the_run() {
    let dir = tempfile::tempdir().expect("a directory");
    let path = dir.path().join("part.pcapng");
    let mut recorder = Recorder::start(example::header(), RecorderOptions::default()).expect("started");
    let live = recorder.live();
    assert!(!recorder.wants_bytes());
    let enter = |recorder: &mut Recorder, number: u64| {
        recorder.entered(LINK, Direction::Down, number, at(10 * number), 1000, &[7; 1000]);
    };
    let leave = |recorder: &mut Recorder, number: u64| {
        let (entered, left) = (at(10 * number), at(10 * number + 25));
        recorder
            .ended(&EndedPacket::untouched(LINK, Direction::Down, number, 1000, entered, left), &[7; 1000]);
    };
    enter(&mut recorder, 0);
    // The first bytes of this one are recorded, for the flows.
    live.watched(|watched| assert_eq!(watched.flows().count(), 0));
    enter(&mut recorder, 2);
    live.capture(&path).expect("begun");
    assert!(recorder.wants_bytes());
    assert_eq!(live.captures_to().as_ref(), Some(&path));
    enter(&mut recorder, 1);
    for number in 0..3 {
        leave(&mut recorder, number);
    }
    recorder.settled(at(100));
    recorder.flush();
    live.catch_up();
    assert_eq!(live.summary().way(LINK, Direction::Down).delivered, 3);
    let captured = live.stop().expect("written").expect("a capture");
    assert_eq!((captured.path.as_ref(), live.captures_to()), (Some(&path), None));
    enter(&mut recorder, 9);
    recorder.close(at(200)).expect("closed");
    let packets = packets::Reader::open(&path).expect("a capture");
    let packets: Vec<_> = packets.map(|packet| packet.expect("a packet")).collect();
    assert_eq!(packets.len(), 2, "{packets:?}");
    let of_one = |packet: &packets::Packet| packet.comments[0].contains("down #1 ");
    assert!(packets.iter().all(|packet| packet.bytes == [7; 1000] && of_one(packet)), "{packets:?}");
}

#[test]
fn a_slow_disk_makes_the_caller_wait_and_is_counted() {
    let (give, live) = channel();
    let disk = Kept::default();
    // Two chunks, the minimum.
    let options = RecorderOptions {
        capture: Some(to(Slow { live, disk: disk.clone() })),
        memory: 0,
        ..RecorderOptions::default()
    };
    let mut recorder = Recorder::start(example::header(), options).expect("started");
    assert_eq!(recorder.stalls(), Stalls::default());
    give.send(recorder.live()).expect("the disk is there");
    drop(give);
    drive(&mut recorder, 5_000);
    let stalls = recorder.stalls();
    assert!(stalls.count > 0 && stalls.waited > Duration::ZERO, "{stalls:?}");
    let closed = recorder.close(at(6_000_000)).expect("closed");
    assert!(closed.stalls.count >= stalls.count);
    let way = closed.summary.way(LINK, Direction::Down);
    assert_eq!(packets(&disk).len() as u64, way.packets + way.delivered, "nothing is left out");
    assert_eq!(closed.capture.expect("a capture").report.without_fate, 0);
}

#[test]
fn a_full_disk_is_told_at_the_end_and_the_counters_go_on() {
    let disk = Kept::default();
    let full = Full { left: 1_000_000, disk: disk.clone() };
    let options = RecorderOptions { capture: Some(to(full)), ..RecorderOptions::default() };
    let mut recorder = Recorder::start(example::header(), options).expect("started");
    drive(&mut recorder, 5_000);
    let error = recorder.close(at(6_000_000)).expect_err("the disk is full");
    assert_eq!(error.recorded.summary.way(LINK, Direction::Down).packets, 5_000);
    assert_eq!(error.recorded.capture, None);
    assert!(matches!(&error.errors[..], [RecordError::Write { what: "capture", .. }]), "{error:?}");
    let text = error.to_string();
    assert!(
        text.starts_with("cannot write the capture from 0.00") && text.contains("no storage space"),
        "{text}"
    );
    assert!(packets(&disk).len() > 500, "what was written can be read");
}

#[test]
fn records_go_to_the_disk_when_they_are_old_enough() {
    let disk = Kept::default();
    let options = RecorderOptions {
        capture: Some(to(disk.clone())),
        age: crate::Span::from_nanos(500),
        ..RecorderOptions::default()
    };
    let mut recorder = Recorder::start(example::header(), options).expect("started");
    assert_eq!(recorder.due(), Time::NEVER);
    recorder.entered(LINK, Direction::Up, 0, at(1_000), 4, b"abcd");
    let ended = EndedPacket { direction: Direction::Up, ..example::delivered(0, 1_000, 1_200) };
    recorder.ended(&ended, b"abcd");
    recorder.settled(at(1_200));
    assert_eq!(recorder.due(), at(1_500));
    recorder.settled(at(1_499));
    assert_eq!(recorder.due(), at(1_500));
    recorder.settled(at(1_500));
    assert_eq!(recorder.due(), Time::NEVER, "idle: nothing to wake up for");
    recorder.settled(at(9_000));
    assert_eq!(recorder.due(), Time::NEVER);
    // The chunk is being written. Closing waits for it and adds no records.
    let live = recorder.live();
    let closed = recorder.close(at(10_000)).expect("closed");
    assert_eq!(live.summary(), closed.summary);
    assert_eq!(packets(&disk).len(), 2);
}

#[test]
fn the_log_of_another_run_is_not_overwritten() {
    let dir = tempfile::tempdir().expect("a directory");
    let events = dir.path().join("x.parquet");
    let options = || RecorderOptions { events: Some(events.clone()), ..RecorderOptions::default() };
    let first = Recorder::start(example::header(), options()).expect("started");
    let refused = Recorder::start(example::header(), options()).err().expect("refused");
    assert!(
        matches!(&refused, RecordError::LeftOver { path } if *path == crate::table::log_path(&events)),
        "{refused}"
    );
    first.close(at(1)).expect("closed");
    Recorder::start(example::header(), options()).expect("the first is done").close(at(1)).expect("closed");
}

#[test]
fn a_file_that_cannot_be_created_is_named() {
    let path = PathBuf::from("/nonexistent/x.pcapng");
    let options = RecorderOptions { capture: Some(CaptureTo::Path(path)), ..RecorderOptions::default() };
    let error = Recorder::start(example::header(), options).err().expect("no such directory").to_string();
    assert!(error.starts_with("cannot create the capture `/nonexistent/x.pcapng`: "), "{error}");
}

#[test]
fn stages_are_named_as_they_are_when_the_packet_ends() {
    let dir = tempfile::tempdir().expect("a directory");
    let events = dir.path().join("x.parquet");
    let options = RecorderOptions { events: Some(events.clone()), ..RecorderOptions::default() };
    let mut recorder = Recorder::start(example::header(), options).expect("started");
    let lost = |number| EndedPacket {
        outcome: Outcome::Lost(Loss::Error),
        stage: Some(2),
        ..example::delivered(number, 5, 9)
    };
    recorder.ended(&lost(0), b"");
    let mut link = example::header().links[0].clone();
    link.down.stages = ["a", "b", "burst"].map(str::to_owned).to_vec();
    recorder.describe(&link);
    recorder.ended(&lost(1), b"");
    recorder.close(at(10)).expect("closed");
    let fates = fates::Reader::open(&events).expect("a table").map(|fate| fate.expect("a fate").stage);
    assert_eq!(fates.collect::<Vec<_>>(), [Some("errors".to_owned()), Some("burst".to_owned())]);
}

#[test]
fn whose_a_packet_is_was_read_before_it_was_damaged() {
    let dir = tempfile::tempdir().expect("a directory");
    let events = dir.path().join("x.parquet");
    let options = RecorderOptions { events: Some(events.clone()), ..RecorderOptions::default() };
    let mut recorder = Recorder::start(example::header(), options).expect("started");
    let mut bytes = Vec::new();
    let builder = etherparse::PacketBuilder::ipv4([10, 0, 0, 1], [10, 0, 0, 2], 64).tcp(1111, 80, 7, 100);
    builder.write(&mut bytes, b"abc").expect("a packet");
    recorder.entered(LINK, Direction::Down, 0, at(5), bytes.len() as u32, &bytes);
    // The first octets of the source address and of the sequence number.
    bytes[12] ^= 0x80;
    bytes[24] ^= 0x80;
    let damaged = EndedPacket { bits_flipped: 2, length: bytes.len() as u32, ..example::delivered(0, 5, 9) };
    recorder.ended(&EndedPacket { copy: true, ..damaged }, &bytes);
    recorder.ended(&damaged, &bytes);
    recorder.close(at(10)).expect("closed");
    let fates: Vec<Fate> =
        fates::Reader::open(&events).expect("a table").map(|fate| fate.expect("a fate")).collect();
    for fate in fates {
        let flow = fate.flow.expect("headers");
        assert_eq!((flow.source, flow.tcp_sequence, flow.payload), ([10, 0, 0, 1].into(), Some(7), Some(3)));
    }
}

/// A capture may leave out links and the ends of packets; logs and counters have all links, and
/// headers that are longer than what is captured.
#[test]
fn what_is_left_out_of_a_capture_is_in_the_log() {
    let dir = tempfile::tempdir().expect("a directory");
    let (disk, events) = (Kept::default(), dir.path().join("x.parquet"));
    let options = RecorderOptions {
        capture: Some(to(disk.clone())),
        capture_links: Some(vec![LinkId(1)]),
        snap_length: 20,
        events: Some(events.clone()),
        ..RecorderOptions::default()
    };
    let mut recorder = Recorder::start(example::header(), options).expect("started");
    let mut bytes = Vec::new();
    let builder = etherparse::PacketBuilder::ethernet2([2; 6], [4; 6]).ipv4([10, 0, 0, 1], [10, 0, 0, 2], 64);
    builder.tcp(1111, 80, 7, 100).write(&mut bytes, &[0; 200]).expect("a packet");
    let length = bytes.len() as u32;
    for link in [LinkId(0), LinkId(1)] {
        let bytes = if link == LINK { &bytes[14..] } else { &bytes[..] };
        recorder.entered(link, Direction::Down, 0, at(5), bytes.len() as u32, bytes);
        let ended = EndedPacket { link, length: bytes.len() as u32, ..example::delivered(0, 5, 9) };
        recorder.ended(&ended, bytes);
    }
    let closed = recorder.close(at(10)).expect("closed");
    let captured = packets(&disk);
    let seen: Vec<_> =
        captured.iter().map(|packet| (packet.interface, packet.bytes.len(), packet.length)).collect();
    assert_eq!(seen, [(3, 20, length), (2, 20, length)]);
    for link in [LinkId(0), LinkId(1)] {
        assert_eq!(closed.summary.way(link, Direction::Down).delivered, 1);
    }
    let fates = fates::Reader::open(&events).expect("a table").map(|fate| fate.expect("a fate"));
    let ports: Vec<_> = fates.map(|fate| fate.flow.and_then(|flow| flow.ports)).collect();
    assert_eq!(ports, [Some((1111, 80)); 2]);
}

/// Each file is given up by itself.
#[test]
fn files_that_are_full_do_not_touch_the_others() {
    let dir = tempfile::tempdir().expect("a directory");
    let (events, full) = (dir.path().join("x.parquet"), PathBuf::from("/dev/full"));
    let options = RecorderOptions {
        capture: Some(CaptureTo::Path(full.clone())),
        blocks: Some(full.clone()),
        events: Some(events.clone()),
        ..RecorderOptions::default()
    };
    let mut recorder = Recorder::start(example::header(), options).expect("started");
    drive(&mut recorder, 100);
    recorder.settled(at(100_000));
    let error = recorder.close(at(200_000)).expect_err("a disk is full");
    let whats: Vec<_> = error
        .errors
        .iter()
        .map(|error| match error {
            RecordError::Write { what, path, .. } => (*what, path.clone()),
            other => panic!("{other}"),
        })
        .collect();
    assert_eq!(whats, [("capture", Some(full.clone())), ("capture of blocks", Some(full))]);
    let text = error.to_string();
    assert_eq!(text.matches("; cannot write the capture of blocks `/dev/full` from").count(), 1, "{text}");
    assert_eq!(error.recorded.events, Some(Logged { path: events, fates: 90 }));
    assert_eq!((error.recorded.capture, error.recorded.blocks), (None, None));
}

/// A note is cut where a chunk has no room for it.
#[test]
fn long_notes_are_cut() {
    let dir = tempfile::tempdir().expect("a directory");
    let events = dir.path().join("x.parquet");
    let options = RecorderOptions { events: Some(events.clone()), ..RecorderOptions::default() };
    let mut recorder = Recorder::start(example::header(), options).expect("started");
    for _ in 0..5 {
        recorder.note(at(7), &"x".repeat(chunk::BYTES));
    }
    recorder.close(at(9)).expect("closed");
    let reader = fates::Reader::open(&events).expect("a table");
    let lengths: Vec<_> = reader.notes().iter().map(|note| (note.at, note.text.len())).collect();
    assert_eq!(lengths, [(at(7), chunk::BYTES / 2); 5]);
}
