//! Packing of a time-sequence plot: columns instead of objects, and differences where they are
//! small, so that a segment needs about ten characters. `web/src/sequence/unpack.ts` unpacks it.

use super::windows::Windows;
use capture_analysis::retransmission::Cause;
use capture_analysis::sequence::{
    AckPoint, LossPoint, Mark, MarkPoint, PointKind, SackPoint, SegmentPoint, Series,
};
use capture_analysis::throughput::Rates;
use serde::Serialize;

/// One direction of a connection.
///
/// Times are in microseconds since its first packet, each as the difference from the one before.
/// Sequence numbers are relative; 1 is the first byte.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub(super) struct Sequence {
    /// Index of the run.
    run: usize,
    /// Both ends, for people.
    connection: String,
    /// What was left out, in a sentence; empty if nothing was.
    thinned: String,
    segments: Segments,
    acks: Acks,
    sacks: Sacks,
    losses: Losses,
    marks: Marks,
    throughput: Option<Throughput>,
    /// Windows of the sender, if recorded.
    pub(super) windows: Option<Windows>,
}

/// Segments with data, or with SYN or FIN.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
struct Segments {
    time: Vec<u64>,
    /// First number, as the difference from the end of the segment before.
    first: Vec<i64>,
    length: Vec<u64>,
    /// One letter per segment, see [`letter`].
    kind: String,
}

/// Acknowledgements that came back to the sender.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
struct Acks {
    time: Vec<u64>,
    /// The acknowledged number, as the difference from the one before.
    ack: Vec<i64>,
    /// End of the receive window, as the difference from the acknowledged number.
    window: Vec<i64>,
    /// Indices of the duplicates, each as the difference from the one before.
    duplicate: Vec<usize>,
}

/// Blocks of selective acknowledgements.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
struct Sacks {
    time: Vec<u64>,
    first: Vec<u64>,
    length: Vec<u64>,
}

/// Segments that a link lost or damaged, by its event log.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
struct Losses {
    time: Vec<u64>,
    first: Vec<u64>,
    length: Vec<u64>,
    /// Index in `reasons`.
    reason: Vec<usize>,
    reasons: Vec<String>,
}

/// Words at sequence numbers.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
struct Marks {
    time: Vec<u64>,
    sequence: Vec<u64>,
    text: Vec<&'static str>,
}

/// Rates over time, in bins from the first packet on.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
struct Throughput {
    /// Length of a bin; the last bin ends at `end_us`.
    bin_us: u64,
    end_us: u64,
    /// Rates in each bin, in bit/s.
    sent: Vec<u64>,
    delivered: Vec<u64>,
    /// Average from the first packet to the end of each bin, in bit/s.
    average: Vec<u64>,
}

impl Sequence {
    pub(super) fn of(run: usize, series: &Series) -> Self {
        Self {
            run,
            connection: format!("{} to {}", series.from, series.to),
            thinned: thinned(series),
            segments: Segments::of(&series.segments),
            acks: Acks::of(&series.acks),
            sacks: Sacks::of(&series.sacks),
            losses: Losses::of(&series.losses),
            marks: Marks::of(&series.marks),
            throughput: series.throughput.as_ref().map(Throughput::of),
            windows: None,
        }
    }
}

/// Converts nanoseconds since the start to differences in microseconds.
pub(super) fn times(nanoseconds: impl Iterator<Item = u64>) -> Vec<u64> {
    let mut before = 0;
    let difference = |time: u64| {
        let microseconds = (time / 1000).max(before);
        let difference = microseconds - before;
        before = microseconds;
        difference
    };
    nanoseconds.map(difference).collect()
}

fn difference(from: u64, to: u64) -> i64 {
    to.cast_signed().wrapping_sub(from.cast_signed())
}

impl Segments {
    fn of(points: &[SegmentPoint]) -> Self {
        let mut end = 0;
        let first = |point: &SegmentPoint| {
            let first = difference(end, point.first);
            end = point.last;
            first
        };
        Self {
            time: times(points.iter().map(|point| point.time_ns)),
            first: points.iter().map(first).collect(),
            length: points.iter().map(|point| point.last.saturating_sub(point.first)).collect(),
            kind: points.iter().map(letter).collect(),
        }
    }
}

/// Returns the letter for the kind of a segment; for retransmissions it shows the cause.
fn letter(point: &SegmentPoint) -> char {
    match (point.kind, point.cause) {
        (PointKind::New, _) if point.push => 'P',
        (PointKind::New, _) => '.',
        (PointKind::OutOfOrder, _) => 'O',
        (PointKind::Probe, _) => 'W',
        (PointKind::Retransmission, Some(Cause::Fast | Cause::Rack)) => 'F',
        (PointKind::Retransmission, Some(Cause::Timeout)) => 'T',
        (PointKind::Retransmission, Some(Cause::TailProbe)) => 'L',
        (PointKind::Retransmission, Some(Cause::KeepAlive)) => 'K',
        (PointKind::Retransmission, Some(Cause::Unknown) | None) => 'R',
    }
}

impl Acks {
    fn of(points: &[AckPoint]) -> Self {
        let mut known = 0;
        let ack = |point: &AckPoint| {
            let ack = difference(known, point.ack);
            known = point.ack;
            ack
        };
        let mut before = 0;
        let duplicate = |(place, point): (usize, &AckPoint)| {
            (point.duplicates > 0).then(|| {
                let difference = place - before;
                before = place;
                difference
            })
        };
        Self {
            time: times(points.iter().map(|point| point.time_ns)),
            ack: points.iter().map(ack).collect(),
            window: points.iter().map(|point| difference(point.ack, point.edge)).collect(),
            duplicate: points.iter().enumerate().filter_map(duplicate).collect(),
        }
    }
}

