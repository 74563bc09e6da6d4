//! The measurements, in the order in which they are made.

mod damage;
mod delay;
mod loss;
mod queue;
mod rate;

use super::Bench;
use super::row::Row;
use crate::link_command::Failure;
use emulator::punctuality::{FAR_TOO_LATE, LATE};
use link::units::Span;

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
pub fn of_the_run(bench: &Bench) -> Vec<Row> {
    let late = &bench.punctuality;
    let worst_accepted = FAR_TOO_LATE.as_secs_f64();
    let row = |quantity: &str, late: Span, above| {
        Row::at_most_above(
            format!("lateness of packets that waited, {quantity}"),
            0.0,
            late.as_secs_f64(),
            above,
        )
    };
    vec![
        row("median at most", late.quantile(0.5), USUAL_LATENESS),
        row("99th percentile at most", late.quantile(0.99), RARE_LATENESS),
        row("worst", late.worst(), worst_accepted),
        Row::exact("measurements overloaded", 0, bench.overloads.len() as u64),
        Row::exact("packets lost by this machine beside the link", 0, bench.lost_by_machine),
    ]
}
