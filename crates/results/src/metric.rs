//! Metrics: one number per run, computed from the measurements of its connections.

use crate::loss_event::judged;
use crate::{
    Besides, Connection, Directory, FigureName, LiteTotals, LossEvent, LossKind, Protocol, RoundTrips,
    RunRecord,
};
use capture::Cause;
use capture::senders::LossVerdict;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use std::collections::{BTreeSet, HashMap};
use std::fmt;
use std::str::FromStr;

/// A quantity of a run.
///
/// It is computed over one workload's connections ([`Directory::measured`] names the workload that
/// figures are about). For several connections, bytes and counts are added, rates are those of all
/// segments together, and delays are the median over the connections, weighted by their samples.
/// Metrics of TCP Lite are about the whole run, and have a value only if a node accepts damage.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Metric {
    /// Bytes that arrived over the time in which at least one connection existed.
    Goodput,
    /// Time from the earliest start to the latest end; no value if a connection is incomplete.
    Completion,
    /// Retransmitted segments of TCP.
    Retransmissions,
    /// Retransmissions over all segments with data.
    RetransmissionRate,
    /// Retransmission timeouts of TCP.
    Timeouts,
    /// Median round-trip time; for datagrams the one-way delay.
    Rtt,
    /// 95th percentile of the round-trip time.
    RttP95,
    /// Share of datagrams that did not arrive.
    Loss,
    /// Bytes of application data that arrived.
    Bytes,
    /// Load that sessions of cross traffic offered: the lengths of all that arrived, over the time
    /// in which they arrived.
    OfferedLoad,
    /// Equality of the goodputs of the TCP connections of all workloads: Jain's index (Jain, Chiu
    /// and Hawe 1984), which is 1 if all are equal, and 1/n if one of n gets everything. No value
    /// for a single connection. Sessions of cross traffic do not count.
    Fairness,
    /// Segments with a wrong checksum that reached nodes which accept damage.
    DamagedSegments,
    /// Damaged segments that were handed to TCP.
    AcceptedSegments,
    /// Share of damaged segments that were accepted.
    Salvaged,
    /// Bytes that differ from those sent.
    WrongBytes,
    /// Blocks of 64 bytes in which at least half of the bytes are wrong: data from another position
    /// or another connection.
    Misplaced,
    /// Loss events of TCP: recoveries, timeouts and other reductions of the window.
    LossEvents,
    /// Share classified as wireless, of the loss events by damage alone that a detector judged.
    WirelessRecognized,
    /// Share classified as congestion, of the loss events by congestion alone that a detector
    /// judged.
    CongestionRecognized,
    /// Share classified as wireless, of all recoveries that a detector judged, whatever their
    /// causes.
    TakenForWireless,
    /// Share of recoveries in which the sender counted the lost segments right, of those where it
    /// counted.
    CountedRight,
    /// A figure that the workload's program reported ([`figure`](crate::figure)).
    Figure(FigureName),
}

/// Direction in which a metric improves.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Better {
    /// More is better.
    Higher,
    /// Less is better.
    Lower,
}

/// A name that is not a metric's.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("there is no metric `{name}`{}", crate::instead(.name, &Metric::ALL.map(Metric::name)))]
pub struct UnknownMetric {
    /// The name.
    pub name: String,
}

impl Metric {
    /// All metrics but the figures of programs.
    pub const ALL: [Self; 21] = [
        Self::Goodput,
        Self::Completion,
        Self::Retransmissions,
        Self::RetransmissionRate,
        Self::Timeouts,
        Self::Rtt,
        Self::RttP95,
        Self::Loss,
        Self::Bytes,
        Self::OfferedLoad,
        Self::Fairness,
        Self::DamagedSegments,
        Self::AcceptedSegments,
        Self::Salvaged,
        Self::WrongBytes,
        Self::Misplaced,
        Self::LossEvents,
        Self::WirelessRecognized,
        Self::CongestionRecognized,
        Self::TakenForWireless,
        Self::CountedRight,
    ];

    /// Returns all metrics, with the figures that programs of a workload reported in any run.
    #[must_use]
    pub fn of_workload(directory: &Directory, workload: &str) -> Vec<Self> {
        let rows = directory.connections.iter().flatten().filter(|row| row.workload == workload);
        let names: BTreeSet<_> = rows.flat_map(|row| row.figures.keys()).collect();
        let figures = names.into_iter().filter_map(|name| FigureName::new(name)).map(Self::Figure);
        Self::ALL.into_iter().chain(figures).collect()
    }

