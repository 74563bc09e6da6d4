//! The oracle of one sender: its state beyond samples, as the rows show it.

use crate::states::Row;
use crate::tally::Tally;
use capture::senders::Algorithm as Named;
use loss_differentiation::{
    Algorithm, Arrival, Detector, Form, Judgement, Loss, LossVerdict, Parameters, Reduction, Spacing,
    Statistics,
};

/// Maximum difference between a time in a row and the kernel's own, both truncated to microseconds.
const CUT_US: f64 = 1.0;
/// Scale of words that hold fractions.
const UNIT: f64 = 256.0;

/// Settings of a connection.
#[derive(Debug, Clone, Copy)]
pub struct Settings {
    /// Parameters of the detector.
    pub parameters: Parameters,
    /// Reduction of the window.
    pub reduction: Reduction,
    /// Whether it uses selective acknowledgements.
    pub has_sack: bool,
}

/// An oracle that is fed the rows of one sender.
pub struct Oracle {
    /// What the connection was set to.
    pub settings: Settings,
    algorithm: Algorithm,
    detector: Detector,
    /// Statistics for algorithms that keep none in the oracle; all of them do in the kernel.
    statistics: Option<Statistics>,
    /// Veno: the round lasts until more than this is acknowledged.
    round_end: Option<u32>,
    /// Veno: whether a round has ended.
    had_round: bool,
    /// Whether the rows show the acknowledgements as Biaz and mBiaz see them. The kernel counts
    /// selective acknowledgements before it calls the algorithms, but duplicate ones, without SACK,
    /// after it.
    follows_gaps: bool,
}

/// Returns the detector of a congestion control.
pub fn algorithm(named: Named) -> Algorithm {
    Algorithm::from_name(named.name()).unwrap_or_else(|| panic!("{named} judges nothing"))
}

impl Oracle {
    /// Creates the oracle before the first row.
    pub fn new(algorithm: Algorithm, settings: Settings) -> Self {
        let follows_gaps = settings.has_sack && matches!(algorithm, Algorithm::Biaz | Algorithm::MBiaz);
        let detector = Detector::with(algorithm, Form::SenderOnly, settings.parameters);
        Self {
            settings,
            algorithm,
            detector,
            statistics: None,
            round_end: None,
            had_round: false,
            follows_gaps,
        }
    }

    /// Returns mean and deviation of the samples so far.
    pub fn statistics(&self) -> Option<Statistics> {
        self.detector.statistics().copied().or(self.statistics)
    }

    /// Processes the segment between two rows; `sampled` if it brought a round-trip time.
    pub fn segment(&mut self, before: &Row, after: &Row, sampled: bool, tally: &mut Tally) {
        if sampled {
            self.round(before, after, tally);
            self.sample(after);
        }
        if self.follows_gaps {
            self.detector.arrival(Arrival {
                at_us: (before.state.at.as_nanos() / 1000) as f64,
                delivered: after.state.delivered.expect("a count"),
                in_order: after.state.sacked_out == Some(0),
            });
        }
        self.words(after, tally);
    }

    /// Processes the round-trip time in this row.
    pub fn sample(&mut self, row: &Row) {
        let rtt = f64::from(row.loss.rtt_us);
        let quantum = self.settings.parameters.quantum;
        // The row has the reading of the coarse clock, not the exact time.
        assert!((quantum.read(rtt) - rtt).abs() < 1e-9, "{row:?}");
        self.detector.sample(rtt);
        if self.detector.statistics().is_none() {
            Statistics::add(&mut self.statistics, rtt, self.settings.parameters.gain);
        }
    }

    /// Veno: a round trip ends when more is acknowledged than had been sent at its start, before
    /// its sample is processed.
    fn round(&mut self, before: &Row, after: &Row, tally: &mut Tally) {
        if self.algorithm != Algorithm::Veno {
            return;
        }
        let acknowledged = after.state.snd_una;
        if let Some(end) = self.round_end {
            if end.wrapping_sub(acknowledged).cast_signed() >= 0 {
                return;
            }
            self.detector.round(before.state.cwnd);
            self.had_round = true;
            tally.further += 1;
        }
        self.round_end = Some(before.state.snd_nxt);
    }

