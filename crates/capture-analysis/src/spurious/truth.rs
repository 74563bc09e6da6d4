//! The truth from the event log of an emulated link: what became of each packet that the sender
//! sent, and how often evidence agrees with it.
//!
//! The n-th transmission of the same bytes in the capture is the n-th fate of these bytes on the
//! first link of the path, so times are not compared. On a path over several links, packets reach
//! the next link in the order in which they left the one before. A copy made by a link counts as
//! the packet itself. Packets that were in flight when the run ended say nothing.

use super::arrivals;
use super::delivery::{self, Delivery, Index};
use super::examine::Examined;
use super::flow::Flow;
use super::pair::{Sides, offset};
use super::ranges::Ranges;
use super::utilization::{Period, link_time};
use super::{Evidence, Signs, SpuriousVerdict};
use crate::TraceError;
use crate::loss_events::Ends;
use capture::{Direction, Fate, Header, LinkId, Loss, Reason};
use rustc_hash::FxHashMap;
use serde::Serialize;
use std::collections::BTreeMap;
use std::path::Path;

/// Bytes of a flow: sequence number and length.
type Bytes = (u32, u32);
/// One direction of one link.
type Way = (LinkId, Direction);

/// Fates of packets with data, by flow and by direction of a link.
#[derive(Debug, Clone, Default)]
pub struct Fates {
    links: BTreeMap<Way, Carried>,
    flows: FxHashMap<Ends, FxHashMap<Way, FxHashMap<Bytes, Vec<Passage>>>>,
}

/// Total traffic of one direction of a link, over all flows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Carried {
    /// The link's name.
    pub name: String,
    /// The direction.
    pub direction: Direction,
    /// Constant bit rate of its limiter in bit/s, if it has one.
    pub bits_per_second: Option<u64>,
    /// Times of the first and the last bit that the limiter sent, in nanoseconds of the run.
    pub span: (u64, u64),
    /// Time for which it was sending in between, in nanoseconds.
    pub busy_ns: u64,
}

/// Passage of a packet through one link.
#[derive(Debug, Clone, Copy)]
struct Passage {
    arrived: u64,
    number: u64,
    left: u64,
    /// `None` if the run ended before that was decided.
    delivered: Option<bool>,
}

/// How often verdicts agree with the truth, for retransmissions whose truth is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct Score {
    /// Truly spurious, verdict spurious.
    pub found: u64,
    /// Truly spurious, verdict necessary.
    pub mistaken: u64,
    /// Truly spurious, no verdict.
    pub missed: u64,
    /// Truly necessary, verdict spurious.
    pub false_alarms: u64,
    /// Truly necessary, verdict necessary.
    pub confirmed: u64,
    /// Truly necessary, no verdict.
    pub open: u64,
}

impl Fates {
    /// Reads the event log (Parquet) at `path`.
    ///
    /// # Errors
    /// If the table cannot be read.
    pub fn read(path: &Path) -> Result<Self, TraceError> {
        let failed = |source| TraceError::Events { path: path.to_owned(), source };
        let mut fates = Self::default();
        let reader = capture::fates::Reader::open(path).map_err(failed)?;
        let header = reader.header().clone();
        for fate in reader {
            let fate = fate.map_err(failed)?;
            fates.count(&fate, &header);
            fates.add(&fate);
        }
        Ok(fates)
    }

    /// Adds the time that the limiter needed for a packet.
    fn count(&mut self, fate: &Fate, header: &Header) {
        let (start, end) = (fate.sending.start.as_nanos(), fate.sending.end.as_nanos());
        if start == end || fate.copy {
            return;
        }
        let carried = self.links.entry((fate.link, fate.direction)).or_insert_with(|| {
            let link = header.link(fate.link);
            Carried {
                name: link.map_or_else(String::new, |link| link.name.clone()),
                direction: fate.direction,
                bits_per_second: link.and_then(|link| link.way(fate.direction).bits_per_second),
                span: (start, end),
                busy_ns: 0,
            }
        });
        carried.span = (carried.span.0.min(start), carried.span.1.max(end));
        carried.busy_ns += end - start;
    }

    /// Returns the period of each link direction with a constant rate that this flow used, if
    /// `bytes` bytes at IP were spurious (LL-15).
    #[must_use]
    pub fn periods(&self, ends: Ends, bytes: u64) -> Vec<(&Carried, Period)> {
        let Some(ways) = self.flows.get(&ends) else { return Vec::new() };
        let period = |(way, carried): (&Way, &'_ Carried)| {
            let length_ns = carried.span.1 - carried.span.0;
            let idle_ns = length_ns.saturating_sub(carried.busy_ns);
            let spurious_ns = link_time(bytes, carried.bits_per_second?)?;
            ways.contains_key(way).then_some(Period { length_ns, idle_ns, spurious_ns })
        };
        self.links.iter().filter_map(|entry| Some((entry.1, period(entry)?))).collect()
    }

    /// Adds the fate of a packet.
    pub fn add(&mut self, fate: &Fate) {
        let Some(flow) = &fate.flow else { return };
        let (Some(ends), Some(sequence)) = (Ends::of(flow), flow.tcp_sequence) else { return };
        let Some(payload) = flow.payload.filter(|bytes| *bytes > 0) else { return };
        let delivered = match &fate.lost {
            Some(Reason::Known(Loss::RunEnded)) => None,
            Some(_) => Some(false),
            None => Some(!fate.is_damaged()),
        };
        let ways = self.flows.entry(ends).or_default();
        let passages =
            ways.entry((fate.link, fate.direction)).or_default().entry((sequence, payload)).or_default();
        match passages.iter_mut().find(|passage| passage.number == fate.number) {
            // The packet and a copy of it: it is sufficient that one of them was delivered.
            Some(passage) if passage.delivered != Some(true) => {
                passage.delivered = delivered.or(passage.delivered);
            }
            Some(_) => {}
            None => passages.push(Passage {
                arrived: fate.arrived.as_nanos(),
                number: fate.number,
                left: fate.left.as_nanos(),
                delivered,
            }),
        }
    }

