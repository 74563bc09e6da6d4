//! View of one direction of a connection: the graphs of every layer with their offsets,
//! regressions, and the use of the link.
//!
//! A segment is at the number after its last byte, an acknowledgment at its number. So the vertical
//! distance between data and acknowledgments is the outstanding data, which L calls the load.

use super::cause::Transport;
use super::clocks::{self, Estimate};
use super::graph::{Graph, Layer, Point, Shape, View};
use super::limiter::Limiter;
use super::monitor::End;
use super::sender::{self, Timing, Timings};
use super::time::{Alignment, Axis};
use super::utilization::{self, Below, Use};
use super::{link, regression};
use crate::spurious::flow::{Acknowledgment, Flow};
use crate::spurious::pair::{Sides, offset};
use crate::spurious::states::State;
use crate::spurious::{Examined, SpuriousVerdict, arrivals, examine};
use std::collections::VecDeque;

/// Vertical distance between layers in bytes (Ludwig 3.2.4; LL-17).
pub const OFFSET: f64 = 10_000.0;

/// Label of the graph of segments that were sent and did not arrive; not in Ludwig's MultiTracer.
pub const LOST: &str = "TcpSnd_Lost";

/// Labels of the graphs whose slopes are rates, and what these rates are (Ludwig 3.2.4).
pub const RATES: [(&str, &str); 3] = [
    ("TcpSnd_Ack", "available bandwidth"),
    ("RlpSnd_Data", "rate of the link layer"),
    ("TcpRcv_Data", "TCP throughput"),
];

/// Data about one direction of a connection.
#[derive(Debug, Clone, Copy)]
pub struct Sources<'a> {
    /// Its captures.
    pub sides: Sides<'a>,
    /// Monitors of the link layer's ends, if there are any.
    pub ends: &'a [End],
    /// Limiters of the run's links, which are used if there is no monitor.
    pub limiters: &'a [Limiter],
    /// The sender's states, in the order of time; empty if not recorded.
    pub states: &'a [State],
    /// Largest window that the receiver advertised, in bytes.
    pub receiver_window: Option<u64>,
    /// Mapping of the receiver's times to the sender's axis.
    pub alignment: Alignment,
    /// Period of the regressions, in nanoseconds since time zero; `None` for all of it.
    pub span: Option<(i64, i64)>,
}

/// One direction of a connection at every layer.
#[derive(Debug, Clone)]
pub struct Tracing {
    /// The graphs.
    pub view: View,
    /// Round-trip times and timeouts.
    pub timings: Timings,
    /// Its retransmissions, and whether each was necessary.
    pub examined: Examined,
    /// Use of the link, if a monitor or a limiter allows to measure it.
    pub used: Option<Use>,
    /// Name of what is below the sender: an end of a link layer, or a limiter.
    pub below: Option<String>,
    /// The receiver's clock relative to the sender's, if requested and possible.
    pub clocks: Option<Estimate>,
    /// Time from the first packet at the sender to the first one at the receiver, each by its own
    /// clock, in nanoseconds. If the clocks agree, this is the SYN's one-way delay.
    pub syn_delay_ns: Option<i64>,
}

