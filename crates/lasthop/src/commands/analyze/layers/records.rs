//! Converts the output of a protocol monitor (the log of a run, or an RLP trace as text) to records
//! of a view. This is the only module that knows both forms.

use crate::failure::Failure;
use capture::link_layer::{self, Way};
use capture_analysis::layers::monitor::{End, Event, RLP_OCTETS, RLP_PERIOD_NS, Record};
use link::blocks::RlpTrace;
use std::collections::BTreeMap;
use std::path::Path;

/// Octets in an RLP block at full rate. Frames of other link layers have other lengths and
/// durations.
const RLP_BLOCK: u32 = 30;

/// Ends of link layers whose times share an origin.
#[derive(Debug, Clone)]
pub struct Monitors {
    ends: Vec<End>,
    /// Origin of these times, in nanoseconds since 1970; `None` if unknown.
    zero: Option<u64>,
}

impl Monitors {
    /// Reads the log of a run: both ends of each link.
    pub fn of_log(path: &Path) -> Result<Self, Failure> {
        let failed = |error| format!("{}: {error}", path.display());
        let reader = link_layer::Reader::open(path).map_err(failed)?;
        let header = reader.header().clone();
        let mut ends: BTreeMap<_, End> = BTreeMap::new();
        for row in reader {
            let row = row.map_err(failed)?;
            let end = ends.entry((row.link, row.end)).or_insert_with(|| {
                let link = header.link(row.link).map_or("", |link| &link.name);
                let title = format!("{link} {}", row.end).trim_start().to_owned();
                End { title, period_ns: RLP_PERIOD_NS, records: Vec::new() }
            });
            let noted = row.record;
            if matches!(noted.event, link_layer::Event::Right | link_layer::Event::Erased)
                && noted.aux != RLP_BLOCK
            {
                end.period_ns = 0;
            }
            let Some(event) = Event::from_word(noted.event.word()) else { continue };
            let octets = if event == Event::Data { noted.aux } else { 0 };
            let (time, sent) = (noted.at.as_nanos(), noted.way == Way::Sent);
            end.records.push(Record { time, sent, event, number: noted.ns, octets });
        }
        let mut ends: Vec<End> = ends.into_values().collect();
        for end in &mut ends {
            // The file has them by kind. At the same instant, arriving blocks come before sent
            // ones.
            end.records.sort_by_key(|record| (record.time, record.sent));
        }
        Ok(Self { ends, zero: Some(header.started.as_nanos()) })
    }

    /// Reads an RLP trace as text: one end.
    pub fn of_text(path: &Path) -> Result<Self, Failure> {
        let text = std::fs::read_to_string(path)
            .map_err(|error| format!("cannot read {}: {error}", path.display()))?;
        let name = path.display().to_string();
        let trace = RlpTrace::parse(&name, &text)?;
        let record = |record: &link::blocks::RlpRecord| {
            let event = Event::from_word(record.event.word())?;
            // If a monitor does not record the length of a frame's data, the frame counts as full.
            let octets = record.aux.map_or(RLP_OCTETS, |octets| u32::try_from(octets).unwrap_or(u32::MAX));
            Some(Record {
                time: record.time_us.saturating_mul(1000),
                sent: record.way == Way::Sent,
                event,
                number: record.ns.map_or(0, u16::from),
                octets: if event == Event::Data { octets } else { 0 },
            })
        };
        let records = trace.records.iter().filter_map(record).collect();
        let zero = trace.header.start.as_deref().and_then(since_1970);
        Ok(Self { ends: vec![End { title: name, period_ns: trace.period.as_nanos(), records }], zero })
    }

    /// Returns when the first frame with user data was sent, on the ends' own clock.
    pub fn first(&self) -> Option<u64> {
        let first = |end: &End| end.records.iter().find(|record| record.is_new()).map(|record| record.time);
        self.ends.iter().filter_map(first).min()
    }

    /// Returns whether the origin of the times is known.
    pub fn is_placed(&self) -> bool {
        self.zero.is_some()
    }

    /// Returns the ends with times since 1970. If the origin is unknown, time `first` is the
    /// instant `began`.
    pub fn placed(&self, first: u64, began: u64) -> impl Iterator<Item = End> {
        let zero = self.zero;
        let shift = move |time: u64| match zero {
            Some(zero) => zero.saturating_add(time),
            None => began.saturating_add(time).saturating_sub(first),
        };
        self.ends.iter().map(move |end| {
            let records = end.records.iter().map(|record| Record { time: shift(record.time), ..*record });
            End { title: end.title.clone(), period_ns: end.period_ns, records: records.collect() }
        })
    }
}

