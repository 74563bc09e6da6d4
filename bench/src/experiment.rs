//! The experiments: what is measured, in which unit, against which target.

use crate::contender::Contender::{self, Bare, Links, Mahimahi, Precise, Rattan, Split, Veth, Whole};
use crate::contender::Task;
use crate::many;
use crate::measure::{Arrived, Measured};
use crate::traffic::{TrafficKind, Window};
use std::time::Duration;

/// Rate of the probe, in packets per second.
const PROBE: u32 = 10_000;

/// Goodput of TCP with time stamps in packets of 1500 bytes, as a share of the rate at the IP
/// layer.
const GOODPUT_AT_IP: f64 = 1448.0 / 1500.0;

/// A figure of a measurement.
pub struct Figure {
    /// Title with the unit.
    pub title: &'static str,
    /// Number of decimal places.
    pub digits: usize,
    /// Whether its ratio to a peer's figure is meaningful.
    pub ratios: bool,
    /// The contender whose figure of the same round is subtracted first.
    pub above: Option<Contender>,
    /// Computes the figure from the measurement of a task.
    pub of: fn(&Measured, Task) -> f64,
    /// The targets, by contender.
    pub targets: &'static [(Contender, Target)],
}

/// The target of a figure.
#[derive(Debug, Clone, Copy)]
pub enum Target {
    /// At least this.
    AtLeast(f64),
    /// At most this.
    AtMost(f64),
    /// At least this many times the other contender's figure.
    AtLeastTimes(f64, Contender),
}

/// An experiment, which all its contenders run in turn.
pub struct Experiment {
    /// Its title.
    pub title: &'static str,
    /// Its contenders.
    pub contenders: &'static [Contender],
    /// The link to emulate.
    pub task: Task,
    /// The traffic to send.
    pub traffic: TrafficKind,
    /// Time before the window, in seconds.
    pub warm_up: f64,
    /// The figures computed from it.
    pub figures: &'static [Figure],
}

impl Experiment {
    /// Returns the measured window, for this length.
    #[must_use]
    pub fn window(&self, length: Duration) -> Window {
        Window { after: Duration::from_secs_f64(self.warm_up), length }
    }

    /// Returns the link that a contender emulates. The veth pair cannot delay, so it is the lower
    /// bound without a delay.
    #[must_use]
    pub fn task_of(&self, contender: Contender) -> Task {
        if contender == Contender::Veth { Task::default() } else { self.task }
    }
}

const TEN_MILLISECONDS: Duration = Duration::from_millis(10);

