//! Runs timers over measured round-trip times: from a capture, or from anything else that is not
//! the model.

use crate::timer::{Estimate, Sample, Settings, TimerAlgorithm};
use serde::Serialize;

/// A timer's behaviour over a series of samples. Times are in seconds.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Followed {
    /// Kind of the timer.
    pub timer: TimerAlgorithm,
    /// Number of samples.
    pub samples: usize,
    /// Maximum timeout.
    pub greatest_rto_s: f64,
    /// Mean of the timeouts.
    pub mean_rto_s: f64,
    /// Minimum of RTO / RTT, each timeout divided by the sample that it was computed from. `None`
    /// if every sample is 0, as at an end that only answers.
    pub least_ratio: Option<f64>,
    /// Mean of RTO / RTT, over samples above 0.
    pub mean_ratio: Option<f64>,
    /// Number of samples that were longer than the timeout before them. A timer that runs for just
    /// that timeout would have expired, spuriously. Timers that each acknowledgment restarts run
    /// longer, so for them this is an upper bound.
    pub spurious: usize,
    /// The timer's estimate at each sample.
    #[serde(skip)]
    pub estimates: Vec<Estimate>,
}

/// Runs a timer over `samples`. Returns `None` without samples.
#[must_use]
pub fn follow(kind: TimerAlgorithm, settings: Settings, samples: &[Sample]) -> Option<Followed> {
    let mut timer = kind.timer(settings);
    let estimates: Vec<Estimate> = samples.iter().map(|sample| timer.sample(sample)).collect();
    let count = estimates.len() as f64;
    estimates.last()?;
    let measured = samples.iter().zip(&estimates).filter(|(sample, _)| sample.rtt_s > 0.0);
    let ratios: Vec<f64> = measured.map(|(sample, estimate)| estimate.rto_s / sample.rtt_s).collect();
    let timeouts = || estimates.iter().map(|estimate| estimate.rto_s);
    let expired = timeouts().zip(&samples[1..]).filter(|(before, sample)| *before < sample.rtt_s);
    Some(Followed {
        timer: kind,
        samples: samples.len(),
        greatest_rto_s: timeouts().fold(0.0, f64::max),
        mean_rto_s: timeouts().sum::<f64>() / count,
        least_ratio: ratios.iter().copied().reduce(f64::min),
        mean_ratio: (!ratios.is_empty()).then(|| ratios.iter().sum::<f64>() / ratios.len() as f64),
        spurious: expired.count(),
        estimates,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sample_above_the_timeout_before_it_is_spurious() {
        let sample = |at_s, rtt_s| Sample { at_s, rtt_s, flight: 1.0 };
        // RTO is 3 after the first sample. The second, 4, exceeds it: SRTT 1.375, RTTVAR 1.125, RTO
        // 5.875. The third, 5, does not exceed this.
        let samples = [sample(1.0, 1.0), sample(5.0, 4.0), sample(10.0, 5.0)];
        let followed = follow(TimerAlgorithm::Lite, Settings::default(), &samples).expect("samples");
        assert_eq!((followed.samples, followed.spurious), (3, 1));
        let rtos: Vec<f64> = followed.estimates.iter().map(|estimate| estimate.rto_s).collect();
        assert_eq!(rtos[..2], [3.0, 5.875]);
        assert!((followed.greatest_rto_s - rtos[2]).abs() < 1e-12);
        assert!((followed.least_ratio.expect("above 0") - 5.875 / 4.0).abs() < 1e-12);
        assert!((followed.mean_rto_s - rtos.iter().sum::<f64>() / 3.0).abs() < 1e-12);
        assert_eq!(follow(TimerAlgorithm::Eifel, Settings::default(), &[]), None);
        let nothing =
            follow(TimerAlgorithm::Lite, Settings::default(), &[sample(1.0, 0.0)]).expect("a sample");
        assert_eq!((nothing.least_ratio, nothing.mean_ratio, nothing.spurious), (None, None, 0));
    }
}
