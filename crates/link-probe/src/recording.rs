//! Result of a measurement: every probe packet with its times.

use crate::message::Data;
use crate::plan::Plan;
use crate::receiver::Arrival;
use std::collections::HashMap;

/// A probe packet of one direction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Probe {
    /// Number in its direction and phase, from 0.
    pub sequence: u32,
    /// Its train in the light phase and its place there; `None` for a lost packet of a heavy
    /// downlink.
    pub place: Option<(u32, u16)>,
    /// Length of the IP packet in bytes.
    pub bytes: u64,
    /// Time of sending in nanoseconds of the sender's clock. For a lost packet of a heavy downlink
    /// it is that of the packet before it.
    pub sent: u64,
    /// Time of arrival in nanoseconds of the receiver's clock; `None` if it was lost.
    pub received: Option<u64>,
}

/// A round trip of the first packets of two trains, without the time that the server took.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RoundTrip {
    /// The train.
    pub train: u32,
    /// Time of sending in nanoseconds of the client's clock.
    pub sent: u64,
    /// Round-trip time in nanoseconds.
    pub time: u64,
    /// Whether the packets were small.
    pub small: bool,
}

/// Result of a measurement. Arrays have the uplink first, then the downlink.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Recording {
    /// Plan of the measurement.
    pub plan: Plan,
    /// Packets of the light phase, in order of their numbers.
    pub light: [Vec<Probe>; 2],
    /// Packets of the heavy phases, in order of their numbers.
    pub heavy: [Vec<Probe>; 2],
    /// Round trips of the light phase, in order of time.
    pub round_trips: Vec<RoundTrip>,
}

impl Recording {
    pub(crate) fn new(plan: Plan) -> Self {
        Self { plan, light: Default::default(), heavy: Default::default(), round_trips: Vec::new() }
    }
}

/// A packet as its sender noted it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Sent {
    pub data: Data,
    pub payload: u16,
}

/// Returns the packets of the uplink: what the client sent, and what the server has received of it.
pub(crate) fn uplink(plan: &Plan, sent: &[Sent], arrivals: &[(u32, u64)]) -> Vec<Probe> {
    let received: HashMap<u32, u64> = arrivals.iter().copied().collect();
    sent.iter()
        .map(|Sent { data, payload }| Probe {
            sequence: data.sequence,
            place: Some((data.train, data.place)),
            bytes: plan.ip_bytes(*payload),
            sent: data.sent,
            received: received.get(&data.sequence).copied(),
        })
        .collect()
}

/// Returns the packets that the server has sent in answer to trains, as if all were lost: it
/// answers a train as soon as the first packet of it arrives.
pub(crate) fn answers(plan: &Plan, sent: &[Sent], arrivals: &[(u32, u64)]) -> Vec<Probe> {
    let mut arrivals = arrivals.to_vec();
    arrivals.sort_unstable_by_key(|(_, received)| *received);
    let (mut answers, mut answered) = (Vec::new(), None);
    for (sequence, received) in arrivals {
        let Some(Sent { data, payload }) = sent.get(sequence as usize) else { continue };
        if answered.is_some_and(|train| train >= data.train) {
            continue;
        }
        answered = Some(data.train);
        answers.extend(
            (0..data.count)
                .zip(answers.len() as u32..)
                .map(|(place, sequence)| Probe {
                    sequence,
                    place: Some((data.train, place)),
                    bytes: plan.ip_bytes(*payload),
                    sent: received,
                    received: None,
                })
                .collect::<Vec<_>>(),
        );
    }
    answers
}

/// Returns the packets of the downlink: those that arrived, and the gaps between them, up to the
/// number of packets that the server has sent. A packet of a gap is as in `answers`, or else as the
/// one before.
pub(crate) fn downlink(plan: &Plan, arrivals: &[Arrival], count: u32, answers: &[Probe]) -> Vec<Probe> {
    let mut arrivals: Vec<_> = arrivals.iter().filter(|arrival| arrival.data.sequence < count).collect();
    arrivals.sort_unstable_by_key(|arrival| arrival.data.sequence);
    let mut probes: Vec<Probe> = Vec::with_capacity(count as usize);
    let lose = |probes: &mut Vec<Probe>, until: u32, following: Option<&Arrival>| {
        for sequence in probes.len() as u32..until {
            let before = probes.last().map(|probe| (probe.sent, probe.bytes));
            let after = following.map(|arrival| (arrival.data.sent, plan.ip_bytes(arrival.payload)));
            let near = before.or(after).map(|(sent, bytes)| Probe {
                sequence,
                place: None,
                bytes,
                sent,
                received: None,
            });
            let Some(probe) = answers.get(sequence as usize).copied().or(near) else { return };
            probes.push(probe);
        }
    };
    for arrival in arrivals {
        lose(&mut probes, arrival.data.sequence, Some(arrival));
        probes.push(Probe {
            sequence: arrival.data.sequence,
            place: Some((arrival.data.train, arrival.data.place)),
            bytes: plan.ip_bytes(arrival.payload),
            sent: arrival.data.sent,
            received: Some(arrival.received),
        });
    }
    lose(&mut probes, count, None);
    probes
}
