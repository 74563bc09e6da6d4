//! JSON with an object for each direction, each on its own line.

use super::Direction;
use super::scores::{self, Scores};
use capture_analysis::retransmission::Cause;
use capture_analysis::spurious::response::Episode;
use capture_analysis::spurious::utilization::{Period, Waste};
use capture_analysis::spurious::{Evidence, SpuriousVerdict};
use serde::Serialize;
use std::io::{self, Write};
use std::net::SocketAddr;

#[derive(Serialize)]
struct Line<'a> {
    from: SocketAddr,
    to: SocketAddr,
    connection: usize,
    sender_side: &'a str,
    receiver_side: Option<&'a str>,
    packets: u64,
    bytes: u64,
    least_round_trip_ns: Option<u64>,
    retransmissions: Vec<Row>,
    spurious: Total,
    necessary: Total,
    unknown: Total,
    recoveries: Vec<Recovery>,
    links: Vec<Link<'a>>,
    /// Comparison with what the link did; empty if that is unknown.
    scores: Vec<scores::Row>,
}

/// A retransmission; also a row of the CSV.
#[derive(Debug, Clone, Serialize)]
pub struct Row {
    time_ns: u64,
    number: u64,
    sequence: u32,
    bytes: u64,
    length: u32,
    repeated: u32,
    cause: Cause,
    verdict: SpuriousVerdict,
    evidence: Option<&'static str>,
    truth: Option<SpuriousVerdict>,
    answered_ns: Option<u64>,
    arrivals: SpuriousVerdict,
    acknowledged: SpuriousVerdict,
    timestamps: SpuriousVerdict,
    dsack: SpuriousVerdict,
    round_trip: SpuriousVerdict,
    gap: SpuriousVerdict,
    f_rto: SpuriousVerdict,
    alignment: SpuriousVerdict,
}

#[derive(Serialize)]
struct Total {
    retransmissions: u64,
    bytes: u64,
}

#[derive(Serialize)]
struct Recovery {
    time_ns: u64,
    cause: Cause,
    known_ns: Option<u64>,
    needless: Total,
    saved: Total,
    cwnd_before: Option<u32>,
    cwnd_least: Option<u32>,
    cwnd_end: Option<u32>,
    ssthresh_before: Option<u32>,
    ssthresh_end: Option<u32>,
    pipe_prev: Option<u32>,
}

#[derive(Serialize)]
struct Link<'a> {
    name: &'a str,
    direction: &'static str,
    #[serde(flatten)]
    period: Period,
    utilization: Option<f64>,
    flagged: Option<Waste>,
}

/// Prints one direction of a connection.
pub fn print(output: &mut impl Write, direction: &Direction<'_>) -> io::Result<()> {
    let examined = &direction.examined;
    let total = |verdict| Total::from(examined.count(|again| again.verdict == verdict));
    let mut scores = Scores::default();
    if let Some(truth) = &direction.truth {
        scores.add(examined, truth);
    }
    let line = Line {
        from: examined.ends.from,
        to: examined.ends.to,
        connection: examined.connection,
        sender_side: &examined.sender,
        receiver_side: examined.receiver.as_deref(),
        packets: examined.sent.0,
        bytes: examined.sent.1,
        least_round_trip_ns: examined.least_round_trip,
        retransmissions: Row::all(direction).collect(),
        spurious: total(SpuriousVerdict::Spurious),
        necessary: total(SpuriousVerdict::Necessary),
        unknown: total(SpuriousVerdict::Unknown),
        recoveries: direction.episodes.iter().map(Recovery::from).collect(),
        links: direction
            .periods
            .iter()
            .map(|(link, period)| Link {
                name: &link.name,
                direction: link.direction.name(),
                period: *period,
                utilization: period.utilization(),
                flagged: period.flagged(),
            })
            .collect(),
        scores: scores.rows().filter(|_| direction.truth.is_some()).collect(),
    };
    serde_json::to_writer(&mut *output, &line).map_err(io::Error::from)?;
    output.write_all(b"\n")
}

impl Row {
    /// Returns the rows of one direction.
    pub fn all<'a>(direction: &'a Direction<'_>) -> impl Iterator<Item = Self> + use<'a> {
        direction.examined.retransmissions.iter().enumerate().map(|(place, again)| Self {
            time_ns: again.time,
            number: again.first,
            sequence: again.sequence,
            bytes: again.bytes,
            length: again.length,
            repeated: again.repeated,
            cause: again.cause,
            verdict: again.verdict,
            evidence: again.evidence.map(Evidence::name),
            truth: direction.truth.as_ref().map(|truth| truth[place]),
            answered_ns: again.answered,
            arrivals: again.signs.of(Evidence::Arrivals),
            acknowledged: again.signs.of(Evidence::Acknowledged),
            timestamps: again.signs.of(Evidence::Timestamps),
            dsack: again.signs.of(Evidence::DuplicateSack),
            round_trip: again.signs.of(Evidence::RoundTrip),
            gap: again.signs.of(Evidence::Gap),
            f_rto: again.signs.of(Evidence::Forward),
            alignment: again.signs.of(Evidence::Alignment),
        })
    }
}

impl From<(u64, u64)> for Total {
    fn from((retransmissions, bytes): (u64, u64)) -> Self {
        Self { retransmissions, bytes }
    }
}

impl From<&Episode> for Recovery {
    fn from(episode: &Episode) -> Self {
        let window = episode.window;
        Self {
            time_ns: episode.time,
            cause: episode.cause,
            known_ns: episode.known,
            needless: episode.needless.into(),
            saved: episode.saved.into(),
            cwnd_before: window.map(|window| window.before),
            cwnd_least: window.map(|window| window.least),
            cwnd_end: window.map(|window| window.end),
            ssthresh_before: window.and_then(|window| window.ssthresh_before),
            ssthresh_end: window.and_then(|window| window.ssthresh_end),
            pipe_prev: window.and_then(|window| window.pipe_prev),
        }
    }
}
