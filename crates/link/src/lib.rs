//! The wireless link as a pure function.
//!
//! A [`Link`] has two directions, each with a [`Pipeline`]: an ordered row of stages
//! ([`stage::Stage`]) that packets pass one after the other. If the directions depend on each
//! other, a medium joins them. Each direction then has one pipeline before the medium and one
//! behind it.
//!
//! A stage is a state machine. Its only inputs are packets, logical time and a random stream. This
//! crate has no clock, no socket and no thread. The same link runs under the emulator in real time,
//! under the emulator in virtual time, and alone in unit tests that compare it with closed
//! formulas.
//!
//! * Time: every packet carries its *logical* time ([`Packet::at`]), the instant at which it
//!   reached its current stage. The driver of the pipeline may be late, but the packet's time is
//!   exact, so lateness does not add up along a row.
//! * Randomness: see [`seed`]. Adding a stage does not change the random numbers of another stage.
//! * Fate: each stage records its effect on a packet in the packet's list of [`Mark`]s; see
//!   [`fate`].
#![forbid(unsafe_code)]

pub mod blocks;
pub mod fate;
pub mod filter;
pub mod fit;
mod link;
pub mod nearest;
mod packet;
mod pipeline;
pub mod profile;
pub mod seed;
pub mod spec;
pub mod stage;

pub use arq;
pub use fate::{Effect, Mark};
pub use link::{HopSpec, Link, LinkSink, LinkSpec, MediumSpec};
pub use packet::Packet;
pub use pipeline::{Pipeline, Sink};
pub use seed::{Seed, Stream};
pub use vocabulary::{ChannelState, Direction, Loss, Sending, link_layer, units};
