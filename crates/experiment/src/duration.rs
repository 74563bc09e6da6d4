//! Bounds on the duration of a run, from the plan alone.
//!
//! The lower bound is what the links' constant rates and the plan's own times make necessary. A
//! transfer of so many bytes takes at least their time at the slowest rate of its path, without
//! headers, handshakes, losses and slow start. Programs, and links without a constant rate, have no
//! lower bound. The upper bound is the plan's time limit, at which a run fails.

use crate::plan::Experiment;
use crate::scenario::Scenario;
use crate::workload::{Amount, Traffic, Workload};
use link::Direction;
use link::units::{BitRate, ByteCount, Span};

/// Bounds on the duration of one run, by its own clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bounds {
    /// It takes at least this long, if it ends well.
    pub least: Span,
    /// It takes at most about this long: the plan's time limit.
    pub most: Span,
}

impl Experiment {
    /// Returns the bounds on the duration of a run.
    ///
    /// A run ends with the last workload that is not in the background.
    #[must_use]
    pub fn duration(&self) -> Bounds {
        let waited_for = self.workloads.iter().filter(|workload| !workload.background);
        let least = waited_for.map(|workload| least(&self.scenario, workload)).max().unwrap_or_default();
        Bounds { least: least.min(self.limit), most: self.limit }
    }
}

/// Returns the lower bound on the end of a workload.
fn least(scenario: &Scenario, workload: &Workload) -> Span {
    let transfer = |from, to, bytes: ByteCount| match slowest(scenario, from, to) {
        Some(rate) => rate.time_for(bytes),
        None => Span::ZERO,
    };
    let duration = match &workload.kind {
        Traffic::Bulk { amount: Amount::Time(time), .. } => *time,
        // Each connection carries all the bytes.
        Traffic::Bulk { from, to, amount: Amount::Bytes(bytes), connections, .. } => {
            times(transfer(*from, *to, *bytes), *connections)
        }
        Traffic::Request { client, server, request, response, times: number, pause, connections, .. } => {
            let bytes = |from, to, bytes| times(transfer(from, to, bytes), *number);
            let both = bytes(*client, *server, *request).max(bytes(*server, *client, *response));
            times(both, *connections).max(times(*pause, number.saturating_sub(1)))
        }
        Traffic::Sessions { duration, .. }
        | Traffic::Datagrams { duration, .. }
        | Traffic::Ping { duration, .. } => duration.unwrap_or_default(),
        Traffic::Command { .. } => Span::ZERO,
    };
    workload.start + duration
}

fn times(span: Span, number: u32) -> Span {
    Span::from_nanos(span.as_nanos().saturating_mul(number.into()))
}

/// Returns the slowest constant rate on the way from one node to another; `None` if no link on it
/// has one.
fn slowest(scenario: &Scenario, from: usize, to: usize) -> Option<BitRate> {
    let mut at = from;
    let mut rates = Vec::new();
    for place in scenario.path(from, to) {
        let link = &scenario.links[place];
        let [first, second] = link.between;
        // Up is from the first node to the second.
        let (direction, next) = if at == first { (Direction::Up, second) } else { (Direction::Down, first) };
        rates.extend(link.profile.rate(direction));
        at = next;
    }
    rates.into_iter().min()
}

#[cfg(test)]
mod tests {
    use crate::plan::Plan;
    use link::units::Span;

    /// Returns the bounds of a plan with a link from `a` to `b`, 1 Mbit/s up and 2 Mbit/s down.
    fn bounds(workloads: &str) -> (f64, f64) {
        let text = format!(
            "[[scenario.links]]\nbetween = [\"a\", \"b\"]\nup = \"rate=1mbit\"\ndown = \"rate=2mbit\"\n\
             {workloads}\n[stop]\nafter = \"5min\"\n"
        );
        let plan = Plan::parse("plan.toml", &text).unwrap_or_else(|error| panic!("{error}"));
        let duration = plan.experiment(&plan.cells()[0], 0, 1).expect("an experiment").duration();
        (duration.least.as_secs_f64(), duration.most.as_secs_f64())
    }

    fn workload(kind: &str, lines: &str) -> String {
        format!("[[workloads]]\nname = \"{kind}\"\nkind = \"{kind}\"\n{lines}\n")
    }

    fn close(one: (f64, f64), other: (f64, f64)) {
        assert!((one.0 - other.0).abs() < 1e-6 && (one.1 - other.1).abs() < 1e-6, "{one:?} {other:?}");
    }

    #[test]
    fn a_transfer_takes_at_least_its_bytes_at_the_rate_of_its_direction() {
        close(bounds(&workload("bulk", "from = \"a\"\nto = \"b\"\nbytes = \"1MB\"")), (8.0, 300.0));
        close(
            bounds(&workload("bulk", "from = \"b\"\nto = \"a\"\nbytes = \"1MB\"\nconnections = 3")),
            (12.0, 300.0),
        );
        close(
            bounds(&workload("bulk", "from = \"b\"\nto = \"a\"\nbytes = \"1MB\"\nstart = \"2s\"")),
            (6.0, 300.0),
        );
    }

    #[test]
    fn a_run_waits_for_the_longest_workload_and_not_for_those_in_the_background() {
        let long = workload("bulk", "from = \"a\"\nto = \"b\"\nbytes = \"1MB\"");
        let ping = workload("ping", "from = \"a\"\nto = \"b\"\nduration = \"20s\"");
        close(bounds(&(long.clone() + &ping)), (20.0, 300.0));
        close(bounds(&(long + &ping + "background = true\n")), (8.0, 300.0));
    }

    #[test]
    fn a_program_has_no_lower_bound_and_no_bound_exceeds_the_limit() {
        close(bounds(&workload("command", "node = \"a\"\ncommand = \"true\"")), (0.0, 300.0));
        close(bounds(&workload("bulk", "from = \"a\"\nto = \"b\"\nbytes = \"1GB\"")), (300.0, 300.0));
        assert_eq!(
            super::times(Span::from_secs(u64::MAX / 1_000_000_000), u32::MAX),
            Span::from_nanos(u64::MAX)
        );
    }
}
