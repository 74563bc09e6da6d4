//! Loss events of a run's connections: how each sender classified a loss, beside what the links had
//! lost.

use capture::senders::INFINITE_SSTHRESH;
use capture_analysis::loss_events::{self, LossDetection};
use results::{Connection, LossEvent, LossKind, Protocol};
use std::net::IpAddr;
use std::path::Path;

/// Adds the loss events to the rows of their connections.
///
/// `senders` and `events` are the tables of the run; `node` returns the node with an address. A
/// connection whose sender shows no loss gets an empty list.
///
/// # Errors
/// If a table cannot be read.
pub fn add<'a>(
    rows: &mut [Connection],
    senders: &Path,
    events: &Path,
    node: impl Fn(IpAddr) -> Option<&'a str>,
) -> Result<(), String> {
    let connections = loss_events::read(senders, events).map_err(|error| error.to_string())?;
    for row in rows.iter_mut().filter(|row| row.protocol == Protocol::Tcp) {
        row.losses = Some(Vec::new());
    }
    for connection in connections {
        let (from, to) = (connection.ends.from, connection.ends.to);
        let is_it = |row: &&mut Connection| {
            row.protocol == Protocol::Tcp
                && (row.from_port, row.to_port) == (from.port(), to.port())
                && node(from.ip()) == Some(row.from.as_str())
                && node(to.ip()) == Some(row.to.as_str())
        };
        // Connections without a row of their own are those of the opposite direction, with few
        // bytes.
        if let Some(row) = rows.iter_mut().find(is_it) {
            row.losses = Some(connection.events.iter().map(of).collect());
        }
    }
    Ok(())
}

/// Converts a loss event for the results.
#[must_use]
pub fn of(event: &loss_events::LossEvent) -> LossEvent {
    let (change, judged) = (event.change, event.judged());
    let sampled = judged.filter(|judged| judged.rtt_us > 0);
    LossEvent {
        at_ns: change.at.as_nanos(),
        kind: match change.kind {
            LossDetection::Recovery => LossKind::Recovery,
            LossDetection::Timeout => LossKind::Timeout,
            LossDetection::Cwr => LossKind::Reduction,
        },
        n: judged.filter(|_| change.kind == LossDetection::Recovery).map(|judged| judged.n as u16),
        lost: event.truth.segments,
        cause: event.truth.cause,
        verdict: judged.and_then(|judged| judged.verdict),
        reason: judged.and_then(|judged| judged.reason),
        rtt_us: sampled.map(|judged| judged.rtt_us),
        mean_ns: sampled.map(|judged| judged.mean_ns),
        dev_ns: sampled.map(|judged| judged.dev_ns),
        cwnd: change.cwnd[0],
        ssthresh: change.ssthresh[1].filter(|&segments| segments < INFINITE_SSTHRESH),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use capture::{Cause, Time};
    use capture_analysis::loss_events::{Change, Judged, Truth};

    fn event(kind: LossDetection, rtt_us: u32, ssthresh: Option<u32>) -> loss_events::LossEvent {
        let judged = Judged {
            n: 3,
            verdict: None,
            reason: None,
            base: 4,
            rtt_us,
            mean_ns: 6,
            dev_ns: 7,
            events: 8,
            timeouts: 9,
            local: 10,
        };
        let change = Change {
            at: Time::from_nanos(11),
            seen: Time::from_nanos(12),
            kind,
            cwnd: [13, 14],
            ssthresh: [Some(15), ssthresh],
            snd_una: 17,
            snd_nxt: 18,
            judged: Some(judged),
        };
        loss_events::LossEvent { change, truth: Truth { packets: 19, segments: 20, cause: Cause::Wireless } }
    }

    /// The window before the event, and the threshold after it.
    #[test]
    fn each_figure_of_a_loss_event_has_its_place() {
        let expected = LossEvent {
            at_ns: 11,
            kind: LossKind::Recovery,
            n: Some(3),
            lost: 20,
            cause: Cause::Wireless,
            verdict: None,
            reason: None,
            rtt_us: Some(5),
            mean_ns: Some(6),
            dev_ns: Some(7),
            cwnd: 13,
            ssthresh: Some(16),
        };
        assert_eq!(of(&event(LossDetection::Recovery, 5, Some(16))), expected);
        let timeout = of(&event(LossDetection::Timeout, 5, Some(16)));
        assert_eq!((timeout.kind, timeout.n), (LossKind::Timeout, None), "counts are those of recoveries");
        assert_eq!(of(&event(LossDetection::Cwr, 5, Some(16))).kind, LossKind::Reduction);
    }

    #[test]
    fn figures_that_are_not_known_are_none() {
        let without_sample = of(&event(LossDetection::Recovery, 0, Some(INFINITE_SSTHRESH)));
        assert_eq!(
            (without_sample.rtt_us, without_sample.mean_ns, without_sample.dev_ns),
            (None, None, None)
        );
        assert_eq!((without_sample.n, without_sample.ssthresh), (Some(3), None));
        let largest = of(&event(LossDetection::Recovery, 0, Some(INFINITE_SSTHRESH - 1)));
        assert_eq!(largest.ssthresh, Some(INFINITE_SSTHRESH - 1));
        let mut unjudged = event(LossDetection::Recovery, 5, None);
        unjudged.change.judged = None;
        assert_eq!((of(&unjudged).n, of(&unjudged).rtt_us), (None, None));
    }
}
