//! The Link Layer Protocol of the thesis (10.2.3), grown up to carry messages between two hosts:
//! one end of a connection, as a machine without clock and channel. Every function takes the time;
//! what is to be sent and said is asked for.
//!
//! What is kept of the thesis: selective repeat; every word of the receiver tells everything, so
//! that it does not matter if some are lost; what is missing is sent again as soon as something
//! sent later has arrived, before anything new; loss is damage of the link and never a reason to
//! send less. What its machine in `link::arq` has not, and cannot have for a simulated hop with a
//! known rate: contents, a window of more than 32 frames, a measured round trip, a measured rate,
//! flow control, several orders of messages, an end.
//!
//! * [`wire`]: what a packet says. Packets are numbered and never sent twice; what was in a lost
//!   one goes into a new one.
//! * [`outgoing`], [`incoming`]: messages, in parts, there and back; which of them a message has to
//!   stay behind says [`order`](crate::order).
//! * [`flight`]: packets under way, round-trip time, which are lost.
//! * [`rate`]: how much may be under way, from the rate at which things arrive and the shortest
//!   round trip.
//! * [`length`]: how long packets are.
//! * [`outage`](crate::outage): what is late of what may be lost. The sender says that it gives it
//!   up, and at the receiver either the message or that takes its place: each is told once, as
//!   itself or as lost.
//! * [`machine`]: all of it.

mod flight;
mod incoming;
mod length;
mod machine;
mod outgoing;
mod rate;
mod received;
mod rtt;
#[cfg(feature = "fuzz")]
pub(crate) mod script;
#[cfg(test)]
mod tests;
mod wire;

pub(crate) use machine::{Event, Machine, Side, Silence};
