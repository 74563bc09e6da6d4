//! Entry points for fuzzing: any input must be handled without a panic.

use crate::analysis::{self, AnalysisOptions, Unwatched};
use crate::connection::Connection;
use crate::layers::graph::View;
use crate::layers::time::Alignment;
use crate::layers::{self, Sources};
use crate::long::Long;
use crate::sequence::collect::{Collector, Wanted};
use crate::spurious::{self, SpuriousVerdict};
use capture::packets::Reader;
use std::path::Path;

/// Maximum number of points of each sort.
const POINTS: usize = 32;

/// Reads a capture and computes every figure and every point of every connection.
///
/// # Panics
///
/// If figures contradict each other.
pub fn trace(bytes: &[u8]) {
    let Ok(reader) = Reader::new(bytes) else { return };
    let mut collector = Collector::new(Wanted::All, POINTS);
    let trace = analysis::analyse(reader, Path::new("fuzz"), &AnalysisOptions::default(), &mut collector);
    let interfaces = trace.expect("bytes can be read").interfaces;
    if let Some(first) = interfaces.iter().find(|interface| Some(interface.number) == collector.interface()) {
        let all = collector.finish(first);
        assert_eq!(all.len(), first.connections.all().len());
        for series in all.iter().flat_map(|sequence| &sequence.series) {
            assert!(series.segments.len() <= POINTS && series.acks.len() <= POINTS);
            assert!(series.segments.iter().all(|segment| segment.first <= segment.last));
        }
    }
    for interface in interfaces {
        for (index, connection) in interface.connections.all().iter().enumerate() {
            check(connection);
            let end = interface.end();
            let _ = Long { connection, number: index + 1, end, file: "fuzz" }.to_string();
        }
    }
}

/// Reads a capture and examines every direction with data as `--spurious` and `--layers` do: as if
/// the capture were the sender's, or contained both ends.
///
/// # Panics
///
/// If counts contradict each other.
pub fn directions(bytes: &[u8]) {
    let Ok(reader) = Reader::new(bytes) else { return };
    let mut collector = spurious::collect::Collector::new(Unwatched);
    let trace = analysis::analyse(reader, Path::new("fuzz"), &AnalysisOptions::default(), &mut collector);
    let interfaces = collector.finish("fuzz", &trace.expect("bytes can be read"));
    for sides in spurious::pair(&interfaces) {
        for alignment in [Alignment::Syn, Alignment::Common, Alignment::Estimated] {
            let sources = Sources {
                sides,
                ends: &[],
                limiters: &[],
                states: &[],
                receiver_window: None,
                alignment,
                span: None,
            };
            let tracing = layers::view(&sources);
            check_view(&tracing.view);
            let examined = &tracing.examined;
            let count = |verdict| examined.count(|again| again.verdict == verdict).0;
            let all = SpuriousVerdict::ALL.into_iter().map(count).sum::<u64>();
            assert_eq!(all, examined.retransmissions.len() as u64);
            assert!(all <= examined.sent.0);
        }
    }
}

fn check_view(view: &View) {
    for graph in &view.graphs {
        assert!(graph.points.iter().all(|point| point.bytes >= 0.0), "{}", graph.label);
    }
}

/// Checks figures of one connection that must agree.
pub(crate) fn check(connection: &Connection) {
    assert!(connection.first_time <= connection.last_time);
    for (half, other) in connection.halves.iter().zip(connection.halves.iter().rev()) {
        let counts = half.counts;
        assert!(counts.duplicate_acks <= other.counts.pure_acks, "{counts:?}");
        let causes = half.retransmissions();
        assert!(half.unique_bytes() <= counts.data_bytes + counts.syns + counts.fins, "{counts:?}");
        assert!(counts.data_packets <= counts.packets && counts.acks <= counts.packets);
        assert!(counts.pure_acks <= counts.acks);
        assert!(counts.retransmitted_packets + counts.probe_packets <= counts.packets);
        let all = causes.fast
            + causes.rack
            + causes.timeout
            + causes.tail_probe
            + causes.keep_alive
            + causes.unknown;
        assert_eq!(all, counts.retransmitted_packets);
        assert!(causes.spurious_by_dsack + causes.spurious_by_timestamps <= all);
        let trips = half.round_trips();
        assert!(trips.min_ns <= trips.median_ns && trips.median_ns <= trips.p95_ns);
        assert!(trips.p95_ns <= trips.p99_ns && trips.p99_ns <= trips.max_ns);
        assert!(counts.min_segment <= counts.max_segment && half.windows.min <= half.windows.max);
    }
}