    /// Returns its name in plans and options.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Goodput => "goodput",
            Self::Completion => "completion",
            Self::Retransmissions => "retransmissions",
            Self::RetransmissionRate => "retransmission-rate",
            Self::Timeouts => "timeouts",
            Self::Rtt => "rtt",
            Self::RttP95 => "rtt-p95",
            Self::Loss => "loss",
            Self::Bytes => "bytes",
            Self::OfferedLoad => "offered-load",
            Self::Fairness => "fairness",
            Self::DamagedSegments => "damaged-segments",
            Self::AcceptedSegments => "accepted-segments",
            Self::Salvaged => "salvaged",
            Self::WrongBytes => "wrong-bytes",
            Self::Misplaced => "misplaced",
            Self::LossEvents => "loss-events",
            Self::WirelessRecognized => "wireless-recognized",
            Self::CongestionRecognized => "congestion-recognized",
            Self::TakenForWireless => "taken-for-wireless",
            Self::CountedRight => "counted-right",
            Self::Figure(figure) => figure.metric(),
        }
    }

    /// Returns the label of its axis, without the unit.
    #[must_use]
    pub fn title(self) -> &'static str {
        match self {
            Self::Goodput => "Goodput",
            Self::Completion => "Completion time",
            Self::Retransmissions => "Retransmissions",
            Self::RetransmissionRate => "Retransmission rate",
            Self::Timeouts => "Retransmission timeouts",
            Self::Rtt => "Median round-trip time",
            Self::RttP95 => "95th percentile of the round-trip time",
            Self::Loss => "Datagrams lost",
            Self::Bytes => "Bytes delivered",
            Self::OfferedLoad => "Load offered by sessions",
            Self::Fairness => "Fairness",
            Self::DamagedSegments => "Damaged segments",
            Self::AcceptedSegments => "Damaged segments accepted",
            Self::Salvaged => "Share of damaged segments accepted",
            Self::WrongBytes => "Wrong bytes delivered",
            Self::Misplaced => "Misplaced blocks delivered",
            Self::LossEvents => "Loss events",
            Self::WirelessRecognized => "Wireless losses recognized",
            Self::CongestionRecognized => "Congestion losses recognized",
            Self::TakenForWireless => "Losses taken for wireless",
            Self::CountedRight => "Loss events whose losses were counted right",
            Self::Figure(figure) => figure.name(),
        }
    }

    /// Returns what it measures, in one phrase.
    #[must_use]
    #[rustfmt::skip]
    pub fn meaning(self) -> &'static str {
        match self {
            Self::Goodput => "bytes that arrived, divided by the time in which at least one connection existed",
            Self::Completion => "time from the earliest start to the latest end; none if a connection is incomplete",
            Self::Retransmissions => "segments that TCP retransmitted",
            Self::RetransmissionRate => "retransmitted segments, as a share of all segments with data",
            Self::Timeouts => "retransmission timeouts of TCP",
            Self::Rtt => "median round-trip time; for datagrams the one-way delay",
            Self::RttP95 => "95 % of the round-trip times were at most this",
            Self::Loss => "datagrams that did not arrive, as a share of those sent",
            Self::Bytes => "bytes of application data that arrived",
            Self::OfferedLoad => "lengths of the sessions of cross traffic that arrived, divided by the time in which they arrived",
            Self::Fairness => "equality of the goodputs of all TCP connections of all workloads but sessions of cross traffic (Jain, Chiu and Hawe 1984): 1 if all are equal, 1/n if one of n gets everything",
            Self::DamagedSegments => "segments with a wrong checksum that reached nodes which accept damage",
            Self::AcceptedSegments => "damaged segments that TCP Lite handed to TCP",
            Self::Salvaged => "damaged segments that were accepted, as a share of all damaged ones",
            Self::WrongBytes => "delivered bytes that differ from those sent",
            Self::Misplaced => "blocks of 64 bytes in which at least half of the bytes are wrong: data from another position or connection",
            Self::LossEvents => "loss events of TCP: recoveries, timeouts and other reductions of the window",
            Self::WirelessRecognized => "share of loss events by damage alone that the detector classified as wireless",
            Self::CongestionRecognized => "share of loss events by congestion alone that the detector classified as congestion",
            Self::TakenForWireless => "share of all judged recoveries that the detector classified as wireless, whatever their causes",
            Self::CountedRight => "share of counted recoveries in which the sender counted the lost segments right",
            Self::Figure(_) => "figure that the program of the workload reported",
        }
    }

    /// Returns the unit of its values.
    #[must_use]
    pub fn unit(self) -> &'static str {
        match self {
            Self::Goodput | Self::OfferedLoad => "bit/s",
            Self::Completion => "s",
            Self::Retransmissions | Self::DamagedSegments | Self::AcceptedSegments => "segments",
            Self::RetransmissionRate
            | Self::Loss
            | Self::Salvaged
            | Self::WirelessRecognized
            | Self::CongestionRecognized
            | Self::TakenForWireless
            | Self::CountedRight => "%",
            Self::LossEvents => "events",
            Self::Timeouts => "timeouts",
            Self::Rtt | Self::RttP95 => "ms",
            Self::Bytes | Self::WrongBytes => "bytes",
            Self::Misplaced => "blocks",
            Self::Fairness => "Jain's index",
            Self::Figure(figure) => figure.unit(),
        }
    }

    /// Returns the direction in which it improves; `None` if it describes the link or the sender
    /// without being good or bad in itself. Of the figures of programs, times are better if they
    /// are shorter, and rates if they are higher.
    #[must_use]
    pub fn better(self) -> Option<Better> {
        match self {
            Self::Goodput
            | Self::Bytes
            | Self::Fairness
            | Self::Salvaged
            | Self::WirelessRecognized
            | Self::CongestionRecognized
            | Self::CountedRight => Some(Better::Higher),
            Self::Completion
            | Self::Retransmissions
            | Self::RetransmissionRate
            | Self::Timeouts
            | Self::Rtt
            | Self::RttP95
            | Self::Loss
            | Self::WrongBytes
            | Self::Misplaced => Some(Better::Lower),
            Self::OfferedLoad
            | Self::DamagedSegments
            | Self::AcceptedSegments
            | Self::LossEvents
            | Self::TakenForWireless => None,
            Self::Figure(figure) => match figure.unit() {
                "s" | "ms" => Some(Better::Lower),
                "bit/s" => Some(Better::Higher),
                _ => None,
            },
        }
    }

    /// Returns whether its values are plain numbers, counts or an index, so that a bound on them
    /// needs no unit.
    #[must_use]
    pub fn is_plain_number(self) -> bool {
        matches!(self.unit(), "" | "segments" | "events" | "timeouts" | "blocks" | "Jain's index")
    }

    /// Returns its value for a workload, in a run with these connections.
    ///
    /// `None` if the workload has no connections, if a share has no base, if the metric does not
    /// apply to the protocol, or if the data was not recorded.
    #[must_use]
    pub fn of_run(self, run: &RunRecord, connections: &[Connection], workload: &str) -> Option<f64> {
        let measured: Vec<_> = connections.iter().filter(|row| row.workload == workload).collect();
        if measured.is_empty() {
            return None;
        }
        let tcp = || Count::of(measured.iter().filter(|row| row.protocol == Protocol::Tcp));
        match self {
            Self::Goodput => goodput(&measured),
            Self::Completion => completion(&measured),
            Self::Retransmissions => Some(tcp()?.retransmissions as f64),
            Self::RetransmissionRate => tcp()?.percent(|count| count.retransmissions),
            Self::Timeouts => Some(tcp()?.timeouts as f64),
            Self::Rtt => weighted_median(&measured, |delays| delays.median_ns),
            Self::RttP95 => weighted_median(&measured, |delays| delays.p95_ns),
            Self::Loss => Count::of(measured.iter().filter(|row| row.protocol != Protocol::Tcp))?
                .percent(|count| count.lost),
            Self::OfferedLoad => offered_load(&measured),
            Self::Fairness => fairness(connections),
            Self::DamagedSegments => Some(run.lite.as_ref()?.damaged as f64),
            Self::AcceptedSegments => Some(run.lite.as_ref()?.accepted as f64),
            Self::Salvaged => run.lite.as_ref().and_then(LiteTotals::salvaged),
            Self::WrongBytes => looked_at(&measured, |row| row.wrong_bytes),
            Self::Misplaced => looked_at(&measured, |row| row.misplaced),
            Self::LossEvents => looked_at(&measured, |row| Some(row.losses.as_ref()?.len() as u64)),
            Self::WirelessRecognized => recognized(&measured, Cause::Wireless, LossVerdict::Wireless),
            Self::CongestionRecognized => recognized(&measured, Cause::Congestion, LossVerdict::Congestion),
            Self::TakenForWireless => {
                let judged = losses(&measured).filter(|event| event.by_detector());
                share(judged, |event| event.verdict == Some(LossVerdict::Wireless))
            }
            Self::CountedRight => {
                let counted = losses(&measured).filter(|event| event.kind == LossKind::Recovery);
                let counted = counted.filter(|event| event.n.is_some());
                share(counted, |event| event.n.map(u32::from) == Some(event.lost))
            }
            Self::Bytes => carriers(&measured).map(|rows| rows.iter().map(|row| row.bytes as f64).sum()),
            Self::Figure(figure) => measured.iter().find_map(|row| row.figures.get(figure.name()).copied()),
        }
    }
}

