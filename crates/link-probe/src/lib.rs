//! Measurement of a real link between two hosts by probe packets.
//!
//! Two ends exchange UDP datagrams: a [`Client`] on the wireless host and a [`Server`] in the
//! network. As CellReplay does, they measure the link in two ways, one after the other:
//!
//! * *light*: single small packets and short trains of large ones, both ways, on a link that is
//!   idle in between. They give round-trip times, the opportunities of a train, and losses.
//! * *heavy*: a flow that saturates the link, in each direction after the other or in both
//!   together. It gives the rate and the length of the queue.
//!
//! Both ends are state machines without sockets and clocks: datagrams and times go in, datagrams
//! and a time at which to call again come out. Times are nanoseconds of a clock of that end. The
//! two clocks need not agree: one-way delays are half of the round-trip time, and queueing delays
//! are relative to the least one.
//!
//! The receiver of each phase keeps what arrived. The client fetches the server's list in parts
//! that it requests until they arrive. [`Recording`] has the packets of both directions; [`fit`]
//! finds a link profile for them, and [`files`] writes both as files that `lasthop link` replays.
//!
//! No end sends anything large before the other has proved that it has the [`Key`] and receives
//! packets at its address: see [`message`].
//!
//! Source of the method: Sentosa et al., "CellReplay: Towards accurate record-and-replay for
//! cellular networks", NSDI 2025.
#![forbid(unsafe_code)]

pub mod client;
pub mod files;
pub mod fit;
pub mod message;
mod plan;
mod receiver;
mod recording;
mod saturator;
pub mod server;

pub use client::{Client, ClientError, Progress};
pub use message::{Key, KeyError};
pub use plan::{Phase, Plan, PlanError};
pub use recording::{Probe, Recording, RoundTrip};
pub use server::Server;

/// Nanoseconds of a second.
pub(crate) const SECOND: u64 = 1_000_000_000;
/// Nanoseconds of a millisecond.
pub(crate) const MILLI: u64 = 1_000_000;
/// A time that never comes.
pub const NEVER: u64 = u64::MAX;

#[cfg(test)]
mod tests;
