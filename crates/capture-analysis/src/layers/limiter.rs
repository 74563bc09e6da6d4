//! What the limiter of a link without a link layer sent, from the event log, and what it left
//! unused.
//!
//! At a constant rate, the unused time is the time in which nothing was sent. With a trace, time is
//! no measure: a packet that fits into one opportunity is sent within an instant, and one that
//! needs two is on the link between them; both use what the trace provides. There the unused
//! quantity is *capacity*: the opportunities (or the rate times the time) that passed with nothing
//! to send. It counts by its share of the period: a gap is as long as its unused capacity takes on
//! average.

use super::capacity::Capacity;
use super::idle::Gap;
use crate::TraceError;
use crate::loss_events::Ends;
use capture::{Direction, Fate, LinkId, WayInfo};
use rustc_hash::FxHashSet;
use std::collections::BTreeMap;
use std::path::Path;

/// Limiter of one direction of a link.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Limiter {
    /// Name of the link, and the direction.
    pub title: String,
    /// Its transmissions, in the order of time; times in nanoseconds since 1970.
    pub sent: Vec<Sent>,
    /// Flows whose packets passed through it.
    pub flows: FxHashSet<Ends>,
    /// Its rate.
    pub rate: LimiterRate,
}

/// Rate of a limiter.
#[derive(Debug, Clone, PartialEq, Default)]
pub enum LimiterRate {
    /// Constant.
    #[default]
    Constant,
    /// A trace, or a rate that was changed while the link ran.
    Varying(Capacity),
    /// Not recorded in the log.
    Unknown,
}

/// Transmission of one packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Sent {
    /// Time of the first bit.
    pub start: u64,
    /// Time of the last bit.
    pub end: u64,
    /// Length in bytes at the link's layer.
    pub bytes: u32,
}

/// Reads the limiters of the run whose event log (Parquet) is at `path`.
///
/// Limiters that sent nothing are left out.
///
/// # Errors
/// If the table cannot be read.
pub fn read(path: &Path) -> Result<Vec<Limiter>, TraceError> {
    let failed = |source| TraceError::Events { path: path.to_owned(), source };
    let reader = capture::fates::Reader::open(path).map_err(failed)?;
    let header = reader.header().clone();
    let mut limiters: BTreeMap<(LinkId, Direction), Limiter> = BTreeMap::new();
    for fate in reader {
        let fate: Fate = fate.map_err(failed)?;
        let sending = fate.sending;
        // A packet that waited was sent, even if that took no time, as with one opportunity of a
        // trace. A packet and its copy passed the limiter as one.
        if sending.end == fate.arrived || fate.copy {
            continue;
        }
        let limiter = limiters.entry((fate.link, fate.direction)).or_insert_with(|| {
            let link = header.link(fate.link);
            let name = link.map_or("", |link| &link.name);
            let rate = link.map_or(LimiterRate::Unknown, |link| {
                LimiterRate::of(link.way(fate.direction), header.started.as_nanos())
            });
            Limiter { title: format!("{name} {}", fate.direction), rate, ..Limiter::default() }
        });
        let at = |time| header.started.at(time).as_nanos();
        // A packet that was on the limiter when the run ended was sent until then.
        let end = sending.end.min(fate.left.max(sending.start));
        limiter.sent.push(Sent { start: at(sending.start), end: at(end), bytes: fate.length });
        limiter.flows.extend(fate.flow.as_ref().and_then(Ends::of));
    }
    let mut limiters: Vec<Limiter> = limiters.into_values().collect();
    for limiter in &mut limiters {
        limiter.sent.sort_unstable();
    }
    Ok(limiters)
}

impl LimiterRate {
    fn of(way: &WayInfo, started: u64) -> Self {
        match Capacity::of(&way.capacity, started) {
            Some(capacity) => Self::Varying(capacity),
            // Logs from before capacities were recorded have constant rates only.
            None if way.capacity.is_empty() && way.bits_per_second.is_none() => Self::Unknown,
            None => Self::Constant,
        }
    }
}

impl Limiter {
    /// Returns the bottleneck of a flow: of the limiters on its path the one that was busy longest.
    #[must_use]
    pub fn below(limiters: &[Self], ends: Ends) -> Option<&Self> {
        limiters.iter().filter(|limiter| limiter.flows.contains(&ends)).max_by_key(|limiter| limiter.busy())
    }

    /// Returns the time that its transmissions took, in nanoseconds.
    fn busy(&self) -> u64 {
        let whole = self.sent.first().zip(self.sent.last()).map(|(first, last)| (first.start, last.end));
        if let (LimiterRate::Varying(capacity), Some((from, to))) = (&self.rate, whole)
            && capacity.unmeasured(from, to).is_none()
        {
            let cost: f64 = self.sent.iter().map(|sent| capacity.cost(sent.bytes, sent.start)).sum();
            return (cost / capacity.between(from, to, true) * (to - from) as f64) as u64;
        }
        self.sent.iter().map(|sent| sent.end - sent.start).sum()
    }