/// Parses a start time such as `1767225600.000000000 s since 1970`, in nanoseconds.
fn since_1970(text: &str) -> Option<u64> {
    let (seconds, rest) = text.trim().strip_suffix("s since 1970")?.trim().split_once('.')?;
    let nanos: u64 = format!("{rest:0<9}").get(..9)?.parse().ok()?;
    seconds.parse::<u64>().ok()?.checked_mul(1_000_000_000)?.checked_add(nanos)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_start_is_read_as_it_is_written() {
        assert_eq!(since_1970("1767225600.000000007 s since 1970"), Some(1_767_225_600_000_000_007));
        assert_eq!(since_1970("1.5 s since 1970"), Some(1_500_000_000));
        assert_eq!(since_1970("2001-03-04 10:15"), None);
        assert_eq!(since_1970("18446744073.709551615 s since 1970"), Some(u64::MAX));
        assert_eq!(since_1970("18446744073.709551616 s since 1970"), None);
    }

    /// A damaged trace: a time beyond the range becomes the last time in the range.
    #[test]
    fn times_that_nothing_holds_do_no_harm() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("call.rlp");
        for start in ["", "# start: 1767225600.0 s since 1970\n"] {
            let text = format!("# format: rlp\n{start}1 S DATA 0 0 24\n18446744073709551615 S DATA 1 0 24\n");
            std::fs::write(&path, text).expect("a file");
            let monitors = Monitors::of_text(&path).expect("a trace");
            let end = monitors.placed(1000, 5_000_000_000).next().expect("an end");
            assert_eq!(end.records.len(), 2);
            assert!(end.records[1].time >= u64::MAX - 1000, "{end:?}");
        }
    }

    /// LL-07: a colleague's trace, in which the first frame is the SYN's.
    #[test]
    fn an_rlp_trace_is_placed_by_its_first_frame() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("call.rlp");
        let text = "# format: rlp\n100 S RST - - -\n500 R OK - 0 -\n1000 S DATA 0 0 20\n21000 S XMIT 0 0 1\n\
            41000 S DATA 1 0 -\n42000 R XOFF - - -\n";
        std::fs::write(&path, text).expect("a file");
        let monitors = Monitors::of_text(&path).expect("a trace");
        assert!(!monitors.is_placed());
        let first = monitors.first().expect("a frame");
        let ends: Vec<End> = monitors.placed(first, 5_000_000_000).collect();
        let found: Vec<_> = ends[0]
            .records
            .iter()
            .map(|record| (record.time, record.sent, record.event, record.octets))
            .collect();
        let at = |us: u64| 5_000_000_000 + us * 1000 - 1_000_000;
        let expected = [
            (at(100), true, Event::Reset, 0),
            (at(1000), true, Event::Data, 20),
            (at(21_000), true, Event::Again, 0),
            (at(41_000), true, Event::Data, 24),
            (at(42_000), false, Event::XOff, 0),
        ];
        assert_eq!(found, expected);
    }

    /// The file has its rows by end and kind. At the same instant, received blocks come before sent
    /// ones. Frames that are not RLP blocks have no fixed duration.
    #[test]
    fn a_log_is_put_in_the_order_of_time() {
        use capture::link_layer::{Event as Noted, Row, Writer};
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("x-link-layer.parquet");
        let started = capture::WallTime::from_nanos(1_000_000_000);
        let log = |block: u32| {
            let row = |ns, way, event, aux| {
                let at = capture::Time::from_nanos(ns);
                let record = link_layer::Record { at, way, event, ns: 0, nr: 0, aux };
                Row { link: capture::LinkId(0), end: capture::Direction::Down, record }
            };
            let header = capture::Header::new("test", started, 0, Vec::new());
            let file = std::fs::File::create(&path).expect("a file");
            let mut writer = Writer::new(file, header).expect("a table");
            for row in [
                row(20, Way::Sent, Noted::First, 24),
                row(60, Way::Sent, Noted::First, 24),
                row(20, Way::Received, Noted::XOff, 0),
                row(40, Way::Received, Noted::XOn, 0),
                row(30, Way::Received, Noted::Right, block),
            ] {
                writer.add(capture::log::Record::Row(row)).expect("a row");
            }
            writer.finish(capture::Tail::Complete).expect("an end");
            Monitors::of_log(&path).expect("a log").placed(0, 0).next().expect("an end")
        };
        let end = log(30);
        let found: Vec<_> = end.records.iter().map(|record| (record.time, record.event)).collect();
        let at = |ns: u64| 1_000_000_000 + ns;
        let expected =
            [(at(20), Event::XOff), (at(20), Event::Data), (at(40), Event::XOn), (at(60), Event::Data)];
        assert_eq!(found, expected);
        assert_eq!((end.title.as_str(), end.period_ns), ("down", RLP_PERIOD_NS));
        assert_eq!(log(500).period_ns, 0);
    }
}
