//! Tests of the air beneath a link layer, exact to the nanosecond: traces and outages.

use super::*;
use crate::stage::errors::{ErrorTrace, ProcessSpec};
use crate::stage::outage::{OutageCommand, OutageProcess, Sojourn};
use crate::stage::spec::FromFile;
use vocabulary::link_layer::Record;

const UP: Direction = Direction::Up;
const DOWN: Direction = Direction::Down;

/// A link under load, with the records of its ends.
struct Watched {
    link: Link,
    seen: Seen,
}

impl Watched {
    fn new(profile: &LinkProfile) -> Self {
        let mut link = built(profile);
        link.watch(Watch { records: true, blocks: false });
        Self { link, seen: Seen::default() }
    }

    /// Offers `count` packets up at the start, so that the queue has one ready whenever the hop
    /// asks.
    fn offer(&mut self, count: u64, length: usize) {
        for number in 0..count {
            self.link.accept(UP, frame(length, number as u8), Time::ZERO, &mut self.seen);
        }
    }

    /// Runs until `end`; checks that packets have left in order and intact.
    fn run(&mut self, end: Time) {
        self.link.advance(end, &mut self.seen);
        for (number, (_, packet)) in (0..).zip(&self.seen.ends) {
            assert_eq!((packet.number, packet.loss()), (number, None));
            let content = packet.number as u8;
            assert!(packet.frame.to_bytes().iter().all(|octet| *octet == content));
        }
    }

    fn noted(&self, end: Direction, way: Way, kind: Event) -> Vec<Record> {
        let records = self.seen.records.iter().filter(|noted| noted.end == end).map(|noted| noted.record);
        records.filter(|record| (record.way, record.event) == (way, kind)).collect()
    }

    /// Returns the blocks that the network could not decode, by the number of their transmission
    /// slot.
    fn erased_blocks(&self) -> Vec<u64> {
        let block = |record: &Record| (record.at.as_nanos() - 120_000_000) / 20_000_000;
        self.noted(DOWN, Way::Received, Event::Erased).iter().map(block).collect()
    }
}

/// LL-06: blocks are erased exactly where the trace says, also after it has begun again.
#[test]
fn erasures_are_where_the_trace_says() {
    // Erased blocks of a period of 150: 100, 102 to 111 and 130.
    let trace = ErrorTrace::parse("trace", "2000,2020\n2040,2240\n2600,2620").expect("a trace");
    let file = FromFile::with("trace", trace);
    let process = ProcessSpec::Trace { file, repeat: Some(Span::from_secs(3)) };
    let mut profile = profile("rlp:n2=inf", "", "");
    profile.up.put(StageSpec::Errors(ErrorSpec::new(process)));
    let mut watched = Watched::new(&profile);
    watched.offer(100, 300);
    watched.run(at_ms(12_000));
    let round: Vec<_> = std::iter::once(100).chain(102..=111).chain([130]).collect();
    let wanted: Vec<_> = (0..4).flat_map(|k| round.iter().map(move |block| k * 150 + block)).collect();
    assert_eq!(watched.erased_blocks(), wanted);
    assert_eq!(watched.noted(UP, Way::Received, Event::Erased), []);
    assert!(watched.noted(UP, Way::Sent, Event::Again).len() >= 30);
}

/// An outage on the air erases each block of its direction whose transmission it overlaps. Here
/// some outages begin and end between two blocks, some lie within one block, and some cover parts
/// of two. The last one is by command and takes effect with the next block.
#[test]
fn outages_erase_blocks() {
    let scheduled = "outage=2s+40ms,outage=3010ms+1ns,outage=4010ms+20ms";
    let mut watched = Watched::new(&profile("rlp:n2=inf", scheduled, ""));
    watched.offer(100, 300);
    watched.run(at_ms(6_005));
    let command = StageCommand::Outage(OutageCommand::DownFor(Span::from_millis(40)));
    watched.link.obey(UP, "outage", command, at_ms(6_005)).expect("it is on the air");
    watched.run(at_ms(20_000));
    assert_eq!(watched.erased_blocks(), [100, 101, 150, 200, 201, 301, 302]);
    assert_eq!(watched.noted(UP, Way::Received, Event::Erased), []);
    assert_eq!(counters(&watched.link, UP).erased, 7);
    assert_eq!(watched.noted(UP, Way::Sent, Event::Again).len(), 7);
}