    /// Returns why its use between two instants cannot be measured; `None` if it can.
    #[must_use]
    pub fn unmeasured(&self, from: u64, to: u64) -> Option<&'static str> {
        match &self.rate {
            LimiterRate::Constant => None,
            LimiterRate::Varying(capacity) => capacity.unmeasured(from, to),
            LimiterRate::Unknown => Some("the event log does not state its rate"),
        }
    }

    /// Returns whether its rate varies, so that gaps are unused capacity.
    #[must_use]
    pub fn varies(&self) -> bool {
        matches!(self.rate, LimiterRate::Varying(_))
    }

    /// Returns the gaps between two instants.
    #[must_use]
    pub fn gaps(&self, from: u64, to: u64) -> Vec<Gap> {
        match &self.rate {
            LimiterRate::Varying(capacity) => self.unused(capacity, from, to),
            LimiterRate::Constant | LimiterRate::Unknown => self.silences(from, to),
        }
    }

    /// Returns the gaps between packets, each as long as its unused capacity takes on average.
    fn unused(&self, capacity: &Capacity, from: u64, to: u64) -> Vec<Gap> {
        let whole = capacity.between(from, to, true);
        let (began, mut gaps) = (from, Vec::new());
        let mut gap = |from: u64, until: u64, bytes: f64| {
            let length_ns = (bytes / whole * (to - began) as f64).round() as u64;
            if length_ns > 0 {
                gaps.push(Gap { from, to: until, held: None, length_ns });
            }
        };
        // Instant up to which capacity was used or lost, and what is left of that instant's.
        let (mut at, mut left) = (from, 0.0);
        for sent in self.sent.iter().filter(|sent| sent.end > from && sent.start <= to) {
            if sent.start > at {
                gap(at, sent.start, left + capacity.between(at, sent.start, false));
                (at, left) = (sent.start, capacity.at(sent.start));
            }
            let mut cost = capacity.cost(sent.bytes, sent.start);
            let end = sent.end.min(to);
            if end > at {
                cost -= left + capacity.between(at, end, false);
                (at, left) = (end, capacity.at(end));
            }
            left -= cost.clamp(0.0, left);
        }
        gap(at, to, left + capacity.between(at, to, true));
        gaps
    }

    /// Returns the gaps in which it sent nothing.
    fn silences(&self, from: u64, to: u64) -> Vec<Gap> {
        let mut gaps = Vec::new();
        let mut busy_until = from;
        for (start, end) in self.sent.iter().map(|sent| (sent.start, sent.end)).chain([(to, to)]) {
            let start = start.min(to);
            if start > busy_until {
                gaps.push(Gap::new(busy_until, start, None));
            }
            busy_until = busy_until.max(end);
        }
        gaps
    }

    /// Returns the bytes of the packets that it began to send between two instants.
    #[must_use]
    pub fn octets(&self, from: u64, to: u64) -> u64 {
        let those = self.sent.iter().filter(|sent| (from..=to).contains(&sent.start));
        those.map(|sent| u64::from(sent.bytes)).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn limiter(title: &str, sent: &[(u64, u64, u32)], flows: &[Ends]) -> Limiter {
        let sent = sent.iter().map(|&(start, end, bytes)| Sent { start, end, bytes });
        let flows = flows.iter().copied().collect();
        Limiter { title: title.to_owned(), sent: sent.collect(), flows, ..Limiter::default() }
    }

    /// LL-15: the time between packets is idle, also before the first and after the last one, but
    /// not outside of the period.
    #[test]
    fn ll_15_between_packets_a_limiter_is_idle() {
        let link = limiter("", &[(10, 20, 100), (20, 30, 100), (50, 60, 40), (90, 120, 7)], &[]);
        let gaps = |from, to| -> Vec<(u64, u64)> {
            link.gaps(from, to).iter().map(|gap| (gap.from, gap.to)).collect()
        };
        assert_eq!(gaps(0, 150), [(0, 10), (30, 50), (60, 90), (120, 150)]);
        assert_eq!(gaps(15, 100), [(30, 50), (60, 90)]);
        assert_eq!(gaps(65, 70), [(65, 70)]);
        assert_eq!((link.octets(0, 150), link.octets(11, 89)), (247, 140));
        assert!(link.gaps(0, 150).iter().all(|gap| gap.held.is_none()));
    }

    #[test]
    fn the_bottleneck_is_the_one_that_is_busy_longest() {
        let end = |port: u16| std::net::SocketAddr::from(([10, 0, 0, 1], port));
        let [mine, other] = [Ends { from: end(1), to: end(2) }, Ends { from: end(3), to: end(4) }];
        let links = [
            limiter("fast", &[(0, 1, 1), (5, 6, 1)], &[mine]),
            limiter("slow", &[(0, 5, 1)], &[mine, other]),
            limiter("other", &[(0, 50, 1)], &[other]),
        ];
        assert_eq!(Limiter::below(&links, mine).map(|link| link.title.as_str()), Some("slow"));
        assert_eq!(Limiter::below(&links, Ends { from: end(9), to: end(2) }), None);
    }
}