/// Returns the values of a metric for a workload, one for each run of a cell that counts and has
/// one, in the order of the repetitions.
///
/// Good runs count, and those that `besides` includes.
#[must_use]
pub fn cell_values(
    directory: &Directory,
    cell: u32,
    metric: Metric,
    workload: &str,
    besides: impl Into<Besides>,
) -> Vec<f64> {
    let runs = directory.counting(cell, besides);
    runs.filter_map(|(run, connections)| metric.of_run(run, connections, workload)).collect()
}

/// Returns a metric's values by the number of the cell, as [`cell_values`] does for each cell, in
/// one pass over all runs.
#[must_use]
pub fn values_by_cell(
    directory: &Directory,
    metric: Metric,
    workload: &str,
    besides: impl Into<Besides>,
) -> HashMap<u32, Vec<f64>> {
    let besides = besides.into();
    let mut values: HashMap<u32, Vec<f64>> = HashMap::new();
    for (run, connections) in directory.runs().filter(|(run, _)| besides.counts(run.verdict)) {
        if let Some(value) = metric.of_run(run, connections, workload) {
            values.entry(run.cell).or_default().push(value);
        }
    }
    values
}

impl fmt::Display for Metric {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Metric {
    type Err = UnknownMetric;

    fn from_str(name: &str) -> Result<Self, UnknownMetric> {
        let known = Self::ALL.into_iter().find(|metric| metric.name() == name);
        let figure = || FigureName::in_metric(name).map(Self::Figure);
        known.or_else(figure).ok_or_else(|| UnknownMetric { name: name.to_owned() })
    }
}

impl Serialize for Metric {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

impl<'de> Deserialize<'de> for Metric {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(de::Error::custom)
    }
}

/// Sums over the connections of a workload.
struct Count {
    segments: u64,
    retransmissions: u64,
    timeouts: u64,
    lost: u64,
}

impl Count {
    /// Adds the connections up; `None` without any.
    fn of<'a>(rows: impl Iterator<Item = &'a &'a Connection>) -> Option<Self> {
        rows.fold(None, |count: Option<Self>, row| {
            let mut count = count.unwrap_or(Self { segments: 0, retransmissions: 0, timeouts: 0, lost: 0 });
            count.segments += row.segments;
            count.retransmissions += row.retransmissions;
            count.timeouts += row.timeouts;
            count.lost += row.lost;
            Some(count)
        })
    }

