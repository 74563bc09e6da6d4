//! RLP traces from the records of a run; the crates of traces and of records do not know each
//! other.
//!
//! A trace is that of one entity, like those of rlpdump (Ludwig 3.1.1): the records of one end of
//! one link.

use capture::link_layer::{Event, Record, Row, Way};
use capture::table::TableError;
use capture::{Direction, Header, LinkId};
use link::blocks::{BlockTrace, RlpRecord, RlpTrace};

/// Modulus of RLP's frame numbers (GSM 04.22, 5.2.2.1).
const MODULUS: u16 = packet::rlp::MODULUS;
/// Sizes of its blocks in octets, short and long.
const BLOCKS: [u32; 2] = [30, 72];

/// Why no RLP trace can be made of records.
#[derive(Debug, thiserror::Error)]
pub enum RlpTraceError {
    /// The records cannot be read.
    #[error(transparent)]
    Table(#[from] TableError),
    /// There are no records.
    #[error("no records: no link of this run has a link layer with retransmissions")]
    Empty,
    /// The records are those of several links.
    #[error("there are records of several links ({}): choose one with --link", .0.join(", "))]
    Several(Vec<String>),
    /// There are no records of this link.
    #[error("there are no records of link `{wanted}`; there are records of {}", .known.join(", "))]
    Unknown {
        /// The name that was given.
        wanted: String,
        /// The links that have records.
        known: Vec<String>,
    },
    /// The records are those of another protocol.
    #[error(
        "not an RLP log: it has {what} {number}, but RLP has {of_rlp}; records of other link layers are only in the Parquet file"
    )]
    OtherProtocol {
        /// What differs: a frame number or a block length.
        what: &'static str,
        /// Its value.
        number: u32,
        /// The values that RLP has.
        of_rlp: &'static str,
    },
}

/// Returns the link with this name, or the only link with records if no name is given.
///
/// # Errors
/// If there is no link of this name, or several links and no name is given.
pub fn link_of(rows: &[Row], header: &Header, name: Option<&str>) -> Result<LinkId, RlpTraceError> {
    let mut links: Vec<_> = rows.iter().map(|row| row.link).collect();
    links.sort_unstable();
    links.dedup();
    let called = |id: LinkId| header.link(id).map_or_else(|| id.0.to_string(), |link| link.name.clone());
    let known = || links.iter().map(|&id| called(id)).collect::<Vec<_>>();
    match (name, &links[..]) {
        (_, []) => Err(RlpTraceError::Empty),
        (None, [only]) => Ok(*only),
        (None, _) => Err(RlpTraceError::Several(known())),
        (Some(name), _) => links
            .iter()
            .copied()
            .find(|&id| called(id) == name)
            .ok_or_else(|| RlpTraceError::Unknown { wanted: name.to_owned(), known: known() }),
    }
}

/// Returns the trace of one end of a link. Times are those of the run, in microseconds.
///
/// # Errors
/// If a record cannot be that of RLP.
pub fn rlp_trace(
    rows: &[Row],
    header: &Header,
    link: LinkId,
    end: Direction,
) -> Result<RlpTrace, RlpTraceError> {
    let of_end = rows.iter().filter(|row| (row.link, row.end) == (link, end));
    let records = of_end.map(|row| rlp_record(&row.record)).collect::<Result<_, _>>()?;
    let started = header.started.as_nanos();
    let (seconds, nanos) = (started / 1_000_000_000, started % 1_000_000_000);
    let called = header.link(link).map_or("", |link| link.name.as_str());
    let notes = [
        ("writer", format!("lasthop {}", header.lasthop)),
        ("link", called.to_owned()),
        ("end", end_name(end).to_owned()),
        ("seed", header.seed.to_string()),
    ];
    Ok(RlpTrace {
        header: link::blocks::Header {
            start: Some(format!("{seconds}.{nanos:09} s since 1970")),
            notes: notes.into_iter().map(|(key, value)| (key.to_owned(), value)).collect(),
            ..link::blocks::Header::default()
        },
        period: BlockTrace::GSM_PERIOD,
        records,
    })
}

/// Returns the name of an end in file names: `mobile` or `network`.
#[must_use]
pub const fn end_name(end: Direction) -> &'static str {
    match end {
        Direction::Up => "mobile",
        Direction::Down => "network",
    }
}

