//! Verdicts against true causes: counts, and shares with their intervals.

use super::by_detector;
use capture::Cause;
use capture::senders::Verdict;
use results::statistics::wilson;
use serde::Serialize;
use std::fmt;
use trace::loss_events::receiver::Hole;
use trace::loss_events::{Confusion, Kind, LossEvent};

/// Confidence of the intervals.
const CONFIDENCE: f64 = 0.95;

/// What was judged, and beside it what no detector judges.
#[derive(Debug, Clone, Default)]
pub struct Matrix {
    /// Recoveries, or holes at a receiver; those that no detector judged are without a verdict.
    judged: Confusion,
    /// Timeouts; all are without a verdict here.
    timeouts: Confusion,
    /// Other reductions, likewise.
    reductions: Confusion,
}

/// A line of the matrix.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Row {
    cause: Cause,
    wireless: Share,
    congestion: Share,
    unjudged: u64,
    timeouts: u64,
    reductions: u64,
}

/// Of what a detector judged, so much got a verdict: from `low` to `high` of it in 95 % of such runs (Wilson).
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Share {
    of: u64,
    all: u64,
    value: Option<f64>,
    low: Option<f64>,
    high: Option<f64>,
}

impl Matrix {
    /// Counts a sender's loss events.
    pub fn add(&mut self, events: &[LossEvent]) {
        for event in events {
            let verdict = event.judged().and_then(|judged| judged.verdict).filter(|_| by_detector(event));
            let counted = match event.change.kind {
                Kind::Recovery => &mut self.judged,
                Kind::Timeout => &mut self.timeouts,
                Kind::Cwr => &mut self.reductions,
            };
            counted.add(event.truth.cause, verdict);
        }
    }

    /// Counts what the detector at this place says of holes; where it had no sample it did not judge.
    pub fn add_holes(&mut self, holes: &[Hole], place: usize) {
        for hole in holes {
            let judged = hole.judged.get(place);
            let ruled = judged.filter(|judged| judged.reason == capture::senders::Reason::Detector);
            self.judged.add(hole.truth.cause, ruled.map(|judged| judged.verdict));
        }
    }

    /// A row for each cause that occurs.
    pub fn rows(&self) -> Vec<Row> {
        let row = |cause| {
            let share = |verdict| Share::from(self.judged.share(cause, verdict));
            Row {
                cause,
                wireless: share(Verdict::Wireless),
                congestion: share(Verdict::Congestion),
                unjudged: self.judged.count(cause, None),
                timeouts: self.timeouts.count(cause, None),
                reductions: self.reductions.count(cause, None),
            }
        };
        let all = Cause::ALL.into_iter().map(row);
        all.filter(|row| row.wireless.all + row.unjudged + row.timeouts + row.reductions > 0).collect()
    }
}

impl From<trace::loss_events::Share> for Share {
    fn from(share: trace::loss_events::Share) -> Self {
        let interval = wilson(share.of, share.all, CONFIDENCE);
        Self {
            of: share.of,
            all: share.all,
            value: share.value(),
            low: interval.map(|interval| interval.low),
            high: interval.map(|interval| interval.high),
        }
    }
}

impl fmt::Display for Share {
    /// `12  80.0 % (54.8 to 93.0)`.
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (Some(share), Some(low), Some(high)) = (self.value, self.low, self.high) else {
            return write!(to, "{:>6}{:>24}", "-", "");
        };
        let interval = format!("({:.1} to {:.1})", low * 100.0, high * 100.0);
        write!(to, "{:>6}{:>7.1} % {interval:<15}", self.of, share * 100.0)
    }
}

impl fmt::Display for Matrix {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        let rows = self.rows();
        if rows.is_empty() {
            return writeln!(to, "  no loss");
        }
        let (wireless, congestion) = ("wireless (95 %)", "congestion (95 %)");
        writeln!(
            to,
            "  {:<12}{wireless:>22}{:8}{congestion:>22}{:8}{:>10}{:>9}{:>12}",
            "true cause", "", "", "no verdict", "timeout", "reductions"
        )?;
        for row in rows {
            let Row { cause, wireless, congestion, unjudged, timeouts, reductions } = row;
            let name = cause.name();
            writeln!(to, "  {name:<12}{wireless}{congestion}{unjudged:>10}{timeouts:>9}{reductions:>12}")?;
        }
        Ok(())
    }
}
