//! Slow start in rounds: when each segment of a transfer leaves the bottleneck.
//!
//! A round is what one window sends: 1, 2, 4, … segments, and at most the receiver's window. The
//! acknowledgements of a round are as far apart as the segments of the bottleneck, and each
//! releases two segments. So the segments of a round leave the bottleneck back to back. A round
//! begins a round-trip time after the one before it or, once the pipe is full, when that one has
//! left.

/// Returns the time of each segment after the first one, in seconds.
///
/// `round_trip` is that of a single segment on idle hops, and `spacing` the time that the
/// bottleneck takes for a segment. The receiver's `window` counts as at least 1.
#[must_use]
pub fn offsets(segments: u32, window: u32, round_trip: f64, spacing: f64) -> Vec<f64> {
    let mut offsets = Vec::with_capacity(segments as usize);
    let (mut start, mut size) = (0.0, 1_u32);
    while offsets.len() < segments as usize {
        let rest = segments as usize - offsets.len();
        offsets.extend((0..rest.min(size as usize)).map(|place| start + place as f64 * spacing));
        start += round_trip.max(f64::from(size) * spacing);
        size = size.saturating_mul(2).min(window.max(1));
    }
    offsets
}