impl Sacks {
    fn of(points: &[SackPoint]) -> Self {
        Self {
            time: times(points.iter().map(|point| point.time_ns)),
            first: points.iter().map(|point| point.first).collect(),
            length: points.iter().map(|point| point.last.saturating_sub(point.first)).collect(),
        }
    }
}

impl Losses {
    fn of(points: &[LossPoint]) -> Self {
        let mut reasons: Vec<String> = Vec::new();
        let reason = |point: &LossPoint| {
            let stage = point.stage.as_ref().map_or_else(String::new, |stage| format!(", stage {stage}"));
            let text = format!("{} (link {}{stage})", point.reason, point.link);
            reasons.iter().position(|known| *known == text).unwrap_or_else(|| {
                reasons.push(text);
                reasons.len() - 1
            })
        };
        Self {
            time: times(points.iter().map(|point| point.time_ns)),
            first: points.iter().map(|point| point.first).collect(),
            length: points.iter().map(|point| point.last.saturating_sub(point.first)).collect(),
            reason: points.iter().map(reason).collect(),
            reasons,
        }
    }
}

impl Marks {
    fn of(points: &[MarkPoint]) -> Self {
        let text = |point: &MarkPoint| match point.mark {
            Mark::Syn => "SYN",
            Mark::Fin => "FIN",
            Mark::ResetOut => "RST_OUT",
            Mark::ResetIn => "RST_IN",
            Mark::ZeroWindow => "Z",
            Mark::Ce => "CE",
            Mark::Cwr => "CWR",
            Mark::Ece => "ECE",
            Mark::Urgent => "U",
        };
        Self {
            time: times(points.iter().map(|point| point.time_ns)),
            sequence: points.iter().map(|point| point.sequence).collect(),
            text: points.iter().map(text).collect(),
        }
    }
}

impl Throughput {
    fn of(throughput: &capture_analysis::throughput::Throughput) -> Self {
        let column = |of: fn(&Rates) -> u64| throughput.bins.iter().map(of).collect();
        Self {
            bin_us: throughput.bin_ns / 1000,
            end_us: throughput.end_ns / 1000,
            sent: column(|bin| bin.sent),
            delivered: column(|bin| bin.delivered),
            average: column(|bin| bin.average),
        }
    }
}

/// Describes what is not drawn.
fn thinned(series: &Series) -> String {
    let sorts = [
        ("segments", series.segments.len(), series.totals.segments),
        ("acknowledgements", series.acks.len(), series.totals.acks),
        ("SACK blocks", series.sacks.len(), series.totals.sacks),
        ("losses", series.losses.len(), series.totals.losses),
    ];
    let fewer = sorts.into_iter().filter(|(_, drawn, all)| (*drawn as u64) < *all);
    let parts: Vec<_> = fewer.map(|(what, drawn, all)| format!("{drawn} of {all} {what}")).collect();
    if parts.is_empty() {
        return String::new();
    }
    format!("Drawn are {}; retransmissions and out-of-order segments are kept first.", parts.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn segment(time_ns: u64, first: u64, last: u64, cause: Option<Cause>) -> SegmentPoint {
        let kind = if cause.is_some() { PointKind::Retransmission } else { PointKind::New };
        SegmentPoint { time_ns, first, last, kind, cause, push: false }
    }

    #[test]
    fn segments_are_differences_from_the_end_of_the_one_before() {
        let packed = Segments::of(&[
            segment(1_500, 1, 525, None),
            segment(13_900, 525, 1049, None),
            segment(900_000, 1, 525, Some(Cause::Timeout)),
        ]);
        assert_eq!(packed.time, [1, 12, 887]);
        assert_eq!(packed.first, [1, 0, -1048]);
        assert_eq!(packed.length, [524, 524, 524]);
        assert_eq!(packed.kind, "..T");
    }

    #[test]
    fn times_that_go_back_stand_still() {
        assert_eq!(times([2_000, 1_000, 4_000].into_iter()), [2, 0, 2]);
    }

    #[test]
    fn acknowledgements_with_their_windows_and_duplicates() {
        let ack = |time_ns, ack, duplicates| AckPoint { time_ns, ack, edge: ack + 32_000, duplicates };
        let packed = Acks::of(&[ack(0, 525, 0), ack(1_000, 525, 1), ack(2_000, 525, 2), ack(9_000, 1049, 0)]);
        assert_eq!(packed.ack, [525, 0, 0, 524]);
        assert_eq!(packed.window, [32_000; 4]);
        assert_eq!(packed.duplicate, [1, 1]);
    }

    #[test]
    fn reasons_are_named_once() {
        let loss = |time_ns, reason: &str| LossPoint {
            time_ns,
            first: 1,
            last: 525,
            reason: reason.into(),
            link: "wlan".into(),
            stage: Some("errors".into()),
        };
        let packed =
            Losses::of(&[loss(0, "wireless error"), loss(1, "queue full"), loss(2, "wireless error")]);
        assert_eq!(packed.reason, [0, 1, 0]);
        assert_eq!(packed.reasons[0], "wireless error (link wlan, stage errors)");
    }
}