    /// Returns the true outcome of each transmission of `flow`.
    fn deliveries(&self, flow: &Flow) -> Vec<Delivery> {
        let mut deliveries = vec![Delivery::default(); flow.transmissions.len()];
        let Some(ways) = self.flows.get(&flow.ends) else { return deliveries };
        let mut sent: FxHashMap<Bytes, Vec<usize>> = FxHashMap::default();
        for (at, packet) in flow.transmissions.iter().enumerate() {
            let bytes = (flow.sequence(packet.first), (packet.end - packet.first) as u32);
            sent.entry(bytes).or_default().push(at);
        }
        let first = |way: &FxHashMap<Bytes, Vec<Passage>>| {
            way.values().flatten().map(|passage| passage.arrived).min()
        };
        let mut order: Vec<_> = ways.values().map(|way| (first(way), way)).collect();
        order.sort_by_key(|(first, _)| *first);
        for (bytes, sent) in sent {
            let Some(became) = follow(order.iter().map(|(_, way)| way.get(&bytes)), sent.len()) else {
                continue;
            };
            for (at, delivered) in sent.into_iter().zip(became) {
                let packet = &flow.transmissions[at];
                deliveries[at].sure = delivered.is_some();
                if delivered == Some(true) {
                    deliveries[at].there.add(packet.first, packet.end);
                }
            }
        }
        deliveries
    }

    /// Returns the truth about each retransmission of `examined`, which must be that of `sides`.
    ///
    /// A packet that the link delivered, but the receiver's TCP discarded for its old time stamp,
    /// does not count as delivered, as far as the receiver's side was captured.
    #[must_use]
    pub fn verdicts(&self, sides: &Sides<'_>, examined: &Examined) -> Vec<SpuriousVerdict> {
        let flow = sides.sender.1;
        let mut deliveries = self.deliveries(flow);
        if let Some((_, receiver)) = sides.receiver {
            for at in arrivals::discarded(flow, receiver, offset(flow, receiver)) {
                deliveries[at].there = Ranges::default();
            }
        }
        let index = Index::new(&flow.transmissions);
        let verdict = |at| delivery::verdict(&flow.transmissions, &index, at, &deliveries);
        examined.retransmissions.iter().map(|again| verdict(again.at)).collect()
    }
}

/// Returns what became of `count` transmissions of the same bytes over these link directions, in
/// the order in which they were sent; `None` if the log does not have all of them.
fn follow<'a>(
    ways: impl Iterator<Item = Option<&'a Vec<Passage>>>,
    count: usize,
) -> Option<Vec<Option<bool>>> {
    let mut became: Vec<Option<bool>> = vec![Some(true); count];
    // Transmissions that are not lost yet, in the order in which they reach the next link.
    let mut there: Vec<usize> = (0..count).collect();
    for way in ways {
        let mut passages = way.cloned().unwrap_or_default();
        if passages.len() != there.len() {
            return None;
        }
        passages.sort_by_key(|passage| (passage.arrived, passage.number));
        let mut left: Vec<(u64, usize)> = Vec::new();
        for (at, passage) in there.iter().zip(&passages) {
            became[*at] = passage.delivered;
            if passage.delivered == Some(true) {
                left.push((passage.left, *at));
            }
        }
        left.sort_unstable();
        there = left.into_iter().map(|(_, at)| at).collect();
    }
    Some(became)
}

impl Score {
    /// Adds one verdict; ignored if the truth is unknown.
    pub fn add(&mut self, truth: SpuriousVerdict, said: SpuriousVerdict) {
        let count = match (truth, said) {
            (SpuriousVerdict::Spurious, SpuriousVerdict::Spurious) => &mut self.found,
            (SpuriousVerdict::Spurious, SpuriousVerdict::Necessary) => &mut self.mistaken,
            (SpuriousVerdict::Spurious, SpuriousVerdict::Unknown) => &mut self.missed,
            (SpuriousVerdict::Necessary, SpuriousVerdict::Spurious) => &mut self.false_alarms,
            (SpuriousVerdict::Necessary, SpuriousVerdict::Necessary) => &mut self.confirmed,
            (SpuriousVerdict::Necessary, SpuriousVerdict::Unknown) => &mut self.open,
            (SpuriousVerdict::Unknown, _) => return,
        };
        *count += 1;
    }

    /// Adds the joint verdicts of the evidence that `admitted` accepts.
    pub fn add_all(
        &mut self,
        examined: &Examined,
        truth: &[SpuriousVerdict],
        admitted: impl Fn(Evidence) -> bool,
    ) {
        let signs = |signs: &Signs| signs.combined(&admitted).0;
        examined
            .retransmissions
            .iter()
            .zip(truth)
            .for_each(|(again, truth)| self.add(*truth, signs(&again.signs)));
    }

    /// Returns the share of truly spurious retransmissions that were found; `None` without any.
    #[must_use]
    pub fn recall(&self) -> Option<f64> {
        share(self.found, self.found + self.mistaken + self.missed)
    }

    /// Returns the share of verdicts *spurious* that are true; `None` without any.
    #[must_use]
    pub fn precision(&self) -> Option<f64> {
        share(self.found, self.found + self.false_alarms)
    }
}

fn share(of: u64, all: u64) -> Option<f64> {
    (all > 0).then(|| of as f64 / all as f64)
}
