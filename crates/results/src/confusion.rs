//! Confusion matrix of verdicts on losses and their true causes, counted event by event, and its
//! shares with their intervals.

use crate::statistics::{Interval, wilson};
use crate::{LossEvent, LossKind};
use capture::Cause;
use capture::senders::{LossVerdict, Reason};
use serde::Serialize;
use std::collections::BTreeMap;

/// Confidence of all intervals.
const CONFIDENCE: f64 = 0.95;

/// How a loss was classified: the columns of the matrix, in this order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Taken {
    /// A detector classified it as wireless.
    Wireless,
    /// A detector classified it as congestion.
    Congestion,
    /// Recovery began, and no detector judged.
    Unjudged,
    /// A timer expired, which always counts as congestion.
    Timeout,
    /// The window was reduced for another reason.
    Reduction,
}

impl Taken {
    /// Returns the column of a detector's verdict; without a sample the loss is unjudged.
    #[must_use]
    pub fn judged(verdict: Option<LossVerdict>, reason: Option<Reason>) -> Self {
        match verdict.filter(|_| reason == Some(Reason::Detector)) {
            Some(LossVerdict::Wireless) => Self::Wireless,
            Some(LossVerdict::Congestion) => Self::Congestion,
            None => Self::Unjudged,
        }
    }
}

impl From<&LossEvent> for Taken {
    fn from(event: &LossEvent) -> Self {
        match event.kind {
            LossKind::Recovery => Self::judged(event.verdict, event.reason),
            LossKind::Timeout => Self::Timeout,
            LossKind::Reduction => Self::Reduction,
        }
    }
}

/// Number of losses by true cause and by classification.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Confusion(BTreeMap<Cause, [u64; 5]>);

/// A row of the matrix: the losses of one true cause.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct OfCause {
    /// The true cause.
    pub cause: Cause,
    /// Share classified as wireless, of the losses that a detector judged.
    pub wireless: Share,
    /// Share classified as congestion, of the losses that a detector judged.
    pub congestion: Share,
    /// Recoveries that no detector judged.
    pub unjudged: u64,
    /// Timeouts.
    pub timeouts: u64,
    /// Reductions of the window alone.
    pub reductions: u64,
}

/// A share of a count with its 95 % interval (Wilson 1927).
///
/// `value` and `interval` are `None` if `all` is 0.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Share {
    /// Count of the part.
    pub of: u64,
    /// Count of the whole.
    pub all: u64,
    /// The share, from 0 to 1.
    pub value: Option<f64>,
    /// Interval that contains the true share in 95 % of such counts.
    pub interval: Option<Interval>,
}

impl Confusion {
    /// Counts a loss.
    pub fn add(&mut self, cause: Cause, taken: Taken) {
        self.0.entry(cause).or_default()[taken as usize] += 1;
    }

    /// Returns a row for each cause that occurs, in the order of the causes.
    #[must_use]
    pub fn rows(&self) -> Vec<OfCause> {
        let row = |(&cause, &[wireless, congestion, unjudged, timeouts, reductions]): (&Cause, &[u64; 5])| {
            let judged = wireless + congestion;
            OfCause {
                cause,
                wireless: Share::of(wireless, judged),
                congestion: Share::of(congestion, judged),
                unjudged,
                timeouts,
                reductions,
            }
        };
        self.0.iter().map(row).collect()
    }
}

impl<'a> Extend<&'a LossEvent> for Confusion {
    fn extend<T: IntoIterator<Item = &'a LossEvent>>(&mut self, events: T) {
        for event in events {
            self.add(event.cause, event.into());
        }
    }
}

impl Share {
    /// Returns the share of `of` in `all`.
    #[must_use]
    pub fn of(of: u64, all: u64) -> Self {
        let value = (all > 0).then(|| of as f64 / all as f64);
        Self { of, all, value, interval: wilson(of, all, CONFIDENCE) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::loss_event::tests::event;

    #[test]
    fn each_event_is_counted_in_one_place() {
        let judged = event(Cause::Wireless, LossVerdict::Congestion);
        let events = [
            (Taken::Wireless, event(Cause::Wireless, LossVerdict::Wireless)),
            (Taken::Congestion, judged.clone()),
            (Taken::Unjudged, LossEvent { reason: Some(Reason::NoSample), ..judged.clone() }),
            (Taken::Unjudged, LossEvent { verdict: None, reason: None, ..judged.clone() }),
            (
                Taken::Timeout,
                LossEvent { kind: LossKind::Timeout, reason: Some(Reason::Timeout), ..judged.clone() },
            ),
            (
                Taken::Reduction,
                LossEvent { kind: LossKind::Reduction, reason: Some(Reason::Local), ..judged.clone() },
            ),
        ];
        for (expected, event) in &events {
            assert_eq!(Taken::from(event), *expected, "{event:?}");
        }
        let mut confusion = Confusion::default();
        confusion.extend(events.iter().map(|(_, event)| event));
        confusion.add(Cause::Congestion, Taken::Timeout);
        let rows = confusion.rows();
        assert_eq!(rows.len(), 2);
        let wireless = rows.iter().find(|row| row.cause == Cause::Wireless).expect("a row");
        assert_eq!((wireless.wireless.of, wireless.wireless.all, wireless.wireless.value), (1, 2, Some(0.5)));
        assert_eq!(wireless.congestion.of, 1);
        assert_eq!((wireless.unjudged, wireless.timeouts, wireless.reductions), (2, 1, 1));
        let congestion = rows.iter().find(|row| row.cause == Cause::Congestion).expect("a row");
        assert_eq!(
            (congestion.congestion.all, congestion.congestion.value, congestion.timeouts),
            (0, None, 1)
        );
    }

    /// Newcombe 1998, table I, method 3.
    #[test]
    fn shares_have_wilsons_interval() {
        let share = Share::of(81, 263);
        let interval = share.interval.expect("an interval");
        assert!(
            (interval.low - 0.2553).abs() < 5e-5 && (interval.high - 0.3662).abs() < 5e-5,
            "{interval:?}"
        );
        let nothing = Share::of(0, 0);
        assert_eq!((nothing.value, nothing.interval), (None, None));
    }
}
