//! Entry point for fuzzing: takes any bytes and must return.

use crate::analysis::{self, Options, Unwatched};
use crate::connection::Connection;
use crate::long::Long;
use capture::packets::Reader;
use std::path::Path;

/// Reads a capture and looks at every figure of every connection.
///
/// # Panics
///
/// If figures contradict each other.
pub fn trace(bytes: &[u8]) {
    let Ok(reader) = Reader::new(bytes) else { return };
    let trace = analysis::analyse(reader, Path::new("fuzz"), &Options::default(), &mut Unwatched);
    for interface in trace.expect("bytes can be read").interfaces {
        for (index, connection) in interface.connections.all().iter().enumerate() {
            check(connection);
            let end = interface.end();
            let _ = Long { connection, number: index + 1, end, file: "fuzz" }.to_string();
        }
    }
}

/// Figures of one connection that must agree.
pub(crate) fn check(connection: &Connection) {
    assert!(connection.first_time <= connection.last_time);
    for half in &connection.halves {
        let counts = half.counts;
        let causes = half.retransmissions();
        assert!(half.unique_bytes() <= counts.data_bytes + counts.syns + counts.fins, "{counts:?}");
        assert!(counts.data_packets <= counts.packets && counts.acks <= counts.packets);
        assert!(counts.pure_acks + counts.duplicate_acks <= 2 * counts.acks);
        assert!(counts.retransmitted_packets + counts.probe_packets <= counts.packets);
        let all = causes.fast + causes.timeout + causes.tail_probe + causes.keep_alive + causes.unknown;
        assert_eq!(all, counts.retransmitted_packets);
        assert!(causes.spurious_by_dsack + causes.spurious_by_timestamps <= all);
        let trips = half.round_trips();
        assert!(trips.min_ns <= trips.median_ns && trips.median_ns <= trips.p95_ns);
        assert!(trips.p95_ns <= trips.p99_ns && trips.p99_ns <= trips.max_ns);
        assert!(counts.min_segment <= counts.max_segment && half.windows.min <= half.windows.max);
    }
}
