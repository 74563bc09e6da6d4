//! The wireless link as a pure function.
//!
//! A [`Link`] has two directions, each with a [`Pipeline`]: an ordered row of stages
//! ([`stage::Stage`]) that packets pass one after the other. Where the directions depend on each
//! other, a medium joins them, with a pipeline before it and one behind it in each direction. A
//! stage is a state machine driven by packets, logical time and a random stream, and by nothing
//! else: there is no clock, no socket and no thread in this crate. The same link runs under the
//! emulator in real time, under the same emulator in virtual time, and bare in unit tests against
//! closed formulas.
//!
//! * Time: every packet carries its *logical* time ([`Packet::at`]), the instant at which it
//!   reached the stage it is in. What drives the pipeline may be late; the packet's time is not, so
//!   waiting never adds up along a row.
//! * Randomness: see [`seed`]. Adding a stage does not shift the numbers that another one draws.
//! * Fate: what each stage did to a packet stays with it as a list of [`Mark`]s; see [`fate`].
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
