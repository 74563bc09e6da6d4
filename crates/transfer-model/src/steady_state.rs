//! The rate of a long transfer with losses.

/// What the rate of a long transfer depends on.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SteadyState {
    /// Round-trip time in seconds.
    pub round_trip: f64,
    /// Largest window in segments.
    pub window: f64,
    /// First retransmission timeout in seconds.
    pub timeout: f64,
    /// Segments that one acknowledgement acknowledges: 1, or 2 with delayed acknowledgements.
    pub per_acknowledgement: f64,
}

/// Returns the rate in segments per second with a probability `loss` of losing a segment (Eq. 8.3;
/// Padhye, Firoiu, Towsley and Kurose, Modeling TCP Throughput, 1998, Eq. 32).
#[must_use]
pub fn steady_state(of: &SteadyState, loss: f64) -> f64 {
    let SteadyState { round_trip, window, timeout, per_acknowledgement } = *of;
    let largest = window / round_trip;
    let growth = round_trip * (2.0 * per_acknowledgement * loss / 3.0).sqrt();
    let timeouts = (3.0 * (3.0 * per_acknowledgement * loss / 8.0).sqrt()).min(1.0);
    let waiting = timeout * timeouts * loss * (1.0 + 32.0 * loss * loss);
    largest.min(1.0 / (growth + waiting))
}
