//! The measurements, in the order in which they are made.

mod damage;
mod delay;
mod loss;
mod queue;
mod rate;

use super::Bench;
use super::row::{Accepted, Row, Unit};
use super::statistics::quantile;
use crate::link_command::Failure;
use emulator::punctuality::{FAR_TOO_LATE, LATE};

/// A measurement: makes its links on the bench, and gives rows.
pub type Measurement = fn(&mut Bench) -> Result<Vec<Row>, Failure>;

/// All of them, with what they measure.
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

/// How much later than it should a packet may be in the median: it is woken for twice, once when it comes and once when
/// it leaves, and each takes 30 to 50 us on a virtual machine that has something else to do.
const USUAL_LATENESS: f64 = 200e-6;

/// How much later one packet in a hundred may be, which is where a run becomes overloaded.
const RARE_LATENESS: f64 = LATE.as_nanos() as f64 / 1e9;

/// Rows about all links together.
pub fn of_the_run(bench: &mut Bench) -> Vec<Row> {
    let late = &mut bench.lateness;
    late.sort_by(f64::total_cmp);
    let mut rows = Vec::new();
    if let Some(&worst) = late.last() {
        for (name, share, above) in
            [("median", 0.5, USUAL_LATENESS), ("99th percentile", 0.99, RARE_LATENESS)]
        {
            let accepted = Accepted::Within { below: 0.0, above };
            let quantity = format!("lateness of packets that waited, {name}");
            rows.push(Row::estimated(quantity, Unit::Seconds, 0.0, quantile(late, share), accepted));
        }
        let quantity = "lateness of packets that waited, worst";
        rows.push(Row::at_most_above(quantity, 0.0, worst, FAR_TOO_LATE.as_secs_f64()));
    }
    rows.push(Row::exact("measurements overloaded", 0, bench.overloads.len() as u64));
    rows.push(Row::exact("packets lost by this machine beside the link", 0, bench.lost_by_machine));
    rows
}
