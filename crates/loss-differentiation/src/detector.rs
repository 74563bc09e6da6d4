//! One interface for all detectors: feed samples and arrivals, get judgements.

use crate::{
    Algorithm, Arrival, Backlog, Form, Gain, Judgement, Loss, Quantum, Signal, Spacing, Spike, Statistics,
    Zones,
};

/// Parameters of a detector; [`Parameters::of`] has the defaults. Each detector uses only its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Parameters {
    /// Weight of a sample (ZigZag, NewZag).
    pub gain: Gain,
    /// The clock that delays are read from (all but Biaz and mBiaz).
    pub quantum: Quantum,
    /// A spike starts this far above the minimum delay, in microseconds.
    pub spike_start_us: u32,
    /// A spike ends less than this far above the minimum delay, in microseconds.
    pub spike_end_us: u32,
    /// Width of the interval of Biaz and mBiaz, in quarters of T_min.
    pub bound_quarters: u32,
    /// Number of packets in queues from which Veno assumes congestion.
    pub backlog: u32,
}

/// A detector and its state.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Detector {
    algorithm: Algorithm,
    form: Form,
    rule: Rule,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Rule {
    Zones(Zones),
    Spike(Spike),
    Spacing(Spacing),
    Backlog(Backlog),
}

impl Parameters {
    /// Returns the published parameters.
    #[must_use]
    pub const fn of(algorithm: Algorithm) -> Self {
        Self {
            gain: if matches!(algorithm, Algorithm::ZigZag) { Gain::ZIGZAG } else { Gain::NEWZAG },
            quantum: Quantum::MICROSECOND,
            spike_start_us: Spike::START_US,
            spike_end_us: Spike::END_US,
            bound_quarters: if matches!(algorithm, Algorithm::MBiaz) {
                Spacing::MBIAZ_QUARTERS
            } else {
                Spacing::BIAZ_QUARTERS
            },
            backlog: Backlog::THRESHOLD,
        }
    }
}

impl Detector {
    /// Creates a detector as published, in this form.
    #[must_use]
    pub fn new(algorithm: Algorithm, form: Form) -> Self {
        Self::with(algorithm, form, Parameters::of(algorithm))
    }

    /// Creates a detector with other parameters.
    #[must_use]
    pub fn with(algorithm: Algorithm, form: Form, parameters: Parameters) -> Self {
        let Parameters { gain, quantum, spike_start_us, spike_end_us, bound_quarters, backlog } = parameters;
        let rule = match (algorithm, form) {
            (Algorithm::Biaz | Algorithm::MBiaz, Form::Original) => {
                Rule::Spacing(Spacing::at_receiver(bound_quarters))
            }
            (Algorithm::Biaz | Algorithm::MBiaz, Form::SenderOnly) => {
                Rule::Spacing(Spacing::at_sender(bound_quarters))
            }
            (Algorithm::Spike, _) => Rule::Spike(Spike::new(spike_start_us, spike_end_us, quantum)),
            (Algorithm::ZigZag | Algorithm::NewZagV1 | Algorithm::NewZag, _) => {
                Rule::Zones(Zones::new(algorithm, gain, quantum))
            }
            (Algorithm::Veno, _) => Rule::Backlog(Backlog::new(backlog, quantum)),
        };
        Self { algorithm, form, rule }
    }

    /// Returns the algorithm.
    #[must_use]
    pub const fn algorithm(&self) -> Algorithm {
        self.algorithm
    }

    /// Returns the form.
    #[must_use]
    pub const fn form(&self) -> Form {
        self.form
    }

    /// Returns the signal that it uses.
    #[must_use]
    pub const fn signal(&self) -> Signal {
        self.algorithm.signal(self.form)
    }

    /// Returns the label for figures and tables.
    #[must_use]
    pub fn label(&self) -> String {
        self.algorithm.label(self.form)
    }

    /// Takes a delay in microseconds: a round-trip time, never of a retransmitted segment, or a
    /// relative one-way trip time, depending on [`Self::signal`]. Invalid delays
    /// ([`Signal::accepts`]) are ignored. Detectors that use arrivals ignore all delays.
    pub fn sample(&mut self, delay_us: f64) {
        if !self.signal().accepts(delay_us) {
            return;
        }
        match &mut self.rule {
            Rule::Zones(zones) => zones.sample(delay_us),
            Rule::Spike(spike) => spike.sample(delay_us),
            Rule::Backlog(backlog) => backlog.sample(delay_us),
            Rule::Spacing(_) => {}
        }
    }

    /// Takes an arrival of data, or an acknowledgement. Only Biaz and mBiaz use it.
    pub fn arrival(&mut self, arrival: Arrival) {
        if let Rule::Spacing(spacing) = &mut self.rule {
            spacing.arrival(arrival);
        }
    }

    /// Ends a round of the sender with a window of `cwnd` segments. Only Veno uses it. Returns
    /// whether the window should grow only every second round.
    pub fn round(&mut self, cwnd: u32) -> bool {
        match &mut self.rule {
            Rule::Backlog(backlog) => backlog.round(cwnd),
            _ => false,
        }
    }

