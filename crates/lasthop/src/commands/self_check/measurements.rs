//! The measurements, in the order in which they run.

mod damage;
mod delay;
mod loss;
mod queue;
mod rate;

use super::Bench;
use super::row::{Accepted, Row, Unit};
use super::statistics::{quantile, share};
use crate::failure::Failure;
use emulator::punctuality::{FAR_TOO_LATE, LATE, LATE_SHARE};

/// A measurement: creates its links on the bench and returns rows.
pub type Measurement = fn(&mut Bench) -> Result<Vec<Row>, Failure>;

/// All measurements, with their names.
pub const ALL: [(&str, Measurement); 8] = [
    ("delay", delay::measure),
    ("rate of 10 Mbit/s", rate::fast),
    ("rate of 384 kbit/s", rate::slow),
    ("loss", loss::independent),
    ("two-state loss", loss::two_state),
    ("duplication", loss::duplication),
    ("damage", damage::measure),
    ("queue", queue::measure),
];

/// Accepted lateness of the median packet, in seconds. A packet needs two wakeups, on arrival and
/// on departure, and each takes 30 to 50 us on a virtual machine that has other work.
const USUAL_LATENESS: f64 = 200e-6;

/// Accepted lateness of one packet in a hundred, in seconds; from this value on a run is
/// overloaded.
const RARE_LATENESS: f64 = LATE.as_nanos() as f64 / 1e9;

/// Returns the rows about all links together: the lateness in seconds of packets that waited,
/// judged as for a run, and the number of measurements in which this machine lost packets.
pub fn punctuality(lateness: &mut [f64], lossy: u64) -> Vec<Row> {
    lateness.sort_by(f64::total_cmp);
    let mut rows = Vec::new();
    if let Some(&worst) = lateness.last() {
        for (name, below, above) in
            [("median", 0.5, USUAL_LATENESS), ("99th percentile", 0.99, RARE_LATENESS)]
        {
            let accepted = Accepted::Within { below: 0.0, above };
            let quantity = format!("lateness of packets that waited, {name}");
            rows.push(Row::estimated(quantity, Unit::Seconds, 0.0, quantile(lateness, below), accepted));
        }
        let quantity = "lateness of packets that waited, worst";
        rows.push(Row::at_most_above(quantity, 0.0, worst, FAR_TOO_LATE.as_secs_f64()));
        let late = lateness.len() - lateness.partition_point(|late| *late <= LATE.as_secs_f64());
        let late = share(late as u64, lateness.len() as u64);
        let accepted = Accepted::Within { below: 0.0, above: LATE_SHARE };
        let quantity =
            format!("packets more than {LATE} late (overloaded above {:.0} %)", LATE_SHARE * 100.0);
        rows.push(Row::estimated(quantity, Unit::Share, 0.0, late, accepted));
    }
    rows.push(Row::exact("measurements with packets lost beside the link", 0, lossy));
    rows
}

#[cfg(test)]
mod tests {
    use super::*;

    fn off(lateness: &mut [f64], lossy: u64) -> Vec<String> {
        let rows = punctuality(lateness, lossy);
        rows.into_iter().filter(|row| !row.is_ok()).map(|row| row.quantity).collect()
    }

    #[test]
    fn a_run_is_judged_as_the_emulator_judges_one() {
        let run = |late: usize, by: f64| {
            let mut lateness: Vec<f64> = (0..1000).map(|n| if n < late { by } else { 40e-6 }).collect();
            off(&mut lateness, 0)
        };
        assert!(run(9, 2.5e-3).is_empty());
        assert_eq!(run(20, 2.5e-3).len(), 2);
        assert_eq!(run(1, 0.201), ["lateness of packets that waited, worst"]);
        assert_eq!(off(&mut [], 1), ["measurements with packets lost beside the link"]);
    }
}