/// Builds the view of one direction of a connection.
#[must_use]
pub fn view(sources: &Sources<'_>) -> Tracing {
    let (place, flow) = sources.sides.sender;
    let receiver = sources.sides.receiver.map(|(_, receiver)| receiver);
    let last_ack = flow.acknowledgments.last().map(|ack| ack.time);
    let last = flow.transmissions.last().map(|sent| sent.time).max(last_ack).unwrap_or(flow.began);
    let axis = Axis::from_zero(flow.began);
    let mut notes = Vec::new();
    let (receiver_axis, clocks) = receiver_axis(sources.alignment, flow, receiver, &mut notes);
    let states = (!sources.states.is_empty()).then_some(sources.states);
    let examined = examine(&sources.sides, states);
    let end = End::busiest(sources.ends, flow.began, last);
    let limiter = Limiter::below(sources.limiters, flow.ends)
        .map(|limiter| (limiter.title.clone(), Below::Limiter(limiter)));
    let below = end.map(|end| (end.title.clone(), Below::End(end))).or(limiter);
    let missing = lost(&examined, flow, receiver);
    let unmeasured = below.as_ref().and_then(|(title, below)| unmeasured(title, *below, flow.began, last));
    let used = below.as_ref().filter(|_| unmeasured.is_none()).map(|&(_, below)| {
        let transport = Transport {
            flow,
            retransmissions: &examined.retransmissions,
            receiver_window: sources.receiver_window,
            states: sources.states,
        };
        utilization::of(below, &transport, flow.began, last, spurious(&examined, &missing))
    });

    let above = if end.is_some() { OFFSET } else { 0.0 };
    let mut graphs = end.map(|end| link::graphs(end, &axis, 0.0)).unwrap_or_default();
    graphs.extend(ends_graphs(["TcpSnd_Data", "TcpSnd_Ack"], Layer::TcpSender, flow, 0, &axis, above));
    graphs.extend(losses(&missing, flow, &axis, above));
    if let Some(receiver) = receiver {
        let labels = ["TcpRcv_Data", "TcpRcv_Ack"];
        let shift = -offset(flow, receiver);
        let (layer, above) = (Layer::TcpReceiver, above + OFFSET);
        graphs.extend(ends_graphs(labels, layer, receiver, shift, &receiver_axis, above));
    } else {
        notes.push("no capture at the receiver: arrivals are not shown".to_owned());
    }
    let segment = flow.transmissions.iter().map(|sent| sent.end - sent.first).max().unwrap_or(0);
    graphs.extend(sender::windows(sources.states, &axis, segment));
    notes.extend(unmeasured);
    if let Some((title, Below::Limiter(limiter))) = &below
        && used.is_some()
        && limiter.varies()
    {
        notes.push(format!("the rate of {title} varies: utilization is the used share of its capacity"));
    }
    if below.is_none() {
        notes.push("no records of a link layer and no event log: layers below IP are not shown".to_owned());
    }
    let (from, to) = sources.span.unwrap_or((0, i64::MAX));
    let rated = RATES.iter().filter_map(|(label, _)| graphs.iter().find(|graph| graph.label == *label));
    let regressions = rated.filter_map(|graph| regression::through(graph, from, to)).collect();
    let mut timings = sender::timings(sources.states, &axis);
    timings.rtt = round_trips(flow, &axis);
    Tracing {
        view: View {
            title: format!(
                "{} to {}, connection {}: {}",
                flow.ends.from, flow.ends.to, flow.connection, place.title
            ),
            graphs,
            regressions,
            notes,
        },
        timings,
        used,
        below: below.map(|(title, _)| title),
        clocks,
        syn_delay_ns: receiver.map(|receiver| receiver.began.wrapping_sub(flow.began).cast_signed()),
        examined,
    }
}

/// Returns why the link's idle time from `from` to `to` cannot be measured; `None` if it can.
fn unmeasured(title: &str, below: Below<'_>, from: u64, to: u64) -> Option<String> {
    match below {
        Below::End(end) => (end.period_ns == 0).then(|| {
            format!("frames of {title} differ in transmission time: idle time and utilization are unknown")
        }),
        Below::Limiter(limiter) => {
            limiter.unmeasured(from, to).map(|why| format!("no utilization of {title}: {why}"))
        }
    }
}

/// Returns the receiver's axis, and its clock if that was estimated.
fn receiver_axis(
    alignment: Alignment,
    flow: &Flow,
    receiver: Option<&Flow>,
    notes: &mut Vec<String>,
) -> (Axis, Option<Estimate>) {
    let Some(receiver) = receiver else { return (Axis::from_zero(flow.began), None) };
    match alignment {
        Alignment::Syn => (Axis::from_zero(receiver.began), None),
        Alignment::Common => (Axis::from_zero(flow.began), None),
        Alignment::Estimated => {
            let (data, answers) = clocks::passages(flow, receiver);
            let Some(found) = clocks::estimate(&data, &answers) else {
                notes.push("the clocks cannot be compared: time zero is the SYN at each end".to_owned());
                return (Axis::from_zero(receiver.began), None);
            };
            let rate = 1.0 / (1.0 + found.drift);
            (Axis { zero: receiver.began, shift_ns: -found.offset_ns * rate, rate }, Some(found))
        }
    }
}