/// Each outage process has the random stream of its stage's name, so two of them have outages at
/// different times.
#[test]
fn outages_have_streams_of_their_own() {
    let erased = |names: &[&str]| {
        let (up, down) = (Span::from_secs(1), Span::from_millis(100));
        let process = Some(OutageProcess { up, down, sojourn: Sojourn::default() });
        let outage = StageSpec::Outage(OutageSpec { process, ..OutageSpec::default() });
        let mut profile = profile("rlp:n2=inf", "", "");
        profile.down.stages.extend(names.iter().map(|name| ((*name).to_owned(), outage.clone())));
        let mut watched = Watched::new(&profile);
        watched.run(at_ms(60_000));
        watched.noted(UP, Way::Received, Event::Erased).iter().map(|r| r.at).collect::<Vec<_>>()
    };
    let (one, other) = (erased(&["outage"]), erased(&["fade"]));
    assert!(one != other && one.len() > 100, "{}", one.len());
    assert_eq!(erased(&["outage", "outage"]), one);
    assert!(erased(&["outage", "fade"]).len() > one.len());
}

/// An outage after a number of bytes begins at the end of the frame with the last of them, to the
/// nanosecond, in both directions. 1520 octets take 31.666 667 ms at 384 kbit/s: frame 1 ends at
/// 63.333 334 ms, with 3040 octets. Frames 2 and 3 are sent up to 126.666 668 ms.
#[test]
fn outages_begin_after_bytes() {
    for (after, erased) in [
        ("3040B+1ns", 1),
        ("3040B+31666667ns", 1),
        ("3040B+31666668ns", 2),
        ("1521B+31666668ns", 2),
        ("1520B+63333334ns", 2),
        ("1520B+63333335ns", 3),
        ("1MB+1s", 0),
    ] {
        let clear = "rate=384kbit,delay=100ms";
        let mut watched = Watched::new(&profile("llp", &format!("{clear},outage={after}"), clear));
        watched.offer(10, 1500);
        watched.run(at_ms(20_000));
        let counted = counters(&watched.link, UP);
        assert_eq!((watched.seen.ends.len(), counted.erased, counted.again), (10, erased, erased), "{after}");
    }
}

/// While the data of one direction takes the air down, the other direction's acknowledgements are
/// erased, too. Frame 3 ends at 126.666 668 ms. Frame 0 is acknowledged from 131.666 667 ms on, for
/// 416.667 us, and frame 1 from 163.333 334 ms on.
#[test]
fn outages_after_bytes_are_in_both_directions() {
    let clear = "rate=384kbit,delay=100ms";
    for (length, erased) in [("4999999ns", 0), ("5ms", 1), ("36666666ns", 1), ("36666667ns", 2)] {
        let up = format!("{clear},outage=6080B+{length}");
        let mut watched = Watched::new(&profile("llp", &up, clear));
        watched.offer(10, 1500);
        watched.run(at_ms(20_000));
        assert_eq!(watched.seen.ends.len(), 10, "{length}");
        assert_eq!(counters(&watched.link, DOWN).erased, erased, "{length}");
    }
}

/// An outage on the air erases each frame whose transmission it overlaps, and no packet. Frame 1 is
/// sent from 31.67 to 63.33 ms.
#[test]
fn outages_erase_frames() {
    for (scheduled, erased) in [
        ("outage=40ms+1ns", 1),
        ("outage=31666667ns+1ns", 1),
        ("outage=31666666ns+2ns", 2),
        ("outage=20ms+60ms", 3),
    ] {
        let clear = "rate=384kbit,delay=100ms";
        let mut watched = Watched::new(&profile("llp", &format!("{clear},{scheduled}"), clear));
        watched.offer(10, 1500);
        watched.run(at_ms(20_000));
        let counted = counters(&watched.link, UP);
        assert_eq!(
            (watched.seen.ends.len(), counted.erased, counted.again),
            (10, erased, erased),
            "{scheduled}"
        );
    }
}