    fn percent(&self, part: impl Fn(&Self) -> u64) -> Option<f64> {
        (self.segments > 0).then(|| 100.0 * part(self) as f64 / self.segments as f64)
    }
}

/// Returns all bytes over the time in which at least one of the connections existed, in bit/s.
///
/// For a single connection this is its own goodput; for parallel ones that of all together; for
/// consecutive ones the time between them does not count.
fn goodput(rows: &[&Connection]) -> Option<f64> {
    let carriers = carriers(rows)?;
    let mut times: Vec<_> = carriers.iter().map(|row| (row.start_ns, row.end_ns)).collect();
    times.sort_unstable();
    let (mut busy, mut until) = (0, 0);
    for (start, end) in times {
        busy += end.saturating_sub(start.max(until));
        until = until.max(end);
    }
    let bytes: u64 = carriers.iter().map(|row| row.bytes).sum();
    Some(if busy == 0 { 0.0 } else { bytes as f64 * 8e9 / busy as f64 })
}

/// Returns the rows that show what was carried, which those of programs do not.
///
/// `None` if there are only programs: without a capture, their connections are unknown.
fn carriers<'a>(rows: &[&'a Connection]) -> Option<Vec<&'a Connection>> {
    let carriers: Vec<_> = rows.iter().filter(|row| row.protocol != Protocol::Program).copied().collect();
    (!carriers.is_empty()).then_some(carriers)
}

