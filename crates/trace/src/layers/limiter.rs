//! What the limiter of a link without a link layer sent, from the event log: the times in which it was busy.

use super::idle::Gap;
use crate::TraceError;
use crate::loss_events::Ends;
use capture::{Direction, Fate, LinkId};
use rustc_hash::FxHashSet;
use std::collections::BTreeMap;
use std::path::Path;

/// One way through a link.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Limiter {
    /// Name of the link, and the direction.
    pub title: String,
    /// When it was sending, from the first bit to the last, and the bytes at IP: in the order of time, in nanoseconds since 1970.
    pub sent: Vec<Sent>,
    /// Whose packets went through.
    pub flows: FxHashSet<Ends>,
}

/// One packet on the limiter.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Sent {
    /// First bit.
    pub start: u64,
    /// Last bit.
    pub end: u64,
    /// Length in bytes at the link's layer.
    pub bytes: u32,
}

/// Reads the limiters of the run whose event log (Parquet) is at `path`; those that sent nothing are none.
///
/// # Errors
/// If the table cannot be read.
pub fn read(path: &Path) -> Result<Vec<Limiter>, TraceError> {
    let failed = |source| TraceError::Events { path: path.to_owned(), source };
    let reader = capture::table::Reader::open(path).map_err(failed)?;
    let header = reader.header().clone();
    let mut limiters: BTreeMap<(LinkId, Direction), Limiter> = BTreeMap::new();
    for fate in reader {
        let fate: Fate = fate.map_err(failed)?;
        let sending = fate.sending;
        if sending.start == sending.end || fate.copy {
            continue;
        }
        let limiter = limiters.entry((fate.link, fate.direction)).or_insert_with(|| {
            let name = header.link(fate.link).map_or("", |link| &link.name);
            Limiter { title: format!("{name} {}", fate.direction), ..Limiter::default() }
        });
        let at = |time| header.started.at(time).as_nanos();
        limiter.sent.push(Sent { start: at(sending.start), end: at(sending.end), bytes: fate.length });
        limiter.flows.extend(fate.flow.as_ref().and_then(Ends::of));
    }
    let mut limiters: Vec<Limiter> = limiters.into_values().collect();
    for limiter in &mut limiters {
        limiter.sent.sort_unstable();
    }
    Ok(limiters)
}

impl Limiter {
    /// Of the limiters that a flow went through, the one that was busy longest: its bottleneck.
    #[must_use]
    pub fn below(limiters: &[Self], ends: Ends) -> Option<&Self> {
        let busy = |limiter: &&Self| limiter.sent.iter().map(|sent| sent.end - sent.start).sum::<u64>();
        limiters.iter().filter(|limiter| limiter.flows.contains(&ends)).max_by_key(busy)
    }

    /// When it sent nothing between two instants.
    #[must_use]
    pub fn gaps(&self, from: u64, to: u64) -> Vec<Gap> {
        let mut gaps = Vec::new();
        let mut busy_until = from;
        for (start, end) in self.sent.iter().map(|sent| (sent.start, sent.end)).chain([(to, to)]) {
            let start = start.min(to);
            if start > busy_until {
                gaps.push(Gap { from: busy_until, to: start, held: None });
            }
            busy_until = busy_until.max(end);
        }
        gaps
    }

    /// Bytes of the packets that it began to send between two instants.
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
        Limiter { title: title.to_owned(), sent: sent.collect(), flows: flows.iter().copied().collect() }
    }

    /// LL-15: what is between packets is idle, before the first and behind the last as well, and nothing outside of the period.
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