/// Returns the graphs of data and acknowledgments at one end; `shift` is added to its numbers.
fn ends_graphs(
    labels: [&str; 2],
    layer: Layer,
    flow: &Flow,
    shift: i64,
    axis: &Axis,
    offset: f64,
) -> [Graph; 2] {
    let place = |number: u64| number.saturating_add_signed(shift) as f64;
    let data =
        flow.transmissions.iter().map(|sent| Point { time_ns: axis.at(sent.time), bytes: place(sent.end) });
    let ack = |ack: &Acknowledgment| Point { time_ns: axis.at(ack.time), bytes: place(ack.number) };
    let graph = |label: &str, shape, points| Graph { label: label.to_owned(), layer, shape, offset, points };
    [
        graph(labels[0], Shape::Dots, data.collect()),
        graph(labels[1], Shape::Crosses, flow.acknowledgments.iter().map(ack).collect()),
    ]
}

/// Returns the transmissions that did not reach the receiver undamaged, as its capture shows, in
/// their order.
///
/// If the connection has no retransmissions, the result is empty.
fn lost(examined: &Examined, flow: &Flow, receiver: Option<&Flow>) -> Vec<usize> {
    let Some(receiver) = receiver.filter(|_| !examined.retransmissions.is_empty()) else { return Vec::new() };
    let deliveries = arrivals::deliveries(flow, receiver, offset(flow, receiver));
    let is_lost = |at: &usize| deliveries[*at].sure && deliveries[*at].there.is_empty();
    (0..deliveries.len()).filter(is_lost).collect()
}

/// Returns the number of spurious packets that were on the link, so were not lost, and their bytes
/// at IP.
fn spurious(examined: &Examined, lost: &[usize]) -> (u64, u64) {
    examined
        .count(|again| again.verdict == SpuriousVerdict::Spurious && lost.binary_search(&again.at).is_err())
}

/// Returns the graph of lost segments, at the times when they were sent; `None` if there are none.
fn losses(lost: &[usize], flow: &Flow, axis: &Axis, offset: f64) -> Option<Graph> {
    let point = |&at: &usize| {
        let sent = &flow.transmissions[at];
        Point { time_ns: axis.at(sent.time), bytes: sent.end as f64 }
    };
    (!lost.is_empty()).then(|| Graph {
        label: LOST.to_owned(),
        layer: Layer::Lost,
        shape: Shape::Dots,
        offset,
        points: lost.iter().map(point).collect(),
    })
}

/// Returns the round-trip times of segments that were sent once and are the last that an
/// acknowledgment covers (Karn).
fn round_trips(flow: &Flow, axis: &Axis) -> Vec<Timing> {
    let mut trips = Vec::new();
    // Number after the segment, its time, and whether it was sent once.
    let mut outstanding: VecDeque<(u64, u64, bool)> = VecDeque::new();
    let mut sent = flow.transmissions.iter().peekable();
    for ack in &flow.acknowledgments {
        while let Some(segment) = sent.next_if(|segment| segment.order < ack.order) {
            let is_new = outstanding.back().is_none_or(|last| segment.first >= last.0);
            if is_new && segment.again.is_none() {
                outstanding.push_back((segment.end, segment.time, true));
            } else {
                let touched = outstanding.iter_mut().filter(|entry| entry.0 > segment.first);
                touched.for_each(|entry| entry.2 = false);
            }
        }
        let mut covered = None;
        while outstanding.front().is_some_and(|entry| entry.0 <= ack.number) {
            covered = outstanding.pop_front();
        }
        if let Some((end, time, true)) = covered
            && end == ack.number
        {
            trips.push(Timing { time_ns: axis.at(ack.time), us: ack.time.saturating_sub(time) / 1000 });
        }
    }
    trips
}

#[cfg(test)]
mod tests;