/// Returns the sum over the connections that were checked; `None` without any.
fn looked_at(rows: &[&Connection], count: impl Fn(&Connection) -> Option<u64>) -> Option<f64> {
    let counts: Vec<u64> = rows.iter().filter_map(|row| count(row)).collect();
    (!counts.is_empty()).then(|| counts.iter().sum::<u64>() as f64)
}

/// Returns the loss events of all connections that recorded them.
fn losses<'a>(rows: &[&'a Connection]) -> impl Iterator<Item = &'a LossEvent> {
    rows.iter().filter_map(|row| row.losses.as_ref()).flatten()
}

/// Returns the share of a cause's loss events with the right verdict, in percent; `None` if a
/// detector judged none.
fn recognized(rows: &[&Connection], cause: Cause, verdict: LossVerdict) -> Option<f64> {
    let (right, all) = judged(losses(rows), cause, verdict);
    (all > 0).then(|| 100.0 * right as f64 / all as f64)
}

/// Returns the share of events that `so` accepts, in percent; `None` without events.
fn share<'a>(events: impl Iterator<Item = &'a LossEvent>, so: impl Fn(&LossEvent) -> bool) -> Option<f64> {
    let (count, all) =
        events.fold((0_u64, 0_u64), |(count, all), event| (count + u64::from(so(event)), all + 1));
    (all > 0).then(|| 100.0 * count as f64 / all as f64)
}

/// Returns the load that sessions offered, in bit/s; `None` if there are no rows of sessions.
fn offered_load(rows: &[&Connection]) -> Option<f64> {
    let loads: Vec<f64> = rows.iter().filter_map(|row| row.sessions?.load()).collect();
    (!loads.is_empty()).then(|| loads.iter().sum())
}

/// Returns Jain's index of the goodputs of all TCP connections that are not cross traffic.
fn fairness(rows: &[Connection]) -> Option<f64> {
    let tcp = rows.iter().filter(|row| row.protocol == Protocol::Tcp && row.sessions.is_none());
    let goodputs: Vec<_> = tcp.map(|row| row.goodput_bps).collect();
    let sum: f64 = goodputs.iter().sum();
    let squares: f64 = goodputs.iter().map(|goodput| goodput * goodput).sum();
    (goodputs.len() > 1 && squares > 0.0).then(|| sum * sum / (goodputs.len() as f64 * squares))
}

/// Returns the time from the earliest start to the latest end, in seconds; `None` if one is
/// incomplete.
///
/// For programs it is the time for which they ran, even if a capture shows their connections.
fn completion(rows: &[&Connection]) -> Option<f64> {
    let programs: Vec<_> = rows.iter().filter(|row| row.protocol == Protocol::Program).copied().collect();
    let rows = if programs.is_empty() { rows } else { &programs };
    let start = rows.iter().map(|row| row.start_ns).min()?;
    let end = rows.iter().map(|row| row.end_ns).max()?;
    rows.iter().all(|row| row.complete).then(|| end.saturating_sub(start) as f64 / 1e9)
}

/// Returns the median of the connections' delays, weighted by their samples, in milliseconds: the
/// smallest delay so that connections with at most this delay have half of all samples.
fn weighted_median(rows: &[&Connection], delay: impl Fn(&RoundTrips) -> u64) -> Option<f64> {
    let delays = rows.iter().filter_map(|row| row.round_trips.as_ref());
    let mut weighted: Vec<(u64, u64)> = delays.map(|delays| (delay(delays), delays.samples)).collect();
    weighted.sort_unstable();
    let all: u64 = weighted.iter().map(|(_, samples)| samples).sum();
    let mut seen = 0;
    let median = weighted.into_iter().find(|(_, samples)| {
        seen += samples;
        seen > 0 && 2 * seen >= all
    })?;
    Some(median.0 as f64 / 1e6)
}

#[cfg(test)]
mod tests;
