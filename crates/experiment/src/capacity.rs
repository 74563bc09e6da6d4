//! The capacity of a link's limiter, in the terms of the event log.
//!
//! The event log has the packets that were sent, not what else could have been sent. For a limiter
//! with a trace, this is the reference of utilization (`capture_analysis::layers::limiter`). The
//! trace itself may be unavailable when the log is read.

use capture::event::{After, Rate};
use capture::{Capacity, Time};
use link::stage::bottleneck::mahimahi::TUN_HEADER;
use link::stage::bottleneck::theaterq::{AtEnd, EntryRate};
use link::stage::bottleneck::{BottleneckSpec, RateSpec};
use link::{Direction, Link};
use packet::Layer;

/// Largest total size in bytes of the traces in a log, over all links: a record may have 16 MB.
pub const ROOM: usize = 14_000_000;

const NANOS_PER_MILLI: u64 = 1_000_000;

/// Returns what the limiter of a direction of `link` can send from `since` on; `None` if it has no
/// limiter of its own.
///
/// A trace that takes more than `room` bytes is not logged.
#[must_use]
pub fn of(link: &Link, direction: Direction, layer: Layer, since: Time, room: usize) -> Option<Capacity> {
    let BottleneckSpec { rate, counted, .. } = link.limiter(direction)?;
    let (overhead, least) = counted.overhead(layer);
    let beyond = if let RateSpec::Mahimahi(..) = rate { TUN_HEADER } else { 0 };
    let rate = described(rate)?;
    let rate = if rate.size() > room { Rate::NotLogged } else { rate };
    Some(Capacity { since, rate, overhead: overhead.saturating_add_unsigned(beyond), least: least + beyond })
}

/// Describes the rate; `None` if a link layer requests each packet.
fn described(rate: &RateSpec) -> Option<Rate> {
    Some(match rate {
        RateSpec::Unlimited => Rate::Unlimited,
        RateSpec::Constant(rate) => Rate::Constant { bits_per_second: rate.as_bits_per_second() },
        RateSpec::Mahimahi(file, playback) => {
            let trace = file.content().ok()?;
            let bytes = playback.opportunity.get();
            Rate::opportunities(bytes, NANOS_PER_MILLI, trace.millis(), !playback.once)
        }
        RateSpec::Theaterq(file, at_end) => {
            let bits = |rate| match rate {
                EntryRate::Unlimited => None,
                EntryRate::Stopped => Some(0),
                EntryRate::Limited(rate) => Some(rate.as_bits_per_second()),
            };
            let lines = file.content().ok()?.rates().map(|(keep, rate)| (keep.as_nanos(), bits(rate)));
            let after = match at_end {
                AtEnd::Loop => After::First,
                AtEnd::Hold => After::Last,
                AtEnd::Clear => After::Unlimited,
            };
            Rate::Lines { lines: lines.collect(), after }
        }
        RateSpec::LinkLayer(_) => return None,
    })
}

#[cfg(test)]
#[expect(clippy::float_cmp, reason = "all, or a half")]
mod tests;
