//! Losses and damage on the link to the packets of a connection, from the event log of the same
//! run.

use super::points::LossPoint;
use super::thin::Thinned;
use super::{Series, TimeSequence};
use crate::TraceError;
use capture::fates::Reader;
use capture::{Fate, Flow, Header, Reason};
use std::net::SocketAddr;
use std::path::Path;

/// Maximum distance in nanoseconds between a fate and the captured times of its connection.
///
/// A packet is captured at the end of the link that it reaches first, and may reach the other end
/// this much later. Besides, a connection's first packet can be lost before it is captured.
const MARGIN: u64 = 60_000_000_000;

impl TimeSequence {
    /// Marks the packets of this connection that the link lost or damaged, from the event log
    /// (Parquet) at `events`. Replaces the marks of an earlier call.
    ///
    /// Damaged packets are marked too, because TCP drops them like lost ones.
    pub fn mark_losses(&mut self, events: &Path) -> Result<(), TraceError> {
        let failed = |source| TraceError::Events { path: events.to_owned(), source };
        let reader = Reader::open(events).map_err(failed)?;
        let header = reader.header().clone();
        let mut marks = [Thinned::new(self.limit), Thinned::new(self.limit)];
        for fate in reader {
            let fate = fate.map_err(failed)?;
            if let Some((half, point)) = self.loss(&fate, &header) {
                marks[half].add(point);
            }
        }
        for (series, marks) in self.series.iter_mut().zip(marks) {
            (series.losses, series.totals.losses) = marks.finish();
            series.losses.sort_by_key(|loss| loss.time_ns);
        }
        Ok(())
    }

    /// Returns a packet's mark and its direction; `None` if it arrived undamaged, or is not of this
    /// connection.
    fn loss(&self, fate: &Fate, header: &Header) -> Option<(usize, LossPoint)> {
        let reason = words(fate)?;
        let flow = fate.flow.as_ref().filter(|flow| flow.protocol == packet::headers::TCP)?;
        let half = self.series.iter().position(|series| series.carries(flow))?;
        let series = &self.series[half];
        let time = header.started.at(fate.left).as_nanos();
        // Another connection may have had the same ports before or after.
        if time + MARGIN < self.start_unix_ns || time > self.start_unix_ns + self.duration_ns + MARGIN {
            return None;
        }
        let time_ns = time.saturating_sub(self.start_unix_ns);
        let first = series.relative(flow.tcp_sequence?, time_ns)?;
        let last = first + u64::from(flow.payload.unwrap_or(0));
        let link = header.link(fate.link).map(|link| link.name.clone()).unwrap_or_default();
        Some((half, LossPoint { time_ns, first, last, reason, link, stage: fate.stage.clone() }))
    }
}

/// Returns why a packet did not arrive as it was sent; `None` if it did.
fn words(fate: &Fate) -> Option<String> {
    match &fate.lost {
        Some(Reason::Known(loss)) => Some(loss.to_string()),
        Some(Reason::Other(name)) => Some(name.clone()),
        None if fate.checksum_spoiled => Some("damaged: checksum spoiled".to_owned()),
        None if fate.bits_flipped == 1 => Some("damaged: 1 bit flipped".to_owned()),
        None if fate.bits_flipped > 0 => Some(format!("damaged: {} bits flipped", fate.bits_flipped)),
        None => None,
    }
}

impl Series {
    fn carries(&self, flow: &Flow) -> bool {
        flow.ports.is_some_and(|(source, destination)| {
            SocketAddr::new(flow.source, source) == self.from
                && SocketAddr::new(flow.destination, destination) == self.to
        })
    }

    /// Returns the relative number of `sequence`: the one nearest to what had been sent at
    /// `time_ns`.
    fn relative(&self, sequence: u32, time_ns: u64) -> Option<u64> {
        let base = self.base?;
        let before = self.segments.partition_point(|segment| segment.time_ns <= time_ns);
        let near = before.checked_sub(1).map_or(0, |index| self.segments[index].last);
        let distance = sequence.wrapping_sub(base).wrapping_sub(near as u32).cast_signed();
        Some(near.saturating_add_signed(i64::from(distance)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_beyond_four_gigabytes_are_found_by_time() {
        let point = |time_ns, last| crate::sequence::SegmentPoint {
            time_ns,
            first: last - 1000,
            last,
            kind: crate::sequence::PointKind::New,
            cause: None,
            push: false,
        };
        let end = ([10, 0, 0, 1], 80).into();
        let series = Series {
            from: end,
            to: end,
            segments: vec![point(0, 1000), point(100, 5_000_000_000)],
            acks: vec![],
            sacks: vec![],
            marks: vec![],
            losses: vec![],
            throughput: None,
            totals: crate::sequence::Totals::default(),
            base: Some(u32::MAX - 9),
        };
        assert_eq!(series.relative(u32::MAX - 8, 50), Some(1));
        let number = (u64::from(u32::MAX - 9) + 5_000_000_500) as u32;
        assert_eq!(series.relative(number, 200), Some(5_000_000_500));
        assert_eq!(series.relative(u32::MAX - 20, 0), Some(0));
    }
}
