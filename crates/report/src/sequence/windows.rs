//! Congestion window and slow start threshold over time, from the states recorded by the recorder
//! of TCP senders.
//!
//! Only changes are stored. A threshold that is unknown, or was not set yet, is empty: the line
//! then continues at its previous value.

use super::events::Events;
use super::pack::times;
use capture::Time;
use capture::senders::{INFINITE_SSTHRESH, Reader, SenderState};
use capture_analysis::TraceError;
use capture_analysis::sequence::{Series, TimeSequence};
use results::LossEvent;
use serde::Serialize;
use std::path::Path;

/// Congestion window and threshold of a sender. Times are packed, and count, as in a time-sequence
/// plot.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub(super) struct Windows {
    time: Vec<u64>,
    /// Congestion window in segments.
    cwnd: Vec<u32>,
    /// Threshold in segments.
    ssthresh: Vec<Option<u32>>,
    /// Loss events of the connection, if recorded.
    pub(super) events: Option<Events>,
}

/// A change of the window or the threshold.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Change {
    time_ns: u64,
    cwnd: u32,
    ssthresh: Option<u32>,
}

/// Reads the windows of the sender of `series`, one of `connection`, from the table at `path`, with
/// at most `limit` changes. `losses` are the loss events of that sender.
pub(super) fn read(
    path: &Path,
    connection: &TimeSequence,
    series: &Series,
    losses: Option<&[LossEvent]>,
    limit: usize,
) -> Result<Option<Windows>, TraceError> {
    let failed = |source| TraceError::Events { path: path.to_owned(), source };
    let reader = Reader::open(path).map_err(failed)?;
    let started = reader.header().started;
    let (start, end) = (connection.start_unix_ns, connection.start_unix_ns + connection.duration_ns);
    let mut changes: Vec<Change> = Vec::new();
    for state in reader {
        let state = state.map_err(failed)?;
        let time = started.at(state.at).as_nanos();
        // Another connection may have had the same ports before or after.
        let ours = (state.local, state.remote) == (series.from, series.to) && (start..=end).contains(&time);
        if ours {
            changes.extend(change(&state, time - start, changes.last()));
        }
    }
    let events = losses.map(|losses| {
        // Both times are since the start of the run.
        let since = |event: &LossEvent| {
            started.at(Time::from_nanos(event.at_ns)).as_nanos().saturating_sub(connection.start_unix_ns)
        };
        Events::of(losses, since)
    });
    Ok(Windows::of(&changes, limit).map(|windows| Windows { events, ..windows }))
}

/// Returns the change after `before`, if there is one.
fn change(state: &SenderState, time_ns: u64, before: Option<&Change>) -> Option<Change> {
    let ssthresh = state.ssthresh.filter(|&threshold| threshold < INFINITE_SSTHRESH);
    let ssthresh = ssthresh.or(before.and_then(|change| change.ssthresh));
    let change = Change { time_ns, cwnd: state.cwnd, ssthresh };
    let same = before.is_some_and(|before| Change { time_ns, ..*before } == change);
    (!same).then_some(change)
}

impl Windows {
    /// Converts changes; if there are more than `limit`, only every second, third, … is kept.
    fn of(changes: &[Change], limit: usize) -> Option<Self> {
        if changes.is_empty() {
            return None;
        }
        let step = changes.len().div_ceil(limit.max(1));
        let left = || changes.iter().step_by(step);
        Some(Self {
            time: times(left().map(|change| change.time_ns)),
            cwnd: left().map(|change| change.cwnd).collect(),
            ssthresh: left().map(|change| change.ssthresh).collect(),
            events: None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_changes_are_kept_and_what_is_not_known_goes_on() {
        let mut changes: Vec<Change> = Vec::new();
        let rows = [
            (10, Some(INFINITE_SSTHRESH)),
            (11, Some(INFINITE_SSTHRESH)),
            (11, Some(INFINITE_SSTHRESH)),
            (5, Some(5)),
            (6, None),
            (6, Some(5)),
            (6, Some(4)),
        ];
        let blank = SenderState::nothing_known(([10, 0, 0, 1], 1).into(), ([10, 0, 0, 2], 2).into());
        for (time, (cwnd, ssthresh)) in (0..).step_by(1000).zip(rows) {
            changes.extend(change(&SenderState { cwnd, ssthresh, ..blank }, time, changes.last()));
        }
        let windows = Windows::of(&changes, 100).expect("changes");
        assert_eq!(windows.time, [0, 1, 2, 1, 2]);
        assert_eq!(windows.cwnd, [10, 11, 5, 6, 6]);
        assert_eq!(windows.ssthresh, [None, None, Some(5), Some(5), Some(4)]);
        let fewer = Windows::of(&changes, 3).expect("changes");
        assert_eq!((fewer.time, fewer.cwnd), (vec![0, 3, 3], vec![10, 5, 6]));
        assert_eq!(Windows::of(&[], 3), None);
    }
}
