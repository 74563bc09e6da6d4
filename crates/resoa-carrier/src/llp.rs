//! The Link Layer Protocol of the thesis (10.2.3), extended to carry messages between two hosts:
//! one end of a connection, as a state machine without clock and socket. Every function takes the
//! time; the driver asks for packets and events.
//!
//! These parts are the thesis's: selective repeat; every acknowledgement reports everything that
//! was received, so losing some does no harm; missing data is sent again as soon as something sent
//! later has arrived, and before new data; a loss means damage on the link, and is never a reason
//! to send less. The model in `link::arq` is for a simulated hop with a known rate. It lacks
//! contents, a window of more than 32 frames, measurements of round trip and rate, flow control,
//! independent orders of messages, and an end.
//!
//! * [`wire`]: the frames in a packet. Packets are numbered and never sent twice; the contents of a
//!   lost packet go into a new one.
//! * [`outgoing`], [`incoming`]: messages in parts, in both directions. [`order`](crate::order)
//!   determines which messages a message must follow.
//! * [`flight`]: packets in flight, and which of them are lost.
//! * [`rate`]: how much may be in flight, from the delivery rate and the shortest round trip.
//! * [`length`]: how long packets are.
//! * [`outage`](crate::outage): which of the messages that may be lost are late. The sender reports
//!   that it gives up such a message. At the receiver, either the message or this notice takes its
//!   place, so each message is reported once, as itself or as lost.
//! * [`machine`]: the state machine that combines them.

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
