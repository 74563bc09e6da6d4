//! The watched connections as a table, each with its last state.

use capture::senders::{INFINITE_SSTHRESH, LossState, SenderState};
use comfy_table::presets::NOTHING;
use comfy_table::{CellAlignment, Table};
use std::collections::BTreeMap;
use std::fmt::Display;
use std::net::SocketAddr;

/// Time after which a silent connection is left out, in nanoseconds of the states' clock.
const SILENCE: u64 = 10_000_000_000;

/// The last state of each connection.
#[derive(Debug, Default)]
pub struct Connections {
    /// Whether connections with other congestion controls than lasthop's are included.
    all: bool,
    last: BTreeMap<(SocketAddr, SocketAddr), SenderState>,
}

impl Connections {
    /// Creates an empty table; `all` includes connections with other congestion controls.
    #[must_use]
    pub fn new(all: bool) -> Self {
        Self { all, last: BTreeMap::new() }
    }

    /// Returns whether there are no connections.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.last.is_empty()
    }

    /// Records new states, and drops connections that have been silent too long.
    pub fn take(&mut self, states: &[SenderState]) {
        for state in states.iter().filter(|state| self.all || state.loss.is_some()) {
            self.last.insert((state.local, state.remote), *state);
        }
        if let Some(now) = states.iter().map(|state| state.at.as_nanos()).max() {
            self.last.retain(|_, state| state.at.as_nanos() + SILENCE >= now);
        }
    }

    /// Returns the table, a row for each connection.
    #[must_use]
    pub fn table(&self) -> Table {
        let mut table = Table::new();
        table.load_style(NOTHING);
        table.set_header([
            "sender", "receiver", "control", "state", "cwnd", "ssthresh", "srtt", "rtt", "mean", "dev",
            "losses", "wireless", "n", "verdict", "reason",
        ]);
        for column in 4..13 {
            if let Some(column) = table.column_mut(column) {
                column.set_cell_alignment(CellAlignment::Right);
            }
        }
        table.add_rows(self.last.values().map(row));
        table
    }
}

fn row(state: &SenderState) -> Vec<String> {
    let of = |value: fn(&LossState) -> String| state.loss.as_ref().map_or_else(none, value);
    vec![
        state.local.to_string(),
        state.remote.to_string(),
        of(|loss| loss.algorithm.to_string()),
        state.state.map_or_else(none, |state| state.name().to_owned()),
        state.cwnd.to_string(),
        state.ssthresh.filter(|&threshold| threshold != INFINITE_SSTHRESH).map_or_else(none, text),
        state.srtt_us.map_or_else(none, |micros| milliseconds(u64::from(micros) * 1000)),
        of(|loss| milliseconds(u64::from(loss.rtt_us) * 1000)),
        of(|loss| milliseconds(loss.mean_ns)),
        of(|loss| milliseconds(loss.dev_ns)),
        of(|loss| text(loss.events)),
        of(|loss| if loss.algorithm.differentiates() { text(loss.wireless) } else { none() }),
        of(|loss| if loss.events > 0 { text(loss.n) } else { none() }),
        of(|loss| loss.verdict.map_or_else(none, text)),
        of(|loss| loss.reason.map_or_else(none, text)),
    ]
}

fn none() -> String {
    "-".to_owned()
}

fn text(value: impl Display) -> String {
    value.to_string()
}

fn milliseconds(nanoseconds: u64) -> String {
    format!("{:.2}ms", nanoseconds as f64 / 1e6)
}

#[cfg(test)]
mod tests {
    use super::*;
    use capture::Time;
    use capture::senders::{Algorithm, CongestionState, LossVerdict, Reason};

    fn state(port: u16, at: u64, loss: Option<LossState>) -> SenderState {
        SenderState {
            at: Time::from_nanos(at),
            cwnd: 20,
            ssthresh: Some(16),
            srtt_us: Some(53_250),
            state: Some(CongestionState::Recovery),
            loss,
            ..SenderState::nothing_known(([10, 0, 0, 1], port).into(), ([10, 0, 0, 2], 80).into())
        }
    }

    /// NewZag after a loss that it classified as wireless.
    const NEWZAG: LossState = LossState {
        algorithm: Algorithm::NewZag,
        mean_ns: 54_120_000,
        dev_ns: 1_500_000,
        rtt_us: 52_900,
        n: 2,
        verdict: Some(LossVerdict::Wireless),
        reason: Some(Reason::Detector),
        events: 7,
        wireless: 3,
        ..LossState::NOTHING_YET
    };

    #[test]
    fn the_last_state_of_each_connection() {
        let mut connections = Connections::new(false);
        connections.take(&[
            state(1, 5, Some(LossState::NOTHING_YET)),
            state(1, 9, Some(NEWZAG)),
            state(2, 9, None),
        ]);
        insta::assert_snapshot!(connections.table());
    }

    #[test]
    fn all_of_them_if_asked_for_and_none_that_is_silent() {
        let mut connections = Connections::new(true);
        connections.take(&[state(1, 5, None), state(2, SILENCE, Some(NEWZAG))]);
        assert_eq!(connections.last.len(), 2);
        connections.take(&[state(3, SILENCE + 6, None)]);
        let ports: Vec<_> = connections.last.keys().map(|(local, _)| local.port()).collect();
        assert_eq!(ports, [2, 3]);
    }
}