    /// Checks the words that a detector has for itself, at every row.
    fn words(&self, row: &Row, tally: &mut Tally) {
        let loss = &row.loss;
        let least = self.detector.least_us();
        let judged = self.detector.judge(Loss { n: 1, cwnd: row.state.cwnd });
        match self.algorithm {
            Algorithm::NewZag | Algorithm::NewZagV1 | Algorithm::ZigZag => {
                assert_eq!((loss.least, loss.span, loss.spanned), (0, 0, 0), "{row:?}");
            }
            Algorithm::Spike => {
                assert_eq!(loss.least, least.unwrap_or(0.0) as u32, "{row:?}");
                let inside = least.is_some() && judged.verdict == LossVerdict::Congestion;
                assert_eq!((loss.span, loss.spanned), (u32::from(inside), 0), "{row:?}");
            }
            Algorithm::Veno => {
                assert_eq!(loss.least, least.unwrap_or(0.0) as u32, "{row:?}");
                let backlog = judged.measured.filter(|_| self.had_round).unwrap_or(0.0);
                let shown = f64::from(loss.span) / UNIT;
                assert!(
                    backlog - 1.0 / UNIT - 1e-6 <= shown && shown <= backlog + 1e-6,
                    "{backlog} and {row:?}"
                );
            }
            Algorithm::Biaz | Algorithm::MBiaz if !self.follows_gaps => {}
            Algorithm::Biaz | Algorithm::MBiaz => {
                let shown = f64::from(loss.least) / UNIT;
                assert!((shown - least.unwrap_or(0.0)).abs() <= CUT_US + 1.0 / UNIT, "{least:?} and {row:?}");
                let lines = judged.floor.zip(least).map(|(floor, least)| (floor / least).round() - 1.0);
                if loss.spanned > 0 || loss.span > 0 {
                    // n is 1 here, so the rest of the floor is d.
                    assert_eq!(lines, Some(f64::from(loss.spanned)), "{row:?}");
                    let span = judged.measured.expect("a gap");
                    assert!((f64::from(loss.span) - span).abs() <= CUT_US, "{span} and {row:?}");
                    tally.further += 1;
                }
            }
        }
    }

    /// Returns the verdict on the loss event of this row.
    pub fn judge(&self, row: &Row) -> Judgement {
        if let Some(by_words) = self.by_words(row).filter(|_| !self.follows_gaps) {
            return by_words;
        }
        self.detector.judge(Loss { n: row.loss.n.into(), cwnd: row.loss.base })
    }

    /// Returns whether the measured value is so near to the limit that rounding in the kernel may
    /// reverse the verdict.
    pub fn is_near(&self, judged: &Judgement, row: &Row) -> bool {
        let (Some(measured), Some(limit)) = (judged.measured, judged.limit) else { return false };
        let slack = match self.algorithm {
            // The mean is exact to 1/8 us, and the deviation, which counts at most fully, to 1/4
            // us.
            Algorithm::NewZag | Algorithm::NewZagV1 | Algorithm::ZigZag => 0.375,
            Algorithm::Spike => 0.0,
            // N is rounded down in the row, so only the rounding of the two sides is left.
            Algorithm::Veno => 1e-6,
            Algorithm::Biaz | Algorithm::MBiaz => {
                CUT_US + (CUT_US + 1.0 / UNIT) * f64::from(u32::from(row.loss.n) + row.loss.spanned + 1)
            }
        };
        [Some(limit), judged.floor].into_iter().flatten().any(|border| (measured - border).abs() <= slack)
    }

    /// Biaz and mBiaz: returns the verdict computed from the words in the row, which involve no
    /// rounding. The oracle sees two arrivals with the minimum spacing, and then the gap.
    pub fn by_words(&self, row: &Row) -> Option<Judgement> {
        if !matches!(self.algorithm, Algorithm::Biaz | Algorithm::MBiaz) || row.loss.least == 0 {
            return None;
        }
        let least = f64::from(row.loss.least) / UNIT;
        let mut spacing = Spacing::at_sender(self.settings.parameters.bound_quarters);
        for (at_us, delivered, in_order) in [
            (0.0, 0, true),
            (least, 1, true),
            (least + f64::from(row.loss.span), 1 + row.loss.spanned, false),
        ] {
            spacing.arrival(Arrival { at_us, delivered, in_order });
        }
        Some(spacing.judge(Loss { n: row.loss.n.into(), cwnd: row.loss.base }))
    }
}