    /// Judges a loss.
    #[must_use]
    pub fn judge(&self, loss: Loss) -> Judgement {
        match &self.rule {
            Rule::Zones(zones) => zones.judge(loss),
            Rule::Spike(spike) => spike.judge(loss),
            Rule::Spacing(spacing) => spacing.judge(loss),
            Rule::Backlog(backlog) => backlog.judge(loss),
        }
    }

    /// Returns mean and deviation of the delays, for detectors that have them (ZigZag, NewZag).
    #[must_use]
    pub const fn statistics(&self) -> Option<&Statistics> {
        match &self.rule {
            Rule::Zones(zones) => zones.statistics(),
            _ => None,
        }
    }

    /// Returns the minimum so far in microseconds: the delay of Spike and Veno, the spacing T_min
    /// of Biaz and mBiaz.
    #[must_use]
    pub fn least_us(&self) -> Option<f64> {
        match &self.rule {
            Rule::Zones(_) => None,
            Rule::Spike(spike) => spike.least_us(),
            Rule::Spacing(spacing) => spacing.least_us(),
            Rule::Backlog(backlog) => backlog.base_us(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{LossVerdict, Reason};

    /// N1 to N5, N7, N8: every detector can be made in both forms. It judges congestion before it
    /// has measured anything, and by its rule afterwards.
    #[test]
    fn nothing_measured_is_congestion_in_every_form() {
        let loss = Loss { n: 4, cwnd: 10 };
        for algorithm in Algorithm::ALL {
            for form in [Form::Original, Form::SenderOnly] {
                let mut detector = Detector::new(algorithm, form);
                assert_eq!(
                    detector.judge(loss),
                    Judgement::congestion(Reason::NoSample),
                    "{}",
                    detector.label()
                );
                for count in 0..3 {
                    detector.sample(100.0);
                    detector.arrival(Arrival {
                        at_us: f64::from(count) * 10.0,
                        delivered: count,
                        in_order: true,
                    });
                }
                let judged = detector.judge(loss);
                assert_eq!(judged.reason, Reason::Detector, "{}", detector.label());
                // Delays at their minimum are random to all detectors. To Biaz and mBiaz, a loss
                // without a gap is congestion.
                let gapless = matches!(algorithm, Algorithm::Biaz | Algorithm::MBiaz);
                assert_eq!(judged.verdict == LossVerdict::Congestion, gapless, "{}", detector.label());
            }
        }
    }

    #[test]
    fn what_is_no_delay_is_passed_over() {
        let mut sender = Detector::new(Algorithm::Spike, Form::SenderOnly);
        let mut receiver = Detector::new(Algorithm::Spike, Form::Original);
        for detector in [&mut sender, &mut receiver] {
            for delay in [f64::NAN, 0.0, -1.0] {
                detector.sample(delay);
            }
        }
        assert_eq!((sender.least_us(), receiver.least_us()), (None, Some(-1.0)));
    }

    /// Sections 5.1 and 5.2.1: ZigZag weighs a sample by 1/32, NewZag by 1/16.
    #[test]
    fn gains_as_published() {
        for (algorithm, mean) in
            [(Algorithm::ZigZag, 101.0), (Algorithm::NewZag, 102.0), (Algorithm::NewZagV1, 102.0)]
        {
            let mut detector = Detector::new(algorithm, Form::SenderOnly);
            detector.sample(100.0);
            detector.sample(132.0);
            assert_eq!(detector.statistics().map(|statistics| statistics.mean_us), Some(mean));
        }
    }

    /// Eq. 5.1: mBiaz is narrower than Biaz. In their original form, a gap is measured from the
    /// previous packet.
    #[test]
    fn biaz_and_mbiaz_as_published() {
        let judged = |algorithm, form| {
            let mut detector = Detector::new(algorithm, form);
            // A spacing of 10, then a hole of one, then another one 26 later.
            for (at, delivered, in_order) in [(0, 1, true), (10, 2, true), (29, 3, false), (55, 4, false)] {
                detector.arrival(Arrival { at_us: f64::from(at), delivered, in_order });
            }
            let judged = detector.judge(Loss { n: 1, cwnd: 0 });
            (judged.floor, judged.measured, judged.limit)
        };
        let bounds = |floor, measured, limit| (Some(floor), Some(measured), Some(limit));
        assert_eq!(judged(Algorithm::Biaz, Form::Original), bounds(20.0, 26.0, 30.0));
        assert_eq!(judged(Algorithm::MBiaz, Form::Original), bounds(20.0, 26.0, 22.5));
        assert_eq!(judged(Algorithm::Biaz, Form::SenderOnly), bounds(30.0, 45.0, 40.0));
        assert_eq!(judged(Algorithm::MBiaz, Form::SenderOnly), bounds(30.0, 45.0, 32.5));
    }
}