fn rlp_record(record: &Record) -> Result<RlpRecord, RlpTraceError> {
    let number = |number: u16| match u8::try_from(number) {
        Ok(small) if number < MODULUS => Ok(Some(small)),
        _ => Err(RlpTraceError::OtherProtocol {
            what: "frame number",
            number: number.into(),
            of_rlp: "0 to 61",
        }),
    };
    if matches!(record.event, Event::Erased | Event::Right) && !BLOCKS.contains(&record.aux) {
        let of_rlp = "30 or 72";
        return Err(RlpTraceError::OtherProtocol { what: "block length", number: record.aux, of_rlp });
    }
    let is_numbered = match record.event {
        Event::First | Event::Again | Event::SelectiveReject | Event::Reject => true,
        // The frame with the flow control bit is known only at the end that sends it.
        Event::XOn | Event::XOff => record.way == Way::Sent,
        Event::Reset | Event::Erased | Event::Right => false,
    };
    let has_more = !matches!(
        record.event,
        Event::SelectiveReject | Event::Reject | Event::XOn | Event::XOff | Event::Reset
    );
    Ok(RlpRecord {
        time_us: record.at.as_nanos() / 1000,
        way: record.way,
        event: record.event,
        ns: if is_numbered { number(record.ns)? } else { None },
        nr: number(record.nr)?,
        aux: has_more.then_some(record.aux.into()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use capture::{LinkInfo, Time, WallTime, WayInfo};

    fn header() -> Header {
        let link = |id, name: &str| LinkInfo {
            id: LinkId(id),
            name: name.to_owned(),
            layer: capture::Layer::Ip,
            mtu: 576,
            up: WayInfo::default(),
            down: WayInfo::default(),
        };
        Header::new("0.1.0", WallTime::from_nanos(1_000_000_007), 7, vec![link(0, "gsm"), link(1, "wlan")])
    }

    fn row(time_us: u64, end: Direction, way: Way, event: Event, aux: u32) -> Row {
        let at = Time::from_nanos(time_us * 1000);
        Row { link: LinkId(0), end, record: Record { at, way, event, ns: 61, nr: 3, aux } }
    }

    /// LL-07: all kinds of records, each with its own fields, and only those of one end.
    #[test]
    fn a_trace_of_one_end() {
        let (up, down) = (Direction::Up, Direction::Down);
        let rows = [
            row(0, up, Way::Sent, Event::First, 24),
            row(0, down, Way::Sent, Event::First, 23),
            row(20_000, up, Way::Sent, Event::Again, 1),
            row(120_000, up, Way::Received, Event::Right, 30),
            row(140_000, up, Way::Received, Event::Erased, 30),
            row(140_000, up, Way::Sent, Event::SelectiveReject, 0),
            row(140_000, up, Way::Received, Event::Reject, 0),
            row(140_000, up, Way::Sent, Event::XOff, 0),
            row(140_000, up, Way::Received, Event::XOn, 0),
            row(140_001, up, Way::Sent, Event::Reset, 0),
        ];
        let trace = rlp_trace(&rows, &header(), LinkId(0), up).expect("a trace");
        let text = trace.to_string();
        let lines: Vec<_> = text.lines().filter(|line| !line.starts_with('#')).collect();
        assert_eq!(
            lines,
            [
                "0 S DATA 61 3 24",
                "20000 S XMIT 61 3 1",
                "120000 R OK - 3 30",
                "140000 R ERAS - 3 30",
                "140000 S SREJ 61 3 -",
                "140000 R REJ 61 3 -",
                "140000 S XOFF 61 3 -",
                "140000 R XON - 3 -",
                "140001 S RST - 3 -",
            ]
        );
        // Readers of the format accept it. LL-36: they recover the blocks from it.
        let read = RlpTrace::parse("x.rlp", &text).expect("the format");
        assert_eq!(read, trace);
        assert_eq!(read.blocks().erased, [false, true]);
        assert!(text.contains("# start: 1.000000007 s since 1970\n"), "{text}");
        assert!(text.contains("# end: mobile\n") && text.contains("# link: gsm\n"), "{text}");
        let other = rlp_trace(&rows, &header(), LinkId(0), down).expect("a trace");
        assert_eq!(other.records.len(), 1);
    }

    /// LLP has larger numbers, and frames of other lengths.
    #[test]
    fn other_link_layers_are_refused() {
        let refused = |row: Row| {
            rlp_trace(&[row], &header(), LinkId(0), Direction::Up).expect_err("refused").to_string()
        };
        let good = row(0, Direction::Up, Way::Sent, Event::First, 24);
        let wrong = [Record { ns: 62, ..good.record }, Record { nr: 300, ..good.record }];
        for wrong in wrong.map(|record| Row { record, ..good }) {
            assert!(refused(wrong).contains("but RLP has 0 to 61"), "{}", refused(wrong));
        }
        let frame = row(0, Direction::Up, Way::Received, Event::Right, 512);
        assert!(refused(frame).contains("block length 512, but RLP has 30 or 72"), "{}", refused(frame));
    }

    #[test]
    fn which_link() {
        let one = row(0, Direction::Up, Way::Sent, Event::First, 24);
        let both = [one, Row { link: LinkId(1), ..one }];
        let of = |rows: &[Row], name| link_of(rows, &header(), name).map_err(|error| error.to_string());
        assert_eq!(of(&both[1..], None), Ok(LinkId(1)));
        assert_eq!(of(&both, Some("wlan")), Ok(LinkId(1)));
        assert!(of(&both, None).is_err_and(|error| error.contains("gsm, wlan")));
        assert!(of(&both, Some("umts")).is_err_and(|error| error.contains("`umts`")));
        assert!(of(&[], None).is_err_and(|error| error.contains("no link")));
    }
}