/// All experiments.
pub const EXPERIMENTS: &[Experiment] = &[
    Experiment {
        title: "Bulk TCP, no delay, no limit",
        contenders: &[Whole, Split, Bare, Rattan, Mahimahi, Veth],
        task: Task { delay: Duration::ZERO, megabits: None },
        traffic: TrafficKind::Bulk,
        warm_up: 0.5,
        figures: &[Figure {
            title: "Gbit/s",
            digits: 2,
            ratios: true,
            above: None,
            of: gigabits,
            targets: &[
                (Whole, Target::AtLeast(10.0)),
                (Split, Target::AtLeast(2.0)),
                (Split, Target::AtLeastTimes(0.8, Bare)),
            ],
        }],
    },
    Experiment {
        // CUBIC leaves slow start when delays grow (HyStart), which happens on a busy processor,
        // and then takes seconds to fill the pipe. Only after that does a contender's capacity
        // show.
        title: "Bulk TCP, 10 ms each way, after 3 s",
        contenders: &[Whole, Split, Bare, Rattan, Mahimahi],
        task: Task { delay: TEN_MILLISECONDS, megabits: None },
        traffic: TrafficKind::Bulk,
        warm_up: 3.0,
        figures: &[Figure {
            title: "Gbit/s",
            digits: 2,
            ratios: true,
            above: None,
            of: gigabits,
            targets: &[(Split, Target::AtLeast(1.0))],
        }],
    },
    Experiment {
        title: "Flood of 1400-byte datagrams, no delay",
        contenders: &[Whole, Split, Bare, Rattan, Mahimahi, Veth],
        task: Task { delay: Duration::ZERO, megabits: None },
        traffic: TrafficKind::Flood,
        warm_up: 0.3,
        figures: &[Figure {
            title: "1000 packets/s that arrive",
            digits: 0,
            ratios: true,
            above: None,
            of: |measured, _| match &measured.traffic {
                Arrived::Flood(flood) => flood.arrived / 1e3,
                _ => f64::NAN,
            },
            targets: &[(Whole, Target::AtLeast(200.0)), (Split, Target::AtLeast(200.0))],
        }],
    },
    Experiment {
        title: "Bulk TCP, 1 Gbit/s counted at IP, 10 ms each way, after 3 s",
        contenders: &[Split, Whole, Rattan, Mahimahi],
        task: Task { delay: TEN_MILLISECONDS, megabits: Some(1000) },
        traffic: TrafficKind::Bulk,
        warm_up: 3.0,
        figures: &[Figure {
            title: "% of the ceiling, 965 Mbit/s",
            digits: 1,
            ratios: true,
            above: None,
            of: |measured, task| gigabits(measured, task) / GOODPUT_AT_IP * 100.0,
            targets: &[(Split, Target::AtLeast(97.0)), (Whole, Target::AtLeast(97.0))],
        }],
    },
    Experiment {
        title: "10 000 packets/s of 200 bytes, 10 ms each way (the veth pair: none)",
        contenders: &[Whole, Precise, Bare, Rattan, Mahimahi, Veth],
        task: Task { delay: TEN_MILLISECONDS, megabits: None },
        traffic: TrafficKind::Probe(PROBE),
        warm_up: 0.5,
        figures: &[
            Figure {
                title: "us of delay above the veth pair, median",
                digits: 1,
                ratios: true,
                above: Some(Veth),
                of: |measured, task| offset(measured, task, 0.5),
                targets: &[(Whole, Target::AtMost(45.0)), (Precise, Target::AtMost(15.0))],
            },
            Figure {
                title: "us of delay above the veth pair, 99th percentile",
                digits: 0,
                ratios: false,
                above: Some(Veth),
                of: |measured, task| offset(measured, task, 0.99),
                targets: &[],
            },
            Figure { targets: &[(Whole, Target::AtLeast(0.0)), (Precise, Target::AtLeast(0.0))], ..EARLIEST },
            Figure { targets: &[(Whole, Target::AtMost(16.0))], ..PROCESSOR },
            LOST,
        ],
    },
    Experiment {
        // Between packets the emulator sleeps. Whether it wakes up on time does not show with
        // continuous packets.
        title: "100 packets/s of 200 bytes, 10 ms each way (the veth pair: none)",
        contenders: &[Whole, Precise, Bare, Rattan, Mahimahi, Veth],
        task: Task { delay: TEN_MILLISECONDS, megabits: None },
        traffic: TrafficKind::Probe(100),
        warm_up: 0.5,
        figures: &[
            Figure {
                title: "us of delay above the veth pair, median",
                digits: 1,
                ratios: true,
                above: Some(Veth),
                of: |measured, task| offset(measured, task, 0.5),
                targets: &[],
            },
            Figure { targets: &[(Whole, Target::AtLeast(0.0)), (Precise, Target::AtLeast(0.0))], ..EARLIEST },
        ],
    },
    Experiment {
        title: "Links in one process, 10 000 packets/s over all of them, 10 ms each way",
        contenders: &[Links(1), Links(200)],
        task: Task { delay: many::DELAY, megabits: None },
        traffic: TrafficKind::Probe(many::RATE),
        warm_up: 0.5,
        figures: &[
            Figure {
                title: "us beyond the configured delay, median",
                digits: 1,
                ratios: true,
                above: None,
                of: |measured, task| offset(measured, task, 0.5),
                targets: &[],
            },
            Figure {
                title: "us beyond the configured delay, 99th percentile",
                digits: 0,
                ratios: false,
                above: None,
                of: |measured, task| offset(measured, task, 0.99),
                targets: &[],
            },
            Figure { targets: &[(Links(200), Target::AtLeast(0.0))], ..EARLIEST },
            PROCESSOR,
            Figure { targets: &[(Links(200), Target::AtMost(0.0))], ..LOST },
        ],
    },
];

/// Delay of the fastest packet.
const EARLIEST: Figure = Figure {
    title: "us beyond the configured delay, shortest (below 0: early)",
    digits: 1,
    ratios: false,
    above: None,
    of: |measured, task| offset(measured, task, 0.0),
    targets: &[],
};

const PROCESSOR: Figure = Figure {
    title: "us of processor time a packet",
    digits: 1,
    ratios: true,
    above: None,
    of: |measured, _| match &measured.traffic {
        Arrived::Probe(delays) => measured.processor.as_secs_f64() * 1e6 / delays.arrived() as f64,
        _ => f64::NAN,
    },
    targets: &[],
};

const LOST: Figure = Figure {
    title: "% of packets lost",
    digits: 2,
    ratios: false,
    above: None,
    of: |measured, _| match &measured.traffic {
        Arrived::Probe(delays) => 100.0 * (1.0 - delays.arrived() as f64 / delays.sent as f64),
        _ => f64::NAN,
    },
    targets: &[],
};

fn gigabits(measured: &Measured, _: Task) -> f64 {
    match measured.traffic {
        Arrived::Bulk(bits) => bits / 1e9,
        _ => f64::NAN,
    }
}

/// Returns this quantile of the packets' delays, in microseconds beyond the configured delay.
fn offset(measured: &Measured, task: Task, share: f64) -> f64 {
    match &measured.traffic {
        Arrived::Probe(delays) => delays.quantile(share) - task.delay.as_secs_f64() * 1e6,
        _ => f64::NAN,
    }
}
