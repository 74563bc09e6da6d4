//! What the Eifel response (RFC 4015) would have saved.
//!
//! An *episode* begins with a spurious retransmission and lasts until everything that was
//! outstanding then is acknowledged. Meanwhile the sender continues to retransmit data that is
//! still in flight. A sender that detects the first spurious retransmission at the acknowledgment
//! that covers it (RFC 3522) resumes with new data there (RFC 4015 section 3.2, step 7). That saves
//! all later needless retransmissions, and restores the window (step 8, and the threshold:
//! `pipe_prev`). It does not save earlier ones, which the timer sent as it backed off.

use super::SpuriousVerdict;
use super::examine::Examined;
use super::states::State;
use crate::retransmission::Cause;

/// Competing error recovery that begins with a spurious retransmission.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Episode {
    /// Time of the first spurious retransmission, in nanoseconds since 1970.
    pub time: u64,
    /// Cause of that retransmission.
    pub cause: Cause,
    /// When that could be known: time of the acknowledgment that covers it.
    pub known: Option<u64>,
    /// Spurious retransmissions after the first one: number of segments, and bytes at IP.
    pub needless: (u64, u64),
    /// Those of them sent after that acknowledgment, which the response would have saved.
    pub saved: (u64, u64),
    /// Changes of the window, if the sender's states are known.
    pub window: Option<Window>,
}

/// Congestion window and threshold in an episode, in segments.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Window {
    /// Window before the first retransmission.
    pub before: u32,
    /// Smallest window in the episode.
    pub least: u32,
    /// Window at its end.
    pub end: u32,
    /// Threshold before the first retransmission.
    pub ssthresh_before: Option<u32>,
    /// Threshold at its end.
    pub ssthresh_end: Option<u32>,
    /// Threshold that the response restores: the larger of the data in flight before and the
    /// threshold then (RFC 4015, `pipe_prev`).
    pub pipe_prev: Option<u32>,
}

/// Returns the episodes of one direction of a connection.
#[must_use]
pub fn episodes(examined: &Examined, states: Option<&[State]>) -> Vec<Episode> {
    let mut episodes: Vec<Episode> = Vec::new();
    // Number after the data outstanding when the last episode began, and the time at which each
    // episode ends: that of the last acknowledgment that covers one of its retransmissions.
    let mut going_on: Option<u64> = None;
    let mut ends: Vec<u64> = Vec::new();
    for again in examined.retransmissions.iter().filter(|again| again.verdict == SpuriousVerdict::Spurious) {
        let bytes = u64::from(again.length);
        if going_on.is_some_and(|outstanding| again.first < outstanding)
            && let Some(episode) = episodes.last_mut()
        {
            let add = |sum: &mut (u64, u64)| *sum = (sum.0 + 1, sum.1 + bytes);
            add(&mut episode.needless);
            if episode.known.is_some_and(|known| again.time >= known) {
                add(&mut episode.saved);
            }
            if let Some(end) = ends.last_mut() {
                *end = (*end).max(again.answered.unwrap_or(again.time));
            }
            continue;
        }
        going_on = Some(again.outstanding);
        ends.push(again.answered.unwrap_or(again.time));
        episodes.push(Episode {
            time: again.time,
            cause: again.cause,
            known: again.answered,
            needless: (0, 0),
            saved: (0, 0),
            window: None,
        });
    }
    for (episode, end) in episodes.iter_mut().zip(ends) {
        episode.window = states.and_then(|states| window(states, episode.time, end));
    }
    episodes
}

/// Returns the changes of the window between two instants.
fn window(states: &[State], time: u64, end: u64) -> Option<Window> {
    let from = states.partition_point(|state| state.time <= time);
    // A row is the state before its segment, which reaches TCP a little later than the point of
    // capture. So the effect of the last acknowledgment is in the second row after it.
    let until = states.partition_point(|state| state.time <= end);
    let before = &states[from.checked_sub(1)?];
    let at_end = states.get(until + 1).or(states.last())?;
    let least = states[from..states.len().min(until + 1)].iter().map(|state| state.cwnd).min();
    Some(Window {
        before: before.cwnd,
        least: least.unwrap_or(before.cwnd),
        end: at_end.cwnd,
        ssthresh_before: before.ssthresh,
        ssthresh_end: at_end.ssthresh,
        pipe_prev: before.in_flight.max(before.ssthresh),
    })
}
