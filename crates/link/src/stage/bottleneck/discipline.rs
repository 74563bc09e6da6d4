//! The contract between a bottleneck and its queue discipline.
//!
//! A discipline is one file with two types: its parameters, which implement [`Parameters`], and its
//! state, which implements [`Discipline`]. An entry in [`super::queue`] gives it a name.

use super::fifo::{Amount, Waiting};
use super::limit::Limit;
use super::limiter::Limiter;
use super::queue::QueueSpec;
use super::rate::RateSpec;
use crate::fate::Effect;
use crate::packet::Packet;
use crate::seed::{Seed, Stream};
use crate::stage::Outbox;
use crate::stage::spec::SpecError;
use crate::units::{ByteCount, Span, Time};
use rand::RngExt;
use std::fmt::Debug;
use vocabulary::Loss;

/// A queue discipline with its state and its packets.
///
/// Each packet that enters by [`Discipline::enqueue`] or [`Discipline::adopt`] leaves once: by
/// [`Discipline::dequeue`], as a loss in the outbox, or by [`Discipline::drain`].
pub(super) trait Discipline: Debug + Send {
    /// Takes an arriving packet. The discipline may lose it, mark it, or lose others.
    ///
    /// If [`Moment::free`] is set, nothing waits, and the bottleneck dequeues a packet next.
    fn enqueue(&mut self, arriving: Waiting, moment: &mut Moment<'_>, out: &mut Outbox);

    /// Removes the packet that is sent next. The discipline may lose others.
    fn dequeue(&mut self, moment: &mut Moment<'_>, out: &mut Outbox) -> Option<Waiting>;

    /// Returns the time of the discipline's own next event, which is not before `now`.
    fn due(&self, now: Time) -> Time {
        let _ = now;
        Time::NEVER
    }

    /// Handles the discipline's own event if one is due at `now`.
    fn expire(&mut self, now: Time, out: &mut Outbox) {
        let _ = (now, out);
    }

    /// Returns the amount that waits.
    fn amount(&self) -> Amount;

    /// Computes the size of each waiting packet anew.
    fn recount(&mut self, cost: &dyn Fn(&Packet) -> u64);

    /// Takes over other parameters and keeps the state. Returns false, without any change, if
    /// another discipline must be built for `to`.
    ///
    /// # Errors
    /// If the parameters are invalid. The old ones then stay.
    fn change(&mut self, to: &QueueSpec) -> Result<bool, SpecError>;

    /// Removes all packets; those of a flow are in order.
    fn drain(&mut self) -> Vec<Waiting>;

    /// Takes a packet of the discipline before this one, even beyond a limit.
    fn adopt(&mut self, waiting: Waiting);
}

/// Parameters of a queue discipline.
pub(super) trait Parameters {
    /// Creates an empty queue.
    ///
    /// # Errors
    /// If a parameter is invalid.
    fn build(&self, site: &Site<'_>) -> Result<Box<dyn Discipline>, SpecError>;

    /// Returns whether the treatment of packets depends on random numbers.
    fn is_random(&self) -> bool {
        false
    }
}

/// Where and when a queue begins.
pub(super) struct Site<'a> {
    /// Rate of the limiter behind the queue.
    pub rate: &'a RateSpec,
    /// Seed of the stage.
    pub seed: &'a Seed,
    /// Start of the queue.
    pub start: Time,
}

/// An event at a bottleneck, as its queue discipline sees it.
pub(super) struct Moment<'a> {
    pub now: Time,
    /// Whether the limiter is free, so that an arriving packet does not wait.
    pub free: bool,
    /// End of the transmission of the packet being sent; `None` if there is none.
    pub end: Option<Time>,
    pub limiter: &'a mut Limiter,
    pub stream: &'a mut Stream,
}

impl Moment<'_> {
    /// Returns whether `limit` allows one more packet of `cost` bytes to wait behind `waits`.
    pub fn has_room(&mut self, limit: Limit, waits: Amount, cost: u64) -> bool {
        self.free
            || match limit {
                Limit::Unlimited => true,
                Limit::Packets(most) => waits.packets < most,
                Limit::Bytes(most) => waits.bytes.saturating_add(cost) <= most.get(),
                Limit::Time(longest) => self.limiter.wait(waits.bytes, self.end, self.now) <= longest,
            }
    }

    /// Returns the transmission time of a packet of `bytes` bytes.
    pub fn packet_time(&mut self, bytes: ByteCount) -> Span {
        self.limiter.packet_time(bytes, self.now)
    }

    /// Draws a number from [0, 1).
    pub fn random(&mut self) -> f64 {
        self.stream.random()
    }
}

/// Loses a packet of a queue at `now`.
pub(super) fn lose(waiting: Waiting, why: Loss, now: Time, out: &mut Outbox) {
    let Waiting { mut packet, .. } = waiting;
    packet.at = now;
    out.lose(packet, why);
}

/// Marks a packet of an ECN-capable transport at `now`. Returns false without any change if the
/// transport is not.
pub(super) fn mark(waiting: &mut Waiting, now: Time) -> bool {
    let marked = waiting.packet.frame.mark_ce();
    if marked {
        waiting.packet.at = now;
        waiting.packet.mark(Effect::CongestionMarked);
    }
    marked
}
