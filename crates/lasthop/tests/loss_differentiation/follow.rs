//! Follows one sender from row to row and compares it with the oracle.
//!
//! A row is the state before its segment was processed, so the effect of a segment is the
//! difference to the next row: at most one round-trip time. The basis of a loss event's verdict is
//! in the row that shows the event. A timer may have expired after the segment.

use crate::rules::{Oracle, Settings, algorithm};
use crate::states::Row;
use crate::tally::Tally;
use capture::senders::CongestionState;
use loss_differentiation::{LossVerdict, Reason, Reduction, Statistics, reduced};

/// Stated rounding errors of the kernel's side, in nanoseconds, plus one for the unit of the rows.
const MEAN_NS: f64 = 1000.0 / 8.0 + 1.0;
const DEV_NS: f64 = 1000.0 / 4.0 + 1.0;

/// Compares everything that one sender did with the oracle; panics at a difference.
pub fn follow(rows: &[Row], settings: Settings) -> Tally {
    let mut tally = Tally::default();
    let Some(first) = rows.first() else { return tally };
    let mut oracle = Oracle::new(algorithm(first.loss.algorithm), settings);
    match first.loss.samples {
        0 => {}
        1 => oracle.sample(first),
        _ => {
            tally.gaps = 1;
            return tally;
        }
    }
    for pair in rows.windows(2) {
        let [before, after] = pair else { continue };
        assert_eq!(before.loss.algorithm, after.loss.algorithm, "{after:?}");
        let samples = after.loss.samples.wrapping_sub(before.loss.samples);
        if samples > 1 {
            tally.gaps = 1;
            return tally;
        }
        oracle.segment(before, after, samples == 1, &mut tally);
        if samples == 1 {
            agrees(oracle.statistics(), after);
            tally.samples += 1;
        } else {
            let measured = |row: &Row| (row.loss.mean_ns, row.loss.dev_ns, row.loss.rtt_us);
            assert_eq!(measured(before), measured(after), "no sample changes nothing");
        }
        reductions(&oracle, before, after, &mut tally);
    }
    tally.whole = 1;
    tally
}

/// N6: checks mean and deviation.
fn agrees(oracle: Option<Statistics>, row: &Row) {
    let oracle = oracle.expect("a sample was taken");
    let off = |shown: u64, exact_us: f64| (shown as f64 - exact_us * 1000.0).abs();
    assert!(off(row.loss.mean_ns, oracle.mean_us) <= MEAN_NS, "{oracle:?} and {row:?}");
    assert!(off(row.loss.dev_ns, oracle.dev_us) <= DEV_NS, "{oracle:?} and {row:?}");
    assert!((oracle.latest_us - f64::from(row.loss.rtt_us)).abs() < 1e-9, "{oracle:?} and {row:?}");
}

/// Checks the reductions of the window between two rows.
fn reductions(oracle: &Oracle, before: &Row, after: &Row, tally: &mut Tally) {
    let (was, is) = (&before.loss, &after.loss);
    let events = is.events.wrapping_sub(was.events);
    let timeouts = is.timeouts.wrapping_sub(was.timeouts);
    let local = is.local.wrapping_sub(was.local);
    let wireless = is.wireless.wrapping_sub(was.wireless);
    assert!(events <= 1 && wireless <= events, "{before:?} {after:?}");
    if timeouts > 0 {
        timed_out(before, after, events, tally);
        tally.timeouts += u32::from(timeouts);
    } else if local > 0 {
        assert_eq!(
            (is.verdict, is.reason),
            (Some(LossVerdict::Congestion), Some(Reason::Local)),
            "{after:?}"
        );
        assert_eq!(after.state.ssthresh, Some(halved(is.base)), "{after:?}");
        tally.local += u32::from(local);
    } else if events == 0 {
        let last = |row: &Row| {
            let loss = row.loss;
            (loss.n, loss.verdict, loss.reason, loss.base, loss.limit)
        };
        assert_eq!(last(before), last(after), "what there is of the last event stays");
    }
    if events == 1 && (timeouts > 0 || local > 0) {
        tally.overwritten += 1;
    } else if events == 1 {
        judged(oracle, before, after, wireless == 1, tally);
    }
}

fn halved(base: u32) -> u32 {
    reduced(base, LossVerdict::Congestion, Reduction::default())
}

/// AMB-N5: after a timeout the verdict is congestion without asking a detector, and the window is
/// halved unless it is in recovery already.
fn timed_out(before: &Row, after: &Row, events: u32, tally: &mut Tally) {
    let is = &after.loss;
    assert_eq!((is.verdict, is.reason), (Some(LossVerdict::Congestion), Some(Reason::Timeout)), "{after:?}");
    assert!(is.n >= 1);
    let quiet = matches!(before.state.state, Some(CongestionState::Open | CongestionState::Disorder));
    if after.state.ssthresh != Some(halved(is.base)) {
        // Recovery or an earlier timeout had reduced it; or an earlier row has the value that
        // applies now.
        assert!(!quiet || events == 1, "{before:?} {after:?}");
        tally.unreduced += 1;
    }
}

/// N7 to N10: checks the verdict on a loss event, and the reduced window.
fn judged(oracle: &Oracle, before: &Row, after: &Row, wireless: bool, tally: &mut Tally) {
    let is = &after.loss;
    let expected = oracle.judge(after);
    let verdict = is.verdict.expect("a verdict");
    assert_eq!(verdict == LossVerdict::Wireless, wireless, "the counter goes by the verdict: {after:?}");
    let near = oracle.is_near(&expected, after);
    assert!(is.reason == Some(expected.reason), "{expected:?} and {after:?}");
    if verdict != expected.verdict {
        assert!(near, "{expected:?} and {after:?}");
        tally.near += 1;
    }
    if let Some(exact) = oracle.by_words(after) {
        assert_eq!((verdict, Some(exact.reason)), (exact.verdict, is.reason), "{exact:?} and {after:?}");
    }
    limit(oracle, after);
    assert_eq!(after.state.ssthresh, Some(reduced(is.base, verdict, oracle.settings.reduction)), "{after:?}");
    tally.events += 1;
    tally.by_n[usize::from(is.n.min(4)) - 1] += 1;
    tally.wireless += u32::from(wireless);
    tally.unmeasured += u32::from(expected.reason == Reason::NoSample);
    tally.moved += u32::from(is.base != before.state.cwnd);
    let lost = after.state.lost_out.map(|lost| lost.max(1));
    assert!(lost >= Some(is.n.into()), "{after:?}");
    tally.marked_later += u32::from(lost != Some(is.n.into()));
}

/// Checks the word with the limit of the decision.
fn limit(oracle: &Oracle, after: &Row) {
    let judged = oracle.by_words(after).unwrap_or_else(|| oracle.judge(after));
    let shown = f64::from(after.loss.limit) / 256.0;
    let expected = judged.limit.unwrap_or(0.0).max(0.0);
    assert!((shown - expected).abs() <= 0.375, "{judged:?} and {after:?}");
}
